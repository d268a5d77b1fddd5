"""The distributions whose elements are drawn each on its own: one table.

What this chapter must satisfy: read down, the table says what each distribution takes, what is allowed, how a number
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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..rules import FINITE, NOT_NEGATIVE, POSITIVE, PROBABILITY, RATE, TRIALS, Rule
from . import inversion, rejection
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
    kind : {"real", "share", "count"}
        Real numbers that grow with the parameters, which then are to be finite in the dtype asked for; numbers from
        0 to 1; or counts, which it is to hold.
    """

    rules: dict[str, Rule]
    sample: Callable[..., Any]
    method: str
    steps: Literal["few", "many"] = "few"
    kind: Literal["real", "share", "count"] = "real"


def _stretched(inverse: Callable[[Any], Any]) -> Callable[..., Any]:
    """A sampler of one uniform, a location and a scale."""

    def sample(uniforms: ElementUniforms, loc: Any, scale: Any) -> Any:
        return inverse(uniforms.uniform(0)) * scale + loc

    return sample


def _scaled_exponential(uniforms: ElementUniforms, scale: Any) -> Any:
    return inversion.exponential(uniforms.uniform(0)) * scale


def _truncated_normal(uniforms: ElementUniforms, loc: Any, scale: Any) -> Any:
    own = uniforms.own("truncated_normals")
    return (inversion.truncated_normal_number(uniforms.uniform(0)) if own is None else own()) * scale + loc


_LINE: Final = {"loc": FINITE, "scale": NOT_NEGATIVE}

DISTRIBUTIONS: Final[dict[str, Distribution]] = {
    "exponential": Distribution({"scale": NOT_NEGATIVE}, _scaled_exponential, "inversion [1]"),
    "laplace": Distribution(_LINE, _stretched(inversion.laplace), "inversion [1]"),
    "logistic": Distribution(_LINE, _stretched(inversion.logistic), "inversion [1]"),
    "gumbel": Distribution(_LINE, _stretched(inversion.gumbel), "inversion [1]"),
    "truncated_normal": Distribution(_LINE, _truncated_normal, "inversion, AS 241 [2]", "many"),
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
}
