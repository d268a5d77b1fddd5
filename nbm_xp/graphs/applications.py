"""What machines are used for: the transition of a lattice at many temperatures, and maximum cuts.

Contract: a cut is worth what its edges weigh, whoever found it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import host_namespace

from .exact import onsager
from .graph import Lattice, as_graph, finite
from .machine import GraphMachine
from .measures import autocorrelation_time, binder, jackknife_error, specific_heat, standard_error

__all__ = [
    "TRANSITION_SERIES", "Measured", "check_temperatures", "cut_value", "max_cut", "measured_at", "measured_sweeps",
]  # fmt: skip

TRANSITION_SERIES = "energy", "abs_magnetisation"
"""What is measured; not the sign of the magnetisation, which cold chains seldom change and need not agree on."""


@dataclass(frozen=True)
class Measured:
    """What was measured at a temperature: all of a unit, but for the time, which is of sweeps.

    Parameters
    ----------
    temperature : float
    energy, energy_error, specific_heat, specific_heat_error : float
    magnetisation : float
        The mean of its size.
    binder : float
        Binder's cumulant.
    time : float
        The integrated autocorrelation time of the size of the magnetisation.
    exact_energy, exact_specific_heat : float or None
        Onsager's and Kaufman's, of the periodic square lattice of equal couplings.
    state : array
        The last spins of the first chain, of the lattice's shape where it is one.
    """

    temperature: float
    energy: float
    energy_error: float
    specific_heat: float
    specific_heat_error: float
    magnetisation: float
    binder: float
    time: float
    exact_energy: float | None
    exact_specific_heat: float | None
    state: Any = field(default=None, repr=False, compare=False)

    def document(self) -> dict[str, float | None]:
        """All numbers of it, by name."""
        return {at.name: getattr(self, at.name) for at in fields(self) if at.name != "state"}


def measured_sweeps(n_sweeps: Any, n_chains: int) -> int:
    """How many sweeps are measured: two, or of a single chain three, so that there are errors."""
    return positive_int(n_sweeps, "n_sweeps", 2 if n_chains > 1 else 3)


def check_temperatures(temperatures: Sequence[float]) -> list[float]:
    """Positive temperatures, one at least.

    Raises
    ------
    ValueError
        If they are none.
    """
    try:
        found: list[float] = finite(temperatures, "temperatures", (len(temperatures),)).tolist()
    except TypeError as error:
        raise ValueError(f"temperatures must be several numbers, got {temperatures!r}") from error
    if not found or min(found) <= 0:
        raise ValueError(f"temperatures must be positive, got {found}")
    return found


def measured_at(machine: GraphMachine, t: float, energy: Any, size: Any, state: Any) -> Measured:
    """What series of a temperature's chains say.

    Parameters
    ----------
    machine : GraphMachine
    t : float
        The temperature.
    energy, size : arrays of shape (chains, sweeps)
        Of a unit; the size is that of the magnetisation.
    state : array of shape (units,)
        The last spins of a chain.
    """
    host = host_namespace()
    energy, size = host.ascontiguousarray(energy), host.ascontiguousarray(size)  # which decides how means are rounded
    heat = partial(specific_heat, beta=1 / t, units=machine.n_units)
    exact = _exact(machine, t)
    return Measured(
        t, float(host.mean(energy)), standard_error(energy), heat(energy), jackknife_error(heat, energy),
        float(host.mean(size)), binder(size), float(host.mean(autocorrelation_time(size))), *exact,
        host.reshape(state, machine.state_shape),
    )  # fmt: skip


def _exact(machine: GraphMachine, temperature: float) -> tuple[float | None, float | None]:
    """The exact energy and specific heat, where they are known."""
    host, graph, layout = host_namespace(), machine.graph, machine.layout
    if not isinstance(graph, Lattice) or len(graph.shape) != 2 or not all(graph.periodic):
        return None, None
    if host.any(layout.fields != 0) or not host.all(layout.weights == layout.weights[0]):
        return None, None
    coupling = float(layout.weights[0])
    if not 0 < coupling / temperature < math.inf:
        return None, None
    found = onsager(graph.shape, 1 / temperature, coupling)
    return found.energy, found.specific_heat


def cut_value(graph: Any, sides: Any) -> float:
    """What the edges between two sides weigh together.

    Parameters
    ----------
    graph : Graph, or what stands for one
    sides : array of shape (units,)
        Two different values.

    Examples
    --------
    >>> cut_value([[0, 1], [1, 2], [2, 0]], [1, 1, -1])
    2.0
    """
    host, found = host_namespace(), as_graph(graph)
    sides = host.asarray(sides)
    if sides.shape != (found.units,):
        raise ValueError(f"sides must be of shape {(found.units,)}, got {sides.shape}")
    apart = sides[found.first] != sides[found.second]
    return float(host.sum(apart) if found.weights is None else host.sum(found.weights[apart]))


def max_cut(
    graph: Any,
    *,
    n_chains: int = 64,
    n_sweeps: int = 2000,
    betas: Any = (0.2, 3.0),
    random_state: Any = None,
    library: Any = None,
) -> tuple[float, Any]:
    """A cut that weighs much, by simulated annealing: it need not be the one that weighs most.

    Parameters
    ----------
    graph : Graph, or what stands for one
    n_chains, n_sweeps, betas, random_state, library
        See `GraphMachine.anneal`.

    Returns
    -------
    value : float
    sides : numpy.ndarray
        int8, of shape (units,): -1 or 1.

    Examples
    --------
    >>> value, sides = max_cut([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], n_chains=4, n_sweeps=50, random_state=1)
    >>> value, cut_value([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], sides)
    (4.0, 4.0)
    """
    found = as_graph(graph)
    couplings = -1.0 if found.weights is None else -found.weights
    machine = GraphMachine(found, couplings=couplings)
    best = machine.anneal(
        n_chains, n_sweeps, betas=betas, rule="metropolis", random_state=random_state, library=library
    )
    sides = best["state"].values[int(best["energy"].values.argmin())]
    return cut_value(found, sides), sides
