"""Linear equations: `solve`, inverses, `cholesky`, powers of matrices."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.lengths import same_length
from nbm_xp.tape.node import Memory, Node
from nbm_xp.tape.operators import is_number
from nbm_xp.tape.registry import declare
from nbm_xp.tape.standard.complex_numbers import conj
from nbm_xp.tape.standard.creation import eye, tril
from nbm_xp.tape.standard.declaring import of_matrices
from nbm_xp.tape.standard.manipulation import expand_dims, matrix_transpose
from nbm_xp.tape.standard.products import matmul
from nbm_xp.tape.standard.promotion import floating, real_of, together
from nbm_xp.tape.standard.shapes import broadcast, written
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .matrices import adjoint, check_matrices, check_square, square_infer

__all__ = ["cholesky", "inv", "matrix_power", "pinv", "solve"]


def _infer_solve(a: Node, b: Node) -> Any:
    check_square(a, "solve")
    if not b.shape:
        raise ValueError("solve needs a vector or matrices on the right, got shape ()")
    rows = b.shape[0] if len(b.shape) == 1 else b.shape[-2]
    if same_length(a.shape[-1], rows) is False:
        shapes = f"{written(a.shape)} and {written(b.shape)}"
        raise ValueError(f"solve needs as many rows in both arrays, got shapes {shapes}")
    batch = a.shape[:-2] if len(b.shape) == 1 else broadcast(a.shape[:-2], b.shape[:-2])
    return (*batch, *(b.shape if len(b.shape) == 1 else b.shape[-2:])), b.dtype


def _solve_left(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Tensor:
    gb = _solve_right(g, out, a, b)
    if b.ndim == 1:
        return -expand_dims(gb, -1) * expand_dims(out, -2)
    return -matmul(gb, matrix_transpose(out))


def _solve_right(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Tensor:
    back = matrix_transpose(a)
    if b.ndim == 1 and a.ndim > 2:  # one vector for a stack of matrices: its cotangents are many vectors
        return solve(back, expand_dims(g, -1))[..., 0]
    return solve(back, g)


_SOLVE = declare("linalg.solve", _infer_solve, (_solve_left, _solve_right), memory=Memory.OWN)


def solve(x1: Any, x2: Any, /) -> Tensor:
    """The solution of linear equations; `x2` is one vector if it has one axis, else matrices."""
    x1, x2 = together(floating(x1), floating(x2))
    return record(_SOLVE, x1, x2)


def _inv_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    back = matrix_transpose(out)
    return -matmul(matmul(back, g), back)


_INV = of_matrices("linalg.inv", square_infer("inv"), (_inv_rule,))


def inv(x: Any, /) -> Tensor:
    """The inverse of square matrices."""
    return record(_INV, floating(x))


def _infer_pinv(x: Node, rtol: Any) -> Any:
    check_matrices(x, "pinv")
    return (*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype


def _pinv_rule(g: Tensor, out: Tensor, x: Tensor, rtol: Any) -> Tensor:
    """Golub and Pereyra (1973), "The differentiation of pseudo-inverses", for matrices whose rank does not change."""
    g, inverse = conj(g), adjoint(out)
    g_adjoint = adjoint(g)
    wide, tall = matmul(g_adjoint, matmul(out, inverse)), matmul(matmul(inverse, out), g_adjoint)
    result = wide - matmul(x, matmul(out, wide)) + tall - matmul(matmul(tall, out), x)
    return conj(result - matmul(matmul(inverse, g), inverse))


_PINV = of_matrices(
    "linalg.pinv",
    _infer_pinv,
    (_pinv_rule, None),
    run=lambda xp, x, rtol: xp.linalg.pinv(x) if rtol is None else xp.linalg.pinv(x, rtol=rtol),
)


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values of `rtol` times the largest, or less, count as zero."""
    return record(_PINV, floating(x), tolerance_argument(rtol, "pinv"))


def tolerance_argument(rtol: Any, name: str) -> Any:
    """A relative tolerance as a node keeps it: None, a number, or a real Tensor with one number for each matrix."""
    if rtol is None or is_number(rtol):
        return rtol
    tensor = floating(rtol)
    if tensor.dtype != real_of(tensor.dtype):
        raise TypeError(f"rtol must be real in {name}, got {tensor.dtype}")
    return tensor


def _cholesky_rule(g: Tensor, out: Tensor, x: Tensor, *, upper: bool) -> Tensor:
    """Murray (2016), "Differentiation of the Cholesky decomposition"; the gradient is Hermitian."""
    lower = adjoint(out) if upper else out
    g = matrix_transpose(g) if upper else conj(g)
    back = adjoint(lower)
    inner = tril(matmul(back, g))
    inner = inner * (1 - 0.5 * eye(lower.node.shape[-1], dtype=g.dtype))
    half = solve(back, adjoint(solve(back, adjoint(inner))))
    return conj((half + adjoint(half)) * 0.5)


_CHOLESKY = of_matrices("linalg.cholesky", square_infer("cholesky"), (_cholesky_rule,))


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of Hermitian positive definite matrices."""
    return record(_CHOLESKY, floating(x), upper=upper)


def _run_identity(xp: Any, x: Any) -> Any:
    return xp.tril(xp.triu(xp.ones_like(x)))  # of the array, so that it lies where the array does


_IDENTITY = of_matrices("identity_like", square_infer("matrix_power"), (None,), run=_run_identity)


def matrix_power(x: Any, n: int, /) -> Tensor:
    """A whole power of square matrices, by repeated squaring; a negative one of the inverse."""
    x = as_tensor(x)
    check_square(x.node, "matrix_power")
    power = n.__index__()
    if power == 0:
        return record(_IDENTITY, x)
    if power < 0:
        x, power = inv(x), -power
    result: Tensor | None = None
    while power:
        if power % 2:
            result = x if result is None else matmul(result, x)
        power //= 2
        if power:
            x = matmul(x, x)
    return as_tensor(result)
