"""The device: one, whose memory is the host's behind a curtain, and whose kernels are the host's compiler's.

There is one stream, which has always done all that it was given: what only the order of several streams shows, this
does not show.
"""

from __future__ import annotations

import atexit
import functools
import pathlib
import shutil
import tempfile
import time
import types
from typing import Any

import numpy as np

from tests.helpers.host_kernels import HostKernels

__all__ = ["Device", "Event", "MemoryPointer", "RawKernel", "Stream", "cuda_names", "memory_of", "runtime_names"]

NAME = b"stand-in over NumPy"
MEMORY = 2**33


class CUDARuntimeError(RuntimeError):
    """What CUDA's runtime refuses."""


class Device:
    """A device by its number; there is number 0 alone."""

    def __init__(self, device: Any = None) -> None:
        self.id = 0 if device is None else int(getattr(device, "id", device))
        if self.id:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def use(self) -> None:
        """Make it the current one, which it is."""

    def synchronize(self) -> None:
        """Wait for what is always done."""

    compute_capability = "80"
    mem_info = (MEMORY, MEMORY)


class Stream:
    """A stream, in which everything is done at once."""

    ptr = 0

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    def use(self) -> Stream:
        """Make it the current one."""
        return self

    def synchronize(self) -> None:
        """Wait for what is always done."""

    def record(self, event: Any = None) -> Any:
        """Note the time."""
        event = Event() if event is None else event
        event.record(self)
        return event


class Event:
    """A point in time."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.time = 0.0

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        """Wait for what is always done."""


class MemoryPointer:
    """Where an array begins, and in which allocation."""

    def __init__(self, mem: Any, ptr: int) -> None:
        self.mem, self.ptr, self.device, self.device_id = mem, ptr, Device(0), 0


def memory_of(host: Any) -> Any:
    """The allocation that an array of NumPy's lies in."""
    whole = host
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return types.SimpleNamespace(ptr=whole.ctypes.data, size=whole.nbytes, device=Device(0), device_id=0)


@functools.cache
def _host() -> HostKernels:
    """What compiles and launches; what is built goes with the process."""
    folder = tempfile.mkdtemp(prefix="standin_cupy_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return HostKernels(pathlib.Path(folder))


class RawKernel:
    """A kernel by its text, compiled by the host's compiler when it is first launched."""

    def __init__(
        self, code: str, name: str, options: Any = (), backend: str = "nvrtc", *,
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False, jitify: Any = None,
    ) -> None:  # fmt: skip
        if not (isinstance(code, str) and isinstance(name, str) and isinstance(options, tuple)):
            raise TypeError("Argument 'code', 'name' or 'options' has incorrect type (expected str, str, tuple)")
        self.code, self.name, self.options, self.backend = code, name, options, backend

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        if shared_mem:
            raise NotImplementedError("not modelled: memory that the threads of a block share")
        _host().kernel(self.code, self.name)(grid, block, [self._argument(value) for value in args])

    @staticmethod
    def _argument(value: Any) -> Any:
        from .arrays import host_of, ndarray

        if isinstance(value, ndarray):
            return host_of(value)
        if isinstance(value, np.generic):
            return value
        if type(value) in (bool, int, float):
            return {bool: np.bool_, int: np.int64, float: np.float64}[type(value)](value)
        raise TypeError(f"Unsupported type {type(value)}")


def runtime_names() -> dict[str, Any]:
    """What is modelled of `cupy.cuda.runtime`."""
    return {
        "CUDARuntimeError": CUDARuntimeError,
        "getDeviceCount": lambda: 1,
        "getDevice": lambda: 0,
        "getDeviceProperties": lambda device: {"name": NAME, "totalGlobalMem": MEMORY, "major": 8, "minor": 0},
        "memGetInfo": lambda: (MEMORY, MEMORY),
        "deviceSynchronize": lambda: None,
        "driverGetVersion": lambda: 12000,
        "runtimeGetVersion": lambda: 12000,
        "is_hip": False,
    }


def cuda_names() -> dict[str, Any]:
    """What is modelled of `cupy.cuda`."""
    stream = Stream(null=True)
    return {
        "Device": Device,
        "Event": Event,
        "MemoryPointer": MemoryPointer,
        "Stream": Stream,
        "get_current_stream": lambda device_id=-1: stream,
        "get_device_id": lambda: 0,
        "get_elapsed_time": lambda start, end: 1000 * (end.time - start.time),
        "is_available": lambda: True,
    }
