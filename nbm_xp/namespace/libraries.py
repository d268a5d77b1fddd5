"""Registry of the array libraries: their names, the types of their arrays, and the construction of their namespaces.

A library is imported only when the user selects it or passes its arrays: types are distinguished by their module's
name, installed libraries are found without importing them.

An unlisted library whose arrays provide a namespace of the standard gets an entry when its first array occurs: its
namespace unchanged, under the namespace's own name; for those in `WRONG`, with incorrect functions replaced.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Library:
    """Description of an array library, known before it is imported.

    Attributes
    ----------
    name
        Name in `get_namespace` and the configuration.
    package
        Top-level package, which exists if the library is installed.
    modules
        Names of the library's modules (``numpy``, ``array_api_compat.numpy``).
    array_types
        Pairs (top-level package, class name) of the classes whose instances are its arrays.
    builder
        Function that creates the namespace, or its location: ``'package.module:function'``.
    distribution
        Distribution to install with pip.
    lazy
        Whether arrays have values only after they are computed; None if the namespace's inspection tells.
    """

    name: str
    package: str
    modules: frozenset[str]
    array_types: frozenset[tuple[str, str]]
    builder: str | Callable[[], Any]
    distribution: str
    lazy: bool | None = False


def _library(
    name: str, modules: str, array_types: str, *, builder: Any = "", distribution: str = "", lazy: bool = False
) -> Library:
    pairs = (item.split(":") for item in array_types.split())
    return Library(
        name=name,
        package=name,
        modules=frozenset(modules.split()),
        array_types=frozenset((root, cls) for root, cls in pairs),
        builder=builder or f"nbm_xp.namespace.compat.{name}:build",
        distribution=distribution or f"nbm_xp[{name}]",
        lazy=lazy,
    )


# The libraries by name, in the order in which they are listed to users; at the end those met or registered later.
LIBRARIES: dict[str, Library] = {
    library.name: library
    for library in (
        _library("numpy", "numpy array_api_compat.numpy", "numpy:ndarray numpy:generic", distribution="numpy"),
        _library("cupy", "cupy array_api_compat.cupy", "cupy:ndarray"),
        _library(
            "dask", "dask.array array_api_compat.dask.array", "dask:Array", distribution='"dask[array]"', lazy=True
        ),
        _library("torch", "torch array_api_compat.torch", "torch:Tensor"),
        _library("jax", "jax.numpy", "jaxlib:ArrayImpl jax:ArrayImpl jax:Tracer"),
        _library(
            "array_api_strict",
            "array_api_strict",
            "array_api_strict:Array",
            distribution="array-api-strict",
            builder=lambda: importlib.import_module("array_api_strict"),  # unchanged: it is listed for its errors
        ),
    )
}

_LISTED = tuple(LIBRARIES)

# Unlisted namespaces in which some functions are wrong, by name: where the corrected ones are made.
WRONG: dict[str, str] = {"cubed": "nbm_xp.namespace.compat.cubed:build"}

# Further names for a library.
ALIASES: dict[str, str] = {"cpu": "numpy", "gpu": "cupy"}

_NAMESPACES: dict[str, Any] = {}
_NAMES: dict[Any, str] = {}
_BUILDING = threading.RLock()


def canonical_library(name: object) -> str:
    """Return the library's canonical name for a name, an alias or a namespace.

    An imported module that declares that it follows the standard is accepted, itself or by name, without registration.
    No module is imported because of a name: names also come from files.

    Raises
    ------
    ValueError
        If no library has this name.

    Examples
    --------
    >>> canonical_library("cpu")
    'numpy'
    """
    known: Any = ALIASES.get(name, name) if isinstance(name, str) else name_of_namespace(name)
    if known in LIBRARIES:
        return str(known)
    unlisted = sys.modules.get(name) if isinstance(name, str) else name
    if follows_the_standard(unlisted):
        return entered(unlisted)
    aliases = (f"{alias!r} (which is {own!r})" for alias, own in ALIASES.items())
    choices = ", ".join([*map(repr, LIBRARIES), *aliases])
    raise ValueError(
        f"library must be one of {choices}, a namespace of the array API standard, or the name of an imported one; "
        f"got {name!r}"
    )


def follows_the_standard(module: Any) -> bool:
    """Whether an object has the attributes that only a namespace of the array API standard has."""
    return hasattr(module, "__array_api_version__") or callable(getattr(module, "__array_namespace_info__", None))


def entered(xp: Any, root: str = "", title: str = "") -> str:
    """Add an entry for an unlisted library, and return its name.

    Parameters
    ----------
    xp : namespace
        Namespace that its arrays provide.
    root : str, optional
        Top-level package of the arrays.
    title : str, optional
        Name of the library. Defaults to the namespace's own name.
    """
    with _BUILDING:
        known = _NAMES.get(xp) if _is_hashable(xp) else name_of_namespace(xp)
        if known is not None:
            return known
        title = title or str(getattr(xp, "__name__", None) or root or "unnamed")
        name, count = title, 1
        while name in LIBRARIES or name in ALIASES:
            count += 1
            name = f"{title}#{count}"
        package = root or title.partition(".")[0]
        modules = frozenset() if _is_hashable(xp) else frozenset({name})
        corrected = built(WRONG[title])() if sys.modules.get(title) is xp and title in WRONG else xp
        LIBRARIES[name] = Library(name, package, modules, frozenset(), lambda: corrected, package, lazy=None)
        for each in (xp, corrected):
            if _is_hashable(each):
                _NAMES[each] = name
        _NAMESPACES[name] = corrected
        return name


def enter(library: Library) -> None:
    """List a library; an entry derived from its arrays is replaced."""
    with _BUILDING:
        if library.name in LIBRARIES:
            left = _NAMESPACES.pop(library.name, None)
            _NAMES.pop(left, None)
        LIBRARIES[library.name] = library


def also_named(original: Any, name: str) -> None:
    """Register the original of a library's namespace under the library's name, unless it belongs to another library."""
    if _is_hashable(original) and name_of_namespace(original) is None:
        _NAMES[original] = name


def _is_hashable(xp: Any) -> bool:
    try:
        hash(xp)
    except TypeError:
        return False
    return True


def imported(name: str) -> str:
    """Return the name of a library, and import its module if necessary, for example after unpickling."""
    if name not in LIBRARIES and name not in ALIASES:
        importlib.import_module(name.partition("#")[0])
    return canonical_library(name)


def is_installed(name: str) -> bool:
    """Whether the library (by its canonical name) can be imported; it is not imported."""
    if name in _NAMESPACES:
        return True
    try:
        return importlib.util.find_spec(LIBRARIES[name].package) is not None
    except (ImportError, ValueError):
        return False


def installed_libraries() -> list[str]:
    """Return the names of the listed array libraries that are installed.

    None of them is imported.

    Examples
    --------
    >>> "numpy" in installed_libraries()
    True
    """
    return [name for name in _LISTED if is_installed(name)]


def require_library(name: object) -> str:
    """Return the library's canonical name; raise an error if it is not installed."""
    known = canonical_library(name)
    if not is_installed(known):
        library = LIBRARIES[known]
        raise ImportError(
            f"the array library {known!r} needs the package {library.package!r}, which is not installed: "
            f"pip install {library.distribution}",
            name=library.package,
        )
    return known


def get_namespace(name: Any) -> Any:
    """Return the array API namespace of a library, by the library's name.

    Parameters
    ----------
    name : str or namespace
        ``'numpy'``, ``'cupy'``, ``'dask'``, ``'torch'``, ``'jax'`` or ``'array_api_strict'``; ``'cpu'`` and
        ``'gpu'`` are NumPy and CuPy. Any other library of the standard: its module, or the name of its imported
        module.

    Returns
    -------
    namespace
        array-api-compat's module if it is correct, else a namespace with corrections.

    Raises
    ------
    ValueError
        If no library has this name.
    ImportError
        If the library is not installed. The message says what to install.

    Examples
    --------
    >>> xp = get_namespace("numpy")
    >>> float(xp.sum(xp.asarray([1.0, 2.0])))
    3.0
    """
    try:
        return _NAMESPACES[name]
    except (KeyError, TypeError):
        known = require_library(name)
    with _BUILDING:
        if known not in _NAMESPACES:
            namespace = built(LIBRARIES[known].builder)()
            _NAMES[namespace] = known
            _NAMESPACES[known] = namespace
        if isinstance(name, str):
            _NAMESPACES[name] = _NAMESPACES[known]
    return _NAMESPACES[known]


def built(place: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return an object given as itself, or by its location ``'package.module:name'``.

    Examples
    --------
    >>> built("math:floor")(2.5)
    2
    """
    if callable(place):
        return place
    module, _, attribute = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return found


def namespaces() -> list[Any]:
    """Return the namespaces in use so far."""
    return list({id(xp): xp for xp in _NAMESPACES.values()}.values())


def owner_of(part: Any) -> tuple[str, str] | None:
    """The library of a namespace or of one of its extensions, and the prefix of the extension's names; else None."""
    library = name_of_namespace(part)
    if library is not None:
        return library, ""
    for xp in namespaces():
        for extension in ("linalg", "fft"):
            if getattr(xp, extension, None) is part:
                return str(name_of_namespace(xp)), f"{extension}."
    return None


_MASKED = frozenset({("numpy", "MaskedArray"), ("torch", "MaskedTensor")})


def library_of_type(cls: type) -> str | None:
    """Return the library whose arrays have this type or a base of it, or None.

    Raises
    ------
    TypeError
        If the arrays have a mask, which all functions would ignore.
    """
    for base in cls.__mro__:
        key = (base.__module__.partition(".")[0], base.__name__)
        if key in _MASKED:
            raise TypeError(
                f"a {cls.__module__}.{cls.__qualname__} is not taken, for its mask would be lost: pass its data "
                "with the masked elements filled (x.filled(value) in NumPy, da.ma.filled(x, value) in Dask), or data "
                "and mask as two arrays"
            )
        for library in LIBRARIES.values():
            if key in library.array_types:
                return library.name
    return None


def name_of_namespace(xp: Any) -> str | None:
    """Return the library to which a namespace or a module belongs, or None."""
    try:
        return _NAMES[xp]
    except (KeyError, TypeError):
        pass
    module = getattr(xp, "__name__", None)
    for library in LIBRARIES.values():
        if module in library.modules:
            return library.name
    return None


HOST = "numpy"


def host_namespace() -> Any:
    """Return the namespace of arrays in host memory, to which lists and numbers are converted.

    Examples
    --------
    >>> host_namespace().__name__
    'array_api_compat.numpy'
    """
    return get_namespace(HOST)


def is_lazy(xp: Any) -> bool:
    """Whether arrays of a namespace have values only after an explicit computation.

    For an unlisted library this follows from the standard's inspection: it has no shapes that depend on values.

    Examples
    --------
    >>> is_lazy(host_namespace())
    False
    """
    library = LIBRARIES.get(name_of_namespace(xp) or "")
    if library is None or library.lazy is not None:
        return library is not None and bool(library.lazy)
    return _has_no_values(xp)


def maps_blocks(xp: Any) -> bool:
    """Whether a lazy library can compute each block of an array by a function, as Dask and similar libraries can.

    Examples
    --------
    >>> maps_blocks(host_namespace())
    False
    """
    return is_lazy(xp) and hasattr(xp, "map_blocks")


@cache
def _has_no_values(xp: Any) -> bool:
    """Whether a namespace supports neither boolean indexing nor shapes that depend on values."""
    inspection = getattr(xp, "__array_namespace_info__", None)
    capabilities = {} if inspection is None else inspection().capabilities()
    return not any(capabilities.get(name, True) for name in ("boolean indexing", "data-dependent shapes"))
