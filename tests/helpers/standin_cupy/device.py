"""The device: one, whose memory is the host's, whose kernels are the host's compiler's, and copies from it are seen.

There is one stream, which has always done all that it was given.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import pathlib
import shutil
import sys
import tempfile
import types
from typing import Any

import numpy as np

from tests.helpers.host_kernels import HostKernels

__all__ = ["CUDA", "OPEN", "RUNTIME", "Device", "HiddenTransferError", "RawKernel", "memory_of", "transfer"]

PACKAGE = (importlib.util.find_spec("nbm_xp").origin or "").removesuffix("__init__.py")  # type: ignore[union-attr]
OPEN = {
    ("namespace/compat/cupy.py", "to_numpy"): "it says so",
    ("namespace/conversion.py", "concrete_int"): "it says so",
    ("functions/control.py", "print_tensor"): "what is printed is asked for",
    ("namespace/compat/cupy.py", "build"): "the installed CuPy is tried once, when its namespace is made",
}
"""Functions of the package that may copy, and why."""


class HiddenTransferError(AssertionError):
    """A copy from the device to the host that nobody asked for."""


def transfer(how: str) -> None:
    """Note a copy to the host: refused where the nearest frame of the package's is none of the open functions.

    What calls from outside the package (a test, Dask, the command line) may copy what it likes.
    """
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE) and frame.f_code.co_name != "<genexpr>":
            place = file.removeprefix(PACKAGE), frame.f_code.co_name
            if place not in OPEN:
                where = f"{place[0]}:{frame.f_lineno}, {place[1]}"
                raise HiddenTransferError(f"{how} copies from the device to the host, in {where}")
            return
        if "/tests/helpers/standin_cupy/" not in file and "/array_api_compat/" not in file:
            return
        frame = frame.f_back


class CUDARuntimeError(RuntimeError):
    """What CUDA's runtime rejects."""


class _Context:
    """What is entered, used and waited for, and has nothing to do."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    def use(self) -> Any:
        """Make it the current one, which it is."""
        return self

    def synchronize(self) -> None:
        """Wait for what is always done."""


class Device(_Context):
    """A device by its number; there is number 0 alone."""

    def __init__(self, device: Any = None) -> None:
        self.id = 0 if device is None else int(getattr(device, "id", device))
        if self.id:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return 0


class Stream(_Context):
    """A stream, in which everything is done at once."""

    ptr = 0

    def __init__(self, **options: bool) -> None:
        pass


def memory_of(host: Any) -> Any:
    """The allocation that an array of NumPy's lies in."""
    while isinstance(host.base, np.ndarray):
        host = host.base
    return types.SimpleNamespace(ptr=host.ctypes.data)


@functools.cache
def _host() -> HostKernels:
    """What compiles and launches; what is built goes with the process."""
    folder = tempfile.mkdtemp(prefix="standin_cupy_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return HostKernels(pathlib.Path(folder))


class RawKernel:
    """A kernel by its text, compiled by the host's compiler when it is first launched."""

    def __init__(self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc") -> None:
        self.code, self.name = code, name

    def __call__(self, grid: Any, block: Any, args: Any) -> None:
        _host().kernel(self.code, self.name)(grid, block, [self._argument(value) for value in args])

    @staticmethod
    def _argument(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        return getattr(value, "_ndarray__host", value)


RUNTIME: dict[str, Any] = {
    "CUDARuntimeError": CUDARuntimeError, "getDeviceCount": lambda: 1, "getDevice": lambda: 0,
    "deviceSynchronize": lambda: None, "is_hip": False,
}  # fmt: skip
"""What is modelled of `cupy.cuda.runtime`."""

CUDA: dict[str, Any] = {
    "Device": Device, "Stream": Stream, "get_current_stream": lambda device_id=-1: Stream(), "get_device_id": lambda: 0,
    "is_available": lambda: True,
}  # fmt: skip
"""What is modelled of `cupy.cuda`."""
