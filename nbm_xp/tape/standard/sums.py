"""The sum over axes, and what all reductions share."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.dtypes import DType, as_dtype
from nbm_xp.tape.dtypes import bool as boolean
from nbm_xp.tape.node import Node, Operation
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .casting import cast
from .declaring import along_axes
from .manipulation import reshape
from .shapes import axes_of, kept_shape, reduced_shape

__all__ = ["accumulated", "accumulator", "along_reduced", "reduced_spec", "sum"]


def reduced_spec(x: Node, *, axis: tuple[int, ...], keepdims: bool, **attributes: Any) -> Any:
    """Shape and dtype of what is reduced over axes."""
    return reduced_shape(x.shape, axis, keepdims), attributes.get("dtype", x.dtype)


def along_reduced(g: Tensor, x: Tensor, axis: tuple[int, ...], keepdims: bool) -> Tensor:
    """A value of the reduced array with the reduced axes kept as length 1, ready to broadcast against `x`."""
    return g if keepdims or not g.ndim else reshape(g, kept_shape(x.node.shape, axis))


def accumulator(x: Tensor, dtype: Any) -> DType:
    """The dtype that an array is added up in; integers and bool in the widest."""
    if dtype is not None:
        return as_dtype(dtype)
    kind = x.dtype[0]
    return as_dtype("int64") if kind in "bi" else as_dtype("uint64") if kind == "u" else x.dtype


def _summable(x: Tensor, dtype: DType) -> Tensor:
    """What is cast before it is added up: floating results are exact only so, and bool is no number."""
    return cast(x, dtype) if dtype[0] in "fc" or x.dtype == boolean else x


def accumulated(op: Operation, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    """What an operation makes of the numbers along axes, in the dtype asked for, or one that is wide enough."""
    x = as_tensor(x)
    wide = accumulator(x, dtype)
    axes = axes_of(axis, x.ndim)
    if not axes:
        return cast(x, wide)
    return record(op, _summable(x, wide), axis=axes, dtype=wide, keepdims=keepdims)


def _sum_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    return along_reduced(g, x, axis, keepdims)


_SUM = along_axes("sum", reduced_spec, (_sum_rule,), linear=True, adds_up=True)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes; integers and bool add up as int64 or uint64."""
    return accumulated(_SUM, x, axis, dtype, keepdims)
