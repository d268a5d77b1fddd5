"""Shape arithmetic shared by the rules: broadcasting, axes, normal forms of arguments, and helpers for declarations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.namespace import recording_namespace

from ..graph import Node
from ..lengths import (
    Length,
    Size,
    as_length,
    broadcast_length,
    known,
    maximum_length,
    minimum_length,
    same_length,
    value_length,
)
from ..operations import ALONG_AXES_TAG, MATRICES_TAG, Shape, Spec, declare
from ..tensor import Tensor

__all__ = [
    "AxisError", "along_axes", "axes_in_order", "axes_of", "axis_of", "broadcast", "from_front", "index_along",
    "integer_length", "kept_shape", "named_axes", "of_matrices", "of_shape", "published", "recorded_length",
    "reduced_shape", "sizes_of", "slice_length", "written",
]  # fmt: skip

# Exclusive upper bound of lengths.
LONGEST = 2**63


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape to which arrays of these shapes broadcast.

    Raises
    ------
    ValueError
        If two known lengths differ and neither is 1.
    """
    ndim = max(map(len, shapes), default=0)
    result: list[Size] = []
    for position in range(-ndim, 0):
        chosen: Size = 1
        for shape in shapes:
            if len(shape) < -position:
                continue
            length = shape[position]
            if type(length) is int and length == 1:
                continue
            chosen = length if type(chosen) is int and chosen == 1 else _agree(chosen, length, shapes)
        result.append(chosen)
    return tuple(result)


def _agree(a: Size, b: Size, shapes: Sequence[Shape]) -> Size:
    same = same_length(a, b)
    if same:
        return a
    known_a, known_b = known(a), known(b)
    if known_a == 1:
        return b
    if known_b == 1:
        return a
    if same is False and isinstance(a, int) and isinstance(b, int):  # lengths of variables may change
        raise ValueError(f"shapes {' and '.join(map(written, shapes))} cannot be broadcast together")
    # an unknown length must be 1 or equal to a known one; of two unknown lengths either may be 1
    if known_a is not None:
        return a
    if known_b is not None:
        return b
    return broadcast_length((a, b))


def written(shape: Shape) -> str:
    """Format a shape for a message, with question marks for unknown lengths."""
    return f"({', '.join(str(n) if (n := known(length)) is not None else '?' for length in shape)})"


class AxisError(ValueError, IndexError):
    """Raised for an axis that an array does not have."""


def axis_of(axis: int, ndim: int, name: str = "axis") -> int:
    """Return an axis as a non-negative integer.

    Raises
    ------
    AxisError
        If the array does not have the axis.
    TypeError
        If the axis is not an integer.
    """
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"{name} must be an integer, got {axis!r}")
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        raise AxisError(
            f"{name} must be from {-ndim} to {ndim - 1} for an array of {ndim} axes, got {axis}, which is out of range"
        )
    return axis % ndim


def axes_of(axis: int | Sequence[int] | None, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Return axes as sorted non-negative integers; all axes for None."""
    return tuple(range(ndim)) if axis is None else tuple(sorted(axes_in_order(axis, ndim, name)))


def axes_in_order(axis: int | Sequence[int], ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Return axes as non-negative integers, in the given order."""
    axes = tuple(axis_of(item, ndim, name) for item in (axis if isinstance(axis, (tuple, list, range)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name} must name each axis once, got {axis}")
    return axes


def named_axes(node: Node) -> tuple[str, tuple[int, ...]]:
    """Return the name of the axis option of a function along axes, and its axes as non-negative integers."""
    option, ndim = "axis" if "axis" in node.attributes else "axes", len(node.args[0].shape)
    named = node.attributes[option]
    return option, tuple(range(ndim)) if named is None else axes_in_order(named, ndim)


def index_along(axis: int, part: Any) -> tuple[Any, ...]:
    """Return the index that selects `part` along an axis and everything along the axes before it."""
    return (*(slice(None),) * axis, part)


def of_shape(x: Node, shape: Shape) -> Spec:
    """Return `shape` and the dtype of `x`: the `infer` rule of functions that change the shape."""
    return shape, x.dtype


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Return the shape after a reduction over `axes`."""
    if keepdims:
        return kept_shape(shape, axes)
    return tuple(length for position, length in enumerate(shape) if position not in axes)


def kept_shape(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return the shape with the lengths of `axes` replaced by 1."""
    return tuple(1 if position in axes else length for position, length in enumerate(shape))


def integer_length(value: Any) -> Any:
    """Return a length for an int, a Length or a 0-d integer Tensor; an int if the Tensor is constant."""
    length = recorded_length(value)
    if isinstance(value, Tensor) and isinstance(length, Length):
        lasting = recording_namespace().lasting_number(value.node)
        return length if lasting is None else lasting
    return length


def recorded_length(value: Any) -> Any:
    """Return a length for an int, a Length or a 0-d integer Tensor, without evaluating anything."""
    if not isinstance(value, Tensor):
        return as_length(value)
    if value.ndim or value.dtype.kind not in "iu":
        raise TypeError(f"a length must be an integer Tensor without axes, got {value!r}")
    return _recorded_length(value.node)


def _recorded_length(node: Node) -> Size:
    """Return the length from which a scalar was made (``shape(x)[0]``), else the scalar's value as a length."""
    if node.op.name == "getitem" and node.args[0].op.name == "concat" and type(node.args[1][0]) is int:
        parts = node.args[0].args[0]
        if all(part.op.name == "reshape" and part.shape == (1,) for part in parts):
            node = parts[node.args[1][0]].args[0]
    if node.op.name == "scalar" and isinstance(node.args[0], (int, Length)):
        return node.args[0]
    return value_length(node)


def sizes_of(shape: Any, name: str = "shape") -> Shape:
    """Convert a shape argument of ints, Lengths and 0-d integer Tensors to a tuple of lengths."""
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = []
    for item in items:
        size = integer_length(item)
        if not isinstance(size, Length):
            try:
                size = size.__index__()
            except (AttributeError, TypeError):
                raise TypeError(f"{name} must hold integers, got {item!r}") from None
        now = known(size)
        if now is not None and now < 0:
            raise ValueError(f"{name} must hold lengths of 0 or more, got {now}: negative dimensions are not allowed")
        if now is not None and now >= LONGEST:
            raise ValueError(f"{name} must hold lengths below 2**63, got {now}")
        sizes.append(size)
    return tuple(sizes)


def slice_length(length: Size, part: slice) -> Size:
    """Return the length of a slice with a positive step; a bound made of axis lengths is assumed non-negative."""
    start, stop, step = 0 if part.start is None else part.start, part.stop, 1 if part.step is None else part.step
    if all(isinstance(size, int) for size in (length, start, 0 if stop is None else stop, step)):
        return len(range(*part.indices(length)))
    start = from_front(start, length)
    last: Size = length if stop is None else _bound(stop, length)
    if isinstance(start, int) and start < 0:
        if stop is None:
            span = minimum_length((-start, length))
        else:
            span = maximum_length((last - maximum_length((length + start, 0)), 0))
    else:
        span = maximum_length((last - maximum_length((start, 0)), 0))
    return span if type(step) is int and step == 1 else -(-span // step)


def _bound(stop: Size, length: Size) -> Size:
    return length + stop if isinstance(stop, int) and stop < 0 else minimum_length((from_front(stop, length), length))


def from_front(bound: Size, length: Size) -> Size:
    """Convert a slice bound that may be negative to a non-negative position; return other bounds unchanged."""
    if not isinstance(bound, Length) or not _may_count_from_end(bound):
        return bound
    from_end: Size = minimum_length((maximum_length((-bound, 0)), 1))  # 1 if negative, else 0
    counted: Size = bound + length * from_end
    return counted


def _may_count_from_end(bound: Length) -> bool:
    hint = bound.hint
    return (hint is not None and hint < 0) or any(not node.shape for node in bound.nodes())


# Declare a function that works along the axes in its option `axis` or `axes`; for parameters, see `Operation`.
along_axes = functools.partial(declare, tags=frozenset({ALONG_AXES_TAG}))

# Declare a function of the matrices in the last two axes.
of_matrices = functools.partial(declare, tags=frozenset({MATRICES_TAG}))


def published(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Set the name and the docstring of a function, and return it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
