"""Every draw of a `Generator`, enumerated once: for the tests of bits, of promises and of statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.rng import Generator

__all__ = ["DRAWS", "LONG", "REAL", "WITH_ARRAYS"]

SIZE = (4, 11)
LAM = np.asarray([0.0, 0.3, 5.0, 12.0, 300.0, 1e6])
HUGE = np.asarray([1e10, 3.5, 1e17, 9e18])
P = np.asarray([[0.1], [0.5], [0.97]])
ROWS = np.asarray([[0.5, 0.25, 0.25, 0.0], [0.125, 0.125, 0.25, 0.5]])

Draw = Callable[..., Any]

REAL: dict[str, Draw] = {
    "random": lambda g, **k: g.random(SIZE, **k),
    "uniform": lambda g, **k: g.uniform(-1.5, 2.25, SIZE, **k),
    "normal": lambda g, **k: g.normal(0.5, 1.5, SIZE, **k),
    "standard_normal": lambda g, **k: g.standard_normal(SIZE, **k),
    "exponential": lambda g, **k: g.exponential(2.5, SIZE, **k),
    "standard_exponential": lambda g, **k: g.standard_exponential(SIZE, **k),
    "laplace": lambda g, **k: g.laplace(0.5, 1.5, SIZE, **k),
    "logistic": lambda g, **k: g.logistic(0.5, 1.5, SIZE, **k),
    "gumbel": lambda g, **k: g.gumbel(0.5, 1.5, SIZE, **k),
    "truncated_normal": lambda g, **k: g.truncated_normal(0.5, 1.5, SIZE, **k),
    "gamma": lambda g, **k: g.gamma(2.5, 1.5, SIZE, **k),
    "gamma, small shape": lambda g, **k: g.gamma(0.2, 1.5, SIZE, **k),
    "beta": lambda g, **k: g.beta(0.5, 2.5, SIZE, **k),
    "standard_gamma": lambda g, **k: g.standard_gamma(2.5, SIZE, **k),
    "chisquare": lambda g, **k: g.chisquare(2.5, SIZE, **k),
    "noncentral_chisquare": lambda g, **k: g.noncentral_chisquare(2.5, 1.5, SIZE, **k),
    "noncentral_chisquare, few": lambda g, **k: g.noncentral_chisquare(0.5, 1.5, SIZE, **k),
    "f": lambda g, **k: g.f(2.5, 4.5, SIZE, **k),
    "noncentral_f": lambda g, **k: g.noncentral_f(2.5, 4.5, 1.5, SIZE, **k),
    "standard_t": lambda g, **k: g.standard_t(2.5, SIZE, **k),
    "lognormal": lambda g, **k: g.lognormal(0.5, 1.5, SIZE, **k),
    "pareto": lambda g, **k: g.pareto(1.5, SIZE, **k),
    "pareto, beyond": lambda g, **k: g.pareto(0.01, SIZE, **k),
    "power": lambda g, **k: g.power(1.5, SIZE, **k),
    "weibull": lambda g, **k: g.weibull(1.5, SIZE, **k),
    "rayleigh": lambda g, **k: g.rayleigh(1.5, SIZE, **k),
    "standard_cauchy": lambda g, **k: g.standard_cauchy(SIZE, **k),
    "triangular": lambda g, **k: g.triangular(-0.5, 0.5, 3.5, SIZE, **k),
    "wald": lambda g, **k: g.wald(1.5, 2.5, SIZE, **k),
    "vonmises": lambda g, **k: g.vonmises(0.5, 1.5, SIZE, **k),
    "dirichlet": lambda g, **k: g.dirichlet([0.5, 0.0, 2.5], SIZE[1:], **k),
    "multivariate_normal": lambda g, **k: g.multivariate_normal([0.5, 1.5], [[2.0, 1.0], [1.0, 3.0]], SIZE[1:], **k),
}
"""Real numbers, whose dtype may be asked for."""

DRAWS: dict[str, Draw] = REAL | {
    "random, 31 bits": lambda g, **k: g.random(SIZE, "float64", bits=31, **k),
    "bernoulli": lambda g, **k: g.bernoulli(0.3, SIZE, **k),
    "integers": lambda g, **k: g.integers(-3, 12, SIZE, **k),
    "integers, two outputs": lambda g, **k: g.integers(-(2**40), 2**60, SIZE, **k),
    "integers, three outputs": lambda g, **k: g.integers(-(2**63), 2**63, SIZE, **k),
    "integers, uint64": lambda g, **k: g.integers(0, 2**64, SIZE, "uint64", **k),
    "integers, int8": lambda g, **k: g.integers(-128, 127, SIZE, "int8", endpoint=True, **k),
    "binomial, few": lambda g, **k: g.binomial(5, 0.3, SIZE, **k),
    "binomial, searched": lambda g, **k: g.binomial(40, 0.1, SIZE, **k),
    "binomial, many": lambda g, **k: g.binomial(10**6, 0.7, SIZE, **k),
    "poisson, small": lambda g, **k: g.poisson(3.5, SIZE, **k),
    "poisson, large": lambda g, **k: g.poisson(60.5, SIZE, **k),
    "multinomial": lambda g, **k: g.multinomial(30, [0.25, 0.25, 0.5], SIZE[1:], **k),
    "categorical": lambda g, **k: g.categorical([0.25, 0.25, 0.5], SIZE, **k),
    "choice": lambda g, **k: g.choice(9, SIZE, **k),
    "choice, p": lambda g, **k: g.choice(3, SIZE, p=[0.25, 0.25, 0.5], **k),
    "choice, no replacement": lambda g, **k: g.choice(50, SIZE, replace=False, **k),
    "choice, p, no replacement": lambda g, **k: g.choice(4, 3, replace=False, p=[0.25, 0.25, 0.125, 0.375], **k),
    "permutation": lambda g, **k: g.permutation(20, **k),
    "geometric": lambda g, **k: g.geometric(0.3, SIZE, **k),
    "negative_binomial": lambda g, **k: g.negative_binomial(2.5, 0.3, SIZE, **k),
    "hypergeometric": lambda g, **k: g.hypergeometric(20, 30, 40, SIZE, **k),
    "logseries": lambda g, **k: g.logseries(0.9, SIZE, **k),
    "zipf": lambda g, **k: g.zipf(1.5, SIZE, **k),
    "multivariate_hypergeometric": lambda g, **k: g.multivariate_hypergeometric([9, 5, 7], 11, SIZE[1:], **k),
}
"""With parameters that are numbers: called with a generator, and ``chunks=`` where wanted."""

VECTORS = {"dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal"}
"""Those whose last axis is not in the size, and never split."""

WITH_ARRAYS: dict[str, Callable[[Generator, Callable[[Any], Any]], Any]] = {
    "uniform": lambda g, a: g.uniform(a(-P), a(LAM)),
    "normal": lambda g, a: g.normal(a(LAM), a(P), (2, 3, 6)),
    "exponential": lambda g, a: g.exponential(a(P), (3, 4)),
    "laplace": lambda g, a: g.laplace(a(LAM), a(P)),
    "truncated_normal": lambda g, a: g.truncated_normal(a(LAM), a(P)),
    "gamma": lambda g, a: g.gamma(a(LAM), a(P)),
    "beta": lambda g, a: g.beta(a(P), a(np.asarray([0.1, 1.0, 30.0]))),
    "bernoulli": lambda g, a: g.bernoulli(a(P), (3, 5)),
    "integers": lambda g, a: g.integers(a(np.asarray([[-5], [0]])), a(np.asarray([1, 10, 2**35])), endpoint=True),
    "binomial": lambda g, a: g.binomial(a(np.asarray([0, 1, 17, 100, 10**6])), a(P)),
    "poisson": lambda g, a: g.poisson(a(LAM), (2, 6)),
    "gamma, huge": lambda g, a: g.gamma(a(HUGE), 1.0, (3, 4)),
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
    "f": lambda g, a: g.f(a(10 * P), a(1 + LAM)),
    "noncentral_f": lambda g, a: g.noncentral_f(a(10 * P), 4.0, a(LAM)),
    "standard_t": lambda g, a: g.standard_t(a(P * 1e-3), (3, 5)),
    "lognormal": lambda g, a: g.lognormal(a(P), a(LAM)),
    "pareto": lambda g, a: g.pareto(a(P), (3, 4)),
    "power": lambda g, a: g.power(a(P), (3, 4)),
    "weibull": lambda g, a: g.weibull(a(LAM), (2, 6)),
    "rayleigh": lambda g, a: g.rayleigh(a(LAM), (2, 6)),
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
}
"""With parameters that are arrays, of whatever library: called with a generator and with what makes the arrays."""

LONG: dict[str, Draw] = {
    "random, float32": lambda g, n: g.random(n, "float32"),
    "random, float64": lambda g, n: g.random(n, "float64"),
    "random, 31 bits": lambda g, n: g.random(n, "float64", bits=31),
    "normal": lambda g, n: g.normal(0.5, 1.5, n, "float32"),
    "standard_normal": lambda g, n: g.standard_normal(n, "float64"),
    "exponential": lambda g, n: g.exponential(2.5, n, "float64"),
    "gamma": lambda g, n: g.gamma(0.3, 1.5, n, "float64"),
    "beta": lambda g, n: g.beta(0.5, 2.5, n, "float32"),
    "vonmises": lambda g, n: g.vonmises(0.5, 1.5, n, "float64"),
    "standard_t": lambda g, n: g.standard_t(2.5, n, "float64"),
    "integers": lambda g, n: g.integers(-(2**40), 2**60, n),
    "binomial, few": lambda g, n: g.binomial(5, 0.3, n),
    "binomial, many": lambda g, n: g.binomial(10**6, 0.7, n),
    "poisson": lambda g, n: g.poisson(60.5, n),
    "bernoulli": lambda g, n: g.bernoulli(0.3, n),
    "categorical": lambda g, n: g.categorical([0.25, 0.25, 0.5], n),
    "dirichlet": lambda g, n: g.dirichlet([0.5, 0.0, 2.5], n, "float64"),
    "multinomial": lambda g, n: g.multinomial(30, [0.25, 0.25, 0.5], n),
}
"""Draws of any number of elements, each made in another way."""
