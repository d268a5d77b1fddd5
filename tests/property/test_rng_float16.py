"""float16 numbers are NumPy's on every library: whatever a library rounds, it rounds once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.cli import digests
from nbm_xp.namespace import get_namespace, wide_dtypes
from nbm_xp.namespace.compat import TWICE_ROUNDED
from nbm_xp.namespace.compat.cupy import astype_once
from nbm_xp.rng import Generator
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.at_night("jax")

COUNT = 100_000

WITH_ARRAYS: dict[str, Callable[[Generator, Callable[[Any], Any]], Any]] = {
    "uniform/arrays": lambda g, a: g.uniform(a([[-0.1], [0.3]]), a([[0.7], [1.9]]), (2, COUNT), "float16"),
    "normal/arrays": lambda g, a: g.normal(a([[-0.1], [0.3]]), a([[0.7], [1.9]]), (2, COUNT), "float16"),
    "bernoulli/arrays": lambda g, a: g.bernoulli(a([[0.1], [0.7]]), (2, COUNT), "float16"),
    "poisson": lambda g, a: g.poisson(3000.0, 20_000, "float16"),
    "binomial": lambda g, a: g.binomial(60_000, 0.37, 20_000, "float16"),
}
PLAIN = (
    "uniform", "normal", "exponential", "laplace", "logistic", "gumbel", "truncated_normal", "gamma",
    "gamma, small shape", "beta",
)  # fmt: skip
DRAWS = WITH_ARRAYS | {
    name: lambda g, a, name=name: digests.draw(g, name, COUNT, "float16")  # type: ignore[misc]
    for name in PLAIN
}


@pytest.mark.parametrize("library", libraries("torch", "jax"))
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_numpy(name: str, library: Library) -> None:
    want = DRAWS[name](Generator(5, "numpy"), np.asarray)
    got = library.numpy(DRAWS[name](Generator(5, library.name), lambda x: library.array(np.asarray(x))))
    np.testing.assert_array_equal(got.view("uint16"), want.view("uint16"), strict=True)


def doubles() -> Any:
    """float64 numbers of all sizes that float16 has, many near its ties, and what lies beyond."""
    random = np.random.default_rng(7)
    half = random.integers(0, 2**15, 100_000, "uint16").view("float16")
    half = half[np.isfinite(half)].astype("float64")
    half = half[half < 65504]
    above = np.nextafter(half.astype("float16"), np.float16(np.inf)).astype("float64")
    ties = (half + above) / 2
    near = ties * (1 + random.choice([0.0, 2.0**-52, -(2.0**-53), 2.0**-40, -(2.0**-40), 2.0**-25], ties.size))
    rest = [0.0, 5e-324, 2.0**-25, 2.0**-24 * 1.5, 65519.999999, 65520.0, 1e300, np.inf, TWICE_ROUNDED]
    whole = np.concatenate([half, ties, near, rest])
    return np.concatenate([whole, -whole])


@pytest.mark.parametrize("library", libraries("torch", "jax"))
def test_casts_round_once(library: Library) -> None:
    xp = get_namespace(library.name)
    with wide_dtypes(xp):
        got = library.numpy(xp.astype(library.array(doubles()), xp.float16))
        nothing = library.numpy(xp.astype(library.array(np.asarray([np.nan])), xp.float16))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got.view("uint16"), doubles().astype("float16").view("uint16"))
    assert np.isnan(nothing).all()


def test_where_cupy_rounds_twice_it_is_made_to_round_once() -> None:
    class RoundsTwice:
        int64, float64, float16 = np.dtype("int64"), np.dtype("float64"), np.dtype("float16")
        ascontiguousarray = staticmethod(np.ascontiguousarray)

        @staticmethod
        def astype(x: Any, dtype: Any) -> Any:
            return x.astype("float32").astype(dtype)

    with np.errstate(over="ignore"):
        want = doubles().astype("float16")
        assert (RoundsTwice.astype(doubles(), "float16") != want).any()
        np.testing.assert_array_equal(astype_once(RoundsTwice)(doubles(), np.float16), want)
