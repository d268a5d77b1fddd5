"""The array libraries by name: what each is called, which types are its arrays, how its namespace is made.

No library is imported before its arrays, or the user's wish for it, bring it: types are told apart by their module's
name, installed libraries are found without importing them.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ALIASES",
    "LIBRARIES",
    "Library",
    "canonical_library",
    "get_namespace",
    "installed_libraries",
    "library_of_type",
    "name_of_namespace",
]


@dataclass(frozen=True, slots=True)
class Library:
    """What is known about an array library before it is imported.

    Attributes
    ----------
    name
        The name by which `get_namespace` and the configuration know it.
    package
        The top-level package whose presence means that the library is installed.
    modules
        Names of modules that stand for the library (``numpy``, ``array_api_compat.numpy``).
    array_types
        Pairs (top-level package, class name) of the classes whose instances are its arrays.
    builder
        Module of `nbm_xp.namespace.gaps` whose function ``build()`` makes the namespace.
    distribution
        What to install, as pip takes it.
    """

    name: str
    package: str
    modules: frozenset[str]
    array_types: frozenset[tuple[str, str]]
    builder: str
    distribution: str


def _library(name: str, modules: str, array_types: str, *, package: str = "", distribution: str = "") -> Library:
    pairs = (item.split(":") for item in array_types.split())
    return Library(
        name=name,
        package=package or name,
        modules=frozenset(modules.split()),
        array_types=frozenset((root, cls) for root, cls in pairs),
        builder=f"nbm_xp.namespace.gaps.{name}",
        distribution=distribution or f"nbm_xp[{name}]",
    )


LIBRARIES: dict[str, Library] = {
    library.name: library
    for library in (
        _library("numpy", "numpy array_api_compat.numpy", "numpy:ndarray numpy:generic", distribution="numpy"),
        _library("cupy", "cupy array_api_compat.cupy", "cupy:ndarray"),
        _library("dask", "dask.array array_api_compat.dask.array", "dask:Array", distribution='"dask[array]"'),
        _library("torch", "torch array_api_compat.torch", "torch:Tensor"),
        _library("jax", "jax.numpy", "jaxlib:ArrayImpl jax:ArrayImpl jax:Tracer"),
        _library("array_api_strict", "array_api_strict", "array_api_strict:Array", distribution="array-api-strict"),
    )
}
"""The libraries by name, in the order in which they are listed to users."""

ALIASES: dict[str, str] = {"cpu": "numpy", "gpu": "cupy"}
"""Further names for a library."""

_NAMESPACES: dict[str, Any] = {}
_NAMES: dict[Any, str] = {}
_BUILDING = threading.RLock()


def canonical_library(name: object) -> str:
    """The library's own name for a name or an alias.

    Raises
    ------
    ValueError
        If no library goes by this name.

    Examples
    --------
    >>> canonical_library("cpu")
    'numpy'
    """
    known = ALIASES.get(name, name) if isinstance(name, str) else name
    if not isinstance(known, str) or known not in LIBRARIES:
        choices = ", ".join(repr(choice) for choice in (*LIBRARIES, *ALIASES))
        raise ValueError(f"library must be one of {choices}; got {name!r}")
    return known


def is_installed(name: str) -> bool:
    """Whether the library (by its own name) can be imported here; it is not imported."""
    try:
        return importlib.util.find_spec(LIBRARIES[name].package) is not None
    except (ImportError, ValueError):
        return False


def installed_libraries() -> list[str]:
    """The names of the array libraries that are installed here. None of them is imported.

    Examples
    --------
    >>> "numpy" in installed_libraries()
    True
    """
    return [name for name in LIBRARIES if is_installed(name)]


def require_library(name: object) -> str:
    """The library's own name, once it is certain that it is installed."""
    known = canonical_library(name)
    if not is_installed(known):
        library = LIBRARIES[known]
        raise ImportError(
            f"the array library {known!r} needs the package {library.package!r}, which is not installed: "
            f"pip install {library.distribution}",
            name=library.package,
        )
    return known


def get_namespace(name: str) -> Any:
    """The array API namespace of a library, by the library's name.

    Parameters
    ----------
    name : str
        ``'numpy'``, ``'cupy'``, ``'dask'``, ``'torch'``, ``'jax'`` or ``'array_api_strict'``; ``'cpu'`` and
        ``'gpu'`` stand for NumPy and CuPy.

    Returns
    -------
    namespace
        array-api-compat's module where that is right as it stands, else one with the gaps mended.

    Raises
    ------
    ValueError
        If no library goes by this name.
    ImportError
        If the library is not installed; the message says what to install.

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
            namespace = importlib.import_module(LIBRARIES[known].builder).build()
            _NAMES[namespace] = known
            _NAMESPACES[known] = namespace
        _NAMESPACES[name] = _NAMESPACES[known]
    return _NAMESPACES[name]


_MASKED = frozenset({("numpy", "MaskedArray"), ("torch", "MaskedTensor")})


def library_of_type(cls: type) -> str | None:
    """The library whose arrays have this type or a base of it, or None.

    Raises
    ------
    TypeError
        If the arrays carry a mask, which no function here would heed.
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
    """The library to which a namespace or a module belongs, or None."""
    try:
        return _NAMES[xp]
    except (KeyError, TypeError):
        pass
    module = getattr(xp, "__name__", None)
    for library in LIBRARIES.values():
        if module in library.modules:
            return library.name
    return None
