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
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, Namespace
from nbm_xp.machines.randomness import ChainFunction, ChainStreams
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    from_blocks,
    get_namespace,
    is_lazy,
    use_backend,
)

from .energy import Parameters, decoded, draw_layer, start_layer, sweep
from .recording import Form, Recorded
from .state import Machine
from .topology import Topology

__all__ = ["Chains", "Draw", "States", "beside", "in_order"]

States: TypeAlias = tuple[Array, ...]


class Draw(NamedTuple):
    """Chains after a sweep.

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
        topology = machine.topology
        free = [layer for layer in topology.layers if layer not in self.clamped]
        self.carried = tuple(layer for layer in topology.retained if layer in free) or tuple(free)

    @property
    def topology(self) -> Topology:
        """The layers of the machine."""
        return self.machine.topology

    @property
    def xp(self) -> Namespace:
        """The library that chains are computed in."""
        return get_namespace(self.machine.library)

    def start(self, offset: int, rows: int) -> States:
        """The states that a block of chains begins with, of the layers of `carried`, as data give them.

        They are drawn from the model without weights that is most like the data, exactly, or with `initial`.

        Parameters
        ----------
        offset : int
            The number of the first chain.
        rows : int
            How many chains.

        Returns
        -------
        tuple of arrays of shape (sites, chains)
        """
        return self._started(offset, rows, self.carried)[0]

    def _started(self, offset: int, rows: int, layers: tuple[int, ...]) -> tuple[States, States]:
        """The states of some layers that chains begin with, and their means."""
        given = tuple(layer for layer in self.given if layer in layers)
        begin = self._compiled(_record_start, rows, layers, given, self.n_machines)
        rates = self._columns(self.machine.base_rate, offset, rows, tiled=True)
        columns = [rates, *(self._columns(self.given[layer], offset, rows) for layer in given)]
        found, _ = begin(columns, self._random(begin, "start", offset, 0))
        return in_order(found[: len(layers)]), tuple(found[len(layers) :])

    def advance(self, states: Sequence[Array], offset: int, first_sweep: int, n_sweeps: int) -> States:
        """Do some sweeps of a block of chains.

        Parameters
        ----------
        states : sequence of arrays of shape (sites, chains)
            What `start` or an earlier call gave.
        offset : int
            The number of the first chain.
        first_sweep : int
            How many sweeps were done before.
        n_sweeps : int

        Returns
        -------
        tuple of arrays of shape (sites, chains)
        """
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
        return self._compiled(_record_sweep, rows, self.carried, self.clamped, self.layers, self.means)

    def _constants(self) -> Sequence[Array]:
        """What every sweep takes besides states."""
        return self.machine.arrays

    def _schedule(self, number: int) -> Sequence[Any]:
        """What the sweep of a number takes besides, of chains whose sweeps differ."""
        return ()

    def _compiled(self, record: Callable[..., Recorded], rows: int, *options: Any) -> ChainFunction:
        form = Form(self.topology, self.machine.dtype, rows)
        with _compiling:  # a function is compiled once, whichever thread comes first
            return _compile(self.machine.library, record, form, *options)

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
        return [self.topology.sizes[k] if self.means else self.topology.sites(k) for k in self.layers]

    def last(self, n_chains: int, n_sweeps: int, library: str | None = None, chunks: Chunks = None) -> list[Array]:
        """What `collect` gives of chains, an array of shape (chains, columns) for each of `widths`.

        Parameters
        ----------
        n_chains, n_sweeps : int
        library : str, optional
            A lazy library, in which each block of chains becomes a task.
        chunks : optional
            How a lazy library divides the chains.
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
        ends = [sum(widths[: place + 1]) for place in range(len(widths))]
        return [found[:, end - width : end] for end, width in zip(ends, widths, strict=True)]


_compiling = threading.RLock()


@functools.lru_cache(maxsize=256)
def _compile(library: str, record: Callable[..., Recorded], form: Form, *options: Any) -> ChainFunction:
    streams = ChainStreams()
    with use_backend(library):
        return streams.compiled(*record(form, streams, *options), name=record.__name__)


def _record_start(
    form: Form, streams: ChainStreams, layers: tuple[int, ...], given: tuple[int, ...], machines: int
) -> Recorded:
    topology, rates = form.topology, B.placeholder(shape=(form.topology.sizes[0], form.n_chains), dtype=form.dtype)
    parameters = Parameters(topology, (), (rates,), in_columns=True)
    inputs, means = form.states(parameters, given)
    shape, states = ((machines, form.n_chains) if machines else form.n_chains), []
    for layer in layers:
        if layer in given:
            states.append(start_layer(parameters, layer, means[layer], shape, streams))
            continue
        nothing = B.zeros((*([machines] if machines else []), topology.sizes[layer], 1), dtype=form.dtype)
        nothing = nothing + rates[:1, :] * 0
        if layer:
            means[layer] = topology.units[layer].uninformed(nothing, -2)
        else:
            means[layer] = nothing + rates if machines else rates
        states.append(draw_layer(parameters, layer, means[layer], shape, streams))
    shown = [decoded(parameters, layer, part) for layer, part in zip(layers, states, strict=True)]
    return [rates, *inputs], [*shown, *(means[layer] for layer in layers)]


def _record_sweep(
    form: Form,
    streams: ChainStreams,
    carried: tuple[int, ...],
    clamped: tuple[int, ...],
    layers: tuple[int, ...],
    means: bool,
) -> Recorded:
    weights, parameters = form.parameters()
    inputs, state = form.states(parameters, carried)
    fixed, given = form.states(parameters, clamped)
    whole = [mine if other is None else other for mine, other in zip(state, given, strict=True)]
    moved, drawn_with = sweep(parameters, whole, form.n_chains, streams, clamped)
    shown = {layer: drawn_with[layer] if means else decoded(parameters, layer, moved[layer]) for layer in layers}
    after = [decoded(parameters, layer, moved[layer]) for layer in carried]
    return [*inputs, *weights, *fixed], [*after, *(shown[layer] for layer in layers)]


def in_order(arrays: Collection[Array]) -> States:
    """Arrays whose rows lie one after the other in memory, as those read from a file do; lazy ones as they are."""
    if not arrays or is_lazy(xp := array_namespace(*arrays)):
        return tuple(arrays)
    return tuple(xp.reshape(xp.reshape(array, (-1,)), array.shape) for array in arrays)


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
        own.given[layer] = part[:, : chains.topology.sites(layer)]
    own.first = first
    return _padded(array_namespace(found := own.collect(first, rows, n_sweeps)), found, shape[1])
