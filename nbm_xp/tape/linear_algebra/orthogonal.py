"""The QR decomposition.

Walter, Lehmann, Lamour (2012), "On evaluating higher-order derivatives of the QR decomposition of tall matrices with
full column rank in forward and reverse mode of algorithmic differentiation", and Seeger and others (2017),
"Auto-differentiating linear algebra", for complex matrices with the real diagonal of R that LAPACK gives. A wide matrix
is decomposed by its first columns, and the others are their multiples: ``R[:, k:] = adjoint(Q) @ x[:, k:]``.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from nbm_xp.tape.extreme_lengths import minimum_length
from nbm_xp.tape.lengths import same_length
from nbm_xp.tape.node import Node
from nbm_xp.tape.standard.complex_numbers import conj, real
from nbm_xp.tape.standard.creation import tril, zeros_like
from nbm_xp.tape.standard.declaring import of_matrices
from nbm_xp.tape.standard.joining import concat
from nbm_xp.tape.standard.products import matmul
from nbm_xp.tape.standard.promotion import floating
from nbm_xp.tape.tensor import Tensor, record_several

from .diagonals import diagonal
from .matrices import adjoint, check_matrices, diagonal_matrix
from .solving import solve

__all__ = ["QRResult", "qr"]


class QRResult(NamedTuple):
    """The factors of a matrix ``Q @ R``: orthonormal columns and an upper triangle."""

    Q: Tensor
    R: Tensor


def _infer_qr(x: Node, *, mode: str) -> Any:
    check_matrices(x, "qr")
    *batch, rows, columns = x.shape
    inner = rows if mode == "complete" else minimum_length((rows, columns))
    return [((*batch, rows, inner), x.dtype), ((*batch, inner, columns), x.dtype)]


def _qr_rule(g: dict[int, Tensor], out: Any, x: Tensor, *, mode: str) -> Tensor:
    rows, columns = x.node.shape[-2:]
    rank = minimum_length((rows, columns))
    if mode == "complete" and same_length(rows, rank) is not True:
        raise NotImplementedError(
            f"qr(mode='complete') of matrices with more rows than columns has no gradient, x has shape {x.shape}: "
            "the columns of Q beyond those of x are any that complete a basis; use mode='reduced'"
        )
    q, r = out[0], out[1]
    g_q, g_r = (conj(g[place]) if place in g else None for place in (0, 1))
    if same_length(columns, rank) is True:
        return conj(_tall_rule(q, r, g_q, g_r))
    rest: Tensor | None = None
    if g_r is not None:
        g_rest = g_r[..., rank:]
        rest = matmul(q, g_rest)
        across = matmul(x[..., rank:], adjoint(g_rest))
        g_q, g_r = across if g_q is None else g_q + across, g_r[..., :rank]
    first = _tall_rule(q, r[..., :rank], g_q, g_r)
    return conj(concat([first, zeros_like(x[..., rank:]) if rest is None else rest], axis=-1))


def _tall_rule(q: Tensor, r: Tensor, g_q: Tensor | None, g_r: Tensor | None) -> Tensor:
    """For a matrix with at least as many rows as columns."""
    inner: Tensor | None = None
    if g_r is not None:
        inner = matmul(r, adjoint(g_r))
    if g_q is not None:
        turning = matmul(adjoint(g_q), q)
        inner = -turning if inner is None else inner - turning
    assert inner is not None
    lower = tril(inner, k=-1)
    mirrored = lower + adjoint(lower) + diagonal_matrix(real(diagonal(inner)))
    total = matmul(q, mirrored)
    if g_q is not None:
        total = total + g_q
    return adjoint(solve(r, adjoint(total)))


_QR = of_matrices("linalg.qr", _infer_qr, (_qr_rule,))


def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The decomposition of matrices into orthonormal columns and an upper triangle; gradients need full rank."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', got {mode!r}")
    return QRResult(*record_several(_QR, floating(x), mode=mode))
