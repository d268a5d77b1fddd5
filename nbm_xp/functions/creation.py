"""Creation of arrays and Tensors: variables, placeholders, ranges, and arrays like another.

Functions without an array argument use the default library (`nbm_xp.set_backend`). The default dtype is ``floatx``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, concrete_int, default_namespace, dtype_name, dtype_of, floatx, is_array

from ._arguments import Array, Shape, as_array, sizes

__all__ = ["arange", "constant", "eye", "ones", "ones_like", "placeholder", "variable", "zeros", "zeros_like"]


def variable(value: Any, dtype: Any = None, name: str | None = None) -> tape.Variable:
    """Create a variable: a Tensor with a stored array, which can be read, set and updated.

    Parameters
    ----------
    value : array, Tensor, number or nested list
        Initial value. An array is copied and stays in its library; a Tensor is evaluated.
    dtype : str, optional
        Dtype. Defaults to ``floatx``, whatever the dtype of `value`.
    name : str, optional
        Name for display and for saved weights.

    Returns
    -------
    Variable

    Raises
    ------
    TypeError
        If `dtype` is unknown.
    ValueError
        If `value` is not an array of numbers.

    Examples
    --------
    >>> w = variable([[1, 2.5]], name="w")
    >>> w.get_value()
    array([[1. , 2.5]], dtype=float32)
    """
    return tape.Variable(value, dtype=floatx() if dtype is None else dtype, name=name)


def constant(value: Any, dtype: Any = None, shape: Shape | None = None, name: str | None = None) -> tape.Tensor:
    """Create a Tensor with a constant value.

    Parameters
    ----------
    value : array, number or nested list
        Value; an array stays in its library.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    shape : sequence of int, optional
        Shape. A single number is repeated; several are reshaped.
    name : str, optional
        Name for display.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If the number of elements does not match the shape.

    Examples
    --------
    >>> constant(2.5, shape=(1, 2)).eval()
    array([[2.5, 2.5]], dtype=float32)
    """
    kind = dtype_name(floatx() if dtype is None else dtype)
    array = value if is_array(value) else as_array(value, kind if kind[0] == "f" else None)
    xp = array_namespace(array)
    array = xp.astype(array, dtype_of(xp, kind))
    if shape is not None:
        lengths = sizes(shape)
        single = math.prod(array.shape) == 1
        array = xp.broadcast_to(xp.reshape(array, ()), lengths) if single else xp.reshape(array, lengths)
    made = tape.as_tensor(array)
    made.name = name
    return made


def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    *,
    checked: bool = False,
) -> tape.Tensor:
    """Create an input of a recorded computation, which receives an array when the computation runs.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Shape, with None for unknown lengths.
    ndim : int, optional
        Number of axes, if `shape` is not given.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    sparse : bool
        Must be False: sparse inputs are not supported.
    name : str, optional
        Name for display.
    checked : bool
        Whether to check the shapes of arguments against `shape`. Otherwise only the number of axes matters.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If neither `shape` nor `ndim` is given.
    NotImplementedError
        If `sparse` is true.

    Examples
    --------
    >>> x = placeholder(shape=(None, 3))
    >>> x.ndim, x.dtype == "float32"
    (2, True)
    """
    if sparse:
        raise NotImplementedError("sparse placeholders are not supported: hand over a dense array")
    if shape is None and ndim is None:
        raise ValueError("placeholder needs a shape or ndim")
    return tape.placeholder(shape, ndim, floatx() if dtype is None else dtype, name, checked=checked)


def zeros(shape: Shape, dtype: Any = None, name: str | None = None) -> Any:
    """Create a variable of zeros.

    Parameters
    ----------
    shape : int or sequence of int
        Shape. If it contains an unknown length of a Tensor, the result is a Tensor instead.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    name : str, optional
        Name for display and for saved weights.

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        If a length is negative.

    Examples
    --------
    >>> zeros((2, 2)).get_value()
    array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    return _filled("zeros", shape, dtype, name)


def ones(shape: Shape, dtype: Any = None, name: str | None = None) -> Any:
    """Create a variable of ones.

    Parameters
    ----------
    shape : int or sequence of int
        Shape. If it contains an unknown length of a Tensor, the result is a Tensor instead.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    name : str, optional
        Name for display and for saved weights.

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        If a length is negative.

    Examples
    --------
    >>> ones(3, dtype="int32").get_value()
    array([1, 1, 1], dtype=int32)
    """
    return _filled("ones", shape, dtype, name)


def _filled(kind: str, shape: Shape, dtype: Any, name: str | None) -> Any:
    dtype = floatx() if dtype is None else dtype
    lengths = sizes(shape)
    if all(isinstance(length, int) for length in lengths):
        if any(length < 0 for length in lengths):
            raise ValueError(f"shape must hold lengths of 0 or more, got {shape}")
        xp = default_namespace()
        return tape.Variable(getattr(xp, kind)(lengths, dtype=dtype_of(xp, dtype)), name=name)
    return _named(getattr(tape.namespace, kind)(lengths, dtype=dtype_of(tape.namespace, dtype)), name)


def _named(x: Array, name: str | None) -> Array:
    if tape.is_tensor(x):
        x.name = name
    return x


def eye(size: Any, dtype: Any = None, name: str | None = None) -> tape.Variable:
    """Create a variable with an identity matrix.

    Parameters
    ----------
    size : int
        Number of rows and columns.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    name : str, optional
        Name for display and for saved weights.

    Returns
    -------
    Variable

    Raises
    ------
    TypeError
        If `size` is not an integer.
    ValueError
        If `size` is negative.

    Examples
    --------
    >>> eye(2).get_value()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    (length,) = sizes(size) if not isinstance(size, (tuple, list)) else (None,)
    if not isinstance(length, int):
        raise TypeError(f"size must be an integer, got {size!r}")
    if length < 0:
        raise ValueError(f"size must be 0 or more, got {size}")
    xp = default_namespace()
    matrix = xp.eye(length, dtype=dtype_of(xp, floatx() if dtype is None else dtype))
    return tape.Variable(matrix, name=name)


def zeros_like(x: Array, dtype: Any = None, name: str | None = None) -> Array:
    """Return zeros in the shape of another array.

    Parameters
    ----------
    x : array
        Array that determines the shape.
    dtype : str, optional
        Dtype. Defaults to the dtype of `x`.
    name : str, optional
        Name for display, if the result is a Tensor.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> zeros_like(np.ones(2), dtype="int32")
    array([0, 0], dtype=int32)
    """
    x = as_array(x)
    xp = array_namespace(x)
    result = xp.zeros_like(x) if dtype is None else xp.zeros_like(x, dtype=dtype_of(xp, dtype))
    return result if name is None else _named(result, name)


def ones_like(x: Array, dtype: Any = None, name: str | None = None) -> Array:
    """Return ones in the shape of another array.

    Parameters
    ----------
    x : array
        Array that determines the shape.
    dtype : str, optional
        Dtype. Defaults to the dtype of `x`.
    name : str, optional
        Name for display, if the result is a Tensor.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> ones_like(np.zeros(2), dtype="int32")
    array([1, 1], dtype=int32)
    """
    x = as_array(x)
    xp = array_namespace(x)
    result = xp.ones_like(x) if dtype is None else xp.ones_like(x, dtype=dtype_of(xp, dtype))
    return result if name is None else _named(result, name)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Array:
    """Return evenly spaced numbers.

    Parameters
    ----------
    start : number or integer Tensor
        First number. Without `stop`, this is the stop, and the first number is 0.
    stop : number or integer Tensor, optional
        End of the range, excluded.
    step : number or integer Tensor
        Distance between neighbouring numbers.
    dtype : str
        Dtype of the result.

    Returns
    -------
    array
        Array with one axis, in the default library; a Tensor if an argument is a Tensor.

    Examples
    --------
    >>> arange(2, 6), arange(0.0, 1.0, 0.5, dtype="float32")
    (array([2, 3, 4, 5], dtype=int32), array([0. , 0.5], dtype=float32))
    """
    if stop is None:
        start, stop = 0, start
    bounds = (start, stop, step)
    if any(tape.is_tensor(bound) or isinstance(bound, tape.Length) for bound in bounds):
        xp = tape.namespace
    else:
        xp = array_namespace(*bounds)
        start, stop, step = (concrete_int(bound) if is_array(bound) else bound for bound in bounds)
    return xp.arange(start, stop, step, dtype=dtype_of(xp, dtype))
