"""A Backend's elementwise operations and reductions, each recorded or computed into `out`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.functions import activations, arithmetic, comparison, elementwise, extremes, neural, reductions

from .buffers import Buffer
from .engine import Engine

OUT = """
    out : Buffer, optional
        Where the result goes, cast to its dtype. Without it, the result is recorded."""

_FORM = """{summary}

    Parameters
    ----------
    {parameters}

    Returns
    -------
    OpTree or Buffer
        The tree, or `out`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> {example}
    """


def _documented(
    method: Callable[..., Any], name: str, summary: str, parameters: str, example: str
) -> Callable[..., Any]:
    """Set the name and the docstring of a method; `example` is the call, and its result on the next lines."""
    method.__name__ = name
    method.__qualname__ = f"Backend.{name}"
    method.__doc__ = _FORM.format(summary=summary, parameters=parameters, example=example)
    return method


_ONE = f"""a : buffer, op-tree, array or number
        The operand.{OUT}"""
_TWO = f"""a, b : buffer, op-tree, array or number
        The operands, of shapes that can be broadcast together.{OUT}"""


def _one(name: str, function: Callable[[Any], Any], summary: str, given: str, result: str) -> Callable[..., Any]:
    """Make a method of one operand."""

    def method(self: Engine, a: Any, out: Buffer | None = None) -> Any:
        return self.record(function, out, a)

    example = f"be.{name}(be.array([{given}])).get()\n    array([[{result}]], dtype=float32)"
    return _documented(method, name, summary, _ONE, example)


def _two(name: str, function: Callable[[Any, Any], Any], summary: str, result: str) -> Callable[..., Any]:
    """Make a method of two operands."""

    def method(self: Engine, a: Any, b: Any, out: Buffer | None = None) -> Any:
        return self.record(function, out, a, b)

    pair = "be.array([[1.0, 2.0]]), be.array([[2.0]])"
    example = f"be.{name}({pair}).get()\n    array([[{result}]], dtype=float32)"
    return _documented(method, name, summary, _TWO, example)


class Elementwise(Engine):
    """A Backend's elementwise operations and reductions."""

    absolute = _one("absolute", elementwise.abs, "Absolute value.", "[-1.0, 2.0]", "1., 2.")
    fabs = _one("fabs", elementwise.abs, "Absolute value, by another name.", "[-1.0, 2.0]", "1., 2.")
    negative = _one("negative", arithmetic.negative, "The other sign.", "[-1.0, 2.0]", " 1., -2.")
    sgn = _one("sgn", elementwise.sign, "Sign: -1, 0 or 1.", "[-3.0, 0.0, 2.0]", "-1.,  0.,  1.")
    sqrt = _one("sqrt", elementwise.sqrt_or_nan, "Square root; nan of negative elements.", "[4.0, 0.0]", "2., 0.")
    square = _one("square", elementwise.square, "Square.", "[-3.0, 2.0]", "9., 4.")
    reciprocal = _one("reciprocal", arithmetic.reciprocal, "One divided by each element.", "[2.0, 4.0]", "0.5 , 0.25")
    rint = _one("rint", elementwise.round, "The nearest integer, halves to the even one.", "[0.5, 1.5]", "0., 2.")
    exp = _one("exp", elementwise.exp, "Exponential.", "[0.0]", "1.")
    exp2 = _one("exp2", arithmetic.exp2, "Power of two.", "[-1.0, 3.0]", "0.5, 8. ")
    log = _one("log", elementwise.log, "Natural logarithm.", "[1.0]", "0.")
    log2 = _one("log2", arithmetic.log2, "Logarithm to the base 2.", "[0.5, 8.0]", "-1.,  3.")
    safelog = _one(
        "safelog", arithmetic.safe_log, "Natural logarithm, at least -50: ``log(max(a, exp(-50)))``.",
        "[1.0, 0.0]", "  0., -50.",
    )  # fmt: skip
    sig = _one("sig", neural.sigmoid, "Sigmoid, ``1 / (1 + exp(-a))``.", "[0.0]", "0.5")
    sig2 = _one("sig2", arithmetic.sigmoid_to_base_two, "Sigmoid to the base 2, ``1 / (1 + 2**-a)``.", "[0.0]", "0.5")
    tanh = _one("tanh", activations.tanh, "Hyperbolic tangent.", "[0.0]", "0.")
    tanh2 = _one(
        "tanh2", arithmetic.tanh_to_base_two, "Hyperbolic tangent to the base 2, ``(4**a - 1) / (4**a + 1)``.",
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
    equal = _two("equal", comparison.equal, "1 where two are equal, else 0.", "0., 1.")
    not_equal = _two("not_equal", comparison.not_equal, "1 where two differ, else 0.", "1., 0.")
    less = _two("less", comparison.less, "1 where the first is smaller, else 0.", "1., 0.")
    less_equal = _two("less_equal", comparison.less_equal, "1 where the first is not larger, else 0.", "1., 1.")
    greater = _two("greater", comparison.greater, "1 where the first is larger, else 0.", "0., 0.")
    greater_equal = _two("greater_equal", comparison.greater_equal, "1 where the first is not less, else 0.", "0., 1.")
    finite = _one(
        "finite", arithmetic.isfinite, "1 where elements are neither infinite nor nan, else 0.", "[1.0]", "1."
    )

    def clip(self, a: Any, a_min: Any, a_max: Any, out: Buffer | None = None) -> Any:
        """Clip elements to an interval.

        Parameters
        ----------
        a, out
            See `absolute`.
        a_min, a_max : buffer, op-tree, array or number
            The bounds, inclusive. If ``a_min > a_max``, the result is `a_max`.

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
        return self.record(extremes.clip, out, a, a_min, a_max, crossed="max")

    def shift(self, a: Any, b: Any, value: bool = True, out: Buffer | None = None) -> Any:
        """Multiply by powers of two.

        Parameters
        ----------
        a, out
            See `absolute`.
        b : buffer, op-tree, array or number
            Factors, which are rounded to powers of two; or exponents, which are not rounded.
        value : bool
            Whether `b` contains factors rather than exponents.

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
        return self.record(arithmetic.shift, out, a, b, exponents=not value)

    def sum(self, a: Any, axis: Any = None, out: Buffer | None = None, keepdims: bool = True) -> Any:
        """Compute the sum.

        Parameters
        ----------
        a : buffer, op-tree or array
            What is reduced.
        axis : int, sequence of int, or None
            The axes to reduce; None means all.
        out : Buffer, optional
            Where the result goes, cast to its dtype. Without it, the result is recorded.
        keepdims : bool
            Whether reduced axes stay, with length 1.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.sum(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[ 4.],
               [10.]], dtype=float32)
        """
        return self.record(reductions.sum, out, a, axis=axis, keepdims=keepdims)

    def max(self, a: Any, axis: Any = None, out: Buffer | None = None, keepdims: bool = True) -> Any:
        """Find the largest element.

        Parameters
        ----------
        a, axis, out, keepdims
            See `sum`.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.max(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[3.],
               [8.]], dtype=float32)
        """
        return self.record(extremes.max, out, a, axis=axis, keepdims=keepdims)

    def min(self, a: Any, axis: Any = None, out: Buffer | None = None, keepdims: bool = True) -> Any:
        """Find the smallest element.

        Parameters
        ----------
        a, axis, out, keepdims
            See `sum`.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.min(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[1.],
               [2.]], dtype=float32)
        """
        return self.record(extremes.min, out, a, axis=axis, keepdims=keepdims)

    def argmax(self, a: Any, axis: Any = 1, out: Buffer | None = None, keepdims: bool = True) -> Any:
        """Find where the largest element is; the first of several.

        Parameters
        ----------
        a, out, keepdims
            See `sum`.
        axis : int or None
            The axis to search along; None means all elements, flattened.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.argmax(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[1.],
               [1.]], dtype=float32)
        """
        return self.record(extremes.argmax, out, a, axis=axis, keepdims=keepdims)

    def argmin(self, a: Any, axis: Any = 1, out: Buffer | None = None, keepdims: bool = True) -> Any:
        """Find where the smallest element is; the first of several.

        Parameters
        ----------
        a, out, keepdims
            See `sum`.
        axis : int or None
            The axis to search along; None means all elements, flattened.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.argmin(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[0.],
               [0.]], dtype=float32)
        """
        return self.record(extremes.argmin, out, a, axis=axis, keepdims=keepdims)

    def mean(
        self, a: Any, axis: Any = None, partial: bool | None = None, out: Buffer | None = None,
        keepdims: bool = True,
    ) -> Any:  # fmt: skip
        """Compute the arithmetic mean.

        Parameters
        ----------
        a, axis, out, keepdims
            See `sum`; integers are converted to the default dtype.
        partial : bool, optional
            Not used.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.mean(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[2.],
               [5.]], dtype=float32)
        """
        return self.record(reductions.mean, out, self.floating(a), axis=axis, keepdims=keepdims)

    def std(
        self, a: Any, axis: Any = None, partial: bool | None = None, out: Buffer | None = None,
        keepdims: bool = True,
    ) -> Any:  # fmt: skip
        """Compute the standard deviation.

        Parameters
        ----------
        a, axis, out, keepdims
            See `sum`; integers are converted to the default dtype.
        partial : bool, optional
            Not used.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.std(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
        array([[1.],
               [3.]], dtype=float32)
        """
        return self.record(reductions.std, out, self.floating(a), axis=axis, keepdims=keepdims)

    def var(
        self, a: Any, axis: Any = None, partial: bool | None = None, out: Buffer | None = None,
        keepdims: bool = True, binary: bool = False,
    ) -> Any:  # fmt: skip
        """Compute the variance.

        Parameters
        ----------
        a, axis, partial, out, keepdims
            See `mean`.
        binary : bool
            Whether to round one factor of each squared deviation to a power of two, as `shift` does.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.var(be.array([[1.0, 7.0]])).get()
        array([[9.]], dtype=float32)
        >>> be.var(be.array([[1.0, 7.0]]), binary=True).get()
        array([[12.]], dtype=float32)
        """
        function = arithmetic.shifted_var if binary else reductions.var
        return self.record(function, out, self.floating(a), axis=axis, keepdims=keepdims)
