"""Training steps divided into blocks of rows and chains, whose sums are added in a fixed order.

Contract: a minibatch of more than `BLOCK` rows is divided by its number of rows alone; the random numbers of a block
depend on the seed, the step and the number of the block. So the parameters are the same wherever blocks are computed: a
block is a task without a state, which gets the parameters and its chains, and returns its sums and its new chains.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, TypeAlias

from nbm_xp.machines import Array
from nbm_xp.machines.minibatches import RowsAt, any_missing
from nbm_xp.machines.randomness import next_seed, stream
from nbm_xp.namespace import array_namespace, asarray
from nbm_xp.tape import Function

from . import storage
from .learning_step import Balance, Learner, compile_sums, compile_update
from .negative_phase import NegativePhase, TrainingMethod, tree_sums
from .optimizers import SGD
from .posterior import compile_completion
from .state import MachineState
from .topology import Topology
from .training_methods import PTT

BLOCK = 500  # largest number of rows in a block: enough for fast matrix products, and to outweigh the sum of gradients
_KNOWN = 4  # kinds of blocks whose compiled functions are kept


def block_count(rows: int) -> int:
    """Return the number of blocks of minibatches of this length.

    Examples
    --------
    >>> block_count(500), block_count(501), block_count(2000)
    (1, 2, 4)
    """
    return -(-rows // BLOCK)


def bounds(length: int, blocks: int) -> list[tuple[int, int]]:
    """Divide a length into blocks that differ by 1 at most.

    Examples
    --------
    >>> bounds(7, 3)
    [(0, 2), (2, 4), (4, 7)]
    """
    edges = [length * number // blocks for number in range(blocks + 1)]
    return list(itertools.pairwise(edges))


@dataclass(frozen=True)
class StepSettings:
    """What the formulas of a training step depend on, besides the machine.

    Attributes
    ----------
    method : TrainingMethod
    optimizer : SGD
    n_gibbs : int
    centred : bool
        Whether gradients are centred.
    objective : mapping
        Further arguments of `Learner`.
    """

    method: TrainingMethod
    optimizer: SGD
    n_gibbs: int
    centred: bool
    objective: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Key of the compiled functions."""
        return (
            self.n_gibbs, self.centred, self.method.positive, self.method.n_positive,
            self.optimizer.name, *astuple(self.optimizer),
        )  # fmt: skip

    def negative_phase(self, state: MachineState) -> NegativePhase:
        """Return the negative phase of a machine."""
        return self.method.phase(state, self.method, self.n_gibbs)

    def learner(self, state: MachineState, phase: NegativePhase) -> Learner:
        """Return the components of a step; missing Variables are created."""
        offsets, balance = None, None
        if self.centred:  # initial offsets: the means of units with only their biases
            pairs = enumerate(zip(state.topology.units, state.parameters.biases, strict=True))
            offsets = tuple(state.stored(f"offset.{k}", units.mean(biases.value)) for k, (units, biases) in pairs)
            balance = Balance(state, offsets) if isinstance(self.method, PTT) else None
        return Learner(phase, self.optimizer, offsets, balance, **self.objective)

    def completed(
        self, state: MachineState, rows: Array, function: Callable[[Hashable, Callable[[], Function]], Function]
    ) -> Array:
        """Return rows in memory with values drawn in place of missing ones, by a `function` of a key."""
        if not any_missing(rows):
            return rows
        sizes = int(rows.shape[0]), self.method.n_positive
        build = functools.partial(compile_completion, state.parameters, *sizes, state.rng)
        return function(("completion", *sizes), build)(rows)


@dataclass(frozen=True)
class Shared:
    """What all blocks of a step need: the arrays of the machine and its training, the rate, the seed of the step."""

    settings: StepSettings
    topology: Topology
    arrays: Mapping[str, Array]
    rate: float
    seed: int
    drawn: float  # weight of each state of the negative phase


@dataclass(frozen=True)
class Block:
    """A block of a minibatch: its rows, their weights, and its chains, by the names of their Variables."""

    number: int
    rows: Any
    weights: Sequence[float]
    chains: Mapping[str, Array]


@dataclass(frozen=True)
class Computed:
    """The sums over consecutive blocks, and the Variables that the step changed in each, with its chains."""

    sums: Sequence[Array]
    chains: Sequence[Mapping[str, Array]]


Compute: TypeAlias = Callable[[Shared, Sequence[Block]], Computed]  # computes the blocks of a step


def joined(parts: Iterable[Computed]) -> Computed:
    """Return the sums over all blocks, and the chains of each."""
    chains: list[Mapping[str, Array]] = []

    def sums() -> Iterator[Sequence[Array]]:
        for part in parts:
            chains.extend(part.chains)
            yield part.sums

    return Computed(tree_sums(sums()), chains)


class BlockMachine:
    """A machine with the parameters of one in training and the chains of a block."""

    def __init__(self, shared: Shared, block: Block) -> None:
        self.state = MachineState("", shared.topology, {**shared.arrays, **block.chains}, 0)
        named = zip(storage.names(shared.topology), self.state.parameters, strict=True)
        self.variables = self.state.variables | dict(named)

    def compute(self, shared: Shared, block: Block) -> Computed:
        """Compute the sums over a block and the next states of its chains."""
        state, settings = self.state, shared.settings
        phase = settings.negative_phase(state)
        phase.is_block = True
        for name, variable in self.variables.items():
            value = asarray(block.chains.get(name, shared.arrays.get(name)), array_namespace(variable.value))
            (variable.set_value if name in phase.changing else variable.replace_value)(value)  # a copy of what changes
        state.rate.set_value(shared.rate)

        def function(key: Hashable, build: Callable[[], Function]) -> Function:
            found = state.function(key, build)
            state.restart(key, stream(shared.seed, f"block {block.number}: {key!r}"))
            return found

        rows = block.rows.load() if isinstance(block.rows, RowsAt) else block.rows
        rows = settings.completed(state, rows, function)
        count = int(rows.shape[0])
        sums = function(("sums", count), lambda: compile_sums(settings.learner(state, phase), count))
        weights = [*([shared.drawn] * phase.count(count)), *block.weights]
        found = sums(rows, state.constant(weights))
        changed = {name: value.value for name, value in state.variables.items() if name in phase.changing}
        return Computed(found, [changed])


def compute_block(shared: Shared, block: Block, known: dict[Hashable, BlockMachine]) -> Computed:
    """Compute a block with one of the `known` machines, of which another is made if none has these shapes."""
    named = {**shared.arrays, **block.chains}
    shapes = tuple((name, *named[name].shape) for name in sorted(named))
    key = shared.topology, shared.settings.method.name, shared.settings.key, shapes
    if key not in known:
        for old in list(known)[: len(known) - _KNOWN + 1]:
            del known[old]
        known[key] = BlockMachine(shared, block)
    return known[key].compute(shared, block)


def divided_step(
    state: MachineState,
    settings: StepSettings,
    rows: Any,
    weights: Sequence[float],
    rate: float,
    blocks: int,
    compute: Compute,
) -> None:
    """Do a step on a minibatch in blocks, which `compute` computes.

    Parameters
    ----------
    state : MachineState
        The machine, which the step changes.
    settings : StepSettings
    rows : array or RowsAt
    weights : sequence of float
        Weights of the rows, with sum 1.
    rate : float
        The learning rate.
    blocks : int
        Number of blocks; a minibatch with fewer rows has as many as rows.
    compute : callable
        Function from what blocks share and the blocks to their sums and chains.
    """
    phase, count = settings.negative_phase(state), int(rows.shape[0])
    learner, axes, chains = settings.learner(state, phase), phase.chain_axes, phase.count(count)
    phase.prepare()
    needed = *storage.shapes(state.topology), "offset.", storage.BALANCE, storage.LADDER
    arrays = {name: part for name, part in state.arrays().items() if name.startswith(needed) and name not in axes}
    shared = Shared(settings, state.topology, arrays, rate, next_seed(state.rng), -1.0 / chains)
    blocks, asked = min(blocks, count), list[Block]()
    parts = zip(bounds(count, blocks), bounds(chains, blocks), strict=True)
    for number, ((first, last), (low, high)) in enumerate(parts):
        own = {
            name: state.variables[name].value[(*[slice(None)] * axis, slice(low, high))] for name, axis in axes.items()
        }
        asked.append(Block(number, rows[first:last, :], weights[first:last], own))
    found = compute(shared, asked)
    if axes:
        phase.join(found.chains)
    key = "update", phase.key, *settings.key
    state.function(key, lambda: compile_update(learner, found.sums))(*found.sums)
