"""NumPy: sums of values that come block by block, in the order in which NumPy adds up whole arrays.

NumPy adds numbers that lie one after another in pairs of halves: a line of n numbers is the sum of its two halves, the
first of a length that is a multiple of eight, down to lines of 128. Any such half that comes as a whole is added up by
NumPy itself, and the rest of the tree here. Along other axes NumPy adds row to row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from . import Result

__all__ = ["AT_ONCE", "Columns", "Rows", "Tree", "edges", "finished", "leaves", "summing"]


AT_ONCE = 128
"""A line of so many numbers NumPy takes no more apart."""


@lru_cache(maxsize=64)
def leaves(n: int, most: int) -> tuple[int, ...]:
    """The lengths of the parts of at most `most` numbers, 128 or more, that NumPy's tree of n numbers has.

    Examples
    --------
    >>> leaves(1000, 300)
    (248, 248, 248, 256)
    """
    return tuple(_leaves(n, most))


def _leaves(n: int, most: int) -> Iterator[int]:
    if n <= most:
        yield n
        return
    half = _half(n)
    yield from _leaves(half, most)
    yield from _leaves(n - half, most)


def _half(n: int) -> int:
    return n // 2 - n // 2 % 8


def _together(parts: Any, n: int, most: int) -> Any:
    """The sum of the parts that a tree of n numbers has."""
    rest = iter(parts)

    def total(n: int) -> Any:
        if n <= most:
            return next(rest)
        half = _half(n)
        return total(half) + total(n - half)

    return total(n)


class Tree:
    """Sums of long lines, each of which comes in several blocks."""

    def __init__(self, lines: int, n: int, most: int, dtype: Any) -> None:
        self.n, self.most = n, most
        self.sizes = leaves(n, most)
        self.parts = np.empty((lines, len(self.sizes)), dtype)
        self.flat = self.parts.reshape(-1)
        self.buffer: Any = None
        self.held = self.done = 0

    def take(self, values: Any) -> None:
        """The next block, whose elements follow those of the last."""
        values = values.reshape(-1)
        while values.size:
            size = self.sizes[self.done % len(self.sizes)]
            missing = size - self.held
            if not self.held and values.size >= size:
                leaf = values[:size]
            else:
                if self.buffer is None:
                    self.buffer = np.empty(self.most, values.dtype)
                fresh = values[:missing]
                self.buffer[self.held : self.held + fresh.size] = fresh
                self.held += fresh.size
                if self.held < size:
                    return
                leaf = self.buffer[:size]
            self.put(self.done, leaf)
            values = values[missing:]
            self.done, self.held = self.done + 1, 0

    def put(self, place: int, leaf: Any) -> None:
        """One part of the tree, which may come from any thread."""
        self.flat[place] = np.add.reduce(leaf, dtype=self.flat.dtype)

    def result(self) -> Any:
        """The sum of each line."""
        if self.parts.dtype.kind in "iu":  # any order gives the same
            return np.add.reduce(self.parts, axis=1)
        return np.asarray([_together(parts, self.n, self.most) for parts in self.parts], self.parts.dtype)


class Rows:
    """Sums of short lines, of which a block has several."""

    def __init__(self, lines: int, n: int, dtype: Any) -> None:
        self.n = n
        self.sums = np.empty(lines, dtype)
        self.done = 0

    def take(self, values: Any) -> None:
        """The next block."""
        rows = values.reshape(-1, self.n)
        np.add.reduce(rows, axis=1, dtype=self.sums.dtype, out=self.sums[self.done : self.done + rows.shape[0]])
        self.done += rows.shape[0]

    def result(self) -> Any:
        """The sum of each line."""
        return self.sums


class Columns:
    """Sums over the first axes: row is added to row."""

    def __init__(self, n: int, dtype: Any) -> None:
        self.sums = np.zeros(n, dtype)
        self.place = 0
        self.rows: Any = None

    def take(self, values: Any) -> None:
        """The next block: some whole rows, or a part of one."""
        n = self.sums.size
        if values.size < n or n > values.size // 2:
            for row in values.reshape(-1, min(n, values.size)):
                sums = self.sums[self.place : self.place + row.size]
                np.add(sums, row, out=sums)
                self.place = (self.place + row.size) % n
            return
        count = values.size // n
        if self.rows is None or self.rows.shape[0] <= count:
            self.rows = np.empty((count + 1, n), self.sums.dtype)
        self.rows[0] = self.sums
        self.rows[1 : count + 1] = values.reshape(count, n)
        np.add.reduce(self.rows[: count + 1], axis=0, out=self.sums)

    def result(self) -> Any:
        """The sum of each column."""
        return self.sums


def summing(axis: Sequence[int], shape: tuple[int, ...], most: int, dtype: Any) -> Tree | Rows | Columns | None:
    """What adds up over these axes; None where the order in which NumPy does cannot be kept."""
    wide = [place for place, length in enumerate(shape) if length > 1]
    reduced = [place for place in wide if place in axis]
    n = math.prod(shape[place] for place in reduced)
    others = math.prod(shape) // n
    if not reduced:
        return None
    if reduced == wide[len(wide) - len(reduced) :]:
        return Rows(others, n, dtype) if n <= most and others > 1 else Tree(others, n, most, dtype)
    return Columns(others, dtype) if reduced == wide[: len(reduced)] else None


def edges(axis: Sequence[int], shape: tuple[int, ...]) -> Iterator[int]:
    """The axes at which those that are added up begin or end."""
    wide = [place for place, length in enumerate(shape) if length > 1]
    for before, place in pairwise(wide):
        if (before in axis) != (place in axis):
            yield place


def finished(result: Result, sums: Any, shape: tuple[int, ...]) -> Any:
    """The sums in their shape, or the means, as NumPy would give them."""
    if result.reduction == "mean":
        n = math.prod(shape[axis] for axis in result.axis)
        if len(result.axis) == len(shape) and not result.keepdims:  # which NumPy divides as a number
            sums = np.asarray([sums.dtype.type(sums.reshape(-1)[0] / np.intp(n))])
        else:
            np.true_divide(sums, np.intp(n), out=sums, casting="unsafe")
    left = [1 if axis in result.axis else length for axis, length in enumerate(shape)]
    if not result.keepdims:
        left = [length for axis, length in enumerate(shape) if axis not in result.axis]
    return sums.reshape(left) if left else sums.reshape(-1)[0]
