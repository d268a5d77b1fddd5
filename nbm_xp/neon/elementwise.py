"""A Backend's operations element by element: a table of functions, each with `out`.

Without `out` they record an op-tree; with it they compute at once into that buffer, which is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.functions import activations, arithmetic, base_two, bounds, comparison, elementwise, neural
from nbm_xp.functions.conversion import cast

from .buffers import Buffer
from .documents import OUT, documented
from .engine import Engine

__all__ = [
    "absolute", "add", "clip", "divide", "equal", "exp", "exp2", "fabs", "finite", "greater", "greater_equal",
    "less", "less_equal", "log", "log2", "maximum", "minimum", "multiply", "negative", "not_equal", "power",
    "reciprocal", "rint", "safelog", "sgn", "shift", "sig", "sig2", "sqrt", "square", "subtract", "tanh", "tanh2",
    "true_divide",
]  # fmt: skip

_ONE = f"""a : buffer, op-tree, array or number
        The operand.{OUT}"""
_TWO = f"""a, b : buffer, op-tree, array or number
        The operands, of shapes that can be broadcast together.{OUT}"""
_PAIR = "be.array([[1.0, 2.0]]), be.array([[2.0]])"


def _one(name: str, function: Callable[[Any], Any], summary: str, given: str, result: str) -> Callable[..., Any]:
    """A method of one operand."""

    def method(self: Engine, a: Any, out: Buffer | None = None) -> Any:
        return self.record(function, out, a)

    example = f"be.{name}(be.array([{given}])).get()\n    array([[{result}]], dtype=float32)"
    return documented(method, f"Backend.{name}", summary, parameters=_ONE, example=example)


def _two(name: str, function: Callable[[Any, Any], Any], summary: str, result: str) -> Callable[..., Any]:
    """A method of two operands."""

    def method(self: Engine, a: Any, b: Any, out: Buffer | None = None) -> Any:
        return self.record(function, out, a, b)

    return _documented_pair(method, name, summary, result)


def _tests(name: str, function: Callable[[Any, Any], Any], summary: str, result: str) -> Callable[..., Any]:
    """A method that compares two operands, whose truth values are ones and zeros of the default dtype."""

    def method(self: Engine, a: Any, b: Any, out: Buffer | None = None) -> Any:
        return self.record(lambda x, y: cast(function(x, y), self.dtype), out, a, b)

    return _documented_pair(method, name, summary, result)


def _documented_pair(method: Callable[..., Any], name: str, summary: str, result: str) -> Callable[..., Any]:
    example = f"be.{name}({_PAIR}).get()\n    array([[{result}]], dtype=float32)"
    return documented(method, f"Backend.{name}", summary, parameters=_TWO, example=example)


def _root(x: Any) -> Any:
    return elementwise.sqrt(x, negative="nan")


absolute = _one("absolute", elementwise.abs, "Absolute value.", "[-1.0, 2.0]", "1., 2.")
fabs = _one("fabs", elementwise.abs, "Absolute value, by another name.", "[-1.0, 2.0]", "1., 2.")
negative = _one("negative", arithmetic.negative, "The other sign.", "[-1.0, 2.0]", " 1., -2.")
sgn = _one("sgn", elementwise.sign, "Sign: -1, 0 or 1.", "[-3.0, 0.0, 2.0]", "-1.,  0.,  1.")
sqrt = _one("sqrt", _root, "Square root; nan of negative elements.", "[4.0, 0.0]", "2., 0.")
square = _one("square", elementwise.square, "Square.", "[-3.0, 2.0]", "9., 4.")
reciprocal = _one("reciprocal", arithmetic.reciprocal, "One divided by each element.", "[2.0, 4.0]", "0.5 , 0.25")
rint = _one("rint", elementwise.round, "The nearest integer, halves to the even one.", "[0.5, 1.5]", "0., 2.")
exp = _one("exp", elementwise.exp, "Exponential.", "[0.0]", "1.")
exp2 = _one("exp2", base_two.exp2, "Power of two.", "[-1.0, 3.0]", "0.5, 8. ")
log = _one("log", elementwise.log, "Natural logarithm.", "[1.0]", "0.")
log2 = _one("log2", base_two.log2, "Logarithm to the base 2.", "[0.5, 8.0]", "-1.,  3.")
safelog = _one(
    "safelog", arithmetic.safe_log, "Natural logarithm, at least -50: ``log(max(a, exp(-50)))``.",
    "[1.0, 0.0]", "  0., -50.",
)  # fmt: skip
sig = _one("sig", neural.sigmoid, "Sigmoid, ``1 / (1 + exp(-a))``.", "[0.0]", "0.5")
sig2 = _one("sig2", base_two.sigmoid_to_base_two, "Sigmoid to the base 2, ``1 / (1 + 2**-a)``.", "[0.0]", "0.5")
tanh = _one("tanh", activations.tanh, "Hyperbolic tangent.", "[0.0]", "0.")
tanh2 = _one(
    "tanh2", base_two.tanh_to_base_two, "Hyperbolic tangent to the base 2, ``(4**a - 1) / (4**a + 1)``.",
    "[0.0, 1.0]", "0. , 0.6",
)  # fmt: skip
add = _two("add", arithmetic.add, "Sum.", "3., 4.")
subtract = _two("subtract", arithmetic.subtract, "Difference.", "-1.,  0.")
multiply = _two("multiply", arithmetic.multiply, "Product.", "2., 4.")
divide = _two("divide", arithmetic.divide, "Quotient; of integers too.", "0.5, 1. ")
true_divide = _two("true_divide", arithmetic.divide, "Quotient, by another name.", "0.5, 1. ")
power = _two("power", elementwise.pow, "Power.", "1., 4.")
maximum = _two("maximum", comparison.maximum, "The larger of two.", "2., 2.")
minimum = _two("minimum", comparison.minimum, "The smaller of two.", "1., 2.")
equal = _tests("equal", comparison.equal, "1 where two are equal, else 0.", "0., 1.")
not_equal = _tests("not_equal", comparison.not_equal, "1 where two differ, else 0.", "1., 0.")
less = _tests("less", comparison.less, "1 where the first is smaller, else 0.", "1., 0.")
less_equal = _tests("less_equal", comparison.less_equal, "1 where the first is not larger, else 0.", "1., 1.")
greater = _tests("greater", comparison.greater, "1 where the first is larger, else 0.", "0., 0.")
greater_equal = _tests("greater_equal", comparison.greater_equal, "1 where the first is not smaller, else 0.", "0., 1.")


def finite(self: Engine, a: Any, out: Buffer | None = None) -> Any:
    """1 where elements are neither infinite nor nan, else 0.

    Parameters
    ----------
    a, out
        See `absolute`.

    Returns
    -------
    OpTree or Buffer
        The tree, or `out`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.finite(be.array([[1.0, float("inf")]])).get()
    array([[1., 0.]], dtype=float32)
    """
    return self.record(lambda x: cast(arithmetic.isfinite(x), self.dtype), out, a)


def clip(self: Engine, a: Any, a_min: Any, a_max: Any, out: Buffer | None = None) -> Any:
    """Limit elements to an interval.

    Parameters
    ----------
    a, out
        See `absolute`.
    a_min, a_max : buffer, op-tree, array or number
        The bounds, included. Where they are crossed, `a_max` is the result.

    Returns
    -------
    OpTree or Buffer
        The tree, or `out`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.clip(be.array([[-2.0, 0.5, 9.0]]), 0, 1).get()
    array([[0. , 0.5, 1. ]], dtype=float32)
    """
    return self.record(bounds.clip, out, a, a_min, a_max, crossed="max")


def shift(self: Engine, a: Any, b: Any, value: bool = True, out: Buffer | None = None) -> Any:
    """Product with powers of two.

    Parameters
    ----------
    a, out
        See `absolute`.
    b : buffer, op-tree, array or number
        Factors that are rounded to powers of two; or their exponents, which are not rounded.
    value : bool
        Whether `b` holds factors.

    Returns
    -------
    OpTree or Buffer
        The tree, or `out`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.shift(be.array([[1.0, 3.0]]), be.array([[5.0]])).get()
    array([[ 4., 12.]], dtype=float32)
    >>> be.shift(be.array([[1.0, 3.0]]), -1, value=False).get()
    array([[0.5, 1.5]], dtype=float32)
    """
    return self.record(base_two.shift, out, a, b, exponents=not value)
