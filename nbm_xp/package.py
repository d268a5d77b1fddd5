"""The package's version, lazily imported public names, and optional dependencies."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import Any

__version__ = "0.2.0"


def _is_public(name: str) -> bool:
    return name[0] != "_" or name == "__version__"


def public_names(
    package: dict[str, Any], later: Mapping[str, str] | None = None, elsewhere: Sequence[Any] = ()
) -> None:
    """Define ``__dir__`` and ``__getattr__`` of a package (PEP 562).

    Parameters
    ----------
    package : dict
        ``globals()`` of the package, with ``__all__``.
    later : mapping, optional
        Names to import on first access, each with the module of the package that defines it; "" for a module itself.
    elsewhere : sequence of modules, optional
        Modules to search for unknown names; the error message names the module that has the name.

    Examples
    --------
    >>> import nbm_xp
    >>> "RBM" in dir(nbm_xp), "annotations" in dir(nbm_xp)
    (True, False)
    """
    waiting, own, public = dict(later or {}), package["__name__"], sorted(filter(_is_public, package["__all__"]))

    def look_up(name: str) -> Any:
        if name not in waiting:
            where = next((place.__name__ for place in elsewhere if name in getattr(place, "__all__", ())), None)
            found = "" if where is None else f": it is in {where}"
            module = sys.modules.get(own)  # by which Python suggests similar names
            raise AttributeError(f"module {own!r} has no attribute {name!r}{found}", name=name, obj=module)
        module = importlib.import_module(f".{waiting[name] or name}", own)
        package[name] = getattr(module, name) if waiting[name] else module
        return package[name]

    package |= {"__getattr__": look_up, "__dir__": public.copy}


_EXTRAS = {
    "zarr": "runs",
    "numcodecs": "runs",
    "threadpoolctl": "runs",
    "distributed": "distributed",
    "xarray": "xarray",
    "pandas": "xarray",
    "matplotlib": "app",
    "h5py": "hdf5",
    "ndonnx": "onnx",
    "dimod": "dimod",
}

_DISTRIBUTIONS = {"matplotlib": "Matplotlib"}


def need(name: str) -> Any:
    """Import and return a module of an optional dependency.

    Raises
    ------
    ModuleNotFoundError
        If its package is not installed; the message names the extra that installs it.

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
    """Return whether an optional package is installed.

    Examples
    --------
    >>> is_there("math"), is_there("no_such_package")
    (True, False)
    """
    return importlib.util.find_spec(name) is not None


def how_to_install(error: ModuleNotFoundError) -> str | None:
    """Return a message that names the extra to install for a missing module; None if no extra provides it.

    Examples
    --------
    >>> how_to_install(ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib.figure"))
    'this needs Matplotlib: install nbm_xp[app]'
    """
    package = (error.name or "").partition(".")[0]
    if package not in _EXTRAS:
        return None
    return f"this needs {_DISTRIBUTIONS.get(package, package)}: install nbm_xp[{_EXTRAS[package]}]"
