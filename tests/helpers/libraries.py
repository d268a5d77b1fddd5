"""The libraries under test, enumerated once: NumPy, read-only NumPy, Dask in several chunkings, and the others.

A test takes the fixture `library` (see conftest) or is parametrised over `LIBRARIES`. It makes its arrays with
``library.array(value)``, brings results back with ``library.numpy(result)``, and runs under a guard that fails on any
hidden computation of Dask. What is not installed, or has no device here, is in no test's parameters: one skip each in
tests/project/test_libraries.py tells the reason. Of Dask's chunkings a test runs one, of the ragged blocks if it names
them; all with ``pytest --everywhere``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import asarray, dtype_name, get_namespace, library_name, to_numpy

__all__ = [
    "ABSENT", "AGAIN", "AT_NIGHT", "DASK", "EAGER", "EVERYWHERE", "LIBRARIES", "Library", "computing", "guard",
    "is_for_the_night", "libraries", "on_libraries", "today",
]  # fmt: skip

EVERYWHERE = "--everywhere" in sys.argv or "TESTS_EVERYWHERE" in os.environ
if EVERYWHERE:
    os.environ["TESTS_EVERYWHERE"] = "1"  # for the workers of pytest-xdist

AT_NIGHT = EVERYWHERE or "TESTS_AT_NIGHT" in os.environ
"""Whether nothing waits: so are Dask's expressions tested by night, on the chunkings of the day."""
AGAIN = ("dask-halves", "dask-ragged", "torch", "jax") if EVERYWHERE else ()
"""What is asked at night alone for what another test has asked it for: values of Tensors beside those of arrays."""
ONE_CASE_IN = 3 if AT_NIGHT else 6


def one_block(length: int) -> tuple[int, ...]:
    """The whole axis in one block."""
    return (length,)


def halves(length: int) -> tuple[int, ...]:
    """Two blocks, equal but for one element."""
    return (length - length // 2, length // 2) if length > 1 else (length,)


def ragged(length: int) -> tuple[int, ...]:
    """Blocks of unequal lengths: one element, then growing."""
    sizes: list[int] = []
    while (rest := length - sum(sizes)) > 0:
        sizes.append(min(rest, len(sizes) + 1))
    return tuple(sizes) or (0,)


def singles(length: int) -> tuple[int, ...]:
    """Every element in a block of its own."""
    return (1,) * length or (0,)


@dataclass(frozen=True)
class Library:
    """A library under test, with the way in which its arrays are made."""

    id: str
    name: str
    chunking: Callable[[int], tuple[int, ...]] | None = None
    readonly: bool = False
    blocks: str = "numpy"

    def __str__(self) -> str:
        return self.id

    @property
    def xp(self) -> Any:
        """The library's namespace."""
        return get_namespace(self.name)

    @property
    def lazy(self) -> bool:
        """Whether values are not known before they are computed."""
        return self.chunking is not None

    def array(self, value: Any, dtype: Any = None) -> Any:
        """An array of the library from a NumPy array, a scalar or a list."""
        if self.chunking is None:
            result = asarray(np.array(value) if self.readonly else value, self.xp, dtype)
            if self.readonly:
                result = result.copy() if result.base is not None else result
                result.flags.writeable = False
            return result
        import dask.array as da

        host = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype_name(dtype))
        chunks = tuple(self.chunking(length) for length in host.shape)
        result = da.from_array(host.copy(), chunks=chunks)
        if self.blocks != "numpy":
            inner = get_namespace(self.blocks)
            result = result.map_blocks(inner.asarray, meta=inner.asarray(np.empty((0,) * host.ndim, host.dtype)))
        return result

    def at_once(self, function: Callable[..., Any], *values: Any) -> Any:
        """What a function of arrays gives; JAX compiles it whole, in the time of a few operations one by one."""
        whole = importlib.import_module("jax").jit(function) if self.name == "jax" else function
        return whole(*map(self.array, values))

    def numpy(self, x: Any) -> Any:
        """A result, which must be an array of this library, as a NumPy array; of a tuple, each element."""
        if isinstance(x, (tuple, list)):
            return [self.numpy(item) for item in x]
        assert library_name(x) == self.name, f"left the library: {type(x)}"
        if self.lazy:
            computed = x.compute(scheduler="synchronous")
            assert library_name(computed) in (self.blocks, "numpy")
            result = to_numpy(computed)
            assert x.shape == result.shape or any(length != length for length in x.shape), (x.shape, result.shape)
            assert x.dtype == result.dtype, f"Dask promised {x.dtype} and gave {result.dtype}"
            return result
        result = to_numpy(x)
        assert dtype_name(result) == dtype_name(x)
        return result


@cache
def why_not(library: str) -> str | None:
    """Why a library cannot be tested here, or None."""
    package = {"array_api_strict": "array_api_strict"}.get(library, library)
    if importlib.util.find_spec(package) is None:
        return f"{library} is not installed"
    if library == "cupy":
        import cupy

        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return f"cupy finds no CUDA device: {error}"
        if count == 0:
            return "cupy finds no CUDA device"
    return None


_ENUMERATION = (
    Library("numpy", "numpy"), Library("numpy-readonly", "numpy", readonly=True),
    Library("dask-one", "dask", one_block), Library("dask-halves", "dask", halves),
    Library("dask-ragged", "dask", ragged), Library("dask-singles", "dask", singles),
    Library("array_api_strict", "array_api_strict"), Library("torch", "torch"), Library("jax", "jax"),
    Library("cupy", "cupy"), Library("dask-cupy", "dask", halves, blocks="cupy"),
)  # fmt: skip


def absence(library: Library) -> str | None:
    """Why a library cannot be tested here, or None."""
    return why_not(library.name) or why_not(library.blocks)


ABSENT = {library.id: absence(library) for library in _ENUMERATION if absence(library)}
"""The libraries that cannot be tested here, with the reasons."""


def libraries(*names: str, without: Sequence[str] = ()) -> list[Any]:
    """Pytest parameters for the libraries with these names or ids (all, if none is named), less some."""
    chosen = [
        library
        for library in _ENUMERATION
        if library.id not in ABSENT
        and (not names or {library.id, library.name} & set(names))
        and not {library.id, library.name} & set(without)
    ]
    chunkings = [library for library in chosen if library.lazy and library.blocks == "numpy"]
    if chunkings and not EVERYWHERE:
        kept = next((library for library in chunkings if library.chunking is ragged), chunkings[0])
        chosen = [library for library in chosen if library is kept or library not in chunkings]
    return [pytest.param(library, id=library.id) for library in chosen]


def on_libraries(cases: Mapping[str, Any], among: Sequence[Any], seldom: Sequence[str] = ("jax",)) -> list[Any]:
    """Pytest parameters, a case and a library: every case on each; one in six on those that compile or lay out all."""
    return [
        pytest.param(case, *parameter.values, id=f"{parameter.id}-{name}")
        for parameter in among
        for number, (name, case) in enumerate(cases.items())
        if AT_NIGHT or parameter.id not in seldom or number % ONE_CASE_IN == 0
    ]


LIBRARIES = libraries()
EAGER = libraries(without=("dask",))
DASK = libraries("dask")


def today(cases: Sequence[Any], library: Library) -> list[Any]:
    """Which cases of a function are run on a library by day: on NumPy every one, elsewhere one in six of those alike.

    Alike are cases on dtypes of one kind; on libraries that compile or lay out each of them anew, all, and one in
    twelve is run.
    """
    if EVERYWHERE or library.name == "numpy":
        return list(cases)
    prepared, met, found = library.name in ("jax", "dask"), Counter[tuple[str, ...]](), []
    for case in cases:
        alike = () if prepared else tuple(array.dtype.kind for array in case.arrays)
        if met[alike] % (2 * ONE_CASE_IN if prepared else ONE_CASE_IN) == 0:
            found.append(case)
        met[alike] += 1
    return found


def is_for_the_night(item: pytest.Item) -> bool:
    """Whether a test waits for ``--everywhere``: its mark ``at_night`` has no words, or one of the words of its id.

    The words are mostly libraries. JAX compiles each function for each shape, which takes a second in a test that takes
    NumPy a millisecond. Every day it is asked for the bits of its random numbers, for the functions of its namespace
    and the documented ones, for loops, and for machines that learn and draw as NumPy's do. Tests of what is made of
    these wait. What goes through the tape is asked of NumPy and array_api_strict by day, of the others at night.
    """
    words = item.callspec.id.split("-") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    waiting = [mark.args for mark in item.iter_markers("at_night")]
    return not AT_NIGHT and any(not named or set(named) & {*words} for named in waiting)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("a hidden computation of a Dask array")


@contextmanager
def guard() -> Iterator[None]:
    """Fail on any computation of a Dask array that does not name its scheduler."""
    if why_not("dask"):
        yield
        return
    import dask

    with dask.config.set(scheduler=_refuse):
        yield


@contextmanager
def computing() -> Iterator[None]:
    """Under the guard, what is asked for: Dask arrays may be computed."""
    if "dask" not in sys.modules:
        yield
        return
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield
