"""Elementwise functions on large arrays, run block by block: all functions are applied to a block while it is in cache.

Elementwise functions called one after another on large arrays are limited by memory: each reads the result of the
previous one, and new arrays must be allocated. Here a plan is compiled to a function of one block, whose intermediate
arrays are small and stay in cache. Elements have the same bits as with whole arrays, and so have sums, which are taken
in NumPy's order: pairwise over contiguous numbers, by halves (the first a multiple of eight) down to lines of 128;
along the first axes row by row.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .core import functions
from .libraries import host_namespace

# How many elements a block has at most: so many that calls cost little, so few that all its values fit into caches.
BLOCK = 1 << 16

_LEAST = 1 << 15
# How small a part of the arrays a block is, if that has as many elements as `_LEAST`.
_PART = 100

# A line of so many numbers NumPy adds up without taking halves.
_AT_ONCE = 128

# From how many elements on arrays are taken in blocks; below, nothing is won.
LARGE = 1 << 20


@dataclass(frozen=True)
class Reduction:
    """A sum (``"sum"``) or mean (``"mean"``) over some axes: all of them, or the first or the last ones."""

    name: str
    axis: tuple[int, ...]
    keepdims: bool

    def of(self, x: Any) -> Any:
        """Compute the sum or mean of a whole array."""
        return getattr(np, self.name)(x, axis=self.axis, keepdims=self.keepdims)

    def finished(self, total: Any, shape: tuple[int, ...]) -> Any:
        """The result, from the sum, for an array of a given shape, as NumPy returns it."""
        if self.name == "mean":
            total = np.asarray(total / np.intp(math.prod(shape[axis] for axis in self.axis)), total.dtype)
        left = [1 if axis in self.axis else n for axis, n in enumerate(shape) if self.keepdims or axis not in self.axis]
        return total.reshape(left)[()]


def in_blocks(
    block: Callable[..., Sequence[Any]],
    given: Sequence[Any],
    shapes: Sequence[tuple[int, ...]],
    reductions: Sequence[Reduction | None],
) -> list[Any] | None:
    """Run a function of one block on whole arrays; None if blocks are no faster or the shapes are unsuitable.

    Parameters
    ----------
    block
        Elementwise function of all arguments, which broadcast; its results have the broadcast shape.
    given
        Arrays, which are split into blocks, and numbers.
    shapes
        Required shape of all values.
    reductions
        Reduction of each result, or None for a result that is returned whole.

    Examples
    --------
    >>> x = np.ones(LARGE)
    >>> doubled, total = in_blocks(lambda x: (2.0 * x, x), [x], [], [None, Reduction("sum", (0,), False)])
    >>> bool((doubled == 2.0).all()), bool(total == LARGE)
    (True, True)
    """
    with suppress(Exception):  # whole arrays raise the same error, in the function that causes it
        cut = _Cut(given, reductions)
        if cut.size >= LARGE and cut.most and set(shapes) <= {cut.shape} and all(map(_is_plain, cut.wide.values())):
            return cut.run(block)
    return None


def _is_plain(x: Any) -> bool:
    return type(x) is np.ndarray and (x.flags.c_contiguous or x.ndim == 1)


class _Cut:
    """Arrays split into blocks: along the first axis, or, if all have one shape, as contiguous numbers.

    `shape` is the shape of all values, `inner` that of one entry of the first axis; a block has at most `most`
    entries. `cut` are the positions of the arrays that are split, `wide` of those with more than one element.
    """

    def __init__(self, given: Sequence[Any], reductions: Sequence[Reduction | None]) -> None:
        self.shape = np.broadcast_shapes(*(x.shape for x in given if isinstance(x, np.ndarray)))
        self.size = math.prod(self.shape)
        self.longer = {axis for axis, length in enumerate(self.shape) if length > 1}
        self.reductions = reductions
        self.given = [x.reshape(()) if isinstance(x, np.ndarray) and x.size == 1 else x for x in given]
        self.wide = {place: x for place, x in enumerate(self.given) if isinstance(x, np.ndarray) and x.ndim}
        self.as_lines = all(x.shape == self.shape for x in self.wide.values()) and all(
            one is None or self.is_whole(one) for one in reductions
        )
        self.length: int
        self.length, *inner = [self.size] if self.as_lines else self.shape
        self.inner = tuple(inner)
        self.most = max(_AT_ONCE, min(BLOCK, max(_LEAST, self.size // _PART))) // math.prod(inner)
        self.cut = {
            place: x.reshape(-1) if self.as_lines else x
            for place, x in self.wide.items()
            if self.as_lines or (x.ndim == len(self.shape) and len(x) > 1)
        }

    def is_whole(self, reduction: Reduction) -> bool:
        """Whether the result is a single number."""
        return self.longer <= set(reduction.axis)

    def run(self, block: Callable[..., Sequence[Any]]) -> list[Any]:
        """Return the results of all blocks."""
        starts = range(0, self.length, self.most)
        ends = [*starts, self.length]
        if self.as_lines and any(self.reductions):
            ends = [0, *accumulate(_halves(self.length, self.most))]
        regions = [slice(*pair) for pair in pairwise(ends)]
        first = self.values(block, regions[0])
        results = [self.result(*pair, len(regions)) for pair in zip(self.reductions, first, strict=True)]

        def take(numbered: Iterator[tuple[int, slice]]) -> None:
            for number, region in numbered:
                values = self.values(block, region) if number else first
                for result, value in zip(results, values, strict=True):
                    result.put(number, region, value)

        in_turn = any(isinstance(result, _Rows) for result in results)
        _side_by_side(1 if in_turn else min(_threads.get(), len(regions) // 2), take, enumerate(regions))
        return [result.whole() for result in results]

    def values(self, block: Callable[..., Sequence[Any]], region: slice) -> Sequence[Any]:
        """Return the results of one block."""
        found = block(*(self.cut[place][region] if place in self.cut else x for place, x in enumerate(self.given)))
        if any(value.shape != (region.stop - region.start, *self.inner) for value in found):
            raise ValueError("what is computed of a block must have its shape")
        return found

    def result(self, reduction: Reduction | None, first: Any, blocks: int) -> _Kept:
        """Return the collector of the blocks' values, given the first."""
        if reduction is not None:
            if not self.is_whole(reduction) and 0 not in reduction.axis:
                return _Lines(self, np.asarray(reduction.of(first)), reduction)
            if first.dtype in _ADDED or (first.dtype.kind in "biu" and reduction.name == "sum"):
                if self.as_lines:
                    return _Halves(self, np.add.reduce(first), reduction, blocks)
                if not self.is_whole(reduction):
                    return _Rows(self, first, reduction)
        return _Kept(self, first, reduction)


class _Kept:
    """Values that are collected, and optionally reduced when all are computed."""

    out: Any
    reduction: Any

    def __init__(self, cut: _Cut, first: Any, reduction: Reduction | None) -> None:
        self.cut, self.reduction = cut, reduction
        self.out = np.empty((cut.length, *first.shape[1:]), first.dtype)

    def put(self, number: int, region: slice, value: Any) -> None:
        """Add the value of a block."""
        self.out[region] = value

    def whole(self) -> Any:
        """The result."""
        whole = self.out.reshape(self.cut.shape)
        return whole if self.reduction is None else self.reduction.of(whole)


class _Lines(_Kept):
    """Sums over the last axes, each entirely in one block."""

    def put(self, number: int, region: slice, value: Any) -> None:
        """Add the value of a block."""
        self.out[region] = self.reduction.of(value)

    def whole(self) -> Any:
        """The result."""
        return self.out


class _Halves(_Kept):
    """Pairwise sum of contiguous numbers; a block is one of the parts."""

    def __init__(self, cut: _Cut, first: Any, reduction: Reduction, blocks: int) -> None:
        self.cut, self.reduction = cut, reduction
        self.out = np.empty(blocks, first.dtype)

    def put(self, number: int, region: slice, value: Any) -> None:
        """Add the value of a block."""
        self.out[number] = np.add.reduce(value)

    def whole(self) -> Any:
        """The result."""
        parts = iter(self.out)

        def total(n: int) -> Any:
            half = _half(n)
            return next(parts) if n <= self.cut.most else total(half) + total(n - half)

        return self.reduction.finished(total(self.cut.length), self.cut.shape)


class _Rows(_Kept):
    """Sums over the first axes, row by row."""

    def __init__(self, cut: _Cut, first: Any, reduction: Reduction) -> None:
        self.cut, self.reduction = cut, reduction
        self.kept = [length for axis, length in enumerate(cut.shape) if axis not in reduction.axis]
        self.out = None

    def put(self, number: int, region: slice, value: Any) -> None:
        """Add the value of a block."""
        rows = value.reshape(-1, math.prod(self.kept))
        self.out = np.add.reduce(rows if self.out is None else np.concatenate([self.out[None], rows]), axis=0)

    def whole(self) -> Any:
        """The result."""
        return self.reduction.finished(self.out, self.cut.shape)


# The dtypes of which parts are added up as numbers, in the order that NumPy has.
_ADDED = (np.dtype("float32"), np.dtype("float64"))


def _half(n: int) -> int:
    return n // 2 - n // 2 % 8


def _halves(n: int, most: int) -> Iterator[int]:
    """The lengths of the parts, of at most `most` numbers each, in NumPy's pairwise sum of n numbers."""
    if n <= most:
        yield n
    else:
        yield from _halves(_half(n), most)
        yield from _halves(n - _half(n), most)


def _side_by_side(count: int, take: Callable[[Iterator[Any]], None], numbered: Iterator[Any]) -> None:
    """Process all blocks on several threads; each takes the next block when it has finished one."""
    if count < 2:
        take(numbered)
        return
    left = iter([*numbered])
    others = [_pool(count - 1).submit(copy_context().run, take, left) for _ in range(count - 1)]
    try:
        take(left)
    finally:
        list(left)  # after an error nothing is left to do
        wait(others)
    for other in others:
        other.result()


@lru_cache(maxsize=4)
def _pool(workers: int) -> ThreadPoolExecutor:
    """Pool of threads."""
    return ThreadPoolExecutor(workers, "nbm_xp chains")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads

_threads: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Context manager in which chains of elementwise functions on large arrays run on several threads.

    Parameters
    ----------
    count : int or None
        Number of threads; None for the number of cores. Results have the same bits for any number.

    Raises
    ------
    ValueError
        If `count` is not an int of 1 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.tape import namespace as xp, threads, value_and_grad
    >>> x = np.linspace(0.0, 1.0, 300_000)
    >>> with threads(2):
    ...     value, gradient = value_and_grad(lambda x: xp.sum(xp.exp(xp.sin(x))))(x)
    >>> bool(value == value_and_grad(lambda x: xp.sum(xp.exp(xp.sin(x))))(x)[0])
    True
    """
    if count is not None and (type(count) is not int or count < 1):
        raise ValueError(f"count must be an int of 1 or more, or None for as many as there are cores; got {count!r}")
    token = _threads.set((os.cpu_count() or 1) if count is None else count)
    try:
        yield
    finally:
        _threads.reset(token)


def _where(condition: Any, x: Any, y: Any) -> Any:
    """``where`` by the compiled core, without branches, which are slow for random conditions."""
    own = functions.get(f"where_{x.dtype}") if x.dtype == y.dtype else None
    shapes = condition.shape, ()
    if own is None or not all(z.flags.c_contiguous and z.shape in shapes for z in (condition, x, y)):
        return np.where(condition, x, y)
    own(condition, x, y, out := np.empty(condition.shape, x.dtype))
    return out


def block_functions(xp: Any) -> Mapping[str, Callable[..., Any]] | None:
    """Functions of a library for blocks, in place of its own; None if it does not process arrays in blocks."""
    return {"where": _where} if xp is host_namespace() else None
