"""Faster kernels for single libraries, beside the portable bodies.

A body written over the array API serves every library. Where one library can do better (a compiled loop for NumPy, a
CUDA kernel for CuPy), the better function is registered here under the body's name, and the body asks for it first.
A kernel must give the same result as the body, and is tested against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import libraries

__all__ = ["kernel", "register_kernel"]

_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {}
_WAITING: dict[tuple[str, str], str] = {}


def register_kernel(name: str, library: Any, function: Callable[..., Any] | str) -> None:
    """Register a library's own kernel for an operation.

    Parameters
    ----------
    name : str
        The operation, as the body that asks for it names it.
    library : str or namespace
        The library, as `get_namespace` names it, or its namespace.
    function : callable or str
        The kernel, or where it is, ``'package.module:name'``: then it is imported when first asked for.

    Examples
    --------
    >>> register_kernel("example.double", "numpy", lambda x: x + x)
    >>> kernel("example.double", "numpy")(4)
    8
    """
    if isinstance(library, str):
        library = libraries.canonical_library(library)
    else:
        library = libraries.name_of_namespace(library) or libraries.canonical_library(library)
    key = (name, library)
    _KERNELS.pop(key, None)
    _WAITING.pop(key, None)
    if callable(function):
        _KERNELS[key] = function
    elif ":" in str(function):
        _WAITING[key] = str(function)
    else:
        raise TypeError(f"function must be callable or 'package.module:name', got {function!r}")


def kernel(name: str, library: Any) -> Callable[..., Any] | None:
    """The kernel a library has for an operation, or None: then the portable body serves.

    Parameters
    ----------
    name : str
        The operation.
    library : str or namespace
        The library, as `library_name` gives it, or its namespace.

    Examples
    --------
    >>> kernel("example.nothing", "numpy") is None
    True
    """
    key = (name, library if isinstance(library, str) else libraries.name_of_namespace(library) or "")
    found = _KERNELS.get(key)
    if found is None:
        place = _WAITING.get(key)
        if place is None:
            return _KERNELS.get(key)  # another thread may have found it just now
        found = _KERNELS[key] = libraries.built(place)
        _WAITING.pop(key, None)  # only now: another thread that asks meanwhile must find it here
    return found
