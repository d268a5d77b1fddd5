"""Chains on graphs that are divided into blocks: groups of chains, which sweeps are measured, and tasks for Dask.

Contract: the bits of the undivided chains, however a graph is divided and whoever computes the blocks. A division says
what the blocks are, and which others each of them needs; its work takes a block from step to step, and shows the others
what they need. Dask and runs on disk drive the same work.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from nbm_xp.machines import Array
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.namespace.blocks import stepped
from nbm_xp.namespace.mrg31k3p.integers import State
from nbm_xp.rng.uniforms import elements

from .chains import Numbers, Start
from .energy_model import EnergyModel, units_of
from .layout import Colour
from .moves import LANES, MOVES, LocalMove
from .observables import SERIES, STATES, Variables, about, products, series_variable, state_variables, totals

__all__ = ["ChainGroup", "Division", "Index", "Schedule", "Step", "Work", "blocked_chains", "packed", "unpack"]

Index = tuple[int, ...]
"""The place of a block."""

Shown = tuple[Array, ...]
"""What a block shows the others."""

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
    units: str | int
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
    def streams(self) -> Array:
        """The states that the chains' streams start in."""
        return self.numbers.states(self.first_chain, self.n_chains, 0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def begins(self, slots: Array, sweep: int) -> Array:
        """Where the numbers of slots begin among those of a chain."""
        return sweep * self.numbers.steps * LANES + slots

    def uniforms(self, slots: Array, sweep: int, counts: Array | int = 1) -> Array:
        """The numbers of so many slots from each of some on in a sweep, of shape (slots, chains)."""
        host, chains = host_namespace(), self.n_chains
        lengths = host.zeros_like(slots) + counts * chains
        drawn = elements(self.streams, LANES * chains, self.begins(slots, sweep) * chains, lengths, "float64")
        return host.reshape(drawn, (-1, chains))

    def draw(self, states: Array, places: Array | slice, colour: Colour, uniforms: Array) -> None:
        """Draw a colour's units, which are in some places, by the functions of `moves`."""
        host, move = host_namespace(), MOVES[self.rule]
        assert isinstance(move, LocalMove)
        change = move.change(self.kind.is_categorical)
        beta = host.asarray([self.betas])
        states[places] = change(host, colour, self.kind, states, states[places], uniforms, beta)

    def measured(self, energies: Array, states: Array, sums: Array = None) -> Array:
        """What is measured of a block's own states, of shape (units, chains): an array of shape (1, columns)."""
        host = host_namespace()
        found = [energies[None, :], totals(host, self.kind, states) if sums is None else sums]
        if self.pairs:
            found.append(products(host, states))
        return host.concat([host.reshape(host.astype(x, host.float64), (1, -1)) for x in found], axis=1)

    def series(self, names: tuple[str, ...], columns: Array) -> Iterator[tuple[str, Array]]:
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


class Step(NamedTuple):
    """Some sweeps of a block, or a colour of one sweep.

    Attributes
    ----------
    sweep, n_sweeps : int
        How many sweeps there were before, and how many are made.
    colour : int
        The colour that is drawn, where a sweep takes several steps.
    seen : tuple of ints
        After which of all sweeps is measured.
    """

    sweep: int
    n_sweeps: int
    colour: int
    seen: tuple[int, ...]


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

    def step(self, number: int, at_once: int, colours: int = 1) -> Step:
        """A step of some sweeps, or of a colour of so many.

        Examples
        --------
        >>> [tuple(Schedule(10, 1, 4, 2).step(number, 3)) for number in (0, 1)]
        [(10, 3, 0, (13,)), (13, 2, 0, (15,))]
        """
        some, colour = divmod(number, colours)
        begin = some * at_once
        count, sweep = min(at_once, self.total - begin), self.first + begin
        made = range(sweep + 1, sweep + count + 1) if colour == colours - 1 else ()
        return Step(sweep, count, colour, tuple(t for t in made if t in self.seen))


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

    def begin(self, block: Index) -> tuple[Any, Shown]:
        """The state that a block starts from, and what it shows the others: arrays."""
        raise NotImplementedError

    def resume(self, block: Index, states: Array) -> tuple[Any, Shown]:
        """The same for states of shape (chains, block's shape)."""
        raise NotImplementedError

    def step(
        self, block: Index, state: Any, shown: Mapping[Index, Shown], step: Step, given: Any
    ) -> tuple[Any, Shown, Array]:
        """Take a block one step on: its state, what it shows, and what was measured, of shape (measured, columns)."""
        raise NotImplementedError

    def array(self, block: Index, state: Any) -> Array:
        """The states of a block, of shape (chains, block's shape)."""
        raise NotImplementedError

    def saved(self, state: Any) -> tuple[Array, ...]:
        """A state as arrays to be written."""
        return tuple(state)

    def loaded(self, arrays: tuple[Array, ...], given: Any) -> Any:
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
    sweeps_at_once, colours : int
        How many sweeps a step makes, and how many steps a sweep takes.
    """

    name: ClassVar[str]
    axes: tuple[str, ...]
    together: ClassVar[int]
    chunks: tuple[tuple[int, ...], ...]
    sweeps_at_once: int = 1
    colours: int = 1

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return math.prod(map(sum, self.chunks))

    @property
    def blocks(self) -> list[Index]:
        """All blocks, in C order."""
        return list(itertools.product(*(range(len(sizes)) for sizes in self.chunks)))

    def neighbours(self, block: Index) -> list[Index]:
        """The other blocks of which a block needs something, and which need something of it."""
        raise NotImplementedError

    def work(self, group: ChainGroup) -> Work:
        """What tasks do for a group of chains."""
        raise NotImplementedError

    def n_steps(self, schedule: Schedule) -> int:
        """How many steps a block takes."""
        return -(-schedule.total // self.sweeps_at_once) * self.colours

    def step(self, schedule: Schedule, number: int) -> Step:
        """What a step is."""
        return schedule.step(number, self.sweeps_at_once, self.colours)

    def by_unit(self, states: Array) -> Array:
        """States of shape (chains, …) in the order of blocks, in that of units."""
        return states

    def by_block(self, states: Array) -> Array:
        """States in the order of units, in that of blocks."""
        return states

    def groups(
        self, units: str | int, rule: str, seed: State, first_chain: int, betas: Any, pairs: bool
    ) -> list[ChainGroup]:
        """Chains, in groups of which each runs together."""
        size, n_units = max(self.together, 2 if pairs else 1), self.n_units
        return [
            ChainGroup(n_units, units, rule, seed, first_chain + k, tuple(betas[k : k + size]), pairs)
            for k in range(0, len(betas), size)
        ]


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
    observed = [number for number, step in enumerate(steps) if step.seen] if set(names) & set(STATES) else []
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
        shapes = [(len(step.seen), group.columns) for step in steps]
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
    series: dict[str, list[Array]] = {}
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


def packed(values: Units, states: Array) -> Array:
    """States in less memory: of units with two values, eight in a byte.

    Parameters
    ----------
    values : Units
        What a unit can be.
    states : array
        int8, of two axes or more, of any strides.

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


def unpack(values: Units, bits: Array, states: Array) -> None:
    """Write states that `packed` packed to where they belong: int8, of the same shape, and of any strides."""
    host = host_namespace()
    if values.count > 2:
        states[...] = bits
        return
    for some in _layers(states):
        each = host.unpackbits(bits[some], axis=-1, count=states.shape[-1])
        states[some] = each.view(host.int8) * int(values.step) + values.least


def _layers(states: Array) -> Iterator[tuple[slice | int, ...]]:
    """Layers along the first axis, or of each chain along the second, so many together that they stay in the caches."""
    outer = states.shape[:-2][:1]
    layers = states.shape[len(outer)]
    some = max(1, AT_ONCE * math.prod(outer) * layers // max(1, states.size))
    for place in itertools.product(*map(range, outer)):
        for k in range(0, layers, some):
            yield (*place, slice(k, k + some))
