"""Registry of faster kernels for individual libraries.

A portable function over the array API supports every library. A faster function for one library (a compiled loop for
NumPy, a CUDA kernel for CuPy) is defined in the library's module of `compat` under the operation's name, or registered
here by its layer; the portable function looks it up first. A kernel has the signature of the function that it replaces,
must return the same result, and is tested against it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from . import core, libraries
from .dispatch import array_namespace

F = TypeVar("F", bound=Callable[..., Any])

_PARTS: dict[str, str] = {
    "": (
        "add_along block_limit block_namespace compute from_blocks from_numpy in_blocks put replaced scatter_add "
        "scattered special special_blocks stepped to_numpy"
    ),
    "compiling": (
        "as_rounded barrier branch compiled current_trace how_run is_traced loop repeated require_eager "
        "strictly_rounded with_derivatives"
    ),
    "convolution": (
        "correlate correlate_back correlate_outer gather_windows maxima pick_maxima place_maxima scatter_windows "
        "spread_windows sum_windows"
    ),
    "exponentials": "log_softmax logsumexp sigmoid softmax softmax_states softplus",
    "memory": "address is_plain may_overlap reshaped_view",
}
_REGISTERED: dict[str, str] = {
    "graphs": "Bricks colours energies part reordered roots rows sweeps words",
    "rng": (
        "advance bernoulli bernoulli_of_sigmoid box_muller draw elementwise normals rows runs sampled "
        "substreams whole_digits"
    ),
}
# The operations for which bodies ask for a kernel.
OPERATIONS: frozenset[str] = frozenset(
    f"{part}.{name}".lstrip(".") for part, names in (_PARTS | _REGISTERED).items() for name in names.split()
)

# Where a library has the operations of a part, if not in the module that builds its namespace.
_MODULES: dict[tuple[str, str], str] = {
    ("dask", "convolution"): "nbm_xp.namespace.compat.dask_blocks",
    ("dask", "exponentials"): "nbm_xp.namespace.compat.dask_blocks",
    ("jax", "compiling"): "nbm_xp.namespace.compat.jax_functions",
    ("numpy", "convolution"): "nbm_xp.namespace.convolution.numpy_kernels",
}

_KERNELS: dict[tuple[str, str], Callable[..., Any] | str | None] = {}
_WITHOUT_CORE: set[tuple[str, str]] = set()


def register_kernel(name: str, library: Any, function: Callable[..., Any] | str) -> None:
    """Register a library's own kernel for an operation.

    Parameters
    ----------
    name : str
        Name of the operation, as used in the look-up.
    library : str or namespace
        Name of the library, see `get_namespace`, or its namespace.
    function : callable or str
        Kernel, or its location, ``'package.module:name'``, from which it is imported at its first use.

    Examples
    --------
    >>> register_kernel("example.double", "numpy", lambda x: x + x)
    >>> kernel("example.double", "numpy")(4)
    8
    """
    if isinstance(library, str):
        library = libraries.canonical_library(library)
    else:
        library = libraries.name_of_namespace(library) or libraries.canonical_library(library)
    if not callable(function) and ":" not in str(function):
        raise TypeError(f"function must be callable or 'package.module:name', got {function!r}")
    _KERNELS[name, library] = function


def register_core_kernels(part: str, module: str, names: Iterable[str] = ()) -> None:
    """Register functions of a module as NumPy's kernels of the operations ``part.name``, if there is a compiled core.

    Without a core, the first look-up of one of them issues a warning.

    Parameters
    ----------
    part : str
        First part of the operations' names.
    module : str
        Module with functions named after the second parts of the names.
    names : iterable of str, optional
        Second parts of the names; by default all that are known of this first part.

    Examples
    --------
    >>> register_core_kernels("graphs", "nbm_xp.graphs.compiled", ["Bricks"])
    """
    for name in names or _REGISTERED[part].split():
        if core.functions:
            register_kernel(f"{part}.{name}", "numpy", f"{module}:{name}")
        else:
            _WITHOUT_CORE.add((f"{part}.{name}", "numpy"))


def kernel(name: str, library: Any) -> Callable[..., Any] | None:
    """Return the kernel of a library for an operation, or None to use the portable form.

    Parameters
    ----------
    name : str
        Name of the operation.
    library : str or namespace
        Name of the library, see `library_name`, or its namespace.

    Examples
    --------
    >>> kernel("example.nothing", "numpy") is None
    True
    """
    key = (name, library if isinstance(library, str) else libraries.name_of_namespace(library) or "")
    try:
        found = _KERNELS[key]
    except KeyError:
        found = _KERNELS.setdefault(key, _of_its_module(*key))
    if isinstance(found, str):
        found = _KERNELS[key] = libraries.built(found)
    elif found is None and key in _WITHOUT_CORE:
        core.warn_if_missing()
    return found


def _of_its_module(name: str, library: str) -> Callable[..., Any] | None:
    """The attribute of a library's own module with the name of an operation."""
    part, _, attribute = name.rpartition(".")
    builder = libraries.LIBRARIES[library].builder if library in libraries.LIBRARIES else None
    if part not in _PARTS or not isinstance(builder, str):
        return None
    module = importlib.import_module(_MODULES.get((library, part)) or builder.partition(":")[0])
    return getattr(module, attribute) if attribute in module.__all__ else None


def or_kernel(name: str, arrays: int = 1) -> Callable[[F], F]:
    """Decorate a portable function to call the library's kernel of this name, if there is one.

    A kernel returns ``NotImplemented`` for arguments that it does not support.

    Parameters
    ----------
    name : str
        Name of the operation.
    arrays : int, optional
        Number of leading arguments that are the arrays that determine the library.
    """

    def decorate(body: F) -> F:
        @wraps(body)
        def function(*args: Any, **options: Any) -> Any:
            given = args if len(args) >= arrays else (*args, *options.values())
            own = kernel(name, array_namespace(*given[:arrays]))
            found = NotImplemented if own is None else own(*args, **options)
            return body(*args, **options) if found is NotImplemented else found

        return cast("F", function)

    return decorate
