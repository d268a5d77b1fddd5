"""Cases of the functions that reduce axes or run along one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.helpers.tables.case import values, whole

from .case import INTEGERS, FunctionCase, case, floating

__all__ = ["cases"]

REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
AVERAGES: dict[str, Callable[..., Any]] = {"mean": np.mean, "var": np.var, "std": np.std}
AXES: list[Any] = [None, 0, -1, (0, 2), [1, -1]]


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_numbers(), *_averages(), *_truth(), *_places(), *_along(), *_exponentials()]


def _over(reference: Callable[..., Any], axis: Any, **options: Any) -> Callable[..., Any]:
    """NumPy's function along axes."""
    plain = tuple(axis) if isinstance(axis, list) else axis
    return lambda x: reference(x, axis=plain, **options)


def _over_axes(name: str, reference: Callable[..., Any], x: np.ndarray) -> list[FunctionCase]:
    made = []
    for axis in AXES:
        for keepdims in (False, True):
            made.append(case(name, _over(reference, axis, keepdims=keepdims), x, args=(axis, keepdims)))
    return made


def _numbers() -> list[FunctionCase]:
    made = []
    for name, reference in REDUCTIONS.items():
        made += _over_axes(name, reference, values(2, 3, 2, low=0.3, high=1.9))
        made.append(case(name, reference, values(4, dtype="float32"), rtol=3e-6))
        made.append(case(name, reference, values()))
        made += [case(name, reference, whole(4, low=0, dtype=dtype)) for dtype in INTEGERS]
    for name in ("sum", "prod"):
        made.append(case(name, lambda x, f=REDUCTIONS[name]: f(x, axis=0), np.zeros((0, 2)), args=(0,)))
    return made


def _averages() -> list[FunctionCase]:
    made = []
    nothing = np.zeros((0, 2))
    for name, reference in AVERAGES.items():
        made += _over_axes(name, reference, values(2, 3, 2, low=0.3, high=1.9))
        made.append(case(name, reference, values(4, dtype="float32"), rtol=3e-6))
        made.append(case(name, reference, values()))
        dtype = "float32" if name == "mean" else "float64"
        for kind in INTEGERS:
            x = whole(4, low=0, dtype=kind)
            made.append(case(name, lambda x, f=reference, d=dtype: f(x.astype(float)).astype(d), x, rtol=3e-7))
        made.append(case(name, lambda x: np.full(2, np.nan), nothing, args=(0,), recorded=False, flat=True))
        made.append(case(name, lambda x: np.zeros(0), nothing, args=(1,), recorded=False, flat=True))
    return made


def _truth() -> list[FunctionCase]:
    made = []
    x = whole(2, 3, 2, low=0, high=2)
    one, two = np.asarray(True), np.asarray(False)
    for name, reference in {"any": np.any, "all": np.all}.items():
        made += [case(name, _over(reference, axis), x, args=(axis,)) for axis in AXES]
        made.append(case(name, reference, np.asarray([np.nan, 0.0]), label="nan", flat=True))
        made.append(case(name, reference, np.zeros(0, dtype=bool)))
        listed = {"call": lambda B, x, y, n=name: getattr(B, n)([x, y]), "label": "list"}
        made.append(case(name, lambda x, y, f=reference: f([x, y]), one, two, **listed))
    return made


def _places() -> list[FunctionCase]:
    made = []
    for name, reference in {"argmax": np.argmax, "argmin": np.argmin}.items():
        for axis in (None, 0, -1):
            x = values(3, 4)
            made.append(case(name, lambda x, f=reference, a=axis: f(x, axis=a), x, args=(axis,), flat=True))
        several = values(2, 3, 2)
        made.append(
            case(
                name,
                lambda x, f=reference: f(x.transpose(1, 0, 2).reshape(3, 4), axis=1),
                several,
                args=([0, 2],),
                flat=True,
            )
        )
        made.append(case(name, lambda x, f=reference: f(x, axis=-1), whole(2, 4)))
    return made


def _along() -> list[FunctionCase]:
    made = []
    for name, reference in {"cumsum": np.cumsum, "cumprod": np.cumprod}.items():
        for axis in (0, 1, -1, None):
            made.append(case(name, lambda x, f=reference, a=axis: f(x, axis=a), values(3, 4), args=(axis,)))
        for dtype in ("int8", "int32"):
            made.append(case(name, lambda x, f=reference: f(x, axis=0, dtype=x.dtype), whole(4, dtype=dtype)))
    return made


def _logsumexp(x: np.ndarray, **options: Any) -> np.ndarray:
    return np.log(np.sum(np.exp(floating(x)), **options))


def _logdiffexp(x: np.ndarray) -> np.ndarray:
    return np.log(np.diff(np.exp(floating(x))))


def _exponentials() -> list[FunctionCase]:
    rising = np.cumsum(values(2, 4, low=0.2, high=1.0), axis=1)
    return [
        *_over_axes("logsumexp", _logsumexp, values(2, 3, 2)),
        case("logsumexp", _logsumexp, whole(4)),
        case("logsumexp", _logsumexp, whole(4, dtype="int8"), rtol=1e-6),
        case("logsumexp", _logsumexp, values()),
        case("logdiffexp", _logdiffexp, rising),
        case("logdiffexp", _logdiffexp, np.asarray([1, 3, 4])),
    ]
