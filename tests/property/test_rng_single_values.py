"""Parameters that are arrays of one element are held to the rules, in every distribution, on every library."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from nbm_xp.rng import Generator
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.jax_at_night

NAN, INF = float("nan"), float("inf")

BROKEN: list[tuple[str, str, dict[str, Any], list[Any]]] = [
    ("uniform", "low", {"high": 1.0}, [NAN, INF, 2.0]),
    ("uniform", "high", {"low": 0.0}, [NAN, INF, -2.0]),
    ("normal", "loc", {}, [NAN, INF]),
    ("normal", "scale", {}, [NAN, INF, -1.0]),
    ("bernoulli", "p", {}, [NAN, INF, 1.5, -0.5, 1.0 + 2.0**-20, -(2.0**-120)]),
    ("binomial", "p", {"n": 1}, [NAN, 1.5, -0.5]),
    ("binomial", "p", {"n": 3}, [NAN, 1.5, -0.5]),
    ("binomial", "p", {"n": 300}, [NAN, 1.5, -0.5]),
    ("binomial", "n", {"p": 0.5}, [-1, 2**60]),
    ("exponential", "scale", {}, [NAN, INF, -1.0]),
    ("laplace", "loc", {}, [NAN, INF]),
    ("logistic", "scale", {}, [NAN, INF, -1.0]),
    ("gumbel", "loc", {}, [NAN, INF]),
    ("truncated_normal", "scale", {}, [NAN, INF, -1.0]),
    ("gamma", "shape", {}, [NAN, INF, -1.0]),
    ("gamma", "scale", {"shape": 1.0}, [NAN, INF, -1.0]),
    ("beta", "a", {"b": 1.0}, [NAN, INF, -1.0, 0.0]),
    ("beta", "b", {"a": 1.0}, [NAN, INF, -1.0, 0.0]),
    ("poisson", "lam", {}, [NAN, INF, -1.0]),
    ("chisquare", "df", {}, [NAN, INF, 0.0]),
    ("noncentral_chisquare", "nonc", {"df": 1.0}, [NAN, INF, -1.0]),
    ("f", "dfden", {"dfnum": 1.0}, [NAN, INF, 0.0]),
    ("noncentral_f", "nonc", {"dfnum": 1.0, "dfden": 1.0}, [NAN, INF, -1.0]),
    ("standard_t", "df", {}, [NAN, INF, 0.0]),
    ("lognormal", "sigma", {}, [NAN, INF, -1.0]),
    ("pareto", "a", {}, [NAN, INF, 0.0]),
    ("power", "a", {}, [NAN, INF, 0.0]),
    ("weibull", "a", {}, [NAN, INF, -1.0]),
    ("rayleigh", "scale", {}, [NAN, INF, -1.0]),
    ("triangular", "mode", {"left": 0.0, "right": 1.0}, [NAN, INF, -1.0, 2.0]),
    ("triangular", "right", {"left": 1.0, "mode": 1.0}, [NAN, INF, 1.0]),
    ("wald", "mean", {"scale": 1.0}, [NAN, INF, 0.0]),
    ("vonmises", "kappa", {"mu": 0.0}, [NAN, INF, -1.0]),
    ("geometric", "p", {}, [NAN, 0.0, 1.5]),
    ("negative_binomial", "p", {"n": 1.0}, [NAN, 0.0, 1.5, 2.0**-64]),
    ("hypergeometric", "nsample", {"ngood": 2, "nbad": 3}, [-1, 6]),
    ("logseries", "p", {}, [NAN, -0.5, 1.0]),
    ("zipf", "a", {}, [NAN, INF, 1.0]),
    ("integers", "low", {"high": 3}, [3]),
    ("integers", "high", {"low": 0}, [0, -1]),
    ("multinomial", "n", {"pvals": np.asarray([0.5, 0.5])}, [-1]),
    ("multinomial", "pvals", {"n": 3}, [0.5]),
    ("categorical", "pvals", {}, [NAN, 1.5]),
]
SHAPES: dict[str, tuple[tuple[int, ...], Any]] = {
    "no axes": ((), None),
    "no axes, sized": ((), ()),
    "one": ((1,), None),
    "one, sized": ((1,), (1,)),
    "of many": ((1,), (5,)),
    "two axes": ((1, 1), (1, 1)),
}


SOME = libraries("numpy", "numpy-readonly", "array_api_strict", "torch", "jax", "dask-one")


@pytest.mark.parametrize("library", SOME)
@pytest.mark.parametrize(("name", "parameter", "others", "values"), BROKEN)
def test_single_values_are_held_to_the_rules(
    name: str, parameter: str, others: dict[str, Any], values: list[Any], library: Library
) -> None:
    kinds = ("float32", "float64") if isinstance(values[0], float) else ("int64",)
    shapes = list(SHAPES.values())
    if library.name == "dask":  # whose blocks are held to them as NumPy's arrays
        kinds, shapes = kinds[-1:], [SHAPES["one"], SHAPES["no axes, sized"]]
    for kind, value, (shape, size) in itertools.product(kinds, values, shapes):
        if parameter == "pvals" and (not shape or size):
            continue
        given = others | {parameter: np.full(shape, value, kind)}
        given = {key: library.array(v) if isinstance(v, np.ndarray) else v for key, v in given.items()}
        generator = Generator(5, library.name, threads=2 if size else 1)
        before = generator.state
        if library.name == "dask":  # of which nothing is known before
            lazy = getattr(generator, name)(**given, size=size)
            with pytest.raises(ValueError, match=f"{parameter}|high - low"):
                lazy.compute(scheduler="synchronous")
            continue
        with pytest.raises(ValueError, match=f"{parameter}|high - low"):
            getattr(generator, name)(**given, size=size)
        assert generator.state == before


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_single_probabilities_that_are_right_are_taken(shape: tuple[int, ...]) -> None:
    for p, want in ((0.0, 0), (-0.0, 0), (1.0, 1)):
        for kind in ("float32", "float64"):
            assert Generator(5).bernoulli(np.full(shape, p, kind)).tolist() == np.full(shape, want).tolist()
