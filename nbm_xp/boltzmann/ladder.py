"""Replicas: chains of several machines at once, whose neighbours exchange states; those of a training's ladder.

Each machine has as many chains as the others. In a step, neighbours exchange the states of their chains, every other
pair in turn, with the probability of Metropolis: that of machines a and b with states x and y is
min(1, exp(F_a(x) + F_b(y) - F_a(y) - F_b(x))), where F is the free energy of the layers that a sweep begins with. Then
each chain makes a sweep of its own machine. The first machine has no weights, so that its sweep draws new states of it,
exactly and independent of the last ones; step by step they move up.

The machines of a ladder are those that one was while it learned. The differences of free energies that decide on
exchanges give log Z along the ladder besides: see `bridging`.

References
----------
N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
machines", ICLR 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, Streams
from nbm_xp.machines.diagnostics import effective_size, r_hat
from nbm_xp.machines.exchanges import due, odd_pairs
from nbm_xp.machines.randomness import ChainFunction, ChainStreams
from nbm_xp.namespace import array_namespace, asarray, from_blocks, host_namespace, to_numpy

from .bridging import LadderEstimate, bennett, cut_off, parting
from .chains import Chains, Machine, States, beside, in_order
from .energy import Parameters, decoded, free_energy, local_field, shape_of, sweep
from .partition import constant, log_partition_of_biases
from .recording import Form, Recorded, State
from .storage import LADDER, names

__all__ = [
    "STEPS", "Compared", "Ladder", "LadderChains", "LadderMeasures", "Move", "ReplicaChains", "Replicas", "estimate",
    "ladder_of_arrays", "moved", "pairs_in_turn", "shown_of_top",
]  # fmt: skip

STEPS = 400
"""On a ladder, by default, until chains are at equilibrium and log Z is known."""

Compared: TypeAlias = tuple[Array, Array, Callable[[Array], dict[int, Array]]]


class Move(NamedTuple):
    """A step of replicas.

    Attributes
    ----------
    state : list
        Of each layer the new states, of shape (machines, units, chains).
    means : list
        What they were drawn with.
    turn : Tensor of shape (1,)
        For the next step.
    due : Tensor of shape (pairs,)
        1 for the pairs of neighbours that had their turn, else 0. What the others have below means nothing.
    chance : Tensor of shape (pairs, chains)
        The probability of an exchange.
    swap : Tensor of shape (pairs, chains)
        1 where states were exchanged, else 0; also for pairs that had no turn.
    up, down : Tensor of shape (pairs, chains)
        How much more free energy the lower machine's state has in the higher machine, and the higher one's in the
        lower machine.
    """

    state: State
    means: State
    turn: Array
    due: Array
    chance: Array
    swap: Array
    up: Array
    down: Array


class Replicas(Protocol):
    """Machines whose neighbours can exchange states."""

    @property
    def top(self) -> Parameters:
        """The last machine."""

    @property
    def pairs(self) -> int:
        """How many pairs of neighbours there are."""

    def compared(self, state: State, partners: Array, chains: int) -> Compared:
        """`up` and `down` of a `Move`; and, from where states are exchanged, what marginalised layers then receive."""

    def local_field(self, layer: int, state: Sequence[Array]) -> Array:
        """What a layer of each machine receives."""


def moved(replicas: Replicas, state: Sequence[Array], turn: Array, chains: int, rng: Streams) -> Move:
    """Exchange, then sweep.

    Parameters
    ----------
    replicas : Replicas
    state : sequence of Tensors of shape (machines, units, chains)
        In the layers of ``topology.retained``; others are not read.
    turn : Tensor of shape (1,)
        0 or 1: whether even or odd pairs have their turn.
    chains : int
    rng : RandomStreams
        It draws a uniform for each pair and chain; then each layer draws for all machines at once, in the order of
        `energy.sweep`.
    """
    topology, dtype, pairs = replicas.top.topology, replicas.top.dtype, replicas.pairs
    end, paired = constant([0.0], dtype), due(constant(odd_pairs(pairs), dtype), turn)
    lower, higher = B.concatenate([paired, end], axis=0), B.concatenate([end, paired], axis=0)  # of machines
    # The machine next to each, with which it makes a pair; itself where it makes none.
    partners = B.cast(constant([float(number) for number in range(pairs + 1)], dtype) + lower - higher, "int32")
    xp = array_namespace(partners)
    now = [state[layer] if layer in topology.retained else None for layer in topology.layers]
    up, down, known_after = replicas.compared(now, partners, chains)
    chance = B.exp(B.minimum(-(up + down), 0.0))
    swap = B.cast(B.less(B.random_uniform((pairs, chains), dtype=dtype, rng=rng), chance), dtype) * paired[:, None]
    none = swap[:1, :] * 0
    swapped = (B.concatenate([swap, none], axis=0) + B.concatenate([none, swap], axis=0))[:, None, :] > 0
    now = [None if mine is None else xp.where(swapped, xp.take(mine, partners, axis=0), mine) for mine in now]
    known = known_after(swapped)

    def field(layer: int, states: Sequence[Array]) -> Array:
        return known[layer] if layer in known else replicas.local_field(layer, states)

    after, means = sweep(replicas.top, now, (pairs + 1, chains), rng, field=field)
    return Move(after, means, 1 - turn, paired, chance, swap, up, down)


@dataclass(frozen=True)
class Ladder:
    """Machines of one topology that differ in all parameters.

    Attributes
    ----------
    rungs : Parameters
        Those below the top, stacked, the one without weights first.
    top : Parameters
        The last one.
    pairs : int
        How many there are below the top.
    """

    rungs: Parameters
    top: Parameters
    pairs: int

    def compared(self, state: State, partners: Array, chains: int) -> Compared:
        """See `Replicas`: each machine is given its own states and, beside them, its partner's."""
        xp = array_namespace(partners)
        both = [
            None if mine is None else B.concatenate([mine, xp.take(mine, partners, axis=0)], axis=2) for mine in state
        ]
        inputs = {layer: self.local_field(layer, both) for layer in self.top.topology.marginalised}
        energies = self._free_energy(both, inputs)
        own, foreign = energies[:, :chains], energies[:, chains:]

        def known_after(swapped: Array) -> dict[int, Array]:
            return {layer: xp.where(swapped, x[:, :, chains:], x[:, :, :chains]) for layer, x in inputs.items()}

        return foreign[1:, :] - own[:-1, :], foreign[:-1, :] - own[1:, :], known_after

    def local_field(self, layer: int, state: Sequence[Array]) -> Array:
        """What a layer of each machine receives."""
        below, above = _split(state)
        return _stacked(local_field(self.rungs, layer, below), local_field(self.top, layer, above))

    def _free_energy(self, state: State, inputs: Mapping[int, Array]) -> Array:
        """The free energy of each machine's states, given what the marginalised layers receive."""
        below, above = _split(state)
        return _stacked(
            free_energy(self.rungs, below, known={layer: part[:-1, :, :] for layer, part in inputs.items()}),
            free_energy(self.top, above, known={layer: part[-1, :, :] for layer, part in inputs.items()}),
        )


def ladder_of_arrays(parameters: Parameters, arrays: Mapping[str, Array]) -> Ladder:
    """The ladder of a machine, from the arrays of its training by name."""
    topology = parameters.topology
    rungs = Parameters.of(topology, (arrays[LADDER + name] for name in names(topology)), in_columns=True)
    return Ladder(rungs, replace(parameters, in_columns=True), shape_of(rungs.biases[0])[0])


def _split(state: Sequence[Array]) -> tuple[State, State]:
    """The states of the machines below the top, and of the top."""
    below = [None if part is None else part[:-1, :, :] for part in state]
    return below, [None if part is None else part[-1, :, :] for part in state]


def _stacked(below: Array, above: Array) -> Array:
    return B.concatenate([below, above[None, ...]], axis=0)


class ReplicaChains(Chains):
    """Chains of several machines, which exchange states: a sweep is a step of `moved`.

    States that the next one needs have the shape (machines, sites, chains). What is shown is of the last machine.
    """

    def _schedule(self, number: int) -> Sequence[Array]:
        """Whether even or odd pairs exchange."""
        return [asarray([float(number % 2)], self.xp, self.machine.dtype)]


class LadderChains(ReplicaChains):
    """The chains of a machine on the ladder of its training: one of each machine.

    They begin where those of the training ended, over again where there are more. They measure `up` and `down` of a
    `Move`.

    Parameters
    ----------
    machine : Machine
        Of a model that was trained with ``training="ptt"``.
    seed, layers, means, purpose
        See `Chains`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rows = np.repeat(np.eye(2, 6, dtype="float32"), 50, axis=0)
    >>> machine = Machine.of(RBM(4, n_iter=3, training="ptt", random_state=0).fit(rows))
    >>> chains = LadderChains(machine, seed=1)
    >>> whole = chains.advance(chains.start(0, 8), 0, 0, 10)
    >>> part = chains.advance(chains.start(5, 3), 5, 0, 4)
    >>> part = chains.advance(part, 5, 4, 6)
    >>> bool((part[0] == whole[0][..., 5:]).all())
    True
    """

    default_purpose = "chains on a ladder"

    def start(self, offset: int, rows: int) -> States:
        """The states that a block of chains begins with: see `Chains.start`."""
        found, topology = [], self.topology
        columns = Parameters(topology, (), (), in_columns=True)
        for layer, states in zip(topology.retained, self.machine.ended, strict=True):
            shape = (int(states.shape[0]), topology.sites[layer], rows)
            split = {"chunks": (-1, -1, self.chunks)} if self.machine.is_lazy else {}
            given = to_numpy(decoded(columns, layer, states)), offset
            found.append(from_blocks(self.xp, _again, shape, self.machine.dtype, args=given, name="ladder", **split))
        return in_order(found)

    def measured(self, states: Sequence[Array], offset: int, first: int, n_sweeps: int) -> tuple[States, Array, Array]:
        """The states after a number of sweeps that four divides, and `up` and `down` in the second half of them.

        These are of shape (looks, pairs, chains), a look at each pair when it has its turn, once in two sweeps.
        """
        half, up, down = n_sweeps // 2, [], []
        now = self.advance(states, offset, first, half)
        for draw in self.walk(now, offset, first + half, half):
            now = draw.states
            up.append(draw.measured[0])
            down.append(draw.measured[1])
        xp = self.xp
        in_turn = [[pairs_in_turn(*part[k : k + 2]) for k in range(0, half, 2)] for part in (up, down)]
        return now, xp.stack(in_turn[0], axis=0), xp.stack(in_turn[1], axis=0)

    def _step(self, rows: int) -> ChainFunction:
        return self._compiled(_record_ladder, rows, self.machine.n_pairs, self.layers, self.means)

    def _constants(self) -> Sequence[Array]:
        return (*self.machine.arrays, *self.machine.ladder)


def _again(offset: tuple[int, ...], shape: tuple[int, ...], states: Array, first: int) -> Array:
    """A block of chains, which repeat."""
    xp = array_namespace(states)
    return xp.take(states, (xp.arange(shape[2]) + first + offset[2]) % states.shape[2], axis=2)


def _record_ladder(form: Form, streams: ChainStreams, pairs: int, layers: tuple[int, ...], means: bool) -> Recorded:
    weights, top = form.parameters()
    below, rungs = form.parameters(pairs)
    inputs, state = form.states(top, form.topology.retained, pairs + 1)
    turn = B.placeholder(shape=(1,), dtype=form.dtype)
    move = moved(Ladder(rungs, top, pairs), state, turn, form.n_chains, streams)
    return [*inputs, *weights, *below, turn], [*shown_of_top(top, move, layers, means), move.up, move.down]


def shown_of_top(top: Parameters, move: Move, layers: Sequence[int], means: bool) -> State:
    """The states of all machines that the next step needs, and what is shown of the last machine."""
    after = [decoded(top, layer, part) for layer, part in enumerate(move.state)]
    shown = move.means if means else after
    return [*(after[layer] for layer in top.topology.retained), *(shown[layer][-1, :, :] for layer in layers)]


class LadderMeasures(LadderChains):
    """The same, of which `collect` gives what `estimate` takes: `up`, then `down`, of the second half of the sweeps."""

    def log_partition(self, n_chains: int, n_sweeps: int, library: str | None, chunks: Chunks = None) -> LadderEstimate:
        """Log Z by so many sweeps, or up to three less; see `Chains.last`."""
        host, sweeps = host_namespace(), n_sweeps - n_sweeps % 4
        shape = sweeps // 4, self.machine.n_pairs, n_chains
        found = self.last(n_chains, sweeps, library, chunks)
        up, down = (host.reshape(to_numpy(part).T, shape) for part in found)
        return estimate(self.machine, up, down)

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [n_sweeps // 4 * self.machine.n_pairs] * 2

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """See `Chains`; `n_sweeps` must be a multiple of four."""
        xp, (_, *measured) = self.xp, self.measured(self.start(offset, rows), offset, 0, n_sweeps)
        return beside([xp.matrix_transpose(xp.reshape(part, (-1, rows))) for part in measured])


def pairs_in_turn(first: Array, second: Array) -> Array:
    """Of measures of shape (pairs, chains) after two steps, those of each pair when it had its turn."""
    xp = array_namespace(first)
    even = asarray([[pair % 2 == 0] for pair in range(int(first.shape[0]))], xp)
    return xp.where(even, first, second)


def estimate(machine: Machine, up: Array, down: Array) -> LadderEstimate:
    """Log Z of a machine, from what each pair of neighbours on its ladder measured when it had its turn.

    Parameters
    ----------
    machine : Machine
    up, down : array of shape (looks, pairs, chains)
        See `Move`.
    """
    xp, count = host_namespace(), len(machine.topology.connections)
    up, down = (asarray(to_numpy(part), xp, "float64") for part in (up, down))
    base = log_partition_of_biases(machine.topology, [to_numpy(bias[0, :]) for bias in machine.ladder[count:]])
    (rise, error), apart = bennett(up, down), parting(up, down)
    acceptance = xp.mean(xp.exp(xp.minimum(-(up + down), xp.zeros((), dtype=up.dtype))), axis=(0, 2))
    looks = down[:, -1, :].T
    enough = looks.shape[1] >= 4
    effective, found = (float(of(looks)) if enough else math.nan for of in (effective_size, r_hat))
    shares = tuple(float(share) for share in acceptance)
    return LadderEstimate(base + rise, math.hypot(error, apart), shares, effective, found, apart, cut_off(up, down))
