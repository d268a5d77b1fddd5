"""Arrays of one dtype joined along an axis, and taken apart along one."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.dtypes import DType, common_dtype
from nbm_xp.tape.lengths import same_length
from nbm_xp.tape.node import Joint, Memory, Node
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .casting import cast
from .manipulation import reshape
from .shapes import axis_of

__all__ = ["concat", "stack", "unstack"]


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


_CONCAT = declare("concat", _infer_concat, Joint(_split), memory=Memory.OWN)


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
    memory=Memory.OWN,
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
