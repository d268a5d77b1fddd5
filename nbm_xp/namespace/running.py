"""Where a recorded graph runs: one library for all its arrays, and whether values can be looked at on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import dispatch, libraries

__all__ = ["host_namespace", "is_lazy", "running_namespace"]

_HOST = "numpy"
_LAZY = frozenset({"dask"})


def host_namespace() -> Any:
    """The namespace of arrays in the host's memory, in which lists and numbers arrive.

    Examples
    --------
    >>> host_namespace().__name__
    'array_api_compat.numpy'
    """
    return libraries.get_namespace(_HOST)


def is_lazy(xp: Any) -> bool:
    """Whether arrays of a namespace have values only after they are computed, which nothing does unasked.

    Examples
    --------
    >>> is_lazy(host_namespace())
    False
    """
    return libraries.name_of_namespace(xp) in _LAZY


def running_namespace(arrays: Iterable[Any], default: Any) -> Any:
    """The one library that a computation on several arrays runs on.

    Host arrays go along to whatever library the others are of.

    Raises
    ------
    TypeError
        If there are arrays of two libraries besides the host's.

    Examples
    --------
    >>> import numpy as np
    >>> running_namespace([np.ones(2)], None).__name__
    'array_api_compat.numpy'
    """
    found = {dispatch.library_name(array): array for array in arrays}
    others = sorted(set(found) - {_HOST})
    if len(others) > 1:
        raise TypeError(f"got arrays of {' and '.join(others)}: convert one to the other's library")
    if others:
        return dispatch.array_namespace(found[others[0]])
    return host_namespace() if found else default
