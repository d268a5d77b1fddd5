"""Markov chains of a Boltzmann machine: a sweep is a pure function of states, any block of chains is computed alone.

A chain is the same whichever block it is computed in, however its sweeps are divided among calls, and whatever it runs
on: in memory all chains are one block, on Dask each block is a task, in a run each task does some sweeps of a block.
Its random numbers are those of `nbm_xp.machines.randomness`.

How a matrix product rounds depends on the shape of its factors and on their order in memory. So states lie in memory in
one order only, a column for each chain: equal blocks give equal bits; blocks of other lengths, and other libraries,
agree except where a uniform is as close to a probability as rounding.
"""

from __future__ import annotations

import copy
import functools
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

from nbm_xp.machines import Array, Chunks, Namespace, RandomState, Rows
from nbm_xp.machines.randomness import ChainFunction, ChainStreams, entropy_of, next_seed
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    from_blocks,
    get_namespace,
    host_namespace,
    is_lazy,
    library_name,
    to_numpy,
    use_backend,
)

from .recording import Form, Recorded, record_start, record_sweep
from .state import MachineState
from .storage import LADDER, names
from .topology import Topology

__all__ = [
    "Chains", "Draw", "Machine", "States", "beside", "checked_clamp", "checked_layer", "compiled", "divided",
    "in_order", "machine_and_seed",
]  # fmt: skip

States: TypeAlias = tuple[Array, ...]


class Fitted(Protocol):
    """A model that has parameters."""

    @property
    def state_(self) -> MachineState:
        """What has been learned."""


@dataclass(frozen=True, eq=False)
class Machine:
    """The arrays of a model, as they are when this is made; it can be sent to other processes.

    Attributes
    ----------
    topology : Topology
    arrays : tuple of arrays
        The weights, then the biases.
    base_rate : array of shape (visible units,)
    ladder : tuple of arrays
        The same as `arrays` of the machines that it exchanged states with in training, stacked; empty if none.
    ended : tuple of arrays of shape (machines, units, chains)
        The last states of the chains of that training, of ``topology.retained``.
    """

    topology: Topology
    arrays: tuple[Array, ...]
    base_rate: Array
    ladder: tuple[Array, ...] = ()
    ended: tuple[Array, ...] = ()

    @classmethod
    def of(cls, model: Fitted) -> Self:
        """That of a model that has parameters."""
        return cls.of_state(model.state_)

    @classmethod
    def of_state(cls, state: MachineState) -> Self:
        """That of a model's state."""
        topology, parameters, variables = state.topology, state.parameters, state.variables
        arrays = tuple(part.value for part in (*parameters.weights, *parameters.biases))
        groups: list[list[str]] = []
        if f"{LADDER}turn" in variables:
            groups = [names(topology), [f"state.{layer}" for layer in topology.retained]]
        ladder = [tuple(variables[LADDER + name].value for name in group) for group in groups]
        return cls(topology, arrays, state.base_rate, *ladder)

    def to(self, library: str) -> Machine:
        """The same in another library, by way of host memory."""
        if library == self.library:
            return self
        xp, groups = get_namespace(library), (self.arrays, (self.base_rate,), self.ladder, self.ended)
        arrays, (rate,), ladder, ended = (tuple(asarray(to_numpy(part), xp) for part in group) for group in groups)
        return Machine(self.topology, arrays, rate, ladder, ended)

    @property
    def library(self) -> str:
        """The name of the library of the arrays."""
        return library_name(self.arrays[0])

    @property
    def dtype(self) -> str:
        """Their dtype."""
        return dtype_name(self.arrays[0])

    @property
    def is_lazy(self) -> bool:
        """Whether the weights are computed later, tile by tile."""
        return is_lazy(array_namespace(self.arrays[0]))

    @property
    def n_pairs(self) -> int:
        """How many pairs of neighbours the ladder has: one for each machine below this one."""
        return int(self.ladder[-1].shape[0]) if self.ladder else 0


def machine_and_seed(
    model: Fitted, library: str | None, random_state: RandomState, *given: Array
) -> tuple[Machine, int, str | None]:
    """The machine of a model for chains in a library, their seed, and the name of a lazy library for results.

    The library is by default that of the first array of `given` that is not in host memory, else the model's; without a
    `random_state`, the seed is the next one of the model's streams.
    """
    machine, host = Machine.of(model), library_name(host_namespace())
    if library is None:
        library = next((name for name in map(library_name, given) if name != host), machine.library)
    lazy = is_lazy(get_namespace(library))
    seed = next_seed(model.state_.rng) if random_state is None else entropy_of(random_state)
    if not lazy:
        return machine.to(library), seed, None
    return (machine, seed, None) if machine.is_lazy else (machine.to(host), seed, library)


def checked_layer(topology: Topology, layer: Any, name: str = "layer") -> int:
    """The number of a layer, checked."""
    if isinstance(layer, bool) or not hasattr(layer, "__index__") or layer not in topology.layers:
        raise ValueError(f"{name} must be layers from 0 to {topology.layers[-1]}, got {layer!r}")
    return int(layer)


def checked_clamp(topology: Topology, clamp: object, checked: Callable[[int, Rows], Array]) -> dict[int, Array]:
    """The states of clamped layers by the number of the layer, each as `checked` gives it."""
    if clamp is not None and not isinstance(clamp, Mapping):
        raise ValueError(f"clamp must map layers to their states, got {type(clamp).__name__}")
    numbered = ((checked_layer(topology, layer, "clamp"), states) for layer, states in (clamp or {}).items())
    found = {layer: checked(layer, states) for layer, states in numbered}
    if len(found) == len(topology.sizes):
        raise ValueError("clamp must leave a layer to draw, got states of all of them")
    return found


class Draw(NamedTuple):
    """Chains after a sweep: a column for each chain.

    Attributes
    ----------
    states : tuple of arrays of shape (sites, chains)
        Those that the next sweep needs, as data give them.
    shown : tuple of arrays of shape (sites or units, chains)
        The states of the requested layers, or the means that they were drawn with.
    measured : tuple of arrays
        What else a kind of chains measures in a sweep.
    """

    states: States
    shown: States
    measured: States


class Chains:
    """The chains of a machine and a seed, any block of them at any time.

    Parameters
    ----------
    machine : Machine
    seed : int
    layers : sequence of int, optional
        The layers to show, 0 being the visible one.
    means : bool, optional
        Whether to show the means that states were drawn with in place of the states.
    clamp : mapping of int to array, optional
        Layers that keep these states: arrays of shape (chains, sites), or (sites,) for all chains.
    initial : mapping of int to array, optional
        Of layers that are not clamped, states, or means of them, to begin from; by default the base rate.
    purpose : str, optional
        Chains of one seed for different purposes have random numbers of their own.

    Attributes
    ----------
    carried : tuple of int
        The layers of a state that a sweep needs, rising.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> machine = Machine.of(RBM.from_parameters(np.eye(3), np.zeros(3), np.zeros(3)))
    >>> chains = Chains(machine, seed=1)
    >>> whole = chains.advance(chains.start(0, 8), 0, 0, 10)
    >>> part = chains.advance(chains.start(5, 3), 5, 0, 4)
    >>> part = chains.advance(part, 5, 4, 6)
    >>> bool((part[0] == whole[0][:, 5:]).all())
    True
    """

    default_purpose = "chains"
    n_machines = 0
    """How many machines have chains side by side, where there are several."""

    result_dtype: str | None = None
    """The dtype of `collect`, if it is not that of the machine."""

    def __init__(
        self,
        machine: Machine,
        seed: int,
        *,
        layers: Sequence[int] = (0,),
        means: bool = False,
        clamp: Mapping[int, Array] | None = None,
        initial: Mapping[int, Array] | None = None,
        purpose: str | None = None,
    ) -> None:
        self.machine = machine
        self.seed = seed
        self.layers = tuple(layers)
        self.means = means
        self.given = dict(sorted({**(initial or {}), **(clamp or {})}.items()))
        self.clamped = tuple(sorted(clamp or {}))
        self.purpose = purpose or self.default_purpose
        self.chunks: Chunks = "auto"  # of the chains, where the weights are lazy
        self.first = 0  # the number of the chain that the first row of `given` is for
        self.base_rate = machine.base_rate
        free = [layer for layer in self.topology.layers if layer not in self.clamped]
        self.carried = tuple(layer for layer in self.topology.retained if layer in free) or tuple(free)

    @property
    def topology(self) -> Topology:
        """The layers of the machine."""
        return self.machine.topology

    @property
    def xp(self) -> Namespace:
        """The library that chains are computed in."""
        return get_namespace(self.machine.library)

    def start(self, offset: int, rows: int) -> States:
        """The states that a block of chains from number `offset` begins with, of the layers of `carried`.

        They are drawn from the model without weights that is most like the data, exactly, or with `initial`.
        """
        return self._started(offset, rows, self.carried)[0]

    def _started(self, offset: int, rows: int, layers: tuple[int, ...]) -> tuple[States, States]:
        """The states of some layers that chains begin with, and their means."""
        given = tuple(layer for layer in self.given if layer in layers)
        begin = self._compiled(record_start, rows, layers, given, self.n_machines)
        rates = self._columns(self.base_rate, offset, rows, tiled=True)
        columns = [rates, *(self._columns(self.given[layer], offset, rows) for layer in given)]
        found, _ = begin(columns, self._random(begin, "start", offset, 0))
        return in_order(found[: len(layers)]), tuple(found[len(layers) :])

    def advance(self, states: Sequence[Array], offset: int, first_sweep: int, n_sweeps: int) -> States:
        """The states of `start`, or of an earlier call after `first_sweep` sweeps, some sweeps later."""
        now = tuple(states)
        for draw in self.walk(states, offset, first_sweep, n_sweeps):
            now = draw.states
        return now

    def walk(self, states: Sequence[Array], offset: int, first_sweep: int, n_sweeps: int) -> Iterator[Draw]:
        """Do the sweeps of `advance`, and yield a `Draw` after each."""
        now, rows = self._placed(states), int(states[0].shape[-1])
        move = self._step(rows)
        fixed = [*self._constants(), *(self._columns(self.given[layer], offset, rows) for layer in self.clamped)]
        random = self._random(move, "sweeps", offset, first_sweep)
        step, count, last = move.function, len(now), len(now) + len(self.layers)
        if n_sweeps > 1:
            step = step.unchecked(*now, *fixed, *self._schedule(first_sweep), *random)
        for number in range(first_sweep, first_sweep + n_sweeps):
            if number == first_sweep + n_sweeps - 1:
                step = move.function  # the last result is nobody else's memory
            found = tuple(step(*now, *fixed, *self._schedule(number), *random))
            now, random = found[:count], found[move.n_outputs :]
            yield Draw(now, found[count:last], found[last : move.n_outputs])

    def _placed(self, states: Sequence[Array]) -> States:
        """States, as a checkpoint may give them, in the library and dtype of the machine."""
        return tuple(asarray(state, self.xp, self.machine.dtype) for state in states)

    def _step(self, rows: int) -> ChainFunction:
        """The compiled sweep of so many chains."""
        return self._compiled(record_sweep, rows, self.carried, self.clamped, self.layers, self.means)

    def _constants(self) -> Sequence[Array]:
        """What every sweep takes besides states."""
        return self.machine.arrays

    def _schedule(self, number: int) -> Sequence[Any]:
        """What the sweep of a number takes besides, of chains whose sweeps differ."""
        return ()

    def _compiled(self, record: Callable[..., Recorded], rows: int, *options: Any) -> ChainFunction:
        return compiled(self.machine.library, record, Form(self.topology, self.machine.dtype, rows), *options)

    def _random(self, function: ChainFunction, part: str, offset: int, sweeps: int) -> Sequence[Array]:
        return function.states(self.seed, f"{part} of {self.purpose}", offset, sweeps, self.xp)

    def _columns(self, values: Array, offset: int, rows: int, *, tiled: bool = False) -> Array:
        """A block of an array of shape (chains, sites), or (sites,) for all chains, a column for each chain."""
        if values.ndim == 2 and is_lazy(array_namespace(values)):
            return self.xp.matrix_transpose(asarray(values, self.xp, self.machine.dtype))
        tiles = self.machine.arrays[0].chunks[0] if tiled and self.machine.is_lazy else -1
        split = {"chunks": (tiles, self.chunks)} if self.machine.is_lazy else {}
        details, shape = (values, offset - self.first, self.machine.dtype), (int(values.shape[-1]), rows)
        return from_blocks(self.xp, _transposed, shape, self.machine.dtype, args=details, name="chains", **split)

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """What is shown of a block of chains after its last sweep, of shape (chains, width): layer beside layer."""
        if n_sweeps:
            for draw in self.walk(self.start(offset, rows), offset, 0, n_sweeps):
                shown = draw.shown
        else:
            free = tuple(layer for layer in self.layers if layer not in self.clamped)
            found = dict(zip(free, self._started(offset, rows, free)[int(self.means)], strict=True))
            found |= {layer: self._columns(self.given[layer], offset, rows) for layer in self.clamped}
            shown = tuple(found[layer] for layer in self.layers)
        return beside([self.xp.matrix_transpose(part) for part in shown])

    def widths(self, n_sweeps: int) -> list[int]:
        """How many columns `collect` gives for each layer shown."""
        return [(self.topology.sizes if self.means else self.topology.sites)[layer] for layer in self.layers]

    def last(self, n_chains: int, n_sweeps: int, library: str | None = None, chunks: Chunks = None) -> list[Array]:
        """What `collect` gives of chains, an array of shape (chains, columns) for each of `widths`.

        In a lazy `library` each block of chains becomes a task; `chunks` says how it divides them.
        """
        lazy = {layer: part for layer, part in self.given.items() if is_lazy(array_namespace(part))}
        if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], tuple):
            chunks = chunks[0]
        if chunks is None:
            chunks = next((part.chunks[0] for part in lazy.values()), "auto")
        widths = self.widths(n_sweeps)
        if library is None:
            self.chunks = chunks
            found = self.collect(0, n_chains, n_sweeps)
        else:
            xp, most = get_namespace(library), max([sum(widths), *(int(part.shape[1]) for part in lazy.values())])
            whole = copy.copy(self)
            whole.given = {layer: part for layer, part in self.given.items() if layer not in lazy}
            found = from_blocks(
                xp,
                _collected,
                (n_chains, most),
                self.result_dtype or self.machine.dtype,
                (chunks, -1),
                args=(whole, tuple(lazy), n_sweeps),
                blocks=[_padded(xp, part, most) for part in lazy.values()],
                name=self.purpose.replace(" ", "-"),
            )
        return divided(found, widths)


_compiling = threading.RLock()


def compiled(library: str, record: Callable[..., Recorded], form: Form, *options: Any) -> ChainFunction:
    """The function of chains that a formula is recorded as, compiled once, whichever thread comes first."""
    with _compiling:
        return _compile(library, record, form, *options)


@functools.lru_cache(maxsize=256)
def _compile(library: str, record: Callable[..., Recorded], form: Form, *options: Any) -> ChainFunction:
    streams = ChainStreams()
    with use_backend(library):
        return streams.compiled(*record(form, streams, *options), name=record.__name__)


def in_order(arrays: Collection[Array]) -> States:
    """Arrays whose rows lie one after the other in memory, as those read from a file do; lazy ones as they are."""
    if not arrays or is_lazy(xp := array_namespace(*arrays)):
        return tuple(arrays)
    return tuple(xp.reshape(xp.reshape(array, (-1,)), array.shape) for array in arrays)


def divided(rows: Array, widths: Sequence[int]) -> list[Array]:
    """The columns of an array in groups of so many."""
    ends = itertools.accumulate(widths)
    return [rows[:, end - width : end] for width, end in zip(widths, ends, strict=True)]


def beside(parts: Sequence[Array]) -> Array:
    """Arrays of one number of rows, side by side, rows in order."""
    return in_order(parts)[0] if len(parts) == 1 else array_namespace(parts[0]).concat(list(parts), axis=1)


def _transposed(offset: tuple[int, int], shape: tuple[int, int], values: Array, first: int, dtype: str) -> Array:
    """A block of columns, of values with a row for each chain, or one row for all."""
    xp = array_namespace(values)
    units, chains = slice(offset[0], offset[0] + shape[0]), slice(first + offset[1], first + offset[1] + shape[1])
    part = (
        xp.broadcast_to(values[units, None], shape) if values.ndim == 1 else xp.matrix_transpose(values[chains, units])
    )
    return asarray(part, xp, dtype)


def _padded(xp: Namespace, values: Array, width: int) -> Array:
    """Rows with zeros after them, as the blocks of an array of other columns need them."""
    rest = width - int(values.shape[1])
    return xp.concat([values, xp.zeros((values.shape[0], rest), dtype=values.dtype)], axis=1) if rest else values


def _collected(offset: tuple[int, int], shape: tuple[int, int], *arguments: Any) -> Array:
    """A block of what `Chains.last` gives: the parts of lazy arrays come first, with zeros after their columns."""
    *parts, chains, layers, n_sweeps = arguments
    own, (first, rows) = copy.copy(chains), (offset[0], shape[0])
    own.given = {
        layer: values[first : first + rows] if values.ndim == 2 else values for layer, values in chains.given.items()
    }
    for layer, part in zip(layers, parts, strict=True):
        own.given[layer] = part[:, : chains.topology.sites[layer]]
    own.first = first
    return _padded(array_namespace(found := own.collect(first, rows, n_sweeps)), found, shape[1])
