"""CUDA kernels on the host: a C++ compiler takes the text that a device's would, and threads run one after the other.

What a kernel computes with numbers is the same here and there: C++ without contracted sums. What only a device shows is
how it launches, synchronizes and stores, and how fast.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

__all__ = ["COMPILER", "HostKernels", "InPlace"]

InPlace = Callable[[], AbstractContextManager[list[str]]]
"""What enters a context in which kernels on the host serve NumPy's arrays, and lists those that were launched."""


COMPILER = shutil.which("g++") or shutil.which("clang++")
_FLAGS = ["-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
_FLAGS += ["-fvisibility=hidden"]  # else a kernel's name may mean a function of another library of the process
_BEFORE = """
#define __device__
#define __global__
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
[[maybe_unused]] static int atomicAdd(int *sum, int more) { int before = *sum; *sum += more; return before; }
"""
_AFTER = """
#include <cstddef>
#define SEEN extern "C" __attribute__((visibility("default")))
#include <utility>
template <typename... Types, std::size_t... Index>
static void launched(void (*kernel)(Types...), unsigned blocks, unsigned threads, void **arguments,
                     std::index_sequence<Index...>) {
    blockDim.x = threads;
    for (blockIdx.x = blocks; blockIdx.x-- > 0;)
        for (threadIdx.x = threads; threadIdx.x-- > 0;)
            kernel(*(Types *)arguments[Index]...);
}
template <typename... Types>
static void launch(void (*kernel)(Types...), unsigned blocks, unsigned threads, void **arguments) {
    launched(kernel, blocks, threads, arguments, std::index_sequence_for<Types...>());
}
/* how many bytes each argument has, ended by 0 */
template <typename... Types> static const unsigned char *widths(void (*)(Types...)) {
    static const unsigned char found[] = {sizeof(Types)..., 0};
    return found;
}
"""
_EACH = """
SEEN void run_{0}(unsigned blocks, unsigned threads, void **arguments) {{
    launch({0}, blocks, threads, arguments);
}}
SEEN const unsigned char *widths_{0}() {{ return widths({0}); }}
"""


class HostKernels:
    """What stands in for `cupy.RawKernel` over NumPy's arrays; each text is compiled once.

    Parameters
    ----------
    folder : path
        Where the built texts lie; processes may share it.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.built = folder, dict[str, Any]()

    def kernel(self, text: str, name: str) -> Any:
        """The kernel of some name in a text, called as CuPy's are: ``kernel(grid, block, arguments)``."""
        return functools.partial(self._run, text, name)

    def _run(self, text: str, name: str, grid: Any, block: Any, arguments: Any) -> None:
        library = self.built.get(text) or self.built.setdefault(text, self._compiled(text))
        pointers, given = [], []
        for value in arguments:
            if isinstance(value, np.ndarray):
                assert value.flags.c_contiguous and value.flags.aligned
                given.append(ctypes.c_void_p(value.ctypes.data))
            else:
                assert value.dtype == np.int64, "kernels take arrays and 64-bit integers"
                given.append(ctypes.c_longlong(int(value)))
            pointers.append(ctypes.cast(ctypes.byref(given[-1]), ctypes.c_void_p))
        widths = getattr(library, f"widths_{name}")
        widths.restype = ctypes.c_char_p
        assert list(widths()) == [8] * len(given), f"{name} takes other arguments"
        ((blocks,), (threads,)) = grid, block
        getattr(library, f"run_{name}")(blocks, threads, (ctypes.c_void_p * len(pointers))(*pointers))

    def _compiled(self, text: str) -> Any:
        names = re.findall(r"__global__ void (\w+)\(", text)
        program = "".join([_BEFORE, text, _AFTER, *(_EACH.format(name) for name in names)])
        place = self.folder / f"{hashlib.sha256(program.encode()).hexdigest()}.so"
        if not place.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            own = place.with_suffix(f".{os.getpid()}")
            command = [COMPILER or "c++", *_FLAGS, "-x", "c++", "-", "-o", str(own)]
            subprocess.run(command, input=program, text=True, check=True)
            own.replace(place)
        return ctypes.CDLL(str(place))
