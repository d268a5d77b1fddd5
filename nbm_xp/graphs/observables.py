"""Observables of chains: series with a number for each chain and sweep, and means of states over sweeps.

Contract: observables are exact sums, so blocks can be added in any order. The sums stay on the device of the states
until the end, which avoids synchronisation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, asarray, dtype_of, host_namespace, is_lazy, to_numpy

from .energy_model import EnergyModel
from .graph import Lattice

INVERSE_TEMPERATURE: Final = "inverse temperature"
SWEEPS: Final = "sweeps made"

# Variables of a dataset by name: dimensions, array and attributes
Variables = dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]


def about(name: str) -> dict[str, str]:
    """Return the attributes of a variable, all of which are dimensionless.

    Examples
    --------
    >>> about("energy a unit")
    {'long_name': 'energy a unit', 'units': '1'}
    """
    return {"long_name": name, "units": "1"}


def coordinates_of(first_chain: int, betas: Any, sweeps: Any) -> dict[str, Any]:
    """Return the coordinates of a dataset: chain numbers, inverse temperatures, and sweeps of the measurements."""
    host = host_namespace()
    return {
        "chain": ("chain", host.arange(first_chain, first_chain + len(betas)), about("number of the chain")),
        "sweep": ("sweep", host.asarray(sweeps, dtype=host.int64), about(SWEEPS)),
        "beta": ("chain", host.asarray(betas), about(INVERSE_TEMPERATURE)),
    }


# Observables with a number for each chain (or pair of chains) and sweep, and their long names
SERIES: Final = {
    "energy": "energy a unit",
    "magnetisation": "mean value of a unit",
    "abs_magnetisation": "size of the mean value of a unit",
    "overlap": "mean product with the other chain of a pair",
}


def totals(xp: Namespace, kind: Units, states: Array) -> Array:
    """Sum states over units, the first axis, or count Potts units by value; int64 of shape (sums, chains)."""
    int64 = dtype_of(xp, "int64")
    if not kind.is_categorical:
        return xp.sum(states, axis=0, keepdims=True, dtype=int64)
    return xp.stack([xp.sum(xp.astype(states == k, int64), axis=0) for k in kind.values])


# Means of states over sweeps


class Correlations:
    """Mean products of two units of a lattice, by their distance along each axis.

    Parameters
    ----------
    machine : EnergyModel
    """

    def __init__(self, machine: EnergyModel) -> None:
        if not isinstance(machine.graph, Lattice) or machine.kind.is_categorical:
            raise ValueError("observe: correlations are those of units with two values on a lattice")
        self.lattice = machine.graph

    def sums(self, xp: Namespace, states: Array) -> list[Array]:
        """Sum the products of all pairs of units by their distance along each axis, by Fourier transforms.

        Parameters
        ----------
        states : array
            int8, of shape (lattice's shape, chains).

        Returns
        -------
        list of arrays
            For each axis int64, of shape (distances, chains). The sums are integers and the error of the transforms is
            far less than 1/2, so they are exact after rounding.
        """
        found, wide = [], xp.astype(states, dtype_of(xp, "float64"))
        axes = range(len(self.lattice.shape))
        for axis, n, ring in zip(axes, self.lattice.shape, self.lattice.periodic, strict=True):
            length = n if ring else 2 * n
            waves = xp.fft.rfft(wide, n=length, axis=axis)
            power = xp.real(waves) ** 2 + xp.imag(waves) ** 2
            for other in axes:
                power = power if other == axis else xp.sum(power, axis=other, keepdims=True)
            sums = xp.reshape(xp.fft.irfft(xp.astype(power, waves.dtype), n=length, axis=axis), (length, -1))
            far = n // 2 + 1 if ring else n
            found.append(xp.astype(xp.round(sums[:far, :]), dtype_of(xp, "int64")))
        return found

    def variables(self, xp: Namespace, sums: list[Array], count: int, axes: tuple[str, ...]) -> Variables:
        """Return the means over `count` states, by axis and distance; NaN at distances that an axis does not have."""
        host, found = host_namespace(), []
        most = max(total.shape[0] for total in sums)
        for total, n, ring in zip(sums, self.lattice.shape, self.lattice.periodic, strict=True):
            far = int(total.shape[0])
            pairs = self.lattice.units // n * (n - (0 if ring else 1) * host.arange(far, dtype=host.int64)) * count
            none = xp.full((total.shape[1], most - far), host.nan, dtype=dtype_of(xp, "float64"))
            found.append(xp.concat([xp.matrix_transpose(total) / asarray(pairs, xp), none], axis=1))
        means, what = xp.stack(found, axis=1), "mean product of two units by their distance along an axis"
        return {"correlations": (("chain", "axis", "distance"), means, about(what))}


class Means:
    """Means of each unit, and of the product of the two units of each edge.

    Parameters
    ----------
    machine : EnergyModel
    """

    def __init__(self, machine: EnergyModel) -> None:
        if machine.kind.is_categorical:
            raise ValueError("observe: means are those of units with two values")
        self.graph = machine.graph

    def sums(self, xp: Namespace, states: Array) -> list[Array]:
        """Return the states, and the product of the two units of each edge; int64."""
        ends = (asarray(x, xp, "int64") for x in (self.graph.first, self.graph.second))
        each = xp.reshape(states, (self.graph.units, -1))
        first, second = (xp.take(each, which, axis=0) for which in ends)
        return [xp.astype(x, dtype_of(xp, "int64")) for x in (states, first * second)]

    def variables(self, xp: Namespace, sums: list[Array], count: int, axes: tuple[str, ...]) -> Variables:
        """Return the means over `count` states."""
        units, edges = (xp.moveaxis(x, -1, 0) / count for x in sums)
        units = xp.reshape(units, (units.shape[0], -1)) if len(axes) == 1 else units
        return {
            "unit_means": (("chain", *axes), units, about("mean of each unit")),
            "edge_means": (("chain", "edge"), edges, about("mean product of the two units of each edge")),
        }


# Classes of observables that are means of states, by name
STATES: Final[dict[str, Any]] = {"correlations": Correlations, "means": Means}


class StateMeans:
    """Accumulator of means of states over sweeps, for arrays in memory and lazy arrays.

    Parameters
    ----------
    machine : EnergyModel
    names : iterable of str
        Names of observables; names that are not in `STATES` are ignored.
    """

    def __init__(self, machine: EnergyModel, names: Iterable[str]) -> None:
        self.observables = [STATES[name](machine) for name in names if name in STATES]
        self.sums: list[list[Array]] = []
        self.count = 0

    def see(self, xp: Namespace, states: Array) -> None:
        """Add states, of shape (units, chains) or (lattice's shape, chains)."""
        found = [each.sums(xp, states) for each in self.observables]
        if self.count:
            found = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(self.sums, found, strict=True)]
        self.sums, self.count = found, self.count + 1

    def variables(self, axes: tuple[str, ...]) -> Variables:
        """Return the means, as NumPy arrays or lazy arrays."""
        found: Variables = {}
        for each, sums in zip(self.observables, self.sums, strict=False):  # there are no sums if no sweep is observed
            xp = array_namespace(*sums)
            home, known = (xp, sums) if is_lazy(xp) else (host_namespace(), [to_numpy(total) for total in sums])
            found |= each.variables(home, known, self.count, axes)
        return found


# Names


def checked_names(machine: EnergyModel, observe: Any, chains: int, states: bool = True) -> tuple[str, ...]:
    """Validate the names of observables; return them as a tuple.

    Parameters
    ----------
    states : bool, optional
        Whether means of states (see `STATES`) are allowed.

    Raises
    ------
    ValueError
        If a name is unknown, or an observable is not defined for these chains.
    """
    if not isinstance(observe, Iterable):
        raise ValueError(f"observe must be names, got {observe!r}: an empty list observes nothing")
    names = (observe,) if isinstance(observe, str) else tuple(observe)
    known = (*SERIES, *STATES) if states else tuple(SERIES)
    for name in names:
        if name not in known:
            raise ValueError(f"observe must be of {', '.join(known)}, got {name!r}")
        if name in STATES:
            STATES[name](machine)
    if "overlap" in names and (machine.kind.name != "spin" or chains % 2):
        of = f"{chains} of {machine.kind.name} units"
        raise ValueError(f"observe: overlaps are those of two chains each, of spins: n_chains must be even, got {of}")
    return names
