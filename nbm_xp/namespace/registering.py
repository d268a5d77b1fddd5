"""Registration of external array libraries, with replacements and kernels of their own.

Arrays of an unregistered library are used with their own namespace. Registration adds missing or corrected functions
and faster kernels; nothing is imported before the first array is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import dispatch, libraries
from .kernels import OPERATIONS, register_kernel
from .libraries import host_namespace
from .overlay import overlay

_EXTENSIONS = ("linalg", "fft")


def register_library(
    name: object,
    namespace: Any,
    array_types: type | str | Iterable[type | str],
    *,
    replacements: Mapping[str, Callable[..., Any] | str] | None = None,
    kernels: Mapping[str, Callable[..., Any] | str] | None = None,
    lazy: bool | None = None,
    install: str | None = None,
) -> None:
    """Register an array library by name, with replacements for its namespace and its own kernels.

    Parameters
    ----------
    name : str
        Name of the library in messages and as an argument.
    namespace : namespace, callable or str
        Array API namespace, a function that returns it, or the function's location, ``'package.module:function'``,
        which is imported with the first array.
    array_types : class, str, or several of them
        Classes of its arrays, each itself or as ``'package:Class'``: the top-level package of its ``__module__``, and
        its name.
    replacements : mapping of str to callable or str, optional
        Replacements of the namespace's functions, by their names in the standard (``'sort'``, ``'linalg.svd'``), each
        itself or as ``'package.module:function'``.
    kernels : mapping of str to callable or str, optional
        Faster forms of the portable functions, each itself or as ``'package.module:function'``, by the names in
        `nbm_xp.namespace.kernels.OPERATIONS`. They must have the same signatures and return the same results.
    lazy : bool, optional
        Whether arrays have values only after they are computed. Defaults to the namespace's inspection: it is lazy if
        it supports neither boolean indexing nor shapes that depend on values.
    install : str, optional
        Distribution to install with pip if the library is missing. Defaults to the package of the first class.

    Raises
    ------
    TypeError
        If an argument is of another type.
    ValueError
        If the name or a class is already registered, or the name of a replacement or kernel is unknown. Nothing is then
        registered.

    Examples
    --------
    A library whose arrays are NumPy's in a parcel, and which has no `sign`:

    >>> import numpy as np
    >>> from types import ModuleType
    >>> class Parcel:
    ...     def __init__(self, value):
    ...         self.value, self.dtype, self.shape = value, value.dtype, value.shape
    >>> parcels = ModuleType("parcels")
    >>> parcels.asarray = lambda x, **options: Parcel(np.asarray(x, **options))
    >>> parcels.isdtype, parcels.float64 = np.isdtype, np.float64
    >>> def sign(x):
    ...     return Parcel(np.sign(x.value))
    >>> kernels = {"to_numpy": lambda x: x.value}
    >>> register_library("parcels", parcels, Parcel, replacements={"sign": sign}, kernels=kernels)
    >>> from nbm_xp import natural_bm as B
    >>> from nbm_xp.namespace import to_numpy
    >>> to_numpy(B.sign(Parcel(np.asarray([-2.0, 3.0]))))
    array([-1.,  1.])
    """
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"name must be a name, got {name!r}")
    if name in libraries.ALIASES or (name in libraries.LIBRARIES and libraries.LIBRARIES[name].array_types):
        raise ValueError(f"name must be one that no library has yet, got {name!r}")
    if not (_is_place(namespace) or callable(namespace) or hasattr(namespace, "asarray")):
        raise TypeError(
            f"namespace must be an array API namespace, or a callable that gives it or 'package.module:function' for "
            f"that; got {namespace!r}"
        )
    several: list[Any] = [array_types]
    if not isinstance(array_types, (type, str)) and hasattr(array_types, "__iter__"):
        several = list(array_types)
    pairs = [_pair(item) for item in several]
    if not pairs:
        raise ValueError("array_types must name at least one class")
    for item, pair in zip(several, pairs, strict=True):
        other = next((each.name for each in libraries.LIBRARIES.values() if pair in each.array_types), None)
        if other is not None:
            raise ValueError(f"array_types must be classes that no library has yet, and {other} has {item!r}")
    parts = _parts("replacements", replacements)
    own = _checked("kernels", kernels)
    unknown = sorted(set(own) - set(OPERATIONS))
    if unknown:
        raise ValueError(f"kernels must be among {', '.join(sorted(OPERATIONS))}; got {', '.join(unknown)}")
    if lazy not in (None, True, False):
        raise TypeError(f"lazy must be True, False or None, got {lazy!r}")

    def build() -> Any:
        original = libraries.built(namespace)() if _is_place(namespace) or callable(namespace) else namespace
        libraries.also_named(original, name)
        found = {part: {key: libraries.built(place) for key, place in new.items()} for part, new in parts.items()}
        return overlay(original, name, found.pop("", {}), **found)

    title = getattr(namespace, "__name__", name)
    modules = frozenset({name} if callable(namespace) or not isinstance(title, str) else {name, title})
    entry = libraries.Library(name, pairs[0][0], modules, frozenset(pairs), build, install or pairs[0][0], lazy)
    libraries.enter(entry)
    dispatch.forget_those(lambda cls: libraries.library_of_type(cls) == name)
    for key, function in own.items():
        register_kernel(key, name, function)


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and value.count(":") == 1 and all(value.split(":"))


def _pair(item: Any) -> tuple[str, str]:
    """Return the top-level package of a class and its name."""
    if isinstance(item, type):
        return item.__module__.partition(".")[0], item.__name__
    if _is_place(item):
        package, cls = item.split(":")
        return package.partition(".")[0], cls
    raise TypeError(f"array_types must be classes or 'package:Class', got {item!r}")


def _checked(title: str, given: Any) -> dict[str, Any]:
    """Validate functions by name, each a callable or a location."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{title} must be a mapping of names to functions, got {given!r}")
    for key, value in (given or {}).items():
        if not isinstance(key, str) or not (callable(value) or _is_place(value)):
            raise TypeError(f"{title}[{key!r}] must be callable or 'package.module:function', got {value!r}")
    return dict(given or {})


def _parts(title: str, given: Any) -> dict[str, dict[str, Any]]:
    """Group replacements by extension; '' is the namespace itself."""
    found: dict[str, dict[str, Any]] = {}
    host = host_namespace()
    for key, function in _checked(title, given).items():
        part, _, rest = key.rpartition(".")
        if part not in ("", *_EXTENSIONS) or not hasattr(getattr(host, part, host), rest):
            raise ValueError(f"{title} must be names of the standard, such as 'sort' or 'linalg.svd'; got {key!r}")
        found.setdefault(part, {})[rest] = function
    return found
