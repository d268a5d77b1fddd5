"""Statistics: numbers of the wrong distribution, or streams that overlap, are noticed.

The tests of Kolmogorov and Smirnov and of chi squared reject at `FALSE_ALARM`. hypothesis draws some 300 seeds in a
run of this file, so that a right generator fails one run in 30 million. What they do reject: a distribution function
that is wrong by 0.025 anywhere, for `N` numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.rng import M2, Generator, substreams

stats: Any = pytest.importorskip("scipy.stats")

seeds = st.integers(1, M2 - 1)


@given(seeds, st.sampled_from(["float16", "float32", "float64"]))
@settings(max_examples=10)
def test_uniforms_fill_the_interval_evenly(seed: int, dtype: str) -> None:
    u = Generator(seed).random(50_000, dtype).astype("float64")
    assert u.min() > 0
    assert u.max() < 1
    counts = np.bincount((u * 50).astype(int), minlength=50)
    assert np.sum((counts - 1000) ** 2 / 1000) < 120  # 49 degrees of freedom: a chance of 1e-7
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.03


@given(seeds)
@settings(max_examples=5)
def test_neighbouring_streams_and_draws_have_nothing_in_common(seed: int) -> None:
    generator = Generator(seed)
    first, second = (np.stack([generator.random(8, "float64") for _ in range(2000)]) for _ in range(2))
    correlations = np.corrcoef(np.concatenate([first, second], axis=1).T)
    assert np.abs(correlations - np.eye(16)).max() < 0.13
    assert len({tuple(state) for state in substreams(generator.state[:6], 15360)}) == 15360


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_float16_and_float32_normals_are_finite(dtype: str) -> None:
    assert np.isfinite(Generator(1).normal(size=10**6, dtype=dtype)).all()


FALSE_ALARM = 1e-10
N = 20_000

Draw = Callable[[Generator], Any]

CONTINUOUS: dict[str, tuple[Draw, Any]] = {
    "random": (lambda g: g.random(N, "float64", bits=31), stats.uniform()),
    "random, 53 bits": (lambda g: g.random(N, "float64"), stats.uniform()),
    "uniform": (lambda g: g.uniform(-1, 3, N, "float64"), stats.uniform(-1, 4)),
    "normal": (lambda g: g.normal(1, 2, N, "float64"), stats.norm(1, 2)),
    "normal, float32": (lambda g: g.standard_normal(N, "float32"), stats.norm()),
    "exponential": (lambda g: g.exponential(2, N, "float64"), stats.expon(scale=2)),
    "laplace": (lambda g: g.laplace(1, 2, N, "float64"), stats.laplace(1, 2)),
    "logistic": (lambda g: g.logistic(1, 2, N, "float64"), stats.logistic(1, 2)),
    "gumbel": (lambda g: g.gumbel(1, 2, N, "float64"), stats.gumbel_r(1, 2)),
    "truncated_normal": (lambda g: g.truncated_normal(1, 2, N, "float64"), stats.truncnorm(-2, 2, 1, 2)),
    "gamma": (lambda g: g.gamma(4, 2, N, "float64"), stats.gamma(4, scale=2)),
    "gamma, shape 1": (lambda g: g.gamma(1, 1, N, "float64"), stats.gamma(1)),
    "gamma, shape 1/2": (lambda g: g.gamma(0.5, 1, N, "float64"), stats.gamma(0.5)),
    "beta": (lambda g: g.beta(3, 1, N, "float64"), stats.beta(3, 1)),
    "beta, halves": (lambda g: g.beta(0.5, 0.5, N, "float64"), stats.beta(0.5, 0.5)),
    "standard_gamma": (lambda g: g.standard_gamma(2.5, N, "float64"), stats.gamma(2.5)),
    "chisquare": (lambda g: g.chisquare(2.5, N, "float64"), stats.chi2(2.5)),
    "chisquare, small": (lambda g: g.chisquare(0.1, N, "float64"), stats.chi2(0.1)),
    "noncentral_chisquare": (lambda g: g.noncentral_chisquare(2.5, 3.0, N, "float64"), stats.ncx2(2.5, 3.0)),
    "noncentral_chisquare, few": (lambda g: g.noncentral_chisquare(0.7, 3.0, N, "float64"), stats.ncx2(0.7, 3.0)),
    "f": (lambda g: g.f(3.0, 5.0, N, "float64"), stats.f(3, 5)),
    "noncentral_f": (lambda g: g.noncentral_f(3.0, 5.0, 2.0, N, "float64"), stats.ncf(3, 5, 2)),
    "standard_t": (lambda g: g.standard_t(1.5, N, "float64"), stats.t(1.5)),
    "standard_t, normal": (lambda g: g.standard_t(1e30, N, "float64"), stats.norm()),
    "standard_cauchy": (lambda g: g.standard_cauchy(N, "float64"), stats.cauchy()),
    "lognormal": (lambda g: g.lognormal(0.5, 1.5, N, "float64"), stats.lognorm(1.5, scale=math.exp(0.5))),
    "pareto": (lambda g: g.pareto(0.8, N, "float64"), stats.lomax(0.8)),
    "power": (lambda g: g.power(0.8, N, "float64"), stats.powerlaw(0.8)),
    "weibull": (lambda g: g.weibull(0.8, N, "float64"), stats.weibull_min(0.8)),
    "rayleigh": (lambda g: g.rayleigh(2.0, N, "float64"), stats.rayleigh(scale=2.0)),
    "triangular": (lambda g: g.triangular(-1.0, 0.0, 3.0, N, "float64"), stats.triang(0.25, -1.0, 4.0)),
    "triangular, falling": (lambda g: g.triangular(0.0, 0.0, 3.0, N, "float64"), stats.triang(0.0, 0.0, 3.0)),
    "wald": (lambda g: g.wald(2.0, 0.5, N, "float64"), stats.invgauss(4.0, scale=0.5)),
    "wald, narrow": (lambda g: g.wald(2.0, 50.0, N, "float64"), stats.invgauss(0.04, scale=50.0)),
    "vonmises": (lambda g: g.vonmises(0.0, 3.0, N, "float64"), stats.vonmises(3.0)),
    "vonmises, flat": (lambda g: g.vonmises(0.0, 0.0, N, "float64"), stats.uniform(-math.pi, 2 * math.pi)),
    "vonmises, narrow": (lambda g: g.vonmises(0.0, 1e12, N, "float64"), stats.norm(scale=1e-6)),
    "dirichlet": (lambda g: g.dirichlet([0.5, 2.0, 1.5], N, "float64")[:, 1], stats.beta(2.0, 2.0)),
    "multivariate_normal": (
        lambda g: g.multivariate_normal([1.0, 2.0], [[4.0, 3.0], [3.0, 9.0]], N, dtype="float64") @ [1.0, -1.0],
        stats.norm(-1.0, math.sqrt(7.0)),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@given(seeds)
@settings(max_examples=4)
def test_kolmogorov_smirnov(name: str, seed: int) -> None:
    draw, distribution = CONTINUOUS[name]
    assert stats.kstest(draw(Generator(seed)), distribution.cdf).pvalue > FALSE_ALARM


MANY = 400_000
HUGE: dict[str, tuple[Callable[[Generator], Any], float, float]] = {
    "gamma, shape 1e17": (lambda g: g.gamma(1e17, 1, MANY, "float64"), 1e17, 1e17),
    "poisson of mean 1e17": (lambda g: g.poisson(1e17, MANY), 1e17, 1e17),
    "poisson of mean 9e18": (lambda g: g.poisson(9e18, MANY), 9e18, 9e18),
    "binomial of 2**53": (lambda g: g.binomial(2**53, 0.5, MANY), 2.0**52, 2.0**51),
    "binomial of 2**53, rare": (lambda g: g.binomial(2**53, 1e-12, MANY) + 0.5, 2**53 * 1e-12, 2**53 * 1e-12),
}
"""What is made, its mean and its variance: normal but for less than 1 in 1,000."""


@pytest.mark.parametrize("name", HUGE)
@given(seeds)
@settings(max_examples=2)
def test_numbers_of_huge_parameters_are_as_good_as_normal(name: str, seed: int) -> None:
    draw, mean, variance = HUGE[name]
    p = stats.norm.cdf((np.sort(draw(Generator(seed))).astype("float64") - mean) / math.sqrt(variance))
    distance = np.max(np.abs(np.arange(1, MANY + 1) / MANY - p))
    assert distance < 0.001 + math.sqrt(math.log(2 / FALSE_ALARM) / (2 * MANY))


@pytest.mark.parametrize(
    ("a", "b"), [(5e-324, 5e-324), (1e-310, 3e-310), (1e308, 1e308), (1e308, 1e300), (5e-324, 1.0)]
)
def test_betas_of_the_least_and_the_largest_parameters(a: float, b: float) -> None:
    x = Generator(1).beta(a, b, 20_000, "float64")
    assert abs(x.mean() - a / b / (1 + a / b)) < 0.02
    np.testing.assert_array_equal(Generator(1, "array_api_strict").beta(a, b, 20_000, "float64"), x)


def test_gammas_of_the_least_and_the_largest_shapes() -> None:
    assert (Generator(1).gamma(5e-324, 1.0, 100, "float64") == 0).all()
    for shape in (1e100, 1e300, 1.7e308):
        np.testing.assert_allclose(Generator(1).gamma(shape, 1.0, 100, "float64"), shape, rtol=1e-15)


DISCRETE: dict[str, tuple[Draw, Any]] = {
    "bernoulli": (lambda g: g.bernoulli(0.3, N), stats.bernoulli(0.3)),
    "integers": (lambda g: g.integers(-3, 17, N), stats.randint(-3, 17)),
    "integers, two outputs": (lambda g: g.integers(0, 2**61, N) >> 57, stats.randint(0, 16)),
    "integers, three outputs": (lambda g: g.integers(-(2**63), 2**63, N) >> 60, stats.randint(-8, 8)),
    "integers, last bits": (lambda g: g.integers(-(2**63), 2**63, N) & 15, stats.randint(0, 16)),
    "binomial, few": (lambda g: g.binomial(7, 0.4, N), stats.binom(7, 0.4)),
    "binomial, searched": (lambda g: g.binomial(60, 0.05, N), stats.binom(60, 0.05)),
    "binomial, many": (lambda g: g.binomial(100, 0.6, N), stats.binom(100, 0.6)),
    "poisson, small": (lambda g: g.poisson(3.5, N), stats.poisson(3.5)),
    "poisson, large": (lambda g: g.poisson(25.0, N), stats.poisson(25.0)),
    "categorical": (
        lambda g: g.categorical([0.1, 0.2, 0.0, 0.7], N),
        stats.rv_discrete(values=([0, 1, 3], [0.1, 0.2, 0.7])),
    ),
    "multinomial": (lambda g: g.multinomial(12, [0.2, 0.3, 0.5], N)[:, 1], stats.binom(12, 0.3)),
    "choice": (lambda g: g.choice(6, N), stats.randint(0, 6)),
    "first of a weighted order": (
        lambda g: np.concatenate([g.choice(3, 1, False, [0.5, 0.3, 0.2]) for _ in range(N // 20)]),
        stats.rv_discrete(values=([0, 1, 2], [0.5, 0.3, 0.2])),
    ),
    "a place": (lambda g: np.concatenate([g.permutation(5)[2:3] for _ in range(N // 20)]), stats.randint(0, 5)),
    "geometric": (lambda g: g.geometric(0.03, N), stats.geom(0.03)),
    "geometric, probable": (lambda g: g.geometric(0.9, N), stats.geom(0.9)),
    "negative_binomial": (lambda g: g.negative_binomial(2.5, 0.1, N), stats.nbinom(2.5, 0.1)),
    "negative_binomial, few": (lambda g: g.negative_binomial(0.3, 0.6, N), stats.nbinom(0.3, 0.6)),
    "hypergeometric": (lambda g: g.hypergeometric(15, 15, 15, N), stats.hypergeom(30, 15, 15)),
    "hypergeometric, few good": (lambda g: g.hypergeometric(5, 100, 80, N), stats.hypergeom(105, 5, 80)),
    "hypergeometric, most": (lambda g: g.hypergeometric(300, 100, 350, N), stats.hypergeom(400, 300, 350)),
    "hypergeometric, one": (lambda g: g.hypergeometric(2, 1, 1, N), stats.hypergeom(3, 2, 1)),
    "hypergeometric, very many": (
        lambda g: g.hypergeometric(2**40, 2**52, 2**16, N),  # as good as binomial: 16 are to be expected
        stats.binom(2**16, 2**40 / (2**40 + 2**52)),
    ),
    "logseries": (lambda g: g.logseries(0.95, N), stats.logser(0.95)),
    "logseries, small": (lambda g: g.logseries(0.1, N), stats.logser(0.1)),
    "zipf": (lambda g: g.zipf(1.5, N), stats.zipf(1.5)),
    "zipf, steep": (lambda g: g.zipf(4.0, N), stats.zipf(4.0)),
    "multivariate_hypergeometric": (
        lambda g: g.multivariate_hypergeometric([10, 20, 30], 25, N)[:, 1],
        stats.hypergeom(60, 20, 25),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
@given(seeds)
@settings(max_examples=4)
def test_chi_squared(name: str, seed: int) -> None:
    draw, distribution = DISCRETE[name]
    drawn, first, last = draw(Generator(seed)).astype("int64"), -10, 400
    expected = drawn.size * distribution.pmf(np.arange(first, last))
    counts = np.bincount(drawn[drawn < last] - first, minlength=last - first)
    assert counts[expected == 0].sum() == 0
    large = expected > 10
    found = [*counts[large], drawn.size - counts[large].sum()]
    wanted = [*expected[large], max(drawn.size - expected[large].sum(), 1.0)]
    statistic = sum((a - b) ** 2 / b for a, b in zip(found, wanted, strict=True))
    assert stats.chi2.sf(statistic, len(found) - 1) > FALSE_ALARM
