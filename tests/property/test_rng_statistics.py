"""Statistics: numbers of the wrong distribution, or streams that overlap, are noticed.

The tests of Kolmogorov and Smirnov and of chi squared reject at `FALSE_ALARM`. hypothesis draws some 200 seeds in a
run of this file, so that a right generator fails one run in 50 million. What they do reject: a distribution function
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
@settings(max_examples=10)
def test_normals_have_the_moments_they_should(seed: int) -> None:
    z = Generator(seed).normal(3.0, 2.0, 100_001, "float64")
    assert abs(z.mean() - 3) < 0.04
    assert abs(z.std() - 2) < 0.03
    standard = (z - 3) / 2
    assert abs(np.mean(standard**3)) < 0.08  # 6.5 standard deviations, as are the others
    assert abs(np.mean(standard**4) - 3) < 0.2
    assert np.isfinite(z).all()


@given(seeds, st.floats(0.05, 0.95), st.integers(1, 12))
@settings(max_examples=10)
def test_binomials_have_the_moments_they_should(seed: int, p: float, n: int) -> None:
    counts = Generator(seed).binomial(n, p, 40_000)
    deviation = np.sqrt(n * p * (1 - p))
    assert abs(counts.mean() - n * p) < 6 * deviation / 200
    assert abs(counts.std() / deviation - 1) < 0.05


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
erf = np.vectorize(math.erf, otypes=[float])


def normal_cdf(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def gamma_cdf(shape: int) -> Callable[[Any], Any]:
    """Of a whole shape: the chance of so many events or more."""
    return lambda x: 1 - sum(np.exp(-x) * x**k / math.factorial(k) for k in range(shape))


BELOW, WITHIN = normal_cdf(np.asarray(-2.0)), normal_cdf(np.asarray(2.0)) - normal_cdf(np.asarray(-2.0))
CONTINUOUS: dict[str, tuple[Callable[[Generator], Any], Callable[[Any], Any]]] = {
    "random": (lambda g: g.random(N, "float64"), lambda x: x),
    "random, 53 bits": (lambda g: g.random(N, "float64", bits=53), lambda x: x),
    "uniform": (lambda g: g.uniform(-1, 3, N, "float64"), lambda x: (x + 1) / 4),
    "normal": (lambda g: g.normal(1, 2, N, "float64"), lambda x: normal_cdf((x - 1) / 2)),
    "normal, float32": (lambda g: g.standard_normal(N, "float32"), normal_cdf),
    "exponential": (lambda g: g.exponential(2, N, "float64"), lambda x: 1 - np.exp(-x / 2)),
    "laplace": (
        lambda g: g.laplace(1, 2, N, "float64"),
        lambda x: np.where(x < 1, np.exp((x - 1) / 2) / 2, 1 - np.exp((1 - x) / 2) / 2),
    ),
    "logistic": (lambda g: g.logistic(1, 2, N, "float64"), lambda x: 1 / (1 + np.exp((1 - x) / 2))),
    "gumbel": (lambda g: g.gumbel(1, 2, N, "float64"), lambda x: np.exp(-np.exp((1 - x) / 2))),
    "truncated_normal": (
        lambda g: g.truncated_normal(1, 2, N, "float64"),
        lambda x: (normal_cdf((x - 1) / 2) - BELOW) / WITHIN,
    ),
    "gamma": (lambda g: g.gamma(4, 2, N, "float64"), lambda x: gamma_cdf(4)(x / 2)),
    "gamma, shape 1": (lambda g: g.gamma(1, 1, N, "float64"), gamma_cdf(1)),
    "gamma, shape 1/2": (lambda g: g.gamma(0.5, 1, N, "float64"), lambda x: 2 * normal_cdf(np.sqrt(2 * x)) - 1),
    "beta": (lambda g: g.beta(3, 1, N, "float64"), lambda x: x**3),
    "beta, halves": (lambda g: g.beta(0.5, 0.5, N, "float64"), lambda x: 2 / math.pi * np.arcsin(np.sqrt(x))),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@given(seeds)
@settings(max_examples=6)
def test_kolmogorov_smirnov(name: str, seed: int) -> None:
    draw, cdf = CONTINUOUS[name]
    p = cdf(np.sort(draw(Generator(seed)).astype("float64")))
    ranks = np.arange(1, N + 1) / N
    distance = max(np.max(ranks - p), np.max(p - ranks + 1 / N))
    assert distance < math.sqrt(math.log(2 / FALSE_ALARM) / (2 * N))  # the bound of Dvoretzky, Kiefer and Wolfowitz


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
    p = normal_cdf((np.sort(draw(Generator(seed))).astype("float64") - mean) / math.sqrt(variance))
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


def binomial_mass(n: int, p: float) -> dict[int, float]:
    return {k: math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}


def poisson_mass(lam: float) -> dict[int, float]:
    return {
        k: math.exp(k * math.log(lam) - lam - math.lgamma(k + 1)) for k in range(int(lam + 12 * math.sqrt(lam) + 20))
    }


DISCRETE: dict[str, tuple[Callable[[Generator], Any], dict[int, float]]] = {
    "bernoulli": (lambda g: g.bernoulli(0.3, N), {0: 0.7, 1: 0.3}),
    "integers": (lambda g: g.integers(-3, 17, N), dict.fromkeys(range(-3, 17), 1 / 20)),
    "integers, two outputs": (lambda g: g.integers(0, 2**61, N) >> 57, dict.fromkeys(range(16), 1 / 16)),
    "integers, three outputs": (lambda g: g.integers(-(2**63), 2**63, N) >> 60, dict.fromkeys(range(-8, 8), 1 / 16)),
    "integers, last bits": (lambda g: g.integers(-(2**63), 2**63, N) & 15, dict.fromkeys(range(16), 1 / 16)),
    "binomial, few": (lambda g: g.binomial(7, 0.4, N), binomial_mass(7, 0.4)),
    "binomial, searched": (lambda g: g.binomial(60, 0.05, N), binomial_mass(60, 0.05)),
    "binomial, many": (lambda g: g.binomial(100, 0.6, N), binomial_mass(100, 0.6)),
    "poisson, small": (lambda g: g.poisson(3.5, N), poisson_mass(3.5)),
    "poisson, large": (lambda g: g.poisson(25.0, N), poisson_mass(25.0)),
    "categorical": (lambda g: g.categorical([0.1, 0.2, 0.0, 0.7], N), {0: 0.1, 1: 0.2, 3: 0.7}),
    "multinomial": (lambda g: g.multinomial(12, [0.2, 0.3, 0.5], N)[:, 1], binomial_mass(12, 0.3)),
    "choice": (lambda g: g.choice(6, N), dict.fromkeys(range(6), 1 / 6)),
    "first of a weighted order": (
        lambda g: np.concatenate([g.choice(3, 1, False, [0.5, 0.3, 0.2]) for _ in range(N // 20)]),
        {0: 0.5, 1: 0.3, 2: 0.2},
    ),
    "a place in an order": (
        lambda g: np.concatenate([g.permutation(5)[2:3] for _ in range(N // 20)]),
        dict.fromkeys(range(5), 1 / 5),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
@given(seeds)
@settings(max_examples=6)
def test_chi_squared(name: str, seed: int) -> None:
    draw, mass = DISCRETE[name]
    drawn = draw(Generator(seed)).astype("int64")
    counts = [int(np.sum(drawn == value)) for value in mass]
    assert sum(counts) == len(drawn), "values that cannot be"
    large = [(count, len(drawn) * p) for count, p in zip(counts, mass.values(), strict=True) if len(drawn) * p >= 10]
    rest = len(drawn) - sum(count for count, _ in large), len(drawn) - sum(expected for _, expected in large)
    cells = [*large, rest] if rest[1] >= 10 else large
    statistic = sum((count - expected) ** 2 / expected for count, expected in cells)
    degrees = max(len(cells) - 1, 1)
    beyond = 6.3613  # standard deviations that FALSE_ALARM lies out; then the cube root of Wilson and Hilferty
    assert statistic < degrees * (1 - 2 / (9 * degrees) + beyond * math.sqrt(2 / (9 * degrees))) ** 3
