"""Norms of vectors and matrices, with gradients that are finite everywhere: zero where there is a corner.

Values at which a norm has a corner are the zero vector, an element that is zero, a singular value that is zero; where
several elements, rows, columns or singular values are the largest (smallest) they share the gradient equally.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.tape.gradients import declare
from nbm_xp.tape.node import IDENTITY_TAG, Memory, Operation
from nbm_xp.tape.operators import FUNCTIONS
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .choices import where
from .complex_numbers import conj, imag, real
from .kinks import along
from .manipulation import expand_dims
from .matrices import check_matrices
from .promotion import cast, floating, is_complex
from .shapes import axes_of, kept_shape
from .singular import svdvals

__all__ = ["matrix_norm", "vector_norm"]


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The norm of vectors along axes, of any order, 0 and infinite ones included."""
    x = floating(x)
    options: dict[str, Any] = {"axis": axes_of(axis, x.ndim), "keepdims": keepdims}
    if ord == 2:
        squares = real(x) * real(x) + imag(x) * imag(x) if is_complex(x) else x * x
        return record(_NORM, _root(FUNCTIONS["sum"](squares, **options), 2), x, axis=options["axis"])
    if ord == 0:
        return FUNCTIONS["sum"](cast(as_tensor(x != 0), _size(x).dtype), **options)
    size = _size(x)
    if ord == 1:
        return FUNCTIONS["sum"](size, **options)
    if math.isinf(ord):
        return FUNCTIONS["max" if ord > 0 else "min"](size, **options)
    none = size == 0
    powers = where(none, 0.0 if ord > 0 else math.inf, where(none, 1.0, size) ** ord)
    if ord > 0:
        return _root(FUNCTIONS["sum"](powers, **options), ord)
    # with a negative order one element that is zero makes the norm zero
    some = FUNCTIONS["any"](none, **options)
    finite = FUNCTIONS["sum"](where(none, 1.0, powers), **options)
    return where(some, 0.0, where(some, 1.0, finite) ** (1 / ord))


def _norm_rule(g: Tensor, out: Tensor, root: Tensor, x: Tensor, *, axis: tuple[int, ...]) -> Tensor:
    shape = kept_shape(x.node.shape, axis)
    none = out == 0
    per = where(none, 0.0, g / where(none, 1.0, out))
    way = conj(x)
    return along(FUNCTIONS["reshape"](per, shape) * way, g, way, out, shape)


_NORM = declare(
    Operation(
        "norm",  # the root of a sum of squares, which has a slope of its own
        lambda root, x, *, axis: (root.shape, root.dtype),
        (None, _norm_rule),
        tags=frozenset({IDENTITY_TAG}),
        memory=Memory.FIRST,
    )
)


def _size(x: Tensor) -> Tensor:
    return FUNCTIONS["abs"](x)


def _root(powers: Tensor, ord: float) -> Tensor:
    none = powers == 0
    safe = where(none, 1.0, powers)
    return where(none, 0.0, FUNCTIONS["sqrt"](safe) if ord == 2 else safe ** (1 / ord))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices: ``'fro'``, ``'nuc'``, or that of order 1, 2, inf, -1, -2, -inf."""
    x = floating(x)
    check_matrices(x.node, "matrix_norm")
    if ord is None or (isinstance(ord, str) and ord == "fro"):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, str) and ord == "nuc":
        result = FUNCTIONS["sum"](svdvals(x), axis=-1)
    elif isinstance(ord, str) or ord not in (1, 2, math.inf, -1, -2, -math.inf):
        raise ValueError(f"ord must be 'fro', 'nuc', 1, 2, inf, -1, -2 or -inf in matrix_norm, got {ord!r}")
    else:
        extreme = FUNCTIONS["max" if ord > 0 else "min"]
        if ord in (2, -2):
            result = extreme(svdvals(x), axis=-1)
        else:
            added = -2 if ord in (1, -1) else -1
            result = extreme(FUNCTIONS["sum"](_size(x), axis=added), axis=-1)
    return expand_dims(result, (-2, -1)) if keepdims else result
