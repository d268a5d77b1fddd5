"""Chains of a machine's states, which sweeps take on from one state to the next.

Contract: where the states lie and how many chains run together changes no bit of them.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import (
    asarray,
    default_namespace,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    kernel,
    library_name,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, State
from nbm_xp.rng import hashed_seed, jump

from . import sweeps
from .clamping import check_dict, checked_clamp
from .clusters import CLUSTER_RULES, check_clusters, moved
from .draws import Numbers
from .energy_model import EnergyModel, check_machine
from .graph import finite
from .multispin import GROUP, MULTI_SPIN, check_multi_spin, numbers_of, thresholds, turned

__all__ = ["Chains", "begun", "checked_states"]


class Chains:
    """Chains that run together.

    Parameters
    ----------
    machine : EnergyModel
    seed : six ints
        What all random numbers follow from.
    betas : array
        float64, of shape (chains,), in the host's memory.
    xp : namespace
        Where the states lie.
    rule : str
        One of `nbm_xp.graphs.sweeps.RULES`, or of `nbm_xp.graphs.clusters.CLUSTER_RULES`.
    first_chain : int, optional
        The number of the first of them.
    sweep : int, optional
        How many sweeps there were before.
    initial : array, optional
        The states to begin with, of shape (chains, units); random ones by default.
    clamp : dict, optional
        Values of units that never change.

    Attributes
    ----------
    states : array
        int8, of shape (units, chains), in the order of slots.
    """

    def __init__(
        self,
        machine: EnergyModel,
        seed: State,
        betas: Any,
        xp: Any,
        rule: str = "heat_bath",
        first_chain: int = 0,
        sweep: int = 0,
        initial: Any = None,
        clamp: dict[int, int] | None = None,
    ) -> None:
        host = host_namespace()
        self.machine, self.xp, self.rule, self.betas = machine, xp, rule, betas
        self.count, self.sweep = int(betas.shape[0]), sweep
        self.seed, self.first_chain = seed, first_chain
        self._numbers = Numbers(seed, machine.units_count)
        layout, values = machine.layout, machine.values
        states = self._numbers.states(first_chain, self.count, 0)
        if initial is None:
            made = values.at_random(host, self._numbers.sweep(host, states, self.count))
        else:
            made = host.take(checked_states(machine, initial, self.count), layout.order, axis=1).T
        self._free = None
        if clamp is not None:
            units, kept = checked_clamp(machine, clamp)
            slots = host.argsort(layout.order)[units]
            free, made = host.ones((machine.units_count, 1), dtype=host.bool), host.asarray(made, copy=True)
            made[slots, :], free[slots, 0] = kept[:, None], False
            self._free = asarray(free, xp)
        if rule == MULTI_SPIN:
            check_multi_spin(machine, betas, first_chain, clamp)
            self._shared_numbers = Numbers(jump(seed, 3 * DRAW_STEPS), numbers_of(machine.units_count))
            self._shared = self._shared_numbers.states(first_chain // GROUP, self.count // GROUP, sweep)
        self.states = asarray(host.ascontiguousarray(made), xp)
        self._streams = self._numbers.after(states, sweep + 1)
        if rule in CLUSTER_RULES:
            self._numbers = Numbers(jump(seed, 2 * DRAW_STEPS), machine.graph.edges + machine.units_count)
            self._streams = self._numbers.states(first_chain, self.count, sweep)
        self.set_betas(betas)
        with wide_dtypes(xp):
            self._by_unit = asarray(host.argsort(layout.order), xp, "int64")

    def step(self, count: int = 1) -> None:
        """Make so many sweeps."""
        xp, machine = self.xp, self.machine
        if self.rule == MULTI_SPIN:
            self._turn(count)
            return
        own = kernel("graphs.sweeps", xp)
        if own is not None:
            found = own(
                machine.layout, machine.values, self.rule, self.states, self._streams, self._beta, self._free, count
            )
            if found is not None:
                self.states, self._streams = found
                self.sweep += count
                return
        for _ in range(count):
            uniforms = self._numbers.sweep(xp, self._streams, self.count)
            self._streams = self._numbers.after(self._streams)
            if self.rule in CLUSTER_RULES:
                self.states = moved(xp, self.rule, machine.layout, machine.values, self.states, uniforms, self._beta)
            else:
                self.states = sweeps.swept(
                    xp, machine.layout, machine.values, self.rule, self.states, uniforms, self._beta, self._free
                )
            self.sweep += 1

    def _turn(self, count: int) -> None:
        """Make so many sweeps of words, or of what stands for them."""
        xp, machine, groups = self.xp, self.machine, self.count // GROUP
        check_multi_spin(machine, self.betas, self.first_chain, None)
        bounds = thresholds(machine.layout, float(self.betas[0]))
        own = kernel("graphs.words", xp)
        if own is not None:
            self.states, self._shared = own(machine.layout, self.states, self._shared, self._streams, bounds, count)
            self._streams = self._numbers.after(self._streams, count)
            self.sweep += count
            return
        for _ in range(count):
            shared = self._shared_numbers.sweep(xp, self._shared, groups)
            uniforms = self._numbers.sweep(xp, self._streams, self.count)
            self.states = turned(xp, machine.layout, self.states, shared, uniforms, bounds)
            self._streams = self._numbers.after(self._streams)
            self._shared = self._shared_numbers.after(self._shared)
            self.sweep += 1

    def set_betas(self, betas: Any) -> None:
        """Give the chains other inverse temperatures."""
        host = host_namespace()
        self.betas = betas
        with wide_dtypes(self.xp):
            self._beta = asarray(host.reshape(betas, (1, -1)), self.xp, "float64")

    def energies(self) -> Any:
        """The energy of each chain, float64 of shape (chains,)."""
        own = kernel("graphs.energies", self.xp)
        found = None if own is None else own(self.machine.layout, self.machine.values, self.states)
        return (
            sweeps.energies(self.xp, self.machine.layout, self.machine.values, self.states) if found is None else found
        )

    def by_unit(self) -> Any:
        """The states in the order of units, of shape (units, chains)."""
        with wide_dtypes(self.xp):
            return self.xp.take(self.states, self._by_unit, axis=0)

    def rows(self, which: Any = None) -> Any:
        """The states of all chains, or of some, as a NumPy array of shape (chains, units)."""
        states = self.states
        with wide_dtypes(self.xp):
            if which is not None:
                states = self.xp.take(states, asarray(which, self.xp, "int64"), axis=1)
            found = self.xp.take(states, self._by_unit, axis=0)
        return host_namespace().ascontiguousarray(to_numpy(found).T)


def begun(
    machine: EnergyModel,
    count: int = 1,
    beta: Any = 1.0,
    random_state: Any = None,
    *,
    rule: str = "heat_bath",
    clamp: dict[int, int] | None = None,
    initial: Any = None,
    after: Any = None,
    first_chain: int = 0,
    library: Any = None,
) -> Chains:
    """Chains at their beginning; see `GraphMachine.chains`."""
    check_machine(machine)
    rules = (*sweeps.RULES, MULTI_SPIN, *CLUSTER_RULES)
    if rule not in rules:
        raise ValueError(f"rule must be one of {', '.join(rules)}, got {rule!r}")
    betas = finite(beta, "beta", (positive_int(count, "chains"),))
    first_chain = positive_int(first_chain, "first_chain", 0)
    xp = default_namespace() if library is None else get_namespace(library) if isinstance(library, str) else library
    if is_lazy(xp):
        raise ValueError(
            f"library must be one whose arrays have values at once, got {library_name(xp)}: chunks (of a lattice) or "
            "parts (of any graph) lay the work out for Dask, by the rules heat_bath and metropolis; clusters reach "
            "through the whole graph, which must be in memory"
        )
    if clamp is not None:
        check_dict(clamp)
    if rule in CLUSTER_RULES:
        check_clusters(machine, rule, clamp)
    seed, sweep = None, 0
    if after is not None:
        if random_state is not None or initial is not None:
            raise ValueError("after: its chains have a seed and states, so random_state and initial must be None")
        try:
            seed, sweep, first_chain = (
                tuple(map(int, after.attrs["seed"])), int(after.attrs["sweeps"]), int(after["chain"].values[0])
            )  # fmt: skip
            initial = after["state"].values
            initial = initial.reshape((initial.shape[0], -1))  # those of a lattice in chunks have its axes
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("after must be what sample gave") from error
    state = hashed_seed(entropy_of(random_state)) if seed is None else hashed_seed(seed)
    return Chains(machine, state, betas, xp, rule, first_chain, sweep, initial, clamp)


def checked_states(machine: EnergyModel, states: Any, chains: int | None = None) -> Any:
    """States that a machine can have, as an int8 array of shape (chains, units) in the host's memory.

    Raises
    ------
    ValueError
        If they have another shape or other values.
    """
    host = host_namespace()
    array = numbers(to_numpy(states) if is_array(states) else getattr(states, "values", states), "states", host)
    array = array[None, :] if array.ndim == 1 else array
    count = array.shape[0] if chains is None else chains
    if array.shape != (count, machine.units_count):
        raise ValueError(f"states must be of shape {(count, machine.units_count)}, got {array.shape}")
    allowed = machine.values.all
    low, high = host.min(array), host.max(array)
    step = int(machine.values.step)
    if not (low >= allowed[0] and high <= allowed[-1] and host.all((array - allowed[0]) % step == 0)):
        raise ValueError(f"states must hold {', '.join(map(str, allowed))}, got values from {low:g} to {high:g}")
    return host.astype(array, host.int8)
