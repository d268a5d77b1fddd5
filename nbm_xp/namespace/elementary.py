"""Elementary functions and the normal quantile of float64 arrays, with the same bits on every library.

Contract: results depend only on operations that IEEE 754 determines to the last bit, so that a draw that uses these
functions is the same on every library and processor, now and later. They agree with the libraries' own functions to
within one unit in the last place. The polynomials are those of `nbm_xp.namespace.mrg31k3p.approximations`.

A library's own logarithm is used to guess an exponent, which is then corrected; it does not affect the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, Final

from nbm_xp.namespace import array_namespace, asarray, dtype_of, host_namespace
from nbm_xp.namespace.mrg31k3p import approximations as parts
from nbm_xp.namespace.mrg31k3p import kernel

_BEYOND_TWO_SIGMA: Final = 0.022750131948179207  # one-sided probability of more than two standard deviations
_LOWEST: Final = -1022
_LEAST, _MOST = -708.0, 709.0
_ROOT_TWO_LESS_ONE: Final = 0.41421356237309503
_ARCTANGENTS: Final = tuple((-1.0) ** (odd // 2) / odd for odd in range(41, 1, -2))


def _with_kernel(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function, replaced by the library's kernel of its name if there is one."""

    @wraps(function)
    def computed(x: Any) -> Any:
        own = kernel("rng.elementwise", array_namespace(x))
        return function(x) if own is None else own(function.__name__, x)

    return computed


@lru_cache(maxsize=1)
def _powers() -> Any:
    """Return the powers of two from 2**-1022 to 2**1023."""
    return asarray([2.0**k for k in range(_LOWEST, 1024)], host_namespace())


def _looked_up(xp: Any, table: Any, index: Any) -> Any:
    """Return the entries of a table at some indices, in the shape of these."""
    places = xp.reshape(xp.astype(index, dtype_of(xp, "int64")), (-1,))
    return xp.reshape(xp.take(asarray(table, xp), places, axis=0), index.shape)


@_with_kernel
def log(x: Any) -> Any:
    """Return the natural logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> log(np.asarray([0.5, 1.0, 10.0]))
    array([-0.69314718,  0.        ,  2.30258509])
    """
    xp = array_namespace(x)
    k = xp.round(xp.log2(x))
    m = x * _looked_up(xp, _powers(), -k - _LOWEST)
    for wrong, factor, step in ((m >= parts.ROOT_TWO, 0.5, 1.0), (m < 0.5 * parts.ROOT_TWO, 2.0, -1.0)):
        m, k = xp.where(wrong, m * factor, m), xp.where(wrong, k + step, k)
    return parts.log_from_parts(m - 1.0, k)


@_with_kernel
def sqrt(x: Any) -> Any:
    """Return the square root, rounded as in IEEE 754; the library's own, which may not be, is the first guess.

    Examples
    --------
    >>> import numpy as np
    >>> sqrt(np.asarray([0.0, 2.0, 9.0]))
    array([0.        , 1.41421356, 3.        ])
    """
    xp = array_namespace(x)
    root = xp.sqrt(x)
    shifted = root * 134217729.0
    high = shifted - (shifted - root)
    low = root - high
    square = root * root
    lost = ((high * high - square) + 2.0 * (high * low)) + low * low
    lack = (x - square) - lost
    return root + xp.where(root > 0.0, lack / xp.where(root > 0.0, 2.0 * root, 1.0), 0.0)


@_with_kernel
def exp(x: Any) -> Any:
    """Return the exponential.

    Examples
    --------
    >>> import numpy as np
    >>> exp(np.asarray([-1000.0, 0.0, 1.0]))
    array([0.        , 1.        , 2.71828183])
    """
    xp = array_namespace(x)
    inside = xp.minimum(xp.maximum(x, _LEAST), _MOST)
    k = xp.round(inside * 1.44269504088896338700e00)
    value = parts.exp_near_zero(inside - k * parts.LN2_HIGH, k * parts.LN2_LOW) * _looked_up(xp, _powers(), k - _LOWEST)
    return xp.where(x < _LEAST, 0.0, value)


def quotient(a: Any, b: Any) -> Any:
    """Return the quotients of the elements of two arrays, rounded once, as in IEEE 754.

    Examples
    --------
    >>> import numpy as np
    >>> quotient(np.asarray([1.0, 2.0, 3.0]), np.asarray([4.0]))
    array([0.25, 0.5 , 0.75])
    """
    return a / (b if a.shape[0] == 1 else array_namespace(a).broadcast_to(b, a.shape))


def expm1(x: Any) -> Any:
    """Return the exponential minus 1, with the relative accuracy of `x` near 0.

    Examples
    --------
    >>> import numpy as np
    >>> expm1(np.asarray([-1e-20, 1e-9, 1.0]))
    array([-1.00000000e-20,  1.00000000e-09,  1.71828183e+00])
    """
    xp = array_namespace(x)
    grown = exp(x)
    near = xp.abs(x) < 0.5
    beside = near & (grown != 1.0)
    corrected = (grown - 1.0) * (x / log(xp.where(beside, grown, 2.0)))
    return xp.where(near, xp.where(beside, corrected, x), grown - 1.0)


def log1p(x: Any) -> Any:
    """Return the logarithm of ``1 + x``, with the relative accuracy of `x` near 0: see `expm1`.

    Examples
    --------
    >>> import numpy as np
    >>> log1p(np.asarray([-1e-20, 1e-9, 1.0]))
    array([-1.00000000e-20,  9.99999999e-10,  6.93147181e-01])
    """
    xp = array_namespace(x)
    whole = 1.0 + x
    kept = whole - 1.0
    return xp.where(kept == 0.0, x, log(whole) * (x / xp.where(kept == 0.0, 1.0, kept)))


def series_in(z: Any, coefficients: Sequence[float]) -> Any:
    """Return a power series without a constant term; the last coefficient is that of `z`.

    Examples
    --------
    >>> series_in(2.0, (0.5, 3.0))
    8.0
    """
    series = z * coefficients[0]
    for coefficient in coefficients[1:]:
        series = (series + coefficient) * z
    return series


def arctan(x: Any) -> Any:
    """Return the arc tangent, in radians from -pi/2 to pi/2.

    Examples
    --------
    >>> import numpy as np
    >>> arctan(np.asarray([-1.0, 0.25, 1e9]))
    array([-0.78539816,  0.24497866,  1.57079633])
    """
    xp = array_namespace(x)
    size = xp.abs(x)
    steep = size > 1.0
    t = xp.where(steep, 1.0 / xp.where(steep, size, 1.0), size)
    turned = t > _ROOT_TWO_LESS_ONE
    t = xp.where(turned, (t - 1.0) / (t + 1.0), t)
    z = t * t
    angle = t + t * series_in(z, _ARCTANGENTS)
    angle = xp.where(turned, parts.HALF_PI_HIGH / 2 + (angle + parts.HALF_PI_LOW / 2), angle)
    angle = xp.where(steep, parts.HALF_PI_HIGH - (angle - parts.HALF_PI_LOW), angle)
    return xp.where(x < 0.0, -angle, angle)


def _wave(x: Any, shift: int) -> Any:
    xp = array_namespace(x)
    quarters = xp.round(x * 0.6366197723675814)
    r = (x - quarters * parts.HALF_PI_HIGH) - quarters * parts.HALF_PI_LOW
    phase = (quarters + shift) % 4.0
    value = xp.where(phase % 2.0 == 0.0, parts.sine_near_zero(r), parts.cosine_near_zero(r))
    return xp.where(phase >= 2.0, -value, value)


def sin(x: Any) -> Any:
    """Return the sine.

    Examples
    --------
    >>> import numpy as np
    >>> sin(np.asarray([0.0, 0.5, 3.0]))
    array([0.        , 0.47942554, 0.14112001])
    """
    return _wave(x, 0)


def cos(x: Any) -> Any:
    """Return the cosine.

    Examples
    --------
    >>> import numpy as np
    >>> cos(np.asarray([0.0, 0.5, 3.0]))
    array([ 1.        ,  0.87758256, -0.9899925 ])
    """
    return _wave(x, 1)


@_with_kernel
def normal_quantile(p: Any) -> Any:
    """Return the standard normal quantiles of probabilities, a float64 array [3]_.

    Examples
    --------
    >>> import numpy as np
    >>> normal_quantile(np.asarray([0.5, 0.975]))
    array([0.        , 1.95996398])
    """
    xp = array_namespace(p)
    tail = xp.maximum(xp.minimum(p, 1.0 - p), parts.LEAST_TAIL)
    root = sqrt(-log(tail))
    is_far = root > parts.FAR_TAIL
    far = parts.far_quantile(xp.where(is_far, root, parts.FAR_TAIL) - parts.FAR_TAIL)
    near = _near_quantile(xp.where(is_far, 0.5, p), log, sqrt)
    return xp.where(is_far, xp.where(p < 0.5, -far, far), near)


def _near_quantile(p: Any, log: Callable[[Any], Any] | None = None, sqrt: Callable[[Any], Any] | None = None) -> Any:
    """Return the normal quantiles of probabilities from exp(-25) to 1 - exp(-25)."""
    xp = array_namespace(p)
    q = p - 0.5
    middle = xp.abs(q) <= parts.HALF_WIDTH
    near = q * parts.central_quantile(parts.HALF_WIDTH**2 - xp.where(middle, q * q, 0.0))
    outside = xp.where(middle, 0.05, xp.minimum(p, 1.0 - p))
    far = parts.outer_quantile((sqrt or xp.sqrt)(-(log or xp.log)(outside)) - 1.6)
    return xp.where(middle, near, xp.where(q < 0, -far, far))


def truncated_normal(u: Any, quantile: Callable[[Any], Any] = _near_quantile) -> Any:
    """Return standard normal numbers truncated at two standard deviations, as an increasing function of uniforms.

    `quantile` is the normal quantile function; the default uses the library's own functions, in any dtype.

    Examples
    --------
    >>> import numpy as np
    >>> truncated_normal(np.asarray([0.0, 0.5, 1.0])).round(12).tolist()
    [-2.0, 0.0, 2.0]
    """
    xp = array_namespace(u)
    z = quantile(_BEYOND_TWO_SIGMA + u * (1.0 - 2.0 * _BEYOND_TWO_SIGMA))
    return xp.minimum(xp.maximum(z, -2.0), 2.0)


def _below_ten(k: Any, table: Sequence[float], otherwise: Any) -> Any:
    """Return the entries of a table for integers below 10, and other values for larger integers."""
    xp = array_namespace(k)
    found = _looked_up(xp, asarray(list(table), host_namespace()), xp.minimum(k, 9.0))
    return xp.where(k < 10.0, found, otherwise)


def log_factorial(k: Any) -> Any:
    """Return the logarithm of the factorial of integers.

    Examples
    --------
    >>> import numpy as np
    >>> log_factorial(np.asarray([0.0, 4.0, 20.0]))
    array([ 0.        ,  3.17805383, 42.33561646])
    """
    xp = array_namespace(k)
    large = xp.maximum(k, 10.0)
    value = (large + 0.5) * log(large) - large + (parts.HALF_LOG_TWO_PI + parts.stirling_series(large))
    return _below_ten(k, parts.LOG_FACTORIALS, value)


def stirling_error(k: Any) -> Any:
    """Return ``log(k!)`` less Stirling's formula written in ``k + 1``: see `log_factorial`.

    Examples
    --------
    >>> import numpy as np
    >>> stirling_error(np.asarray([0.0, 10.0])).round(6)
    array([0.081061, 0.007574])
    """
    xp = array_namespace(k)
    return _below_ten(k, parts.STIRLING_ERRORS, parts.stirling_series(xp.maximum(k, 9.0) + 1.0))
