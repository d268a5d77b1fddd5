"""Evenly spaced numbers, and the grids that are made of them."""

from __future__ import annotations

import math
import operator
from typing import Any

from nbm_xp.namespace import dtype_name, floatx, is_array
from nbm_xp.namespace.refusals import described
from nbm_xp.tape.concrete import lasting_number
from nbm_xp.tape.differentiated import refuse_cut
from nbm_xp.tape.dtypes import DType, as_dtype, common_dtype
from nbm_xp.tape.extreme_lengths import maximum_length
from nbm_xp.tape.length_arguments import integer_length
from nbm_xp.tape.lengths import Length, Size, known, product
from nbm_xp.tape.node import Memory, Operation
from nbm_xp.tape.operators import is_number
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .broadcasting import broadcast_to
from .casting import cast
from .complex_numbers import real
from .creation import dtype_or, scalar_dtype
from .inspection import check_device as _check_device
from .manipulation import reshape
from .shapes import sizes_of
from .sums import sum as sum_

__all__ = ["arange", "linspace", "meshgrid"]


def _infer_arange(start: Any, stop: Any, step: Any, *, dtype: DType) -> Any:
    span, stride = stop - start, step
    if isinstance(span, Length) or isinstance(stride, Length):
        return (maximum_length((-(-span // stride), 0)),), dtype
    whole = isinstance(span, int) and isinstance(stride, int)
    count = -(-span // stride) if whole else math.ceil(span / stride)
    return (max(0, count),), dtype


_ARANGE = declare("arange", _infer_arange, (), memory=Memory.OWN, length_at=1)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Evenly spaced values from `start` to before `stop`; numbers, Lengths and integer Tensors are taken.

    Tensors of a floating dtype are, where they are computed from numbers and constants alone.
    """
    _check_device(device)
    start, stop, step = map(_bound, (0, start, step) if stop is None else (start, stop, step))
    if known(step) == 0:
        raise ValueError("the step of arange must not be zero")
    whole = not any(isinstance(value, float) for value in (start, stop, step))
    return record(_ARANGE, start, stop, step, dtype=dtype_or(dtype, "int64" if whole else floatx()))


def _bound(value: Any) -> Any:
    if is_array(value) and not isinstance(value, Tensor) and not value.shape:  # such as the product of a shape
        value = float(value) if dtype_name(value)[0] == "f" else operator.index(value)
    if not isinstance(value, Tensor) or value.ndim or value.dtype[0] != "f":
        return integer_length(value)
    number = _lasting(value)
    if number is None:
        raise TypeError(
            "a floating bound or step of arange must be a number, or computed from numbers and constants alone, for it "
            f"decides how many values there are: got {value!r}"
        )
    return number


def _lasting(value: Tensor) -> Any:
    refuse_cut(value.node, repr(value))
    return lasting_number(value.node)


def _weighted(g: Tensor, num: Size, endpoint: bool, *, of_stop: bool) -> Tensor:
    """The gradient in a bound: each number is the bounds' mean, weighted by how far it is from the other."""
    dtype = g.dtype if g.dtype[0] == "f" else real(g).dtype
    share = record(_LINSPACE, 0.0, 1.0, num, dtype=dtype, endpoint=endpoint)
    return sum_(g * (share if of_stop else 1.0 - share))


_LINSPACE: Operation = declare(
    "linspace",
    lambda start, stop, num, *, dtype, endpoint: ((num,), dtype),
    (
        lambda g, out, start, stop, num, *, dtype, endpoint: _weighted(g, num, endpoint, of_stop=False),
        lambda g, out, start, stop, num, *, dtype, endpoint: _weighted(g, num, endpoint, of_stop=True),
    ),
    memory=Memory.OWN,
)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """`num` evenly spaced numbers."""
    _check_device(device)
    for name, bound in (("start", start), ("stop", stop)):
        if not (is_number(bound) or is_array(bound) or isinstance(bound, Tensor)) or getattr(bound, "ndim", 0) != 0:
            raise TypeError(f"{name} must be a number or an array without axes, got {described(bound)}")
    (num,) = sizes_of(num, "num")  # type: ignore[assignment]
    default = scalar_dtype(1j) if isinstance(start, complex) or isinstance(stop, complex) else floatx()
    return record(_LINSPACE, start, stop, num, dtype=dtype_or(dtype, default), endpoint=endpoint)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', got {indexing!r}")
    tensors = [as_tensor(array) for array in arrays]
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    dtype = common_dtype(*(t.dtype for t in tensors)) if tensors else as_dtype(floatx())
    for tensor in tensors:
        if tensor.ndim > 1:
            raise ValueError(f"meshgrid needs vectors, got an array of shape {tensor.shape}")
    lengths: list[Size] = [product(tensors[position].node.shape) for position in order]
    grids = []
    for position, tensor in enumerate(tensors):
        place = order.index(position)
        shape = [1] * len(order)
        shape[place] = -1
        line = reshape(cast(tensor, dtype), tuple(shape))
        grids.append(Tensor(broadcast_to(line, tuple(lengths)).node))  # an array of its own
    return tuple(grids)
