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


def _set(x: Any, key: Any, value: Any, label: str, **fields: Any) -> Case:
    """A case of a number, or of an array that is an argument, assigned at an index that is none."""
    if isinstance(value, np.ndarray):
        return case("setitem", lambda xp, a, v: assigned(xp, a, key, v), x, value, label=label, **fields)
    return case("setitem", lambda xp, a: assigned(xp, a, key, value), x, label=label, **fields)


def _cases() -> list[Case]:
    cases = []
    for label, key in KEYS.items():
        part = CUBE[key].shape
        cases += [
            _set(CUBE, key, 2.5, f"{label}=2.5"),
            _set(CUBE, key, values(low=0.1), f"{label}=scalar"),
            _set(CUBE, key, values(*part, low=-1.0), f"{label}=part", unknown=False),
        ]
    row = values(5, low=-1.0)
    cases += [_set(CUBE, key, row, f"{key}=row", unknown=False) for key in (slice(1, 3), ROW, (0, 1))]
    cases += [
        _set(values(), (), 1.5, "of no axes"), _set(values(0, 3), DOTS, 1.5, "of no elements"),
        _set(whole(3, 2), 0, 7, "integers"), _set(whole(3, 2) > 0, 0, True, "bool"),
        _set(values(3, 2, dtype="float32"), 0, 1, "float32"), _set(values(3, 2), 0, whole(2), "integers in floats"),
        case("setitem", lambda xp, x, m: assigned(xp, x, m, 0.5), CUBE, MASK, label="a mask that is an argument"),
        _set(
            values(3, 2),
            np.asarray([1, 1, 0, 1]),
            values(4, 2, low=-1.0),
            "a place named thrice",
            unknown=False,
            reference=lambda xp, x, v: assigned(xp, x, np.asarray([0, 1]), v[2:4]),
        ),
        case("setitem", lambda xp, x: _doubled(xp, x), CUBE, label="by itself"),
    ]  # fmt: skip
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
