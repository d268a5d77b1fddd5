"""Cases of the searching and sorting functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.helpers.tables.case import Case, case, plain, values, whole

__all__ = ["CASES"]

SORTED = np.sort(values(5))
MATRIX, TIES = values(3, 4), np.asarray([[2.0, 5.0, 5.0, 1.0], [0.0, 0.0, -1.0, -1.0]])


def _looked_at(one: Case) -> Case:
    """A case whose arguments are looked at while recording: none of them can be an input."""
    return replace(one, unknown=False, order=0)


CASES: list[Case] = [
    *(
        plain(name, x, axis=axis, keepdims=keep, label=f"{what},axis={axis},keepdims={keep}")
        for name in ("argmax", "argmin")
        for what, x in (("distinct", MATRIX), ("ties", TIES))
        for axis in (None, 0, -1)
        for keep in (False, True)
    ),
    plain("argmax", whole(2, 3), axis=1),
    *(plain(name, MATRIX, axis=axis, descending=down)
      for name in ("sort", "argsort") for axis in (0, -1) for down in (False, True)),
    plain("sort", TIES, label="ties", fields={"order": 0}), plain("argsort", TIES, label="ties"),
    plain("sort", whole(2, 5)),
    *(plain("searchsorted", SORTED, v, side=side)
      for side in ("left", "right") for v in (values(3, low=-2.5, high=2.5), np.sort(values(5))[1:3])),
    *(
        plain(name, x, axis=axis, descending=down, label=f"{what},axis={axis},descending={down}", fields={"order": 0})
        for name in ("sort", "argsort")
        for what, x, axis in (
            ("equal ones", TIES, 1), ("of length 1", values(1, 2), 0), ("of no elements", values(0, 2), 0),
            ("float32", values(5, dtype="float32"), -1), ("uint8", whole(6, low=0, dtype="uint8"), 0),
        )
        for down in (False, True)
    ),
    plain("argmax", values(1, 3), axis=0, label="of length 1"), plain("argmin", values(), label="of no axes"),
    case("searchsorted", lambda xp, a, v, o: xp.searchsorted(a, v, sorter=o), values(5), values(3, low=-2.5, high=2.5),
         np.argsort(values(5)), label="sorter"),
    plain("searchsorted", SORTED, 0.3, fields={"reference": lambda xp, a: xp.asarray(xp.searchsorted(a, 0.3))}),
    plain("searchsorted", SORTED, values(2, 3, low=-2.5)),
    plain("searchsorted", SORTED, values(low=0.2),
          fields={"reference": lambda xp, a, v: xp.asarray(xp.searchsorted(a, v))}),
    plain("searchsorted", values(0), values(2)), plain("searchsorted", np.sort(whole(5)), values(3)),
    *(_looked_at(plain("nonzero", x)) for x in (whole(3, 4), values(2, 3) > 0, values(4) * 0, values(0, 2))),
]  # fmt: skip
