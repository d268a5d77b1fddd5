"""Every distribution has the same bits on every library, for every chunking, for whatever parameters broadcast."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbm_xp import namespace
from nbm_xp.namespace import asarray, elementary, get_namespace, installed_libraries, kernels, to_numpy, wide_dtypes
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.integers import M1, M2
from nbm_xp.rng import Generator
from nbm_xp.rng.distributions import sampling
from nbm_xp.rng.distributions.counts import binomial, poisson
from nbm_xp.rng.distributions.gammas import gamma
from nbm_xp.rng.distributions.integers import integers
from nbm_xp.rng.parameters import INTEGERS
from nbm_xp.rng.tasks import of_block
from tests.helpers.distributions import DRAWS, REAL, VECTORS, WITH_ARRAYS
from tests.helpers.libraries import AGAIN, Library, guard, libraries, on_libraries

OTHERS = libraries("dask-ragged", "array_api_strict", "torch", *AGAIN, "cupy")
seeds = st.integers(1, M2 - 1)


@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_as_parameters(library: Library, name: str) -> None:
    want = to_numpy(DRAWS[name](Generator(2026, "numpy")))
    with guard():
        got = DRAWS[name](Generator(2026, library.name))
    np.testing.assert_array_equal(library.numpy(got), want, strict=True)


@pytest.mark.at_night("jax")
@pytest.mark.parametrize(
    ("name", "library"),
    on_libraries(
        {name: name for name in WITH_ARRAYS},
        libraries("numpy-readonly", "dask", "array_api_strict", "torch", "jax", "cupy"),
    ),
)
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
        with np.errstate(over="ignore"):  # beyond the largest number of a narrow dtype both are infinite
            np.testing.assert_array_equal(got, want.astype(dtype))


@given(st.sampled_from(sorted(set(DRAWS) - {"permutation"})), seeds, st.data())
@settings(max_examples=60)
def test_any_chunks(name: str, seed: int, data: st.DataObject) -> None:
    want = DRAWS[name](Generator(seed, "numpy"))
    chunks = []
    for length in want.shape:
        cuts = sorted(data.draw(st.sets(st.integers(1, length))) | {0, length})
        chunks.append(tuple(b - a for a, b in itertools.pairwise(cuts)))
    if name in VECTORS:
        chunks.pop()
    with guard():
        got = DRAWS[name](Generator(seed, "dask"), chunks=tuple(chunks))
    np.testing.assert_array_equal(got.compute(scheduler="synchronous"), want, strict=True)


@given(seeds, st.integers(0, 4), st.data())
@settings(max_examples=30)
def test_uniforms_of_some_elements_are_those_of_all(seed: int, j: int, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    offset = tuple(data.draw(st.integers(0, length - 1)) for length in shape)
    block = tuple(data.draw(st.integers(1, length - begin)) for length, begin in zip(shape, offset, strict=True))
    state = (seed, 1, 2, 3, 4, 5)
    whole = np.reshape(of_block(state, shape, (0,) * len(shape), shape, "numpy").uniform(j), shape)
    part = whole[tuple(slice(a, a + b) for a, b in zip(offset, block, strict=True))].ravel()
    places = np.asarray(data.draw(st.lists(st.integers(0, part.size - 1), min_size=1, max_size=5)))
    library = data.draw(st.sampled_from(sorted({"numpy", "array_api_strict", "torch"} & set(installed_libraries()))))
    uniforms = of_block(state, shape, offset, block, library)
    np.testing.assert_array_equal(to_numpy(uniforms.uniform(j)), part)
    some = asarray(places, get_namespace(library))
    np.testing.assert_array_equal(to_numpy(uniforms.uniform(j, some)), part[places])


FUNCTIONS = [
    (elementary.sqrt, np.sqrt, st.floats(1e-200, 1e200)), (elementary.log, np.log, st.floats(1e-290, 1e290)),
    (elementary.exp, np.exp, st.floats(-700, 700)), (elementary.sin, np.sin, st.floats(1e-9, 7)),
    (elementary.cos, np.cos, st.floats(1e-9, 7)),
]  # fmt: skip


@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "jax", "cupy"))
@pytest.mark.parametrize(("ours", "theirs", "values"), FUNCTIONS)
@given(st.data())
@settings(max_examples=10)
def test_elementary_functions(library: Library, ours: Any, theirs: Any, values: Any, data: st.DataObject) -> None:
    x = np.asarray(data.draw(st.lists(values, min_size=20, max_size=20)))
    got = ours(x)
    np.testing.assert_allclose(got, theirs(x), rtol=4e-16, atol=2e-16)
    xp = get_namespace(library.name)
    with wide_dtypes(xp):
        np.testing.assert_array_equal(to_numpy(ours(asarray(x, xp))), got, strict=True)


def test_threads_change_no_number() -> None:
    one, four = Generator(5), Generator(5, threads=4)
    p = np.random.default_rng(0).random(300_001).astype("float32")
    for draw in (
        lambda g: g.random(300_001), lambda g: g.uniform(-1, 2, 300_001, "float64"), lambda g: g.normal(2, 3, 300_001),
        lambda g: g.normal(size=300_001, dtype="float64"), lambda g: g.bernoulli(p), lambda g: g.binomial(3, p),
        lambda g: g.integers(-5, 12, 300_001), lambda g: g.integers(0, 2**63 + 5, 300_001, "uint64"),
        lambda g: g.truncated_normal(p, 2.0), lambda g: g.gamma(0.5 + p, size=300_001), lambda g: g.exponential(p),
    ):  # fmt: skip
        np.testing.assert_array_equal(draw(four), draw(one), strict=True)
    assert one == four


KERNELS = ("draw", "elementwise", "normals", "runs", "sampled", "whole_digits")


def as_without_kernels(draw: Any) -> None:
    """Hold what kernels draw to what the portable bodies draw."""
    assert all(kernel(f"rng.{name}", "numpy") for name in KERNELS)
    got = draw()
    with pytest.MonkeyPatch.context() as patch:
        for name in KERNELS:
            patch.delitem(kernels._KERNELS, (f"rng.{name}", "numpy"))
        want = draw()
    np.testing.assert_array_equal(got, want, strict=True)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


sizes = st.one_of(st.integers(1, 3000), st.sampled_from([15_360, 15_361, 50_001]))


@given(seeds, st.sampled_from(INTEGERS), sizes, st.booleans(), st.data())
@settings(max_examples=40)
def test_integers_of_kernels(seed: int, dtype: str, n: int, some: bool, data: st.DataObject) -> None:
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    edges = [v for v in (-(2**62), -1, 0, 5, M1 - 1, M1, 2**31, M1 * M1 - 1, 2**63, 2**63 + 9) if least <= v <= most]
    bound = st.one_of(st.integers(least, most), st.sampled_from([least, most, *edges]))
    low, high = sorted((data.draw(bound), data.draw(bound)))
    if some:
        low, high = max(low, -(2**60)), min(high, 2**60)
        assume(low <= high)
        low, high = np.asarray([low]), np.linspace(low, high, n).astype("int64").clip(low, high)
    as_without_kernels(lambda: Generator(seed).integers(low, high, n, dtype, endpoint=True))


@given(seeds, sizes, st.sampled_from(["float32", "float64"]), st.booleans(), st.data())
@settings(max_examples=40)
def test_numbers_of_kernels(seed: int, n: int, dtype: str, some: bool, data: st.DataObject) -> None:
    options = {"size": n, "dtype": dtype}
    a, b = (2.0 ** data.draw(st.floats(-6, 60)) for _ in range(2))
    if some:
        a = np.geomspace(a, 1.5, n)
    draws = {
        "truncated_normal": lambda g: g.truncated_normal(b, a, **options), "gamma": lambda g: g.gamma(a, b, **options),
        "beta": lambda g: g.beta(b, a, **options), "poisson": lambda g: g.poisson(a, **options),
        "binomial": lambda g: g.binomial(trials, p, **options),
    }  # fmt: skip
    trials, p = data.draw(st.integers(17, 2**53)), data.draw(st.floats(0, 1))
    if some:
        trials, p = np.geomspace(1, trials, n).astype("int64"), np.linspace(0, p, n) ** 3
    draw = draws[data.draw(st.sampled_from(sorted(draws)))]
    as_without_kernels(lambda: draw(Generator(seed)))


@given(seeds, st.integers(1, 60), st.integers(1, 60), st.data())
@settings(max_examples=30)
def test_blocks_of_kernels(seed: int, rows: int, columns: int, data: st.DataObject) -> None:
    top, left = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    whole = of_block((seed, 1, 2, 3, 4, 5), (rows, columns), (0, 0), (rows, columns), "numpy")
    part = of_block((seed, 1, 2, 3, 4, 5), (rows, columns), (top, left), (rows - top, columns - left), "numpy")
    for make in (
        lambda u: integers(u, np.asarray([-7]), np.asarray([3 * 2**29])),
        lambda u: gamma(u, np.asarray([0.4]), np.asarray([2.0])),
        lambda u: poisson(u, np.asarray([11.0])),
        lambda u: binomial(u, np.asarray([100.0]), np.asarray([0.4])),
    ):
        want = np.reshape(make(whole), (rows, columns))[top:, left:]
        np.testing.assert_array_equal(make(part), want.ravel(), strict=True)


@pytest.mark.skipif(not namespace.core.functions, reason="installed without a compiler: the portable searches ask")
@pytest.mark.parametrize(
    "draw",
    [
        lambda g: g.gamma(np.asarray([0.0, 0.5, 2.5, 2.0**70]), np.asarray([1.0, 2.0, 1.0, 3.0])),
        lambda g: g.beta(np.asarray([0.5, 3.0]), 2.0),
        lambda g: g.poisson(np.asarray([0.0, 3.0, 60.0])),
        lambda g: g.binomial(np.asarray([20, 1000]), 0.5),
    ],
)
def test_parameters_are_asked_together(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question would be a copy from a device to the host."""
    asked: list[Any] = []
    answer = sampling.concrete_int
    monkeypatch.setattr(sampling, "concrete_int", lambda x: asked.append(x) or answer(x))
    draw(Generator(5))
    assert len(asked) == 1


def test_an_element_that_nothing_becomes_of_is_an_error() -> None:
    own = of_block((5,) * 6, (9,), (0,), (9,), "numpy").own("wide_integers")
    assert own is not None
    with pytest.raises(RuntimeError, match="attempts were not enough for"):
        own(np.asarray([0]), np.asarray([-(2**63) + 2**20]))


@given(seeds, st.sampled_from(["float32", "float64"]), sizes)
@settings(max_examples=30)
def test_fused_draws_are_those_made_step_by_step(seed: int, dtype: str, n: int) -> None:
    low, high = np.asarray([-0.3, 1.7], dtype)
    u = Generator(seed).random(n, dtype)
    fused = Generator(seed).uniform(-0.3, 1.7, n, dtype)
    np.testing.assert_array_equal(fused, u * (high - low) + low, strict=True)
    z = Generator(seed).normal(size=n, dtype=dtype)
    fused = Generator(seed).normal(-0.3, 1.7, n, dtype)
    np.testing.assert_array_equal(fused, z * high + low, strict=True)
