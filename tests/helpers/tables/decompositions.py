"""Cases of the decompositions of `linalg`, by what is unique in them: no signs or phases, no order of eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, attribute, case, complex_values, plain, values
from tests.helpers.tables.linalg import adjoint, hermitian, positive, regular

__all__ = ["CASES"]

NUMERIC: dict[str, Any] = {"rtol": 1e-8}
SQUARE_TALL_WIDE = (values(3, 3), values(2, 4, 3), values(2, 3), complex_values(4, 3), complex_values(2, 2, 3))


def _of_svd(xp: Any, factors: Any) -> Any:
    """Singular values, and the factors multiplied with other weights; of full factors, what they span beyond."""
    u, s, vh = factors.U, factors.S, factors.Vh
    k = s.shape[-1]
    weights = xp.cumulative_sum(xp.ones_like(s), axis=-1)
    middle = xp.matmul(u[..., :k] * xp.expand_dims(weights, axis=-2), vh[..., :k, :])
    beyond, across = u[..., k:], vh[..., k:, :]
    return s, middle, xp.matmul(beyond, adjoint(xp, beyond)), xp.matmul(adjoint(xp, across), across)


def _of_reduced_svd(xp: Any, factors: Any) -> Any:
    return _of_svd(xp, factors)[:2]


def _of_qr(xp: Any, factors: Any) -> Any:
    """The factors with a positive diagonal of R."""
    q, r = factors.Q, factors.R
    signs = xp.sign(xp.linalg.diagonal(r))
    return q * xp.expand_dims(signs, axis=-2), r * xp.expand_dims(xp.conj(signs), axis=-1)


def _of_complete_qr(xp: Any, factors: Any) -> Any:
    return xp.matmul(factors.Q, adjoint(xp, factors.Q)), xp.abs(factors.R)


def _of_eigh(xp: Any, pair: Any) -> Any:
    values_, vectors = pair.eigenvalues, pair.eigenvectors
    return values_, vectors * xp.conj(vectors[..., :1, :])


def _of_eig(xp: Any, pair: Any) -> Any:
    """Sums over the eigenvectors, weighed by a function of their eigenvalues."""
    weights = xp.expand_dims(pair.eigenvalues**2, axis=-2)
    size = xp.abs(pair.eigenvectors)
    return xp.sum(weights, axis=-1), xp.sum(weights * (size * size), axis=-1)


def _of(function: str, made: Any, a: Any, prepared: Any = None, **fields: Any) -> Case:
    """A case of what is unique in the results for a matrix, or for one made of it."""
    keywords = fields.pop("keywords", {})

    def computed(xp: Any, a: Any) -> Any:
        return made(xp, attribute(xp, function)(a if prepared is None else prepared(xp, a), **keywords))

    return case(function, computed, a, **{"rtol": 1e-8} | fields)


def _all(xp: Any, results: Any) -> Any:
    return tuple(results)


def _singular() -> list[Case]:
    cases = []
    for a in SQUARE_TALL_WIDE:
        cases += [
            plain("linalg.svdvals", a, fields=NUMERIC),
            _of("linalg.svd", _of_reduced_svd, a, label="reduced", keywords={"full_matrices": False}),
            _of("linalg.svd", _of_svd, a, label="full"),
        ]
    for shape in ((0, 0), (0, 3), (3, 0), (0, 3, 2)):
        cases.append(plain("linalg.svdvals", values(*shape)))
        cases.append(_of("linalg.svd", _all, values(*shape), label="empty", keywords={"full_matrices": False}))
    flat = np.ones((2, 3, 3)) * values(3)
    for a in (values(4, 3), flat, complex_values(2, 3, 2)):
        cases.append(plain("linalg.matrix_rank", a))
    for a in (values(0, 0), values(2, 0, 3)):  # of which array libraries make an error
        cases.append(
            plain("linalg.matrix_rank", a, fields={"reference": lambda xp, a: xp.zeros(a.shape[:-2], dtype=xp.int64)})
        )
    cases.append(plain("linalg.matrix_rank", values(3, 3), rtol=0.3))
    cases.append(
        case("linalg.matrix_rank", lambda xp, a, r: xp.linalg.matrix_rank(a, rtol=r), values(2, 3, 3), np.ones(2) * 0.3)
    )
    return cases


def _orthogonal() -> list[Case]:
    cases = []
    complete: dict[str, Any] = {"label": "complete", "keywords": {"mode": "complete"}}
    for a in SQUARE_TALL_WIDE:
        cases.append(_of("linalg.qr", _of_qr, a))
    for shape in ((3, 3), (2, 2, 3)):  # as many columns as rows, or more: the same as reduced, gradient and all
        cases.append(_of("linalg.qr", _of_qr, values(*shape), unknown=False, **complete))
    cases.append(_of("linalg.qr", _of_complete_qr, values(4, 2), order=0, **complete))
    for shape in ((0, 0), (3, 0), (0, 3), (0, 3, 2)):
        cases.append(_of("linalg.qr", _all, values(*shape), label="empty"))
    return cases


def _eigen() -> list[Case]:
    cases = []
    for a in (positive(), positive(2), positive(imaginary=True), positive(2, imaginary=True)):
        cases.append(_of("linalg.eigvalsh", lambda xp, found: found, a, hermitian))
        cases.append(_of("linalg.eigh", _of_eigh, a, hermitian))
    turning = np.asarray([[1.0, 2.0, 0.3], [-1.5, 1.2, 0.4], [0.1, 0.6, 3.0]])  # real, with complex eigenvalues
    for a in (regular(), regular(2), turning, regular(2, imaginary=True)):
        cases.append(_of("linalg.eigvals", lambda xp, found: xp.sum(found**3, axis=-1), a))
        cases.append(_of("linalg.eig", _of_eig, a))
    for shape in ((0, 0), (0, 2, 2)):
        cases += [_of(f"linalg.{name}", _all, values(*shape), label="empty") for name in ("eigh", "eig")]
        cases += [plain(f"linalg.{name}", values(*shape), label="empty") for name in ("eigvalsh", "eigvals")]
    return cases


CASES: list[Case] = [*_singular(), *_orthogonal(), *_eigen()]
