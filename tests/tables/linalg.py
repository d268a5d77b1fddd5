"""Cases of the products of arrays and of the extension `linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tables.case import Case, case, plain, values, whole

__all__ = ["CASES"]


def _regular(*batch: int, n: int = 3) -> Any:
    """Matrices that are far from singular."""
    return values(*batch, n, n) * 0.4 + 2.0 * np.eye(n)


def _positive(*batch: int, n: int = 3) -> Any:
    """Symmetric matrices with positive eigenvalues."""
    a = values(*batch, n, n)
    return a @ np.swapaxes(a, -1, -2) + np.eye(n)


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
        plain("tensordot", values(2, 3, 4), values(3, 4, 2, low=-1.0)),
        plain("tensordot", values(2, 3), values(3, 2, low=-1.0), axes=1),
        plain("tensordot", values(2), values(3, low=-1.0), axes=0),
        plain("tensordot", x, y, axes=((1, 2), (1, 0))),
        plain("tensordot", x, y, axes=((-1,), (0,))),
        plain("vecdot", values(2, 3), values(2, 3, low=-1.0)),
        plain("vecdot", values(2, 3), values(2, 1, low=-1.0), axis=0),
        plain("vecdot", values(4, 3), values(3, low=-1.0)),
        plain("linalg.outer", values(2), values(3, low=-1.0)),
        plain("linalg.matmul", values(2, 3), values(3, 2)),
        plain("linalg.matrix_transpose", values(2, 3)),
        plain("linalg.tensordot", values(2, 3), values(2, 3), axes=2),
        plain("linalg.vecdot", values(2, 3), values(2, 3)),
        plain("linalg.cross", values(2, 3), values(2, 3, low=-1.0)),
        plain("linalg.cross", values(3, 2), values(3, 2, low=-1.0), axis=0),
    ]
    return cases


def _matrices() -> list[Case]:
    numeric = {"rtol": 1e-9}
    flat: dict[str, Any] = {**numeric, "order": 1}
    symmetric = _positive(2)
    cases = [
        plain("linalg.solve", _regular(), values(3), fields=numeric),
        plain("linalg.solve", _regular(), values(3, 2), fields=numeric),
        plain("linalg.solve", _regular(4), values(4, 3, 2), fields=numeric),
        plain("linalg.solve", _regular(), values(4, 3, 2), fields=numeric),
        plain("linalg.inv", _regular(), fields=numeric),
        plain("linalg.inv", _regular(2), fields=numeric),
        plain("linalg.svdvals", values(3, 3), fields=flat),
        plain("linalg.svdvals", values(2, 4, 3), fields=flat),
    ]
    for upper in (False, True):
        cases.append(
            case(
                "linalg.cholesky",
                lambda xp, a, u=upper: xp.linalg.cholesky((a + xp.matrix_transpose(a)) / 2, upper=u),
                symmetric,
                label=f"upper={upper}",
                rtol=1e-9,
            )
        )
    for full in (False, True):
        cases.append(
            case(
                "linalg.svd",
                lambda xp, a, f=full: _magnitudes(xp, *xp.linalg.svd(a, full_matrices=f)),
                values(2, 4, 3),
                label=f"full_matrices={full}",
                rtol=1e-9,
                order=0,
            )
        )
    for offset in (0, 1, -1):
        cases += [plain(name, values(2, 3, 4), offset=offset) for name in ("linalg.diagonal", "linalg.trace")]
    return cases


def _magnitudes(xp: Any, u: Any, s: Any, vh: Any) -> Any:
    """What is unique in a decomposition: factors but for their signs, and the null space not at all."""
    return s, xp.abs(u[..., :3]), xp.abs(vh[..., :3, :])


def _norms() -> list[Case]:
    cases = []
    for order in (2, 1, 0, 3, 0.5, float("inf"), float("-inf")):
        cases.append(plain("linalg.vector_norm", values(2, 4), ord=order, axis=-1))
    cases += [
        plain("linalg.vector_norm", values(2, 3), keepdims=True),
        plain("linalg.vector_norm", values(2, 3), axis=(0, 1)),
    ]
    return cases


CASES: list[Case] = [*_products(), *_matrices(), *_norms()]
