"""The CUDA kernel: its text run on the host by a C++ compiler, thread after thread, and on CuPy where there is one."""

from __future__ import annotations

import ctypes
import pathlib
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import asarray, get_namespace, to_numpy
from nbm_xp.namespace.mrg31k3p import cuda
from nbm_xp.namespace.mrg31k3p.integers import transition
from nbm_xp.rng import bernoulli, draw, substreams
from nbm_xp.rng.draws import normals
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
%s
extern "C" void run(long long threads, PARAMETERS) {
    blockDim.x = 256;
    for (long long t = (threads + 255) / 256 * 256 - 1; t >= 0; --t) {
        blockIdx.x = t / 256, threadIdx.x = t %% 256;
        KERNEL;
    }
}
"""


DRAW = {
    "PARAMETERS": "const int *states, const u32 *jumps, long long streams, long long n, long long length, "
    "const PROBABILITY *p, OUT *out, int *after",
    "KERNEL": "draw(states, jumps, streams, n, length, p, out, after)",
}
NORMALS = {
    "PARAMETERS": "const int *states, const u32 *jumps, const u32 *bases, long long streams, long long half, "
    "long long n, long long length, const OUT *line, int stretched, OUT *out",
    "KERNEL": "normals(states, jumps, bases, streams, half, n, length, line, stretched, out)",
}


def host(text: str, folder: pathlib.Path, kernel: dict[str, str] = DRAW) -> Any:
    """The kernel as a function of the host."""
    program = HOST % text
    for name, value in kernel.items():
        program = program.replace(name, value)
    (folder / "kernel.cpp").write_text(program)
    command = [
        COMPILER or "",
        "-O1",
        "-ffp-contract=off",
        "-Wall",
        "-Werror",
        "-Wno-unused-parameter",
        "-shared",
        "-fPIC",
    ]
    subprocess.run([*command, "-o", str(folder / "kernel.so"), str(folder / "kernel.cpp")], check=True)
    return ctypes.CDLL(str(folder / "kernel.so")).run


def call(run: Any, states: Any, n: int, p: Any, out: Any) -> Any:
    states = np.ascontiguousarray(states)
    after = np.full_like(states, -1)
    threads, length, jumps = cuda.launch(states.shape[0], n)
    matrices = np.asarray(jumps or [0], np.uint32)
    sizes = [ctypes.c_longlong(value) for value in (states.shape[0], n, length)]
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (states, matrices, p, out, after)]
    run(ctypes.c_longlong(threads), *pointers[:2], *sizes, *pointers[2:])
    return after


DRAWS = [(1, 1), (1, 5000), (3, 8), (3, 24), (7, 20), (40, 3000), (300, 100), (1000, 2**21 + 17), (15360, 15360 * 8)]


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_text_gives_the_numbers_of_the_host(dtype: str, tmp_path: pathlib.Path) -> None:
    out_type = {"float16": "unsigned short"}.get(dtype) or cuda._C_TYPES[dtype]
    run = host(cuda.source(cuda._UNIFORMS[dtype], out_type), tmp_path)
    for streams, n in DRAWS:
        states = substreams((12345, 1, 2, 3, 4, 5), streams)
        want, following = draw(NP, states, (n,), dtype)
        out = np.zeros(n, dtype)
        after = call(run, states, n, out, out)
        np.testing.assert_array_equal(out, want, strict=True)
        np.testing.assert_array_equal(after, following)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize(("sample", "probability"), [("bool", "float32"), ("float32", "float64"), ("int64", "float32")])
def test_the_text_compares_as_the_host_does(sample: str, probability: str, tmp_path: pathlib.Path) -> None:
    value = f"{cuda._UNIFORMS['float32']} < p[i]"
    run = host(cuda.source(value, cuda._C_TYPES[sample], cuda._C_TYPES[probability]), tmp_path)
    p = np.random.default_rng(0).random(3000).astype(probability)
    states = substreams((12345,) * 6, 40)
    want, following = bernoulli(NP, states, p, p.shape, sample, "float32")
    out = np.zeros(p.size, sample)
    np.testing.assert_array_equal(call(run, states, p.size, p, out), following)
    np.testing.assert_array_equal(out, want, strict=True)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_text_stretches_as_the_host_does(dtype: str, tmp_path: pathlib.Path) -> None:
    kind = cuda._C_TYPES[dtype]
    run = host(cuda.source(cuda._uniform(dtype, (3.3, -1.1)), kind, kind), tmp_path)
    states, line = substreams((12345,) * 6, 40), np.asarray([3.3, -1.1], dtype)
    want = numbers(NP, states, 3001, dtype, (3.3, -1.1))
    out = np.zeros(3001, dtype)
    call(run, states, 3001, line, out)
    np.testing.assert_array_equal(out, want, strict=True)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stretch", [(), (2.5, -0.3)])
def test_the_text_makes_the_normal_numbers_of_the_host(dtype: str, stretch: Any, tmp_path: pathlib.Path) -> None:
    run = host(cuda.normals_source(dtype), tmp_path, NORMALS)
    for streams, n in [*DRAWS[:-2], (7, 21), (40, 2**17 + 3), (15360, 99_999)]:
        states, half = substreams((12345, 1, 2, 3, 4, 5), streams), (n + 1) // 2
        want = normals(NP, states, n, dtype, stretch)
        threads, length, jumps = cuda.launch(streams, half)
        matrices = np.asarray(jumps or [transition(0)], np.uint32)
        bases = np.asarray([transition(half // streams), transition(half // streams + 1)], np.uint32)
        first, line, out = np.ascontiguousarray(states), np.asarray(stretch or (1, 0), dtype), np.zeros(n, dtype)
        sizes = [ctypes.c_longlong(value) for value in (streams, half, n, length)]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (first, matrices, bases, line, out)]
        run(ctypes.c_longlong(threads), *pointers[:3], *sizes, pointers[3], int(bool(stretch)), pointers[4])
        np.testing.assert_array_equal(out, want, strict=True)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no CUDA compiler")
def test_the_cuda_compiler_takes_the_text(tmp_path: pathlib.Path) -> None:
    texts = [cuda.normals_source("float32"), cuda.normals_source("float64")]
    texts += [cuda.source(cuda._UNIFORMS[dtype], "unsigned short", "int") for dtype in ("float16",)]
    texts += [cuda.source(cuda._uniform("float64", (1, 2)), "double", "double")]
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
