"""The same bits whichever way they are made: stepping or random access, compiled or not, any library, any chunks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import get_namespace, to_numpy, use_backend
from nbm_xp.namespace.mrg31k3p.integers import M1, M2
from nbm_xp.rng import Generator, RandomStreams, bernoulli, draw, draws, recurrence, substreams
from nbm_xp.rng.draws import binomial_of_affine, binomial_of_sigmoid, normal
from nbm_xp.rng.recurrence import integers_at
from nbm_xp.rng.tasks import Draw
from nbm_xp.rng.uniforms import elements, from_integers
from nbm_xp.tape import function, placeholder
from nbm_xp.tape.composite import sigmoid
from tests.helpers.libraries import LIBRARIES, Library, guard, libraries
from tests.helpers.streams import scaled, starts, stepped

NP = get_namespace("numpy")
DTYPES = ("float16", "float32", "float64")
ONES: dict[str, Any] = {"n": 1, "dtype": "float32", "precision": "float32"}

states = st.tuples(*[st.integers(1, M1 - 1)] * 3, *[st.integers(1, M2 - 1)] * 3)
sizes = st.lists(st.integers(0, 6), max_size=3).map(tuple)
streams = st.integers(1, 40)


@st.composite
def chunked(draw_one: st.DrawFn) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """A shape and any division of it into blocks: tiles, columns, ragged ones."""
    shape = draw_one(st.lists(st.integers(1, 9), max_size=4).map(tuple))
    chunks = []
    for length in shape:
        cuts = draw_one(st.sets(st.integers(1, length), max_size=4).map(lambda s: sorted(s)))
        edges = [0, *[cut for cut in cuts if cut < length], length]
        chunks.append(tuple(b - a for a, b in itertools.pairwise(edges)))
    return shape, tuple(chunks)


def has(library: Library, dtype: str) -> bool:
    return not (library.name == "array_api_strict" and dtype == "float16")


@given(states, streams, st.integers(1, 300), st.sampled_from(DTYPES))
def test_numpy_kernel_steps_as_the_article_says(state: tuple[int, ...], count: int, n: int, dtype: str) -> None:
    integers, following = stepped(starts(state, count), n)
    u, new = draw(NP, substreams(state, count), (n,), dtype)
    np.testing.assert_array_equal(u, scaled(integers, dtype), strict=True)
    np.testing.assert_array_equal(new, following)
    assert new.dtype == np.int32


@given(states, streams, st.integers(0, 400))
def test_portable_integers_step_as_the_article_says(state: tuple[int, ...], count: int, n: int) -> None:
    integers, following = stepped(starts(state, count), n)
    first = recurrence.substreams(NP, state, count)
    np.testing.assert_array_equal(first, starts(state, count))
    np.testing.assert_array_equal(recurrence.integers(NP, first, n), integers)
    np.testing.assert_array_equal(recurrence.advance(NP, first, n), following)


@pytest.mark.parametrize(("count", "n"), [(1, 5000), (7, 40_000), (1023, 9000), (1025, 9000), (3000, 20_001)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_and_portable_form_agree_on_long_draws(count: int, n: int, dtype: str) -> None:
    first = substreams((12345,) * 6, count)
    u, new = draw(NP, first, (n,), dtype)
    np.testing.assert_array_equal(u, from_integers(NP, recurrence.integers(NP, first, n), dtype), strict=True)
    np.testing.assert_array_equal(new, recurrence.advance(NP, first, n))


def test_portable_form_in_many_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    first = substreams((12345,) * 6, 7)
    whole = recurrence.integers(NP, first, 5000)
    for at_once in (1, 10, 100, 3000):
        monkeypatch.setattr(recurrence, "ELEMENTS_AT_ONCE", at_once)
        np.testing.assert_array_equal(recurrence.integers(NP, first, 5000), whole)


@given(states, streams, sizes, st.sampled_from(DTYPES))
@settings(max_examples=4)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_draws_the_same(
    library: Library, state: tuple[int, ...], count: int, size: tuple[int, ...], dtype: str
) -> None:
    assume(has(library, dtype))
    first = substreams(state, count)
    want, following = draw(NP, first, size, dtype)
    chunks = tuple(map(library.chunking, size)) if library.chunking else None
    with guard():
        for given_states in (first, library.array(first)):
            u, new = draw(library.xp, given_states, size, dtype, chunks)
            if chunks is not None:
                assert u.chunks == chunks
            got = library.numpy(u)
            np.testing.assert_array_equal(got, want, strict=True)
            np.testing.assert_array_equal(to_numpy(new) if given_states is first else library.numpy(new), following)


@pytest.mark.parametrize("make", [draw, normal])
@given(states, streams, chunked(), st.sampled_from(DTYPES))
def test_dask_blocks_do_not_depend_on_the_chunks(
    make: Any, state: tuple[int, ...], count: int, division: tuple[tuple[int, ...], Any], dtype: str
) -> None:
    shape, chunks = division
    first, xp = substreams(state, count), get_namespace("dask")
    want, _ = make(NP, first, shape, dtype)
    with guard():
        u, _ = make(xp, first, shape, dtype, chunks)
    np.testing.assert_array_equal(u.compute(scheduler="synchronous"), want, strict=True)


@pytest.mark.parametrize("library", libraries("numpy", "torch", "jax", "array_api_strict", "cupy"))
@given(states, streams, chunked(), st.sampled_from(("float32", "float64")))
@settings(max_examples=2)
@pytest.mark.at_night("jax")
def test_a_block_in_any_library(
    library: Library, state: tuple[int, ...], count: int, division: tuple[tuple[int, ...], Any], dtype: str
) -> None:
    shape, chunks = division
    first = substreams(state, count)
    whole, _ = draw(NP, first, shape, dtype)
    task = Draw(draws.uniforms, None, shape, dtype, library.name)
    for block in itertools.product(*map(range, map(len, chunks))):
        offset = tuple(sum(sizes[:i]) for sizes, i in zip(chunks, block, strict=True))
        size = tuple(sizes[i] for sizes, i in zip(chunks, block, strict=True))
        want = whole[tuple(slice(a, a + b) for a, b in zip(offset, size, strict=True))]
        np.testing.assert_array_equal(to_numpy(task(offset, size, first)), want, strict=True)


@given(st.integers(1, 20_000), st.lists(st.integers(0, 10**15), min_size=1, max_size=5))
@settings(max_examples=10)
def test_elements_anywhere_in_a_draw(count: int, places: list[int]) -> None:
    state = (12345, 1, 2, 3, 4, 5)
    begins = np.asarray(places, dtype=np.int64)
    got = elements(substreams(state, count), begins, np.ones_like(begins), "float64")
    for value, place in zip(got, places, strict=True):
        from tests.golden.mrg import advanced

        final = advanced(state, (place % count) * 2**72 + place // count + 1)
        assert value * 2**31 == ((final[0] - final[3]) % M1 or M1)


@given(states, streams, st.integers(1, 300), st.sampled_from(("float32", "float64")), st.sampled_from(DTYPES))
def test_fused_bernoulli_compares(state: tuple[int, ...], count: int, n: int, dtype: str, precision: str) -> None:
    p = np.random.default_rng(n).random(n).astype(dtype)
    first = substreams(state, count)
    u, following = draw(NP, first, (n,), precision)
    for sample in ("bool", "uint16", "float32"):
        got, new = bernoulli(NP, first, p, (n,), sample, precision)
        np.testing.assert_array_equal(got, (u < p).astype(sample), strict=True)
        np.testing.assert_array_equal(new, following)


def test_a_dask_draw_computes_nothing() -> None:
    with guard():
        u = Generator((1,) * 6, "dask").random((10**6, 10**4), chunks=(10**4, 10**3))
    assert u.numblocks == (100, 10)
    tile = u[123_456:123_460, 5000:5003].compute(scheduler="synchronous")
    places = np.arange(123_456, 123_460)[:, None] * 10**4 + np.arange(5000, 5003)
    integers = integers_at(NP, substreams((1,) * 6, 15360), places, (int(places.min()), int(places.max())))
    np.testing.assert_array_equal(tile, from_integers(NP, integers, "float32"), strict=True)


@pytest.mark.parametrize(("count", "n"), [(1, 7), (7, 1), (106, 640), (2049, 15_000), (2500, 30_001)])
@pytest.mark.parametrize("spread", [0.1, 4.0, 60.0])
def test_draws_by_log_odds_are_those_by_their_sigmoids(count: int, n: int, spread: float) -> None:
    first = substreams((n,) * 6, count)
    x = np.random.default_rng(n).normal(0.0, spread, n).astype(np.float32)
    ends = np.asarray([-np.inf, -3e38, -30.5, 16.7, 88.8, 3e38, np.inf, np.nan], "float32")
    x[: n // 20] = np.resize(ends, n // 20)
    want, after_it = bernoulli(NP, first, sigmoid(x), (n,), "float32", "float32")
    got, new = binomial_of_sigmoid(NP, first, x, size=(n,), **ONES)
    np.testing.assert_array_equal(got, want, strict=True)
    np.testing.assert_array_equal(new, after_it)


@pytest.mark.parametrize("n", [700, 5000])  # fewer and more than the compiled loop leaves open
@given(states, st.integers(-3, 3))
@settings(max_examples=20)
def test_draws_by_log_odds_where_all_depends_on_rounding(n: int, state: tuple[int, ...], ulps: int) -> None:
    first = substreams(state, 30)
    u = draw(NP, first, (n,), "float64")[0]
    x = (np.log(u) - np.log1p(-u)).astype(np.float32)
    x = x + np.float32(ulps) * np.spacing(x)
    want = bernoulli(NP, first, sigmoid(x), (n,), "float32", "float32")[0]
    np.testing.assert_array_equal(binomial_of_sigmoid(NP, first, x, size=(n,), **ONES)[0], want)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 1), (1, 9), (40, 63), (63, 40), (30, 3000)])
@pytest.mark.parametrize("shift", ["of each column", "of each column, a row", "of each row"])
@pytest.mark.parametrize("spread", [1.0, 30.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_by_products_are_as_by_sigmoids(rows: int, columns: int, shift: str, spread: float, dtype: str) -> None:
    first, random = substreams((rows,) * 6, max(1, rows * columns // 6)), np.random.default_rng(columns)
    a, b = (random.normal(0.0, spread, shape).astype(dtype) for shape in ((rows, 5), (5, columns)))
    shapes = {"of each column": (columns,), "of each column, a row": (1, columns), "of each row": (rows, 1)}
    bias = random.normal(0.0, spread, shapes[shift]).astype(dtype)
    a[:: rows + 1], bias.flat[-1] = np.nan, np.inf
    before = [array.copy() for array in (a, b, bias)]
    want = bernoulli(NP, first, sigmoid(a @ b + bias), (rows, columns), dtype, "float32")
    got = binomial_of_affine(NP, first, a, b, bias, size=(rows, columns), n=1, dtype=dtype, precision="float32")
    np.testing.assert_array_equal(got[0], want[0], strict=True)
    np.testing.assert_array_equal(got[1], want[1])
    for array, copy in zip((a, b, bias), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("columns", [700, 5000])  # fewer and more than the compiled loop leaves open
def test_draws_by_products_where_all_depends_on_rounding(columns: int) -> None:
    first = substreams((columns,) * 6, 30)
    u = draw(NP, first, (columns,), "float64")[0]
    a = np.ones((1, 1), "float32")
    b, bias = (np.log(u) - np.log1p(-u)).astype(np.float32)[None, :], np.zeros(columns, "float32")
    want = bernoulli(NP, first, sigmoid(b), b.shape, "float32", "float32")[0]
    np.testing.assert_array_equal(binomial_of_affine(NP, first, a, b, bias, size=b.shape, **ONES)[0], want)
    np.testing.assert_array_equal(binomial_of_sigmoid(NP, first, bias, a @ b, size=b.shape, **ONES)[0], want)


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly", "dask-singles")))
@pytest.mark.parametrize("turned", [False, True])
def test_plans_draw_by_products_what_they_draw_by_sigmoids(library: Library, turned: bool) -> None:
    x = np.random.default_rng(4).normal(0.0, 2.0, (30, 40)).astype("float32")
    w, bias = np.eye(40, 20, dtype="float32"), np.linspace(-1, 1, 30 if turned else 20, dtype="float32")
    with use_backend(library.name):
        rows, weights, shifts = (placeholder((None,) * x.ndim, dtype="float32") for x in (x, w, bias))
        p = sigmoid((shifts[:, None] if turned else shifts) + rows @ weights)
        alone = RandomStreams(9).binomial((30, 20), p=p, dtype="float32")
        beside = RandomStreams(9).binomial((30, 20), p=p, dtype="float32")
        inputs = [rows, weights, shifts]
        joined, apart = function(inputs, alone), function(inputs, [beside, p])
        given_arrays = [library.array(array) for array in (x, w, bias)]
        for _ in range(2):
            got, (want, _) = joined(*given_arrays), apart(*given_arrays)
            np.testing.assert_array_equal(library.numpy(got), library.numpy(want))
    assert "random_binomial_of_sigmoid_of_add_of_matmul(" in joined.source()


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly",)))
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.at_night("jax")
def test_plans_draw_by_log_odds_what_they_draw_by_sigmoids(library: Library, dtype: str) -> None:
    x = np.random.default_rng(4).normal(0.0, 2.0, (30, 40)).astype("float32")
    with use_backend(library.name):
        odds = placeholder((None, 40), dtype="float32")
        p = sigmoid(odds)
        alone = RandomStreams(9).binomial((30, 40), p=p, dtype=dtype)
        beside = RandomStreams(9).binomial((30, 40), p=p, dtype=dtype)
        joined, apart = function([odds], alone), function([odds], [beside, p])
        of_last = function([odds], RandomStreams(9).binomial((30, 40), p=sigmoid(2.0 * (odds / 2.0)), dtype=dtype))
        assert "random_binomial_of_sigmoid(" in of_last.source()  # of what nothing needs later
        for _ in range(2):
            got, (want, _) = joined(library.array(x)), apart(library.array(x))
            np.testing.assert_array_equal(library.numpy(of_last(library.array(x))), library.numpy(got))
            np.testing.assert_array_equal(library.numpy(got), library.numpy(want))
    assert "random_binomial_of_sigmoid(" in joined.source()
    assert "of_sigmoid" not in apart.source()
