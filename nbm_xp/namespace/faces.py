"""The face of a public package: `dir` shows its public names alone, and some are imported when they are asked for.

Contract: a name that waits costs nothing before; afterwards it is an attribute like any other.
What type checkers are to see, the package imports for them alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

__all__ = ["face"]


def _is_public(name: str) -> bool:
    return name[0] != "_" or name == "__version__"


def face(package: dict[str, Any], later: Mapping[str, str] | None = None) -> None:
    """Give a package ``__dir__`` and ``__getattr__``, as PEP 562 has it.

    Parameters
    ----------
    package : dict
        Its ``globals()``, with ``__all__``.
    later : mapping, optional
        Names that wait, each with the module of the package that has it; "" where it is a module itself.

    Examples
    --------
    >>> import nbm_xp
    >>> "RBM" in dir(nbm_xp), "annotations" in dir(nbm_xp)
    (True, False)
    """
    waiting, own, public = dict(later or {}), package["__name__"], sorted(filter(_is_public, package["__all__"]))

    def look_up(name: str) -> Any:
        if name not in waiting:
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        module = importlib.import_module(f".{waiting[name] or name}", own)
        package[name] = getattr(module, name) if waiting[name] else module
        return package[name]

    package |= {"__getattr__": look_up, "__dir__": public.copy}
