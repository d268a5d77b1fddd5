"""Cases of the set functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, attribute, case, plain, values, whole

__all__ = ["CASES"]

NAN, INF = float("nan"), float("inf")
ARRAYS: dict[str, Any] = {
    "integers": whole(3, 4), "floats": np.asarray([2.5, -1.0, 2.5, 0.0, -0.0]), "bool": values(2, 3) > 0,
    "NaN": np.asarray([NAN, 1.0, NAN, INF, 1.0]), "no elements": values(0, 2), "no axes": values(low=1.0),
    "distinct": values(2, 3),
}  # fmt: skip


def _unique() -> list[Case]:
    """Looked at while recording, so that no argument can be an input."""
    cases = [
        plain(f"unique_{what}", x, label=label, fields={"unknown": False, "order": 0})
        for what in ("all", "counts", "inverse", "values")
        for label, x in ARRAYS.items()
    ]
    for what in ("all", "counts", "inverse"):
        cases.append(
            case(
                f"unique_{what}",
                lambda xp, x, name=f"unique_{what}": attribute(xp, name)(x).values * 2,
                whole(5),
                label="by name",
                unknown=False,
                order=0,
            )
        )
    return cases


def _members() -> list[Case]:
    table, some = whole(3, 4), np.asarray([0, 2, 7], dtype="int32")
    return [
        plain("isin", table, some), plain("isin", table, some, invert=True),
        plain("isin", values(2, 3), values(2, 3)[0]), plain("isin", table, values(3), label="mixed"),
        plain("isin", table, np.asarray([], dtype="int32"), label="nothing"),
        plain("isin", whole(0, 2), some, label="of no elements"),
        case("isin", lambda xp, x: xp.isin(x, 2), table, label="x·2"),
        case(
            "isin", lambda xp, x: xp.isin(2, x), table, label="2·x", reference=lambda xp, x: xp.asarray(xp.isin(2, x))
        ),
    ]  # fmt: skip


CASES: list[Case] = [*_unique(), *_members()]
