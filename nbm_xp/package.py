"""The package itself: its version, names that are imported when asked for, packages that only parts of it need."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["__version__", "how_to_install", "is_there", "need", "public_names"]

__version__ = "0.2.0"


def _is_public(name: str) -> bool:
    return name[0] != "_" or name == "__version__"


def public_names(
    package: dict[str, Any], later: Mapping[str, str] | None = None, elsewhere: Sequence[Any] = ()
) -> None:
    """Give a package ``__dir__`` and ``__getattr__``, as PEP 562 has it.

    Parameters
    ----------
    package : dict
        Its ``globals()``, with ``__all__``.
    later : mapping, optional
        Names that wait, each with the module of the package that has it; "" where it is a module itself.
    elsewhere : sequence of modules, optional
        Where a name is looked for that the package does not have, to say so.

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
            module = sys.modules.get(own)  # by which Python tells of names that are like it
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
