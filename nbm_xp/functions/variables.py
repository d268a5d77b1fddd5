"""Values, shapes and dtypes of arrays and variables; and what sets a variable.

Values of variables come out as NumPy arrays, copied; everything else stays in the library it is of.
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
    """The value of a variable.

    Parameters
    ----------
    x : Variable
        The variable.

    Returns
    -------
    numpy.ndarray
        A copy.

    Raises
    ------
    TypeError
        If `x` is no variable.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> get_value(variable([1, 2]))
    array([1., 2.], dtype=float32)
    """
    return as_variable(x, "get_value").get_value()


def batch_get_value(xs: Iterable[tape.Variable]) -> list[Any]:
    """The values of several variables.

    Parameters
    ----------
    xs : iterable of Variable
        The variables.

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
    """Give a variable another value.

    Parameters
    ----------
    x : Variable
        The variable.
    value : array, number, nested list, or anything that NumPy makes an array of
        Cast to the variable's dtype, whatever is lost. The lengths of its axes may be others, their number not.
        Datasets of h5py and frames of pandas are taken as NumPy takes them.

    Raises
    ------
    TypeError
        If `x` is no variable, or `value` has another number of axes.

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
    """Give several variables other values: all, or none where one does not fit.

    Parameters
    ----------
    tuples : iterable of (Variable, value)
        Each variable with its new value, as `set_value` takes it.
    same_shapes : bool
        Whether values must have the shapes of their variables.

    Raises
    ------
    TypeError
        If one is no variable, or a value has another number of axes.
    ValueError
        If a value has another shape, with `same_shapes`.

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
    """The variable that `x` is, or an error in the name of a function."""
    if not isinstance(x, tape.Variable):
        what = "a Tensor that is computed: eval gives its value" if tape.is_tensor(x) else f"{type(x).__name__}"
        raise TypeError(f"{name} takes a variable, got {what}")
    return x


def get_variable_shape(x: Array) -> tuple[int | None, ...]:
    """The shape as plain numbers.

    Parameters
    ----------
    x : Variable or array
        Of what.

    Returns
    -------
    tuple of int
        With None for lengths of a Tensor that are not known yet.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> get_variable_shape(variable([[1, 2, 3]]))
    (1, 3)
    """
    return tuple(int(length) if isinstance(length, int) else None for length in x.shape)


def count_params(x: Array) -> int:
    """The number of elements.

    Parameters
    ----------
    x : Variable or array
        Of what.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If a length of a Tensor is not known yet.

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
    """The shape, to be used as one.

    Parameters
    ----------
    x : array
        Of what.

    Returns
    -------
    tuple of int, or Tensor
        Of an array, its lengths. Of a Tensor, an int64 vector, which follows what the Tensor becomes; `reshape` and
        its like take it.

    Examples
    --------
    >>> import numpy as np
    >>> shape(np.ones((2, 3)))
    (2, 3)
    """
    return shape_vector(x, "int64") if tape.is_tensor(x) else tuple(as_array(x).shape)


def shape_vector(x: Array, dtype: str) -> Array:
    """The shape as a vector.

    Parameters
    ----------
    x : array or Tensor
        Of what.
    dtype : str
        The dtype of the vector.

    Returns
    -------
    array or Tensor
        With one axis; of a Tensor, it follows what the Tensor becomes.

    Examples
    --------
    >>> import numpy as np
    >>> shape_vector(np.ones((2, 3)), "int64")
    array([2, 3])
    """
    x = as_array(x)
    xp = array_namespace(x)
    if not tape.is_tensor(x) and is_lazy(xp) and all(length == length for length in x.shape):
        xp = host_namespace()  # what is known need not be computed
    kind = dtype_of(xp, dtype)
    if not tape.is_tensor(x):
        return xp.asarray(tuple(x.shape), dtype=kind)
    lengths = [xp.asarray(length, dtype=kind) for length in x.node.shape]
    return xp.stack(lengths) if lengths else xp.zeros((0,), dtype=kind)


def ndim(x: Array) -> int:
    """The number of axes.

    Parameters
    ----------
    x : array
        Of what.

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
    """The dtype by name.

    Parameters
    ----------
    x : array
        Of what.

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
    """The value of what was recorded.

    Parameters
    ----------
    x : Tensor, array, number, or tuple or list of them
        What to compute; Tensors in one list are computed together. Shapes of variables are tuples of numbers.
    shape_vectors : bool
        Whether a tuple of lengths comes out as a vector of int64, a NumPy array: so it does where shapes are recorded.

    Returns
    -------
    array
        In the library that it was computed in; a tuple or list for a tuple or list. What is no Tensor, as it is.

    Raises
    ------
    ValueError
        If a placeholder is needed.

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
