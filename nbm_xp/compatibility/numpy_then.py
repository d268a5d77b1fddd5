"""What NumPy's module held when Keras 1 and 2, neon and their programs were written, and holds no longer."""

from __future__ import annotations

from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["load", "names"]

PYTHONS = {"complex": complex, "float": float, "int": int, "object": object, "str": str, "unicode": str}
"""Names of Python's own classes, until NumPy 1.24."""

TODAYS = {
    "Inf": "inf", "Infinity": "inf", "infty": "inf", "PINF": "inf", "NaN": "nan", "NAN": "nan",
    "bool8": "bool_", "float_": "float64", "complex_": "complex128", "cfloat": "complex128",
    "singlecomplex": "complex64", "longfloat": "longdouble", "int0": "intp", "uint0": "uintp", "object0": "object_",
    "string_": "bytes_", "unicode_": "str_", "alltrue": "all", "cumproduct": "cumprod", "product": "prod",
    "in1d": "isin", "mat": "asmatrix", "rank": "ndim", "round_": "round", "row_stack": "vstack", "sometrue": "any",
    "trapz": "trapezoid",
}  # fmt: skip
"""Names that NumPy 1.25 to 2.4 dropped, and those that stayed."""


def names(module: ModuleType) -> dict[str, Any]:
    """What a program of then finds in NumPy in place of what is there today."""
    old: dict[str, Any] = {old: getattr(module, new) for old, new in TODAYS.items()}
    old |= PYTHONS | {"NINF": -np.inf, "asscalar": _asscalar, "asfarray": _asfarray, "msort": _msort}
    missing = {name: value for name, value in old.items() if name not in vars(module)}
    return missing | {"array": _array, "asarray": _asarray, "where": _where}


def _array(object: Any, dtype: Any = None, copy: bool | None = True, *ordered: Any, **options: Any) -> Any:
    """An array. Rows of several lengths make one of objects; ``copy=False`` copies where there is no other way.

    Arrays of one element are numbers among others, however many axes they have.
    """
    options |= zip(("order", "subok", "ndmin"), ordered, strict=False)
    try:
        return np.array(object, dtype, copy=copy or None, **options)
    except ValueError as error:
        if dtype is not None or "inhomogeneous" not in str(error):
            raise
        found = np.array(object, "O", copy=copy or None, **options)
        if all(isinstance(item, Number) for item in found.flat):
            return np.array(found.tolist(), copy=copy or None, **options)
        return found


def _asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    return _array(a, dtype, options.pop("copy", None), order, **options)


class _Places(np.ndarray):
    """Places in an array; one alone is an index, until NumPy 1.12."""

    def __index__(self) -> int:
        return int(self.item())


def _where(condition: Any, *choices: Any, **options: Any) -> Any:
    found = np.where(condition, *choices, **options)
    return tuple(place.view(_Places) for place in found) if isinstance(found, tuple) else found


def _asscalar(a: Any) -> Any:
    return a.item()


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = True, **options: Any) -> Any:
    """`numpy.load` as it was until 1.16.3: with the arrays of objects that it unpickles, whatever that runs."""
    return np.load(file, mmap_mode, allow_pickle, **options)
