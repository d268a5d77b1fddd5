"""What operators, functions and methods of other libraries do with a Tensor, and hints in the errors for these."""

from __future__ import annotations

import os
import sys
from dis import opmap
from types import FrameType
from typing import Any, NoReturn

from nbm_xp.namespace import host_namespace

from .trees import leaves

# Names in other libraries, mapped to the names in the standard.
_NAMES = {
    "absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "cat": "concat",
    "concatenate": "concat", "conjugate": "conj", "cumprod": "cumulative_prod", "cumsum": "cumulative_sum",
    "div": "divide", "expand": "broadcast_to", "fabs": "abs", "fmax": "maximum", "fmin": "minimum",
    "fmod": "remainder", "ge": "greater_equal", "gt": "greater", "invert": "bitwise_invert", "le": "less_equal",
    "left_shift": "bitwise_left_shift", "lt": "less", "mm": "matmul", "mul": "multiply", "ne": "not_equal",
    "neg": "negative", "norm": "vector_norm", "permute": "permute_dims", "power": "pow",
    "right_shift": "bitwise_right_shift", "rint": "round", "sub": "subtract", "swapaxes": "moveaxis",
    "transpose": "permute_dims", "true_divide": "divide",
}  # fmt: skip

# Names in other libraries, mapped to replacement expressions.
_WRITTEN = {
    "clone": "xp.asarray(x, copy=True)", "copy": "xp.asarray(x, copy=True)", "detach": "stop_gradient(x)",
    "backward": "gradients(x, variables)", "float": "xp.astype(x, xp.float32)", "fill": "xp.full_like(x, value)",
    "flatten": "xp.reshape(x, (-1,))", "grad": "gradients(loss, x)", "item": "evaluate(x).item()",
    "ravel": "xp.reshape(x, (-1,))", "tolist": "evaluate(x).tolist()", "unsqueeze": "xp.expand_dims(x, axis=…)",
    "view": "xp.reshape(x, …)", **dict.fromkeys(("cpu", "values"), "numpy.asarray(evaluate(x))"),
}  # fmt: skip
_WRITTEN.update(numpy=_WRITTEN["cpu"])  # the method of that name

# Ufunc methods and ufuncs, mapped to the equivalent functions of the standard.
_REDUCED = {
    "reduce": {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
               "logical_or": "any"},
    "accumulate": {"add": "cumulative_sum", "multiply": "cumulative_prod"},
}  # fmt: skip

# Functions of the standard, mapped to the names of their Python operators.
_BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "pow": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

# NumPy predicates that accept Tensors.
_QUESTIONS = frozenset({"isfinite", "isinf", "isnan", "signbit"})

_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _instead(tensor: Any, name: str) -> str | None:
    """Return the expression in a Tensor's namespace for a name in another library; None if there is none."""
    if name in _WRITTEN:
        return _WRITTEN[name]
    xp, standard = tensor.__array_namespace__(), _NAMES.get(name, name)
    for chapter in ("", "linalg.", "fft.", "special."):
        functions = getattr(xp, chapter[:-1], xp)
        if standard in functions.__all__ and callable(getattr(functions, standard)):
            return f"xp.{chapter}{standard}(x)"
    return None


def _advice(tensor: Any, name: str) -> str:
    written = _instead(tensor, name)
    where = "xp = x.__array_namespace__()"
    if written is None:
        return f"use functions of {where}, such as xp.sum(x)"
    return f"call {written}, {f'where {where}' if 'xp.' in written else 'from nbm_xp.tape'}"


def no_attribute(tensor: Any, name: str) -> AttributeError:
    """Return the error for an attribute that a Tensor does not have."""
    kind = type(tensor).__name__
    if name.startswith("_") or _instead(tensor, name) is None:
        return AttributeError(f"{kind!r} object has no attribute {name!r}")
    return AttributeError(f"a {kind} has no {name!r}: {_advice(tensor, name)}")


_BINARY_OP = opmap["BINARY_OP"]


def is_operator(caller: FrameType) -> bool:
    """Return whether a frame is evaluating an operator or ``x += y`` rather than calling a function."""
    return caller.f_code.co_code[caller.f_lasti] == _BINARY_OP


_listed = {"by identity": False}


def look_up_by_identity(yes: bool = True) -> None:
    """Set whether ``x in tensors`` compares Tensors without a known value by identity.

    Parameters
    ----------
    yes : bool
        Whether to compare by identity, as libraries do whose Tensors are compared as Python objects; ``x += y`` then
        never writes to the base of a view `x`. If False, the initial setting, the comparison raises, and ``x += y``
        writes to the base of a view.

    Examples
    --------
    >>> from nbm_xp.tape import placeholder
    >>> x, y = placeholder((None, 2)), placeholder((None, 3))
    >>> look_up_by_identity()
    >>> y in [x], y in [x, y]
    (False, True)
    >>> look_up_by_identity(False)
    """
    _listed["by identity"] = bool(yes)


def looked_up_by_identity() -> bool:
    """Return whether `look_up_by_identity` is on."""
    return _listed["by identity"]


def _apply_ufunc(tensor: Any, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
    """Apply an operator of a NumPy array and a Tensor or a predicate; raise for other ufuncs.

    Other ufuncs are evaluated if all Tensors depend on constants only. Their ``out`` is written to (a Tensor through
    the array that shares its value), except for the array in ``array += tensor``.
    """
    outputs: tuple[Any, ...] = () if is_operator(sys._getframe(1)) else options.get("out", ())
    name = _BINARY.get(_NAMES.get(ufunc.__name__, ufunc.__name__))
    if name is not None and method == "__call__" and options.keys() <= {"out"} and len(inputs) == 2 and not outputs:
        left, right = inputs
        if _is_tensor(left):
            return getattr(left, f"__{name}__")(right)
        return getattr(right, f"__{_MIRRORED.get(name, f'r{name}')}__")(left)
    if ufunc.__name__ in _QUESTIONS and method == "__call__" and not options:
        return getattr(tensor.__array_namespace__(), ufunc.__name__)(tensor)
    if all(tensor.__array_namespace__().is_lasting(x) for x in inputs if _is_tensor(x)):
        if outputs:
            options["out"] = tuple(map(_array, outputs))
        result = getattr(ufunc, method)(*map(_array, inputs), **options)
        return outputs[0] if len(outputs) == 1 else result
    name = _REDUCED.get(method, {}).get(ufunc.__name__, ufunc.__name__)
    called = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    advice = _advice(tensor, name)
    whose = "NumPy's" if hasattr(host_namespace(), ufunc.__name__) else "the ufunc"
    if "xp.special." in advice:
        whose = "SciPy's"
        if os.environ.get("SCIPY_ARRAY_API", "0") == "0":  # even then some of its ufuncs accept NumPy arrays only
            advice += "; or set SCIPY_ARRAY_API=1 before SciPy is imported"
    raise TypeError(f"{whose} {called} does not take a Tensor, which is computed later: {advice}")


def _array(x: Any) -> Any:
    return x.__array__() if _is_tensor(x) else x


def _is_tensor(x: Any) -> bool:
    return getattr(type(x), "__array_ufunc__", None) is _apply_ufunc


class ArrayUfunc:
    """The attribute ``__array_ufunc__``: a function on the class, None on an instance so that other libraries defer."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        return _apply_ufunc if tensor is None else None


def refuse_torch_function(function: Any, given: Any) -> NoReturn:
    """Raise TypeError for a PyTorch function; PyTorch's operators then try the reflected method of the Tensor."""
    name = getattr(function, "__name__", str(function))
    chapter, _, rest = name.partition("_")
    advice = _advice(next(filter(_is_tensor, leaves(given))), rest if chapter in ("fft", "linalg", "special") else name)
    raise TypeError(f"PyTorch's {name} does not take a Tensor of the tape, which is computed later: {advice}")


def refuse_jax_function(tensor: Any) -> None:
    """Raise ValueError if a JAX function looks up `__jax_array__` two frames up; JAX would replace a TypeError.

    The operators of JAX arrays look it up too; for them nothing is raised here, so that they try the reflected method
    of the Tensor. For lookups by compiled code (`jax.lax`), JAX raises its own error in any case.
    """
    asking = str(sys._getframe(2).f_globals.get("__name__"))
    if asking.startswith("jax.") and not asking.endswith(".array_methods"):
        raise ValueError(
            f"JAX's functions do not take a Tensor of the tape, which is computed later: {_advice(tensor, '')}; "
            "evaluate(x) gives the array where there is one"
        )
