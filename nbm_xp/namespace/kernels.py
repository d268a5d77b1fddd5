"""Faster kernels for single libraries, beside the portable bodies.

A body written over the array API serves every library. Where one library can do better (a compiled loop for NumPy, a
CUDA kernel for CuPy), the better function is registered here under the body's name, and the body asks for it first.
A kernel must give the same result as the body, and is tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from . import core, libraries
from .dispatch import array_namespace

__all__ = ["OPERATIONS", "kernel", "or_kernel", "portably", "register_core_kernels", "register_kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_RNG = (
    "advance bernoulli bernoulli_of_sigmoid bernoulli_of_sum binomial binomial_search box_muller digits draw draw_wide "
    "exp log log_gamma normal_quantile normals poisson poisson_search rows runs runs_wide sqrt substreams "
    "truncated_normals whole_digits wide_integers"
)
_EXPONENTIALS = "log_softmax logsumexp sigmoid softmax softplus"
_WINDOWS = (
    "correlate correlate_back correlate_outer gather_windows maxima mean_windows pick_maxima place_maxima "
    "scatter_windows spread_means spread_windows sum_windows"
)

OPERATIONS: dict[str, str] = {
    "to_numpy": "to_numpy(x): an array as NumPy's, computed and copied to the host",
    "from_numpy": "from_numpy(value): a NumPy array as one of the library",
    "compute": "compute(x): a lazy array with its values known",
    "from_blocks": "as `nbm_xp.namespace.compat.dask_blocks.from_blocks`: an array block by block, lazily",
    "in_blocks": "as `nbm_xp.namespace.compat.dask_batches.in_blocks`: a plan as one task for each block",
    "block_namespace": "block_namespace(arrays): the namespace of the blocks of lazy arrays",
    "stepped": "as `nbm_xp.namespace.compat.dask_stepping.stepped`: blocks step by step, each beside its neighbours",
    "replaced": "as `nbm_xp.namespace.indexing.replaced`: a copy with what slices name set",
    "put": "as `nbm_xp.namespace.indexing.put`: a copy with what an integer array names set",
    "scatter_add": "as `nbm_xp.namespace.scatter_add`: a copy with values added where an index names",
    "scattered": "scattered(shape, index, values): values added to zeros where an index names",
    "add_along": "add_along(x, axis, index, values): values added along an axis where integers name",
    "special": "special(name): the library's own special function of that name of SciPy's, or None",
    "special_blocks": "special_blocks(name, *arrays, **options): of lazy arrays, each block by its library's own",
    "extended": "as `nbm_xp.namespace.convolution.portable.extended`: an array with zeros around",
    **dict.fromkeys(_WINDOWS.split(), "as the function of this name in `nbm_xp.namespace.convolution`"),
    **{f"exponentials.{name}": f"{name} in one pass" for name in _EXPONENTIALS.split()},
    **{
        f"graphs.{name}": "as `nbm_xp.graphs` has it, in another way"
        for name in ("breadth", "brick", "colours", "energies", "part", "reordered", "roots", "rows", "sweeps", "words")
    },
    **{
        f"memory.{name}": f"as `nbm_xp.namespace.memory` has it; with these the library writes in place: {name}"
        for name in ("address", "is_plain", "may_overlap", "reshaped_view")
    },
    **{
        f"compiling.{name}": "as `nbm_xp.namespace.compiling` says: the library's compiler"
        for name in (
            "as_rounded",
            "barrier",
            "branch",
            "compiled",
            "current_trace",
            "how_run",
            "is_traced",
            "loop",
            "repeated",
            "require_eager",
            "strictly_rounded",
        )
    },
    "with_derivatives": "as `nbm_xp.namespace.compiling.with_derivatives`: a function with its own derivatives",
    **{f"rng.{name}": "as in `nbm_xp.namespace.mrg31k3p`: the same bits in another way" for name in _RNG.split()},
}
"""The operations for which bodies ask for a kernel, and how it is called."""

_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {}
_WAITING: dict[tuple[str, str], str] = {}
_WITHOUT_CORE: set[tuple[str, str]] = set()


def register_kernel(name: str, library: Any, function: Callable[..., Any] | str) -> None:
    """Register a library's own kernel for an operation.

    Parameters
    ----------
    name : str
        The operation, as the body that asks for it names it.
    library : str or namespace
        The library, as `get_namespace` names it, or its namespace.
    function : callable or str
        The kernel, or where it is, ``'package.module:name'``: then it is imported when first asked for.

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
    key = (name, library)
    _KERNELS.pop(key, None)
    _WAITING.pop(key, None)
    if callable(function):
        _KERNELS[key] = function
    elif ":" in str(function):
        _WAITING[key] = str(function)
    else:
        raise TypeError(f"function must be callable or 'package.module:name', got {function!r}")


def register_core_kernels(part: str, module: str, names: Iterable[str]) -> None:
    """Register functions of a module as NumPy's kernels for the operations ``part.name``, if there is a compiled core.

    Without one, the first look-up of any of them warns.

    Parameters
    ----------
    part : str
        The first part of the operations' names.
    module : str
        The module whose functions have the second parts of the names.
    names : iterable of str
        The second parts.

    Examples
    --------
    >>> register_core_kernels("graphs", "nbm_xp.graphs.compiled", ["brick"])
    """
    for name in names:
        if core.functions:
            register_kernel(f"{part}.{name}", "numpy", f"{module}:{name}")
        else:
            _WITHOUT_CORE.add((f"{part}.{name}", "numpy"))


def kernel(name: str, library: Any) -> Callable[..., Any] | None:
    """The kernel a library has for an operation, or None: then the portable body serves.

    Parameters
    ----------
    name : str
        The operation.
    library : str or namespace
        The library, as `library_name` gives it, or its namespace.

    Examples
    --------
    >>> kernel("example.nothing", "numpy") is None
    True
    """
    key = (name, library if isinstance(library, str) else libraries.name_of_namespace(library) or "")
    found = _KERNELS.get(key)
    if found is None:
        place = _WAITING.get(key)
        if place is None:
            if key in _WITHOUT_CORE:
                core.warn_if_missing()
            return _KERNELS.get(key)  # another thread may have found it just now
        found = _KERNELS[key] = libraries.built(place)
        _WAITING.pop(key, None)  # only now: another thread that asks meanwhile must find it here
    return found


def or_kernel(name: str, arrays: int = 1) -> Callable[[F], F]:
    """Make a function a library's own kernel of this name where it has one; its body serves the others.

    Parameters
    ----------
    name : str
        The operation.
    arrays : int, optional
        How many of the first arguments are the arrays that tell the library.
    """

    def decorate(body: F) -> F:
        @wraps(body)
        def function(*args: Any, **options: Any) -> Any:
            given = args if len(args) >= arrays else (*args, *options.values())
            return (kernel(name, array_namespace(*given[:arrays])) or body)(*args, **options)

        return cast("F", function)

    return decorate


def portably(function: F) -> F:
    """The body of a function made by `or_kernel`, whatever kernels there are."""
    return cast("F", function.__wrapped__)  # type: ignore[attr-defined]
