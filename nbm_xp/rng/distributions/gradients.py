"""The distributions of the table with derivatives in their parameters.

Contract: each entry is a sampler, which takes the uniforms and parameters that the distribution's own takes and gives,
for each number that it makes of them, the derivative of the number in one parameter. So that too is drawn anywhere,
block by block. The derivative of a function's expectation is the expectation of its derivative times this one.

References
----------
.. [1] M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", Advances in Neural Information
   Processing Systems 31 (2018).
.. [2] M. Jankowiak and F. Obermeyer, "Pathwise derivatives beyond the reparameterization trick", Proceedings of the
   35th International Conference on Machine Learning (2018), 2235-2244: Dirichlet's distribution by its beta marginals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nbm_xp.namespace import array_namespace, dtype_of

from ..elementary import exp, log, quotient
from . import ratios, rejection, tails
from .derivatives import (
    log_gamma_in_shape,
    logit_beta_in_a,
    noncentral_chi_squared_in_nonc,
    vonmises_in_kappa,
    wald_in_mean,
)
from .element_uniforms import ElementUniforms
from .fine_uniforms import exponential_number, grown, normal_number
from .rejection import log_gamma
from .table import DISTRIBUTIONS

__all__ = ["DERIVATIVES", "is_linear"]

_STANDARD: Final = {"loc": 0.0, "scale": 1.0}
_LINES: Final = ("exponential", "gumbel", "laplace", "logistic", "rayleigh", "truncated_normal")
_SMALLEST: Final = 1e-100


def is_linear(name: str, parameters: tuple[str, ...]) -> bool:
    """Whether a distribution's numbers are linear functions of some of its parameters, the others being fixed.

    Examples
    --------
    >>> is_linear("gamma", ("scale",)), is_linear("gamma", ("shape", "scale"))
    (True, False)
    """
    return name in _LINES or (name, *parameters) in (("gamma", "scale"), ("vonmises", "mu"))


def _standard(name: str) -> Callable[..., Any]:
    """The derivative in the scale: numbers of location 0 and scale 1."""

    def sample(uniforms: ElementUniforms, *parameters: Any) -> Any:
        distribution = DISTRIBUTIONS[name]
        named = zip(distribution.rules, parameters, strict=True)
        values = (array_namespace(v).full_like(v, _STANDARD[p]) if p in _STANDARD else v for p, v in named)
        return distribution.sample(uniforms, *values)

    return sample


def _ones(uniforms: ElementUniforms, *parameters: Any) -> Any:
    """The derivative in the location."""
    xp = uniforms.xp
    return xp.ones((uniforms.count,), dtype=dtype_of(xp, "float64"))


def _log_gamma_in_shape(uniforms: ElementUniforms, shape: Any) -> Any:
    return log_gamma_in_shape(shape, log_gamma(uniforms, shape))


def _gamma_in_shape(uniforms: ElementUniforms, shape: Any, scale: Any) -> Any:
    xp = array_namespace(shape)
    none = shape == 0.0
    positive = xp.where(none, 1.0, shape)
    y = log_gamma(uniforms, positive)
    return xp.where(none, 0.0, exp(y) * log_gamma_in_shape(positive, y)) * scale


def _beta(uniforms: ElementUniforms, a: Any, b: Any, *, in_a: bool) -> Any:
    xp, logit = array_namespace(a, b), -rejection.log_odds_against_beta(uniforms, a, b)
    tail = exp(-xp.abs(logit))
    slope = logit_beta_in_a(a, b, logit) if in_a else -logit_beta_in_a(b, a, -logit)
    return tail / ((1.0 + tail) * (1.0 + tail)) * slope


def _beta_in_a(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    return _beta(uniforms, a, b, in_a=True)


def _beta_in_b(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    return _beta(uniforms, a, b, in_a=False)


def _chi_squared_in_df(uniforms: ElementUniforms, df: Any) -> Any:
    return _gamma_in_shape(uniforms, 0.5 * df, array_namespace(df).ones_like(df))


def _noncentral_chi_squared_in_df(uniforms: ElementUniforms, df: Any, nonc: Any) -> Any:
    central, _ = ratios.central_and_shift(uniforms, df, nonc)
    return _chi_squared_in_df(uniforms.every(0, 2), central)


def _noncentral_chi_squared_in_nonc(uniforms: ElementUniforms, df: Any, nonc: Any) -> Any:
    return noncentral_chi_squared_in_nonc(df, nonc, ratios.noncentral_chi_squared(uniforms, df, nonc))


def _log_mean_over_in_df(uniforms: ElementUniforms, df: Any) -> Any:
    """The derivative of the logarithm of the degrees of freedom over a chi-squared number of as many."""
    half = ratios.within(0.5 * df)
    return 0.5 * (1.0 / half - _log_gamma_in_shape(uniforms, half))


def _f_in_dfnum(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    return -ratios.f(uniforms, dfnum, dfden) * _log_mean_over_in_df(uniforms.every(0, 2), dfnum)


def _f_in_dfden(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    return ratios.f(uniforms, dfnum, dfden) * _log_mean_over_in_df(uniforms.every(1, 2), dfden)


def _over_mean(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    """What a noncentral chi-squared number is multiplied by, for one of the noncentral F distribution."""
    return grown(ratios.log_mean_over(uniforms.every(1, 2), dfden) - log(ratios.within(dfnum)))


def _noncentral_f_in_dfnum(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    own = uniforms.every(0, 2)
    x, slope = (of(own, dfnum, nonc) for of in (ratios.noncentral_chi_squared, _noncentral_chi_squared_in_df))
    return _over_mean(uniforms, dfnum, dfden) * (slope - x / dfnum)


def _noncentral_f_in_dfden(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    return ratios.noncentral_f(uniforms, dfnum, dfden, nonc) * _log_mean_over_in_df(uniforms.every(1, 2), dfden)


def _noncentral_f_in_nonc(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    slope = _noncentral_chi_squared_in_nonc(uniforms.every(0, 2), dfnum, nonc)
    return _over_mean(uniforms, dfnum, dfden) * slope


def _student_t_in_df(uniforms: ElementUniforms, df: Any) -> Any:
    return 0.5 * ratios.student_t(uniforms, df) * _log_mean_over_in_df(uniforms.every(0, 2), df)


def _lognormal_in_sigma(uniforms: ElementUniforms, mean: Any, sigma: Any) -> Any:
    return tails.lognormal(uniforms, mean, sigma) * normal_number(uniforms)


def _exponent(uniforms: ElementUniforms, a: Any) -> Any:
    """How much less the exponent of a Pareto number is for a greater shape, and that of a power more."""
    a = array_namespace(a).maximum(a, _SMALLEST)
    return quotient(quotient(exponential_number(uniforms), a), a)


def _pareto_in_a(uniforms: ElementUniforms, a: Any) -> Any:
    return -(1.0 + tails.pareto(uniforms, a)) * _exponent(uniforms, a)


def _power_in_a(uniforms: ElementUniforms, a: Any) -> Any:
    return tails.power(uniforms, a) * _exponent(uniforms, a)


def _weibull_in_a(uniforms: ElementUniforms, a: Any) -> Any:
    shape = array_namespace(a).maximum(a, _SMALLEST)
    return -tails.weibull(uniforms, a) * quotient(quotient(log(exponential_number(uniforms)), shape), shape)


def _triangular(in_parameter: str) -> Callable[..., Any]:
    """The derivative in a bound or the mode: sides of similar triangles."""

    def sample(uniforms: ElementUniforms, left: Any, mode: Any, right: Any) -> Any:
        x = tails.triangular(uniforms, left, mode, right)
        xp = array_namespace(x)
        rising = x < mode
        near, far = xp.where(rising, left, right), xp.where(rising, right, left)
        apart = xp.where(mode == near, 1.0, mode - near)
        in_mode, in_far = 0.5 * (x - near) / apart, 0.5 * (x - near) / (far - near)
        if in_parameter == "mode":
            return in_mode
        return xp.where(rising == (in_parameter == "left"), 1.0 - in_mode - in_far, in_far)

    return sample


def _wald_in_mean(uniforms: ElementUniforms, mean: Any, scale: Any) -> Any:
    x = tails.wald(uniforms, mean, scale)
    return wald_in_mean(mean, scale, array_namespace(x).maximum(x, _SMALLEST))


def _wald_in_scale(uniforms: ElementUniforms, mean: Any, scale: Any) -> Any:
    return (tails.wald(uniforms, mean, scale) - mean * _wald_in_mean(uniforms, mean, scale)) / scale


def _vonmises_in_kappa(uniforms: ElementUniforms, mu: Any, kappa: Any) -> Any:
    return vonmises_in_kappa(kappa, tails.vonmises(uniforms, array_namespace(mu).zeros_like(mu), kappa))


DERIVATIVES: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "exponential": {"scale": _standard("exponential")},
    "rayleigh": {"scale": _standard("rayleigh")},
    **{name: {"loc": _ones, "scale": _standard(name)} for name in _LINES if "loc" in DISTRIBUTIONS[name].rules},
    "gamma": {"shape": _gamma_in_shape, "scale": _standard("gamma")},
    "beta": {"a": _beta_in_a, "b": _beta_in_b},
    "chisquare": {"df": _chi_squared_in_df},
    "noncentral_chisquare": {"df": _noncentral_chi_squared_in_df, "nonc": _noncentral_chi_squared_in_nonc},
    "f": {"dfnum": _f_in_dfnum, "dfden": _f_in_dfden},
    "noncentral_f": {
        "dfnum": _noncentral_f_in_dfnum,
        "dfden": _noncentral_f_in_dfden,
        "nonc": _noncentral_f_in_nonc,
    },
    "standard_t": {"df": _student_t_in_df},
    "lognormal": {"mean": tails.lognormal, "sigma": _lognormal_in_sigma},
    "pareto": {"a": _pareto_in_a},
    "power": {"a": _power_in_a},
    "weibull": {"a": _weibull_in_a},
    "triangular": {name: _triangular(name) for name in ("left", "mode", "right")},
    "wald": {"mean": _wald_in_mean, "scale": _wald_in_scale},
    "vonmises": {"mu": _ones, "kappa": _vonmises_in_kappa},
}
"""By the name of the distribution and of the parameter; counts have no derivatives."""
