"""Cases of the products of arrays and of the extension `linalg`, but for the decompositions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, case, complex_values, plain, values, whole

__all__ = ["CASES", "adjoint", "hermitian", "positive", "regular"]

NUMERIC: dict[str, Any] = {"rtol": 1e-9}


def regular(*batch: int, n: int = 3, imaginary: bool = False) -> Any:
    """Matrices that are far from singular."""
    return (complex_values if imaginary else values)(*batch, n, n) * 0.4 + 2.0 * np.eye(n)


def positive(*batch: int, n: int = 3, imaginary: bool = False) -> Any:
    """Hermitian matrices with positive eigenvalues."""
    a = (complex_values if imaginary else values)(*batch, n, n)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(n)


def _products() -> list[Case]:
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((1, 2, 3), (5, 3, 2)), ((2, 1, 2, 3), (4, 3, 2)),
        ((1, 3), (3, 1)),
    ]  # fmt: skip
    cases = [plain("matmul", values(*a), values(*b, low=-1.0)) for a, b in shapes]
    x, y = values(2, 3, 4), values(4, 3, 5, low=-1.0)
    cases += [
        case("matmul", lambda xp, a, b: a @ b, values(2, 3), values(3, 2, low=-1.0), label="operator"),
        plain("matmul", values(2, 3, dtype="float32"), values(3, 2), label="mixed"),
        plain("matmul", whole(2, 3), whole(3, 2), label="integers"),
        plain("matmul", values(2, 0), values(0, 3), label="empty"),
        plain("matmul", complex_values(2, 3), complex_values(3, 2, low=-1.0)),
        plain("matmul", values(2, 3), complex_values(3, 2), label="mixed"),
        plain("matmul", complex_values(2, 3), values(3), label="mixed"),
        plain("tensordot", values(2, 3, 4), values(3, 4, 2, low=-1.0)),
        plain("tensordot", values(2, 3), values(3, 2, low=-1.0), axes=1),
        plain("tensordot", values(2), values(3, low=-1.0), axes=0), plain("tensordot", x, y, axes=((1, 2), (1, 0))),
        plain("tensordot", x, y, axes=((-1,), (0,))), plain("tensordot", complex_values(2, 3), values(3, 2), axes=1),
        plain("vecdot", values(2, 3), values(2, 3, low=-1.0)),
        plain("vecdot", values(2, 3), values(2, 1, low=-1.0), axis=0),
        plain("vecdot", values(4, 3), values(3, low=-1.0)), plain("vecdot", whole(2, 3), whole(3)),
        plain("vecdot", complex_values(2, 3), complex_values(3, low=-1.0)),
        plain("vecdot", complex_values(2, 3), values(2, 3)),
        plain("vecdot", values(2, 3), complex_values(2, 3), axis=-2),
        case("einsum", lambda xp, a, b: xp.einsum("ijk,lk->jil", a, b), values(2, 3, 4), values(5, 4, low=-1.0)),
        case("einsum", lambda xp, a: xp.einsum("ii...", a), values(3, 3, 2), label="diagonal", unknown=False),
        plain("linalg.outer", values(2), values(3, low=-1.0)),
        plain("linalg.outer", complex_values(2), complex_values(3, low=-1.0)),
        plain("linalg.matmul", values(2, 3), values(3, 2)), plain("linalg.matrix_transpose", values(2, 3)),
        plain("linalg.matrix_transpose", complex_values(4, 2, 3)),
        plain("linalg.tensordot", values(2, 3), values(2, 3), axes=2),
        plain("linalg.vecdot", values(2, 3), values(2, 3)), plain("linalg.cross", values(2, 3), values(2, 3, low=-1.0)),
        plain("linalg.cross", values(3, 2), values(3, 2, low=-1.0), axis=-2),
        plain("linalg.cross", values(4, 3), values(3, low=-1.0)),
        plain("linalg.cross", complex_values(2, 3), values(2, 3)),
    ]  # fmt: skip
    return cases


def _equations() -> list[Case]:
    cases = []
    for left, right in (
        (regular(), values(3)), (regular(), values(3, 2)), (regular(4), values(4, 3, 2)), (regular(), values(4, 3, 2)),
        (regular(4), values(3)), (regular(2), values(3, 2)), (values(0, 0), values(0, 2)), (values(0, 0), values(0)),
        (regular(imaginary=True), complex_values(3, 2)), (regular(2), complex_values(2, 3, 1)),
        (regular(2, imaginary=True), values(3)),
    ):  # fmt: skip
        cases.append(plain("linalg.solve", left, right, fields=NUMERIC))
    matrices = [regular(), regular(2), regular(2, imaginary=True), values(0, 0), values(0, 3, 3)]
    for a in matrices:
        cases += [plain(f"linalg.{name}", a, fields=NUMERIC) for name in ("inv", "det", "slogdet")]
        cases += [plain("linalg.matrix_power", a, n, fields=NUMERIC) for n in (0, 1, 3, -1, -2)]
    for b in (values(4, 3), values(3, 4), complex_values(2, 3, 2), complex_values(2, 3), values(0, 3), values(2, 0)):
        cases.append(plain("linalg.pinv", b, fields=NUMERIC))
    cases.append(plain("linalg.pinv", values(4, 3), rtol=0.1, fields=NUMERIC))
    cases.append(plain("linalg.matrix_power", whole(3, 3), 2, label="integers"))
    for upper in (False, True):
        for a in (positive(2), positive(2, imaginary=True), values(0, 0)):

            def factor(xp: Any, a: Any, upper: bool = upper) -> Any:
                return xp.linalg.cholesky(hermitian(xp, a), upper=upper)

            cases.append(case("linalg.cholesky", factor, a, label=f"upper={upper}", rtol=1e-9))
    return cases


def adjoint(xp: Any, a: Any) -> Any:
    """The conjugate transpose."""
    return xp.conj(xp.matrix_transpose(a))


def hermitian(xp: Any, a: Any) -> Any:
    """The Hermitian part."""
    return (a + adjoint(xp, a)) / 2


def _diagonals() -> list[Case]:
    cases = []
    for offset in (0, 1, -1, 3, -2):
        for name in ("linalg.diagonal", "linalg.trace"):
            cases.append(plain(name, values(2, 3, 4), offset=offset))
    for a in (complex_values(3, 3), values(0, 0), values(2, 0, 3), values(4, 2)):
        cases += [plain(name, a) for name in ("linalg.diagonal", "linalg.trace")]
    cases += [plain("linalg.trace", whole(3, 3), dtype="float64"), plain("linalg.trace", whole(3, 3))]
    return cases


def _norms() -> list[Case]:
    cases = []
    for order in (2, 1, 0, 3, 0.5, -1, -2, -0.5, math.inf, -math.inf):
        for a in (values(2, 4), complex_values(2, 4)):
            cases.append(plain("linalg.vector_norm", a, ord=order, axis=-1))
    cases += [
        plain("linalg.vector_norm", values(2, 3), keepdims=True),
        plain("linalg.vector_norm", values(2, 3), axis=(0, 1)),
        plain("linalg.vector_norm", values(2, 3, 4), ord=3, axis=(0, 2), keepdims=True),
        plain("linalg.vector_norm", values(2, 3, 4)),
        plain("linalg.vector_norm", values()),
        plain("linalg.vector_norm", values(2, 0), axis=-1),
        plain("linalg.vector_norm", complex_values(3, dtype="complex64"), fields={"rtol": 1e-6}),
    ]
    for order in ("fro", "nuc", 1, 2, -1, -2, math.inf, -math.inf):
        for a in (values(3, 4), values(2, 4, 3), complex_values(2, 3, 3)):
            cases.append(plain("linalg.matrix_norm", a, ord=order, fields=NUMERIC))
        cases.append(plain("linalg.matrix_norm", values(2, 3, 3), ord=order, keepdims=True, fields=NUMERIC))
    cases.append(plain("linalg.matrix_norm", values(0, 0), fields=NUMERIC))
    return cases


CASES: list[Case] = [*_products(), *_equations(), *_diagonals(), *_norms()]
