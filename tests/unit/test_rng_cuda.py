"""The CUDA kernel: its text run on the host by a C++ compiler, thread after thread, and on CuPy where there is one."""

from __future__ import annotations

import ctypes
import functools
import pathlib
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import asarray, get_namespace, to_numpy
from nbm_xp.namespace.mrg31k3p import cuda
from nbm_xp.rng import bernoulli, draw, substreams
from nbm_xp.rng.draws import normals
from nbm_xp.rng.recurrence import rows_at
from nbm_xp.rng.uniforms import numbers
from tests.libraries import Library, libraries

NP = get_namespace("numpy")
COMPILER = shutil.which("g++") or shutil.which("clang++")
HOST = """
#include <cmath>
#include <cstddef>
#define __device__
#define __global__
struct place { long long x; };
static place blockIdx, blockDim, threadIdx;
%(text)s
extern "C" void run(long long threads, %(parameters)s) {
    blockDim.x = 256;
    for (long long t = threads - 1; t >= 0; --t) {
        blockIdx.x = t / 256, threadIdx.x = t %% 256;
        %(name)s(%(arguments)s);
    }
}
"""
FLAGS = ["-O1", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused-parameter", "-shared", "-fPIC"]
C_INTEGERS = {np.dtype("int32"): ctypes.c_int, np.dtype("int64"): ctypes.c_longlong}


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Kernels are compiled for the host, and launched on NumPy's arrays, the last thread first."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    built: dict[str, Any] = {}

    def launched(text: str, name: str, grid: Any, block: Any, arguments: Any) -> None:
        run = built.get(text) or built.setdefault(text, on_the_host(text, name, tmp_path / f"{len(built)}"))
        values = [
            C_INTEGERS[value.dtype](value) if isinstance(value, np.integer) else ctypes.c_void_p(value.ctypes.data)
            for value in arguments
        ]
        assert all(value.flags.c_contiguous for value in arguments if isinstance(value, np.ndarray))
        run(ctypes.c_longlong(grid[0] * block[0]), *values)

    monkeypatch.setattr(cuda, "_kernel", lambda xp, text, name: functools.partial(launched, text, name))


def on_the_host(text: str, name: str, folder: pathlib.Path) -> Any:
    """A kernel as a function of the host: how many threads, then what the kernel takes."""
    (parameters,) = re.findall(rf"__global__ void {name}\((.*?)\)", text, re.DOTALL)
    arguments = ", ".join(re.findall(r"(\w+)(?:,|$)", parameters))
    folder.mkdir()
    program = HOST % {"text": text, "name": name, "parameters": parameters, "arguments": arguments}
    (folder / "kernel.cpp").write_text(program)
    command = [COMPILER or "", *FLAGS, "-o", str(folder / "kernel.so"), str(folder / "kernel.cpp")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "kernel.so")).run


DRAWS = [(1, 1), (1, 5000), (3, 8), (3, 24), (7, 20), (40, 3000), (300, 100), (1000, 2**21 + 17), (15360, 15360 * 8)]


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_text_gives_the_numbers_of_the_host(dtype: str) -> None:
    for streams, n in DRAWS:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        want, following = draw(NP, states, (n,), dtype)
        out, after = cuda.draw(states, n, dtype)
        np.testing.assert_array_equal(out, want, strict=True)
        np.testing.assert_array_equal(after, following)


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
@pytest.mark.parametrize(("sample", "probability"), [("bool", "float32"), ("float32", "float64"), ("int64", "float32")])
@pytest.mark.parametrize("count", [3000, 1])
def test_the_text_compares_as_the_host_does(sample: str, probability: str, count: int) -> None:
    p = np.random.default_rng(0).random(count).astype(probability)
    states = substreams((12345,) * 6, 40)
    want, following = bernoulli(NP, states, np.broadcast_to(p, 3000), (3000,), sample, "float32")
    out, after, _ = cuda.bernoulli(states, p, (3000,), sample, "float32")
    np.testing.assert_array_equal(after, following)
    np.testing.assert_array_equal(out, want, strict=True)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_text_stretches_as_the_host_does(dtype: str) -> None:
    states = substreams((12345,) * 6, 40)
    want = numbers(NP, states, 3001, dtype, (3.3, -1.1))
    np.testing.assert_array_equal(cuda.draw(states, 3001, dtype, (3.3, -1.1))[0], want, strict=True)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stretch", [(), (2.5, -0.3)])
def test_the_text_makes_the_normal_numbers_of_the_host(dtype: str, stretch: Any) -> None:
    for streams, n in [*DRAWS[:-2], (7, 21), (40, 2**17 + 3), (15360, 99_999)]:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        got = cuda.normals(states, None, n, dtype, stretch)
        np.testing.assert_array_equal(got, normals(NP, states, n, dtype, stretch), strict=True)


@pytest.mark.usefixtures("on_host")
@given(
    streams=st.sampled_from([1, 3, 40, 1000]),
    begins=st.lists(st.integers(0, 5000), min_size=1, max_size=6),
    lengths=st.lists(st.integers(1, 3000), min_size=6, max_size=6),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_runs_are_those_of_the_whole_draw(streams: int, begins: list[int], lengths: list[int], dtype: str) -> None:
    """Blocks of Dask whose arrays are CuPy's are made of such runs."""
    states = substreams((12345, 1, 2, 3, 4, 5), streams)
    whole = draw(NP, states, (8000,), dtype)[0]
    firsts, sizes = np.asarray(begins), np.asarray(lengths[: len(begins)])

    def rows(places: Any) -> Any:
        steps = places // streams
        return rows_at(NP, steps, (int(steps.min()), int(steps.max())))

    want = np.concatenate([whole[first : first + size] for first, size in zip(firsts, sizes, strict=True)])
    np.testing.assert_array_equal(cuda.runs(firsts, sizes, rows, states, dtype), want, strict=True)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no CUDA compiler")
def test_the_cuda_compiler_takes_the_text(tmp_path: pathlib.Path) -> None:
    texts = [cuda.normals_source("float32"), cuda.normals_source("float64")]
    texts += [cuda.source(cuda._UNIFORMS[dtype], "unsigned short", "int") for dtype in ("float16",)]
    texts += [cuda.source(cuda._uniform("float64", (1, 2)), "double", "double"), cuda.runs_source("float16")]
    for index, text in enumerate(texts):
        (tmp_path / f"{index}.cu").write_text(text)
        command = ["nvcc", "--ptx", "--fmad=false", "-o", str(tmp_path / "out.ptx"), str(tmp_path / f"{index}.cu")]
        subprocess.run(command, check=True)
        assert "fma" not in (tmp_path / "out.ptx").read_text().replace("fmad", "")


@pytest.mark.parametrize("library", libraries("cupy", without=("dask-cupy",)))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_cupy_gives_the_numbers_of_the_host(library: Library, dtype: str) -> None:
    for streams, n in DRAWS:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        want, following = draw(NP, states, (n,), dtype)
        out, after = draw(library.xp, asarray(states, library.xp), (n,), dtype)
        np.testing.assert_array_equal(to_numpy(out), want, strict=True)
        np.testing.assert_array_equal(to_numpy(after), following)
        p = asarray(np.full(n, 0.3, "float32"), library.xp)
        ones, _ = bernoulli(library.xp, asarray(states, library.xp), p, (n,), "float32", dtype)
        np.testing.assert_array_equal(to_numpy(ones), (want < np.float32(0.3)).astype("float32"))
        if dtype != "float16":
            for stretch in ((), (3.3, -1.1)):
                got = normals(library.xp, asarray(states, library.xp), n, dtype, stretch)
                np.testing.assert_array_equal(to_numpy(got), normals(NP, states, n, dtype, stretch), strict=True)
                got = numbers(library.xp, asarray(states, library.xp), n, dtype, stretch)
                np.testing.assert_array_equal(to_numpy(got), numbers(NP, states, n, dtype, stretch), strict=True)


def test_a_draw_is_divided_so_that_all_threads_have_work_and_no_step_is_left() -> None:
    for streams, n in [*DRAWS, (15360, 10**9), (1, 10**9)]:
        threads, length, jumps = cuda.launch(streams, n)
        panels = threads // streams
        assert panels * length * streams >= n
        assert (panels - 1) * length * streams < n
        assert 2 ** len(jumps) >= panels
