"""The transition of a lattice: what is measured at each of many temperatures, with errors, beside what is exact.

Contract: all temperatures are chains of one run, so that they are drawn side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import host_namespace

from .energy_model import check_machine
from .exact import onsager
from .graph import finite
from .machine import GraphMachine
from .measures import autocorrelation_time, binder, jackknife_error, specific_heat, standard_error
from .observers import Series, total

__all__ = ["Measured", "transition"]


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


def transition(
    machine: GraphMachine,
    temperatures: Sequence[float],
    *,
    chains: int = 4,
    sweeps: int = 1000,
    burn_in: int = 200,
    rule: str = "heat_bath",
    random_state: Any = None,
    library: Any = None,
) -> list[Measured]:
    """Measure a machine of spins at many temperatures.

    Parameters
    ----------
    machine : GraphMachine
        Of spins.
    temperatures : sequence of float
        Positive.
    chains : int, optional
        How many there are at each temperature. They begin with all spins alike.
    sweeps, burn_in, rule, random_state, library
        See `GraphMachine.sample`.

    Returns
    -------
    list of Measured

    Warns
    -----
    MixingWarning
        Where chains of a temperature disagree, or still move away from where they began: see `diagnose`.

    Examples
    --------
    >>> from nbm_xp.graphs import lattice
    >>> found = transition(GraphMachine(lattice((8, 8))), [1.5, 4.0], sweeps=200, random_state=1)
    >>> [round(at.magnetisation) for at in found]
    [1, 0]
    """
    host = host_namespace()
    check_machine(machine)
    if machine.values.kind != "spin":
        raise ValueError("machine must be of spins")
    points = checked_temperatures(temperatures)
    chains, units = positive_int(chains, "chains"), machine.units_count
    # the sign, which chains seldom change where it is cold, is not measured: they need not agree on it
    size = Series("magnetisation", total, "size of the mean value", finish=lambda sums: host.abs(sums / units))
    draws = machine.sample(
        chains=chains * len(points), sweeps=measured_sweeps(sweeps, chains), burn_in=burn_in,
        beta=host.repeat(1.0 / host.asarray(points), chains), rule=rule, random_state=random_state, library=library,
        initial=host.ones((chains * len(points), units), dtype=host.int8), observe=("energy", size),
    )  # fmt: skip
    shape = (len(points), chains, -1)
    energies, sizes = (host.reshape(draws[name].values, shape) for name in ("energy", "magnetisation"))
    states = draws["state"].values[::chains, :]
    return [measured_at(machine, *at) for at in zip(points, energies, sizes, states, strict=True)]


def measured_sweeps(sweeps: Any, chains: int) -> int:
    """How many sweeps are measured: two, or of a single chain three, so that there are errors."""
    return positive_int(sweeps, "sweeps", 2 if chains > 1 else 3)


def checked_temperatures(temperatures: Sequence[float]) -> list[float]:
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


def measured_at(machine: GraphMachine, t: float, energy: Any, magnetisation: Any, state: Any) -> Measured:
    """What series of a temperature's chains say.

    Parameters
    ----------
    machine : GraphMachine
    t : float
        The temperature.
    energy, magnetisation : arrays of shape (chains, sweeps)
        Of a unit; the sign of the magnetisation does not matter.
    state : array of shape (units,)
        The last spins of a chain.
    """
    host, size = host_namespace(), host_namespace().abs(magnetisation)
    heat = partial(specific_heat, beta=1 / t, units=machine.units_count)
    exact = _exact(machine, t)
    return Measured(
        t,
        float(host.mean(energy)),
        standard_error(energy),
        heat(energy),
        jackknife_error(heat, energy),
        float(host.mean(size)),
        binder(size),
        float(host.mean(autocorrelation_time(size))),
        *exact,
        host.reshape(state, machine.graph.shape or (machine.units_count,)),
    )


def _exact(machine: GraphMachine, temperature: float) -> tuple[float | None, float | None]:
    """The exact energy and specific heat, where they are known."""
    host, graph, layout = host_namespace(), machine.graph, machine.layout
    square = graph.shape is not None and len(graph.shape) == 2 and all(graph.periodic or ())
    if not square or host.any(layout.fields != 0) or not host.all(layout.weights == layout.weights[0]):
        return None, None
    coupling = float(layout.weights[0])
    if not 0 < coupling / temperature < math.inf:
        return None, None
    found = onsager(graph.shape, 1 / temperature, coupling)  # type: ignore[arg-type]
    return found.energy, found.specific_heat
