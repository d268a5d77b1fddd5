"""Compilers of array libraries: whole functions, loops and branches, for a library that has them.

Where a library can compile what is written over its arrays, a plan runs compiled, a loop becomes the library's own and
a choice by a value that is not known while compiling takes one of two functions. The others run plans as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import conversion, dispatch, dtypes
from .dispatch import array_namespace
from .kernels import kernel
from .libraries import HOST, built, host_namespace

__all__ = [
    "Derivatives", "as_rounded", "at_home", "compiled", "current_trace", "how_run", "is_traced", "register_pytree",
    "register_waiting", "repeated", "require_eager", "running_namespace", "strictly_rounded", "with_derivatives",
]  # fmt: skip


def compiled(plan: Callable[..., tuple[Any, ...]], xp: Any) -> Callable[..., tuple[Any, ...]]:
    """A function of arrays of a library, compiled by the library where it can; else as it is.

    Parameters
    ----------
    plan : callable
        Called with arrays, returns a tuple of arrays, ints and None.
    xp : namespace
        The library's.

    Notes
    -----
    Compiling takes long, so a call is compiled when its shapes and dtypes come for the second time. What cannot be
    compiled, because it needs values, runs as it is from then on, and so does everything under the library's own
    switch (``jax.disable_jit()``).

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import host_namespace
    >>> compiled(lambda x: (x + 1.0,), host_namespace())(np.ones(2))
    (array([2., 2.]),)
    """
    own = kernel("compiling.compiled", xp)
    found: Callable[..., tuple[Any, ...]] = plan if own is None else own(plan)
    return found


def how_run(function: Callable[..., tuple[Any, ...]], xp: Any) -> str | None:
    """How what `compiled` gave ran last, in words; None where the library has no compiler of functions.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> how_run(compiled(lambda x: (x,), host_namespace()), host_namespace()) is None
    True
    """
    own = kernel("compiling.how_run", xp)
    return None if own is None else own(function)


def as_rounded(x: Any, xp: Any) -> Any:
    """Finite numbers whose last bit stays as it is, where a compiler would round a product and a sum but once.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import host_namespace
    >>> as_rounded(np.asarray([0.1]), host_namespace())
    array([0.1])
    """
    own = kernel("compiling.as_rounded", xp)
    return x if own is None else own(x)


def strictly_rounded(function: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    """A function of arrays of which each operation is rounded by itself, also while the library compiles it.

    Compilers fuse a product and a sum, or two factors, into one operation that is rounded once. Each result of such an
    operation is kept apart here, so that the bits are those of the function that is not compiled.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> strictly_rounded(lambda x: 3.0 * x + 1.0, host_namespace())(2.0)
    7.0
    """
    own = kernel("compiling.strictly_rounded", xp)
    found: Callable[..., Any] = function if own is None else own(function)
    return found


def repeated(
    unfinished: Callable[..., Any], step: Callable[..., tuple[Any, ...]], carries: tuple[Any, ...], xp: Any
) -> tuple[Any, ...]:
    """Repeat ``carries = step(*carries)`` while ``unfinished(*carries)`` holds, in the library's loop if traced.

    Parameters
    ----------
    unfinished : callable
        Gives a bool array without axes.
    step : callable
        Gives carried values of the same shapes and dtypes.
    carries : tuple of arrays and numbers
        The values to begin with.
    xp : namespace
        The library's.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import host_namespace
    >>> repeated(lambda x: np.any(x < 5), lambda x: (2 * x,), (np.asarray([1, 3]),), host_namespace())
    (array([ 8, 24]),)
    """
    if is_traced(carries):
        own = kernel("compiling.repeated", xp)
        if own is not None:
            return tuple(own(unfinished, step, carries))
    kind = dtypes.dtype_of(xp, "int32")
    while conversion.concrete_int(xp.astype(unfinished(*carries), kind)):
        carries = step(*carries)
    return carries


def current_trace() -> object | None:
    """What stands for the function that a library is compiling now, or None; each has an object of its own.

    Examples
    --------
    >>> current_trace() is None
    True
    """
    if "jax" not in sys.modules:
        return None
    own = kernel("compiling.current_trace", "jax")
    return None if own is None else own()


def require_eager(what: str, values: Iterable[Any] = ()) -> None:
    """Raise an error where PyTorch compiles the calling function, or maps it over one of some values.

    Parameters
    ----------
    what : str
        What can be done in neither, for the error.
    values : iterable
        Arrays and anything else.

    Examples
    --------
    >>> import numpy as np
    >>> require_eager("a random draw", [np.ones(2)])
    """
    if "torch" in sys.modules and ("torch._dynamo" in sys.modules or any(map(_is_torch, values))):
        own = kernel("compiling.require_eager", "torch")
        assert own is not None
        own(what, values)


def _is_torch(value: Any) -> bool:
    return dispatch.library_of(value) == "torch"


def is_traced(values: Iterable[Any]) -> bool:
    """Whether one of these stands for an array while a library compiles a function, and has no value of its own.

    Examples
    --------
    >>> import numpy as np
    >>> is_traced([np.ones(2), None])
    False
    """
    for value in values:
        library = dispatch.library_of(value)
        own = None if library is None else kernel("compiling.is_traced", library)
        if own is not None and own(value):
            return True
    return False


def at_home(x: Any, xp: Any) -> Any:
    """An array that a compiled function gave, in the library that the array it took the place of was of.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import host_namespace
    >>> at_home(np.ones(2), host_namespace())
    array([1., 1.])
    """
    here, home = dispatch.library_name(x), dispatch.library_name(xp)
    if here == home or kernel("compiling.compiled", here) is None:
        return x
    return conversion.convert(conversion.to_numpy(x), xp)


def running_namespace(arrays: Iterable[Any], default: Any) -> Any:
    """The one library that a computation on several arrays runs on.

    Host arrays go along to whatever library the others are of.

    Raises
    ------
    TypeError
        If there are arrays of two libraries besides the host's.

    Examples
    --------
    >>> import numpy as np
    >>> running_namespace([np.ones(2)], None).__name__
    'array_api_compat.numpy'
    """
    found = {dispatch.library_name(array): array for array in arrays}
    others = sorted(set(found) - {HOST})
    if len(others) > 1:
        raise TypeError(f"got arrays of {' and '.join(others)}: convert one to the other's library")
    if others:
        return dispatch.array_namespace(found[others[0]])
    return host_namespace() if found else default


@dataclass(frozen=True)
class Derivatives:
    """The derivatives of an array in the arrays that it is computed from.

    Parameters
    ----------
    title : str
        What the array is, for errors.
    names : tuple of str
        What the arrays that it is computed from are called.
    in_argument : callable, optional
        ``in_argument(k, *arrays)``: the derivative of each element in the element of array `k` that broadcasts to it.
        Without it, a request for a gradient is an error.
    constant : bool
        Whether the derivatives depend on none of the arrays, so that they may be differentiated again.
    simplex : bool
        Whether the elements along the last axis are divided by their sum: what `in_argument` gives is then the
        derivative of each before that, over the sum.
    """

    title: str
    names: tuple[str, ...]
    in_argument: Callable[..., Any] | None = None
    constant: bool = False
    simplex: bool = False

    def none_in(self, k: int) -> ValueError:
        """The error where a gradient is needed and there is none."""
        return ValueError(
            f"{self.names[k]} must not require a gradient, for {self.title} has none in it: detach it, or stop its "
            "gradient"
        )

    def none_of_second_order(self) -> NotImplementedError:
        """The error where a derivative is to be differentiated again."""
        return NotImplementedError(f"{self.title} has first derivatives in {', '.join(self.names)}, but no second ones")

    def along_simplex(self, out: Any, change: Any) -> Any:
        """How the elements change while their sum stays 1, from how they change by themselves."""
        xp = array_namespace(out)
        return change - out * xp.sum(change, axis=-1, keepdims=True) if self.simplex else change

    def before_simplex(self, out: Any, cotangent: Any) -> Any:
        """The transpose of `along_simplex`."""
        xp = array_namespace(out, cotangent)
        return cotangent - xp.sum(out * cotangent, axis=-1, keepdims=True) if self.simplex else cotangent


def with_derivatives(
    draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Callable[[], Derivatives | None]
) -> Any:
    """The result of a function, differentiated by a rule of its own in place of by its steps.

    Parameters
    ----------
    draw : callable
        ``draw(*arrays)`` gives an array of a floating-point dtype, or of any where there are no derivatives.
    arrays : tuple of arrays
        Of one library. One that PyTorch or JAX differentiates counts if its dtype is of floating-point numbers.
    derivatives : callable
        Gives the rule, or None where `draw` is differentiated step by step; called where a library differentiates.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If a gradient in an array is needed and there is none.

    Examples
    --------
    >>> import numpy as np
    >>> scaled = Derivatives("a product", ("x",), lambda k, x: np.full_like(x, 3.0), constant=True)
    >>> with_derivatives(lambda x: 3.0 * x, (np.ones(2),), lambda: scaled)
    array([3., 3.])
    """
    own = kernel("compiling.with_derivatives", array_namespace(*arrays)) if arrays else None
    rule = None if own is None else derivatives()
    return draw(*arrays) if own is None or rule is None else own(draw, arrays, rule)


_WAITING: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register_pytree(cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> None:
    """Register a class as a pytree, with JAX's own conventions for both functions.

    Parameters
    ----------
    cls : type
    flatten : callable
        ``flatten(instance)`` gives its arrays, and what is static and hashable.
    unflatten : callable
        ``unflatten(static, arrays)`` gives an instance; it may not use values of the arrays.
    """
    _WAITING[cls] = flatten, unflatten
    register_waiting()


def register_waiting() -> None:
    """Tell JAX of the classes that it does not know yet, if it is imported."""
    if _WAITING and hasattr(sys.modules.get("jax"), "tree_util"):
        register = built("jax.tree_util:register_pytree_node")
        for cls in list(_WAITING):
            register(cls, *_WAITING.pop(cls))
