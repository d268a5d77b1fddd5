"""Gamma, Poisson and binomial numbers, compiled for NumPy arrays.

What this chapter must satisfy: the bits of `nbm_xp.rng.distributions.rejection`, where the methods are told. Each sum,
product and quotient stands here in the order in which it stands there. A loop writes one array and reads few: the
compiler asks whether they overlap, and with more of them gives vector instructions up.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import int8

from nbm_xp.namespace.compiled_loops import compiled_loop

from . import approximations
from .approximations import HALF_LOG_TWO_PI, LOG_FACTORIALS, MANY_EVENTS, STIRLING_ERRORS, SURELY_ACCEPTED
from .compiled import contiguous
from .compiled_elementary import logs_in_place, quantiles
from .compiled_elements import Draws, each_until_accepted, part, until_accepted
from .compiled_loops import SCALES

__all__ = ["binomial", "binomial_search", "log_gamma", "poisson", "poisson_search"]

_SCALE = np.asarray([SCALES["float64"]])
_large_deviance = numba.njit(inline="always")(approximations.large_poisson_deviance)
_stirling_series = numba.njit(inline="always")(approximations.stirling_series)


@part
def _gamma_attempt(u: Any, own: Any, count: int, value: Any, done: Any, spare: Any, bits: Any) -> None:
    d, c, log_d = own[0], own[1], own[2]
    u2, x, log_v, log_u, v = u[1], spare[0], spare[1], spare[2], spare[3]
    quantiles(u[0], count, x, spare[1], bits[2])
    for i in range(count):
        root = 1.0 + c[i] * x[i]
        v[i] = root * root * root if root > 0.0 else 1.0
    for i in range(count):
        log_v[i] = v[i]
    for i in range(count):
        log_u[i] = u2[i]
    logs_in_place(log_v, log_v.view(np.int64), count)
    logs_in_place(log_u, log_u.view(np.int64), count)
    for i in range(count):
        v[i] = 0.5 * x[i] * x[i] + d[i] - d[i] * v[i] + d[i] * log_v[i]
    for i in range(count):
        value[i] = log_d[i] + log_v[i]
    for i in range(count):
        fits = (d[i] > SURELY_ACCEPTED) | (log_u[i] < v[i])
        done[i] = int8(1) if (1.0 + c[i] * x[i] > 0.0) & fits else int8(0)


@numba.njit(inline="always")
def _undecided(done: Any, count: int, where: Any) -> int:
    """Put the places of what is possible, but not quickly accepted, in `where`; gives how many they are."""
    found = 0
    for i in range(count):
        where[found] = i
        found += done[i] == 2
    return found


@part
def _poisson_attempt(u: Any, own: Any, count: int, value: Any, done: Any, spare: Any, bits: Any) -> None:
    lam, a, b, quickly, factor, log_lam = own[0], own[1], own[2], own[3], own[4], own[5]
    u1, u2 = u[0], u[1]
    height, large, logs, where = spare[0], spare[1], spare[2], bits[3]
    for i in range(count):
        centred = u1[i] - 0.5
        us = 0.5 - abs(centred)
        value[i] = np.floor((2.0 * a[i] / us + b[i]) * centred + lam[i] + 0.43)
    for i in range(count):
        us = 0.5 - abs(u1[i] - 0.5)
        quick = (us >= 0.07) & (u2[i] <= quickly[i])
        possible = (value[i] >= 0.0) & ((us >= 0.013) | (u2[i] <= us))
        done[i] = int8(1) if quick else (int8(2) if possible else int8(0))
    for i in range(count):
        value[i] = value[i] if value[i] >= 0.0 else 0.0
    found = _undecided(done, count, where)
    for m in range(found):
        i = where[m]
        us = 0.5 - abs(u1[i] - 0.5)
        height[m] = u2[i] * factor[i] / (a[i] / (us * us) + b[i])
        large[m] = max(value[i], 10.0)
        logs[m] = large[m]
    logs_in_place(height, height.view(np.int64), found)
    logs_in_place(logs, logs.view(np.int64), found)
    for m in range(found):
        i = where[m]
        k = value[i]
        if lam[i] >= MANY_EVENTS:
            far = -(_large_deviance(k - lam[i], lam[i]) + 0.5 * logs[m] + HALF_LOG_TWO_PI)
            done[i] = int8(1) if height[m] <= far else int8(0)
            continue
        if k < 10.0:
            log_factorial = LOG_FACTORIALS[int(k)]
        else:
            rest = HALF_LOG_TWO_PI + _stirling_series(large[m])
            log_factorial = (large[m] + 0.5) * logs[m] - large[m] + rest
        done[i] = int8(1) if height[m] <= k * log_lam[i] - lam[i] - log_factorial else int8(0)


@numba.njit(inline="always")
def _stirling_error(k: Any) -> Any:
    return STIRLING_ERRORS[int(k)] if k < 10.0 else _stirling_series(k + 1.0)


@part
def _binomial_attempt(u: Any, own: Any, count: int, value: Any, done: Any, spare: Any, bits: Any) -> None:
    n, mean, a, b, quickly, factor = own[0], own[1], own[2], own[3], own[4], own[5]
    spread, mode, odds, at_mode, error = own[6], own[7], own[8], own[9], own[10]
    u1, u2 = u[0], u[1]
    height, to_mode, from_mode, where = spare[0], spare[1], spare[2], bits[3]
    for i in range(count):
        centred = u1[i] - 0.5
        us = 0.5 - abs(centred)
        value[i] = np.floor((2.0 * a[i] / us + b[i]) * centred + mean[i] + 0.5)
    for i in range(count):
        us = 0.5 - abs(u1[i] - 0.5)
        quick = (us >= 0.07) & (u2[i] <= quickly[i])
        possible = (value[i] >= 0.0) & (value[i] <= n[i])
        done[i] = (int8(1) if quick else int8(2)) if possible else int8(0)
    found = _undecided(done, count, where)
    for m in range(found):
        i = where[m]
        k, us = value[i], 0.5 - abs(u1[i] - 0.5)
        height[m] = u2[i] * factor[i] * spread[i] / (a[i] / (us * us) + b[i])
        to_mode[m] = (n[i] - mode[i] + 1.0) / (n[i] - k + 1.0)
        from_mode[m] = odds[i] * (n[i] - k + 1.0) / (k + 1.0)
    logs_in_place(height, height.view(np.int64), found)
    logs_in_place(to_mode, to_mode.view(np.int64), found)
    logs_in_place(from_mode, from_mode.view(np.int64), found)
    for m in range(found):
        i = where[m]
        k = value[i]
        bound = at_mode[i] + (n[i] + 1.0) * to_mode[m] + (k + 0.5) * from_mode[m] + error[i]
        bound = bound - (_stirling_error(k) + _stirling_error(n[i] - k))
        done[i] = int8(1) if height[m] <= bound else int8(0)


@compiled_loop
def _log_gamma(block: Any, out: Any) -> int:
    return until_accepted(_gamma_attempt, 2, block, out)


@compiled_loop
def _poisson(block: Any, out: Any) -> int:
    return until_accepted(_poisson_attempt, 2, block, out)


@compiled_loop
def _binomial(block: Any, out: Any) -> int:
    return until_accepted(_binomial_attempt, 2, block, out)


@compiled_loop
def _binomial_search(u: Any, first: Any, n: Any, odds: Any, out: Any) -> None:
    several, other_n, other_odds = first.size > 1, n.size > 1, odds.size > 1
    for i in range(u.size):
        mass = first[i if several else 0]
        trials, ratio = n[i if other_n else 0], odds[i if other_odds else 0]
        total, k = mass, 0.0
        while u[i] >= total and mass > 0.0:
            k += 1.0
            mass = mass * ((trials + 1.0 - k) / k * ratio)
            total = total + mass
        out[i] = k


@compiled_loop
def _poisson_search(u: Any, first: Any, mean: Any, out: Any) -> None:
    several = mean.size > 1
    for i in range(u.size):
        mass, rate = (first[i], mean[i]) if several else (first[0], mean[0])
        total, k = mass, 0.0
        while u[i] >= total and mass > 0.0:
            k += 1.0
            mass = mass * (rate / k)
            total = total + mass
        out[i] = k


def log_gamma(draws: Draws, d: Any, c: Any, log_d: Any) -> Any:
    """The logarithms of gamma numbers: see `nbm_xp.rng.distributions.rejection`."""
    return each_until_accepted(_log_gamma, draws, _SCALE, "float64", d, c, log_d)


def poisson(draws: Draws, *constants: Any) -> Any:
    """Poisson numbers of large means: see `nbm_xp.rng.distributions.rejection`."""
    return each_until_accepted(_poisson, draws, _SCALE, "float64", *constants)


def binomial(draws: Draws, *constants: Any) -> Any:
    """Binomial numbers, neither of few successes nor of few failures: see `nbm_xp.rng.distributions.rejection`."""
    return each_until_accepted(_binomial, draws, _SCALE, "float64", *constants)


def binomial_search(u: Any, first: Any, n: Any, odds: Any) -> Any:
    """Binomial numbers of few successes: see `nbm_xp.rng.distributions.rejection`."""
    out = np.empty(u.shape)
    _binomial_search(u, contiguous(first), contiguous(n), contiguous(odds), out)
    return out


def poisson_search(u: Any, first: Any, mean: Any) -> Any:
    """Poisson numbers of small means: see `nbm_xp.rng.distributions.rejection`."""
    out = np.empty(u.shape)
    _poisson_search(u, contiguous(first), contiguous(mean), out)
    return out
