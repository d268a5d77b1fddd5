"""Matrix products over all leading axes at once: what many steps of a loop would each do a part of.

One large product costs a fraction of many small ones. The two are each other's gradients.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import is_lazy

from ..node import Memory, Node, Spec
from ..registry import declare
from ..standard.manipulation import matrix_transpose
from ..tensor import Tensor, record

__all__ = ["rows_times", "sum_of_outer_products"]


def _as_rows(xp: Any, x: Any) -> Any:
    return x if x.ndim == 2 else xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _run_rows_times(xp: Any, x: Any, matrix: Any) -> Any:
    if is_lazy(xp):  # merging axes would move chunks
        return xp.matmul(x, matrix)
    found = xp.matmul(_as_rows(xp, x), matrix)
    return found if x.ndim == 2 else xp.reshape(found, (*x.shape[:-1], matrix.shape[1]))


def _run_sum_of_outer_products(xp: Any, x: Any, y: Any) -> Any:
    if is_lazy(xp):
        leading = tuple(range(x.ndim - 1))
        return xp.tensordot(x, y, axes=(leading, leading))
    return xp.matmul(_as_rows(xp, x).T, _as_rows(xp, y))


def _infer_rows(x: Node, matrix: Node) -> Spec:
    return (*x.shape[:-1], matrix.shape[1]), x.dtype


def _infer_outer(x: Node, y: Node) -> Spec:
    return (x.shape[-1], y.shape[-1]), x.dtype


_ROWS_TIMES = declare(
    "rows_times",
    _infer_rows,
    (
        lambda g, out, x, matrix: rows_times(g, matrix_transpose(matrix)),
        lambda g, out, x, matrix: sum_of_outer_products(x, g),
    ),
    run=_run_rows_times,
    memory=Memory.OWN,
)
_SUM_OF_OUTER_PRODUCTS = declare(
    "sum_of_outer_products",
    _infer_outer,
    (
        lambda g, out, x, y: rows_times(y, matrix_transpose(g)),
        lambda g, out, x, y: rows_times(x, g),
    ),
    run=_run_sum_of_outer_products,
    memory=Memory.OWN,
)


def rows_times(x: Tensor, matrix: Tensor) -> Tensor:
    """Each row of the last axis of `x`, of two axes or more, times a matrix."""
    return record(_ROWS_TIMES, x, matrix)


def sum_of_outer_products(x: Tensor, y: Tensor) -> Tensor:
    """The matrix that is the sum, over all leading axes, of the outer products of the rows of two arrays."""
    return record(_SUM_OF_OUTER_PRODUCTS, x, y)
