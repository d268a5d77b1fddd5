"""What is measured while chains run: each observer sees the states after each sweep and keeps numbers, not states.

Contract: what is kept is one number for each chain and sweep, or sums; it lies where the states
lie until the end, so that a device is not waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nbm_xp.namespace import asarray, dtype_of, host_namespace, to_numpy, wide_dtypes

from .chains import Chains
from .energy_model import EnergyModel

__all__ = ["ABOUT_OVERLAP", "OBSERVERS", "Correlations", "Observer", "Series", "check_overlap", "observers_of"]

ABOUT_OVERLAP: Final = "mean product with the other chain of a pair"

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
        return {self.name: ((self.along, "sweep"), totals, {"long_name": self.about})}


class Correlations(Observer):
    """Means of the products of two spins, of all pairs a distance apart along an axis of a lattice."""

    def __init__(self, chains: Chains) -> None:
        graph = chains.machine.graph
        if graph.shape is None or chains.machine.values.kind == "potts" or not all(graph.periodic or ()):
            raise ValueError("observe: correlations are those of units with two values on a periodic lattice")
        self.shape, self.count = graph.shape, 0
        self.sums: Any = None
        self.distances = max(graph.shape) // 2 + 1

    def see(self, chains: Chains) -> None:
        """Take note of the states."""
        xp = chains.xp
        there = xp.astype(xp.reshape(chains.by_unit(), (*self.shape, -1)), dtype_of(xp, "int16"))
        rows = []
        over = tuple(range(len(self.shape)))
        with wide_dtypes(xp):
            int64 = dtype_of(xp, "int64")
            for axis in over:
                for d in range(self.distances):
                    rows.append(xp.sum(there * xp.roll(there, -d, axis=axis), axis=over, dtype=int64))
            seen = xp.stack(rows)
            self.sums = seen if self.sums is None else self.sums + seen
        self.count += 1

    def result(self) -> Found:
        """The means."""
        host = host_namespace()
        units = 1
        for n in self.shape:
            units *= n
        means = host.reshape(to_numpy(self.sums), (len(self.shape), self.distances, -1)) / (units * self.count)
        for axis, n in enumerate(self.shape):
            means[axis, n // 2 + 1 :] = host.nan  # farther than the axis is long
        attributes = {"long_name": "mean product of two units by their distance along an axis"}
        return {"correlations": (("chain", "axis", "distance"), host.permute_dims(means, (2, 0, 1)), attributes)}


class Means(Observer):
    """The mean value of each unit, and of the product of each two that are joined."""

    def __init__(self, chains: Chains) -> None:
        if chains.machine.values.kind == "potts":
            raise ValueError("observe: means are those of units with two values")
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
            "unit_means": (("chain", "unit"), units, {"long_name": "mean of each unit"}),
            "edge_means": (("chain", "edge"), pairs, {"long_name": "mean product of the two units of each edge"}),
        }


def _a_unit(chains: Chains) -> Callable[[Any], Any]:
    return lambda totals: totals / chains.machine.units_count


def _energy(chains: Chains) -> Observer:
    return Series("energy", Chains.energies, "energy a unit", finish=_a_unit(chains))


def _magnetisation(chains: Chains) -> Observer:
    values, share = chains.machine.values, _a_unit(chains)
    if values.kind != "potts":
        return Series("magnetisation", _total, "mean value of a unit", finish=share)
    about = "order parameter: 0 where all values are as frequent, 1 where there is one alone"
    finish = lambda totals: (share(totals) * values.count - 1.0) / (values.count - 1.0)  # noqa: E731
    return Series("magnetisation", _most_frequent, about, finish=finish)


def check_overlap(machine: EnergyModel, chains: int) -> None:
    """Refuse chains that have no overlaps.

    Raises
    ------
    ValueError
        If they are not even in number, or not of spins.
    """
    if machine.values.kind != "spin" or chains % 2:
        raise ValueError("observe: overlaps are those of two chains each, of spins: chains must be even")


def _overlap(chains: Chains) -> Observer:
    check_overlap(chains.machine, chains.count)
    return Series("overlap", _product, ABOUT_OVERLAP, "pair", _a_unit(chains))


def _total(chains: Chains) -> Any:
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
    if observe is None:
        raise ValueError("observe must be names or observers, got None: an empty list observes nothing")
    for name in [observe] if isinstance(observe, (str, Observer)) else observe:
        if not isinstance(name, Observer) and name not in OBSERVERS:
            raise ValueError(f"observe must be of {', '.join(OBSERVERS)}, got {name!r}")
        found.append(name if isinstance(name, Observer) else OBSERVERS[name](chains))
    return found
