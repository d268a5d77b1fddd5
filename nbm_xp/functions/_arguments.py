"""Conversion and validation of the functions' arguments.

The documented functions accept arguments that the array API standard does not: integers where floating point is needed,
booleans in a sum, Python numbers alone, lists of arrays, an axis as a list, a shape as an array. This module converts
each to a form that the standard accepts. An array that needs no conversion costs one look-up of its dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from nbm_xp.namespace import (
    array_namespace,
    concrete_int,
    default_namespace,
    dtype_name,
    dtype_of,
    floatx,
    has_blocks,
    host_namespace,
    is_array,
    is_bool,
    is_lazy,
    kept_by_type,
    promote,
    running_dtype,
    to_floating,
)
from nbm_xp.namespace.errors import FAILURES, described, named, reraise_call
from nbm_xp.tape import KnownLength, Length, as_tensor, is_tensor
from nbm_xp.tape import namespace as recorded

__all__ = [
    "Array", "Axis", "Shape", "as_array", "axes", "differ", "floats", "is_truth", "is_value", "numbers", "of_each",
    "of_pair", "pair", "promoted_pair", "sizes", "spread",
]  # fmt: skip

# An array of a supported library or a Tensor; Python numbers stand for arrays without axes.
Array: TypeAlias = Any

Axis: TypeAlias = "int | Sequence[int] | None"

# A length, a sequence of lengths, or an integer vector; unknown lengths of Tensors are lengths.
Shape: TypeAlias = Any

# The namespace, by type of array and by dtype object, of floating-point arrays: those that `floats` leaves alone.
floating: dict[type, dict[Any, Any]] = kept_by_type()

# The same for arrays of any numbers: what `numbers` has nothing to do for.
numeric: dict[type, dict[Any, Any]] = kept_by_type()

_arrays: set[type] = set()
_REAL = frozenset((int, float))


def is_value(x: object) -> bool:
    """Whether an object is an array or a Tensor."""
    return is_array(x) or is_tensor(x)


def is_truth(x: object) -> bool:
    """Whether an object is an array of booleans."""
    return is_value(x) and is_bool(x)


def floats(x: Array) -> tuple[Any, Array]:
    """Return the namespace of an array, and the array with floating-point elements.

    Integers of 8 and 16 bits and booleans become float32, wider integers float64. Python numbers and lists become
    arrays of ``floatx``.
    """
    try:
        return floating[type(x)][x.dtype], x
    except KeyError:
        pass
    x = to_floating(as_array(x, floatx()))
    xp = array_namespace(x)
    if not has_blocks(x):
        floating.setdefault(type(x), {})[x.dtype] = xp
    return xp, x


def numbers(x: Array) -> tuple[Any, Array]:
    """Return the namespace of an array, and the array with booleans cast to int64; other dtypes are kept.

    Python numbers and lists become arrays.
    """
    try:
        return numeric[type(x)][x.dtype], x
    except KeyError:
        pass
    x = as_array(x)
    xp = array_namespace(x)
    if is_bool(x):
        x = xp.astype(x, running_dtype(xp, "int64"))
    if not has_blocks(x):
        numeric.setdefault(type(x), {})[x.dtype] = xp
    return xp, x


def of_each(
    prepare: Callable[[Array], tuple[Any, Array]], find: Callable[[Any, str], Callable[[Array], Array]] | None = None
) -> Callable[[Callable[[Array], Array]], Any]:
    """Turn a documented function of one array into a call of the library's elementwise function of the same name.

    The function found is cached by type and dtype; errors name the documented function. `prepare` is `floats` or
    `numbers`; with `numbers`, boolean arrays are returned unchanged. ``find(namespace, dtype_name)`` returns the
    function to call in place of the function of the same name.
    """

    def decorate(documented: Callable[[Array], Array]) -> Any:
        name, known = documented.__name__, kept_by_type()

        def learn(x: Array) -> Array:
            if prepare is numbers and is_truth(x):
                return x
            xp, x = prepare(x)
            own = getattr(xp, name) if find is None else find(xp, dtype_name(x))
            if not has_blocks(x):
                known.setdefault(type(x), {})[x.dtype] = own
            return own(x)

        @functools.wraps(documented)
        def function(x: Array) -> Array:
            try:
                return known[x.__class__][x.dtype](x)
            except KeyError:
                pass
            except FAILURES as error:
                reraise_call(error, documented, (x,), {})
            try:
                return learn(x)
            except FAILURES as error:
                reraise_call(error, documented, (x,), {})

        return named(function)

    return decorate


def of_pair(documented: Callable[[Array, Array], Array]) -> Any:
    """Turn a documented function of two arrays into a call of the library's function of that name; errors name it."""
    name = documented.__name__

    @functools.wraps(documented)
    def function(x: Array, y: Array) -> Array:
        try:
            xp, x, y = pair(x, y)
            return getattr(xp, name)(x, y)
        except FAILURES as error:
            reraise_call(error, documented, (x, y), {})

    return named(function)


def pair(x: Array, y: Array) -> tuple[Any, Array, Array]:
    """Return the namespace of two arguments, and both in one dtype; one must be an array, the other may be a number."""
    try:
        if type(y) in _REAL:
            return floating[type(x)][x.dtype], x, y
        if type(x) is type(y):
            known = numeric[type(x)]
            if x.dtype is y.dtype:
                return known[x.dtype], x, y
    except KeyError:
        pass
    if not (is_value(x) or is_value(y) or _holds_values((x, y))):
        dtype = _dtype_of_numbers((x, y))
        x, y = as_array(x, dtype), as_array(y, dtype)
    x = as_array(x, beside=y) if isinstance(x, (list, tuple, Length)) else x
    y = as_array(y, beside=x) if isinstance(y, (list, tuple, Length)) else y
    x, y = promoted_pair(x, y)
    return array_namespace(x, y), x, y


def promoted_pair(x: Array, y: Array) -> tuple[Array, Array]:
    """Two arguments in one dtype, both recorded if one is: not every library's operators defer to a Tensor."""
    x, y = promote(x, y)
    if is_tensor(x) is not is_tensor(y):
        x, y = (as_tensor(value) if is_array(value) else value for value in (x, y))
    return x, y


def as_array(x: Any, dtype: str | None = None, *, beside: Any = None) -> Array:
    """Convert a number, a length or a nested list to an array; return an array unchanged, whatever `dtype` is.

    Without `dtype`, numbers become ``floatx``, int64, bool or complex. A list that contains arrays is stacked. `beside`
    is the other operand, or a list of operands: if one is a lazy array, the host's library replaces the default one.
    """
    if type(x) in _arrays:
        return x
    if is_value(x):
        if not has_blocks(x):
            _arrays.add(type(x))
        return x
    if isinstance(x, (list, tuple)) and any(map(_holds_values, x)):
        items = promote(*(as_array(item, dtype, beside=x) for item in x))
        return array_namespace(*items).stack(items)
    if not isinstance(x, (bool, int, float, complex, list, tuple, Length)):
        # from None: hides the callers' failed look-up from the traceback
        raise TypeError(
            f"expected an array, a Tensor, a number or a nested list of numbers, got {described(x)}"
        ) from None
    xp = recorded if isinstance(x, Length) else _library_beside(beside)
    return xp.asarray(x, dtype=dtype_of(xp, dtype or _dtype_of_numbers(x)))


def _library_beside(values: Any) -> Any:
    """The host's library if an operand is a lazy array, which accepts its arrays; else the default library."""
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if is_array(value) and is_lazy(array_namespace(value)):
            return host_namespace()
    return default_namespace()


def _holds_values(x: Any) -> bool:
    return any(map(_holds_values, x)) if isinstance(x, (list, tuple)) else is_value(x) or isinstance(x, Length)


def _dtype_of_numbers(x: Any) -> str:
    order = ("bool", "int64", floatx(), "complex128" if floatx() == "float64" else "complex64")
    if isinstance(x, (list, tuple)):
        return max(map(_dtype_of_numbers, x), key=order.index) if x else floatx()
    return order[
        0 if isinstance(x, bool) else 1 if isinstance(x, (int, Length)) else 3 if isinstance(x, complex) else 2
    ]


def axes(axis: Axis) -> Any:
    """One axis or several, as the standard accepts them."""
    return tuple(axis) if isinstance(axis, list) else axis


def spread(y: Array, x: Array, axis: Axis, keepdims: bool) -> Array:
    """The result of a reduction with the reduced axes restored, with length 1."""
    if keepdims:
        return y
    reduced = range(x.ndim) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    places = {a % x.ndim for a in reduced}
    shape = tuple(1 if place in places else length for place, length in enumerate(x.shape))
    return array_namespace(y).reshape(y, shape)


def sizes(shape: Shape) -> tuple[Any, ...]:
    """Convert a number, a sequence or an integer vector (recorded or not) to a tuple of lengths."""
    if is_tensor(shape) and shape.ndim:
        return tuple(shape[position] for position in range(int(shape.shape[0])))
    if is_array(shape) and shape.ndim:
        return tuple(concrete_int(shape[position]) for position in range(shape.shape[0]))
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(_size(item) for item in items)


def _size(item: Any) -> Any:
    if isinstance(item, (Length, KnownLength)) or is_tensor(item):
        return item
    if is_array(item):
        return concrete_int(item)
    try:
        return item.__index__()
    except AttributeError:
        raise TypeError(f"shape must hold integers, got {item!r}") from None


def differ(length: Any, other: Any) -> bool:
    """Whether two lengths are known to be different."""
    return isinstance(length, int) and isinstance(other, int) and int(length) != int(other)
