"""NumPy: how arrays that broadcast to one shape are taken apart into blocks.

Axes are taken in the order in which the arrays lie in memory, and axes along which all of them go on without a gap
count as one, so that contiguous arrays are cut like lines. What is broadcast is seen in the full shape, without a copy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["Layout", "Region"]

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
