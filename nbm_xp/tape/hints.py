"""What users of other libraries' methods and functions are told when they call them on a Tensor."""

from __future__ import annotations

import os
import sys
from dis import opmap
from types import FrameType
from typing import Any, NoReturn

from nbm_xp.namespace import host_namespace

from .trees import leaves

__all__ = [
    "ArrayUfunc", "BINARY", "is_operator", "no_attribute", "refuse_jax_function", "refuse_torch_function",
]  # fmt: skip

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
"""Names of other libraries for what the standard calls otherwise."""

_WRITTEN = {
    "clone": "xp.asarray(x, copy=True)", "copy": "xp.asarray(x, copy=True)", "detach": "stop_gradient(x)",
    "backward": "gradients(x, variables)", "float": "xp.astype(x, xp.float32)", "fill": "xp.full_like(x, value)",
    "flatten": "xp.reshape(x, (-1,))", "grad": "gradients(loss, x)", "item": "evaluate(x).item()",
    "ravel": "xp.reshape(x, (-1,))", "tolist": "evaluate(x).tolist()", "unsqueeze": "xp.expand_dims(x, axis=…)",
    "view": "xp.reshape(x, …)", **dict.fromkeys(("cpu", "values"), "numpy.asarray(evaluate(x))"),
}  # fmt: skip
"""What takes more than another name."""
_WRITTEN.update(numpy=_WRITTEN["cpu"])  # the method of that name

_REDUCED = {
    "reduce": {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
               "logical_or": "any"},
    "accumulate": {"add": "cumulative_sum", "multiply": "cumulative_prod"},
}  # fmt: skip
"""NumPy's functions that are another function's method."""

BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "pow": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor", "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
"""Functions of the standard that Python has an operator for."""

_QUESTIONS = frozenset({"isfinite", "isinf", "isnan", "signbit"})
"""What NumPy's functions ask of numbers: answered by a Tensor, as comparisons are."""

_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _instead(tensor: Any, name: str) -> str | None:
    """How to write with functions of a Tensor's namespace what goes by a name elsewhere; None where nothing does it."""
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
    """The error for an attribute that a Tensor lacks."""
    kind = type(tensor).__name__
    if name.startswith("_") or _instead(tensor, name) is None:
        return AttributeError(f"{kind!r} object has no attribute {name!r}")
    return AttributeError(f"a {kind} has no {name!r}: {_advice(tensor, name)}")


_BINARY_OP = opmap["BINARY_OP"]


def is_operator(caller: FrameType) -> bool:
    """Whether Python evaluates an operator or ``x += y``, whose name takes what comes of it, and calls no function."""
    return caller.f_code.co_code[caller.f_lasti] == _BINARY_OP


def _apply_ufunc(tensor: Any, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
    """What an operator of NumPy's array and a Tensor gives, or a question; other functions of NumPy's are refused.

    But for constants, which have an array that nothing can change: there is nothing to record or to differentiate.
    With ``out``, but for the array in ``array += tensor``, it is written to; a Tensor by the array that stands for it.
    """
    outputs: tuple[Any, ...] = () if is_operator(sys._getframe(1)) else options.get("out", ())
    name = BINARY.get(_NAMES.get(ufunc.__name__, ufunc.__name__))
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
        if os.environ.get("SCIPY_ARRAY_API", "0") == "0":  # some of its ufuncs take no other arrays even then
            advice += "; or set SCIPY_ARRAY_API=1 before SciPy is imported"
    raise TypeError(f"{whose} {called} does not take a Tensor, which is computed later: {advice}")


def _array(x: Any) -> Any:
    return x.__array__() if _is_tensor(x) else x


def _is_tensor(x: Any) -> bool:
    return getattr(type(x), "__array_ufunc__", None) is _apply_ufunc


class ArrayUfunc:
    """What NumPy finds on the class, to call it; on a Tensor itself None, which asks other libraries to stand back."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        return _apply_ufunc if tensor is None else None


def refuse_torch_function(function: Any, given: Any) -> NoReturn:
    """Refuse a function of PyTorch's; its operators take the error for leave to ask the other operand."""
    name = getattr(function, "__name__", str(function))
    chapter, _, rest = name.partition("_")
    advice = _advice(next(filter(_is_tensor, leaves(given))), rest if chapter in ("fft", "linalg", "special") else name)
    raise TypeError(f"PyTorch's {name} does not take a Tensor of the tape, which is computed later: {advice}")


def refuse_jax_function(tensor: Any) -> None:
    """Refuse JAX's function, where it asks for `__jax_array__` two calls up; JAX would word a TypeError anew.

    The operators of its arrays ask too: they must hear no, or the Tensor beside them would not be asked in turn. Where
    compiled code asks (`jax.lax`), JAX's own error comes, whatever is raised here.
    """
    asking = str(sys._getframe(2).f_globals.get("__name__"))
    if asking.startswith("jax.") and not asking.endswith(".array_methods"):
        raise ValueError(
            f"JAX's functions do not take a Tensor of the tape, which is computed later: {_advice(tensor, '')}; "
            "evaluate(x) gives the array where there is one"
        )
