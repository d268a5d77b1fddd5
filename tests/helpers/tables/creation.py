"""Cases of the creation functions; those without arrays take a length from one, so that they have something unknown."""

from __future__ import annotations

from tests.helpers.tables.case import Case, case, plain, values, whole

__all__ = ["CASES"]

MATRIX, SQUARE = values(2, 3), values(3, 3)

CASES: list[Case] = [
    case("zeros", lambda xp, x: xp.zeros(x.shape, dtype=xp.float64), MATRIX),
    case("zeros", lambda xp, x: xp.zeros(x.shape[1], dtype=xp.int32), MATRIX, label="one length"),
    case("ones", lambda xp, x: xp.ones((x.shape[1], 2), dtype=xp.float32), MATRIX),
    case("ones", lambda xp, x: xp.ones((), dtype=xp.bool), MATRIX, label="no axes"),
    case("empty", lambda xp, x: xp.zeros_like(xp.empty(x.shape, dtype=xp.float64)), MATRIX),
    case("empty_like", lambda xp, x: xp.zeros_like(xp.empty_like(x)), MATRIX),
    case("full", lambda xp, x: xp.full(x.shape, 2.5, dtype=xp.float64), MATRIX),
    case("full", lambda xp, x: xp.full((2,), 3, dtype=xp.int64), MATRIX, label="integer"),
    case("full", lambda xp, x: xp.full((2,), True), MATRIX, label="bool"),
    case("zeros_like", lambda xp, x: xp.zeros_like(x), MATRIX),
    case("zeros_like", lambda xp, x: xp.zeros_like(x, dtype=xp.int32), MATRIX, label="other dtype"),
    case("ones_like", lambda xp, x: xp.ones_like(x) * x, MATRIX),
    case("ones_like", lambda xp, x: xp.ones_like(x), whole(2, 3)),
    case("full_like", lambda xp, x: xp.full_like(x, 7.0), MATRIX),
    case("full_like", lambda xp, x: xp.full_like(x, 7, dtype=xp.int32), MATRIX, label="other dtype"),
    case("arange", lambda xp, x: xp.arange(x.shape[1]), MATRIX),
    case("arange", lambda xp, x: xp.arange(1, x.shape[1] + 3), MATRIX, label="from 1"),
    case("arange", lambda xp, x: xp.arange(0, x.shape[1] * 3, 2), MATRIX, label="step 2"),
    case("arange", lambda xp, x: xp.arange(x.shape[1], -1, -1), MATRIX, label="down"),
    case("arange", lambda xp, x: xp.arange(4, dtype=xp.float32), MATRIX, label="float32"),
    case("arange", lambda xp, x: xp.arange(0.0, 1.0, 0.25, dtype=xp.float64), MATRIX, label="floats"),
    case("arange", lambda xp, x: xp.arange(3, 1), MATRIX, label="none"),
    case("linspace", lambda xp, x: xp.linspace(0.0, 1.0, 5, dtype=xp.float64), MATRIX),
    case(
        "linspace", lambda xp, x: xp.linspace(0, 1, x.shape[1], dtype=xp.float64, endpoint=False), MATRIX, label="open"
    ),
    case("eye", lambda xp, x: xp.eye(x.shape[1], dtype=xp.float64), MATRIX),
    case("eye", lambda xp, x: xp.eye(x.shape[0], x.shape[1], k=1, dtype=xp.float32), MATRIX, label="k=1"),
    case("eye", lambda xp, x: xp.eye(3, 2, k=-1, dtype=xp.int64), MATRIX, label="k=-1"),
    *(plain(name, x, k=k) for name in ("tril", "triu") for x in (SQUARE, MATRIX, values(2, 3, 2)) for k in (0, 1, -1)),
    plain("meshgrid", values(2), values(3, low=0.1)),
    plain("meshgrid", values(2), values(3, low=0.1), values(4, low=0.2), indexing="ij"), plain("meshgrid", values(3)),
    case("asarray", lambda xp, x: xp.asarray(x), MATRIX),
    case("asarray", lambda xp, x: xp.asarray(x, dtype=xp.float32), MATRIX, label="other dtype", rtol=1e-6, order=0),
    case("asarray", lambda xp, x: xp.asarray(2.5, dtype=xp.float64) * x, MATRIX, label="number"),
    case("asarray", lambda xp, x: xp.asarray([[1, 2], [3, 4]], dtype=xp.int64), MATRIX, label="nested list"),
    case("asarray", lambda xp, x: xp.asarray(True), MATRIX, label="bool"),
    case("asarray", lambda xp, x: xp.asarray(x, copy=True) * x, MATRIX, label="a copy"),
    case("asarray", lambda xp, x: xp.asarray([True, False]), MATRIX, label="list of bool"),
    case("asarray", lambda xp, x: xp.asarray([[1, 2.5]], dtype=xp.float32), MATRIX, label="mixed list"),
    case("asarray", lambda xp, x: xp.asarray([], dtype=xp.float64), MATRIX, label="empty list"),
    case("from_dlpack", lambda xp, x: xp.from_dlpack(x) * 2.0, MATRIX),
    case("full", lambda xp, x: xp.full((0, 2), 1.0, dtype=xp.float64), MATRIX, label="of no elements"),
    case("arange", lambda xp, x: xp.arange(2, -7, -2), MATRIX, label="down by 2"),
    case("arange", lambda xp, x: xp.arange(1.5, 4.1, 0.5, dtype=xp.float64), MATRIX, label="floats from 1.5"),
    case("arange", lambda xp, x: xp.arange(0, 5, 2, dtype=xp.float64), MATRIX, label="integers to floats"),
    case("linspace", lambda xp, x: xp.linspace(2, -1, 4, dtype=xp.float64), MATRIX, label="down"),
    case("linspace", lambda xp, x: xp.linspace(0, 1, 1, dtype=xp.float64), MATRIX, label="one"),
    case("linspace", lambda xp, x: xp.linspace(0, 1, 0, dtype=xp.float64), MATRIX, label="none"),
    case("eye", lambda xp, x: xp.eye(2, 3, k=5, dtype=xp.float64), MATRIX, label="k=5"),
    case("eye", lambda xp, x: xp.eye(0, 3, dtype=xp.float64), MATRIX, label="of no elements"),
    case("meshgrid", lambda xp, x: xp.meshgrid(), MATRIX, label="none"), plain("tril", values(1, 1)),
    plain("triu", values(0, 3)),
]  # fmt: skip
