"""What is measured while chains run: each observer sees the states after each sweep and keeps numbers, not states.

Contract: what is kept is one number for each chain and sweep, or sums; it lies where the states
lie until the end, so that a device is not waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from nbm_xp.namespace import asarray, dtype_of, host_namespace, to_numpy, wide_dtypes

from .chains import Chains
from .energy_model import EnergyModel
from .labels import about
from .lattice_graph import Lattice

__all__ = [
    "ABOUT_CORRELATIONS", "ABOUT_MEANS", "ABOUT_OVERLAP", "OBSERVERS", "Correlations", "Observer", "Series",
    "check_means", "check_overlap", "checked_correlations", "means_along", "observers_of", "products_along", "total",
]  # fmt: skip

ABOUT_OVERLAP: Final = "mean product with the other chain of a pair"
ABOUT_CORRELATIONS: Final = "mean product of two units by their distance along an axis"
ABOUT_MEANS: Final = {"unit_means": "mean of each unit", "edge_means": "mean product of the two units of each edge"}

Found = dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]


class Observer:
    """Sees chains after each sweep."""

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        raise NotImplementedError

    def result(self) -> Found:
        """What was found: for each name the dimensions, a NumPy array and attributes."""
        raise NotImplementedError


class Series(Observer):
    """A number for each chain, or pair of chains, and sweep.

    What is measured is a total, which is exact; `finish` makes of NumPy's totals what is wanted.
    """

    def __init__(
        self,
        name: str,
        measure: Callable[[Chains], Any],
        about: str,
        along: str = "chain",
        finish: Callable[[Any], Any] = lambda totals: totals,
    ) -> None:
        self.name, self.measure, self.about, self.along, self.finish = name, measure, about, along, finish
        self.found: list[Any] = []

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        self.found.append(self.measure(chains))

    def result(self) -> Found:
        """The series."""
        host = host_namespace()
        totals = self.finish(host.stack([to_numpy(row) for row in self.found], axis=1))
        return {self.name: ((self.along, "sweep"), totals, about(self.about))}


class Correlations(Observer):
    """Means of the products of two spins, of all pairs a distance apart along an axis of a lattice."""

    def __init__(self, chains: Chains) -> None:
        self.lattice, self.count = checked_correlations(chains.machine), 0
        self.sums: Any = None

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        xp, shape = chains.xp, self.lattice.shape
        there = xp.reshape(chains.by_unit(), (*shape, -1))
        with wide_dtypes(xp):
            found = products_along(xp, there, self.lattice, tuple(range(len(shape))))
            self.sums = found if self.sums is None else [a + b for a, b in zip(self.sums, found, strict=True)]
        self.count += 1

    def result(self) -> Found:
        """The means."""
        host = host_namespace()
        means = means_along(host, [to_numpy(sums).T for sums in self.sums], self.lattice, self.count)
        return {"correlations": (("chain", "axis", "distance"), means, about(ABOUT_CORRELATIONS))}


class Means(Observer):
    """The mean value of each unit, and of the product of each two that are joined."""

    def __init__(self, chains: Chains) -> None:
        check_means(chains.machine)
        self.sums: list[Any] = []
        self.count = 0
        self.chains = chains

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        xp, placed = chains.xp, chains.machine.layout.on(chains.xp)
        with wide_dtypes(xp):
            int64 = dtype_of(xp, "int64")
            pairs = xp.take(chains.states, placed.first, axis=0) * xp.take(chains.states, placed.second, axis=0)
            seen = [xp.astype(chains.by_unit(), int64), xp.astype(pairs, int64)]
            self.sums = [a + b for a, b in zip(self.sums, seen, strict=True)] if self.sums else seen
        self.count += 1

    def result(self) -> Found:
        """The means."""
        units, pairs = (to_numpy(total).T / self.count for total in self.sums)
        return {
            "unit_means": (("chain", "unit"), units, about(ABOUT_MEANS["unit_means"])),
            "edge_means": (("chain", "edge"), pairs, about(ABOUT_MEANS["edge_means"])),
        }


def check_means(machine: EnergyModel) -> None:
    """Refuse units that have no means.

    Raises
    ------
    ValueError
        If they have more than two values.
    """
    if machine.values.kind == "potts":
        raise ValueError("observe: means are those of units with two values")


def checked_correlations(machine: EnergyModel) -> Lattice:
    """The lattice of a machine whose correlations along axes can be measured.

    Raises
    ------
    ValueError
        If there is none, or its units have more than two values.
    """
    if not isinstance(machine.graph, Lattice) or machine.values.kind == "potts":
        raise ValueError("observe: correlations are those of units with two values on a lattice")
    return machine.graph


def products_along(xp: Any, states: Any, graph: Lattice, axes: tuple[int, ...]) -> list[Any]:
    """Of a lattice's axes, for each distance the sum of the products of all pairs of units so far apart.

    Parameters
    ----------
    states : array
        int8; the lattice's axes are `axes`.

    Returns
    -------
    list of arrays
        int64: of each axis, the distances in the place of the lattice's axes. A sum that the transforms give is off by
        far less than a half, and is a whole number: it is exact.
    """
    found, wide = [], xp.astype(states, dtype_of(xp, "float64"))
    for axis, n, ring in zip(axes, graph.shape, graph.periodic, strict=True):
        length = n if ring else 2 * n
        waves = xp.fft.rfft(wide, n=length, axis=axis)
        power = xp.real(waves) ** 2 + xp.imag(waves) ** 2
        for other in axes:
            power = power if other == axis else xp.sum(power, axis=other, keepdims=True)
        sums = xp.fft.irfft(xp.astype(power, waves.dtype), n=length, axis=axis)
        sums = xp.reshape(sums, (*states.shape[: axes[0]], length, *states.shape[axes[-1] + 1 :]))
        kept = (slice(None),) * axes[0] + (slice(0, n // 2 + 1 if ring else n), ...)
        found.append(xp.astype(xp.round(sums[kept]), dtype_of(xp, "int64")))
    return found


def means_along(xp: Any, sums: list[Any], graph: Lattice, count: int) -> Any:
    """The means of products of two units, by axis and distance, of sums over all pairs of so many states.

    Parameters
    ----------
    sums : list of arrays
        Of each axis, of shape (…, distances).

    Returns
    -------
    array
        float64, of shape (…, axes, distances); nan where an axis is not as long.
    """
    host, found = host_namespace(), []
    most = max(total.shape[-1] for total in sums)
    for total, n, ring in zip(sums, graph.shape, graph.periodic, strict=True):
        far = int(total.shape[-1])
        pairs = graph.units // n * (n - (0 if ring else 1) * host.arange(far, dtype=host.int64)) * count
        none = xp.full((*total.shape[:-1], most - far), host.nan, dtype=dtype_of(xp, "float64"))
        found.append(xp.concat([total / asarray(pairs, xp), none], axis=-1))
    return xp.stack(found, axis=-2)


def _a_unit(chains: Chains) -> Callable[[Any], Any]:
    return lambda totals: totals / chains.machine.units_count


def _energy(chains: Chains) -> Observer:
    return Series("energy", Chains.energies, "energy a unit", finish=_a_unit(chains))


def _magnetisation(chains: Chains) -> Observer:
    values, share = chains.machine.values, _a_unit(chains)
    if values.kind != "potts":
        return Series("magnetisation", total, "mean value of a unit", finish=share)
    what = "order parameter: 0 where all values are as frequent, 1 where there is one alone"
    finish = lambda totals: (share(totals) * values.count - 1.0) / (values.count - 1.0)  # noqa: E731
    return Series("magnetisation", _most_frequent, what, finish=finish)


def check_overlap(machine: EnergyModel, chains: int) -> None:
    """Refuse chains that have no overlaps.

    Raises
    ------
    ValueError
        If they are not even in number, or not of spins.
    """
    if machine.values.kind != "spin" or chains % 2:
        of = f"{chains} of {machine.values.kind} units"
        raise ValueError(f"observe: overlaps are those of two chains each, of spins: chains must be even, got {of}")


def _overlap(chains: Chains) -> Observer:
    check_overlap(chains.machine, chains.count)
    return Series("overlap", _product, ABOUT_OVERLAP, "pair", _a_unit(chains))


def total(chains: Chains) -> Any:
    """The sum over the units of each chain, int64."""
    with wide_dtypes(chains.xp):
        return chains.xp.sum(chains.states, axis=0, dtype=dtype_of(chains.xp, "int64"))


def _most_frequent(chains: Chains) -> Any:
    xp = chains.xp
    with wide_dtypes(xp):
        int64 = dtype_of(xp, "int64")
        counts = [xp.sum(xp.astype(chains.states == k, int64), axis=0) for k in chains.machine.values.all]
        return xp.max(xp.stack(counts), axis=0)


def _product(chains: Chains) -> Any:
    xp = chains.xp
    with wide_dtypes(xp):
        even = asarray(list(range(0, chains.count, 2)), xp, "int64")
        a, b = xp.take(chains.states, even, axis=1), xp.take(chains.states, even + 1, axis=1)
        return xp.sum(a * b, axis=0, dtype=dtype_of(xp, "int64"))


OBSERVERS: dict[str, Callable[[Chains], Observer]] = {
    "energy": _energy,
    "magnetisation": _magnetisation,
    "overlap": _overlap,
    "correlations": Correlations,
    "means": Means,
}
"""What there is to observe, by name."""


def observers_of(observe: Any, chains: Chains) -> list[Observer]:
    """The observers of these names; one that is an `Observer` stands for itself.

    Raises
    ------
    ValueError
        If a name is not known, or an observer is not for these chains.
    """
    found: list[Observer] = []
    asked = [observe] if isinstance(observe, (str, Observer)) else observe
    if not isinstance(asked, Iterable):
        raise ValueError(f"observe must be names or observers, got {observe!r}: an empty list observes nothing")
    for name in asked:
        if not isinstance(name, Observer) and name not in OBSERVERS:
            raise ValueError(f"observe must be of {', '.join(OBSERVERS)}, got {name!r}")
        found.append(name if isinstance(name, Observer) else OBSERVERS[name](chains))
    return found
