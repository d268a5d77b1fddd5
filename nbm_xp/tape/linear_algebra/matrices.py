"""What the chapters of linear algebra share: checks of shapes, adjoints, matrices made of a diagonal.

Papers on derivatives of matrix functions pair a cotangent with its conjugate: a loss changes by the real part of
``tr(adjoint(G) @ dX)``. Here the rules of gradients pair it as it stands (see `elementwise`), so that rules which
follow such a paper conjugate the cotangent when it comes and the gradient when it goes: `conj`, which does nothing to
real numbers.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.lengths import Size, same_length
from nbm_xp.tape.node import Node
from nbm_xp.tape.standard.choices import where
from nbm_xp.tape.standard.complex_numbers import conj
from nbm_xp.tape.standard.data_types import finfo
from nbm_xp.tape.standard.elementwise import abs as abs_
from nbm_xp.tape.standard.manipulation import expand_dims, matrix_transpose
from nbm_xp.tape.standard.sequences import arange
from nbm_xp.tape.standard.shapes import written
from nbm_xp.tape.standard.sums import sum as sum_
from nbm_xp.tape.tensor import Tensor

__all__ = [
    "adjoint", "by_columns", "check_matrices", "check_square", "diagonal_matrix", "diagonal_mask",
    "rounding", "skew", "square_infer",
]  # fmt: skip


def check_matrices(x: Node, name: str) -> None:
    """Raise for what is no matrix and no stack of matrices."""
    if len(x.shape) < 2:
        raise ValueError(f"{name} needs matrices, got shape {written(x.shape)}")


def check_square(x: Node, name: str) -> None:
    """Raise for what is not square."""
    if len(x.shape) < 2 or same_length(x.shape[-1], x.shape[-2]) is False:
        raise ValueError(f"{name} needs square matrices, got shape {written(x.shape)}")


def square_infer(name: str) -> Any:
    """The shape and dtype rule of a function of square matrices that gives matrices of the same shape."""

    def infer(x: Node, **attributes: Any) -> Any:
        check_square(x, name)
        return x.shape, x.dtype

    return infer


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    return conj(matrix_transpose(x))


def skew(x: Tensor) -> Tensor:
    """The matrix less its adjoint."""
    return x - adjoint(x)


def by_columns(x: Tensor, factors: Tensor) -> Tensor:
    """Each column of `x` times its factor."""
    return x * expand_dims(factors, -2)


def diagonal_mask(n: Size) -> Tensor:
    """Where a matrix of n rows has its diagonal."""
    places = arange(n)
    return expand_dims(places, 1) == expand_dims(places, 0)


def diagonal_matrix(values: Tensor) -> Tensor:
    """Matrices with these values on the diagonal, and zeros."""
    return where(diagonal_mask(values.node.shape[-1]), expand_dims(values, -1), 0.0)


def rounding(values: Tensor) -> Tensor:
    """The difference below which two of these singular or eigenvalues count as equal: several units in their sum."""
    total = sum_(abs_(values), axis=-1, keepdims=True)
    return total * (8 * finfo(values).eps)
