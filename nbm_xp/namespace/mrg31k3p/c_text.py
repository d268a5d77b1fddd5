"""Arithmetic written in Python's operators, as a function in C.

What this chapter must satisfy: each operation of the Python function becomes one statement in C, in the same order and
with the same constants, so that both give the same bits wherever a compiler contracts nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["c_function"]


class _Recorded:
    """A double whose operations are written down."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.lines, self.name = lines, name

    def _emit(self, left: str, sign: str, right: str) -> _Recorded:
        name = f"t{len(self.lines)}"
        self.lines.append(f"    double {name} = {left} {sign} {right};")
        return _Recorded(self.lines, name)

    def __add__(self, other: Any) -> _Recorded:
        return self._emit(self.name, "+", _written(other))

    def __radd__(self, other: Any) -> _Recorded:
        return self._emit(_written(other), "+", self.name)

    def __sub__(self, other: Any) -> _Recorded:
        return self._emit(self.name, "-", _written(other))

    def __rsub__(self, other: Any) -> _Recorded:
        return self._emit(_written(other), "-", self.name)

    def __mul__(self, other: Any) -> _Recorded:
        return self._emit(self.name, "*", _written(other))

    def __rmul__(self, other: Any) -> _Recorded:
        return self._emit(_written(other), "*", self.name)

    def __truediv__(self, other: Any) -> _Recorded:
        return self._emit(self.name, "/", _written(other))


def _written(value: Any) -> str:
    return value.name if isinstance(value, _Recorded) else f"({float(value)!r})"


def c_function(function: Callable[..., Any]) -> str:
    """Write a function of doubles in C.

    Parameters
    ----------
    function : callable
        Straight-line arithmetic: sums, differences, products and quotients of its arguments and constants.

    Returns
    -------
    str

    Examples
    --------
    >>> def line(x, a):
    ...     return a * x + 1.0
    >>> print(c_function(line))
    static __device__ inline double line(double x, double a) {
        double t0 = a * x;
        double t1 = t0 + (1.0);
        return t1;
    }
    """
    names, lines = list(inspect.signature(function).parameters), list[str]()
    result = function(*(_Recorded(lines, name) for name in names))
    arguments = ", ".join(f"double {name}" for name in names)
    head = f"static __device__ inline double {function.__name__}({arguments}) {{"
    return "\n".join([head, *lines, f"    return {result.name};", "}"])
