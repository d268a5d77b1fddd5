"""Dask's arrays on expressions: their operators, without which no function of an array could be written.

Dask's own (2026.8) take a Python number for an array of its own dtype (``x * 0.5`` of float32 is float64), fail on
arrays in different blocks when they are computed (``mul expected 2 arguments, got 4``), and have neither ``@`` nor
indexing by truth values nor assignment. Operators belong to the class, so that it is here, and nowhere else, that
something of Dask's is changed: once its namespace is asked for, and only where arrays are expressions. What worked
before gives what it gave, but for that dtype.
"""

from __future__ import annotations

from typing import Any

import dask.array._array_expr._blockwise
import dask.array._array_expr._collection
import dask.array._array_expr._expr
import dask.array._array_expr._ufunc
import numpy as np

from .dask_classic import lifted, new_collection

__all__ = ["elemwise", "mend_operators"]

_collection: Any = dask.array._array_expr._collection
_ufunc: Any = dask.array._array_expr._ufunc
_unify: Any = dask.array._array_expr._expr.unify_chunks_expr
_Elemwise: Any = dask.array._array_expr._blockwise.Elemwise
_NUMBERS = (bool, int, float, complex, np.generic)
_of_dask: Any = _collection.elemwise


def elemwise(op: Any, *args: Any, where: Any = True, out: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """As `dask.array.core.elemwise`, for expressions."""
    if where is not True or out is not None:
        return _of_dask(op, *args, where=where, out=out, dtype=dtype, **kwargs)
    if any(getattr(arg, "__array_ufunc__", True) is None for arg in args):
        return NotImplemented  # what wants operators for itself, as a recording tensor does
    operands: list[Any] = [arg if isinstance(arg, _NUMBERS) else _collection.asanyarray(arg) for arg in args]
    places = [place for place, operand in enumerate(operands) if isinstance(operand, _collection.Array)]
    pairs = [part for n in places for part in (operands[n].expr, tuple(range(operands[n].ndim))[::-1])]
    for place, expression in zip(places, _unify(*pairs)[1], strict=True):
        operands[place] = expression
    return new_collection(_Elemwise(op, dtype, None, True, *operands))


def _with_part(x: Any, index: Any, values: Any) -> Any:
    out = x.copy()
    out[index] = values
    return out


_replaced = lifted(_with_part)


def _assign(x: Any, index: Any, values: Any) -> None:
    """Let an array be another expression, as arrays on graphs get another graph."""
    x._expr = _replaced(x, index, values).expr


def _indexed(x: Any, index: Any) -> Any:
    return x[index]


_part_of_dask: Any = _collection.Array.__getitem__
_part_on_graphs = lifted(_indexed)


def _part(x: Any, index: Any) -> Any:
    try:
        return _part_of_dask(x, index)
    except NotImplementedError:  # by truth values, which Dask has on graphs
        return _part_on_graphs(x, index)


def mend_operators(matmul: Any) -> None:
    """Have Dask's operators, and its elementwise functions, call what is here."""
    _collection.elemwise = _ufunc.elemwise = elemwise
    _collection.Array.__matmul__ = lambda x, other: matmul(x, other)
    _collection.Array.__rmatmul__ = lambda x, other: matmul(other, x)
    _collection.Array.__getitem__ = _part
    if not hasattr(_collection.Array, "__setitem__"):
        _collection.Array.__setitem__ = _assign
