"""All names of NumPy's generator: the same parameters, and SciPy's distributions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nbm_xp.rng import Generator

stats: Any = pytest.importorskip("scipy.stats")

N = 40_000
SEEDS = (1, 2026)
FALSE_ALARM = 1e-9

OTHERWISE = {
    "bit_generator": "the state of a generator is its `state`",
    "spawn": "the number of children is called n",
}
"""What is not as NumPy has it, and why."""

DEFAULTS = {("standard_exponential", "method")}
"""Parameters that have another default, beside dtypes, which are of ``floatx`` unless told."""

OURS = {"self", "dtype", "out", "chunks", "bits"}


@pytest.mark.parametrize("name", [name for name in dir(np.random.Generator) if name[0] != "_"])
def test_signatures_are_numpy_s(name: str) -> None:
    if name in OTHERWISE:
        return
    theirs = inspect.signature(getattr(np.random.Generator, name)).parameters
    ours = inspect.signature(getattr(Generator, name)).parameters
    assert set(theirs) <= set(ours)
    order = [p for p in ours if p in theirs]
    assert order == list(theirs)
    assert set(ours) - set(theirs) <= OURS
    for parameter, their in theirs.items():
        our = ours[parameter]
        assert our.kind == their.kind or our.kind == our.POSITIONAL_OR_KEYWORD
        if parameter != "dtype" and (name, parameter) not in DEFAULTS:
            assert our.default == their.default


CONTINUOUS: dict[str, tuple[Callable[..., Any], Any]] = {
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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_real_numbers_have_scipy_s_distributions(name: str, seed: int) -> None:
    draw, distribution = CONTINUOUS[name]
    assert stats.kstest(draw(Generator(seed)), distribution.cdf).pvalue > FALSE_ALARM


DISCRETE: dict[str, tuple[Callable[..., Any], Any]] = {
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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_scipy_s_distributions(name: str, seed: int) -> None:
    draw, distribution = DISCRETE[name]
    drawn, values = draw(Generator(seed)), np.arange(400)
    expected = N * distribution.pmf(values)
    large = expected > 10
    counts = np.bincount(drawn[drawn < 400], minlength=400)
    assert counts[expected == 0].sum() == 0
    found = [*counts[large], N - counts[large].sum()]
    wanted = [*expected[large], max(N - expected[large].sum(), 1.0)]
    statistic = sum((a - b) ** 2 / b for a, b in zip(found, wanted, strict=True))
    assert stats.chi2.sf(statistic, len(found) - 1) > FALSE_ALARM


TAILS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "pareto": (lambda g: g.pareto(1.0, 10**6, "float64"), lambda x: 1.0 / (1.0 + x)),
    "standard_cauchy": (lambda g: abs(g.standard_cauchy(10**6, "float64")), lambda x: 2.0 / math.pi * np.arctan(1 / x)),
    "weibull, near 0": (lambda g: g.weibull(1.0, 10**6, "float64"), lambda x: -np.expm1(-x)),
    "power, near 0": (lambda g: g.power(0.5, 10**6, "float64"), np.sqrt),
    "zipf": (lambda g: g.zipf(1.25, 10**6) + 0.5, lambda x: stats.zipf(1.25).sf(10) * (10.5 / x) ** 0.25),
}


@pytest.mark.parametrize("name", TAILS)
def test_tails_go_on_evenly(name: str) -> None:
    draw, beyond = TAILS[name]
    p = np.sort(beyond(draw(Generator(5))))[:100]  # the outermost hundred of a million
    assert len(np.unique(p)) > 99
    assert stats.kstest(p / (p[-1] * 1.01), "uniform").pvalue > 1e-6


def test_covariances_are_what_was_asked_for() -> None:
    cov = np.asarray([[4.0, 3.0, 0.0], [3.0, 9.0, -2.0], [0.0, -2.0, 1.0]])
    x = Generator(7).multivariate_normal(np.zeros(3), cov, 200_000, dtype="float64")
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.15)
    singular = Generator(7).multivariate_normal(np.zeros(3), np.ones((3, 3)), 5, dtype="float64")
    assert_array_equal(singular[:, 0], singular[:, 2])


def test_proportions_add_up_to_one() -> None:
    for alpha in ([0.5, 2.0, 3.0], [1e-5, 1e-5], [1e-300, 1e-300, 1e-300], [1e300, 1e300], [0.0, 1.0]):
        x = Generator(7).dirichlet(alpha, 1000, "float64")
        np.testing.assert_allclose(x.sum(axis=1), 1.0, rtol=1e-15)
        assert (x[:, 0] == 0).all() == (alpha[0] == 0)


def test_samples_add_up_to_their_number() -> None:
    x = Generator(7).multivariate_hypergeometric([3, 0, 5, 2], 7, (50, 20))
    assert x.shape == (50, 20, 4)
    assert (x.sum(axis=-1) == 7).all()
    assert (x >= 0).all()
    assert (x <= [3, 0, 5, 2]).all()
    assert_array_equal(Generator(7).multivariate_hypergeometric([3, 0], 3), [3, 0])


def test_permuted_gives_each_row_an_order_of_its_own() -> None:
    x = np.tile(np.arange(20), (30, 1))
    y = Generator(7).permuted(x, axis=1)
    assert_array_equal(np.sort(y, axis=1), x)
    assert len({tuple(row) for row in y.tolist()}) == 30
    assert_array_equal(np.sort(Generator(7).permuted(x).ravel()), np.sort(x.ravel()))
    out = np.empty_like(x)
    assert Generator(7).permuted(x, axis=1, out=out) is out
    assert_array_equal(out, y)
    assert_array_equal(Generator(7).permuted(x.T, axis=0).shape, (20, 30))
    assert sorted(Generator(7).permuted(np.asarray(["a", "b", None], dtype=object)).tolist(), key=str) == [
        None,
        "a",
        "b",
    ]
    places = np.asarray([Generator(seed).permuted([[0, 1, 2]], axis=1)[0].argmax() for seed in range(3000)])
    assert stats.chisquare(np.bincount(places)).pvalue > FALSE_ALARM


def test_bytes_are_those_of_integers() -> None:
    assert Generator(7).bytes(1000) == Generator(7).integers(0, 256, 1000, "uint8").tobytes()
    assert Generator(7, "array_api_strict").bytes(9) == Generator(7).bytes(9)
    assert Generator(7).bytes(0) == b""


def test_standard_gammas_are_drawn_into_arrays() -> None:
    out = np.empty(5)
    assert Generator(7).standard_gamma(2.0, out=out) is out
    assert_array_equal(out, Generator(7).gamma(2.0, 1.0, 5, "float64"))


def test_what_is_beyond_the_dtype_is_infinite_without_a_warning() -> None:
    for dtype in ("float16", "float32", "float64"):
        x = Generator(7).pareto(0.01, 20_000, dtype)  # of float64, one in 1200 is infinite
        assert np.isinf(x).any()
        assert not np.isnan(x).any()
        assert np.isinf(Generator(7).standard_t(0.001, 100, dtype)).sum() > 30
    assert Generator(7).geometric(1e-300, 3).tolist() == [2**63 - 1024] * 3


REFUSED: list[tuple[str, Callable[[Generator], Any]]] = [
    ("left, mode, right must be in ascending order.*got 0.0, 2.0, 1.0", lambda g: g.triangular(0.0, 2.0, 1.0)),
    ("left, mode, right must be in ascending order", lambda g: g.triangular(0.0, 0.0, 0.0)),
    ("left, mode, right must be .*, got 0.0, 1.0, 0.5", lambda g: g.triangular(0, [0.25, 1.0], 0.5)),
    ("n, p must be so that", lambda g: g.negative_binomial(1e18, 0.01)),
    ("ngood, nbad, nsample must be so that.*got 1, 2, 4", lambda g: g.hypergeometric(1, 2, 4)),
    ("ngood, nbad, nsample must be so that", lambda g: g.hypergeometric(2**53, 1, 4)),
    ("alpha must be finite and 0 or more, got -1.0", lambda g: g.dirichlet([-1.0, 1.0])),
    ("alpha must be above 0 in one component", lambda g: g.dirichlet([0.0, 0.0])),
    (r"cov must have shape \(n, n\), got shape \(1, 3\)", lambda g: g.multivariate_normal([0, 0], [[1.0, 0, 0]])),
    ("mean and cov must be of one length, got 3 and 2", lambda g: g.multivariate_normal([0, 0, 0], np.eye(2))),
    ("check_valid must be 'warn' or", lambda g: g.multivariate_normal([0, 0], np.eye(2), check_valid="x")),
    ("method must be 'svd' or", lambda g: g.multivariate_normal([0, 0], np.eye(2), method="x")),
    ("method must be 'marginals' or", lambda g: g.multivariate_hypergeometric([1, 2], 2, method="x")),
    ("nsample less all colors must be 0 or less", lambda g: g.multivariate_hypergeometric([1, 2], 4)),
    (r"colors must have shape \(n,\)", lambda g: g.multivariate_hypergeometric([[1, 2]], 2)),
    ("length must be 0 or more, got -1", lambda g: g.bytes(-1)),
    ("axis must be from -1 to 0, got 2", lambda g: g.permuted([1, 2, 3], axis=2)),
    ("out must have the library, dtype and shape", lambda g: g.permuted(np.arange(3), out=np.zeros(3))),
]


@pytest.mark.parametrize(("message", "draw"), REFUSED)
def test_what_numpy_refuses_is_refused(message: str, draw: Callable[[Generator], Any]) -> None:
    generator = Generator(5)
    with pytest.raises(ValueError, match=message):
        draw(generator)
    assert generator == Generator(5)


def test_covariances_that_are_none() -> None:
    for cov in ([[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="cov must be symmetric and positive semidefinite"):
            Generator(5).multivariate_normal([0, 0], cov, check_valid="raise")
        with pytest.warns(RuntimeWarning, match="cov must be symmetric"):
            Generator(5).multivariate_normal([0, 0], cov)
        assert Generator(5).multivariate_normal([0, 0], cov, check_valid="ignore").shape == (2,)


def test_dask_holds_parameters_to_their_rules_when_it_computes() -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="left, mode, right must be in ascending order"):
        Generator(5, "dask").triangular(0.0, 2.0, 1.0, 5)
    for lazy in (
        Generator(5).triangular(0.0, da.from_array(np.asarray([0.5, 2.0])), 1.0),
        Generator(5).hypergeometric(da.from_array(np.asarray([1, 2])), 1, 3),
        Generator(5).multivariate_hypergeometric(da.from_array(np.asarray([1, 2])), 4, 3),
        Generator(5).dirichlet(da.from_array(np.asarray([0.0, 0.0])), 3),
    ):
        with pytest.raises(ValueError, match="must be"):
            lazy.compute(scheduler="synchronous")


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_permuted_on_dask_does_not_depend_on_the_chunks(axis: int | None) -> None:
    da = pytest.importorskip("dask.array")
    x = np.arange(60.0).reshape(12, 5)
    want = Generator(5).permuted(x, axis=axis)
    for chunks in ((12, 5), (5, 2), (1, 1)):
        got = Generator(5).permuted(da.from_array(x, chunks=chunks), axis=axis)
        assert_array_equal(got.compute(scheduler="synchronous"), want)
