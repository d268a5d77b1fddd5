"""The array library that ours runs on, and the peers that may be missing."""

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.namespace import asarray, get_namespace, library_name

from .harness import Contender


@dataclass(frozen=True)
class Library:
    """An array library and how to wait until it is done."""

    name: str
    xp: Any
    threads: int
    device: str = ""
    smaller: int = 1

    def sized(self, size: int) -> int:
        """A size of a benchmark that is smaller where not all is to be measured."""
        return size // self.smaller

    def wait(self) -> None:
        """Wait for everything that was handed to the device."""
        if self.name == "cupy":
            importlib.import_module("cupy").cuda.get_current_stream().synchronize()
        elif self.name == "torch" and (torch := importlib.import_module("torch")).cuda.is_available():
            torch.cuda.synchronize()

    def array(self, value: np.ndarray) -> Any:
        """An array of this library."""
        return asarray(value, self.xp)

    def finished(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, and its results worked out where the library would only promise them."""
        if self.name == "dask":
            compute = importlib.import_module("dask").compute
            return lambda *arguments: compute(call(*arguments))
        if self.name == "jax":
            ready = importlib.import_module("jax").block_until_ready
            return lambda *arguments: ready(call(*arguments))
        return call

    @property
    def on_host(self) -> bool:
        """Whether its arrays and a NumPy peer's live on the same processor."""
        return self.name != "cupy"


def open_library(name: str, threads: int, smaller: int = 1) -> Library:
    """Import a library, hold it and its peers to a number of threads, and make it the default."""
    from nbm_xp.namespace import set_backend

    xp = get_namespace(name)
    known = library_name(xp)
    set_backend(known)
    if importlib.util.find_spec("torch"):
        importlib.import_module("torch").set_num_threads(threads)
    if known == "jax":
        start_jax(threads)
    device = ""
    if known == "cupy":
        cuda = importlib.import_module("cupy").cuda
        properties = cuda.runtime.getDeviceProperties(cuda.Device().id)
        device = f"; on {properties['name'].decode()}"
    elif known != "numpy":
        device = f"; ours on {known}"
    return Library(known, xp, threads, device, smaller)


def start_jax(threads: int) -> None:
    """Start JAX, which has no setting of threads: it makes one for each processor that it may use when it starts."""
    jnp = importlib.import_module("jax.numpy")
    if not hasattr(os, "sched_setaffinity"):
        return
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(processors)[:threads])
    jnp.zeros(())
    os.sched_setaffinity(0, processors)


def absent(name: str, package: str, install: str = "") -> Contender | None:
    """A contender that says its package is missing, or None where it is there."""
    if importlib.util.find_spec(package):
        return None
    return Contender(name, missing=f"not installed (pip install {install or package})")


def elsewhere(name: str, library: Library) -> Contender:
    """A contender that does not run where this library's arrays live."""
    return Contender(name, missing=f"has nothing to set beside arrays of {library.name}")
