"""A library's namespace with some functions replaced.

The overlay keeps the original's ``__name__``, by which array-api-extra recognises the library, and is pickled by the
library's name. It is not a module: attributes of a plain object are looked up faster than those of a module's subclass,
and a module would be pickled as the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

from array_api_compat.common._linalg import EighResult, QRResult, SlogdetResult, SVDResult

__all__ = [
    "EigResult", "EighResult", "Namespace", "QRResult", "SVDResult", "SlogdetResult", "UniqueAll", "UniqueCounts",
    "UniqueInverse", "overlay",
]  # fmt: skip


class Namespace:
    """A namespace with replacements for a library's own functions.

    Parameters
    ----------
    original : module
        Module whose attributes are kept.
    replacements : mapping
        Replacements of attributes, by name.
    library, part : str
        Name of the library in `nbm_xp.namespace.get_namespace`, and the attribute if this is an extension of it.
    """

    __name__: str

    def __init__(self, original: Any, replacements: Mapping[str, Any], library: str, part: str = "") -> None:
        found = {name: getattr(original, name) for name in dir(original) if hasattr(original, name)}
        attributes = {name: value for name, value in found.items() if not name.startswith("__")}
        attributes |= {name: value for name, value in vars(original).items() if name != "__getattr__"}
        self.__dict__.update(attributes | dict(replacements) | {"_origin": (library, part)})

    def __reduce__(self) -> tuple[Any, ...]:
        return _find, self.__dict__["_origin"]

    def __repr__(self) -> str:
        return f"<namespace {getattr(self, '__name__', self.__dict__['_origin'][0])!r}, corrected>"


def _find(library: str, part: str) -> Any:
    from .libraries import get_namespace

    namespace = get_namespace(library)
    return getattr(namespace, part) if part else namespace


def overlay(
    original: Any,
    library: str,
    replacements: Mapping[str, Any],
    *,
    linalg: Mapping[str, Any] | None = None,
    fft: Mapping[str, Any] | None = None,
) -> Namespace:
    """Create a namespace with replacements for `original`, and `linalg` and `fft` for its extensions."""
    parts: dict[str, Any] = dict(replacements)
    for name, extension in (("linalg", linalg), ("fft", fft)):
        if extension is not None:
            parts[name] = Namespace(getattr(original, name, ModuleType(name)), extension, library, name)
    return Namespace(original, parts, library)


A = TypeVar("A")


class EigResult(NamedTuple, Generic[A]):
    """The eigenvalues of square matrices, unordered, and the eigenvectors as columns."""

    eigenvalues: A
    eigenvectors: A


class UniqueAll(NamedTuple, Generic[A]):
    """The distinct elements of an array, their first indices, their inverse indices and their counts."""

    values: A
    indices: A
    inverse_indices: A
    counts: A


class UniqueCounts(NamedTuple, Generic[A]):
    """The distinct elements of an array, and their counts."""

    values: A
    counts: A


class UniqueInverse(NamedTuple, Generic[A]):
    """The distinct elements of an array, and the index among them of each element."""

    values: A
    inverse_indices: A
