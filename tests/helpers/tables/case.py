"""What a case is: one call of a function of the standard, written over `xp`, on given NumPy arrays.

The same case serves every pass over the functions: its value on each library, its shapes with unknown lengths, its
gradients. A chapter of the standard is one table of cases.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

__all__ = ["Case", "attribute", "by_function", "case", "complex_values", "plain", "values", "whole"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """One call.

    Parameters
    ----------
    function
        The function's name in the standard, dotted for its extensions.
    call
        ``call(xp, *arrays)``.
    arrays
        NumPy arrays, the arguments.
    label
        What tells the case from others of the same function.
    unknown
        Whether the lengths of the arguments may be unknown while recording.
    order
        To which order the gradient is checked.
    reference
        ``reference(xp, *arrays)`` on NumPy, where it is not the call itself.
    rtol
        How close values on different libraries are.
    """

    function: str
    call: Callable[..., Any]
    arrays: tuple[Array, ...]
    label: str = ""
    unknown: bool = True
    order: int = 2
    reference: Callable[..., Any] | None = None
    rtol: float = 1e-12

    def __str__(self) -> str:
        shapes = "-".join("x".join(map(str, a.shape)) or "0d" for a in self.arrays)
        dtypes = "-".join(dict.fromkeys(str(a.dtype) for a in self.arrays))
        return "-".join(filter(None, (self.function, self.label, shapes, dtypes)))

    @property
    def differentiable(self) -> bool:
        """Whether all floating arguments are in double precision, as finite differences need, and there are any."""
        kinds = {str(a.dtype) for a in self.arrays if a.dtype.kind in "fc"}
        return bool(kinds) and kinds <= {"float64", "complex128"}


def by_function(cases: Iterable[Any]) -> list[Any]:
    """Pytest parameters: all cases of a function at once, where a test of each would cost more than what is tested."""
    found: dict[str, list[Any]] = {}
    for one in cases:
        found.setdefault(getattr(one, "function", None) or one.name, []).append(one)
    return [pytest.param(together, id=function) for function, together in found.items()]


def attribute(xp: Any, dotted: str) -> Any:
    """A function of a namespace, or of an extension of it."""
    for name in dotted.split("."):
        xp = getattr(xp, name)
    return xp


def case(function: str, call: Callable[..., Any], *arrays: Array, **fields: Any) -> Case:
    """A case with a call of its own."""
    return Case(function, call, arrays, **fields)


def plain(function: str, *args: Any, label: str = "", fields: dict[str, Any] | None = None, **keywords: Any) -> Case:
    """A case that calls the function on arrays, lists of these, and what else there is; a dtype goes by its name."""
    parts = [part for arg in args for part in (arg if isinstance(arg, list) else [arg])]
    arrays = tuple(part for part in parts if isinstance(part, (np.ndarray, np.generic)))
    plainly = [str(arg) for arg in args if not isinstance(arg, (np.ndarray, np.generic, list))]

    def call(xp: Any, *given: Any) -> Any:
        rest = iter(given)

        def put(arg: Any) -> Any:
            if isinstance(arg, list):
                return [put(item) for item in arg]
            return next(rest) if isinstance(arg, (np.ndarray, np.generic)) else arg

        options = {key: getattr(xp, value) if key == "dtype" else value for key, value in keywords.items()}
        return attribute(xp, function)(*map(put, args), **options)

    label = label or ",".join([*plainly, *(f"{key}={value}" for key, value in keywords.items())])
    return Case(function, call, arrays, label=label, **(fields or {}))


def values(*shape: int, low: float = -2.0, high: float = 2.3, dtype: str = "float64") -> Array:
    """Distinct numbers in no order, none of them closer to another than finite differences reach."""
    count = int(np.prod(shape))
    order = np.random.default_rng(zlib.crc32(repr((shape, low, high)).encode())).permutation(count)
    return np.linspace(low, high, count)[order].reshape(shape).astype(dtype)


def complex_values(*shape: int, low: float = -2.0, high: float = 2.3, dtype: str = "complex128") -> Array:
    """Complex numbers of which both parts are distinct, in no order."""
    real, imaginary = values(*shape, low=low, high=high), values(*shape, low=low - 0.1, high=high - 0.2)
    return (real + 1j * imaginary).astype(dtype)


def whole(*shape: int, low: int = -3, high: int = 5, dtype: str = "int32") -> Array:
    """Integers, some of them more than once."""
    generator = np.random.default_rng(zlib.crc32(repr((shape, low, high)).encode()))
    return generator.integers(low, high, size=shape).astype(dtype)
