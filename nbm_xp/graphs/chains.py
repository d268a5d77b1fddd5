"""Chains of states in memory: their initialisation, sweeps and observables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
from nbm_xp.namespace.errors import positive_int
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS
from nbm_xp.rng import hashed_seed, jump

from . import moves
from .chain_groups import ChainGroup, Numbers, Schedule, series_variables
from .energy_model import Clamp, EnergyModel, check_machine, checked_clamp, checked_states
from .graph import finite
from .observables import SERIES, StateMeans, Variables, about, checked_names

__all__ = ["Chains", "Start", "started"]


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
    """

    group: ChainGroup
    sweep: int = 0
    states: Array = None
    clamp: Clamp | None = None


def started(
    machine: EnergyModel,
    n_chains: int,
    beta: Array,
    random_state: Any,
    *,
    initial: Any = None,
    rule: str = "heat_bath",
    observe: Any = (),
    clamp: dict[int, int] | None = None,
    first_chain: int = 0,
) -> Start:
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
    return Start(group, sweep, initial, clamped)


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
        self.move = moves.move_of(group.rule)
        xp = default_namespace() if library is None else get_namespace(library) if isinstance(library, str) else library
        if is_lazy(xp):
            raise ValueError(
                f"library must be one whose arrays have values at once, got {library_name(xp)}: chunks (of a lattice) "
                "or shards (of any graph) lay the work out for Dask, by moves of single units; clusters reach through "
                "the whole graph, which must be in memory"
            )
        self.machine, self.xp, self.group, self.count = machine, xp, group, group.n_chains
        self.sweep, self._clamp = start.sweep, start.clamp
        self.set_betas(host.asarray(group.betas))
        order = machine.layout.order
        slots = host.argsort(order)
        if start.states is None:
            made = machine.kind.uniform_states(host, group.numbers.sweep(host, group.streams, self.count))
        else:
            made = host.take(checked_states(machine, start.states, self.count), order, axis=1).T
        self.free = None
        if start.clamp is not None:
            places = slots[start.clamp[0]]
            free, made = host.ones((machine.n_units, 1), dtype=host.bool), host.asarray(made, copy=True)
            made[places, :], free[places, 0] = start.clamp[1][:, None], False
            self.free = asarray(free, xp)
        self.states = asarray(host.ascontiguousarray(made), xp)
        self._sources = self.move.sources(machine)
        self.numbers = [Numbers(jump(group.seed, source.draw * DRAW_STEPS), source.numbers) for source in self._sources]
        self._rng = [
            each.states(group.first_chain // source.group, self.count // source.group, start.sweep + source.first)
            for each, source in zip(self.numbers, self._sources, strict=True)
        ]
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
            uniforms = [
                each.sweep(self.xp, streams, self.count // source.group)
                for each, streams, source in zip(self.numbers, self._rng, self._sources, strict=True)
            ]
            self._rng = [each.after(streams) for each, streams in zip(self.numbers, self._rng, strict=True)]
            self.states = self.move.sweep(self, uniforms)
            self.sweep += 1

    def set_betas(self, betas: Array) -> None:
        """Set the inverse temperature of each chain, of shape (chains,)."""
        self.move.check(self.machine, betas, self.group.first_chain, self._clamp)
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
                rows.append(self.measured())
            if means.observables:
                with wide_dtypes(self.xp):
                    means.see(self.xp, self.xp.reshape(self.by_unit(), (*self.machine.state_shape, -1)))
        self.step(schedule.n_sweeps % schedule.thin)
        found: Variables = {"state": (("chain", "unit"), self.rows(), about("last states"))}
        if rows:
            found |= series_variables([self.group], [to_numpy(self.xp.concat(rows))])
        return found | means.variables(("unit",))

    def measured(self) -> Array:
        """Measure the present states: see `ChainGroup.measured`."""
        return self.group.measured(self.energies(), self.states)

    def energies(self) -> Array:
        """Compute the energy of each chain, float64 of shape (chains,)."""
        return moves.energies(self.xp, self.machine.layout, self.machine.kind, self.states)

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
