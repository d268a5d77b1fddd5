"""Numbers and arrays of one element are held to the rules, in every parameter of every distribution and library."""

from __future__ import annotations

import itertools
import re
from typing import Any, TypeAlias

import numpy as np
import pytest

from nbm_xp.rng import Generator
from nbm_xp.rng.distributions import DISTRIBUTIONS
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.at_night("jax")

NAN, INF = float("nan"), float("inf")

RULES: dict[str, tuple[list[Any], str]] = {
    "finite": (
        [NAN, INF],
        (
            "uniform.low uniform.high normal.loc laplace.loc logistic.loc gumbel.loc truncated_normal.loc "
            "lognormal.mean triangular.left triangular.mode triangular.right vonmises.mu"
        ),
    ),
    "finite and 0 or more": (
        [NAN, INF, -1.0],
        (
            "normal.scale exponential.scale laplace.scale logistic.scale gumbel.scale truncated_normal.scale "
            "gamma.shape gamma.scale noncentral_chisquare.nonc noncentral_f.nonc lognormal.sigma weibull.a "
            "rayleigh.scale vonmises.kappa"
        ),
    ),
    "finite and more than 0": (
        [NAN, INF, -1.0, 0.0],
        (
            "beta.a beta.b chisquare.df noncentral_chisquare.df f.dfnum f.dfden noncentral_f.dfnum noncentral_f.dfden "
            "standard_t.df pareto.a power.a wald.mean wald.scale negative_binomial.n"
        ),
    ),
    "from 0 to 1": ([NAN, 1.5, -0.5], "binomial.p"),
    "more than 0 and at most 1": ([NAN, 0.0, 1.5], "geometric.p negative_binomial.p"),
    "from 0 to less than 1": ([NAN, -0.5, 1.0], "logseries.p"),
    "finite and more than 1": ([NAN, INF, 1.0], "zipf.a"),
    "from 0 to 9.2e+18": ([NAN, INF, -1.0, 1e19], "poisson.lam"),
    "an integer from 0 to 2**53": (
        [-1, 2**60],
        "binomial.n hypergeometric.ngood hypergeometric.nbad hypergeometric.nsample",
    ),
}
"""By the words of the error: values that break the rule, and the parameters that it holds for."""

Broken: TypeAlias = tuple[str, str, dict[str, Any], list[Any], str]

BROKEN: list[Broken] = [
    (name, parameter, dict(zip(DISTRIBUTIONS[name].rules, DISTRIBUTIONS[name].example, strict=True)), values, text)
    for text, (values, held) in RULES.items()
    for name, parameter in (word.split(".") for word in held.split())
]
FURTHER: list[Broken] = [
    ("uniform", "low", {"high": 1.0}, [2.0], ""), ("uniform", "high", {"low": 0.0}, [-2.0], ""),
    ("bernoulli", "p", {}, [NAN, INF, 1.5, -0.5, 1.0 + 2.0**-20, -(2.0**-120)], "from 0 to 1"),
    ("binomial", "p", {"n": 1}, [NAN, 1.5, -0.5], "from 0 to 1"),
    ("binomial", "p", {"n": 3}, [NAN, 1.5, -0.5], "from 0 to 1"),
    ("triangular", "mode", {"left": 0.0, "right": 1.0}, [-1.0, 2.0], ""),
    ("triangular", "right", {"left": 1.0, "mode": 1.0}, [1.0], ""),
    ("negative_binomial", "p", {"n": 1.0}, [2.0**-64], ""),
    ("hypergeometric", "nsample", {"ngood": 2, "nbad": 3}, [6], ""), ("integers", "low", {"high": 3}, [3], ""),
    ("integers", "high", {"low": 0}, [0, -1], ""), ("multinomial", "n", {"pvals": np.asarray([0.5, 0.5])}, [-1], ""),
    ("multinomial", "pvals", {"n": 3}, [0.5], ""), ("categorical", "pvals", {}, [NAN, 1.5], ""),
]  # fmt: skip
SHAPES: dict[str, tuple[tuple[int, ...], Any]] = {
    "no axes": ((), None), "no axes, sized": ((), ()), "one": ((1,), None), "one, sized": ((1,), (1,)),
    "of many": ((1,), (5,)), "two axes": ((1, 1), (1, 1)),
}  # fmt: skip


SOME = libraries("numpy", "numpy-readonly", "array_api_strict", "torch", "jax", "dask-one")


def test_every_parameter_has_a_rule() -> None:
    held = {f"{name}.{parameter}" for name, found in DISTRIBUTIONS.items() for parameter in found.rules}
    assert held == {word for _, words in RULES.values() for word in words.split()}


@pytest.mark.parametrize("library", SOME)
@pytest.mark.parametrize(("name", "parameter", "others", "values", "rule"), BROKEN + FURTHER)
def test_single_values_are_held_to_the_rules(
    name: str, parameter: str, others: dict[str, Any], values: list[Any], rule: str, library: Library
) -> None:
    message = f"^{parameter} must be {re.escape(rule)}, got " if rule else f"{parameter}|high - low"
    for value in values if parameter != "pvals" else []:
        generator = Generator(5, library.name)
        with pytest.raises(ValueError, match=message):
            getattr(generator, name)(**others | {parameter: value})
        assert generator == Generator(5, library.name)
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
            with pytest.raises(ValueError, match=message):
                lazy.compute(scheduler="synchronous")
            continue
        with pytest.raises(ValueError, match=message):
            getattr(generator, name)(**given, size=size)
        assert generator.state == before


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_single_probabilities_that_are_right_are_taken(shape: tuple[int, ...]) -> None:
    for p, want in ((0.0, 0), (-0.0, 0), (1.0, 1)):
        for kind in ("float32", "float64"):
            assert Generator(5).bernoulli(np.full(shape, p, kind)).tolist() == np.full(shape, want).tolist()
