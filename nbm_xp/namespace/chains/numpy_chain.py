"""NumPy: a chain of elementwise functions on whole arrays, one block after the other, on one thread or several.

Axes are taken in the order in which the arrays lie in memory, and axes along which all of them go on without a gap
count as one, so that contiguous arrays are cut like lines. What is broadcast is seen in the full shape, without a copy.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from nbm_xp.namespace import chains

from . import Program, threads_asked
from .numpy_steps import Compiled, compiled_for
from .numpy_sums import AT_ONCE, edges, finished, leaves, summing

__all__ = ["Chain", "Layout", "Region"]

Region = tuple[Any, ...]


class Layout:
    """The order and the grouping of axes in which some arrays are walked through.

    Parameters
    ----------
    shape
        The shape to which all arrays broadcast.
    arrays
        Those with more than one element.
    edges
        Places between axes that must not be grouped together.
    in_order
        Whether elements must be met in the order of their indices. Where memory has another order, `fits` is False.
    """

    def __init__(self, shape: tuple[int, ...], arrays: Sequence[Any], edges: frozenset[int], in_order: bool) -> None:
        self.shape = shape
        wide = [axis for axis, length in enumerate(shape) if length > 1]
        strides = [_strides(array, shape) for array in arrays]
        self.order = _memory_order(wide, strides)
        self.fits = not in_order or all(_by_stride(wide, one) == [a for a in wide if one[a]] for one in strides)
        groups: list[list[int]] = []
        for axis in self.order:
            if groups and not (in_order and axis in edges) and _go_on(groups[-1][-1], axis, shape, strides):
                groups[-1].append(axis)
            else:
                groups.append([axis])
        self.lengths = tuple(math.prod(shape[axis] for axis in group) for group in groups) or (1,)

    def seen(self, array: Any) -> Any:
        """An array in the full shape, its axes ordered and grouped."""
        full = array if array.shape == self.shape else np.broadcast_to(array, self.shape)
        if len(self.order) > 1 and self.order != sorted(self.order):
            thin = [axis for axis, length in enumerate(self.shape) if length <= 1]
            full = full.transpose(*self.order, *thin)
        return full.reshape(self.lengths)

    def new(self, dtype: Any) -> tuple[Any, Any]:
        """An array of the full shape that lies in memory in this order, and how it is seen here."""
        line = np.empty(self.lengths, dtype)
        if self.order == sorted(self.order):
            return line.reshape(self.shape), line
        thin = [axis for axis, length in enumerate(self.shape) if length <= 1]
        order = [*self.order, *thin]
        moved = line.reshape(tuple(self.shape[axis] for axis in order))
        return moved.transpose(np.argsort(order)), line

    def block_shape(self, most: int) -> tuple[int, ...]:
        """The shape of a block of at most so many elements: whole trailing axes, part of one, single entries before."""
        inner, axis = 1, len(self.lengths)
        while axis and inner * self.lengths[axis - 1] <= most:
            axis -= 1
            inner *= self.lengths[axis]
        if not axis:
            return self.lengths
        return max(1, most // inner), *self.lengths[axis:]

    def regions(self, most: int) -> Iterator[Region]:
        """The blocks in their order, as indices."""
        step, *rest = self.block_shape(most)
        axis = len(self.lengths) - len(rest) - 1
        length = self.lengths[axis]
        cuts = [slice(start, min(start + step, length)) for start in range(0, length, step)]
        for before in itertools.product(*map(range, self.lengths[:axis])):
            for cut in cuts:
                yield *before, cut


def _strides(array: Any, shape: tuple[int, ...]) -> list[int]:
    """By how many bytes the next element lies along each axis of the full shape; 0 where the array is broadcast."""
    missing = len(shape) - array.ndim
    own = zip(array.shape, array.strides, strict=True)
    return [0] * missing + [stride if length > 1 else 0 for length, stride in own]


def _memory_order(axes: list[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The axes from the longest strides to the shortest, if all arrays that are not broadcast agree on it."""
    orders = {tuple(_by_stride(axes, one)) for one in strides if all(one[axis] for axis in axes)}
    return list(orders.pop()) if len(orders) == 1 else axes


def _by_stride(axes: list[int], strides: Sequence[int]) -> list[int]:
    """The axes along which an array is not broadcast, from the longest stride to the shortest."""
    return sorted((axis for axis in axes if strides[axis]), key=lambda axis: -abs(strides[axis]))


def _go_on(before: int, axis: int, shape: tuple[int, ...], strides: Sequence[Sequence[int]]) -> bool:
    """Whether each array lies along two axes as along one."""
    return all(one[before] == shape[axis] * one[axis] for one in strides)


_Numbered = tuple[int, Region]
_MOST_COMPILED = 16
_CACHE = 1 << 20, 1 << 22
"""The least and the most bytes that a block's arguments, results and buffers may take together, between them a byte for
each element of the array: the buffers are a small part of it. The most is a part of the third-level cache; of blocks
that fit into the second, the many calls cost more than it saves.
"""
_LEAST = 1 << 11
"""How many elements a block has even so: below, the calls cost more than the cache saves."""


class Chain:
    """What runs a program on NumPy's arrays; see `nbm_xp.namespace.chains.library_chain`."""

    __slots__ = ("_compiled", "_key", "program")

    def __init__(self, program: Program) -> None:
        self.program = program
        self._key = repr(program)  # which tells 0.0 from -0.0
        self._compiled: dict[Any, Compiled] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Chain, (self.program,)

    def __call__(self, *given: Any) -> tuple[Any, ...] | None:
        """The results for arrays and numbers; None where whole arrays are as good, or do not fit the program."""
        shape = self._shape(given)
        if shape is None or math.prod(shape) < chains.LARGE:
            return None
        with suppress(Exception):  # computed whole it fails again, at the function that is to blame
            return self._run([_plain(one) for one in given], shape)
        return None

    def _shape(self, given: Sequence[Any]) -> tuple[int, ...] | None:
        """The shape of all values; None where they have not all one."""
        shapes = []
        for one in given:
            if type(one) is np.ndarray:
                shapes.append(one.shape)
            elif isinstance(one, np.ndarray) or not isinstance(one, (np.generic, int, float, complex, tuple)):
                return None
        distinct = set(shapes)
        try:
            shape = distinct.pop() if len(distinct) == 1 else np.broadcast_shapes(*distinct)
            for full in self.program.full:
                if isinstance(full, int):
                    found = tuple(given[full])
                else:
                    found = np.broadcast_shapes(*(given[place].shape for place in full))
                if found != shape:
                    return None
        except ValueError:
            return None
        return shape if len(shape) == self.program.ndim else None

    def _run(self, given: list[Any], shape: tuple[int, ...]) -> tuple[Any, ...] | None:
        program = self.program
        wide = [place for place, one in enumerate(given) if isinstance(one, np.ndarray) and one.ndim]
        compiled = self._for(given, frozenset(wide))
        reductions = [result for result in program.results if result.reduction is not None]
        threads = threads_asked()
        each = sum(dtype.itemsize for dtype in (*compiled.buffers, *compiled.results, *(given[i].dtype for i in wide)))
        most = max(AT_ONCE if reductions else 1, _block_size(math.prod(shape), each, threads > 1))
        sums: list[Any] = [
            summing(result.axis, shape, most, _sum_dtype(dtype, result.reduction))
            for result, dtype in zip(reductions, compiled.added, strict=True)
        ]
        if None in sums:
            return None
        cut = frozenset(edge for result in reductions for edge in edges(result.axis, shape))
        layout = Layout(shape, [given[place] for place in wide], cut, bool(sums))
        if not layout.fits:
            return None
        whole = [layout.new(dtype) for dtype in compiled.results]
        blocks = _Blocks(
            compiled, [layout.seen(one) if place in wide else one for place, one in enumerate(given)], wide, whole, sums
        )
        if sums and len(layout.lengths) == 1:
            ends = np.cumsum((0, *leaves(layout.lengths[0], most))).tolist()
            regions: list[Region] = [(slice(*ends),) for ends in pairwise(ends)]
            blocks.are_leaves = True
        else:
            regions = list(layout.regions(most))
        largest = (most,) if len(layout.lengths) == 1 else layout.block_shape(most)
        _side_by_side(threads if blocks.are_leaves or not sums else 1, regions, largest, blocks)
        which = iter(compiled.which)
        added = iter(sums)
        return tuple(
            whole[next(which)][0] if result.reduction is None else finished(result, next(added).result(), shape)
            for result in program.results
        )

    def _for(self, given: Sequence[Any], wide: frozenset[int]) -> Compiled:
        """What computes a block of these arguments."""
        key = (wide, *(one.dtype if isinstance(one, np.ndarray) else type(one) for one in given))
        found = self._compiled.get(key)
        if found is None:
            if len(self._compiled) >= _MOST_COMPILED:
                self._compiled.clear()
            examples = [np.empty(0, one.dtype) if place in wide else one for place, one in enumerate(given)]
            found = self._compiled[key] = compiled_for(self.program, examples)
        return found


class _Blocks:
    """What is done to each block."""

    def __init__(
        self, compiled: Compiled, given: Sequence[Any], wide: Sequence[int], whole: Sequence[Any], sums: Sequence[Any]
    ) -> None:
        self.compiled = compiled
        self.given = given
        self.wide = wide
        self.outs = [line for _, line in whole]
        self.sums = sums
        self.are_leaves = False

    def run(self, regions: Iterable[_Numbered], largest: tuple[int, ...]) -> None:
        """Take these blocks, each with its number, with buffers of one's own."""
        buffers = [np.empty(largest, dtype) for dtype in self.compiled.buffers]
        run, outs, sums, wide = self.compiled.run, self.outs, self.sums, self.wide
        given, arguments = self.given, list(self.given)
        parts: dict[int, list[Any]] = {}
        for place, region in regions:
            cut = region[-1]
            length = cut.stop - cut.start
            fitting = parts.get(length)
            if fitting is None:
                parts.clear()
                fitting = parts[length] = [buffer[:length] for buffer in buffers]
            where = region if len(region) > 1 else cut
            for index in wide:
                arguments[index] = given[index][where]
            added = run(*arguments, *[out[where] for out in outs], *fitting)
            for one, values in zip(sums, added, strict=True):
                if self.are_leaves:
                    one.put(place, values)
                else:
                    one.take(values)


def _block_size(size: int, each: int, beside_others: bool) -> int:
    """How many elements a block has, of `size` with so many bytes each.

    They are twice as many on several threads: between calls a thread needs the interpreter, and on short blocks they
    would mostly wait for one another.
    """
    least, most = _CACHE
    cache = min(most, max(least, size)) * (2 if beside_others else 1)
    return min(chains.BLOCK, max(_LEAST, cache // each))


def _plain(one: Any) -> Any:
    """An argument as blocks take it: what has one element as an array without axes."""
    if isinstance(one, np.generic):
        return np.asarray(one)
    return one.reshape(()) if isinstance(one, np.ndarray) and one.size == 1 else one


def _sum_dtype(dtype: Any, reduction: str | None) -> Any:
    """The dtype in which values are added up.

    Raises
    ------
    TypeError
        If the order in which they are is not kept: of complex numbers and of those that are added up in wider ones.
    """
    if dtype.kind in "iu" and reduction == "sum":
        return np.dtype("uint64" if dtype.kind == "u" else "int64")
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"{dtype} is not added up in blocks")
    return dtype


def _side_by_side(threads: int, regions: Sequence[Region], largest: tuple[int, ...], blocks: _Blocks) -> None:
    """Take all blocks, on several threads where there are enough of them.

    Each takes the next when it is done with one, so that none waits for another that began late or was held up.
    """
    workers = min(threads, len(regions) // 2)
    if workers <= 1:
        blocks.run(enumerate(regions), largest)
        return
    left = deque(enumerate(regions))
    others = [
        _pool(workers - 1).submit(copy_context().run, blocks.run, _taken_from(left), largest)
        for _ in range(workers - 1)
    ]
    try:
        blocks.run(_taken_from(left), largest)
    finally:
        left.clear()  # after an error
        begun = [other for other in others if not other.cancel()]  # one that has not begun has nothing left to do
        for other in begun:
            other.exception()  # no thread writes on
    for other in begun:
        other.result()


def _taken_from(left: deque[_Numbered]) -> Iterator[_Numbered]:
    """Blocks one after another, as long as some are left, of those that several threads take from."""
    with suppress(IndexError):
        while True:
            yield left.popleft()


@lru_cache(maxsize=4)
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that wait for work."""
    return ThreadPoolExecutor(workers, "nbm_xp chains")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads
