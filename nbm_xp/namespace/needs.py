"""Packages that only some of this needs, imported when it does."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

__all__ = ["how_to_install", "is_there", "need"]

_EXTRAS = {
    "zarr": "runs",
    "numcodecs": "runs",
    "threadpoolctl": "runs",
    "distributed": "distributed",
    "xarray": "xarray",
    "pandas": "xarray",
    "matplotlib": "app",
}

_DISTRIBUTIONS = {"matplotlib": "Matplotlib"}


def need(name: str) -> Any:
    """Import a module.

    Raises
    ------
    ModuleNotFoundError
        If its package is not installed: the message says how to install it.

    Examples
    --------
    >>> need("math").pi > 3
    True
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = how_to_install(error)
        if message is None or (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise
        raise ModuleNotFoundError(message, name=error.name) from error


def is_there(name: str) -> bool:
    """Whether a package is installed that is used where it is, and not missed where it is not.

    Examples
    --------
    >>> is_there("math"), is_there("no_such_package")
    (True, False)
    """
    return importlib.util.find_spec(name) is not None


def how_to_install(error: ModuleNotFoundError) -> str | None:
    """What to install where a module is missing; None where no extra of this package brings it.

    Examples
    --------
    >>> how_to_install(ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib.figure"))
    'this needs Matplotlib: install nbm_xp[app]'
    """
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return None
    return f"this needs {_DISTRIBUTIONS.get(package, package)}: install nbm_xp[{_EXTRAS[package]}]"
