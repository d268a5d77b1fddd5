"""Manipulation functions: reshaping, reordering and joining of arrays; gradient rules apply the inverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import common_dtype
from ..graph import Node
from ..lengths import known, maximum_length, product, same_length, same_shape
from ..operations import LINEAR_TAG, Joint, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .data_types import cast
from .shapes import along_axes, axes_in_order, axes_of, axis_of, index_along, integer_length, of_shape, sizes_of

__all__ = [
    "concat", "expand_dims", "flip", "matrix_transpose", "moveaxis", "permute_dims", "reshape", "roll", "squeeze",
    "stack", "unstack",
]  # fmt: skip


_RESHAPE = declare(
    "reshape",
    of_shape,
    (lambda g, out, x, shape: reshape(g, x.node.shape),),
    may_overlap=True,
    is_view=True,
    tags=frozenset({LINEAR_TAG}),
)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape; one length may be -1.

    The result is a view: writes to it change `x`, unless ``copy=True``. If `x` is a part or transpose of another array,
    the result can be written to only if `copy` is given.
    """
    x = as_tensor(x)
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    open_axes = [i for i, item in enumerate(items) if type(item) is int and item == -1]
    if len(open_axes) > 1:
        raise ValueError(f"shape may hold -1 once, got {tuple(items)}")
    sizes = list(sizes_of([1 if i in open_axes else item for i, item in enumerate(items)]))
    count = product(x.node.shape)
    if open_axes:
        rest = product(sizes)
        if rest == 0 and type(rest) is int:
            raise ValueError(f"shape {tuple(items)} leaves the length at -1 open where another is 0")
        known_count, known_rest = known(count), known(rest)
        if known_count is not None and known_rest and known_count % known_rest:
            raise ValueError(f"cannot reshape an array of shape {x.shape} to {tuple(items)}")
        sizes[open_axes[0]] = count // rest
    elif same_length(count, product(sizes)) is False:
        raise ValueError(f"cannot reshape an array of shape {x.shape} to {tuple(items)}")
    result = record(_RESHAPE, x, tuple(sizes))
    if copy:
        result.viewed = None
    elif copy is None and result.viewed is not None:
        result.viewed.may_be_copy = not _lies_together(x)
    return result


def _lies_together(x: Tensor) -> bool:
    """Return whether a Tensor is contiguous in every library."""
    if x.viewed is None:
        return True
    call = x.viewed.call
    if call.op is _RESHAPE:
        return _lies_together(x.viewed.base)
    if call.op.name != "getitem":
        return False
    items = [item for item in call.args[1] if item is not None]
    while items and not isinstance(items[0], slice):
        items = items[1:]
    whole = all(item == slice(None) for item in items[1:])
    return whole and (not items or items[0].step in (None, 1)) and _lies_together(x.viewed.base)


def _infer_permute(x: Node, axes: tuple[int, ...]) -> Any:
    return tuple(x.shape[axis] for axis in axes), x.dtype


_PERMUTE = declare(
    "permute_dims",
    _infer_permute,
    (lambda g, out, x, axes: permute_dims(g, tuple(axes.index(i) for i in range(len(axes)))),),
    may_overlap=True,
    is_view=True,
    tags=frozenset({LINEAR_TAG}),
)


def permute_dims(x: Any, /, axes: Sequence[int]) -> Tensor:
    """Return the array with its axes in another order."""
    tensor = as_tensor(x)
    order = axes_in_order(axes, tensor.ndim, "axes")
    if len(order) != tensor.ndim:
        raise ValueError(f"axes must name each of the {tensor.ndim} axes once, got {tuple(axes)}")
    if order == tuple(range(tensor.ndim)):
        return tensor
    return record(_TRANSPOSE, tensor) if tensor.ndim == 2 else record(_PERMUTE, tensor, order)


_TRANSPOSE = declare(
    "transpose",  # of a matrix: the attribute `T` is faster than a call
    lambda x: (x.shape[::-1], x.dtype),
    (lambda g, out, x: matrix_transpose(g),),
    emit=lambda x: f"{x}.T",
    may_overlap=True,
    is_view=True,
    tags=frozenset({LINEAR_TAG}),
)


def matrix_transpose(x: Any, /) -> Tensor:
    """Swap the last two axes."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"x must have two axes or more, got shape {x.shape}")
    if x.ndim == 2:
        return record(_TRANSPOSE, x)
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    """Move axes to other positions; the other axes keep their order."""
    x = as_tensor(x)
    from_, to = axes_in_order(source, x.ndim, "source"), axes_in_order(destination, x.ndim, "destination")
    if len(from_) != len(to):
        raise ValueError(f"source and destination must name as many axes, got {source} and {destination}")
    order = [axis for axis in range(x.ndim) if axis not in from_]
    for place, axis in sorted(zip(to, from_, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, order)


def _axes_named(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return non-negative axes; None is an error."""
    if axis is None:
        raise TypeError("axis must be an integer or a tuple of integers, got None")
    return axes_of(axis, ndim)


def expand_dims(x: Any, /, axis: Any) -> Tensor:
    """Insert one or more axes of length 1."""
    x = as_tensor(x)
    ndim = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    new = _axes_named(axis, ndim)
    shape = list(x.node.shape)
    for place in new:
        shape.insert(place, 1)
    return reshape(x, tuple(shape), copy=False)


def squeeze(x: Any, /, axis: Any) -> Tensor:
    """Remove axes of length 1.

    Raises
    ------
    ValueError
        If an axis is known to have another length.
    """
    x = as_tensor(x)
    gone = _axes_named(axis, x.ndim)
    for place in gone:
        if same_length(x.node.shape[place], 1) is False:
            raise ValueError(f"axis {place} has length {x.shape[place]}, only axes of length 1 can be squeezed")
    return reshape(x, tuple(n for place, n in enumerate(x.node.shape) if place not in gone), copy=False)


_FLIP = along_axes(
    "flip", same_as_first, (lambda g, out, x, *, axis: flip(g, axis=axis),), may_overlap=True, is_view=True
)


def flip(x: Any, /, *, axis: Any = None) -> Tensor:
    """Reverse the elements along axes; along all axes for None."""
    x = as_tensor(x)
    return record(_FLIP, x, axis=axes_of(axis, x.ndim))


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Roll the elements along axes."""
    x = as_tensor(x)
    several = isinstance(shift, (tuple, list))
    if axis is None and not several:
        return reshape(_rolled(reshape(x, (-1,)), shift, 0), x.node.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,) * (len(shift) if several else 1)
    shifts = shift if several else (shift,) * len(axes)
    if axis is None or len(shifts) != len(axes):
        raise ValueError(f"shift and axis must be as many, got {shift} and {axis}")
    rolled = Tensor(x.node)
    for count, place in zip(shifts, axes, strict=True):
        rolled = _rolled(rolled, count, axis_of(place, x.ndim))
    return rolled


def _rolled(x: Tensor, shift: Any, axis: int) -> Tensor:
    """Roll an array along one axis by concatenating its end and its beginning."""
    length = x.node.shape[axis]
    if known(length) == 0:
        return x
    start = -integer_length(shift) % maximum_length((length, 1))
    turned = concat([x[index_along(axis, slice(start, None))], x[index_along(axis, slice(None, start))]], axis=axis)
    return turned if same_shape(turned.node.shape, x.node.shape) else Tensor(reshape(turned, x.node.shape).node)


def _infer_concat(arrays: tuple[Node, ...], *, axis: int) -> Any:
    shape = list(arrays[0].shape)
    for array in arrays[1:]:
        shape[axis] = shape[axis] + array.shape[axis]
    return tuple(shape), arrays[0].dtype


def _split(g: Tensor, out: Tensor, arrays: tuple[Tensor, ...], *, axis: int) -> list[Any]:
    parts, start = [], 0
    for array in arrays:
        stop = start + array.node.shape[axis]
        parts.append(g[index_along(axis, slice(start, stop))])
        start = stop
    return [parts]


_CONCAT = declare("concat", _infer_concat, Joint(_split))


def _alike(arrays: Any, what: str, joined: int | None = None) -> list[Tensor]:
    """Convert arrays to Tensors of their common dtype; check that their shapes agree except along the axis `joined`."""
    tensors = [as_tensor(array) for array in arrays]
    if not tensors:
        raise ValueError(f"{what} needs at least one array")
    dtype = common_dtype(*(t.dtype for t in tensors))
    first = tensors[0]
    skipped = None if joined is None else axis_of(joined, first.ndim)
    for tensor in tensors[1:]:
        if tensor.ndim != first.ndim:
            raise ValueError(f"{what} needs arrays with as many axes, got shapes {first.shape} and {tensor.shape}")
        for axis, (a, b) in enumerate(zip(first.node.shape, tensor.node.shape, strict=True)):
            if axis != skipped and same_length(a, b) is False:
                raise ValueError(f"{what} needs equal lengths along axis {axis}, got {first.shape} and {tensor.shape}")
    return [cast(t, dtype) for t in tensors]


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Join arrays along an axis; for ``axis=None`` they are flattened first."""
    if axis is None:
        arrays, axis = [reshape(array, (-1,)) for array in arrays], 0
    tensors = _alike(arrays, "concat", axis)
    return record(_CONCAT, tensors, axis=axis_of(axis, tensors[0].ndim))


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Join arrays of one shape along a new axis."""
    tensors = _alike(arrays, "stack")
    place = axis_of(axis, tensors[0].ndim + 1)
    return record(_CONCAT, [expand_dims(tensor, place) for tensor in tensors], axis=place)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along an axis of known length."""
    x = as_tensor(x)
    place = axis_of(axis, x.ndim)
    return tuple(x[index_along(place, i)] for i in range(int(x.shape[place])))
