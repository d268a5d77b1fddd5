"""Draws by CUDA kernels: their text run on the host, thread after thread, and on CuPy where there is a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import asarray, get_namespace, to_numpy
from nbm_xp.namespace.mrg31k3p import cuda_draws as cuda
from nbm_xp.namespace.mrg31k3p.cuda_draws import SAMPLES
from nbm_xp.rng import after, bernoulli, draw, substreams
from nbm_xp.rng.draws import normal
from nbm_xp.rng.recurrence import rows_of
from nbm_xp.rng.tasks import of_block
from nbm_xp.rng.uniforms import elements, numbers, polar
from tests.helpers.libraries import Library, libraries

NP = get_namespace("numpy")
DRAWS = [(1, 1), (1, 5000), (3, 8), (3, 24), (7, 20), (40, 3000), (300, 100), (1000, 2**21 + 17), (15360, 15360 * 8)]


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "wide"])
@pytest.mark.parametrize("line", [(), (2.5, -0.3)])
def test_the_text_gives_the_numbers_of_the_host(dtype: str, line: Any) -> None:
    for streams, n in DRAWS:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        if dtype != "float16" or not line:
            out, new = cuda.draw(states, n, dtype, line)
            np.testing.assert_array_equal(out, numbers(NP, states, n, dtype, line), strict=True)
            if dtype != "wide":  # whose states are not asked for
                np.testing.assert_array_equal(new, after(states, n))


@pytest.mark.usefixtures("on_host")
def test_the_text_fills_an_array_that_is_there() -> None:
    states = substreams((12345,) * 6, 40)
    for out, put in ((np.zeros((60, 50), "float32"), True), (np.zeros((50, 60), "float32").T, False)):
        for make in (cuda.draw, cuda.normals):
            arguments: Any = (states,) if make is cuda.draw else (states, None)
            want, got = (make(*arguments, 3000, "float32", out=into) for into in (None, out))
            want, got = (want[0], got[0]) if make is cuda.draw else (want, got)
            assert (got is out) == put
            np.testing.assert_array_equal(got.reshape(-1), want, strict=True)


class Elsewhere(np.ndarray):
    """An array on another device than that of the states, whose memory no kernel may touch."""

    device = "elsewhere"  # type: ignore[assignment]


@pytest.mark.usefixtures("on_host")
def test_memory_of_another_device_is_left_alone() -> None:
    states, out = substreams((12345,) * 6, 40), np.zeros(3000, "float32").view(Elsewhere)
    drawn, _ = cuda.draw(states, 3000, "float32", out=out)
    normal = cuda.normals(states, None, 3000, "float32", out=out)
    assert drawn is not out
    assert normal is not out
    assert not out.any()
    assert cuda.bernoulli(states, out, (3000,), "float32", "float32") is None


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize(
    ("dtype", "probability", "sample"),
    [("float32", "float32", sample) for sample in SAMPLES]
    + [("float32", "float64", "int8"), ("float64", "float32", "int32"), ("float64", "float64", "float64")],
)
def test_the_text_compares_as_the_host_does(dtype: str, probability: str, sample: str) -> None:
    for count in (3000, 1):
        p = np.random.default_rng(0).random(count).astype(probability)
        states = substreams((12345,) * 6, 40)
        want, following = bernoulli(NP, states, np.broadcast_to(p, 3000), (3000,), sample, dtype)
        found = cuda.bernoulli(states, p, (3000,), sample, dtype)
        assert found is not None
        np.testing.assert_array_equal(found[1], following)
        np.testing.assert_array_equal(found[0], want, strict=True)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("line", [(), (2.5, -0.3)])
def test_the_text_makes_the_normal_numbers_of_the_host(dtype: str, line: Any) -> None:
    u1, u2 = numbers(NP, substreams((12345, 1, 2, 3, 4, 5), 7), 3002, dtype).reshape(2, -1)
    pairs = u1.copy(), u2.copy()
    cuda.box_muller(*pairs)
    np.testing.assert_array_equal(pairs, polar(NP, u1, u2), strict=True)
    for n in (1, 5, 15_361, 99_999):
        uniforms = of_block((12345, 1, 2, 3, 4, 5), (n,), (0,), (n,), "numpy")
        got = cuda.normals(uniforms.states(), None, n, dtype, line)
        np.testing.assert_array_equal(got, uniforms.normals(dtype, line), strict=True)


@pytest.mark.usefixtures("on_host")
def test_the_text_moves_states_on_as_the_host_does() -> None:
    for streams, n in [*DRAWS, (40, 0)]:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        np.testing.assert_array_equal(cuda.advance(states, n), after(states, n), strict=True)


@pytest.mark.usefixtures("on_host")
def test_states_may_lie_anyhow_in_memory() -> None:
    states = substreams((12345,) * 6, 40)
    want = cuda.draw(states, 3000, "float32")[0]
    for other in (np.ascontiguousarray(states), np.asfortranarray(states), np.repeat(states, 2, axis=0)[::2]):
        np.testing.assert_array_equal(cuda.draw(other, 3000, "float32")[0], want, strict=True)


@pytest.mark.usefixtures("on_host")
@given(
    streams=st.sampled_from([1, 3, 40, 1000]),
    begins=st.lists(st.integers(0, 5000), min_size=1, max_size=6),
    lengths=st.lists(st.integers(1, 3000), min_size=6, max_size=6),
    dtype=st.sampled_from(["float16", "float32", "float64", "wide"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_runs_are_those_of_the_whole_draw(streams: int, begins: list[int], lengths: list[int], dtype: str) -> None:
    """Blocks of Dask whose arrays are CuPy's are made of such runs."""
    states = substreams((12345, 1, 2, 3, 4, 5), streams)
    whole = numbers(NP, states, 8000, dtype)
    firsts, sizes = np.asarray(begins), np.asarray(lengths[: len(begins)])
    want = np.concatenate([whole[first : first + size] for first, size in zip(firsts, sizes, strict=True)])
    np.testing.assert_array_equal(cuda.runs(firsts, sizes, rows_of(streams), states, dtype), want, strict=True)


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_cupy_gives_the_numbers_of_the_host(library: Library, dtype: str) -> None:
    for streams, n in DRAWS:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        want, following = draw(NP, states, (n,), dtype)
        out, new = draw(library.xp, asarray(states, library.xp), (n,), dtype)
        np.testing.assert_array_equal(to_numpy(out), want, strict=True)
        np.testing.assert_array_equal(to_numpy(new), following)
        if dtype != "float16":
            got, _ = normal(library.xp, asarray(states, library.xp), (n,), dtype)
            np.testing.assert_array_equal(to_numpy(got), normal(NP, states, (n,), dtype)[0], strict=True)
            for scale_and_shift in ((), (3.3, -1.1)):
                got = numbers(library.xp, asarray(states, library.xp), n, dtype, scale_and_shift)
                want = numbers(NP, states, n, dtype, scale_and_shift)
                np.testing.assert_array_equal(to_numpy(got), want, strict=True)


def pinned(library: Library, count: int) -> Any:
    """CuPy, where it finds so many devices."""
    found = library.xp.cuda.runtime.getDeviceCount()
    return library.xp.cuda if found >= count else pytest.skip(f"{count} devices are needed, cupy finds {found}")


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
def test_cupy_draws_on_the_stream_that_is_current(library: Library) -> None:
    cuda_of_cupy, states = pinned(library, 1), substreams((12345,) * 6, 300)
    stream = cuda_of_cupy.Stream(non_blocking=True)
    with stream:
        u, new = draw(library.xp, asarray(states, library.xp), (10**6,), "float32")
        ones, _ = bernoulli(library.xp, new, asarray(u, library.xp), (10**6,), "bool", "float32")
    stream.synchronize()
    want, following = draw(NP, states, (10**6,), "float32")
    np.testing.assert_array_equal(to_numpy(u), want, strict=True)
    np.testing.assert_array_equal(to_numpy(ones), bernoulli(NP, following, want, (10**6,), "bool", "float32")[0])


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
def test_cupy_draws_where_the_states_lie(library: Library) -> None:
    states = substreams((12345,) * 6, 300)
    with pinned(library, 2).Device(1):
        there = asarray(states, library.xp)
    u, new = draw(library.xp, there, (10**5,), "float32")
    z, _ = normal(library.xp, there, (10**5,), "float32")
    assert u.device == new.device == z.device == there.device
    np.testing.assert_array_equal(to_numpy(u), draw(NP, states, (10**5,), "float32")[0], strict=True)
    np.testing.assert_array_equal(to_numpy(z), normal(NP, states, (10**5,), "float32")[0], strict=True)


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_cupy_gives_runs_states_and_comparisons_of_the_host(library: Library, dtype: str) -> None:
    states = substreams((12345, 1, 2, 3, 4, 5), 40)
    there, begins, lengths = asarray(states, library.xp), np.asarray([7, 100, 2000]), np.asarray([90, 1, 3000])
    want = elements(states, begins, lengths, dtype)
    np.testing.assert_array_equal(to_numpy(elements(there, begins, lengths, dtype, "cupy")), want, strict=True)
    np.testing.assert_array_equal(to_numpy(after(there, 12345)), after(states, 12345), strict=True)
    for probability in ("float32", "float64"):
        p = np.random.default_rng(0).random(3000).astype(probability)
        for sample in SAMPLES:
            got, _ = bernoulli(library.xp, there, asarray(p, library.xp), (3000,), sample, dtype)
            held = bernoulli(NP, states, p, (3000,), sample, dtype)[0]
            np.testing.assert_array_equal(to_numpy(got), held, strict=True)
