"""The distributions whose elements are drawn each on its own: one table.

Contract: read down, the table says what each distribution takes, what is allowed, how a number
is made and who published that. A sampler takes the uniforms of some elements and float64 parameters of shape (count,)
or (1,), and gives a number for each element; see `element_uniforms` for which uniforms those are.

References
----------
.. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, chapter 2, for inversion.
.. [2] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
   (1988), 477-484.
.. [3] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
   Software 26 (2000), 363-372.
.. [4] W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics
   and Economics 12 (1993), 39-45.
.. [5] W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46
   (1993), 101-110.

The others are in the chapters `ratios`, `tails` and `counting`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..rules import (
    ABOVE_ONE,
    BELOW_ONE,
    FINITE,
    LARGEST_MEAN,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    RATE,
    SOME_PROBABILITY,
    TRIALS,
    Rule,
)
from . import counting, inversion, ratios, rejection, tails
from .element_uniforms import ElementUniforms

__all__ = ["DISTRIBUTIONS", "Distribution"]


@dataclass(frozen=True)
class Distribution:
    """How the numbers of one distribution are made.

    Parameters
    ----------
    rules : dict
        What each parameter must be, in the order in which the sampler takes them.
    sample : callable
        ``sample(uniforms, *parameters)`` gives a float64 array of shape (count,).
    method : str
        How, with a reference to the list above.
    steps : {"few", "many"}
        How many operations follow one another: arrays of many are best kept in the processor's caches.
    kind : {"real", "share", "tail", "count"}
        Real numbers that grow with the parameters, which then are to be finite in the dtype asked for; numbers from
        0 to 1; numbers of which some may be beyond that dtype, and are infinite then; or counts, which it is to hold.
    together : Rule, optional
        What the parameters must be to one another; it takes all of them.
    """

    rules: dict[str, Rule]
    sample: Callable[..., Any]
    method: str
    steps: Literal["few", "many"] = "few"
    kind: Literal["real", "share", "tail", "count"] = "real"
    together: Rule | None = None


def _scaled_and_shifted(inverse: Callable[[ElementUniforms], Any]) -> Callable[..., Any]:
    """A sampler of standard numbers, a location and a scale."""

    def sample(uniforms: ElementUniforms, loc: Any, scale: Any) -> Any:
        return inverse(uniforms) * scale + loc

    return sample


def _scaled_exponential(uniforms: ElementUniforms, scale: Any) -> Any:
    return inversion.exponential(uniforms) * scale


def _is_ascending(left: Any, mode: Any, right: Any) -> Any:
    return (left <= mode) & (mode <= right) & (left < right) & (0.5 * right - 0.5 * left < _HALF_OF_ALL)


def _is_sparse(n: Any, p: Any) -> Any:
    mean = n * (1.0 - p)
    return mean + 10.0 * mean**0.5 <= LARGEST_MEAN * p


def _is_enough(ngood: Any, nbad: Any, nsample: Any) -> Any:
    return (nsample <= ngood + nbad) & (ngood + nbad <= 2**53)


_HALF_OF_ALL: Final = 2.0**1022
ASCENDING: Final = Rule("in ascending order and a finite distance apart, the first less than the last", _is_ascending)
FEW_FAILURES: Final = Rule(f"so that {LARGEST_MEAN:g} failures are hardly to be expected", _is_sparse)
ENOUGH: Final = Rule("so that the last is no more than the first two together, which are at most 2**53", _is_enough)

_LINE: Final = {"loc": FINITE, "scale": NOT_NEGATIVE}

DISTRIBUTIONS: Final[dict[str, Distribution]] = {
    "exponential": Distribution({"scale": NOT_NEGATIVE}, _scaled_exponential, "inversion [1]"),
    "laplace": Distribution(_LINE, _scaled_and_shifted(inversion.laplace), "inversion [1]"),
    "logistic": Distribution(_LINE, _scaled_and_shifted(inversion.logistic), "inversion [1]"),
    "gumbel": Distribution(_LINE, _scaled_and_shifted(inversion.gumbel), "inversion [1]"),
    "truncated_normal": Distribution(
        _LINE, _scaled_and_shifted(inversion.truncated_normal_number), "inversion, AS 241 [2]", "many"
    ),
    "gamma": Distribution({"shape": NOT_NEGATIVE, "scale": NOT_NEGATIVE}, rejection.gamma, "rejection [3]", "many"),
    "beta": Distribution({"a": POSITIVE, "b": POSITIVE}, rejection.beta, "two gamma numbers [3]", "many", "share"),
    "poisson": Distribution({"lam": RATE}, rejection.poisson, "search below 10, else PTRS [4]", "many", "count"),
    "binomial": Distribution(
        {"n": TRIALS, "p": PROBABILITY},
        rejection.large_binomial,
        "search below 10 expected, else BTRS [5]",
        "many",
        "count",
    ),
    "chisquare": Distribution({"df": POSITIVE}, ratios.chi_squared, "gamma numbers", "many"),
    "noncentral_chisquare": Distribution(
        {"df": POSITIVE, "nonc": NOT_NEGATIVE}, ratios.noncentral_chi_squared, "normal and gamma numbers", "many"
    ),
    "f": Distribution({"dfnum": POSITIVE, "dfden": POSITIVE}, ratios.f, "two gamma numbers", "many", "tail"),
    "noncentral_f": Distribution(
        {"dfnum": POSITIVE, "dfden": POSITIVE, "nonc": NOT_NEGATIVE},
        ratios.noncentral_f,
        "normal and gamma numbers",
        "many",
        "tail",
    ),
    "standard_t": Distribution({"df": POSITIVE}, ratios.student_t, "normal and gamma numbers", "many", "tail"),
    "standard_cauchy": Distribution({}, tails.cauchy, "inversion", "many", "tail"),
    "lognormal": Distribution(
        {"mean": FINITE, "sigma": NOT_NEGATIVE}, tails.lognormal, "Box and Muller", "many", "tail"
    ),
    "pareto": Distribution({"a": POSITIVE}, tails.pareto, "inversion", "many", "tail"),
    "power": Distribution({"a": POSITIVE}, tails.power, "inversion", "many", "share"),
    "weibull": Distribution({"a": NOT_NEGATIVE}, tails.weibull, "inversion", "many", "tail"),
    "rayleigh": Distribution({"scale": NOT_NEGATIVE}, tails.rayleigh, "inversion", "many"),
    "triangular": Distribution(
        {"left": FINITE, "mode": FINITE, "right": FINITE}, tails.triangular, "inversion", "many", "real", ASCENDING
    ),
    "wald": Distribution({"mean": POSITIVE, "scale": POSITIVE}, tails.wald, "one of two roots", "many", "tail"),
    "vonmises": Distribution({"mu": FINITE, "kappa": NOT_NEGATIVE}, tails.vonmises, "rejection", "many", "share"),
    "geometric": Distribution({"p": SOME_PROBABILITY}, counting.geometric, "inversion", "many", "count"),
    "negative_binomial": Distribution(
        {"n": POSITIVE, "p": SOME_PROBABILITY},
        counting.negative_binomial,
        "Poisson numbers of gamma means",
        "many",
        "count",
        FEW_FAILURES,
    ),
    "hypergeometric": Distribution(
        {"ngood": TRIALS, "nbad": TRIALS, "nsample": TRIALS},
        counting.hypergeometric,
        "ratio of uniforms",
        "many",
        "count",
        ENOUGH,
    ),
    "logseries": Distribution({"p": BELOW_ONE}, counting.logarithmic, "geometric of a random share", "many", "count"),
    "zipf": Distribution({"a": ABOVE_ONE}, counting.zipf, "rejection", "many", "count"),
}
