"""Markov chains of a Boltzmann machine: a sweep is a pure function of states, and blocks of chains are independent.

A chain does not depend on its block, on the division of its sweeps among calls, or on where it is computed: in memory
all chains are one block, on Dask each block is a task, in a run each task does some sweeps of a block. The random
numbers are those of `nbm_xp.machines.randomness`.

The rounding of a matrix product depends on the shape and the memory order of its factors. So states always have the
same memory order, a column for each chain: blocks of equal length give equal bits; blocks of other lengths, and other
libraries, agree except where a uniform and a probability are equal up to rounding.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

from nbm_xp.machines import Array, Chunks, Namespace, RandomState
from nbm_xp.machines.minibatches import any_missing, taken
from nbm_xp.machines.randomness import ChainFunction, compiled, entropy_of, next_seed
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
)
from nbm_xp.namespace.blocks import block_namespace, is_tiled

from .recording import Form, Recorded, record_start, record_sweep
from .state import MachineState
from .storage import LADDER, names
from .topology import Topology

States: TypeAlias = tuple[Array, ...]


class Fitted(Protocol):
    """A fitted model."""

    @property
    def state_(self) -> MachineState:
        """The fitted state."""


@dataclass(frozen=True, eq=False)
class Machine:
    """A snapshot of the arrays of a model, which can be sent to other processes.

    Attributes
    ----------
    topology : Topology
    arrays : tuple of arrays
        The weights, then the biases.
    base_rate : array of shape (visible units,)
    ladder : tuple of arrays
        The stacked weights and biases of the machines on the ladder of the training; empty if there is none.
    ended : tuple of arrays of shape (machines, units, chains)
        The last states of the chains of that training, for the layers of ``topology.retained``.
    """

    topology: Topology
    arrays: tuple[Array, ...]
    base_rate: Array
    ladder: tuple[Array, ...] = ()
    ended: tuple[Array, ...] = ()

    @classmethod
    def of(cls, state: MachineState) -> Self:
        """Return the machine of a fitted model's state."""
        topology, parameters, variables = state.topology, state.parameters, state.variables
        arrays = tuple(part.value for part in parameters)
        groups: list[list[str]] = []
        if f"{LADDER}turn" in variables:
            groups = [names(topology), [f"state.{layer}" for layer in topology.retained]]
        ladder = [tuple(variables[LADDER + name].value for name in group) for group in groups]
        return cls(topology, arrays, state.base_rate, *ladder)

    def to(self, library: str) -> Machine:
        """Return the machine in another library, copied by way of host memory."""
        xp = get_namespace(library)
        return self if library == self.library else self.mapped(lambda part: asarray(to_numpy(part), xp))

    def mapped(self, function: Callable[[Array], Any]) -> Machine:
        """Return the machine with the results of a function in place of its arrays."""
        groups = self.arrays, (self.base_rate,), self.ladder, self.ended
        arrays, (rate,), ladder, ended = (tuple(map(function, group)) for group in groups)
        return Machine(self.topology, arrays, rate, ladder, ended)

    @property
    def library(self) -> str:
        """Name of the library of the arrays."""
        return library_name(self.arrays[0])

    @property
    def dtype(self) -> str:
        """The dtype of the arrays."""
        return dtype_name(self.arrays[0])

    @property
    def is_lazy(self) -> bool:
        """Whether the weights are lazy arrays."""
        return is_lazy(array_namespace(self.arrays[0]))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of neighbours on the ladder: the number of machines below this one."""
        return int(self.ladder[-1].shape[0]) if self.ladder else 0


def machine_and_seed(
    model: Fitted, library: str | None, random_state: RandomState, *given: Array
) -> tuple[Machine, int, str | None]:
    """Return the machine of a model in a library, the seed of its chains, and the name of a lazy library of results.

    The default library is that of the first array of `given` that is not in host memory, else the model's. Without
    `random_state`, the seed is the next one of the model's streams. The lazy library is None if results are not lazy,
    or weights are tiled; else the machine is lazy itself or has the library of the blocks.
    """
    machine, host = Machine.of(model.state_), library_name(host_namespace())
    if library is None:
        library = next((name for name in map(library_name, given) if name != host), machine.library)
    xp = get_namespace(library)
    seed = next_seed(model.state_.rng) if random_state is None else entropy_of(random_state)
    if not is_lazy(xp):
        return machine.to(library), seed, None
    if machine.is_lazy:
        return machine, seed, None if any(map(is_tiled, machine.arrays)) else machine.library
    return machine.to(library_name(_of_blocks(xp, given))), seed, library


def _of_blocks(xp: Namespace, arrays: Sequence[Array]) -> Namespace:
    """Return the namespace of the blocks of lazy arrays."""
    blocks = block_namespace(xp, arrays)
    return host_namespace() if is_lazy(blocks) else blocks


class Draw(NamedTuple):
    """Chains after a sweep: a column for each chain.

    Attributes
    ----------
    states : tuple of arrays of shape (sites, chains)
        The states that the next sweep needs, in the format of data.
    shown : tuple of arrays of shape (sites or units, chains)
        The states of the requested layers, or the means that they were drawn with.
    measured : tuple of arrays
        Further measurements of a subclass of `Chains` in a sweep.
    """

    states: States
    shown: States
    measured: States


class Chains:
    """The Markov chains of a machine and a seed; each block of chains is computed independently.

    Parameters
    ----------
    machine : Machine
    seed : int
    layers : sequence of int, optional
        The layers to show, 0 being the visible one.
    means : bool, optional
        Whether to show the means that states were drawn with in place of the states.
    clamp : mapping of int to array, optional
        Fixed states of layers: arrays of shape (chains, sites), or (sites,) for all chains.
    initial : mapping of int to array, optional
        Initial states of layers that are not clamped, or means to draw them with; by default the base rate.
    purpose : str, optional
        Chains with the same seed and different purposes have independent random numbers.

    Attributes
    ----------
    carried : tuple of int
        The layers whose states a sweep needs, in rising order.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> machine = Machine.of(RBM.from_parameters(np.eye(3), np.zeros(3), np.zeros(3)).state_)
    >>> chains = Chains(machine, seed=1)
    >>> whole = chains.advance(chains.start(0, 8), 0, 0, 10)
    >>> part = chains.advance(chains.start(5, 3), 5, 0, 4)
    >>> part = chains.advance(part, 5, 4, 6)
    >>> bool((part[0] == whole[0][:, 5:]).all())
    True
    """

    default_purpose = "chains"
    n_machines = 0  # number of machines of chains with replicas, else 0
    is_observed = False  # whether ``given[0]`` are the rows of `observing`
    skips_complete = False  # whether the results of a block of these rows without missing values are 0

    result_dtype: str | None = None  # the dtype of `collect`; None for that of the machine

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
        self.chunks: Chunks = "auto"  # of the chains, if the weights are lazy
        self.first = 0  # the number of the chain of the first row of `given`
        free = [layer for layer in self.topology.layers if layer not in self.clamped]
        self.carried = tuple(layer for layer in self.topology.retained if layer in free) or tuple(free)

    def observing(self, rows: Array) -> Self:
        """Return chains that draw only missing visible states, NaN, of rows of shape (chains, sites)."""
        found = copy.copy(self)
        found.given, found.is_observed = self.given | {0: rows}, True
        return found

    @property
    def topology(self) -> Topology:
        """The topology of the machine."""
        return self.machine.topology

    @property
    def base_rate(self) -> Array:
        """Means of the visible units that chains start from."""
        return self.machine.base_rate

    @property
    def xp(self) -> Namespace:
        """The namespace of the machine's library."""
        return get_namespace(self.machine.library)

    def start(self, offset: int, rows: int) -> States:
        """Return the initial states of `rows` chains from number `offset` on, for the layers of `carried`.

        They are exact draws from the base-rate model, or draws with the means `initial`.
        """
        return self._started(offset, rows, self.carried)[0]

    def _started(self, offset: int, rows: int, layers: tuple[int, ...]) -> tuple[States, States]:
        """Return the initial states of some layers, and their means."""
        given = tuple(layer for layer in self.given if layer in layers)
        begin = self._compiled(record_start, rows, layers, given, self.n_machines, self.is_observed)
        rates = self._columns(self.base_rate, offset, rows, tiled=True)
        columns = [rates, *(self._columns(self.given[layer], offset, rows) for layer in given)]
        found, _ = begin(columns, self._random(begin, "start", offset, 0))
        return in_order(found[: len(layers)]), tuple(found[len(layers) :])

    def advance(self, states: Sequence[Array], offset: int, first_sweep: int, n_sweeps: int) -> States:
        """Do `n_sweeps` sweeps from the states after `first_sweep` sweeps, and return the new states."""
        now = tuple(states)
        for draw in self.walk(states, offset, first_sweep, n_sweeps):
            now = draw.states
        return now

    def walk(self, states: Sequence[Array], offset: int, first_sweep: int, n_sweeps: int) -> Iterator[Draw]:
        """Do the sweeps of `advance`, and yield a `Draw` after each."""
        now, rows = self._placed(states), int(states[0].shape[-1])
        move = self._step(rows)
        kept = (*self.clamped, 0) if self.is_observed else self.clamped
        fixed = [*self._constants(), *(self._columns(self.given[layer], offset, rows) for layer in kept)]
        random = self._random(move, "sweeps", offset, first_sweep)
        step, count, last = move.function, len(now), len(now) + len(self.layers)
        if n_sweeps > 1:
            step = step.unchecked(*now, *fixed, *self._schedule(first_sweep), *random)
        for number in range(first_sweep, first_sweep + n_sweeps):
            if number == first_sweep + n_sweeps - 1:
                step = move.function  # the memory of the last result is not reused
            found = tuple(step(*now, *fixed, *self._schedule(number), *random))
            now, random = found[:count], found[move.n_outputs :]
            yield Draw(now, found[count:last], found[last : move.n_outputs])

    def _placed(self, states: Sequence[Array]) -> States:
        """Return states, for example of a checkpoint, in the library and dtype of the machine."""
        return tuple(asarray(state, self.xp, self.machine.dtype) for state in states)

    def _step(self, rows: int) -> ChainFunction:
        """Return the compiled sweep of `rows` chains."""
        return self._compiled(record_sweep, rows, self.carried, self.clamped, self.layers, self.means, self.is_observed)

    def _constants(self) -> Sequence[Array]:
        """Return the arguments of all sweeps besides states."""
        return self.machine.arrays

    def _schedule(self, number: int) -> Sequence[Any]:
        """Return further arguments of a sweep, for chains whose sweeps differ."""
        return ()

    def _compiled(self, record: Callable[..., Recorded], rows: int, *options: Any) -> ChainFunction:
        return compiled(self.machine.library, record, Form(self.topology, self.machine.dtype, rows), *options)

    def _random(self, function: ChainFunction, part: str, offset: int, sweeps: int) -> Sequence[Array]:
        return function.states(self.seed, f"{part} of {self.purpose}", offset, sweeps, self.xp)

    def _columns(self, values: Array, offset: int, rows: int, *, tiled: bool = False) -> Array:
        """Return a block of an array of shape (chains, sites), or (sites,) for all chains, as columns."""
        if values.ndim == 2 and is_lazy(array_namespace(values)):
            return self.xp.matrix_transpose(asarray(values, self.xp, self.machine.dtype))
        tiles = self.machine.arrays[0].chunks[0] if tiled and self.machine.is_lazy else -1
        split = {"chunks": (tiles, self.chunks)} if self.machine.is_lazy else {}
        details, shape = (values, offset - self.first, self.machine.dtype), (int(values.shape[-1]), rows)
        return from_blocks(self.xp, _transposed, shape, self.machine.dtype, args=details, name="chains", **split)

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """Return what a block of chains shows after its last sweep, of shape (chains, width), layers side by side."""
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
        """Return the number of columns of each shown layer in the result of `collect`."""
        return [(self.topology.sizes if self.means else self.topology.sites)[layer] for layer in self.layers]

    def last(self, n_chains: int, n_sweeps: int, library: str | None = None, chunks: Chunks = None) -> list[Array]:
        """Return the result of `collect` for all chains, as an array of shape (chains, columns) for each of `widths`.

        With a lazy `library` each block of chains is a task; `chunks` are the blocks.
        """
        lazy = {layer: part for layer, part in self.given.items() if is_lazy(array_namespace(part))}
        if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], tuple):
            chunks = chunks[0]
        if chunks is None:
            chunks = next((part.chunks[0] for part in lazy.values()), "auto")
        widths = self.widths(n_sweeps)
        if library is None:
            self.chunks = chunks
            found = self.collect(self.first, n_chains, n_sweeps)
        else:
            xp, most = get_namespace(library), max([sum(widths), *(int(part.shape[1]) for part in lazy.values())])
            whole, dtype = copy.copy(self), self.result_dtype or self.machine.dtype
            arrays: list[Array] = []
            whole.machine = self.machine.mapped(arrays.append) if self.machine.is_lazy else self.machine
            whole.given = {layer: part for layer, part in self.given.items() if layer not in lazy}
            found = from_blocks(
                xp,
                _collected,
                (n_chains, most),
                dtype,
                (chunks, -1),
                args=(*arrays, whole, tuple(lazy), n_sweeps),
                blocks=[_padded(xp, part, most) for part in lazy.values()],
                name=self.purpose.replace(" ", "-"),
                meta=asarray([[]], _of_blocks(self.xp, self.machine.arrays), dtype),
            )
        return divided(found, widths)

    def computed(self, n_chains: int, n_sweeps: int, library: str | None, chunks: Chunks = None) -> list[Array]:
        """Return the result of `last` in host memory; all arrays are computed at once."""
        return divided(to_numpy(beside(self.last(n_chains, n_sweeps, library, chunks))), self.widths(n_sweeps))


def in_order(arrays: Collection[Array]) -> States:
    """Return arrays in row-major order, like those read from a file; lazy ones unchanged."""
    if not arrays or is_lazy(xp := array_namespace(*arrays)):
        return tuple(arrays)
    return tuple(xp.reshape(xp.reshape(array, (-1,)), array.shape) for array in arrays)


def divided(rows: Array, widths: Sequence[int]) -> list[Array]:
    """Divide the columns of an array into groups of the given widths."""
    ends = itertools.accumulate(widths)
    return [rows[:, end - width : end] for width, end in zip(widths, ends, strict=True)]


def beside(parts: Sequence[Array]) -> Array:
    """Concatenate arrays along the columns, in row-major order."""
    return in_order(parts)[0] if len(parts) == 1 else array_namespace(parts[0]).concat(list(parts), axis=1)


def _transposed(offset: tuple[int, int], shape: tuple[int, int], values: Array, first: int, dtype: str) -> Array:
    """Return a block of columns from values with rows that chains take in turn, or one row for all."""
    xp, (start, units) = array_namespace(values), (first + offset[1], slice(offset[0], offset[0] + shape[0]))
    if values.ndim == 1:
        return asarray(xp.broadcast_to(values[units, None], shape), xp, dtype)
    if start + shape[1] > values.shape[0]:
        turns = host_namespace().arange(start, start + shape[1]) % values.shape[0]
        values, start = taken(values, turns), 0
    return asarray(xp.matrix_transpose(values[start : start + shape[1], units]), xp, dtype)


def _padded(xp: Namespace, values: Array, width: int) -> Array:
    """Pad rows with zeros to a width."""
    rest = width - int(values.shape[1])
    none = xp.zeros_like(values[:, :1])  # in blocks of the same library
    return xp.concat([values, xp.broadcast_to(none, (values.shape[0], rest))], axis=1) if rest else values


def _collected(offset: tuple[int, int], shape: tuple[int, int], *arguments: Any) -> Array:
    """Return a block of `Chains.last`.

    The first arguments are the blocks of lazy arrays, padded with zeros, and the arrays of a lazy machine.
    """
    *parts, chains, layers, n_sweeps = arguments
    own, (start, rows), arrays = copy.copy(chains), (offset[0], shape[0]), parts[len(layers) :]
    if arrays:
        own.machine = chains.machine.mapped(lambda _: arrays.pop(0))
    own.given = {
        layer: values[start : start + rows] if values.ndim == 2 else values for layer, values in chains.given.items()
    }
    for layer, part in zip(layers, parts, strict=False):
        own.given[layer] = part[:, : chains.topology.sites[layer]]
    own.first = chains.first + start
    if own.skips_complete and not any_missing(own.given[0]):
        return own.xp.broadcast_to(asarray([[0.0]], own.xp, own.result_dtype or own.machine.dtype), shape)
    return _padded(array_namespace(found := own.collect(own.first, rows, n_sweeps)), found, shape[1])
