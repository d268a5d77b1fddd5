"""Parameters of random draws: numbers, sizes, dtypes, chunks and `out`; location and scale of standard numbers.

Contract: an error names the parameter, its value and what is allowed, before anything is drawn; bounds and scales are
rounded to the dtype of the numbers before anything is computed with them, as in Theano.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    concrete_int,
    dtype_name,
    dtype_of,
    floatx,
    host_namespace,
    is_array,
    is_integer,
    is_lazy,
    library_name,
    promote_types,
    running_dtype,
)
from nbm_xp.namespace.compiling import is_traced
from nbm_xp.namespace.dispatch import is_registered

from .uniforms import DTYPES, Shape

Size: TypeAlias = int | Sequence[int] | None

INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

# dtypes of counts.
COUNTING: Final = (*INTEGERS, *DTYPES)

# Largest finite number of each dtype.
LARGEST: Final = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}

# Largest number of elements of a draw; indices, also of later draws, fit 64 bits.
MOST_ELEMENTS: Final = 2**55


def is_number(value: Any) -> bool:
    """Whether a parameter is a Python number, which does not determine dtypes; NumPy's scalars are arrays."""
    return isinstance(value, (bool, int, float)) and not is_array(value)


def any_tensor(*values: Any) -> bool:
    """Whether any parameter is a recording Tensor.

    Examples
    --------
    >>> any_tensor(1.0, [2.0])
    False
    """
    for value in values:  # noqa: SIM110 - run before every draw, and faster than any()
        if not isinstance(value, (int, float)) and is_registered(value):
            return True
    return False


def is_double(value: Any) -> bool:
    """Whether a number is in the range of float64; the largest ints are not."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def checked(name: str, value: Any) -> Any:
    """Return a parameter as a number or an array."""
    if is_number(value):
        return value
    if isinstance(value, (list, tuple)) or is_array(value):
        try:
            value = value if is_array(value) else asarray(value, host_namespace())
            dtype_name(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be a number or an array of numbers, got {value!r}") from error
        return value
    raise TypeError(f"{name} must be a number or an array (RandomStreams takes Tensors), got {type(value).__name__}")


def known_integer(value: Any) -> Any:
    """Return an integer array without axes, such as a NumPy scalar, as an int; return anything else unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> known_integer(np.uint64(7)), known_integer(2.5)
    (7, 2.5)
    """
    if not is_array(value) or value.ndim or is_lazy(array_namespace(value)) or not is_integer(value):
        return value
    return value if is_traced([value]) else concrete_int(value)


def shape_of(size: Size, *parameters: Any) -> Shape:
    """Return the shape of a draw: `size`, or the shape that its parameters broadcast to.

    Examples
    --------
    >>> shape_of(3), shape_of((2, 3)), shape_of(None, 1.0)
    ((3,), (2, 3), ())
    """
    shapes = [tuple(value.shape) for value in parameters if not is_number(value)]
    if not all(isinstance(length, int) for shape in shapes for length in shape):
        raise TypeError(f"parameters must have known shapes, got {shapes}")
    if size is None:
        return countable(_broadcast(shapes))
    try:
        several = isinstance(size, Sequence) or (is_array(size) and getattr(size, "ndim", 0) == 1)
        shape = tuple(map(operator.index, size)) if several else (operator.index(size),)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"size must be an int or a tuple of ints, got {size!r}") from None
    if any(length < 0 for length in shape):
        raise ValueError(f"size must hold lengths of 0 or more, got {size!r}")
    together = _broadcast(shapes)
    fits = len(together) <= len(shape) and all(
        a in (1, b) for a, b in zip(reversed(together), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(f"size must hold what the parameters broadcast to, {together}; got {size!r}")
    return countable(shape)


def countable(shape: Shape) -> Shape:
    """Return a shape; raise an error if it has more than `MOST_ELEMENTS` elements.

    Examples
    --------
    >>> countable((2, 3))
    (2, 3)
    """
    if math.prod(shape) > MOST_ELEMENTS:
        raise ValueError(f"size must hold at most 2**55 elements, got {shape}")
    return shape


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that several shapes broadcast to."""
    try:
        return tuple(host_namespace().broadcast_shapes(*shapes)) if shapes else ()
    except ValueError:
        raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not broadcast") from None


def dtype_among(dtype: Any, allowed: Sequence[str]) -> str:
    """Return the name of a dtype, which must be one of those allowed.

    Examples
    --------
    >>> dtype_among("int8", INTEGERS)
    'int8'
    """
    name = dtype_name(dtype)
    if name not in allowed:
        raise TypeError(f"dtype must be one of {', '.join(allowed)}; got {name!r}")
    return name


def real_dtype(dtype: Any, *parameters: Any) -> str:
    """Return the dtype of a draw: the given one, or ``floatx`` promoted with the dtypes of array parameters.

    Examples
    --------
    >>> real_dtype(None, 1.0), real_dtype("float64")
    ('float32', 'float64')
    """
    if dtype is None:
        dtype = promote_types(floatx(), *(dtype_name(value) for value in parameters if not is_number(value)))
    return dtype_among(dtype, DTYPES)


def count_of(name: str, value: Any, least: int = 0, bits: int | None = None, what: str = "an int") -> int:
    """Return an int that is at least `least` and, if `bits` is given, at most ``2**bits``.

    Examples
    --------
    >>> count_of("n", 10**6)
    1000000
    """
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be {what}, got {value!r}") from None
    if count < least:
        raise ValueError(f"{name} must be {least} or more, got {count}")
    if bits is not None and count > 2**bits:
        raise ValueError(f"{name} must be at most 2**{bits}, got {count}")
    return count


def counts_on(xp: Any, dtype: str, least: int = 0, most: int = 0) -> str:
    """Return the dtype of counts: int64 becomes int32 on JAX without its 64-bit types if that holds the bounds.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> counts_on(get_namespace("numpy"), "int64")
    'int64'
    """
    fits = dtype == "int64" and -(2**31) <= least <= most < 2**31
    return dtype_name(running_dtype(xp, dtype)) if fits else dtype


def counting_dtype(xp: Any, dtype: Any, most: int = 0) -> str:
    """Return the name of a dtype of counts, which must be one of `COUNTING`: see `counts_on`.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> counting_dtype(get_namespace("numpy"), "float32")
    'float32'
    """
    return counts_on(xp, dtype_among(dtype, COUNTING), most=most)


def bounds_of(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest integer that an integer, bool or floating-point dtype holds.

    Examples
    --------
    >>> bounds_of("int8"), bounds_of("float16"), bounds_of("uint8"), bounds_of("bool")
    ((-128, 127), (-65504, 65504), (0, 255), (0, 1))
    """
    if dtype in LARGEST:
        return -int(LARGEST[dtype]), int(LARGEST[dtype])
    bits = 1 if dtype == "bool" else int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype[0] in "bu" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def chunks_of(chunks: Any, shape: Shape, *parameters: Any) -> Any:
    """Return the given chunks, or along each axis those of the first parameter with that axis, or None.

    Examples
    --------
    >>> chunks_of(None, (2,), 1.0) is None
    True
    """
    split = [value for value in parameters if is_array(value) and hasattr(value, "chunks")]
    if chunks is not None or not split:
        return chunks
    followed = []
    for axis, length in enumerate(reversed(shape)):
        own = (value.chunks[-1 - axis] for value in split if value.ndim > axis and value.shape[-1 - axis] == length)
        followed.append(next(own, "auto"))
    return tuple(reversed(followed))


def line_between(xp: Any, low: Any, high: Any, dtype: str) -> tuple[Any, Any]:
    """Return ``low`` and ``high - low``, rounded to a dtype."""
    low, high = rounded(xp, low, dtype), rounded(xp, high, dtype)
    if isinstance(low, float) and isinstance(high, float):
        return low, rounded(xp, high - low, dtype)  # in narrow dtypes too, two roundings equal one
    return low, high - low


def as_scale_and_shift(loc: Any, scale: Any, dtype: str) -> tuple[float, float] | tuple[()] | None:
    """Return the factor and summand for a kernel: () for 1 and 0, None if one of them is an array."""
    if not (isinstance(loc, float) and isinstance(scale, float)) or dtype == "float16":
        return None
    return () if (loc, scale) == (0.0, 1.0) else (scale, loc)


def scaled_and_shifted(xp: Any, x: Any, loc: Any, scale: Any, dtype: str, times: Any = operator.mul) -> Any:
    """Return ``x * scale + loc``; `times` multiplies."""
    loc, scale = rounded(xp, loc, dtype), rounded(xp, scale, dtype)
    if not isinstance(scale, float) or scale != 1:
        x = times(x, scale)
    return x if isinstance(loc, float) and loc == 0 else x + loc


def rounded(xp: Any, value: Any, dtype: str) -> Any:
    """Round a parameter to a dtype; a number stays a Python number."""
    if is_number(value):
        if math.isfinite(value) and abs(value) > LARGEST[dtype]:
            return math.copysign(math.inf, value)
        return float(value) if dtype == "float64" else _rounded_number(value, math.copysign(1.0, value), dtype)
    return xp.astype(value, dtype_of(xp, dtype), copy=False)


@lru_cache(maxsize=256)
def _rounded_number(value: float, sign: float, dtype: str) -> float:
    """Return a number rounded to a dtype; `sign` distinguishes -0.0 from 0.0 in the cache."""
    return float(asarray(float(value), host_namespace(), dtype))


def with_whole_axis(chunks: Any, shape: Shape) -> Any:
    """Return chunks of rows with a last axis of outcomes, the last of `shape`, in a single chunk."""
    rows, outcomes = len(shape) - 1, (shape[-1],)
    if isinstance(chunks, Mapping):
        return {**chunks, rows: outcomes}
    if isinstance(chunks, (tuple, list)):
        return (*chunks, outcomes)
    return (*(("auto" if chunks is None else chunks,) * rows), outcomes)


def require_writable(name: str, x: Any, instead: str = "") -> None:
    """Raise an error if `x` is not an array, or not writable."""
    if not is_array(x):
        raise TypeError(f"{name} must be an array, got {type(x).__name__}")
    if is_lazy(array_namespace(x)):
        return  # assignment replaces its graph
    nothing = (slice(0, 0),) * x.ndim if x.ndim else ...
    try:
        x[nothing] = x[nothing]
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array that can be written to{instead}: {error}") from error


def form_of(xp: Any, out: Any, size: Size, dtype: Any) -> tuple[Size, Any]:
    """Return the size and the dtype of a draw: those of `out` if given, with which the given ones must agree."""
    if out is None:
        return size, dtype
    require_writable("out", out)
    shape = tuple(out.shape)
    try:
        own = dtype_name(out)
    except TypeError as error:
        raise TypeError(f"out must hold numbers: {error}") from error
    if library_name(array_namespace(out)) != library_name(xp):
        raise TypeError(f"out must be an array of {library_name(xp)}, got one of {library_name(array_namespace(out))}")
    if own not in DTYPES or (dtype is not None and dtype_name(dtype) != own):
        raise TypeError(f"out must be of {'floating-point' if dtype is None else dtype_name(dtype)} dtype, got {own}")
    if size is not None and shape_of(size) != shape:
        raise ValueError(f"out must have the shape that size says, {shape_of(size)}; got {shape}")
    return shape, own


def fill(out: Any, drawn: Any) -> Any:
    """Return the drawn numbers, in `out` if given."""
    if out is None or drawn is out:
        return drawn
    if 0 not in out.shape:  # Dask cannot write to an empty array
        out[...] = drawn
    return out
