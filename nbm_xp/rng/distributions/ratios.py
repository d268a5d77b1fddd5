"""Numbers made of gamma and normal numbers: chi-squared, F and Student's, central or not.

Contract: quotients are made of logarithms, so that parameters near 0 lose none of them; what is
beyond all doubles is infinite. All parameters are float64 arrays of shape (count,) or (1,).

References
----------
.. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 2, second edition,
   Wiley, 1995, chapters 27 to 30: what these numbers are made of.
"""

from __future__ import annotations

from typing import Any, Final

from nbm_xp.namespace import array_namespace

from ..elementary import log
from .element_uniforms import ElementUniforms
from .fine_uniforms import grown, normal_number, root
from .rejection import any_of, gamma, log_gamma, poisson

__all__ = [
    "central_and_shift", "chi_squared", "f", "log_mean_over", "noncentral_chi_squared", "noncentral_f", "student_t",
    "within",
]  # fmt: skip

_LEAST, _MOST = 2.0**-1000, 2.0**800
_WIDE: Final = 1e15
"""Next to so much noncentrality, the degrees of freedom below 1 are lost in rounding."""


def within(x: Any) -> Any:
    """A number, brought to where its logarithm and what is made of it are finite."""
    xp = array_namespace(x)
    return xp.minimum(xp.maximum(x, _LEAST), _MOST)


def log_mean_over(uniforms: ElementUniforms, df: Any) -> Any:
    """The logarithm of the degrees of freedom over a chi-squared number of as many."""
    half = within(0.5 * df)
    return log(half) - log_gamma(uniforms, half)


def chi_squared(uniforms: ElementUniforms, df: Any) -> Any:
    """Twice gamma numbers of half the shape [1]_."""
    xp = array_namespace(df)
    return 2.0 * gamma(uniforms, 0.5 * df, xp.ones_like(df))


def central_and_shift(uniforms: ElementUniforms, df: Any, nonc: Any) -> tuple[Any, Any]:
    """The degrees of freedom of the central number in a noncentral chi-squared one, and what is added to it."""
    xp = array_namespace(df, nonc)
    direct = (df > 1.0) | (nonc > _WIDE)
    left, apart = xp.maximum(df - 1.0, 0.0), 0.0
    if any_of(xp, ~direct):
        events = poisson(uniforms.every(1, 2), 0.5 * xp.where(direct, 1.0, nonc))
        left = xp.where(direct, left, df + 2.0 * events)
    if any_of(xp, direct):
        z = normal_number(uniforms.every(1, 2)) + root(nonc)
        apart = xp.where(direct, z * z, 0.0)
    return left, apart


def noncentral_chi_squared(uniforms: ElementUniforms, df: Any, nonc: Any) -> Any:
    """The square of a normal number and a chi-squared number [1]_; below 1 degree of freedom a Poisson mixture."""
    left, apart = central_and_shift(uniforms, df, nonc)
    return chi_squared(uniforms.every(0, 2), left) + apart


def f(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    """Quotients of mean squares [1]_."""
    above, below = log_mean_over(uniforms.every(0, 2), dfnum), log_mean_over(uniforms.every(1, 2), dfden)
    return grown(below - above)


def noncentral_f(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    """Quotients of mean squares, of which the first is noncentral [1]_."""
    xp = array_namespace(dfnum, nonc)
    x = noncentral_chi_squared(uniforms.every(0, 2), dfnum, nonc)
    some = x > 0.0
    size = log(within(xp.where(some, x, 1.0))) - log(within(dfnum)) + log_mean_over(uniforms.every(1, 2), dfden)
    return xp.where(some, grown(size), 0.0)


def student_t(uniforms: ElementUniforms, df: Any) -> Any:
    """Normal numbers over the roots of mean squares [1]_."""
    z = normal_number(uniforms.every(1, 2))
    xp = array_namespace(z)
    size = xp.abs(z)
    some = size > 0.0
    t = grown(log(xp.where(some, size, 1.0)) + 0.5 * log_mean_over(uniforms.every(0, 2), df))
    return xp.where(some, xp.where(z < 0.0, -t, t), 0.0)
