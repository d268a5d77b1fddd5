"""Cases of what op-trees are made of beyond the other surfaces: arithmetic, powers of two, normalised features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.functions import arithmetic, elementwise, extremes, joining, normalization
from tests.helpers.tables.case import values, whole

from .case import INTEGERS, FunctionCase, floating, of

__all__ = ["cases"]


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_one_array(), *_two_arrays(), *_rounded_to_powers(), *_normalized(), *_chosen()]


def made(function: Callable[..., Any], *others: Any, **fields: Any) -> FunctionCase:
    """A case of a function by its own name."""
    return of(function.__name__, function, *others, **fields)


def _one_array() -> list[FunctionCase]:
    floats: list[tuple[Callable[..., Any], Callable[..., Any], float, float]] = [
        (arithmetic.reciprocal, lambda x: 1 / x, 0.3, 3.0),
        (arithmetic.safe_log, lambda x: np.log(np.maximum(x, float(np.exp(-50.0)))), 0.2, 3.0),
        (arithmetic.exp2, np.exp2, -2.0, 2.0),
        (arithmetic.log2, np.log2, 0.2, 3.0),
        (arithmetic.sigmoid_to_base_two, lambda x: 1 / (1 + np.exp2(-x)), -3.0, 3.0),
        (arithmetic.tanh_to_base_two, lambda x: (np.exp2(2 * x) - 1) / (np.exp2(2 * x) + 1), -3.0, 3.0),
    ]
    found = []
    for function, reference, low, high in floats:
        found += [made(function, reference, values(*shape, low=low, high=high)) for shape in ((2, 3), (), (0,))]
        found += [
            made(function, lambda x, f=reference: f(floating(x)), whole(4, low=1, high=4, dtype=dtype), rtol=3e-6)
            for dtype in INTEGERS
        ]
    found += [made(arithmetic.negative, np.negative, x) for x in (values(2, 3), whole(3), values(0))]
    special = np.asarray([1.0, np.inf, -np.inf, np.nan])
    found += [made(arithmetic.isfinite, np.isfinite, x, flat=True) for x in (special, whole(3))]
    found.append(made(elementwise.sqrt_or_nan, np.sqrt, values(4, low=0.2)))
    return found


def _two_arrays() -> list[FunctionCase]:
    pairs = [
        (arithmetic.add, np.add), (arithmetic.subtract, np.subtract), (arithmetic.multiply, np.multiply),
        (arithmetic.divide, np.divide),
    ]  # fmt: skip
    found = []
    for function, reference in pairs:
        found.append(made(function, reference, values(2, 3), values(3, low=0.5)))
        found.append(made(function, reference, values(2, 1), values(1, 3, low=0.5)))
        found.append(made(function, reference, whole(3), whole(3, low=1, high=4)))
    return found


def _power(y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.where(y == 0, 0.0, np.sign(y) * np.exp2(np.rint(np.log2(np.abs(y)))))


def _rounded_to_powers() -> list[FunctionCase]:
    x, y = values(3, 4), np.asarray([[0.0, 1.4, -1.5, 100.0], [-0.01, 3.0, 2.9, -2.8], [1e-30, 1e30, 5.0, -6.0]])

    def variance(x: np.ndarray) -> np.ndarray:
        deviation = x - x.mean(axis=1, keepdims=True)
        return (deviation * _power(deviation)).mean(axis=1)

    return [
        made(arithmetic.shift, lambda x, y: x * _power(y), x, y, order=0),
        made(arithmetic.shift, lambda x, y: x * np.exp2(y), x, values(3, 4), options={"exponents": True}, label="by"),
        made(arithmetic.shifted_var, variance, x, options={"axis": 1}, order=0),
        made(arithmetic.binarize, lambda x: np.where(x >= 0, 1.0, -1.0), y, flat=True),
        made(arithmetic.binarize, lambda x, u: np.where(u < (x + 1) / 2, 1.0, -1.0), x, values(3, 4, low=0.0, high=1.0),
             flat=True, label="drawn"),
    ]  # fmt: skip


def _normalized() -> list[FunctionCase]:
    x, error = values(2, 5), values(2, 5)
    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    gamma, beta = values(2, 1, low=0.5), values(2, 1)

    def normal(x: np.ndarray, mean: np.ndarray, var: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return (x - mean) / np.sqrt(var + 1e-3) * gamma + beta

    def by_power(x: np.ndarray, mean: np.ndarray, var: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return (x - mean) * _power(1 / np.sqrt(var + 1e-3)) * _power(gamma) + beta

    normalized = normalization.normalized_features
    return [
        made(normalized, normal, x, mean, var, gamma, beta, options={"epsilon": 1e-3}, rtol=1e-11),
        made(normalized, by_power, x, mean, var, gamma, beta, options={"epsilon": 1e-3, "shifted": True}, order=0,
             label="shifted", rtol=1e-11),
        made(normalization.moving_average, lambda a, x: 0.9 * a + 0.1 * x, x, error, options={"rho": 0.9}),
    ]  # fmt: skip


def _chosen() -> list[FunctionCase]:
    places = np.asarray([[2, 0], [2, 1]])
    x, low, high = values(3, 4), values(3, 1, low=0.4, high=1.5), values(4, low=-1.5, high=-0.4)

    def between(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(x, low), high)

    return [
        FunctionCase("take", lambda B, x, i: joining.take(x, i, axis=0), lambda x, i: x[i.reshape(-1)], (x, places)),
        FunctionCase("take", lambda B, x, i: joining.take(x, i), lambda x, i: x.reshape(-1)[i.reshape(-1)],
                     (x, places), label="flattened"),
        made(extremes.clip, between, x, low, high, options={"crossed": "max"}, label="crossed"),
        *(made(function, reference, x, options={"axis": axis, "keepdims": True}, label=f"kept-{axis}", flat=True)
          for function, reference in ((extremes.argmax, _kept(np.argmax)), (extremes.argmin, _kept(np.argmin)))
          for axis in (0,)),
    ]  # fmt: skip


def _kept(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(x, axis=0, keepdims=True)
