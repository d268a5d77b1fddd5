"""Cases of complex numbers: element-wise functions and reductions of them, alone and beside real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.tables.case import Case, case, complex_values, plain, values, whole

__all__ = ["CASES"]

UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp", "expm1", "imag", "log",
    "log10", "log1p", "log2", "negative", "positive", "real", "reciprocal", "sin", "sinh", "sqrt", "square", "tan",
    "tanh",
)  # fmt: skip
BINARY = ("add", "subtract", "multiply", "divide", "pow")
TESTS = ("isfinite", "isinf", "isnan", "round")
SPECIAL = np.asarray([complex(np.inf, 1), complex(1, np.nan), complex(-np.inf, np.nan), 0j, 1 - 2j])


def _one_array() -> list[Case]:
    cases = []
    for name in UNARY:
        x = complex_values(2, 3) * 0.7 + 0.05
        cases += [
            plain(name, x, fields={"rtol": 1e-11}),
            plain(name, x[0].astype("complex64"), fields={"rtol": 2e-5}),
            plain(name, x[:0], label="empty"),
        ]
    cases += [plain(name, SPECIAL, label="special") for name in TESTS if name != "round"]
    cases += [plain(name, complex_values(2, 3)) for name in TESTS]
    cases.append(plain("sign", np.where(whole(2, 3) == 0, 0.0, complex_values(2, 3))))
    cases.append(case("abs", lambda xp, x: abs(x), complex_values(3), label="operator"))
    cases += [
        case("real", lambda xp, x: xp.real(xp.exp(x)), complex_values(3), label="of an expression"),
        case("conj", lambda xp, x: xp.conj(x) * x, complex_values(3), label="of a product"),
        case("imag", lambda xp, x: xp.imag(1j * x), values(3), label="of a real array"),
    ]
    return cases


def _two_arrays() -> list[Case]:
    cases = []
    z, w, x = complex_values(2, 3), complex_values(3, low=0.31, high=1.7), values(2, 3, low=0.4)
    for name in BINARY:
        cases += [
            plain(name, z, w, fields={"rtol": 1e-11}),
            plain(name, x, w, label="mixed", fields={"rtol": 1e-11}),
            plain(name, w, x, label="mixed", fields={"rtol": 1e-11}),
        ]
    for name in ("add", "multiply"):
        cases.append(
            plain(name, values(3, dtype="float32"), w.astype("complex64"), label="mixed", fields={"rtol": 1e-6})
        )
        cases.append(plain(name, values(3, dtype="float32"), w, label="wider", fields={"rtol": 1e-6}))
    cases += [
        plain("equal", z, w), plain("not_equal", z, z), case("multiply", lambda xp, a: a * 2j, x, label="x·2j"),
        case("multiply", lambda xp, a: a * 2j, values(3, dtype="float32"), label="x·2j", rtol=1e-6),
        case("add", lambda xp, a: a + 1, z, label="z+1"), case("divide", lambda xp, a: 1j / a, z, label="1j/z"),
        case("pow", lambda xp, a: a**2, z, label="z²"), case("pow", lambda xp, a: a**0.5, z, label="√z"),
        case("pow", lambda xp, a: a ** (1 + 1j), x, label="x**(1+1j)"),
        case("pow", lambda xp, a: (1 + 2j) ** a, z, label="(1+2j)**z"),
        case("where", lambda xp, c, a: xp.where(c, a, 0.0), whole(2, 3) > 0, z),
        plain("where", whole(2, 3) > 0, x, w, label="mixed"),
    ]  # fmt: skip
    return cases


def _reductions() -> list[Case]:
    z = complex_values(3, 4)
    cases = [plain(name, z, axis=axis) for name in ("sum", "mean", "prod") for axis in (None, 0, -1)]
    cases += [
        case(
            name, lambda xp, x, name=name: getattr(xp, name)(x, axis=1, correction=1), z,
            reference=lambda xp, x, name=name: getattr(np, name)(x, axis=1, ddof=1),
        )
        for name in ("std", "var")
    ]  # fmt: skip
    cases += [plain(name, z, axis=0) for name in ("cumulative_prod", "cumulative_sum")]
    cases.append(case("matrix_transpose", lambda xp, x: x.mT, z, label="attribute"))
    cases.append(case("prod", lambda xp, x: xp.prod(x), np.asarray([0j, 1 + 2j, 2 - 1j]), label="with a zero"))
    return cases


def _casts() -> list[Case]:
    return [
        case("astype", lambda xp, x: xp.astype(x, xp.complex128), values(3), label="to complex"),
        case("astype", lambda xp, x: xp.astype(x, xp.complex64), values(3, dtype="float32"), label="to complex"),
        case("concat", lambda xp, a, b: xp.concat([a, b]), values(3), complex_values(2), label="mixed", **_reference()),
    ]


def _reference() -> dict[str, Any]:
    return {"reference": lambda xp, a, b: xp.concat([xp.astype(a, xp.complex128), b])}


CASES: list[Case] = [*_one_array(), *_two_arrays(), *_reductions(), *_casts()]
