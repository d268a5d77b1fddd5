"""Cases of the functions that work element by element, and of comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.helpers.tables.case import values, whole

from .case import INTEGERS, FunctionCase, case, floating

__all__ = ["cases"]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x.astype("float64")))).astype(x.dtype)


# functions with values between the integers, with the interval that they are asked about
FLOATING: dict[str, tuple[Callable[..., Any], float, float]] = {
    "exp": (np.exp, -2.0, 2.0), "log": (np.log, 0.2, 3.0), "sin": (np.sin, -2.0, 2.0), "cos": (np.cos, -2.0, 2.0),
    "sqrt": (lambda x: np.sqrt(np.maximum(x, 0)), 0.2, 3.0), "sigmoid": (_sigmoid, -3.0, 3.0),
}  # fmt: skip
KEEPING: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "square": lambda x: np.square(x).astype(x.dtype), "round": lambda x: np.round(x).astype(x.dtype),
    "sign": lambda x: x if x.dtype == bool else np.sign(x),
}  # fmt: skip
COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": np.equal, "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "less": np.less, "less_equal": np.less_equal,
}  # fmt: skip


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_one_array(), *_powers(), *_clips(), *_extremes(), *_comparisons(), *_closeness(), *_casts()]


def _one_array() -> list[FunctionCase]:
    made = []
    for name, (reference, low, high) in FLOATING.items():
        made += [case(name, reference, values(*shape, low=low, high=high)) for shape in ((2, 3), (), (0,))]
        made.append(case(name, reference, values(3, low=low, high=high, dtype="float32"), rtol=3e-6))
        for dtype in INTEGERS:
            x = whole(4, low=1, high=4, dtype=dtype)
            made.append(case(name, lambda x, f=reference: f(floating(x)), x, rtol=3e-6))
    for name, reference in KEEPING.items():
        made.append(case(name, reference, values(2, 3), flat=name in ("round", "sign")))
        made += [case(name, reference, whole(4, low=0, dtype=dtype)) for dtype in (*INTEGERS, "float32")]
    return made


def _powers() -> list[FunctionCase]:
    return [
        case("pow", lambda x: x**3, values(2, 3), args=(3,)),
        case("pow", lambda x: x**0.5, values(3, low=0.2), args=(0.5,)),
        case("pow", lambda x: x**0.5, whole(3, low=0), args=(0.5,)),
        case("pow", lambda x: x**2, whole(3), args=(2,)),
        case("pow", lambda x: 0.5**x, values(3), call=lambda B, x: B.pow(0.5, x), label="of a number"),
        case("pow", np.power, values(2, 3, low=0.3), values(3)),
    ]


def _clips() -> list[FunctionCase]:
    low, high = values(3, low=-1.5, high=-0.4), values(3, low=0.4, high=1.5)
    return [
        case("clip", lambda x: np.clip(x, -1, 1), values(3, 4), args=(-1, 1)),
        case("clip", lambda x: np.minimum(x, 0.5), values(5), args=(None, 0.5)),
        case("clip", lambda x: np.maximum(x, 0.0), values(5), args=(0.0, None)),
        case("clip", lambda x: np.clip(x, -1, 2), whole(6), args=(-1, 2)),
        case("clip", lambda x: np.maximum(x, 0.0), whole(6), args=(0, None)),
        case("clip", lambda x: np.full_like(x, 1.0), values(4), args=(1.0, -1.0)),
        case("clip", lambda x, a, b: np.minimum(np.maximum(x, a), b), values(2, 3), low, high),
    ]


def _extremes() -> list[FunctionCase]:
    made = []
    for name, reference in {"maximum": np.maximum, "minimum": np.minimum}.items():
        for left, right in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1), (1, 3))):
            made.append(case(name, reference, values(*left), values(*right, low=-1.9, high=1.7)))
        made.append(case(name, lambda x, f=reference: f(x, 0.5), values(2, 3), args=(0.5,)))
        made.append(case(name, reference, whole(2, 3), values(3, dtype="float32")))
    return made


def _comparisons() -> list[FunctionCase]:
    made = []
    x, y = whole(2, 3, low=0, high=2), whole(3, low=0, high=2)
    for name, reference in COMPARISONS.items():
        made.append(case(name, reference, x, y))
        made.append(case(name, reference, x.astype("float32"), y.astype("float64")))
        made.append(case(name, reference, x.astype("int8"), y.astype("float32")))
        made += [case(name, lambda x, f=reference, n=n: f(x, n), x, args=(n,)) for n in (1, 0.5)]
    return made


def _closeness() -> list[FunctionCase]:
    x = np.asarray([1.0, np.inf, -np.inf, 1.0])
    others = {
        "close": np.asarray([1.0 + 1e-9, np.inf, -np.inf, 1.0]),
        "far": np.asarray([1.0, np.inf, np.inf, 1.0]),
        "nan": np.asarray([np.nan, 1.0, 1.0, 1.0]),
    }
    made = [case("allclose", _allclose, x, y, label=label, flat=True) for label, y in others.items()]
    return [*made, case("allclose", _allclose, whole(3), whole(3)), case("allclose", _allclose, x[:1], x[:1] + 0.1)]


def _allclose(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.allclose(x, y))


def _casts() -> list[FunctionCase]:
    flat = [case("cast", lambda x, d=d: x.astype(d), values(2, 3), args=(d,), flat=True) for d in ("int32", "bool")]
    return [
        *flat,
        case("cast", lambda x: x.astype("float64"), values(2, 3), args=("float64",)),
        case("cast", lambda x: x.astype("float32"), values(2, 3), args=("float32",), order=0),
        case("cast_to_floatx", lambda x: x.astype("float32"), whole(3)),
        case("stop_gradient", lambda x: x, values(2, 3), flat=True),
        case("zeros_like", np.zeros_like, values(2, 3), flat=True),
        case("ones_like", lambda x: np.ones_like(x, dtype="int32"), values(2, 3), args=("int32",), flat=True),
    ]
