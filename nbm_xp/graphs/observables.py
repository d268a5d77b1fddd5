"""What is measured of chains, wherever they run: series of one number for each chain and sweep, and means of states.

Contract: what is measured are sums without rounding, so blocks may be added in any order; they lie where the states lie
until the end, so that a device is not waited for. What the sums say of a unit follows from the same formulas
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units
from nbm_xp.namespace import asarray, dtype_of, host_namespace, to_numpy, wide_dtypes

from .chains import Chains
from .energy_model import EnergyModel
from .graph import Lattice

__all__ = [
    "INVERSE_TEMPERATURE", "SERIES", "STATES", "SWEEPS", "Observer", "Variables", "about", "checked_names",
    "coordinates_of", "observers_of", "products", "series_variable", "state_variables", "totals",
]  # fmt: skip

INVERSE_TEMPERATURE: Final = "inverse temperature"
SWEEPS: Final = "sweeps made"

Variables = dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]
"""Of each variable of a dataset its dimensions, its array and its attributes."""


def about(name: str) -> dict[str, str]:
    """The attributes of a variable: energies are in units of the couplings, all else are plain numbers.

    Examples
    --------
    >>> about("energy a unit")
    {'long_name': 'energy a unit', 'units': '1'}
    """
    return {"long_name": name, "units": "1"}


def coordinates_of(first_chain: int, betas: Any, sweeps: Any) -> dict[str, Any]:
    """The numbers of chains and their inverse temperatures, and after which sweeps was measured."""
    host = host_namespace()
    return {
        "chain": ("chain", host.arange(first_chain, first_chain + len(betas)), about("number of the chain")),
        "sweep": ("sweep", host.asarray(sweeps, dtype=host.int64), about(SWEEPS)),
        "beta": ("chain", host.asarray(betas), about(INVERSE_TEMPERATURE)),
    }


# Series: a sum over all units for each chain and sweep


def series_variable(values: Any, n_units: int, name: str, totals: Array) -> tuple[str, Any]:
    """What a series is called, and what it is, a unit.

    Parameters
    ----------
    values
        The values of a unit.
    name : str
        One of `SERIES`.
    totals : array of shape (…, sums)
        One sum over all units; of the magnetisation of Potts units how many have each value.
    """
    if name in ("energy", "overlap") or not values.is_categorical:
        own = totals[..., 0] / n_units
        return SERIES[name], abs(own) if name == "abs_magnetisation" else own
    share = totals.max(axis=-1) / n_units
    what = "order parameter: 0 where all values are as frequent, 1 where there is one alone"
    return what, (share * values.count - 1.0) / (values.count - 1.0)


def totals(xp: Namespace, values: Units, states: Array) -> Array:
    """The sum over units, the first axis, or how many Potts units have each value; int64 of shape (sums, chains)."""
    with wide_dtypes(xp):
        int64 = dtype_of(xp, "int64")
        if not values.is_categorical:
            return xp.sum(states, axis=0, keepdims=True, dtype=int64)
        return xp.stack([xp.sum(xp.astype(states == k, int64), axis=0) for k in values.values])


def products(xp: Namespace, states: Array) -> Array:
    """The sum over units of the products of two chains each; int64 of shape (1, pairs)."""
    with wide_dtypes(xp):
        return xp.sum(states[:, ::2] * states[:, 1::2], axis=0, keepdims=True, dtype=dtype_of(xp, "int64"))


SERIES: Final = {
    "energy": "energy a unit",
    "magnetisation": "mean value of a unit",
    "abs_magnetisation": "size of the mean value of a unit",
    "overlap": "mean product with the other chain of a pair",
}
_MEASURES: Final = {
    "energy": lambda chains: chains.energies()[None, :],
    "magnetisation": lambda chains: totals(chains.xp, chains.machine.kind, chains.states),
    "abs_magnetisation": lambda chains: totals(chains.xp, chains.machine.kind, chains.states),
    "overlap": lambda chains: products(chains.xp, chains.states),
}


class Observer:
    """Sees chains in memory after each sweep; users may write their own."""

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        raise NotImplementedError

    def result(self) -> Variables:
        """What was found: for each name the dimensions, a NumPy array and attributes."""
        raise NotImplementedError


class _Series(Observer):
    """A number for each chain, or pair of chains, and sweep."""

    def __init__(self, name: str, chains: Chains) -> None:
        self.name, self.machine, self.found = name, chains.machine, list[Array]()

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        self.found.append(_MEASURES[self.name](chains))

    def result(self) -> Variables:
        """The series."""
        host = host_namespace()
        totals = host.permute_dims(host.stack([to_numpy(sums) for sums in self.found]), (2, 0, 1))
        what, values = series_variable(self.machine.kind, self.machine.n_units, self.name, totals)
        along = "pair" if self.name == "overlap" else "chain"
        return {self.name: ((along, "sweep"), host.ascontiguousarray(values), about(what))}


# Means over sweeps of what states show


class Correlations:
    """Means of the products of two units, of all pairs a distance apart along an axis of a lattice.

    Parameters
    ----------
    machine : EnergyModel
    """

    def __init__(self, machine: EnergyModel) -> None:
        if not isinstance(machine.graph, Lattice) or machine.kind.is_categorical:
            raise ValueError("observe: correlations are those of units with two values on a lattice")
        self.lattice = machine.graph

    def sums(self, xp: Namespace, states: Array) -> list[Array]:
        """Of each axis, for each distance the sum of the products of all pairs of units so far apart.

        Parameters
        ----------
        states : array
            int8, of the graph's shape, with the chains along one axis more.

        Returns
        -------
        list of arrays
            int64, of shape (distances, chains). A sum that the transforms give is off by far less than a half, and is a
            whole number: it is exact.
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
        """The means over so many states, by axis and distance; nan where an axis is not as long."""
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
    """The mean value of each unit, and of the product of each two that are joined.

    Parameters
    ----------
    machine : EnergyModel
    """

    def __init__(self, machine: EnergyModel) -> None:
        if machine.kind.is_categorical:
            raise ValueError("observe: means are those of units with two values")
        self.graph = machine.graph

    def sums(self, xp: Namespace, states: Array) -> list[Array]:
        """The states and the products of joined units, int64: those along each axis of a lattice, or all at once."""
        if isinstance(self.graph, Lattice):
            found = [_next_products(xp, states, axis, ring) for axis, ring in enumerate(self.graph.periodic)]
        else:
            ends = (asarray(x, xp, "int64") for x in (self.graph.first, self.graph.second))
            first, second = (xp.take(states, which, axis=0) for which in ends)
            found = [first * second]
        return [xp.astype(x, dtype_of(xp, "int64")) for x in (states, *found)]

    def variables(self, xp: Namespace, sums: list[Array], count: int, axes: tuple[str, ...]) -> Variables:
        """The means over so many states."""
        units, *pairs = (xp.moveaxis(x, -1, 0) / count for x in sums)
        units = xp.reshape(units, (units.shape[0], -1)) if len(axes) == 1 else units
        edges = xp.concat([xp.reshape(x, (x.shape[0], -1)) for x in pairs], axis=1)
        return {
            "unit_means": (("chain", *axes), units, about("mean of each unit")),
            "edge_means": (("chain", "edge"), edges, about("mean product of the two units of each edge")),
        }


def _next_products(xp: Namespace, states: Array, axis: int, ring: bool) -> Array:
    """The products of units and the next ones along an axis."""
    if ring:
        return states * xp.roll(states, -1, axis=axis)
    head = (slice(None),) * axis
    return states[(*head, slice(None, -1), ...)] * states[(*head, slice(1, None), ...)]


STATES: Final[dict[str, Any]] = {"correlations": Correlations, "means": Means}
"""What is made of states, by name."""


def state_variables(
    xp: Namespace, machine: EnergyModel, names: Iterable[str], seen: list[Array], axes: tuple[str, ...]
) -> Variables:
    """The means over states that were seen, of shape (graph's shape, chains), which may be lazy."""
    found: Variables = {}
    for name in names if seen else ():
        if name in STATES:
            observable = STATES[name](machine)
            sums = observable.sums(xp, seen[0])
            for states in seen[1:]:
                sums = [a + b for a, b in zip(sums, observable.sums(xp, states), strict=True)]
            found |= observable.variables(xp, sums, len(seen), axes)
    return found


class _OfStates(Observer):
    """Means of chains in memory."""

    def __init__(self, name: str, chains: Chains) -> None:
        self.observable, self.count, self.totals = STATES[name](chains.machine), 0, list[Array]()
        self.shape = chains.machine.state_shape

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        xp = chains.xp
        with wide_dtypes(xp):
            sums = self.observable.sums(xp, xp.reshape(chains.by_unit(), (*self.shape, -1)))
            self.totals = [a + b for a, b in zip(self.totals, sums, strict=True)] if self.totals else sums
        self.count += 1

    def result(self) -> Variables:
        """The means."""
        sums = [to_numpy(total) for total in self.totals]
        return self.observable.variables(host_namespace(), sums, self.count, ("unit",))  # type: ignore[no-any-return]


# Names


def checked_names(machine: EnergyModel, observe: Any, chains: int, states: bool = True) -> tuple[str, ...]:
    """The names of what is observed.

    Parameters
    ----------
    states : bool, optional
        Whether means of states can be.

    Raises
    ------
    ValueError
        If a name is not known, or not for these chains.
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


def observers_of(observe: Any, chains: Chains) -> list[Observer]:
    """The observers of these names in memory; one that is an `Observer` stands for itself."""
    asked = [observe] if isinstance(observe, (str, Observer)) else observe
    checked_names(
        chains.machine,
        [name for name in asked if not isinstance(name, Observer)] if isinstance(asked, Iterable) else asked,
        chains.count,
    )
    return [
        each if isinstance(each, Observer) else (_OfStates if each in STATES else _Series)(each, chains)
        for each in asked
    ]  # fmt: skip
