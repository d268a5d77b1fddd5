"""Chains on graphs that are divided into blocks: groups of chains, which sweeps are measured, and tasks for Dask.

Contract: the bits of the undivided chains, however a graph is divided and whoever computes the blocks. A division says
what the blocks are, and which others each of them needs; its work takes a block from step to step, and shows the others
what they need. Dask and runs on disk drive the same work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.namespace.blocks import stepped
from nbm_xp.namespace.mrg31k3p.integers import State
from nbm_xp.rng.uniforms import elements

from .chains import Numbers, Start
from .energy_model import EnergyModel, units_of
from .moves import LANES
from .observables import SERIES, STATES, Variables, about, series_variable, state_variables

__all__ = ["ChainGroup", "Division", "Index", "Schedule", "Work", "blocked_chains", "packed", "unpack"]

Index = tuple[int, ...]
"""The place of a block."""

AT_ONCE: Final = 2**16
"""About so many states are packed at once."""


@dataclass(frozen=True)
class ChainGroup:
    """Chains that run together on the blocks of a graph.

    Parameters
    ----------
    n_units : int
        How many units the whole graph has.
    units : str or int
        What a unit can be.
    rule : str
    seed : six ints
        What all random numbers follow from.
    first_chain : int
        The number of the first of them.
    betas : tuple of floats
        Of each.
    pairs : bool, optional
        Whether the products of two chains each are measured too.
    """

    n_units: int
    units: Any
    rule: str
    seed: State
    first_chain: int
    betas: tuple[float, ...]
    pairs: bool = False

    @cached_property
    def kind(self) -> Units:
        """What a unit can be."""
        return units_of(self.units)

    @property
    def n_chains(self) -> int:
        """How many there are."""
        return len(self.betas)

    @property
    def sums(self) -> int:
        """How many sums are measured of each: the energy, and the values, or how many units have each."""
        return 1 + (self.kind.count if self.kind.is_categorical else 1)

    @property
    def columns(self) -> int:
        """How many numbers are measured: each sum of all chains, then the products of pairs."""
        return self.sums * self.n_chains + self.pairs * (self.n_chains // 2)

    @cached_property
    def numbers(self) -> Numbers:
        """The random numbers of all units."""
        return Numbers(self.seed, self.n_units)

    @cached_property
    def streams(self) -> Any:
        """The states that the chains' streams start in."""
        return self.numbers.states(self.first_chain, self.n_chains, 0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def uniforms(self, slots: Any, sweep: int) -> Any:
        """The numbers of some slots in a sweep, of shape (slots, chains)."""
        host = host_namespace()
        begins = (sweep * self.numbers.steps * LANES + slots) * self.n_chains
        lengths = host.full(slots.shape, self.n_chains)
        drawn = elements(self.streams, LANES * self.n_chains, begins, lengths, "float64")
        return host.reshape(drawn, (-1, self.n_chains))

    def series(self, names: tuple[str, ...], columns: Any) -> Iterator[tuple[str, Any]]:
        """Of each series its sums over all units, of shape (chains or pairs, sweeps, sums), of what was measured.

        Parameters
        ----------
        columns : array of shape (sweeps, columns)
        """
        xp, each = array_namespace(columns), self.sums * self.n_chains
        sums = xp.permute_dims(xp.reshape(columns[:, :each], (-1, self.sums, self.n_chains)), (2, 0, 1))
        for name in names:
            if name in SERIES:
                pairs = columns[:, each:].T[..., None]
                yield name, pairs if name == "overlap" else sums[..., :1] if name == "energy" else sums[..., 1:]


@dataclass(frozen=True)
class Schedule:
    """Which sweeps are made, and which of them are measured.

    Parameters
    ----------
    first : int
        How many sweeps there were before.
    burn_in, n_sweeps, thin : int
        Of `n_sweeps`, after `burn_in`, each `thin`-th one is measured.
    """

    first: int
    burn_in: int
    n_sweeps: int
    thin: int

    @property
    def total(self) -> int:
        """How many sweeps are made."""
        return self.burn_in + self.n_sweeps

    @property
    def seen(self) -> range:
        """After which sweeps is measured."""
        begin = self.first + self.burn_in
        return range(begin + self.thin, begin + self.n_sweeps + 1, self.thin)

    def several(self, number: int, at_once: int) -> tuple[int, int, tuple[int, ...]]:
        """A step of some sweeps: how many there were before it, how many it has, and after which is measured.

        Examples
        --------
        >>> [Schedule(10, 1, 4, 2).several(number, 3) for number in (0, 1)]
        [(10, 3, (13,)), (13, 2, (15,))]
        """
        begin = number * at_once
        count, sweep = min(at_once, self.total - begin), self.first + begin
        return sweep, count, tuple(t for t in range(sweep + 1, sweep + count + 1) if t in self.seen)


class Work:
    """What tasks do for a group of chains: a pure step from state to state of one block.

    Attributes
    ----------
    group : ChainGroup
    dtype : str
        Of states.
    """

    group: ChainGroup
    dtype = "int8"

    def begin(self, block: Index) -> tuple[Any, tuple[Any, ...]]:
        """The state that a block starts from, and what it shows the others: arrays."""
        raise NotImplementedError

    def resume(self, block: Index, states: Any) -> tuple[Any, tuple[Any, ...]]:
        """The same for states of shape (chains, block's shape)."""
        raise NotImplementedError

    def step(
        self, block: Index, state: Any, shown: Mapping[Index, tuple[Any, ...]], step: Any, given: Any
    ) -> tuple[Any, tuple[Any, ...], Any]:
        """Take a block one step on: its state, what it shows, and what was measured, of shape (measured, columns)."""
        raise NotImplementedError

    def array(self, block: Index, state: Any) -> Any:
        """The states of a block, of shape (chains, block's shape)."""
        raise NotImplementedError

    def saved(self, state: Any) -> tuple[Any, ...]:
        """A state as arrays to be written."""
        return tuple(state)

    def loaded(self, arrays: tuple[Any, ...], given: Any) -> Any:
        """The state that `saved` made arrays of."""
        return arrays


class Division:
    """How a graph is divided into blocks.

    Attributes
    ----------
    name : str
        Of tasks.
    axes : tuple of str
        The names of the axes of states.
    together : int
        How many chains run together, if not two by two.
    chunks : tuple of tuples of ints
        The lengths of blocks along each axis.
    """

    name: ClassVar[str]
    axes: tuple[str, ...]
    together: ClassVar[int]
    chunks: tuple[tuple[int, ...], ...]

    @property
    def blocks(self) -> list[Index]:
        """All blocks."""
        raise NotImplementedError

    def neighbours(self, block: Index) -> list[Index]:
        """The other blocks of which a block needs something, and which need something of it."""
        raise NotImplementedError

    def work(self, group: ChainGroup) -> Work:
        """What tasks do for a group of chains."""
        raise NotImplementedError

    def n_steps(self, schedule: Schedule) -> int:
        """How many steps a block takes."""
        raise NotImplementedError

    def step(self, schedule: Schedule, number: int) -> tuple[Any, ...]:
        """What a step is."""
        raise NotImplementedError

    def measured(self, step: tuple[Any, ...]) -> int:
        """How often is measured in a step."""
        raise NotImplementedError

    def by_unit(self, states: Any) -> Any:
        """States of shape (chains, …) in the order of blocks, in that of units."""
        return states

    def by_block(self, states: Any) -> Any:
        """States in the order of units, in that of blocks."""
        return states

    def groups(self, units: Any, rule: str, seed: State, first_chain: int, betas: Any, pairs: bool) -> list[ChainGroup]:
        """Chains, in groups of which each runs together."""
        size, n_units = max(self.together, 2 if pairs else 1), self.n_units
        return [
            ChainGroup(n_units, units, rule, seed, first_chain + k, tuple(betas[k : k + size]), pairs)
            for k in range(0, len(betas), size)
        ]

    @property
    def n_units(self) -> int:
        """How many units there are."""
        raise NotImplementedError


def blocked_chains(
    machine: EnergyModel,
    division: Division,
    given: Mapping[Index, Any],
    start: Start,
    schedule: Schedule,
    rule: str,
    names: tuple[str, ...],
) -> Variables:
    """Lay chains out as tasks of Dask's: the last states and what is observed, of which nothing is computed.

    Parameters
    ----------
    given : mapping
        What each block's task is handed: see `Division`.
    """
    near = {(0, *block): [(0, *other) for other in division.neighbours(block)] for block in division.blocks}
    handed = {(0, *block): given[block] for block in division.blocks}
    steps = [division.step(schedule, number) for number in range(division.n_steps(schedule))]
    counts = [division.measured(step) for step in steps]
    observed = [number for number, count in enumerate(counts) if count] if set(names) & set(STATES) else []
    groups = division.groups(
        machine.units, rule, start.seed, start.first_chain, start.betas.tolist(), "overlap" in names
    )
    made, states = [], start.states
    if states is not None:
        xp = array_namespace(states)
        states = division.by_block(xp.reshape(states, (start.betas.shape[0], *map(sum, division.chunks))))
    for group in groups:
        first = group.first_chain - start.first_chain
        some = None if states is None else states[first : first + group.n_chains, ...]
        shapes = [(count, group.columns) for count in counts]
        chunks = (group.n_chains,), *division.chunks
        made.append(
            stepped(
                division.work(group), steps, chunks, near, [handed] * len(steps), shapes, some, division.name, observed
            )
        )
    xp = array_namespace(made[0][0])
    last = division.by_unit(xp.concat([ends for ends, *_ in made]))
    found: Variables = {"state": (("chain", *division.axes), last, about("last states"))}
    if not schedule.seen:
        return found
    series: dict[str, list[Any]] = {}
    for group, (_, columns, _) in zip(groups, made, strict=True):
        for name, sums in group.series(names, columns):
            series.setdefault(name, []).append(sums)
    for name, sums in series.items():
        what, values = series_variable(groups[0].kind, division.n_units, name, xp.concat(sums))
        found[name] = (("pair" if name == "overlap" else "chain", "sweep"), values, about(what))
    seen = []
    for each in zip(*(looked for *_, looked in made), strict=True):
        states = xp.moveaxis(division.by_unit(xp.concat(list(each))), 0, -1)
        seen.append(xp.reshape(states, (*machine.state_shape, -1)) if len(division.axes) == 1 else states)
    return found | state_variables(xp, machine, names, seen, division.axes)


def packed(values: Units, states: Any) -> Any:
    """States in less memory: of units with two values, eight in a byte.

    Parameters
    ----------
    values : Units
        What a unit can be.
    states : array
        int8, of any strides.

    Examples
    --------
    >>> import numpy as np
    >>> packed(units_of("spin"), np.asarray([[1, -1, 1, 1], [-1, 1, 1, 1]], dtype=np.int8)).tolist()
    [[176], [112]]
    """
    host = host_namespace()
    if values.count > 2:
        return host.asarray(states, copy=True, order="C")
    found = host.empty((*states.shape[:-1], -(-states.shape[-1] // 8)), dtype=host.uint8)
    for some in _layers(states):
        found[some] = host.packbits(states[some] > values.least, axis=-1)
    return found


def unpack(values: Units, bits: Any, states: Any) -> None:
    """Write states that `packed` packed to where they belong: int8, of the same shape, and of any strides."""
    host = host_namespace()
    if values.count > 2:
        states[...] = bits
        return
    for some in _layers(states):
        each = host.unpackbits(bits[some], axis=-1, count=states.shape[-1])
        states[some] = each.view(host.int8) * int(values.step) + values.least


def _layers(states: Any) -> Iterator[slice]:
    """Layers along the first axis, so many together that they stay in the caches."""
    layers = states.shape[0] if states.ndim > 1 else 1
    some = max(1, AT_ONCE * layers // max(1, states.size))
    return (slice(k, k + some) for k in range(0, layers, some)) if states.ndim > 1 else iter([slice(None)])
