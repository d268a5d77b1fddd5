"""Cases of the manipulation functions and the dtype casts."""

from __future__ import annotations

import numpy as np

from tests.helpers.tables.case import Case, case, plain, values, whole

__all__ = ["CASES"]

MATRIX, CUBE, VECTOR = values(2, 3), values(2, 3, 4), values(4)


def _shapes() -> list[Case]:
    nothing, single, number = values(0, 2), values(1, 3, 1), values()
    return [
        *(plain("reshape", CUBE, shape) for shape in ((6, 4), (-1,), (2, -1), (4, -1, 3), (1, 24, 1))),
        case("reshape", lambda xp, x: xp.reshape(x, (x.shape[0], -1)), CUBE, label="by its own length"),
        case("reshape", lambda xp, x: xp.reshape(x, (x.shape[2] * 2, x.shape[1])), CUBE, label="by a product"),
        plain("reshape", values(1), ()), plain("reshape", nothing, (3, 0)), plain("reshape", number, (1, 1)),
        plain("reshape", MATRIX, (3, 2), copy=True),
        *(plain("expand_dims", MATRIX, axis=axis) for axis in (0, -1, 1, (0, 2), (-1, 1), -3)),
        plain("expand_dims", number, axis=0), *(plain("squeeze", single, axis=axis) for axis in (0, (0, -1))),
        plain("squeeze", values(1, 1), axis=(-2, -1)), plain("squeeze", values(1, 3), axis=()),
        plain("permute_dims", nothing, (1, 0)), plain("permute_dims", number, ()),
        *(plain("permute_dims", CUBE, axes) for axes in ((2, 0, 1), (-1, 1, 0))),
        case("permute_dims", lambda xp, x: x.T, MATRIX, label="T"),
        *(plain("matrix_transpose", x) for x in (CUBE, nothing)),
        case("matrix_transpose", lambda xp, x: x.mT, CUBE, label="mT"),
        *(plain("moveaxis", CUBE, *way) for way in ((-1, -2), (0, -1), ((0, 1), (2, 0)), ((2, 0), (0, 1)))),
        plain("broadcast_to", MATRIX, (4, 2, 3)),
        plain("broadcast_to", values(2, 1), (2, 3), fields={"unknown": False}), plain("broadcast_to", number, (2, 3)),
        plain("broadcast_arrays", values(0, 1), values(1, 3)),
        plain("broadcast_arrays", MATRIX, values(3, low=0.1), values(low=0.2)),
        plain("broadcast_arrays", values(2, 1), values(1, 3)),
    ]  # fmt: skip


def _joins() -> list[Case]:
    a, b, c, number = values(2, 3), values(1, 3, low=0.1), values(2, 3, low=-1.1), values()
    mixed = values(2, 3, dtype="float32")
    return [
        *(plain("concat", [a, other], axis=0) for other in (b, c)), plain("concat", [a, c, a], axis=-1),
        plain("concat", [a, c], axis=None), plain("concat", [a]), plain("concat", [values(2, 0), a], axis=1),
        plain("concat", [number, a], axis=None), *(plain("stack", [a, c], axis=axis) for axis in (0, 1)),
        plain("stack", [a, c, a], axis=-1), plain("stack", [number, number]),
        *(plain(name, [mixed, c], label="mixed") for name in ("concat", "stack")),
        *(plain("unstack", a, axis=axis, fields={"unknown": False}) for axis in (0, -1)),
        plain("unstack", values(1, 2), fields={"unknown": False}),
        *(plain("flip", x) for x in (number, values(0, 2), CUBE)),
        *(plain("flip", CUBE, axis=axis) for axis in (1, (0, -1))), plain("roll", CUBE, 1),
        *(
            plain("roll", CUBE, shift, axis=axis)
            for shift, axis in ((-2, 1), ((1, -1), (0, 2)), (5, -1), ((1, 1), 0), (-1, (0, 2)))
        ),
        plain("roll", values(1, 3), 2, axis=0), plain("roll", values(0, 3), 2),
        *(plain("tile", MATRIX, counts) for counts in ((2,), (2, 1), (2, 3), (2, 1, 2), (1, 1), (0, 1), ())),
        *(plain("repeat", MATRIX, count, axis=axis) for count, axis in ((2, None), (3, 0), (2, -1), (0, 1))),
        plain("repeat", values(0, 2), 2, axis=0), plain("repeat", number, 2),
        *(
            case(
                "repeat",
                lambda xp, x, c=tuple(counts), a=axis: xp.repeat(x, xp.asarray(np.asarray(c)), axis=a),
                x,
                label=f"{counts},axis={axis}",
            )
            for x, counts, axis in (
                (MATRIX, [2, 0], 0), (MATRIX, [1, 0, 3], -1), (VECTOR, [0, 1, 2, 1], None), (MATRIX, [0, 0], 0),
                (MATRIX, [2], 1), (values(1, 2), [3], 0),
            )
        ),
    ]  # fmt: skip


def _casts() -> list[Case]:
    cases = [
        case("astype", lambda xp, x, d=dtype: xp.astype(x, getattr(xp, d)), x, label=f"to {dtype}", rtol=1e-6, order=0)
        for x in (MATRIX, whole(2, 3), whole(2, 3) > 0)
        for dtype in ("float32", "float64", "int64", "bool", "uint8")
        if not (dtype == "uint8" and x.dtype.kind != "b")
    ]
    through = case(
        "astype", lambda xp, x: xp.astype(xp.astype(x, xp.int32), xp.float64), MATRIX, label="through int", order=0
    )
    return [*cases, through, case("astype", lambda xp, x: xp.astype(x, xp.float64) * x, MATRIX, label="the same")]


CASES: list[Case] = [*_shapes(), *_joins(), *_casts()]
