"""Every draw of a `Generator`, enumerated once: for the tests of bits, of promises and of statistics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nbm_xp.cli import digests
from nbm_xp.rng import Generator

__all__ = ["DRAWS", "LONG", "REAL", "VECTORS", "WITH_ARRAYS"]

SIZE = (4, 11)
# Draws with a last axis that is not part of the size
VECTORS = {"dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal"}
LAM = np.asarray([0.0, 0.3, 5.0, 12.0, 300.0, 1e6])
HUGE = np.asarray([1e10, 3.5, 1e17, 9e18])
P = np.asarray([[0.1], [0.5], [0.97]])
ROWS = np.asarray([[0.5, 0.25, 0.25, 0.0], [0.125, 0.125, 0.25, 0.5]])

Draw = Callable[..., Any]


def _draw(name: str, generator: Generator, dtype: str | None = None, **more: Any) -> Any:
    return digests.draw(generator, name, SIZE[1:] if name in VECTORS else SIZE, dtype, **more)


REAL: dict[str, Draw] = {name: partial(_draw, name, dtype="float32") for name in digests.REAL}
"""Real numbers, whose dtype may be asked for."""

DRAWS: dict[str, Draw] = (
    REAL
    | {name: partial(_draw, name) for name in digests.DRAWS if name not in REAL}
    | {
        "choice": lambda g, **k: g.choice(9, SIZE, **k),
        "choice, p": lambda g, **k: g.choice(3, SIZE, p=[0.25, 0.25, 0.5], **k),
        "choice, no replacement": lambda g, **k: g.choice(50, SIZE, replace=False, **k),
        "choice, p, no replacement": lambda g, **k: g.choice(4, 3, replace=False, p=[0.25, 0.25, 0.125, 0.375], **k),
        "permutation": lambda g, **k: g.permutation(20, **k),
    }
)
"""With parameters that are numbers: called with a generator, and ``chunks=`` where wanted."""

WITH_ARRAYS: dict[str, Callable[[Generator, Callable[[Any], Any]], Any]] = {
    "uniform": lambda g, a: g.uniform(a(-P), a(LAM)), "normal": lambda g, a: g.normal(a(LAM), a(P), (2, 3, 6)),
    "exponential": lambda g, a: g.exponential(a(P), (3, 4)), "laplace": lambda g, a: g.laplace(a(LAM), a(P)),
    "truncated_normal": lambda g, a: g.truncated_normal(a(LAM), a(P)), "gamma": lambda g, a: g.gamma(a(LAM), a(P)),
    "beta": lambda g, a: g.beta(a(P), a(np.asarray([0.1, 1.0, 30.0]))),
    "bernoulli": lambda g, a: g.bernoulli(a(P), (3, 5)),
    "integers": lambda g, a: g.integers(a(np.asarray([[-5], [0]])), a(np.asarray([1, 10, 2**35])), endpoint=True),
    "binomial": lambda g, a: g.binomial(a(np.asarray([0, 1, 17, 100, 10**6])), a(P)),
    "poisson": lambda g, a: g.poisson(a(LAM), (2, 6)), "gamma, huge": lambda g, a: g.gamma(a(HUGE), 1.0, (3, 4)),
    "beta, extreme": lambda g, a: g.beta(a(np.asarray([1e-300, 3.0, 1e308])), a(np.asarray([[1e-300], [1e300]]))),
    "binomial, huge": lambda g, a: g.binomial(a(np.asarray([2**53, 2**40, 30])), a(P * 1e-3), (4, 3, 3)),
    "poisson, huge": lambda g, a: g.poisson(a(HUGE), (3, 4)),
    "multinomial": lambda g, a: g.multinomial(a(np.asarray([[5], [1000]])), a(ROWS)),
    "categorical": lambda g, a: g.categorical(a(ROWS), (5, 2)),
    "choice": lambda g, a: g.choice(a(np.arange(12.0).reshape(3, 4)), (2, 3), axis=1),
    "choice, p": lambda g, a: g.choice(a(np.arange(3)), 2, False, a(np.asarray([0.5, 0.25, 0.25]))),
    "permutation": lambda g, a: g.permutation(a(np.arange(12.0).reshape(3, 4)), axis=-1),
    "permuted": lambda g, a: g.permuted(a(np.arange(12.0).reshape(3, 4)), axis=0),
    "permuted, all": lambda g, a: g.permuted(a(np.arange(12.0).reshape(3, 4))),
    "chisquare": lambda g, a: g.chisquare(a(10 * P), (3, 4)),
    "noncentral_chisquare": lambda g, a: g.noncentral_chisquare(a(10 * P), a(LAM)),
    "f": lambda g, a: g.f(a(10 * P), a(1 + LAM)), "noncentral_f": lambda g, a: g.noncentral_f(a(10 * P), 4.0, a(LAM)),
    "standard_t": lambda g, a: g.standard_t(a(P * 1e-3), (3, 5)), "lognormal": lambda g, a: g.lognormal(a(P), a(LAM)),
    "pareto": lambda g, a: g.pareto(a(P), (3, 4)), "power": lambda g, a: g.power(a(P), (3, 4)),
    "weibull": lambda g, a: g.weibull(a(LAM), (2, 6)), "rayleigh": lambda g, a: g.rayleigh(a(LAM), (2, 6)),
    "triangular": lambda g, a: g.triangular(a(-P), a(P), a(1 + LAM)),
    "wald": lambda g, a: g.wald(a(P), a(np.asarray([1e-300, 3.0, 1e300]))),
    "vonmises": lambda g, a: g.vonmises(a(P), a(np.asarray([0.0, 1e-300, 3.0, 1e9, 1e300]))),
    "geometric": lambda g, a: g.geometric(a(np.asarray([[1e-300], [0.5], [1.0]])), (3, 4)),
    "negative_binomial": lambda g, a: g.negative_binomial(a(10 * P), a(np.asarray([1e-9, 0.5, 1.0]))),
    "hypergeometric": lambda g, a: g.hypergeometric(a(np.asarray([[0], [5], [2**52]])), 2**51, a(np.asarray([0, 3]))),
    "logseries": lambda g, a: g.logseries(a(np.asarray([0.0, 1e-300, 0.5, 1 - 1e-15])), (3, 4)),
    "zipf": lambda g, a: g.zipf(a(np.asarray([1 + 1e-15, 1.01, 3.0, 1e300])), (3, 4)),
    "dirichlet": lambda g, a: g.dirichlet(a(np.asarray([[1e-300, 1e-5, 0.0], [1.0, 2.0, 1e300]])), (4, 2)),
    "multivariate_normal": lambda g, a: g.multivariate_normal(a(np.asarray([1.0, 2.0])), a(np.ones((2, 2))), 5),
    "multivariate_hypergeometric": lambda g, a: g.multivariate_hypergeometric(a(np.asarray([3, 2**40, 0])), 2**30, 5),
}  # fmt: skip
"""With parameters that are arrays, of whatever library: called with a generator and with what makes the arrays."""


def _long(row: str) -> Draw:
    name, dtype = row.split("/")
    return lambda g, n: digests.draw(g, name, n, dtype)


LONG: dict[str, Draw] = {
    row: _long(row)
    for row in (
        "random/float32", "random/float64", "random, 31 bits/float64", "normal/float32", "standard_normal/float64",
        "exponential/float64", "gamma, small shape/float64", "beta/float32", "vonmises/float64", "standard_t/float64",
        "integers, two outputs/int64", "binomial, few/int64", "binomial, many/int64", "poisson, large/int64",
        "bernoulli/float32", "categorical/int64", "dirichlet/float64", "multinomial/int64",
    )
}  # fmt: skip
"""Draws of any number of elements, each made in another way."""
