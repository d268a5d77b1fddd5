"""Every distribution has the same bits on every library, for every chunking, for whatever parameters broadcast."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import asarray, get_namespace, installed_libraries, to_numpy, use_backend, wide_dtypes
from nbm_xp.namespace.mrg31k3p.integers import M2
from nbm_xp.rng import Generator, elementary
from nbm_xp.rng.distributions import element_uniforms
from nbm_xp.rng.distributions.element_uniforms import of_block
from tests.distributions import DRAWS, REAL, WITH_ARRAYS
from tests.libraries import Library, guard, libraries

OTHERS = libraries("dask-ragged", "array_api_strict", "torch", "jax", "cupy")
seeds = st.integers(1, M2 - 1)


@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_as_parameters(library: Library, name: str) -> None:
    want = to_numpy(DRAWS[name](Generator(2026, "numpy")))
    with guard():
        got = DRAWS[name](Generator(2026, library.name))
    np.testing.assert_array_equal(library.numpy(got), want, strict=True)


@pytest.mark.parametrize("library", libraries("numpy-readonly", "dask", "array_api_strict", "torch", "jax", "cupy"))
@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_arrays_as_parameters(library: Library, name: str) -> None:
    want = to_numpy(WITH_ARRAYS[name](Generator(2026), np.asarray))
    with guard():
        got = WITH_ARRAYS[name](Generator(2026), library.array)
    np.testing.assert_array_equal(library.numpy(got), want, strict=True)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(name: str, dtype: str) -> None:
    got = REAL[name](Generator(2026), dtype=dtype)
    assert got.dtype == dtype
    if name not in ("random", "uniform", "normal", "standard_normal"):
        want = REAL[name](Generator(2026), dtype="float64")
        np.testing.assert_array_equal(got, want.astype(dtype))


@given(st.sampled_from(sorted(set(DRAWS) - {"permutation"})), seeds, st.data())
@settings(max_examples=60)
def test_any_chunks(name: str, seed: int, data: st.DataObject) -> None:
    want = DRAWS[name](Generator(seed, "numpy"))
    chunks = []
    for length in want.shape:
        cuts = sorted(data.draw(st.sets(st.integers(1, length))) | {0, length})
        chunks.append(tuple(b - a for a, b in itertools.pairwise(cuts)))
    if name == "multinomial":
        chunks.pop()
    with guard():
        got = DRAWS[name](Generator(seed, "dask"), chunks=tuple(chunks))
    np.testing.assert_array_equal(got.compute(scheduler="synchronous"), want, strict=True)


@given(seeds, st.integers(1, 50), st.integers(0, 4), st.data())
@settings(max_examples=30)
def test_uniforms_of_some_elements_are_those_of_all(seed: int, streams: int, j: int, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    offset = tuple(data.draw(st.integers(0, length - 1)) for length in shape)
    block = tuple(data.draw(st.integers(1, length - begin)) for length, begin in zip(shape, offset, strict=True))
    state = (seed, 1, 2, 3, 4, 5)
    whole = np.reshape(of_block(state, streams, shape, (0,) * len(shape), shape, "numpy").uniform(j), shape)
    part = whole[tuple(slice(a, a + b) for a, b in zip(offset, block, strict=True))].ravel()
    places = np.asarray(data.draw(st.lists(st.integers(0, part.size - 1), min_size=1, max_size=5)))
    library = data.draw(st.sampled_from(sorted({"numpy", "array_api_strict", "torch"} & set(installed_libraries()))))
    uniforms = of_block(state, streams, shape, offset, block, library)
    np.testing.assert_array_equal(to_numpy(uniforms.uniform(j)), part)
    some = asarray(places, get_namespace(library))
    np.testing.assert_array_equal(to_numpy(uniforms.uniform(j, some)), part[places])


def test_those_that_fail_are_tried_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    together = [Generator(5).gamma(1.1, size=3000, dtype="float64"), Generator(5).poisson(12.0, 3000)]
    monkeypatch.setattr(element_uniforms, "_FEW", 10)
    alone = [Generator(5).gamma(1.1, size=3000, dtype="float64"), Generator(5).poisson(12.0, 3000)]
    for got, want in zip(alone, together, strict=True):
        np.testing.assert_array_equal(got, want)


FUNCTIONS = [
    (elementary.sqrt, np.sqrt, st.floats(1e-200, 1e200)),
    (elementary.log, np.log, st.floats(1e-290, 1e290)),
    (elementary.exp, np.exp, st.floats(-700, 700)),
    (elementary.sin, np.sin, st.floats(1e-9, 7)),
    (elementary.cos, np.cos, st.floats(1e-9, 7)),
]


@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "jax", "cupy"))
@pytest.mark.parametrize(("ours", "theirs", "values"), FUNCTIONS)
@given(st.data())
@settings(max_examples=10)
def test_elementary_functions(library: Library, ours: Any, theirs: Any, values: Any, data: st.DataObject) -> None:
    x = np.asarray(data.draw(st.lists(values, min_size=1, max_size=20)))
    got = ours(x)
    np.testing.assert_allclose(got, theirs(x), rtol=4e-16, atol=2e-16)
    xp = get_namespace(library.name)
    with wide_dtypes(xp):
        np.testing.assert_array_equal(to_numpy(ours(asarray(x, xp))), got, strict=True)


def test_threads_change_no_number() -> None:
    one, four = Generator(5), Generator(5, threads=4)
    p = np.random.default_rng(0).random(300_001).astype("float32")
    for draw in (
        lambda g: g.random(300_001),
        lambda g: g.uniform(-1, 2, 300_001, "float64", nstreams=100),
        lambda g: g.normal(2, 3, 300_001),
        lambda g: g.normal(size=300_001, dtype="float64", nstreams=3),
        lambda g: g.bernoulli(p),
        lambda g: g.binomial(3, p, nstreams=7),
    ):
        np.testing.assert_array_equal(draw(four), draw(one), strict=True)
    assert one == four


@given(seeds, st.sampled_from(["float32", "float64"]), st.integers(1, 400), st.integers(1, 40))
@settings(max_examples=30)
def test_fused_draws_are_those_made_step_by_step(seed: int, dtype: str, n: int, streams: int) -> None:
    low, high = np.asarray([-0.3, 1.7], dtype)
    u = Generator(seed).random(n, dtype, nstreams=streams)
    fused = Generator(seed).uniform(-0.3, 1.7, n, dtype, nstreams=streams)
    np.testing.assert_array_equal(fused, u * (high - low) + low, strict=True)
    z = Generator(seed).normal(size=n, dtype=dtype, nstreams=streams)
    fused = Generator(seed).normal(-0.3, 1.7, n, dtype, nstreams=streams)
    np.testing.assert_array_equal(fused, z * high + low, strict=True)


def test_jax_without_its_64_bit_types() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    with jax.enable_x64(False), use_backend("jax"):
        for name in ("gamma", "normal", "exponential"):
            got = REAL[name](Generator(3), dtype="float32")
            np.testing.assert_array_equal(
                to_numpy(got), REAL[name](Generator(3, "numpy"), dtype="float32"), strict=True
            )
