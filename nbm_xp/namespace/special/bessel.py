"""Bessel functions of the orders 0 and 1 over `xp`: for libraries without functions of their own.

Two Chebyshev series each, on both sides of 8; beyond it Hankel's form (Abramowitz and Stegun, Handbook of Mathematical
Functions, 9.2.5 and 9.7.1).
"""

from __future__ import annotations

import math
from typing import Any

from . import coefficients as c
from .coefficients import chebyshev

__all__ = ["i0", "i0e", "i1", "i1e", "j0", "j1"]

_EDGE = 8.0


def _scaled(xp: Any, x: Any, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Any, Any, Any]:
    size = xp.abs(x)
    inside = size <= _EDGE
    close = chebyshev(near, xp.where(inside, size, 0.0) / 4.0 - 1.0)
    distant = xp.where(inside, 16.0, size)
    return inside, close, chebyshev(far, 16.0 / distant - 1.0) / xp.sqrt(distant)


def i0e(xp: Any, x: Any) -> Any:
    """``exp(-|x|)`` times the modified Bessel function of order 0."""
    return xp.where(*_scaled(xp, x, c.I0_NEAR, c.I0_FAR))


def i1e(xp: Any, x: Any) -> Any:
    """``exp(-|x|)`` times the modified Bessel function of order 1."""
    inside, close, far = _scaled(xp, x, c.I1_NEAR, c.I1_FAR)
    return xp.where(inside, x * close, xp.sign(x) * far)


def i0(xp: Any, x: Any) -> Any:
    """The modified Bessel function of order 0."""
    return _grown(xp, x, i0e(xp, x))


def i1(xp: Any, x: Any) -> Any:
    """The modified Bessel function of order 1."""
    return _grown(xp, x, i1e(xp, x))


def _grown(xp: Any, x: Any, scaled: Any) -> Any:
    """Times ``exp(|x|)``, which alone overflows before the product does."""
    half = xp.exp(0.5 * xp.abs(x))
    return xp.where(xp.isinf(x), x * xp.sign(scaled) * xp.sign(x) ** 2, scaled * half * half)


def _oscillating(xp: Any, x: Any, phase: float, p: tuple[float, ...], q: tuple[float, ...]) -> Any:
    t = 128.0 / (x * x) - 1.0
    cos, sin = xp.cos(x), xp.sin(x)
    # the phase, a multiple of pi / 4, by sums: x less it would lose digits
    c, s = math.cos(phase), math.sin(phase)
    return xp.sqrt(2.0 / (math.pi * x)) * (
        chebyshev(p, t) * (cos * c + sin * s) - chebyshev(q, t) / x * (sin * c - cos * s)
    )


def _bessel(xp: Any, x: Any, phase: float, near: Any, p: Any, q: Any) -> tuple[Any, Any, Any]:
    size = xp.abs(x)
    inside = size <= _EDGE
    s = xp.where(inside, size, 0.0)
    close = chebyshev(near, s * s / 32.0 - 1.0)
    endless = xp.isinf(x)
    far = _oscillating(xp, xp.where(inside | endless, 16.0, size), phase, p, q)
    return inside, close, xp.where(endless, 0.0, far)


def j0(xp: Any, x: Any) -> Any:
    """The Bessel function of order 0."""
    return xp.where(*_bessel(xp, x, math.pi / 4, c.J0_NEAR, c.J0_FAR_P, c.J0_FAR_Q))


def j1(xp: Any, x: Any) -> Any:
    """The Bessel function of order 1."""
    inside, close, far = _bessel(xp, x, 3 * math.pi / 4, c.J1_NEAR, c.J1_FAR_P, c.J1_FAR_Q)
    return xp.where(inside, x * close, xp.sign(x) * far)
