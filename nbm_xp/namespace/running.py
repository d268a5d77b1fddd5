"""Where a recorded graph runs: one library for all its arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import dispatch
from .lazy import HOST, host_namespace

__all__ = ["running_namespace"]


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
    others = sorted(set(found) - {HOST})
    if len(others) > 1:
        raise TypeError(f"got arrays of {' and '.join(others)}: convert one to the other's library")
    if others:
        return dispatch.array_namespace(found[others[0]])
    return host_namespace() if found else default
