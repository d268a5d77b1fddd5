"""Numbers made each of its own uniforms by CUDA kernels: their text run on the host, and on CuPy's device."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import to_numpy
from nbm_xp.namespace.elementary import exp, log, normal_quantile, sqrt, truncated_normal
from nbm_xp.namespace.mrg31k3p import cuda_draws as cuda
from nbm_xp.rng import Generator
from nbm_xp.rng.distributions.counts import _poisson_constants
from nbm_xp.rng.tasks import of_block
from tests.helpers.host_kernels import InPlace
from tests.helpers.libraries import Library, libraries

SIZE = (170, 171)  # of so many elements the first streams take one step more than the others
MEANS = np.linspace(0.0, 60.0, SIZE[1])
SHAPES = np.geomspace(1e-3, 1e13, SIZE[1])
TRIALS = np.arange(SIZE[1])[:, None] * 40
SHARES = np.asarray([0.5, 0.2, 0.0, 0.3])

# What is asked of a generator, with arrays made by its library, and the kernels that must have served.
CALLS: dict[str, tuple[set[str], Callable[[Any, Callable[[Any], Any]], Any]]] = {
    "integers": ({"digits"}, lambda g, array: g.integers(-5, 17, SIZE)),
    "bytes": ({"digits"}, lambda g, array: g.integers(0, 256, SIZE, dtype="uint8")),
    "long integers": ({"digits_of_two"}, lambda g, array: g.integers(-7, 2**40, SIZE)),
    "wide integers": ({"wide_integers"}, lambda g, array: g.integers(0, 2**64, SIZE, dtype="uint64")),
    "integers of 64 bits": ({"wide_integers"}, lambda g, array: g.integers(-(2**63), 2**62 + 5, SIZE)),
    "integers below many": (
        {"digits", "digits_of_two"},
        lambda g, array: g.integers(0, array(np.asarray([3, 2**20, 2**35])), (700, 3)),
    ),
    "exponential": ({"log_of_each"}, lambda g, array: g.exponential(2.0, SIZE)),
    "gumbel": ({"log_of_each"}, lambda g, array: g.gumbel(0.5, 2.0, SIZE, dtype="float32")),
    "truncated normal": ({"truncated_normals_of_each"}, lambda g, array: g.truncated_normal(0.5, 2.0, SIZE)),
    "gamma": ({"log_gamma", "exp_of_each"}, lambda g, array: g.gamma(2.5, 1.5, SIZE)),
    "small gamma": ({"log_gamma", "exp_of_each", "log_of_each"}, lambda g, array: g.gamma(0.1, 1.5, SIZE)),
    "gamma of many": ({"log_gamma", "sqrt_of_each"}, lambda g, array: g.gamma(array(SHAPES), 1.0, SIZE)),
    "beta": ({"log_gamma", "exp_of_each"}, lambda g, array: g.beta(0.4, array(SHAPES), SIZE)),
    "few events": ({"poisson_search_of_each"}, lambda g, array: g.poisson(3.0, SIZE)),
    "events": ({"poisson"}, lambda g, array: g.poisson(45.0, SIZE)),
    "very many events": ({"poisson"}, lambda g, array: g.poisson(3e12, SIZE)),
    "events of many": ({"poisson", "poisson_search_of_each"}, lambda g, array: g.poisson(array(MEANS), SIZE)),
    "few successes": ({"binomial_search_of_each"}, lambda g, array: g.binomial(20, 0.3, SIZE)),
    "successes": ({"binomial"}, lambda g, array: g.binomial(1000, 0.4, SIZE)),
    "successes of many": (
        {"binomial", "binomial_search_of_each"},
        lambda g, array: g.binomial(array(TRIALS), 0.7, (SIZE[1], SIZE[0])),
    ),
    "choice": ({"digits"}, lambda g, array: g.choice(17, SIZE)),
    "weighed choice": ({"draw_wide"}, lambda g, array: g.choice(4, SIZE, p=array(SHARES))),
    "drawn without replacement": ({"draw"}, lambda g, array: g.choice(3000, 500, replace=False)),
    "permutation": ({"draw"}, lambda g, array: g.permutation(3000)),
    "multinomial": ({"binomial"}, lambda g, array: g.multinomial(500, array(SHARES), 700)),
    "normal": ({"normals"}, lambda g, array: g.normal(0.5, 2.0, SIZE)),
    "uniform": ({"draw"}, lambda g, array: g.uniform(-1.0, 3.0, SIZE, dtype="float32")),
    "uniform of 53 bits": ({"draw_wide"}, lambda g, array: g.uniform(-1.0, 3.0, SIZE, dtype="float64")),
    "bernoulli": ({"bernoulli"}, lambda g, array: g.bernoulli(0.3, SIZE)),
}


def test_every_sampler_is_called() -> None:
    texts = cuda.every_text()
    found = {name for file in ("samplers", "searches") for name in re.findall(r"__global__ void (\w+)", texts[file])}
    assert found <= set().union(*(kernels for kernels, _ in CALLS.values()))


@pytest.mark.parametrize("name", CALLS)
def test_the_text_makes_the_numbers_of_the_host(name: str, cuda_kernels: InPlace) -> None:
    kernels, call = CALLS[name]
    want = call(Generator(7), np.asarray)
    with cuda_kernels() as launched:
        got = call(Generator(7), np.asarray)
    np.testing.assert_array_equal(got, want, strict=True)
    assert kernels <= set(launched)


@pytest.mark.parametrize("size", [(7, 71), SIZE])
@pytest.mark.parametrize("whole", [True, False])
def test_elements_of_a_block_are_those_of_the_whole(size: tuple[int, int], whole: bool, cuda_kernels: InPlace) -> None:
    offset, shape = ((0, 0), size) if whole else ((size[0] - 4, 5), (4, 40))
    uniforms = of_block((12345, 1, 2, 3, 4, 5), size, offset, shape, "numpy").every(3, 2)
    low, span = np.asarray([5]), np.arange(1, uniforms.count + 1) * 7 * 10**4
    own = uniforms.own("digits")
    assert own is not None
    want = own(low, span)
    with cuda_kernels():
        np.testing.assert_array_equal(cuda.sampled("digits", uniforms, low, span), want, strict=True)


def never_for_four(array: Callable[[Any], Any]) -> list[Any]:
    """Parameters of Poisson numbers of ten elements, the first four of which no attempt can serve."""
    _, a, b, quickly, factor, log_lam = _poisson_constants(np.asarray([45.0]))
    lam = np.where(np.arange(10) < 4, np.nan, 45.0)
    return list(map(array, (lam, a, b, 0.0 * quickly, factor, log_lam)))


def test_elements_that_no_attempt_serves_are_counted(cuda_kernels: InPlace) -> None:
    uniforms = of_block((12345,) * 6, (10,), (0,), (10,), "numpy")
    with cuda_kernels(), pytest.raises(RuntimeError, match="were not enough for 4 elements"):
        cuda.sampled("poisson", uniforms, *never_for_four(np.asarray))


@pytest.mark.usefixtures("on_host")
def test_elementary_functions_have_the_bits_of_the_host() -> None:
    x = np.geomspace(1e-300, 1e300, 3001)
    p = np.random.default_rng(0).random((40, 50))
    cases = [
        ("log", log, x), ("sqrt", sqrt, x), ("exp", exp, np.linspace(-760.0, 720.0, 3001)),
        ("normal_quantile", normal_quantile, p), ("normal_quantile", normal_quantile, p.T[::2]),
        ("truncated_normals", lambda u: truncated_normal(u, normal_quantile), p),
        ("normal_quantile", normal_quantile, np.geomspace(1e-300, 1e-3, 3001)), ("log", log, np.asarray(2.5)),
        ("log", log, np.zeros((0, 3))), ("log", log, np.broadcast_to(np.asarray(2.5), (3, 4))),
    ]  # fmt: skip
    for name, everyone, argument in cases:
        np.testing.assert_array_equal(cuda.elementwise(name, argument), everyone(argument), strict=True)


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
@pytest.mark.parametrize("name", CALLS)
def test_cupy_makes_the_numbers_of_the_host(library: Library, name: str) -> None:
    _, call = CALLS[name]
    got = call(Generator(7, library.name), library.array)
    np.testing.assert_array_equal(to_numpy(got), call(Generator(7), np.asarray), strict=True)


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
def test_cupy_counts_elements_that_no_attempt_serves(library: Library) -> None:
    uniforms = of_block((12345,) * 6, (10,), (0,), (10,), library.name)
    with pytest.raises(RuntimeError, match="were not enough for 4 elements"):
        cuda.sampled("poisson", uniforms, *never_for_four(library.array))
