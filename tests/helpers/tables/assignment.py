"""Cases of assignment to a part of an array: ``y[key] = value`` on a copy of the first argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, case, values, whole
from tests.helpers.tables.indexing import CUBE, DOTS, MASK, NEW, on

__all__ = ["CASES"]

ROW = np.asarray([2, 0, -1])
KEYS: dict[str, Any] = {
    "0": 0, "-1": -1, "1:3": slice(1, 3), ":": slice(None), "…": DOTS, "()": (), "::2": slice(None, None, 2),
    "::-1": slice(None, None, -1), "(:,1)": (slice(None), 1), "(…,0)": (DOTS, 0),
    "(…,::-2)": (DOTS, slice(None, None, -2)),
    "(2,1,3)": (2, 1, 3), "None": NEW, "(1:,None,0)": (slice(1, None), NEW, 0), "3:1": slice(3, 1),
    "array": ROW, "(:,array)": (slice(None), ROW), "(…,array)": (DOTS, ROW), "2-d array": np.asarray([[0, 1], [3, 2]]),
    "(array,array)": (ROW, np.asarray([0, 1, 2])), "(1,array)": (1, ROW), "(array,1:3)": (ROW, slice(1, 3)),
    "(array,:,array)": (ROW, slice(None), np.asarray([0, 4, 2])), "(array,::-1)": (ROW, slice(None, None, -1)),
    "empty array": np.asarray([], dtype="int64"),
    "mask": MASK, "leading mask": MASK[..., 0], "(:,mask)": (slice(None), MASK[0, :, 0]),
    "(mask,1)": (MASK[:, 0, 0], 1), "false": MASK & False,
}  # fmt: skip


def assigned(xp: Any, x: Any, key: Any, value: Any) -> Any:
    """A copy with a part replaced."""
    y = xp.asarray(x, copy=True)
    y[on(xp, key)] = value
    return y


def _cases() -> list[Case]:
    cases = []
    for label, key in KEYS.items():
        part = CUBE[key].shape
        cases += [
            case("setitem", lambda xp, x, k=key: assigned(xp, x, k, 2.5), CUBE, label=f"{label}=2.5"),
            case(
                "setitem", lambda xp, x, v, k=key: assigned(xp, x, k, v), CUBE, values(low=0.1), label=f"{label}=scalar"
            ),
            case(
                "setitem",
                lambda xp, x, v, k=key: assigned(xp, x, k, v),
                CUBE,
                values(*part, low=-1.0),
                label=f"{label}=part",
                unknown=False,
            ),
        ]
    row = values(5, low=-1.0)
    cases += [
        case("setitem", lambda xp, x, v: assigned(xp, x, slice(1, 3), v), CUBE, row, label="1:3=row", unknown=False),
        case("setitem", lambda xp, x, v: assigned(xp, x, ROW, v), CUBE, row, label="array=row", unknown=False),
        case("setitem", lambda xp, x, v: assigned(xp, x, (0, 1), v), CUBE, row, label="(0,1)=row", unknown=False),
        case("setitem", lambda xp, x: assigned(xp, x, (), 1.5), values(), label="of no axes"),
        case("setitem", lambda xp, x: assigned(xp, x, DOTS, 1.5), values(0, 3), label="of no elements"),
        case("setitem", lambda xp, x: assigned(xp, x, 0, 7), whole(3, 2), label="integers"),
        case("setitem", lambda xp, x: assigned(xp, x, 0, True), whole(3, 2) > 0, label="bool"),
        case("setitem", lambda xp, x: assigned(xp, x, 0, 1), values(3, 2, dtype="float32"), label="float32"),
        case("setitem", lambda xp, x, v: assigned(xp, x, 0, v), values(3, 2), whole(2), label="integers in floats"),
        case("setitem", lambda xp, x, m: assigned(xp, x, m, 0.5), CUBE, MASK, label="a mask that is an argument"),
        case(
            "setitem",
            lambda xp, x, v: assigned(xp, x, np.asarray([1, 1, 0, 1]), v),
            values(3, 2),
            values(4, 2, low=-1.0),
            label="a place named thrice",
            unknown=False,
            reference=lambda xp, x, v: assigned(xp, x, np.asarray([0, 1]), v[2:4]),
        ),
        case("setitem", lambda xp, x: _doubled(xp, x), CUBE, label="by itself"),
    ]
    return cases


def _doubled(xp: Any, x: Any) -> Any:
    """Parts of an array added to other parts of it, one after another, and in place."""
    y = xp.asarray(x, copy=True)
    y[0] = y[1] * y[2]
    y[1:3] = y[0] + x[1:3]
    y[..., 0] *= y[..., 1]
    y *= 2.0
    return y


CASES: list[Case] = _cases()
