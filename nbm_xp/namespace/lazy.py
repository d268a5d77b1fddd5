"""The host's namespace, and which namespaces have values only after something computes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from . import libraries

__all__ = ["HOST", "host_namespace", "is_lazy", "maps_blocks"]

HOST = "numpy"


def host_namespace() -> Any:
    """The namespace of arrays in the host's memory, in which lists and numbers arrive.

    Examples
    --------
    >>> host_namespace().__name__
    'array_api_compat.numpy'
    """
    return libraries.get_namespace(HOST)


def is_lazy(xp: Any) -> bool:
    """Whether arrays of a namespace have values only after they are computed, which nothing does unasked.

    A library that is not listed says so by the standard's inspection: it has no shapes that depend on values.

    Examples
    --------
    >>> is_lazy(host_namespace())
    False
    """
    library = libraries.LIBRARIES.get(libraries.name_of_namespace(xp) or "")
    if library is None or library.lazy is not None:
        return library is not None and bool(library.lazy)
    return _has_no_values(xp)


def maps_blocks(xp: Any) -> bool:
    """Whether a lazy library lets a function make each block of an array, as Dask and those that follow it do.

    Examples
    --------
    >>> maps_blocks(host_namespace())
    False
    """
    return is_lazy(xp) and hasattr(xp, "map_blocks")


@cache
def _has_no_values(xp: Any) -> bool:
    """Whether a namespace neither indexes by truth values nor has shapes that depend on values."""
    inspection = getattr(xp, "__array_namespace_info__", None)
    capabilities = {} if inspection is None else inspection().capabilities()
    return not any(capabilities.get(name, True) for name in ("boolean indexing", "data-dependent shapes"))
