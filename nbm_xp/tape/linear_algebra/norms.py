"""Norms of vectors and matrices, with gradients that are finite everywhere: zero where there is a corner.

Values at which a norm has a corner are the zero vector, an element that is zero, a singular value that is zero; where
several elements, rows, columns or singular values are the largest (smallest) they share the gradient equally.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.tape.standard.casting import cast
from nbm_xp.tape.standard.choices import where
from nbm_xp.tape.standard.complex_numbers import imag, real
from nbm_xp.tape.standard.elementwise import abs as abs_
from nbm_xp.tape.standard.elementwise import sqrt
from nbm_xp.tape.standard.manipulation import expand_dims
from nbm_xp.tape.standard.promotion import floating, is_complex
from nbm_xp.tape.standard.shapes import axes_of
from nbm_xp.tape.standard.statistical import any as any_
from nbm_xp.tape.standard.statistical import max as max_
from nbm_xp.tape.standard.statistical import min as min_
from nbm_xp.tape.standard.sums import sum as sum_
from nbm_xp.tape.tensor import Tensor, as_tensor

from .matrices import check_matrices
from .singular import svdvals

__all__ = ["matrix_norm", "vector_norm"]


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The norm of vectors along axes, of any order, 0 and infinite ones included."""
    x = floating(x)
    options: dict[str, Any] = {"axis": axes_of(axis, x.ndim), "keepdims": keepdims}
    if ord == 2:
        squares = real(x) * real(x) + imag(x) * imag(x) if is_complex(x) else x * x
        return _root(sum_(squares, **options), 2)
    if ord == 0:
        return sum_(cast(as_tensor(x != 0), abs_(x).dtype), **options)
    size = abs_(x)
    if ord == 1:
        return sum_(size, **options)
    if math.isinf(ord):
        return (max_ if ord > 0 else min_)(size, **options)
    none = size == 0
    powers = where(none, 0.0 if ord > 0 else math.inf, where(none, 1.0, size) ** ord)
    if ord > 0:
        return _root(sum_(powers, **options), ord)
    # with a negative order one element that is zero makes the norm zero
    some = any_(none, **options)
    finite = sum_(where(none, 1.0, powers), **options)
    return where(some, 0.0, where(some, 1.0, finite) ** (1 / ord))


def _root(powers: Tensor, ord: float) -> Tensor:
    none = powers == 0
    safe = where(none, 1.0, powers)
    return where(none, 0.0, sqrt(safe) if ord == 2 else safe ** (1 / ord))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices: ``'fro'``, ``'nuc'``, or that of order 1, 2, inf, -1, -2, -inf."""
    x = floating(x)
    check_matrices(x.node, "matrix_norm")
    if ord is None or (isinstance(ord, str) and ord == "fro"):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, str) and ord == "nuc":
        result = sum_(svdvals(x), axis=-1)
    elif isinstance(ord, str) or ord not in (1, 2, math.inf, -1, -2, -math.inf):
        raise ValueError(f"ord must be 'fro', 'nuc', 1, 2, inf, -1, -2 or -inf in matrix_norm, got {ord!r}")
    else:
        extreme = max_ if ord > 0 else min_
        if ord in (2, -2):
            result = extreme(svdvals(x), axis=-1)
        else:
            added = -2 if ord in (1, -1) else -1
            result = extreme(sum_(abs_(x), axis=added), axis=-1)
    return expand_dims(result, (-2, -1)) if keepdims else result
