"""All names of NumPy's generator: the same parameters, and what NumPy promises of each."""

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

FALSE_ALARM = 1e-9

OTHERWISE = {"bit_generator": "the state of a generator is its `state`", "spawn": "the number of children is called n"}
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
    objects = Generator(7).permuted(np.asarray(["a", "b", None], dtype=object))
    assert sorted(objects.tolist(), key=str) == [None, "a", "b"]
    places = np.asarray([Generator(seed).permuted([[0, 1, 2]], axis=1)[0].argmax() for seed in range(3000)])
    assert stats.chisquare(np.bincount(places)).pvalue > FALSE_ALARM


def test_bytes_are_those_of_integers() -> None:
    assert Generator(7).bytes(1000) == Generator(7).integers(0, 256, 1000, "uint8").tobytes()
    assert Generator(7, "array_api_strict").bytes(9) == Generator(7).bytes(9)
    assert Generator(7).bytes(0) == b""


def test_what_is_beyond_the_dtype_is_infinite_without_a_warning() -> None:
    for dtype in ("float16", "float32", "float64"):
        x = Generator(7).pareto(0.01, 20_000, dtype)  # of float64, one in 1200 is infinite
        assert np.isinf(x).any()
        assert not np.isnan(x).any()
        assert np.isinf(Generator(7).standard_t(0.001, 100, dtype)).sum() > 30
    assert Generator(7).geometric(1e-300, 3).tolist() == [2**63 - 1024] * 3


def test_covariances_that_are_none() -> None:
    for cov in ([[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match="cov must be symmetric and positive semidefinite"):
            Generator(5).multivariate_normal([0, 0], cov, check_valid="raise")
        with pytest.warns(RuntimeWarning, match="cov must be symmetric"):
            Generator(5).multivariate_normal([0, 0], cov)
        assert Generator(5).multivariate_normal([0, 0], cov, check_valid="ignore").shape == (2,)
