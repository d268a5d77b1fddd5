"""The face of a public package: `dir` shows its public names alone, and some are imported when they are asked for.

Contract: a name that waits costs nothing before; afterwards it is an attribute like any other.
What type checkers are to see, the package imports for them alone.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["face"]


def _is_public(name: str) -> bool:
    return name[0] != "_" or name == "__version__"


def face(package: dict[str, Any], later: Mapping[str, str] | None = None, elsewhere: Sequence[Any] = ()) -> None:
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
