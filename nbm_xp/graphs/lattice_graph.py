"""Lattices, whose edges and slots follow from where a unit is: nothing is laid out until somebody asks for all of it.

Contract: the edges and colours are those of any other graph of the same pairs, and the slots those of `layout`: colour
after colour, within a colour in C order.

Units that get, one after the other, the least colour that none of their neighbours has, have along a single axis 0, 1,
0, 1, …, and a 2 at the end of a ring of odd length. On a lattice the colour of a unit is the exclusive or of those that
its places along the axes have there: what is least and free is the value of a sum of games, whose moves lead to the
neighbours that have their colours already.

References
----------
P. M. Grundy, "Mathematics and games", Eureka 2 (1939), 6-8.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

from nbm_xp.namespace import host_namespace

from .graph import MOST_UNITS, Graph, finite

__all__ = ["Lattice", "odd_rings", "row_starts"]


class Lattice(Graph):
    """Units in rows and columns, each joined with the next one along each axis.

    Parameters
    ----------
    shape : tuple of ints
        How many units along each axis.
    periodic : tuple of bool
        Along which axes the ends are joined.
    weights : array of float, optional
        One for each edge: those along the first axis, by their first units in C order, then those along the next one.
    name : str, optional

    Examples
    --------
    >>> found = Lattice((4, 6), (True, False))
    >>> found.edges, found.colour_count, found.first.shape
    (44, 2, (44,))
    >>> Lattice((5,), (True,)).colour_count, Lattice((4, 5), (True, True)).colour_count  # rings of odd length
    (3, 4)
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]

    def __init__(
        self, shape: tuple[int, ...], periodic: tuple[bool, ...], weights: Any = None, name: str | None = None
    ) -> None:
        units = math.prod(shape)
        if not 0 < units <= MOST_UNITS:
            raise ValueError(f"units must be from 1 to {MOST_UNITS}, got {units}")
        self.__dict__.update(
            units=units, shape=shape, periodic=periodic, weights=None,
            name=name or "lattice " + " × ".join(map(str, shape)),
        )  # fmt: skip
        if weights is not None:
            self.__dict__["weights"] = finite(weights, "weights", (self.edges,))

    @property
    def edge_shapes(self) -> list[tuple[int, ...]]:
        """How many edges there are along each axis, by their first units: one less along an axis with open ends."""
        axes = range(len(self.shape))
        return [tuple(n - (k == axis and not self.periodic[k]) for k, n in enumerate(self.shape)) for axis in axes]

    @property
    def edges(self) -> int:
        """How many pairs are joined."""
        return sum(map(math.prod, self.edge_shapes))

    @property
    def colour_count(self) -> int:
        """How many colours there are."""
        return sum(count > 0 for count in _counts(self.shape, odd_rings(self.shape, self.periodic))[0])

    @property
    def reach(self) -> int:
        """How far units are from all that they depend on in a sweep: as many as there are colours, made even."""
        return -(-self.colour_count // 2) * 2

    @cached_property
    def _ends(self) -> tuple[Any, Any]:
        host = host_namespace()
        place = host.reshape(host.arange(self.units, dtype=host.int32), self.shape)
        first, second = [], []
        for axis, ends in enumerate(self.periodic):
            head = (slice(None),) * axis
            there = host.roll(place, -1, axis=axis) if ends else place[(*head, slice(1, None))]
            first.append(host.reshape(place if ends else place[(*head, slice(-1))], (-1,)))
            second.append(host.reshape(there, (-1,)))
        return host.concat(first), host.concat(second)

    @property
    def first(self) -> Any:
        """The first units of all edges."""
        return self._ends[0]

    @property
    def second(self) -> Any:
        """The second units of all edges."""
        return self._ends[1]

    @cached_property
    def colours(self) -> Any:
        """A colour for each unit."""
        host = host_namespace()
        found = host.zeros((), dtype=host.uint8)
        for n, odd in zip(self.shape, odd_rings(self.shape, self.periodic), strict=True):
            places = host.arange(n)
            found = found[..., None] ^ host.astype((places & 1) + 2 * (odd & (places == n - 1)), host.uint8)
        return host.reshape(found, (-1,))


def odd_rings(shape: tuple[int, ...], periodic: tuple[bool, ...]) -> tuple[bool, ...]:
    """Along which axes units are joined to rings of odd length."""
    return tuple(bool(ends and n % 2) for n, ends in zip(shape, periodic, strict=True))


@lru_cache(maxsize=256)
def _counts(shape: tuple[int, ...], odd: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    """How many units of each of four colours there are on the last axes: on all of them, on one less, …, on none."""
    found: list[tuple[int, ...]] = [(1, 0, 0, 0)]
    for n, ring in zip(reversed(shape), reversed(odd), strict=True):
        along, rest = ((n - ring + 1) // 2, (n - ring) // 2, int(ring), 0), found[0]
        found.insert(0, tuple(sum(along[g] * rest[colour ^ g] for g in range(4)) for colour in range(4)))
    return tuple(found)


def row_starts(shape: tuple[int, ...], odd: tuple[bool, ...], rows: Any, colour: int) -> tuple[Any, Any]:
    """Where the units of a colour begin that lie in rows along the last axis.

    Parameters
    ----------
    shape : tuple of ints
        The lattice's.
    odd : tuple of bool
        Along which axes there are rings of odd length.
    rows : array of int64
        Their numbers.
    colour : int

    Returns
    -------
    slots, along : arrays of int64
        Of each row the slot of its first unit of the colour; the others follow. And the colour along the row that they
        have: 0 at even places, 1 at odd ones, but 2 at the last one of a ring of odd length; 3 nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> for colour in (0, 1):
    ...     slots, along = row_starts((3, 3), (False, False), np.asarray([0, 1, 2]), colour)
    ...     print(slots.tolist(), along.tolist())
    [0, 2, 3] [0, 1, 0]
    [5, 6, 8] [1, 0, 1]
    """
    host, (whole, *later) = host_namespace(), _counts(shape, odd)
    slots, along = sum(whole[:colour]), colour
    if len(shape) == 1:
        return slots + 0 * rows, along + 0 * rows
    for axis, n in enumerate(shape[:-1]):
        size = math.prod(shape[axis + 1 : -1])
        place, rows = (rows // size, rows % size) if size > 1 else (rows, 0 * rows)
        rest, half, last = host.asarray(later[axis]), place >> 1, place & 1
        # of those that differ here first, half have even places and half odd ones: none is the last one
        slots = slots + (half + last) * rest[along] + half * rest[along ^ 1]
        along = along ^ last ^ (2 * (place == n - 1) if odd[axis] else 0)
    return slots, along
