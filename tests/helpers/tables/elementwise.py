"""Cases of the element-wise functions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, attribute, case, plain, values, whole

__all__ = ["CASES"]

# functions of one floating array, with the interval that they are asked about
FLOATING: dict[str, tuple[float, float]] = {
    "acos": (-0.9, 0.8), "acosh": (1.1, 3.0), "asin": (-0.9, 0.8), "asinh": (-2.0, 2.0), "atan": (-2.0, 2.0),
    "atanh": (-0.9, 0.8), "cos": (-2.0, 2.0), "cosh": (-2.0, 2.0), "exp": (-2.0, 2.0), "expm1": (-2.0, 2.0),
    "log": (0.1, 3.0), "log1p": (-0.9, 3.0), "log2": (0.1, 3.0), "log10": (0.1, 3.0), "reciprocal": (0.3, 3.0),
    "sin": (-2.0, 2.0), "sinh": (-2.0, 2.0), "sqrt": (0.1, 3.0), "tan": (-1.2, 1.2), "tanh": (-2.0, 2.0),
}  # fmt: skip
NUMERIC = ("abs", "ceil", "floor", "negative", "positive", "round", "sign", "square", "trunc")
TESTS = ("isfinite", "isinf", "isnan", "signbit")
SPECIAL = np.asarray([-np.inf, -1.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, np.nan])

ARITHMETIC = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}
WHOLE = {"floor_divide": operator.floordiv, "remainder": operator.mod}
COMPARISONS = {
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge,
}  # fmt: skip
BITS = {"bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor}
PAIRS = ("atan2", "copysign", "hypot", "logaddexp", "maximum", "minimum")
SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((3, 1, 2), (2, 1))]


def _one_array() -> list[Case]:
    cases = []
    for name, (low, high) in FLOATING.items():
        cases.append(plain(name, values(2, 3, low=low, high=high)))
        cases.append(plain(name, values(3, low=low, high=high, dtype="float32"), fields={"rtol": 2e-6}))
    for name in NUMERIC:
        cases += [plain(name, values(2, 3)), plain(name, whole(2, 3)), plain(name, values(3, dtype="float32"))]
    for name in (*TESTS, "sign", "abs", "floor", "round"):
        cases.append(plain(name, SPECIAL[:-1] if name == "round" else SPECIAL, label="special", fields={"order": 0}))
    for name in ("exp", "sin", "sqrt"):  # integers become floating by NumPy's promotion with float32
        cases.append(plain(name, whole(3, low=0), fields={"rtol": 1e-12}))
        for dtype in ("int8", "uint8", "bool"):
            cases.append(_small_integers(name, dtype))
    cases += [plain("bitwise_invert", whole(2, 3)), plain("bitwise_invert", np.asarray([True, False]))]
    cases += [plain("logical_not", np.asarray([True, False]))]
    cases += [case("abs", lambda xp, x: abs(x), values(2, 3), label="operator")]
    cases += [case("negative", lambda xp, x: -x, values(2, 3), label="operator")]
    cases += [case("positive", lambda xp, x: +x, values(2, 3), label="operator")]
    cases += [case("bitwise_invert", lambda xp, x: ~x, whole(3), label="operator")]
    return cases


def _small_integers(name: str, dtype: str) -> Case:
    def reference(xp: Any, x: Any) -> Any:
        return attribute(xp, name)(xp.astype(x, xp.float32))

    return plain(name, whole(3, low=0, high=2, dtype=dtype), fields={"reference": reference, "rtol": 2e-6})


def _two_arrays() -> list[Case]:
    cases = []
    for name in (*ARITHMETIC, *WHOLE, *PAIRS, *COMPARISONS):
        for left, right in SHAPES:
            x, y = values(*left), values(*right, low=0.31, high=1.7)
            cases += [plain(name, x, y), plain(name, y, x, label="turned")]
    cases += [plain("pow", values(*left, low=0.3), values(*right, low=-1.4, high=2.1)) for left, right in SHAPES]
    for name in (*ARITHMETIC, "remainder", "floor_divide", "maximum", "less"):
        cases.append(plain(name, values(2, 3, dtype="float32"), values(3, low=0.31), label="mixed"))
        cases.append(plain(name, whole(2, 3), values(3, low=0.31, high=1.7), label="mixed"))
    for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "equal", "pow"):
        cases.append(plain(name, whole(2, 3), whole(3, low=1), label="integers"))
    for name in BITS:
        cases += [plain(name, whole(2, 3), whole(3)), plain(name, *np.meshgrid([True, False], [True, False]))]
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        cases.append(plain(name, whole(2, 3, low=0), whole(3, low=0)))
    for name in ("logical_and", "logical_or", "logical_xor"):
        cases.append(plain(name, *np.meshgrid([True, False], [True, False])))
    cases.append(plain("nextafter", values(2, 3), values(3, low=0.31)))
    return cases


def _scalars() -> list[Case]:
    """Python scalars on both sides, by operator and by function."""
    cases = []
    for name, op in (ARITHMETIC | COMPARISONS | WHOLE).items():
        for scalar in (2, 1.5):
            cases += [_left(name, op, values(2, 3, low=-1.9), scalar), _right(name, op, scalar, values(2, 3, low=0.31))]
        cases.append(_left(name, op, values(3, dtype="float32"), 0.5))
    for name, op in BITS.items():
        cases += [_left(name, op, whole(2, 3), 3), _right(name, op, 6, whole(2, 3))]
    cases += [_left("pow", operator.pow, values(2, 3, low=0.3), e) for e in (0, 1, 2, 3, -1, 0.5, -1.5, 2.0)]
    cases += [_left("pow", operator.pow, values(2, 3), e) for e in (0, 1, 2, 3)]
    cases += [
        _right("pow", operator.pow, 2.5, values(2, 3)),
        _left("bitwise_left_shift", operator.lshift, whole(3, low=0), 2),
        _left("bitwise_right_shift", operator.rshift, whole(3, low=0), 1),
    ]
    for name in ("maximum", "minimum", "atan2", "hypot"):
        cases.append(
            case(
                name,
                lambda xp, x, name=name: attribute(xp, name)(x, 0.4),
                values(2, 3),
                label="x·0.4",
                reference=lambda xp, x, name=name: attribute(xp, name)(x, xp.asarray(0.4)),
            )
        )
    return cases


def _left(name: str, op: Any, x: Any, scalar: float) -> Case:
    return case(name, lambda xp, a: op(a, scalar), x, label=f"x·{scalar}")


def _right(name: str, op: Any, scalar: float, x: Any) -> Case:
    return case(name, lambda xp, a: op(scalar, a), x, label=f"{scalar}·x")


def _constants() -> list[Case]:
    """Two constants without axes: what is made of numbers alone stays an array."""

    def made(name: str, dtype: str, *numbers: float) -> Case:
        def call(xp: Any) -> Any:
            return attribute(xp, name)(*(xp.asarray(number, dtype=getattr(xp, dtype)) for number in numbers))

        return case(name, call, label=f"two of {dtype}", unknown=False)

    cases = [made(name, "float64", 7.5, 2.0) for name in ARITHMETIC | COMPARISONS | WHOLE]
    return cases + [made(name, "int64", 3, 4) for name in ("add", "equal", "maximum")]


def _choices() -> list[Case]:
    condition = np.asarray([[True, False, True], [False, False, True]])
    x, y = values(2, 3), values(3, low=0.31, high=1.7)
    return [
        plain("where", condition, x, y), plain("where", condition[:, :1], x, y),
        plain("where", condition, values(2, 3, dtype="float32"), y, label="mixed"),
        case("where", lambda xp, c, a: xp.where(c, a, 0.0), condition, x, label="scalar right"),
        case("where", lambda xp, c, a: xp.where(c, 1.0, a), condition, x, label="scalar left"),
        case("where", lambda xp, a, b: xp.where(a > b, a, b), x, y, label="of a comparison"),
        *(plain("clip", x, **bounds) for bounds in ({"min": -0.5, "max": 0.9}, {"min": -0.5}, {"max": 0.9}, {})),
        plain("clip", whole(2, 3), 0, 2), plain("clip", x, values(3, low=-1.1, high=-0.3), y),
    ]  # fmt: skip


CASES: list[Case] = [*_one_array(), *_two_arrays(), *_scalars(), *_constants(), *_choices()]
