"""CuPy: linear equations for stacks that broadcast, empty ones included; `eig` and `matrix_rank` of empty matrices.

Of matrices without elements, `eig` and `eigvals` give real numbers, where of all others they give complex ones, and
`matrix_rank` asks for the largest of no singular values. The pair that `eig` gives has no names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..results import EigResult

__all__ = ["complex_eigvals", "named_eig", "ranked", "stacked_solve"]


def _complex(x: Any) -> Any:
    """An array of complex numbers from one that may be real."""
    return x if x.dtype.kind == "c" else x.astype("complex64" if x.dtype.itemsize == 4 else "complex128")


def named_eig(eig: Callable[..., Any]) -> Callable[..., EigResult[Any]]:
    """`eig` with names for its two results, which are always complex."""
    return lambda x, /: EigResult(*map(_complex, eig(x)))


def complex_eigvals(eigvals: Callable[..., Any]) -> Callable[..., Any]:
    """`eigvals` whose results are always complex."""
    return lambda x, /: _complex(eigvals(x))


def ranked(xp: Any, matrix_rank: Callable[..., Any]) -> Callable[..., Any]:
    """`matrix_rank` of `xp`, which of matrices without elements is 0."""

    def mended(x: Any, /, *, rtol: Any = None) -> Any:
        if x.size:
            return matrix_rank(x, rtol=rtol)
        return xp.zeros(x.shape[:-2], dtype=xp.int64)

    return mended


def stacked_solve(xp: Any, solve: Callable[..., Any]) -> Callable[..., Any]:
    """`solve` of `xp`, which wants stacks of one shape, for all that broadcast; one axis on the right is a vector."""

    def mended(x1: Any, x2: Any, /) -> Any:
        if x1.ndim == 2 and x2.ndim <= 2 and x1.size and x2.size:
            return solve(x1, x2)
        vector = x2.ndim == 1
        right = x2[:, None] if vector else x2
        batch = _broadcast(x1.shape[:-2], right.shape[:-2])
        shape = (*batch, *right.shape[-2:])
        if math.prod(shape) == 0:
            result = xp.zeros(shape, dtype=xp.result_type(x1, x2))
        else:
            left = xp.broadcast_to(x1, (*batch, *x1.shape[-2:]))
            result = solve(left, xp.broadcast_to(right, shape))
        return result[..., 0] if vector else result

    return mended


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of two stacks together."""
    count = max(len(one), len(other))
    pairs = zip((1,) * (count - len(one)) + tuple(one), (1,) * (count - len(other)) + tuple(other), strict=True)
    result = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise ValueError(f"stacks of shapes {one} and {other} do not broadcast together")
        result.append(b if a == 1 else a)
    return tuple(result)
