"""Loops over NumPy arrays, compiled by numba; imported only where such a loop is run, since numba takes a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

import numba

__all__ = ["compiled_loop"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled_loop(function: F) -> F: ...


@overload
def compiled_loop(*, fastmath: set[str]) -> Callable[[F], F]: ...


def compiled_loop(function: Any = None, **options: Any) -> Any:
    """Compile a loop, and keep what was compiled on disk where there is a folder for it.

    Parameters
    ----------
    function : callable
        A loop over arrays, in what numba knows of Python.
    **options
        Further options of ``numba.njit``. No lock is held while it runs, and divisions by 0 are NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> @compiled_loop
    ... def double(x, out):
    ...     for i in range(x.size):
    ...         out[i] = 2 * x[i]
    >>> out = np.empty(2)
    >>> double(np.ones(2), out)
    >>> out
    array([2., 2.])
    """
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy"} | options

    def decorated(function: F) -> F:
        try:
            return cast("F", numba.njit(cache=True, **settings)(function))
        except RuntimeError:  # there is no folder to keep compiled code in
            return cast("F", numba.njit(**settings)(function))

    return decorated if function is None else decorated(function)
