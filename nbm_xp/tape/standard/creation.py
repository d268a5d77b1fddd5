"""Creation functions: recorded calls without array arguments, so that a plan creates the array in its own library.

Also the real part, imaginary part and conjugate: for real arrays, `real` and `conj` return the array and `imag` returns
zeros, so that code and gradient rules need not distinguish real from complex arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from nbm_xp.namespace import (
    array_namespace,
    default_namespace,
    dtype_name,
    floatx,
    host_namespace,
    is_array,
    recording_namespace,
)
from nbm_xp.namespace import asarray as library_asarray
from nbm_xp.namespace.errors import described

from ..dtypes import DType, as_dtype, common_dtype
from ..graph import CONSTANT, ChainStep, Node, refuse_cut
from ..lengths import Length, is_number, kind_of_number, known, maximum_length
from ..operations import ELEMENTWISE_TAG, IDENTITY_TAG, Operation, Rule, declare, same_as_first
from ..tensor import Tensor, as_tensor, record, with_attributes
from .data_types import cast, check_device, real_of, scalar, to_real
from .manipulation import reshape, stack
from .shapes import integer_length, of_matrices, published, sizes_of
from .sums import broadcast_arrays, broadcast_to

__all__ = [
    "arange", "asarray", "conj", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "imag", "linspace",
    "meshgrid", "ones", "ones_like", "real", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def dtype_or(dtype: Any, default: Any) -> DType:
    """Return `dtype`, or `default` if it is None, as a tape dtype."""
    return as_dtype(default if dtype is None else dtype)


def _of_number(number: Any) -> Callable[[Node], ChainStep]:
    """Return the `chain_step` of an array filled with a number."""
    return lambda node: ChainStep(scalar(number, node.dtype).node, node.args[0])


def _filled(name: str, what: str, number: int | None = None) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Declare the creation function of a filled or uninitialised array, and its ``_like`` form."""
    chain_step = None if number is None else _of_number(number)
    op = declare(name, lambda shape, *, dtype: (shape, dtype), (), chain_step=chain_step)

    def of_shape(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
        check_device(device)
        return record(op, sizes_of(shape), dtype=dtype_or(dtype, floatx()))

    def like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
        x = as_tensor(x)
        check_device(device)
        return record(op, x.node.shape, dtype=dtype_or(dtype, x.dtype))

    published(name, of_shape, f"{what} of the given shape.")
    return of_shape, published(
        f"{name}_like", like, f"{what} of the shape of `x`, and of its dtype unless another is given."
    )


zeros, zeros_like = _filled("zeros", "Zeros", 0)
ones, ones_like = _filled("ones", "Ones", 1)
empty, empty_like = _filled("empty", "An array with any values")
_FULL = declare(
    "full",
    lambda shape, value, *, dtype: (shape, dtype),
    (),
    chain_step=lambda node: _of_number(node.args[1])(node) if is_number(node.args[1]) else None,
)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Convert an array, number, length or nested sequence of these to a Tensor.

    An array is shared unless ``copy=True``. A Tensor is returned unchanged unless it is cast or ``copy=True``, which
    give a new Tensor that assignments to the first do not change. The result for a variable is its value, a Tensor that
    can be assigned to without changing the variable.

    Raises
    ------
    ValueError
        If ``copy=False`` and a copy is needed.
    OverflowError
        If an integer is out of range of the dtype.
    """
    check_device(device)
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Tensor) or is_array(obj):
        return _of_array(obj, wanted, copy)
    if copy is False:
        raise ValueError(f"copy=False is not possible for {type(obj).__name__}, which is no array")
    if is_number(obj):
        return scalar(obj, dtype_or(wanted, scalar_dtype(obj)))
    if isinstance(obj, (list, tuple)) and any(_holds_recorded(item) for item in obj):
        stacked: Tensor = stack([asarray(item, dtype=wanted) for item in obj])
        return stacked
    host, library = host_namespace(), default_namespace()
    if hasattr(obj, "__dlpack__"):
        return _of_array(library.from_dlpack(obj), wanted, copy)
    with suppress(TypeError):  # objects without a buffer
        return _of_array(library_asarray(host.asarray(memoryview(obj)), library), wanted, copy)
    found = host.asarray(obj) if isinstance(obj, Sequence) else host.asarray(None)
    if found.dtype.kind not in _EXAMPLES:
        what = f"{type(obj).__name__} of {found.dtype.name}"
        raise TypeError(f"obj must be an array, a buffer, a number or a nested sequence of these, got {what}")
    wanted = dtype_or(wanted, scalar_dtype(_EXAMPLES[found.dtype.kind]))
    return as_tensor(library_asarray(host.asarray(obj, dtype=wanted), library))


# A Python number of each kind of dtype.
_EXAMPLES = {"b": True, "i": 1, "u": 1, "f": 1.0, "c": 1j}


def _of_array(obj: Any, dtype: DType | None, copy: bool | None) -> Tensor:
    x = as_tensor(obj)
    if dtype is not None and x.dtype != dtype:
        if copy is False:
            raise ValueError(f"copy=False is not possible from {x.dtype} to {dtype}")
        return cast(x, dtype)
    if not copy:
        return with_attributes(Tensor(x.node), x) if x.holds_array and copy is None else x
    if x.node.op is CONSTANT:
        held = x.node.payload
        return as_tensor(array_namespace(held).asarray(held, copy=True))
    return record(_COPY, x)


_COPY = declare("copy", same_as_first, (lambda g, out, x: g,), tags=frozenset({IDENTITY_TAG}), may_overlap=True)


def _holds_recorded(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_recorded, value))
    return isinstance(value, (Tensor, Length)) or is_array(value)


def scalar_dtype(value: Any) -> str:
    """Return the default dtype of a number or a length."""
    kind = kind_of_number(value)
    if kind is complex:
        return "complex128" if floatx() == "float64" else "complex64"
    return {bool: "bool", int: "int64"}.get(kind, floatx())


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return an array filled with a number."""
    check_device(device)
    if isinstance(fill_value, (Tensor, Length)):
        value = asarray(fill_value, dtype=dtype)
        return Tensor(broadcast_to(value, sizes_of(shape)).node)  # not a view, so that it is writable
    return record(_FULL, sizes_of(shape), fill_value, dtype=dtype_or(dtype, scalar_dtype(fill_value)))


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return an array filled with a number, with the shape and, by default, the dtype of `x`."""
    x = as_tensor(x)
    return full(x.node.shape, fill_value, dtype=dtype_or(dtype, x.dtype), device=device)


_EYE = declare("eye", lambda rows, columns, *, k, dtype: ((rows, columns), dtype), ())


def eye(n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return a matrix with ones on the diagonal `k` and zeros elsewhere."""
    check_device(device)
    rows, columns = sizes_of((n_rows, n_rows if n_cols is None else n_cols), "n_rows and n_cols")
    return record(_EYE, rows, columns, k=k, dtype=dtype_or(dtype, floatx()))


def _triangle(name: str, which: str) -> Callable[..., Tensor]:
    op: Operation = of_matrices(name, same_as_first, (lambda g, out, x, *, k: record(op, g, k=k),))

    def function(x: Any, /, *, k: int = 0) -> Tensor:
        x = as_tensor(x)
        if x.ndim < 2:
            raise ValueError(f"x must have two axes or more for {name}, got shape {x.shape}")
        return record(op, x, k=k)

    return published(name, function, f"The {which} triangle; zeros elsewhere.")


tril, triu = _triangle("tril", "lower"), _triangle("triu", "upper")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Convert an object with DLPack support to a Tensor."""
    check_device(device)
    array = x if is_array(x) or isinstance(x, Tensor) else default_namespace().from_dlpack(x)
    return _of_array(array, None, copy)


_ELEMENTWISE = frozenset({ELEMENTWISE_TAG})


def _of_complex(
    name: str, doc: str, rule: Rule, infer: Any, of_real: Callable[[Tensor], Tensor] = lambda x: x, **facts: Any
) -> Callable[[Any], Tensor]:
    op = declare(name, infer, (rule,), tags=_ELEMENTWISE, may_overlap=True, **facts)

    def function(x: Any, /) -> Tensor:
        x = as_tensor(x)
        return record(op, x) if x.dtype.kind == "c" else of_real(x)

    return published(name, function, doc)


# The gradient of a real loss u of x + iy is du/dx - i du/dy: hence the sign in the rule of the imaginary part.
real = _of_complex("real", "The real part.", lambda g, out, x: g, to_real, is_view=True)
imag = _of_complex("imag", "The imaginary part.", lambda g, out, x: g * -1j, to_real, zeros_like, is_view=True)
conj: Callable[[Any], Tensor] = _of_complex("conj", "The complex conjugate.", lambda g, out, x: conj(g), same_as_first)


def _infer_arange(start: Any, stop: Any, step: Any, *, dtype: DType) -> Any:
    span, stride = stop - start, step
    if isinstance(span, Length) or isinstance(stride, Length):
        return (maximum_length((-(-span // stride), 0)),), dtype
    whole = isinstance(span, int) and isinstance(stride, int)
    count = -(-span // stride) if whole else math.ceil(span / stride)
    return (max(0, count),), dtype


_ARANGE = declare("arange", _infer_arange, ())


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return evenly spaced values in ``[start, stop)``; the arguments are numbers, Lengths or integer Tensors.

    Floating Tensors are accepted if they depend on numbers and constants only.
    """
    check_device(device)
    start, stop, step = map(_bound, (0, start, step) if stop is None else (start, stop, step))
    if known(step) == 0:
        raise ValueError("the step of arange must not be zero")
    whole = not any(isinstance(value, float) for value in (start, stop, step))
    return record(_ARANGE, start, stop, step, dtype=dtype_or(dtype, "int64" if whole else floatx()))


def _bound(value: Any) -> Any:
    if is_array(value) and not isinstance(value, Tensor) and not value.shape:  # for example the product of a shape
        value = float(value) if dtype_name(value)[0] == "f" else operator.index(value)
    if not isinstance(value, Tensor) or value.ndim or value.dtype.kind != "f":
        return integer_length(value)
    refuse_cut(value.node, repr(value))
    number = recording_namespace().lasting_number(value.node)
    if number is None:
        raise TypeError(
            "a floating bound or step of arange must be a number, or computed from numbers and constants alone, for it "
            f"decides how many values there are: got {value!r}"
        )
    return number


_LINSPACE = declare("linspace", lambda start, stop, num, *, dtype, endpoint: ((num,), dtype), ())


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`, which is included by default."""
    check_device(device)
    for name, bound in (("start", start), ("stop", stop)):
        if not (is_number(bound) or is_array(bound) or isinstance(bound, Tensor)) or getattr(bound, "ndim", 0) != 0:
            raise TypeError(f"{name} must be a number or an array without axes, got {described(bound)}")
    (num,) = sizes_of(num, "num")  # type: ignore[assignment]
    default = scalar_dtype(1j) if isinstance(start, complex) or isinstance(stop, complex) else floatx()
    kind = dtype_or(dtype, default)
    if is_number(start) and is_number(stop):
        return record(_LINSPACE, start, stop, num, dtype=kind, endpoint=endpoint)
    share = record(_LINSPACE, 0.0, 1.0, num, dtype=real_of(kind), endpoint=endpoint)
    first, last = (asarray(bound, dtype=kind) for bound in (start, stop))
    return first * (1.0 - share) + last * share


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return coordinate arrays of coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', got {indexing!r}")
    tensors = [as_tensor(array) for array in arrays]
    places = list(range(len(tensors)))
    if indexing == "xy":
        places[:2] = places[1::-1]
    lines = []
    for place, tensor in zip(places, tensors, strict=True):
        if tensor.ndim > 1:
            raise ValueError(f"meshgrid needs vectors, got an array of shape {tensor.shape}")
        dtype = common_dtype(*(t.dtype for t in tensors))
        lines.append(reshape(cast(tensor, dtype), [-1 if axis == place else 1 for axis in range(len(tensors))]))
    return tuple(Tensor(grid.node) for grid in broadcast_arrays(*lines))  # not views
