"""Lattices, whose edges and slots follow from where a unit is: nothing is laid out until somebody asks for all of it.

Contract: the edges and colours are those of any other graph of the same pairs, and the slots those of `layout`: colour
after colour, within a colour in C order.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from nbm_xp.namespace import host_namespace

from .graph import MOST_UNITS, Graph, finite

__all__ = ["Lattice", "parity_of", "slots_of"]


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
    >>> found.edges, found.two_colours, found.first.shape
    (44, True, (44,))
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
    def two_colours(self) -> bool:
        """Whether a chess board's colours do: units differ in parity from their neighbours."""
        return all(n % 2 == 0 or not ends for n, ends in zip(self.shape, self.periodic, strict=True))

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
        """A colour for each unit, where a chess board's will do; else None."""
        if not self.two_colours:
            return None
        host = host_namespace()
        parity = host.zeros((), dtype=host.uint8)
        for n in self.shape:
            parity = parity[..., None] ^ (host.arange(n, dtype=host.uint8) & 1)
        return host.reshape(parity, (-1,))


def parity_of(shape: tuple[int, ...], units: Any) -> Any:
    """Of units by their numbers, the sum of their places along all axes, modulo 2."""
    parity = 0 * units
    for n in reversed(shape):
        parity, units = parity ^ (units % n & 1), units // n
    return parity


def _before(shape: tuple[int, ...], units: Any, colour: int) -> Any:
    """How many units of a parity come before each of some in C order."""
    if not shape:
        return units if colour == 0 else 0 * units
    rows, along = units // shape[-1], units % shape[-1]
    whole = rows * (shape[-1] // 2)
    if shape[-1] % 2:
        whole = whole + _before(shape[:-1], rows, colour)
    return whole + (along + (parity_of(shape[:-1], rows) == colour)) // 2


def slots_of(shape: tuple[int, ...], units: Any, colour: int) -> Any:
    """The slots of units of one parity, on a lattice that has two colours.

    Parameters
    ----------
    shape : tuple of ints
        The lattice's.
    units : array of int64
        Their numbers.
    colour : int
        Their parity.

    Examples
    --------
    >>> import numpy as np
    >>> slots_of((3, 3), np.asarray([0, 2, 4, 6, 8]), 0).tolist()
    [0, 1, 2, 3, 4]
    >>> slots_of((3, 3), np.asarray([1, 3, 5, 7]), 1).tolist()
    [5, 6, 7, 8]
    """
    found = _before(shape, units, colour)
    return found + _before(shape, host_namespace().asarray(math.prod(shape)), 0) if colour else found
