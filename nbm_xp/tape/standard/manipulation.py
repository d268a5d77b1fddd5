"""Manipulation functions: the same values in another shape or order; a rule undoes what its function does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import DType, common_dtype
from ..lengths import Size, known, product, same_length
from ..node import LINEAR_TAG, Joint, Node, Shape, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .data_types import cast
from .shapes import along_axes, axes_of, axis_of, of_matrices, sizes_of

__all__ = [
    "concat", "expand_dims", "flip", "matrix_transpose", "moveaxis", "of_shape", "permute_dims", "reshape", "roll",
    "squeeze", "stack", "unstack",
]  # fmt: skip


def of_shape(x: Node, shape: Shape) -> Any:
    """Shape and dtype of what is brought to a shape."""
    return shape, x.dtype


_RESHAPE = declare(
    "reshape",
    of_shape,
    (lambda g, out, x, shape: reshape(g, x.node.shape),),
    may_overlap=True,
    written=lambda part, x, shape: reshape(part, x.node.shape),
    shape_at=1,
    tags=frozenset({LINEAR_TAG}),
)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape; one length may be -1.

    What is written to the result is written to `x` unless ``copy=True``; where `x` is a part or transpose of something
    else, it must be said.
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
        _check_divides(count, rest, x, items)
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
    """Whether the elements of a Tensor follow each other in memory, as far as all libraries have it so."""
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


def _check_divides(count: Size, rest: Size, x: Tensor, items: Any) -> None:
    known_count, known_rest = known(count), known(rest)
    if known_count is not None and known_rest and known_count % known_rest:
        raise ValueError(f"cannot reshape an array of shape {x.shape} to {tuple(items)}")


def _infer_permute(x: Node, axes: tuple[int, ...]) -> Any:
    return tuple(x.shape[axis] for axis in axes), x.dtype


_PERMUTE = declare(
    "permute_dims",
    _infer_permute,
    (lambda g, out, x, axes: permute_dims(g, tuple(axes.index(i) for i in range(len(axes)))),),
    may_overlap=True,
    written=lambda part, x, axes: permute_dims(part, tuple(axes.index(i) for i in range(len(axes)))),
    tags=frozenset({LINEAR_TAG}),
)


def permute_dims(x: Any, /, axes: Sequence[int]) -> Tensor:
    """The axes in another order."""
    tensor = as_tensor(x)
    order = tuple(axis_of(axis, tensor.ndim, "axes") for axis in axes)
    if sorted(order) != list(range(tensor.ndim)):
        raise ValueError(f"axes must name each of the {tensor.ndim} axes once, got {tuple(axes)}")
    if order == tuple(range(tensor.ndim)):
        return tensor
    return matrix_transpose(tensor) if tensor.ndim == 2 else record(_PERMUTE, tensor, order)


_TRANSPOSE = declare(
    "transpose",  # of a matrix: every library has the attribute, and it costs less than a call
    lambda x: (x.shape[::-1], x.dtype),
    (lambda g, out, x: matrix_transpose(g),),
    emit=lambda x: f"{x}.T",
    may_overlap=True,
    written=lambda part, x: matrix_transpose(part),
    tags=frozenset({LINEAR_TAG}),
)
_MATRIX_TRANSPOSE = of_matrices(
    "matrix_transpose",
    lambda x: ((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype),
    (lambda g, out, x: matrix_transpose(g),),
    may_overlap=True,
    written=lambda part, x: matrix_transpose(part),
    linear=True,
)


def matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes swapped."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"x must have two axes or more, got shape {x.shape}")
    return record(_TRANSPOSE if x.ndim == 2 else _MATRIX_TRANSPOSE, x)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other places, the others in their order."""
    x = as_tensor(x)
    from_ = [axis_of(a, x.ndim, "source") for a in (source if isinstance(source, (tuple, list)) else (source,))]
    to = [
        axis_of(a, x.ndim, "destination")
        for a in (destination if isinstance(destination, (tuple, list)) else (destination,))
    ]
    if len(from_) != len(to) or len(set(from_)) != len(from_) or len(set(to)) != len(to):
        raise ValueError(f"source and destination must name as many axes, each once, got {source} and {destination}")
    order = [axis for axis in range(x.ndim) if axis not in from_]
    for place, axis in sorted(zip(to, from_, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, order)


def _axes_named(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, where none of them is meant unless it is named."""
    if axis is None:
        raise TypeError("axis must be an integer or a tuple of integers, got None")
    return axes_of(axis, ndim)


def expand_dims(x: Any, /, axis: Any) -> Tensor:
    """One or more new axes of length 1."""
    x = as_tensor(x)
    ndim = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    new = _axes_named(axis, ndim)
    shape = list(x.node.shape)
    for place in new:
        shape.insert(place, 1)
    return reshape(x, tuple(shape), copy=False)


def squeeze(x: Any, /, axis: Any) -> Tensor:
    """Axes of length 1 removed.

    Raises
    ------
    ValueError
        If such an axis is known to be longer.
    """
    x = as_tensor(x)
    gone = _axes_named(axis, x.ndim)
    for place in gone:
        if same_length(x.node.shape[place], 1) is False:
            raise ValueError(f"axis {place} has length {x.shape[place]}, only axes of length 1 can be squeezed")
    return reshape(x, tuple(n for place, n in enumerate(x.node.shape) if place not in gone), copy=False)


_FLIP = along_axes(
    "flip",
    same_as_first,
    (lambda g, out, x, *, axis: flip(g, axis=axis),),
    may_overlap=True,
    written=lambda part, x, *, axis: flip(part, axis=axis),
)


def flip(x: Any, /, *, axis: Any = None) -> Tensor:
    """The elements in reverse order along axes; all of them for None."""
    x = as_tensor(x)
    return record(_FLIP, x, axis=axes_of(axis, x.ndim))


_ROLL = along_axes(
    "roll",
    same_as_first,
    (
        lambda g, out, x, shift, *, axis: roll(
            g, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis=axis
        ),
    ),
    may_overlap=True,
)


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Tensor:
    """The elements moved round along axes."""
    x = as_tensor(x)
    several = isinstance(axis, (tuple, list))
    if axis is None:
        if isinstance(shift, (tuple, list)):
            raise ValueError(f"axis must be given to roll for shifts along several axes, got shift={shift}")
        return record(_ROLL, x, shift, axis=None)
    axes = tuple(axis_of(a, x.ndim) for a in (axis if several else (axis,)))
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if not several and len(shifts) != 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(f"shift and axis must be as many, got {shift} and {axis}")
    if not several and len(shifts) == 1:
        return record(_ROLL, x, shifts[0], axis=axes[0])
    return record(_ROLL, x, shifts, axis=axes)


def _joined(arrays: tuple[Node, ...]) -> DType:
    return arrays[0].dtype


def _infer_concat(arrays: tuple[Node, ...], *, axis: int) -> Any:
    shape = list(arrays[0].shape)
    for array in arrays[1:]:
        shape[axis] = shape[axis] + array.shape[axis]
    return tuple(shape), _joined(arrays)


def _split(g: Tensor, out: Tensor, arrays: tuple[Tensor, ...], *, axis: int) -> list[Any]:
    parts, start = [], 0
    for array in arrays:
        stop = start + array.node.shape[axis]
        parts.append(g[(slice(None),) * axis + (slice(start, stop),)])
        start = stop
    return [parts]


_CONCAT = declare("concat", _infer_concat, Joint(_split))


def _same_dtype(arrays: Any, what: str) -> list[Tensor]:
    tensors = [as_tensor(array) for array in arrays]
    if not tensors:
        raise ValueError(f"{what} needs at least one array")
    dtype = common_dtype(*(t.dtype for t in tensors))
    tensors = [cast(t, dtype) for t in tensors]
    if len({t.ndim for t in tensors}) > 1:
        raise ValueError(
            f"{what} needs arrays with as many axes, got shapes {', '.join(str(t.shape) for t in tensors)}"
        )
    return tensors


def _check_alike(tensors: list[Tensor], skip: int | None, what: str) -> None:
    first = tensors[0].node.shape
    for tensor in tensors[1:]:
        for axis, (a, b) in enumerate(zip(first, tensor.node.shape, strict=True)):
            if axis != skip and same_length(a, b) is False:
                raise ValueError(
                    f"{what} needs equal lengths along axis {axis}, got {tensors[0].shape} and {tensor.shape}"
                )


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Arrays joined along an axis; flattened first for ``axis=None``."""
    if axis is None:
        arrays, axis = [reshape(array, (-1,)) for array in arrays], 0
    tensors = _same_dtype(arrays, "concat")
    place = axis_of(axis, tensors[0].ndim)
    _check_alike(tensors, place, "concat")
    return record(_CONCAT, tensors, axis=place)


_STACK = declare(
    "stack",
    lambda arrays, *, axis: ((*arrays[0].shape[:axis], len(arrays), *arrays[0].shape[axis:]), _joined(arrays)),
    Joint(lambda g, out, arrays, *, axis: [[g[(slice(None),) * axis + (i,)] for i in range(len(arrays))]]),
)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis."""
    tensors = _same_dtype(arrays, "stack")
    _check_alike(tensors, None, "stack")
    return record(_STACK, tensors, axis=axis_of(axis, tensors[0].ndim + 1))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis of known length."""
    x = as_tensor(x)
    place = axis_of(axis, x.ndim)
    return tuple(x[(slice(None),) * place + (i,)] for i in range(int(x.shape[place])))
