"""A Backend's reductions, which keep the axes that they reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.functions import base_two, extremes, reductions

from .buffers import Buffer
from .documents import OUT, documented
from .engine import Engine

__all__ = ["argmax", "argmin", "max", "mean", "min", "std", "sum", "var"]

_AXES = "int, sequence of int, or None\n        The axes to reduce; None means all."
_AXIS = "int or None\n        The axis to look along; None means all elements in a row."
_UNUSED = "\n    partial : bool, optional\n        Taken and not used."


def _reduction(name: str, function: Callable[..., Any], summary: str, first: str, second: str) -> Callable[..., Any]:
    """A method that reduces."""

    def method(self: Engine, a: Any, axis: Any = None, out: Buffer | None = None, keepdims: bool = True) -> Any:
        return self.record(function, out, a, axis=axis, keepdims=keepdims)

    return _documented(method, name, summary, _AXES, "", first, second)


def _position(name: str, function: Callable[..., Any], summary: str, first: str, second: str) -> Callable[..., Any]:
    """A method that finds a place along an axis."""

    def method(self: Engine, a: Any, axis: Any = 1, out: Buffer | None = None, keepdims: bool = True) -> Any:
        return self.record(function, out, a, axis=axis, keepdims=keepdims)

    return _documented(method, name, summary, _AXIS, "", first, second)


def _statistic(name: str, function: Callable[..., Any], summary: str, first: str, second: str) -> Callable[..., Any]:
    """A method that averages; of integers in the default dtype."""

    def method(
        self: Engine, a: Any, axis: Any = None, partial: bool | None = None, out: Buffer | None = None,
        keepdims: bool = True,
    ) -> Any:  # fmt: skip
        return self.record(function, out, self.floating(a), axis=axis, keepdims=keepdims)

    return _documented(method, name, summary, _AXES, _UNUSED, first, second)


def _documented(
    method: Callable[..., Any], name: str, summary: str, axes: str, unused: str, first: str, second: str
) -> Callable[..., Any]:
    parameters = f"""a : buffer, op-tree or array
        What is reduced.
    axis : {axes}{unused}{OUT}
    keepdims : bool
        Whether reduced axes stay, with length 1."""
    example = f"""be.{name}(be.array([[1.0, 3.0], [2.0, 8.0]]), axis=1).get()
    array([[{first}],
           [{second}]], dtype=float32)"""
    return documented(method, f"Backend.{name}", summary, parameters=parameters, example=example)


sum = _reduction("sum", reductions.sum, "Sum.", " 4.", "10.")
max = _reduction("max", extremes.max, "Largest element.", "3.", "8.")
min = _reduction("min", extremes.min, "Smallest element.", "1.", "2.")
argmax = _position("argmax", extremes.argmax, "Where the largest element is; the first of several.", "1.", "1.")
argmin = _position("argmin", extremes.argmin, "Where the smallest element is; the first of several.", "0.", "0.")
mean = _statistic("mean", reductions.mean, "Arithmetic mean.", "2.", "5.")
std = _statistic("std", reductions.std, "Standard deviation.", "1.", "3.")


def var(
    self: Engine, a: Any, axis: Any = None, partial: bool | None = None, out: Buffer | None = None,
    keepdims: bool = True, binary: bool = False,
) -> Any:  # fmt: skip
    """Variance.

    Parameters
    ----------
    a, axis, partial, out, keepdims
        See `mean`.
    binary : bool
        Whether one factor of each squared deviation is rounded to a power of two, as `shift` does it.

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
    function = base_two.shifted_var if binary else reductions.var
    return self.record(function, out, self.floating(a), axis=axis, keepdims=keepdims)
