"""Packages that only some of this needs, imported when it does."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["need"]

_EXTRAS = {
    "zarr": "runs",
    "numcodecs": "runs",
    "threadpoolctl": "runs",
    "distributed": "distributed",
    "xarray": "xarray",
    "arviz": "xarray",
}


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
        package = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package or package not in _EXTRAS:
            raise
        raise ModuleNotFoundError(
            f"this needs {package}: install nbm_xp[{_EXTRAS[package]}]", name=error.name
        ) from error
