"""Cases of the manipulation functions and the dtype casts."""

from __future__ import annotations

import numpy as np

from tests.helpers.tables.case import Case, case, plain, values, whole

__all__ = ["CASES"]

MATRIX, CUBE, VECTOR = values(2, 3), values(2, 3, 4), values(4)


def _shapes() -> list[Case]:
    cases = [
        case("reshape", lambda xp, x, s=shape: xp.reshape(x, s), CUBE, label=str(shape))
        for shape in ((6, 4), (-1,), (2, -1), (4, -1, 3), (1, 24, 1))
    ]
    cases += [
        case("reshape", lambda xp, x: xp.reshape(x, (x.shape[0], -1)), CUBE, label="by its own length"),
        case("reshape", lambda xp, x: xp.reshape(x, (x.shape[2] * 2, x.shape[1])), CUBE, label="by a product"),
        case("reshape", lambda xp, x: xp.reshape(x, ()), values(1), label="to no axes"),
        plain("expand_dims", MATRIX, axis=0),
        plain("expand_dims", MATRIX, axis=-1),
        plain("expand_dims", MATRIX, axis=1),
        plain("expand_dims", MATRIX, axis=(0, 2)),
        plain("expand_dims", MATRIX, axis=(-1, 1)),
        plain("expand_dims", MATRIX, axis=-3),
        plain("expand_dims", values(), axis=0, label="no axes"),
        plain("squeeze", values(1, 3, 1), axis=0),
        plain("squeeze", values(1, 1), axis=(-2, -1)),
        plain("squeeze", values(1, 3), axis=()),
        case("reshape", lambda xp, x: xp.reshape(x, (3, 0)), values(0, 2), label="of no elements"),
        case("reshape", lambda xp, x: xp.reshape(x, (1, 1)), values(), label="from no axes"),
        case("reshape", lambda xp, x: xp.reshape(x, (3, 2), copy=True), MATRIX, label="a copy"),
        case("permute_dims", lambda xp, x: xp.permute_dims(x, (1, 0)), values(0, 2), label="of no elements"),
        case("permute_dims", lambda xp, x: xp.permute_dims(x, ()), values(), label="of no axes"),
        case("moveaxis", lambda xp, x: xp.moveaxis(x, -1, -2), CUBE, label="from the end"),
        plain("broadcast_arrays", values(0, 1), values(1, 3)),
        plain("matrix_transpose", values(0, 2)),
        plain("squeeze", values(1, 3, 1), axis=(0, -1)),
        case("permute_dims", lambda xp, x: xp.permute_dims(x, (2, 0, 1)), CUBE),
        case("permute_dims", lambda xp, x: xp.permute_dims(x, (-1, 1, 0)), CUBE, label="negative"),
        case("permute_dims", lambda xp, x: x.T, MATRIX, label="T"),
        plain("matrix_transpose", CUBE),
        case("matrix_transpose", lambda xp, x: x.mT, CUBE, label="mT"),
        case("moveaxis", lambda xp, x: xp.moveaxis(x, 0, -1), CUBE),
        case("moveaxis", lambda xp, x: xp.moveaxis(x, (0, 1), (2, 0)), CUBE, label="two"),
        case("moveaxis", lambda xp, x: xp.moveaxis(x, (2, 0), (0, 1)), CUBE, label="two more"),
        case("broadcast_to", lambda xp, x: xp.broadcast_to(x, (4, 2, 3)), MATRIX),
        case("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3)), values(2, 1), label="length 1", unknown=False),
        case("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3)), values(), label="scalar"),
        plain("broadcast_arrays", MATRIX, values(3, low=0.1), values(low=0.2)),
        plain("broadcast_arrays", values(2, 1), values(1, 3)),
    ]
    return cases


def _joins() -> list[Case]:
    a, b, c = values(2, 3), values(1, 3, low=0.1), values(2, 3, low=-1.1)
    cases = [
        case("concat", lambda xp, x, y: xp.concat([x, y], axis=0), a, b),
        case("concat", lambda xp, x, y: xp.concat((x, y, x), axis=-1), a, c, label="last"),
        case("concat", lambda xp, x, y: xp.concat([x, y], axis=None), a, c, label="flat"),
        case("concat", lambda xp, x: xp.concat([x]), a, label="one"),
        case("stack", lambda xp, x, y: xp.stack([x, y]), a, c),
        case("stack", lambda xp, x, y: xp.stack((x, y, x), axis=-1), a, c, label="last"),
        case("stack", lambda xp, x, y: xp.stack([x, y], axis=1), a, c, label="middle"),
        plain("unstack", a, fields={"unknown": False}),
        plain("unstack", a, axis=-1, fields={"unknown": False}),
        plain("unstack", values(1, 2), fields={"unknown": False}),
        case("concat", lambda xp, x, y: xp.concat([x, y], axis=1), values(2, 0), a, label="with nothing"),
        case("concat", lambda xp, x, y: xp.concat([x, y], axis=None), values(), a, label="flat, of no axes"),
        case("stack", lambda xp, x: xp.stack([x, x]), values(), label="of no axes"),
        plain("flip", values(), label="no axes"),
        plain("flip", values(0, 2)),
        plain("flip", CUBE),
        plain("flip", CUBE, axis=1),
        plain("flip", CUBE, axis=(0, -1)),
    ]
    mixed = values(2, 3, dtype="float32")
    cases += [
        case(n, lambda xp, x, y, n=n: getattr(xp, n)([x, y]), mixed, c, label="mixed") for n in ("concat", "stack")
    ]
    for shift, axis in ((1, None), (-2, 1), ((1, -1), (0, 2)), (5, -1)):
        cases.append(
            case("roll", lambda xp, x, s=shift, a=axis: xp.roll(x, s, axis=a), CUBE, label=f"{shift},axis={axis}")
        )
    cases += [
        case("roll", lambda xp, x: xp.roll(x, (1, 1), axis=0), CUBE, label="(1, 1),axis=0"),
        case("roll", lambda xp, x: xp.roll(x, -1, axis=(0, 2)), CUBE, label="-1,axis=(0, 2)"),
        case("roll", lambda xp, x: xp.roll(x, 2, axis=0), values(1, 3), label="of length 1"),
        case("roll", lambda xp, x: xp.roll(x, 2), values(0, 3), label="of no elements"),
    ]
    for counts in ((2,), (2, 1), (2, 3), (2, 1, 2), (1, 1), (0, 1), ()):
        cases.append(case("tile", lambda xp, x, c=counts: xp.tile(x, c), MATRIX, label=str(counts)))
    for repeats, axis in ((2, None), (3, 0), (2, -1)):
        cases.append(
            case(
                "repeat",
                lambda xp, x, r=repeats, a=axis: xp.repeat(x, r, axis=a),
                MATRIX,
                label=f"{repeats},axis={axis}",
            )
        )
    cases += [
        case(
            "repeat",
            lambda xp, x, c=tuple(counts), a=axis: xp.repeat(x, xp.asarray(np.asarray(c)), axis=a),
            x,
            label=f"{counts},axis={axis}",
        )
        for x, counts, axis in (
            (MATRIX, [2, 0], 0),
            (MATRIX, [1, 0, 3], -1),
            (VECTOR, [0, 1, 2, 1], None),
            (MATRIX, [0, 0], 0),
            (MATRIX, [2], 1),
            (values(1, 2), [3], 0),
        )
    ]
    cases += [
        case("repeat", lambda xp, x: xp.repeat(x, 0, axis=1), MATRIX, label="0,axis=1"),
        case("repeat", lambda xp, x: xp.repeat(x, 2, axis=0), values(0, 2), label="of no elements"),
        case("repeat", lambda xp, x: xp.repeat(x, 2), values(), label="of no axes"),
    ]
    return cases


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
