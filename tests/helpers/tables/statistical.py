"""Cases of the statistical and utility functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, plain, values, whole

__all__ = ["CASES"]

AXES: tuple[Any, ...] = (None, 0, -1, (0, 2), (0, 1, 2), ())


def _reductions() -> list[Case]:
    cube = values(2, 3, 2, low=0.3)
    cases = []
    for name in ("sum", "prod", "mean", "var", "std", "max", "min"):
        for axis in AXES:
            if axis == () and name not in ("sum", "prod"):
                continue
            cases += [plain(name, cube, axis=axis, keepdims=keepdims) for keepdims in (False, True)]
        cases.append(plain(name, values(), label="no axes") if name not in ("var", "std") else plain(name, values(5)))
    for name in ("var", "std"):
        cases += [plain(name, cube, axis=axis, correction=1.0) for axis in (None, 1)]
    for name in ("sum", "prod"):
        for dtype in ("int32", "uint8", "int64"):
            cases.append(plain(name, whole(2, 3, low=0, dtype=dtype)))
        cases.append(_to_dtype(name, values(2, 3, dtype="float32"), "float64"))
        cases.append(_to_dtype(name, whole(2, 3), "float64"))
    for name in ("max", "min"):
        cases.append(plain(name, whole(2, 3), axis=0))
    cases.append(plain("mean", whole(2, 3), axis=0))
    cases.append(plain("mean", values(2, 3, dtype="float32"), axis=0, fields={"rtol": 2e-6}))
    return cases


def _to_dtype(name: str, x: Any, dtype: str) -> Case:
    return plain(name, x, axis=0, dtype=dtype, fields={"rtol": 2e-6})


def _truth() -> list[Case]:
    truth = np.asarray([[True, False, True], [True, True, True]])
    cases = []
    for name in ("all", "any"):
        cases += [plain(name, truth, axis=axis, keepdims=keep) for axis in (None, 0, (0, 1)) for keep in (False, True)]
        cases.append(plain(name, whole(2, 3)))
    cases += [plain("count_nonzero", x, axis=axis) for x in (truth, whole(2, 3), values(2, 3)) for axis in (None, 1)]
    return cases


def _running() -> list[Case]:
    zeros = np.asarray([[2.0, 0.0, -1.5, 0.7], [0.0, 1.1, 0.0, 3.0]])
    cases = []
    for name in ("cumulative_sum", "cumulative_prod"):
        cases += [plain(name, values(4)), plain(name, values(2, 4), axis=0), plain(name, values(2, 4), axis=-1)]
        cases += [plain(name, values(2, 4), axis=1, include_initial=True)]
        cases += [plain(name, whole(2, 4), axis=1), _to_dtype(name, whole(2, 4), "float64")]
        cases += [plain(name, zeros, axis=axis, label=f"with zeros,axis={axis}") for axis in (0, 1)]
    cases += [plain("prod", zeros, axis=axis, label=f"with zeros,axis={axis}") for axis in (None, 0, 1)]
    cases += [plain("prod", np.asarray([0.0, 0.0, 2.0]), label="two zeros")]
    cases += [plain("diff", values(5)), plain("diff", values(3, 4), axis=0), plain("diff", values(3, 4), n=2)]
    cases += [plain("diff", whole(5))]
    return cases


def _edges() -> list[Case]:
    one, empty, scalar = values(1, 3), values(0, 3), values()
    cases = []
    for name in ("sum", "prod"):
        cases += [plain(name, empty, axis=axis, label=f"of no elements,axis={axis}") for axis in (None, 0, 1)]
        cases += [plain(name, x, label=str(x.dtype)) for x in (values(2, 3) > 0, whole(3, low=0, dtype="uint16"))]
        cases += [plain(name, values(3, dtype="float32"), fields={"rtol": 2e-6})]
    for name in ("sum", "prod", "mean", "max", "min"):
        cases += [plain(name, one, axis=0, label="of length 1"), plain(name, scalar, axis=(), label="no axes")]
        cases += [plain(name, values(2, 3), axis=(-1, 0), label="axes from the end")]
    for name in ("max", "min"):
        cases.append(plain(name, empty, axis=1, label="of no elements"))
        cases.append(plain(name, whole(4, dtype="uint8", low=0), label="uint8"))
    for name in ("var", "std"):
        cases += [plain(name, one, axis=0, label="of length 1", fields={"order": 0})]
        cases += [plain(name, values(2, 3), axis=(-1, 0), correction=0.5, keepdims=True)]
        cases += [plain(name, values(4, dtype="float32"), correction=1, fields={"rtol": 2e-6})]
    for name in ("all", "any"):
        cases += [plain(name, empty, axis=0, label="of no elements"), plain(name, scalar > 0, label="no axes")]
        cases += [plain(name, values(2, 3), axis=(), label="over no axis")]
    for name in ("cumulative_sum", "cumulative_prod"):
        cases += [plain(name, empty, axis=0, include_initial=True, label="of no elements")]
        cases += [plain(name, one, axis=-2, label="of length 1"), plain(name, values(3), include_initial=True)]
        cases.append(plain(name, whole(3, low=0, dtype="uint8")))
        cases.append(plain(name, values(3, dtype="float32"), fields={"rtol": 2e-6}))
    x, piece = values(3, 4), values(3, 2, low=-1.0)
    cases += [
        plain("diff", x, n=0, label="not at all"), plain("diff", values(1), label="of length 1"),
        # an axis found empty only at run time is sliced beyond its end, which array_api_strict rejects
        plain("diff", x, n=5, label="more often than can be", fields={"unknown": False}),
        Case("diff", lambda xp, a, b: xp.diff(a, prepend=b, append=b), (x, piece), label="prepend, append"),
        Case("diff", lambda xp, a, b: xp.diff(a, axis=0, append=b), (x, values(1, 4, low=-1.0)), label="append"),
        plain("count_nonzero", values(0, 2), axis=0, keepdims=True),
        plain("count_nonzero", whole(2, 3), axis=(0, 1), keepdims=True),
    ]  # fmt: skip
    return cases


CASES: list[Case] = [*_reductions(), *_truth(), *_running(), *_edges()]
