"""Values, shapes and dtypes of arrays and variables; assignment to variables.

Values of variables are returned as copies in NumPy arrays; all other results stay in their library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, asarray, dtype_name, dtype_of, host_namespace, is_lazy
from nbm_xp.tape.lengths import is_size

from ._arguments import Array, as_array

__all__ = [
    "batch_get_value", "batch_set_value", "count_params", "dtype", "eval", "get_value", "get_variable_shape",
    "ndim", "set_value", "shape", "shape_vector",
]  # fmt: skip


def get_value(x: tape.Variable) -> Any:
    """Return the value of a variable.

    Parameters
    ----------
    x : Variable
        Variable.

    Returns
    -------
    numpy.ndarray
        A copy.

    Raises
    ------
    TypeError
        If `x` is not a variable.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> get_value(variable([1, 2]))
    array([1., 2.], dtype=float32)
    """
    return as_variable(x, "get_value").get_value()


def batch_get_value(xs: Iterable[tape.Variable]) -> list[Any]:
    """Return the values of several variables.

    Parameters
    ----------
    xs : iterable of Variable
        Variables.

    Returns
    -------
    list of numpy.ndarray
        Copies.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> batch_get_value([variable(1), variable(2)])
    [array(1., dtype=float32), array(2., dtype=float32)]
    """
    return [get_value(x) for x in xs]


def set_value(x: tape.Variable, value: Any) -> None:
    """Set the value of a variable.

    Parameters
    ----------
    x : Variable
        Variable.
    value : array, number, nested list, or anything that NumPy makes an array of
        New value, cast to the variable's dtype even if digits are lost. Its lengths may differ from the variable's, its
        number of axes may not. Datasets of h5py and data frames of pandas are converted by NumPy.

    Raises
    ------
    TypeError
        If `x` is not a variable, or `value` has another number of axes.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> x = variable([1, 2])
    >>> set_value(x, [3, 4, 5])
    >>> get_value(x)
    array([3., 4., 5.], dtype=float32)
    """
    as_variable(x, "set_value").set_value(value)


def batch_set_value(tuples: Iterable[tuple[tape.Variable, Any]], *, same_shapes: bool = False) -> None:
    """Set the values of several variables: all, or none if one value is invalid.

    Parameters
    ----------
    tuples : iterable of (Variable, value)
        Variables with their new values; see `set_value`.
    same_shapes : bool
        Whether to require values of the same shapes as their variables.

    Raises
    ------
    TypeError
        If one is not a variable, or a value has another number of axes.
    ValueError
        If `same_shapes` is true and a value has another shape.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> x, y = variable(1), variable(2)
    >>> batch_set_value([(x, 3), (y, 4)])
    >>> batch_get_value([x, y])
    [array(3., dtype=float32), array(4., dtype=float32)]
    """
    found = [(x, as_variable(x, "set_value").fitting(value, same_shape=same_shapes)) for x, value in tuples]
    for x, array in found:
        x.replace_value(array)


def as_variable(x: Any, name: str) -> tape.Variable:
    """Return `x` if it is a variable, else raise an error that names the calling function."""
    if not isinstance(x, tape.Variable):
        what = "a Tensor that is computed: eval gives its value" if tape.is_tensor(x) else f"{type(x).__name__}"
        raise TypeError(f"{name} takes a variable, got {what}")
    return x


def get_variable_shape(x: Array) -> tuple[int | None, ...]:
    """Return the shape as a tuple of Python integers.

    Parameters
    ----------
    x : Variable or array
        Variable, array or Tensor.

    Returns
    -------
    tuple of int
        Lengths, with None for unknown lengths of a Tensor.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> get_variable_shape(variable([[1, 2, 3]]))
    (1, 3)
    """
    return tuple(int(length) if isinstance(length, int) else None for length in x.shape)


def count_params(x: Array) -> int:
    """Return the number of elements.

    Parameters
    ----------
    x : Variable or array
        Variable, array or Tensor.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If a length of a Tensor is unknown.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> count_params(variable([[1, 2, 3]]))
    3
    """
    lengths = get_variable_shape(x)
    if None in lengths:
        raise ValueError(f"x must have a known shape to count its elements, got {lengths}")
    return math.prod(int(length) for length in lengths if length is not None)


def shape(x: Array) -> Any:
    """Return the shape, for use as an argument of other functions.

    Parameters
    ----------
    x : array
        Variable, array or Tensor.

    Returns
    -------
    tuple of int, or Tensor
        Tuple of the lengths of an array. For a Tensor, a recorded int64 vector, which `reshape` and similar functions
        accept.

    Examples
    --------
    >>> import numpy as np
    >>> shape(np.ones((2, 3)))
    (2, 3)
    """
    return shape_vector(x, "int64") if tape.is_tensor(x) else tuple(as_array(x).shape)


def shape_vector(x: Array, dtype: str) -> Array:
    """Return the shape as a vector.

    Parameters
    ----------
    x : array or Tensor
        Variable, array or Tensor.
    dtype : str
        Dtype of the vector.

    Returns
    -------
    array or Tensor
        Vector of the lengths; recorded for a Tensor.

    Examples
    --------
    >>> import numpy as np
    >>> shape_vector(np.ones((2, 3)), "int64")
    array([2, 3])
    """
    x = as_array(x)
    xp = array_namespace(x)
    if not tape.is_tensor(x) and is_lazy(xp) and all(length == length for length in x.shape):
        xp = host_namespace()  # known lengths need no computation
    kind = dtype_of(xp, dtype)
    if not tape.is_tensor(x):
        return xp.asarray(tuple(x.shape), dtype=kind)
    lengths = [xp.asarray(length, dtype=kind) for length in x.node.shape]
    return xp.stack(lengths) if lengths else xp.zeros((0,), dtype=kind)


def ndim(x: Array) -> int:
    """Return the number of axes.

    Parameters
    ----------
    x : array
        Variable, array or Tensor.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> ndim(np.ones((2, 3)))
    2
    """
    count: int = as_array(x).ndim
    return count


def dtype(x: Array) -> str:
    """Return the name of the dtype.

    Parameters
    ----------
    x : array
        Variable, array or Tensor.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> dtype(np.ones(3))
    'float64'
    """
    return dtype_name(as_array(x))


def eval(x: Any, *, shape_vectors: bool = False) -> Any:
    """Compute the values of recorded Tensors.

    Parameters
    ----------
    x : Tensor, array, number, or tuple or list of them
        Values to compute; Tensors in one list are computed together. A tuple of lengths gives a tuple of integers.
    shape_vectors : bool
        Whether to return a tuple of lengths as an int64 vector, a NumPy array, as for a recorded shape.

    Returns
    -------
    array
        In the library of the computation; a tuple or list for a tuple or list. Objects other than Tensors are returned
        unchanged.

    Raises
    ------
    ValueError
        If the value depends on a placeholder.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> x = variable([[1, 2, 3]])
    >>> eval(x * 2), eval(x.shape)
    (array([[2., 4., 6.]], dtype=float32), (1, 3))
    """
    if tape.is_tensor(x):
        return tape.evaluate(x)
    if isinstance(x, tape.Length):
        return int(x)
    if shape_vectors and isinstance(x, tuple) and all(map(is_size, x)):
        return asarray(tuple(map(int, x)), host_namespace(), "int64")
    if isinstance(x, (tuple, list)):
        values = iter(tape.evaluate([item for item in x if tape.is_tensor(item)]))
        items = [next(values) if tape.is_tensor(item) else eval(item) for item in x]
        return tuple(items) if isinstance(x, tuple) else items
    return x
