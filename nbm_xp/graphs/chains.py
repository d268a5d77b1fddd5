"""Chains of states: their initialisation, sweeps and observables, in memory and in blocks.

Contract of blocks: the same bits as the undivided chains, for every division and every scheduler. A block has its own
units and a halo: the units of other blocks on which its own units depend. A task makes one step of a block and returns,
for each neighbour, the states that this neighbour needs in the next step. Dask and runs on disk use the same blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from nbm_xp.machines import Array
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    default_namespace,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.namespace.blocks import stepped
from nbm_xp.namespace.errors import positive_int
from nbm_xp.rng import hashed_seed

from .chain_groups import ChainGroup, Schedule, Step, series_variables
from .energy_model import Clamp, EnergyModel, check_machine, checked_clamp, checked_given, checked_states
from .graph import finite
from .layout import energies
from .moves import move_of
from .observables import SERIES, StateMeans, Variables, about, checked_names


@dataclass(frozen=True)
class Start:
    """The start of chains, in memory or in blocks.

    Parameters
    ----------
    group : ChainGroup
        All chains.
    sweep : int, optional
        Number of sweeps made before.
    states : array or None
        Initial states, of shape (chains, units); None for random states.
    clamp : Clamp or None
        Clamped units.
    given : array or None
        Values of clamped units of each row, of shape (rows, units), NaN where a unit is drawn; chain c has row
        ``c % rows``.
    """

    group: ChainGroup
    sweep: int = 0
    states: Array = None
    clamp: Clamp | None = None
    given: Array = None


def started(
    machine: EnergyModel, n_chains: int, beta: Array, random_state: Any, *, initial: Any = None,
    rule: str = "heat_bath", observe: Any = (), clamp: dict[int, int] | None = None, given: Array = None,
    first_chain: int = 0,
) -> Start:  # fmt: skip
    """Validate arguments of `GraphMachine.sample`; return the start of its chains.

    Raises
    ------
    ValueError
        If an argument is invalid.
    """
    check_machine(machine)
    n_chains = positive_int(n_chains, "n_chains")
    betas = finite(beta, "beta", (n_chains,))
    first_chain, clamped = positive_int(first_chain, "first_chain", 0), checked_clamp(machine, clamp)
    names, seed, sweep = checked_names(machine, observe, n_chains), None, 0
    if hasattr(initial, "data_vars"):
        if random_state is not None:
            raise ValueError("random_state must be None where initial is a dataset, whose chains have a seed")
        try:
            seed, sweep = tuple(map(int, initial.attrs["seed"])), int(initial.attrs["sweeps"])
            initial, first_chain = initial["state"].data, int(initial["chain"].values[0])
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("initial must be states, or the dataset that sample returned") from error
    if given is not None:
        if clamp or "overlap" in names:
            raise ValueError("given: clamp must be None, and observe must not have overlaps, where rows are given")
        given = checked_given(machine, given)
        rows = int(given.shape[0])
        n_chains, first_chain, betas = n_chains * rows, first_chain * rows, host_namespace().repeat(betas, rows)
    if initial is not None:
        array = initial if is_array(initial) else host_namespace().asarray(getattr(initial, "data", initial))
        xp = array_namespace(array)
        if math.prod(array.shape) != n_chains * machine.n_units:
            raise ValueError(f"initial must be of shape {(n_chains, machine.n_units)}, got {tuple(array.shape)}")
        if is_lazy(xp):
            initial = xp.astype(array, xp.int8)
        else:
            initial = checked_states(machine, xp.reshape(array, (n_chains, -1)), n_chains)
    state = hashed_seed(entropy_of(random_state)) if seed is None else hashed_seed(seed)
    group = ChainGroup(machine.n_units, machine.units, rule, state, first_chain, tuple(betas.tolist()), names)
    return Start(group, sweep, initial, clamped, given)


class Chains:
    """Chains in memory, whose states are one array of any library.

    Parameters
    ----------
    machine : EnergyModel
    start : Start
    library : str or namespace, optional
        Array library of the states; by default the configured one.

    Attributes
    ----------
    states : array
        int8, of shape (units, chains), in the order of slots.
    sweep : int
        Number of sweeps made.
    """

    def __init__(self, machine: EnergyModel, start: Start, library: Any = None) -> None:
        host, group = host_namespace(), start.group
        self.move = move_of(group.rule)
        xp = default_namespace() if library is None else get_namespace(library)
        if is_lazy(xp):
            raise ValueError(
                f"library must be one whose arrays have values at once, got {library_name(xp)}: chunks (of a lattice) "
                "or shards (of any graph) lay the work out for Dask, by moves of single units; clusters reach through "
                "the whole graph, which must be in memory"
            )
        self.machine, self.xp, self.group, self.count = machine, xp, group, group.n_chains
        self.sweep, self._is_clamped = start.sweep, start.clamp is not None or start.given is not None
        self.set_betas(host.asarray(group.betas))
        order = machine.layout.order
        slots = host.argsort(order)
        if start.states is None:
            made = machine.kind.uniform_states(host, group.numbers.sweep(host, group.streams, self.count))
        else:
            made = host.take(checked_states(machine, start.states, self.count), order, axis=1).T
        self.free, self._rows = None, 0 if start.given is None else int(start.given.shape[0])
        if self._is_clamped:
            values = host.full((1, machine.n_units), host.nan) if start.given is None else start.given
            if start.clamp is not None:
                values[:, start.clamp[0]] = start.clamp[1]
            free = host.isnan(values)
            values = host.astype(host.where(free, 0.0, values), host.int8)
            free, values = (host.tile(x, (self.count // x.shape[0], 1))[:, order].T for x in (free, values))
            made = host.where(free, made, values)
            free = free[:, :1] if host.all(free == free[:, :1]) else free  # alike in all chains, or not
            self.free = asarray(host.ascontiguousarray(free), xp)
        self.states = asarray(host.ascontiguousarray(made), xp)
        self.numbers = self.move.numbers(machine, group.seed)
        self._rng = [each.states(group.first_chain, self.count, start.sweep) for each in self.numbers]
        with wide_dtypes(xp):
            self._by_unit = asarray(slots, xp, "int64")

    def step(self, count: int = 1) -> None:
        """Make `count` sweeps."""
        found = self.move.compiled(self, self._rng, count)
        if found is not None:
            self.states, self._rng = found
            self.sweep += count
            return
        for _ in range(count):
            sources = list(zip(self.numbers, self._rng, strict=True))
            uniforms = [numbers.sweep(self.xp, streams, self.count) for numbers, streams in sources]
            self._rng = [numbers.after(streams) for numbers, streams in sources]
            self.states = self.move.sweep(self, uniforms)
            self.sweep += 1

    def set_betas(self, betas: Array) -> None:
        """Set the inverse temperature of each chain, of shape (chains,)."""
        self.move.check(self.machine, betas, self.group.first_chain, self._is_clamped)
        self.betas = betas
        with wide_dtypes(self.xp):
            self.beta = asarray(host_namespace().reshape(betas, (1, -1)), self.xp, "float64")

    def observed(self, schedule: Schedule) -> Variables:
        """Make the sweeps of a schedule; return the last states and the observables."""
        names, rows = self.group.names, list[Array]()
        means = StateMeans(self.machine, names)
        self.step(schedule.burn_in)
        for _ in schedule.seen:
            self.step(schedule.thin)
            if set(names) & set(SERIES):
                rows.append(self.group.measured(self.energies(), self.states))
            if means.observables:
                with wide_dtypes(self.xp):
                    means.see(self.xp, self.xp.reshape(self.by_unit(), (*self.machine.state_shape, -1)))
        self.step(schedule.n_sweeps % schedule.thin)
        found: Variables = {"state": (("chain", "unit"), self.rows(), about("last states"))}
        if rows:
            found |= series_variables([self.group], [to_numpy(self.xp.concat(rows))])
        found |= means.variables(("unit",))
        if not self._rows:
            return found
        return {  # chains of each row
            name: (("chain", "row", *dims[1:]), values.reshape((-1, self._rows, *values.shape[1:])), attributes)
            for name, (dims, values, attributes) in found.items()
        }

    def energies(self) -> Array:
        """Compute the energy of each chain, float64 of shape (chains,)."""
        return energies(self.states, self.machine.layout, self.machine.kind)

    def by_unit(self, which: Array = None) -> Array:
        """Return the states of all chains, or of the chains `which`, in the order of units: (units, chains)."""
        xp, states = self.xp, self.states
        with wide_dtypes(xp):
            if which is not None:
                states = xp.take(states, asarray(which, xp, "int64"), axis=1)
            return xp.take(states, self._by_unit, axis=0)

    def rows(self, which: Array = None) -> Array:
        """Return the states of all chains, or of the chains `which`, as a NumPy array of shape (chains, units)."""
        return host_namespace().ascontiguousarray(to_numpy(self.by_unit(which)).T)


Index: TypeAlias = tuple[int, ...]  # index of a block along each axis of the division

Shown: TypeAlias = dict[Index, Array]  # halo states that a block sends to, or receives from, each of its neighbours


class Block(Protocol):
    """A block of a graph with its halo; its methods are pure functions of the states."""

    def begin(self, group: ChainGroup, states: Array = None) -> tuple[Array, Shown]:
        """Return the initial states, and what is shown to the neighbours.

        States are random if None, else given with the shape (chains, block's shape).
        """

    def step(self, group: ChainGroup, states: Array, shown: Shown, step: Step) -> tuple[Array, Shown, Array]:
        """Make a step; return states, what is shown to neighbours, and measurements of shape (measured, columns)."""

    def array(self, states: Array) -> Array:
        """Return the states of the block's own units, of shape (chains, block's shape); by default all states."""
        return states

    def arrays(self) -> dict[str, Array]:
        """Return the block's arrays by name, as they are stored in files."""


class Division(Protocol):
    """A division of a graph into blocks.

    Attributes
    ----------
    name : str
        Prefix of task names.
    axes : tuple of str
        Names of the axes of states.
    together : int
        Number of chains per task; at least 2 where pairs of chains are measured.
    chunks : tuple of tuples of ints
        Lengths of the blocks along each axis.
    sweeps_at_once, colours : int
        Number of sweeps per step, and number of steps per sweep; one of them is 1.
    """

    name: ClassVar[str]
    axes: tuple[str, ...]
    together: ClassVar[int]
    chunks: tuple[tuple[int, ...], ...]
    sweeps_at_once: int = 1
    colours: int = 1

    @property
    def blocks(self) -> list[Index]:
        """Indices of all blocks, in C order."""
        return list(itertools.product(*(range(len(sizes)) for sizes in self.chunks)))

    def neighbours(self, block: Index) -> list[Index]:
        """Return the blocks with which a block exchanges halos."""

    def n_steps(self, schedule: Schedule) -> int:
        """Return the number of steps of a schedule."""
        return -(-schedule.total // self.sweeps_at_once) * self.colours

    def step(self, schedule: Schedule, number: int) -> Step:
        """Return a step of a schedule by its number."""
        return schedule.step(number, self.sweeps_at_once, self.colours)

    def by_unit(self, states: Array) -> Array:
        """Reorder states, of shape (chains, …), from the order of blocks to the order of units."""
        return states

    def by_block(self, states: Array) -> Array:
        """Reorder states from the order of units to the order of blocks."""
        return states


def blocked_chains(
    machine: EnergyModel, division: Division, blocks: Mapping[Index, Block], start: Start, schedule: Schedule
) -> Variables:
    """Return the last states and the observables of chains in blocks as lazy Dask arrays."""
    near = {block: division.neighbours(block) for block in blocks}
    steps = [division.step(schedule, number) for number in range(division.n_steps(schedule))]
    states, means = start.states, StateMeans(machine, start.group.names)
    observed = [number for number, step in enumerate(steps) if step.seen] if means.observables else []
    if states is not None:
        xp = array_namespace(states)
        states = division.by_block(xp.reshape(states, (start.group.n_chains, *map(sum, division.chunks))))
    groups, made = start.group.divided(division.together), []
    for group in groups:
        first = group.first_chain - start.group.first_chain
        some = None if states is None else states[first : first + group.n_chains, ...]
        shapes = [(len(step.seen), group.columns) for step in steps]
        chunks = (group.n_chains,), *division.chunks
        made.append(stepped(group, blocks, near, steps, chunks, shapes, some, division.name, observed))
    xp = array_namespace(made[0][0])
    last = division.by_unit(xp.concat([ends for ends, *_ in made]))
    found: Variables = {"state": (("chain", *division.axes), last, about("last states"))}
    if not schedule.seen:
        return found
    for each in zip(*(looked for *_, looked in made), strict=True):
        seen = xp.moveaxis(division.by_unit(xp.concat(list(each))), 0, -1)
        means.see(xp, xp.reshape(seen, (*machine.state_shape, -1)) if len(division.axes) == 1 else seen)
    return found | series_variables(groups, [columns for _, columns, _ in made]) | means.variables(division.axes)
