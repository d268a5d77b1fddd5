"""Python's operators on Tensors, and what is said to users of other arrays' methods and functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dis import opmap
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar, cast

from nbm_xp.namespace import host_namespace, is_array, library_name

from .lengths import Length

__all__ = [
    "ArrayUfunc", "LATE", "Operators", "instead", "is_number", "is_operator", "kind_of_number", "look_up_by_identity",
    "looked_up_by_identity", "no_attribute", "refuse_jax_function", "refuse_torch_function",
]  # fmt: skip

T = TypeVar("T")

_NUMBERS = frozenset({bool, int, float, complex})

LATE: dict[str, Callable[..., Any]] = {}
"""What operators and methods of Tensors call, by name: functions of Tensors, entered as they come to be.

All else imports the functions that it calls.
"""

_listed = {"by identity": False}


def look_up_by_identity(yes: bool = True) -> None:
    """Say what ``x in tensors`` means where no number decides whether two Tensors are equal.

    Parameters
    ----------
    yes : bool
        True: the Tensor itself must be among them, as in libraries whose Tensors are compared as Python objects. In
        these, ``x += y`` never writes to what `x` shows a part of, and does not here either. False, as at first: to ask
        is an error, and a view is written to.

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
    """Whether `look_up_by_identity` was asked for."""
    return _listed["by identity"]


def is_number(value: object) -> bool:
    """Whether a value is a Python number or a length, whose dtype is weak (that of a library's own scalars is not)."""
    return type(value) in _NUMBERS or (isinstance(value, (int, float, complex, Length)) and not is_array(value))


def kind_of_number(number: Any) -> type:
    """The one of Python's types of numbers that a number counts as; lengths are integers."""
    return next((kind for kind in (bool, int, float, complex) if isinstance(number, kind)), int)


_BINARY_OP = opmap["BINARY_OP"]


def is_operator(caller: FrameType) -> bool:
    """Whether Python evaluates an operator or ``x += y``, whose name takes what comes of it, and calls no function."""
    return caller.f_code.co_code[caller.f_lasti] == _BINARY_OP


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        is_statement = is_operator(sys._getframe(1))
        if is_statement and (self.viewed is None or looked_up_by_identity()):
            return NotImplemented
        result = getattr(self, name)(other)
        if result is NotImplemented:
            return result
        if is_statement:
            return LATE["updated"](self, result)
        self[...] = result
        return self

    return operate


class Operators(Generic[T]):
    """What makes a Tensor work in an expression.

    Python takes ``x += y`` as ``x = x + y``, which gives the name to a new Tensor, of whatever shape and dtype the sum
    has. Others who hold the old one keep it as it was, as the standard has it for arrays that are not written to; and
    models written for symbolic tensors go on to use what they added to. A view alone is written to, with what it shows:
    code that takes a part in order to add to it means the whole.

    The method itself, called as ``x.__iadd__(y)`` by classes that hold arrays and by `operator.iadd`, assigns to all of
    `x`, as ``x[...] = x + y`` does, for its caller may drop what it returns.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def _alone(self, name: str) -> T:
        result: T = LATE[name](self)
        return result

    def _with(self, name: str, other: Any) -> T:
        if isinstance(other, Operators) or is_number(other) or is_array(other):  # else nothing to calculate with
            result: T = LATE[name](self, other)
            return result
        return cast("T", NotImplemented)

    def _after(self, name: str, other: Any) -> T:
        if isinstance(other, Operators) or is_number(other) or is_array(other):
            result: T = LATE[name](other, self)
            return result
        return cast("T", NotImplemented)

    def __add__(self, other: Any) -> T:
        return self._with("add", other)

    def __radd__(self, other: Any) -> T:
        return self._after("add", other)

    def __sub__(self, other: Any) -> T:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> T:
        return self._after("subtract", other)

    def __mul__(self, other: Any) -> T:
        return self._with("multiply", other)

    def __rmul__(self, other: Any) -> T:
        return self._after("multiply", other)

    def __truediv__(self, other: Any) -> T:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> T:
        return self._after("divide", other)

    def __floordiv__(self, other: Any) -> T:
        return self._with("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> T:
        return self._after("floor_divide", other)

    def __mod__(self, other: Any) -> T:
        return self._with("remainder", other)

    def __rmod__(self, other: Any) -> T:
        return self._after("remainder", other)

    def __pow__(self, other: Any) -> T:
        return self._with("pow", other)

    def __rpow__(self, other: Any) -> T:
        return self._after("pow", other)

    def __matmul__(self, other: Any) -> T:
        return self._with("matmul", other)

    def __rmatmul__(self, other: Any) -> T:
        return self._after("matmul", other)

    def __and__(self, other: Any) -> T:
        return self._with("bitwise_and", other)

    def __rand__(self, other: Any) -> T:
        return self._after("bitwise_and", other)

    def __or__(self, other: Any) -> T:
        return self._with("bitwise_or", other)

    def __ror__(self, other: Any) -> T:
        return self._after("bitwise_or", other)

    def __xor__(self, other: Any) -> T:
        return self._with("bitwise_xor", other)

    def __rxor__(self, other: Any) -> T:
        return self._after("bitwise_xor", other)

    def __lshift__(self, other: Any) -> T:
        return self._with("bitwise_left_shift", other)

    def __rlshift__(self, other: Any) -> T:
        return self._after("bitwise_left_shift", other)

    def __rshift__(self, other: Any) -> T:
        return self._with("bitwise_right_shift", other)

    def __rrshift__(self, other: Any) -> T:
        return self._after("bitwise_right_shift", other)

    def __eq__(self, other: object) -> T:  # type: ignore[override]
        try:
            return self._with("equal", other)
        except ValueError:
            if not _listed["by identity"]:
                raise
            return cast("T", NotImplemented)

    def __ne__(self, other: object) -> T:  # type: ignore[override]
        return self._with("not_equal", other)

    def __lt__(self, other: Any) -> T:
        return self._with("less", other)

    def __le__(self, other: Any) -> T:
        return self._with("less_equal", other)

    def __gt__(self, other: Any) -> T:
        return self._with("greater", other)

    def __ge__(self, other: Any) -> T:
        return self._with("greater_equal", other)

    __iadd__, __isub__, __imul__ = map(_in_place, ("__add__", "__sub__", "__mul__"))
    __itruediv__, __ifloordiv__, __imod__ = map(_in_place, ("__truediv__", "__floordiv__", "__mod__"))
    __ipow__, __imatmul__, __iand__ = map(_in_place, ("__pow__", "__matmul__", "__and__"))
    __ior__, __ixor__ = map(_in_place, ("__or__", "__xor__"))
    __ilshift__, __irshift__ = map(_in_place, ("__lshift__", "__rshift__"))

    def __neg__(self) -> T:
        return self._alone("negative")

    def __pos__(self) -> T:
        return self._alone("positive")

    def __abs__(self) -> T:
        return self._alone("abs")

    def __invert__(self) -> T:
        return self._alone("bitwise_invert")


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
    "backward": "gradients(x, variables)", "bool": "xp.astype(x, xp.bool)",
    "double": "xp.astype(x, xp.float64)", "fill": "xp.full_like(x, value)", "flatten": "xp.reshape(x, (-1,))",
    "float": "xp.astype(x, xp.float32)", "grad": "gradients(loss, x)", "half": "xp.astype(x, xp.float16)",
    "hardtanh": "xp.clip(x, -1, 1)", "int": "xp.astype(x, xp.int32)", "item": "evaluate(x).item()",
    "l1_loss": "xp.mean(xp.abs(x - y))", "linear": "xp.matmul(x, weights.T) + bias", "long": "xp.astype(x, xp.int64)",
    "masked_fill": "xp.where(mask, value, x)", "mse_loss": "xp.mean((x - y) ** 2)", "ravel": "xp.reshape(x, (-1,))",
    "relu6": "xp.clip(x, 0, 6)", "requires_grad": "gradients(loss, x)", "requires_grad_": "gradients(loss, x)",
    "tolist": "evaluate(x).tolist()", "unsqueeze": "xp.expand_dims(x, axis=…)", "view": "xp.reshape(x, …)",
    **dict.fromkeys(("cpu", "values", library_name(host_namespace())), "numpy.asarray(evaluate(x))"),
}  # fmt: skip
"""What takes more than another name."""
_WRITTEN.update(numpy=_WRITTEN["cpu"])  # the method of that name

_ELSEWHERE = {
    "nbm_xp.keras2": {
        "batch_norm": "batch_normalization(x, …)", "binary_cross_entropy": "binary_crossentropy(target, x)",
        "conv1d": "conv1d(x, kernel)", "conv2d": "conv2d(x, kernel)", "conv3d": "conv3d(x, kernel)",
        "cross_entropy": "categorical_crossentropy(target, x, from_logits=True)", "dropout": "dropout(x, level)",
        "elu": "elu(x)", "leaky_relu": "relu(x, alpha=…)", "max_pool2d": "pool2d(x, pool_size)",
        "normalize": "l2_normalize(x, axis)", "one_hot": "one_hot(x, num_classes)", "relu": "relu(x)",
        "sigmoid": "sigmoid(x)", "silu": "x * sigmoid(x)", "softplus": "softplus(x)", "softsign": "softsign(x)",
    },
    "nbm_xp.special": {
        "gelu": "x * ndtr(x)", "log_sigmoid": "log_expit(x)", "log_softmax": "log_softmax(x, axis)",
        "logsumexp": "logsumexp(x, axis)", "softmax": "softmax(x, axis)",
    },
}  # fmt: skip
"""What is no function of the standard's namespace: where it is, and how it is called there."""

_PLACES = {name: (written, place) for place, names in _ELSEWHERE.items() for name, written in names.items()}

_REDUCED = {
    "reduce": {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
               "logical_or": "any"},
    "accumulate": {"add": "cumulative_sum", "multiply": "cumulative_prod"},
}  # fmt: skip
"""NumPy's functions that are another function's method."""

_OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "power": "pow", "matmul": "matmul", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "lshift", "right_shift": "rshift", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
"""What NumPy's operators call."""

_QUESTIONS = frozenset({"isfinite", "isinf", "isnan", "signbit"})
"""What NumPy's functions ask of numbers: answered by a Tensor, as comparisons are."""

_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def instead(tensor: Any, name: str) -> str | None:
    """How to write with functions of a Tensor's namespace what goes by a name elsewhere; None where nothing does it."""
    if name in _WRITTEN:
        return _WRITTEN[name]
    xp, standard = tensor.__array_namespace__(), _NAMES.get(name, name)
    for chapter in ("", "linalg.", "fft.", "special."):
        functions = getattr(xp, chapter[:-1], xp)
        if standard in functions.__all__ and callable(getattr(functions, standard)):
            return f"xp.{chapter}{standard}(x)"
    return _PLACES.get(name, (None,))[0]


def _advice(tensor: Any, name: str) -> str:
    written = instead(tensor, name)
    where = "xp = x.__array_namespace__()"
    if written is None:
        return f"use functions of {where}, such as xp.sum(x)"
    _, place = _PLACES.get(name, ("", "nbm_xp.tape"))
    return f"call {written}" + (f", where {where}" if "xp." in written else f", from {place}")


def no_attribute(tensor: Any, name: str) -> AttributeError:
    """The error for an attribute that a Tensor lacks."""
    kind = type(tensor).__name__
    if name.startswith("_") or instead(tensor, name) is None:
        return AttributeError(f"{kind!r} object has no attribute {name!r}")
    return AttributeError(f"a {kind} has no {name!r}: {_advice(tensor, name)}")


def _apply_ufunc(tensor: Any, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
    """What an operator of NumPy's array and a Tensor gives, or a question; other functions of NumPy's are refused.

    But for constants, which have an array that nothing can change: there is nothing to record or to differentiate.
    With ``out``, but for the array in ``array += tensor``, it is written to; a Tensor by the array that stands for it.
    """
    outputs: tuple[Any, ...] = () if is_operator(sys._getframe(1)) else options.get("out", ())
    name = _OPERATORS.get(ufunc.__name__)
    if name is not None and method == "__call__" and options.keys() <= {"out"} and len(inputs) == 2 and not outputs:
        left, right = inputs
        if isinstance(left, Operators):
            return getattr(left, f"__{name}__")(right)
        return getattr(right, f"__{_MIRRORED.get(name, f'r{name}')}__")(left)
    if ufunc.__name__ in _QUESTIONS and method == "__call__" and not options:
        return LATE[ufunc.__name__](tensor)
    if all(LATE["is_lasting"](x) for x in inputs if isinstance(x, Operators)):
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
    return cast("Any", x).__array__() if isinstance(x, Operators) else x


class ArrayUfunc:
    """What NumPy finds on the class, to call it; on a Tensor itself None, which asks other libraries to stand back."""

    def __get__(self, tensor: Any, owner: type) -> Any:
        return _apply_ufunc if tensor is None else None


def refuse_torch_function(function: Any, given: Any) -> NoReturn:
    """Refuse a function of PyTorch's; its operators take the error for leave to ask the other operand."""
    name = getattr(function, "__name__", str(function))
    chapter, _, rest = name.partition("_")
    advice = _advice(next(_tensors(given)), rest if chapter in ("fft", "linalg", "special") else name)
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


def _tensors(given: Any) -> Iterator[Any]:
    """The Tensors among arguments."""
    if isinstance(given, Operators):
        yield given
    elif isinstance(given, (tuple, list)):
        for item in given:
            yield from _tensors(item)
