"""A library's namespace with some functions replaced: the original's attributes, the mends over them.

The overlay keeps the original's ``__name__``, so that array-api-extra knows the library by it, and travels to another
process by the library's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

__all__ = ["Namespace", "overlay"]


class Namespace(ModuleType):
    """A mended namespace. It is pickled as the name of its library."""

    def __init__(self, original: ModuleType, mends: Mapping[str, Any], library: str, part: str = "") -> None:
        super().__init__(original.__name__, original.__doc__)
        public = {name: getattr(original, name) for name in dir(original) if hasattr(original, name)}
        self.__dict__.update({name: value for name, value in vars(original).items() if name != "__getattr__"})
        self.__dict__.update({name: value for name, value in public.items() if not name.startswith("__")})
        self.__dict__.update(mends)
        self.__dict__["_origin"] = (library, part)

    def __reduce__(self) -> tuple[Any, ...]:
        return _find, self.__dict__["_origin"]

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}, mended>"


def _find(library: str, part: str) -> Any:
    from nbm_xp.namespace.libraries import get_namespace

    namespace = get_namespace(library)
    return getattr(namespace, part) if part else namespace


def overlay(
    original: ModuleType, library: str, mends: Mapping[str, Any], *, linalg: Mapping[str, Any] | None = None
) -> Namespace:
    """A namespace with `mends` over `original`, and `linalg` over its linear algebra."""
    parts: dict[str, Any] = dict(mends)
    if linalg is not None:
        parts["linalg"] = Namespace(original.linalg, linalg, library, "linalg")
    return Namespace(original, parts, library)
