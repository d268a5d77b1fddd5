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
        cases += [
            plain(name, values(2, 3, low=low, high=high)),
            plain(name, values(3, low=low, high=high, dtype="float32")),
        ]
        cases[-1] = _looser(cases[-1])
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


def _looser(one: Case) -> Case:
    return Case(one.function, one.call, one.arrays, label=one.label, rtol=2e-6)


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
    cases += [
        plain(name, whole(2, 3, low=0), whole(3, low=0)) for name in ("bitwise_left_shift", "bitwise_right_shift")
    ]
    for name in ("logical_and", "logical_or", "logical_xor"):
        cases.append(plain(name, *np.meshgrid([True, False], [True, False])))
    cases.append(plain("nextafter", values(2, 3), values(3, low=0.31)))
    return cases


def _scalars() -> list[Case]:
    """Python scalars on both sides, by operator and by function."""
    cases = []
    for name, op in (ARITHMETIC | COMPARISONS | WHOLE).items():
        for scalar in (2, 1.5):
            cases.append(
                case(name, lambda xp, x, op=op, s=scalar: op(x, s), values(2, 3, low=-1.9), label=f"x·{scalar}")
            )
            cases.append(
                case(name, lambda xp, x, op=op, s=scalar: op(s, x), values(2, 3, low=0.31), label=f"{scalar}·x")
            )
        cases.append(case(name, lambda xp, x, op=op: op(x, 0.5), values(3, dtype="float32"), label="float32·0.5"))
    for name, op in BITS.items():
        cases.append(case(name, lambda xp, x, op=op: op(x, 3), whole(2, 3), label="x·3"))
        cases.append(case(name, lambda xp, x, op=op: op(6, x), whole(2, 3), label="6·x"))
    for exponent in (0, 1, 2, 3, -1, 0.5, -1.5, 2.0):
        cases.append(case("pow", lambda xp, x, e=exponent: x**e, values(2, 3, low=0.3), label=f"x·{exponent}"))
    for exponent in (0, 1, 2, 3):
        cases.append(case("pow", lambda xp, x, e=exponent: x**e, values(2, 3), label=f"signed·{exponent}"))
    cases.append(case("pow", lambda xp, x: 2.5**x, values(2, 3), label="2.5·x"))
    cases.append(case("bitwise_left_shift", lambda xp, x: x << 2, whole(3, low=0), label="operator"))
    cases.append(case("bitwise_right_shift", lambda xp, x: x >> 1, whole(3, low=0), label="operator"))
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


def _constants() -> list[Case]:
    """Two constants without axes: what is made of numbers alone stays an array."""
    cases = []
    for name, op in (ARITHMETIC | COMPARISONS | WHOLE).items():
        cases.append(
            case(
                name,
                lambda xp, op=op: op(xp.asarray(7.5, dtype=xp.float64), xp.asarray(2.0, dtype=xp.float64)),
                label="two constants",
                unknown=False,
            )
        )
    for name in ("add", "equal", "maximum"):
        cases.append(
            case(
                name,
                lambda xp, name=name: attribute(xp, name)(xp.asarray(3), xp.asarray(4)),
                label="two integers",
                unknown=False,
            )
        )
    return cases


def _choices() -> list[Case]:
    condition = np.asarray([[True, False, True], [False, False, True]])
    x, y = values(2, 3), values(3, low=0.31, high=1.7)
    return [
        plain("where", condition, x, y),
        plain("where", condition[:, :1], x, y),
        plain("where", condition, values(2, 3, dtype="float32"), y, label="mixed"),
        case("where", lambda xp, c, a: xp.where(c, a, 0.0), condition, x, label="scalar right"),
        case("where", lambda xp, c, a: xp.where(c, 1.0, a), condition, x, label="scalar left"),
        case("where", lambda xp, a, b: xp.where(a > b, a, b), x, y, label="of a comparison"),
        case("clip", lambda xp, a: xp.clip(a, -0.5, 0.9), x, label="both"),
        case("clip", lambda xp, a: xp.clip(a, min=-0.5), x, label="min"),
        case("clip", lambda xp, a: xp.clip(a, max=0.9), x, label="max"),
        case("clip", lambda xp, a: xp.clip(a), x, label="neither"),
        case("clip", lambda xp, a: xp.clip(a, 0, 2), whole(2, 3), label="integers"),
        case("clip", lambda xp, a, lo, hi: xp.clip(a, lo, hi), x, values(3, low=-1.1, high=-0.3), y, label="arrays"),
    ]


CASES: list[Case] = [*_one_array(), *_two_arrays(), *_scalars(), *_constants(), *_choices()]
