"""Compilers of array libraries: whole functions, loops and branches, for a library that has them.

If a library can compile functions of its arrays, plans run compiled, loops become the library's loops, and choices by
values unknown at compilation become its conditionals. Other libraries run plans unchanged.
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


def compiled(plan: Callable[..., tuple[Any, ...]], xp: Any) -> Callable[..., tuple[Any, ...]]:
    """Compile a function of arrays by their library, if it has a compiler; else return it unchanged.

    Parameters
    ----------
    plan : callable
        Function of arrays that returns a tuple of arrays, ints and None.
    xp : namespace
        Namespace of the library.

    Notes
    -----
    A call is compiled when its shapes and dtypes occur for the first time: JAX would compile each operation otherwise,
    and takes as long for a few of them as for a whole function. A function that cannot be compiled because it needs
    values runs uncompiled from then on, and so does everything under the library's own switch (``jax.disable_jit()``).

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
    """Describe in words how the result of `compiled` ran last; None if the library has no compiler.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> how_run(compiled(lambda x: (x,), host_namespace()), host_namespace()) is None
    True
    """
    own = kernel("compiling.how_run", xp)
    return None if own is None else own(function)


def as_rounded(x: Any, xp: Any) -> Any:
    """Protect finite numbers from fusion: a compiler must not round a product and a sum only once.

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
    """Return a function of arrays in which each operation is rounded separately, also if the library compiles it.

    Compilers fuse a product and a sum, or two factors, into one operation that is rounded once. The results of such
    operations are kept separate here, so that the bits are those of the uncompiled function.

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
        Function that returns a scalar bool array.
    step : callable
        Function that returns carried values of the same shapes and dtypes.
    carries : tuple of arrays and numbers
        Initial values.
    xp : namespace
        Namespace of the library.

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
    """Return an object that identifies the function that a library is compiling now, or None.

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
    """Raise an error if PyTorch compiles the calling function, or maps it over one of `values`.

    Parameters
    ----------
    what : str
        Operation that is not supported, for the error message.
    values : iterable
        Arrays and any other values.

    Examples
    --------
    >>> import numpy as np
    >>> require_eager("a random draw", [np.ones(2)])
    """
    if "torch" in sys.modules and ("torch._dynamo" in sys.modules or "torch" in map(dispatch.library_of, values)):
        own = kernel("compiling.require_eager", "torch")
        assert own is not None
        own(what, values)


def is_traced(values: Iterable[Any]) -> bool:
    """Whether one of the values is a tracer of a library that is compiling a function, without a value.

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
    """Convert the result of a compiled function to the library of the array that it replaces.

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
    """Return the namespace on which a computation on several arrays runs.

    Host arrays are accepted beside arrays of any other library.

    Raises
    ------
    TypeError
        If there are arrays of two libraries other than the host's.

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
    """Derivatives of an array with respect to the arrays that it is computed from.

    Parameters
    ----------
    title : str
        Description of the array, for error messages.
    names : tuple of str
        Names of the arrays that it is computed from.
    in_argument : callable, optional
        ``in_argument(k, *arrays)``: the derivative of each element with respect to the element of array `k` that
        broadcasts to it. Without it, computing a gradient is an error.
    constant : bool
        Whether the derivatives do not depend on the arrays, so that they may be differentiated again.
    simplex : bool
        Whether the elements along the last axis are divided by their sum. `in_argument` then returns the derivative
        of each element before normalization, divided by the sum.
    """

    title: str
    names: tuple[str, ...]
    in_argument: Callable[..., Any] | None = None
    constant: bool = False
    simplex: bool = False

    def none_in(self, k: int) -> ValueError:
        """The error for a gradient that does not exist."""
        return ValueError(
            f"{self.names[k]} must not require a gradient, for {self.title} has none in it: detach it, or stop its "
            "gradient"
        )

    def none_of_second_order(self) -> NotImplementedError:
        """The error for a second derivative."""
        return NotImplementedError(f"{self.title} has first derivatives in {', '.join(self.names)}, but no second ones")

    def along_simplex(self, out: Any, change: Any) -> Any:
        """Project changes of the elements to changes that keep their sum at 1."""
        xp = array_namespace(out)
        return change - out * xp.sum(change, axis=-1, keepdims=True) if self.simplex else change

    def before_simplex(self, out: Any, cotangent: Any) -> Any:
        """The transpose of `along_simplex`."""
        xp = array_namespace(out, cotangent)
        return cotangent - xp.sum(out * cotangent, axis=-1, keepdims=True) if self.simplex else cotangent


def with_derivatives(
    draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Callable[[], Derivatives | None]
) -> Any:
    """Call a function whose result is differentiated by a given rule, not step by step.

    Parameters
    ----------
    draw : callable
        ``draw(*arrays)`` returns an array of a floating-point dtype, or of any dtype without derivatives.
    arrays : tuple of arrays
        Arrays of one library. PyTorch and JAX differentiate those of floating-point dtypes.
    derivatives : callable
        Function that returns the rule, or None to differentiate `draw` step by step. Called only if a library
        differentiates.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If a gradient is needed that the rule does not provide.

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
        ``flatten(instance)`` returns its arrays, and its static, hashable data.
    unflatten : callable
        ``unflatten(static, arrays)`` returns an instance; it must not use the values of the arrays.
    """
    _WAITING[cls] = flatten, unflatten
    register_waiting()


def register_waiting() -> None:
    """Register pending classes with JAX, if it is imported."""
    if _WAITING and hasattr(sys.modules.get("jax"), "tree_util"):
        register = built("jax.tree_util:register_pytree_node")
        for cls in list(_WAITING):
            register(cls, *_WAITING.pop(cls))
