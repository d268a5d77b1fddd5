"""Cases of the searching and sorting functions."""

from __future__ import annotations

import numpy as np

from tests.tables.case import Case, case, plain, values, whole

__all__ = ["CASES"]

MATRIX, TIES = values(3, 4), np.asarray([[2.0, 5.0, 5.0, 1.0], [0.0, 0.0, -1.0, -1.0]])

CASES: list[Case] = [
    *(
        plain(name, x, axis=axis, keepdims=keep, label=f"{what},axis={axis},keepdims={keep}")
        for name in ("argmax", "argmin")
        for what, x in (("distinct", MATRIX), ("ties", TIES))
        for axis in (None, 0, -1)
        for keep in (False, True)
    ),
    plain("argmax", whole(2, 3), axis=1),
    *(
        plain(name, MATRIX, axis=axis, descending=down)
        for name in ("sort", "argsort")
        for axis in (0, -1)
        for down in (False, True)
    ),
    plain("sort", TIES, label="ties", fields={"order": 0}),
    plain("argsort", TIES, label="ties"),
    plain("sort", whole(2, 5)),
    *(
        case("searchsorted", lambda xp, a, v, s=side: xp.searchsorted(a, v, side=s), np.sort(values(5)), v, label=side)
        for side in ("left", "right")
        for v in (values(3, low=-2.5, high=2.5), np.sort(values(5))[1:3])
    ),
]
