"""Cases of indexing, `take` and `take_along_axis`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, case, plain, values

__all__ = ["CASES", "KEYS"]

CUBE = values(4, 3, 5)
NEW, DOTS = None, Ellipsis
KEYS: list[Any] = [
    0, -1, slice(None), slice(1, 3), slice(1, None), slice(None, -1), slice(-2, None), slice(None, 2), slice(0, 9),
    slice(None, None, 2), slice(1, None, 2), slice(3, 1), slice(7, None), slice(-9, None), slice(None, -9),
    slice(-3, -1), slice(None, None, -1), slice(3, 0, -1), slice(None, 1, -2), slice(-2, None, -1), slice(2, None, -1),
    NEW, DOTS, (), (0, 1), (DOTS, 0), (0, DOTS), (DOTS, slice(1, 3)), (slice(None), 1), (slice(None), slice(0, 2)),
    (1, slice(None, None, -2), slice(1, 4)), (NEW, 0), (DOTS, NEW), (slice(None), NEW, 1), (NEW, DOTS, NEW, -1),
    (2, 1, 3),
]  # fmt: skip


def _basic() -> list[Case]:
    return [case("getitem", lambda xp, x, k=key: x[k], CUBE, label=_written(key)) for key in KEYS]


def _written(key: Any) -> str:
    if isinstance(key, tuple):
        return f"({','.join(map(_written, key))})"
    if isinstance(key, slice):
        return ":".join("" if part is None else str(part) for part in (key.start, key.stop, key.step))
    return "…" if key is Ellipsis else str(key)


def _by_arrays() -> list[Case]:
    row = np.asarray([2, 0, 2, -1])
    table = np.asarray([[0, 1], [2, 2]])
    column = np.asarray([1, 0, 1, 2])
    return [
        case("getitem", lambda xp, x, i: x[i], CUBE, row, label="array"),
        case("getitem", lambda xp, x, i: x[i, ...], CUBE, row, label="array,…"),
        case("getitem", lambda xp, x, i: x[:, i], CUBE, column, label=":,array"),
        case("getitem", lambda xp, x, i: x[..., i], CUBE, row, label="…,array"),
        case("getitem", lambda xp, x, i: x[1:, i], CUBE, column, label="1:,array"),
        case("getitem", lambda xp, x, i: x[i], CUBE, table, label="2-d array"),
        case("getitem", lambda xp, x, i: x[:, i], CUBE, table, label=":,2-d array"),
        case("getitem", lambda xp, x, i: x[i], CUBE, np.asarray(2), label="0-d array"),
        case("getitem", lambda xp, x, i, j: x[i, j], CUBE, row, column, label="two arrays"),
        case("getitem", lambda xp, x, i, j: x[i, j, 1:3], CUBE, row, column, label="two arrays, slice"),
        case("getitem", lambda xp, x, i: x[0, i], CUBE, column, label="0,array"),
        case("getitem", lambda xp, x, i: x[i, :, 0], CUBE, row, label="array,:,0"),
        case("getitem", lambda xp, x, i: x[0, :, i], CUBE, row, label="0,:,array"),
        case("getitem", lambda xp, x, i: x[i], CUBE, np.asarray([], dtype=np.int64), label="empty array"),
        *(plain("take", CUBE, np.asarray([2, 0, 2]), axis=axis) for axis in (0, -1)),
        plain("take", values(5), np.asarray([1, 1, 4])),
        plain("take_along_axis", values(2, 3), np.asarray([[0, 0, 2, 1], [2, 1, 1, 0]]), axis=-1),
        plain("take_along_axis", values(3, 2), np.asarray([[2, 0]]), axis=0),
    ]


MASK = CUBE > 0.4


def _by_masks() -> list[Case]:
    """Masks are held by the call: a mask that is an input has no length to give."""
    masks = {
        "whole": MASK, "leading": MASK[..., 0], "one axis": MASK[:, 0, 0], "none": MASK & False, "all": MASK | True,
        "(:,mask)": (slice(None), MASK[0, :, 0]), "(…,mask)": (DOTS, MASK[0, 0]), "(mask,0)": (MASK[:, :, 0], 0),
        "(mask,:,array)": (MASK[:, 0, 0], slice(None), np.asarray([1])), "(None,mask)": (NEW, MASK),
    }  # fmt: skip
    cases = [case("getitem", lambda xp, x, k=key: x[on(xp, k)], CUBE, label=label) for label, key in masks.items()]
    masks = {f"{m!r} of no axes": m for m in (True, False, np.asarray(True), np.asarray(False))}
    return cases + [case("getitem", lambda xp, x, m=m: x[on(xp, m)], values(), label=k) for k, m in masks.items()]


def on(xp: Any, key: Any) -> Any:
    """The index with its arrays in the namespace."""
    if isinstance(key, tuple):
        return tuple(on(xp, item) for item in key)
    return xp.asarray(key) if isinstance(key, np.ndarray) else key


def _edges() -> list[Case]:
    single, none = values(1, 3), values(0, 3)
    rows = np.asarray([[1], [0]])
    return [
        case("getitem", lambda xp, x: x[0, -1], single, label="of length 1"),
        case("getitem", lambda xp, x: x[:, None, 1:], none, label="of no elements"),
        case("getitem", lambda xp, x: x[()], values(), label="of no axes"),
        case("getitem", lambda xp, x: x[...], values(), label="… of no axes"),
        case("getitem", lambda xp, x: x[None, ...], values(), label="(None,…) of no axes"),
        plain("take", values(4, 2), np.asarray([], dtype="int64"), axis=0),
        plain("take", values(4, 2), np.asarray([3, -1]), axis=-2),
        plain("take_along_axis", values(1, 3), rows, axis=1),
        plain("take_along_axis", values(2, 3), rows - 1),
        plain("take_along_axis", values(3, 2, 1), np.asarray([[[1, 0, 1]]]), axis=0),
    ]


CASES: list[Case] = [*_basic(), *_by_arrays(), *_by_masks(), *_edges()]
