"""Variables, placeholders and compiled functions as Keras 1.0 on Theano means them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import keras2
from nbm_xp.functions import creation, graphs, variables
from nbm_xp.functions._arguments import Array, Shape

__all__ = ["eye", "function", "ones", "ones_like", "placeholder", "shape", "variable", "zeros", "zeros_like"]


def variable(value: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Make a variable: a Tensor whose value is an array.

    Parameters
    ----------
    value : array, number or nested list
        The initial value.
    dtype : str
        Its dtype, whatever that of `value`; float32 if not given, whatever ``floatx`` is.
    name : str, optional
        The name in error messages and saved weights.

    Returns
    -------
    Variable

    Examples
    --------
    >>> variable([1, 2], dtype="float64").get_value()
    array([1., 2.])
    """
    return keras2.variable(value, dtype, name)


def placeholder(
    shape: Sequence[int | None] | None = None, ndim: int | None = None, dtype: Any = "float32", name: str | None = None
) -> Any:
    """Make an input of a recorded computation.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Its lengths; None for those not known. Arrays are checked against the others.
    ndim : int, optional
        The number of axes; used only without `shape`.
    dtype : str
        Its dtype, float32 if not given.
    name : str, optional
        The name in error messages.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If there is neither `shape` nor `ndim`.

    Examples
    --------
    >>> placeholder(ndim=2).dtype == "float32"
    True
    """
    return keras2.placeholder(shape, ndim, dtype, name=name)


def zeros(shape: Shape, dtype: Any = "float32", name: str | None = None) -> Any:
    """Make a variable of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype, name
        As in `variable`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> zeros((1, 2)).get_value()
    array([[0., 0.]], dtype=float32)
    """
    return keras2.zeros(shape, dtype, name)


def ones(shape: Shape, dtype: Any = "float32", name: str | None = None) -> Any:
    """Make a variable of ones.

    Parameters
    ----------
    shape, dtype, name
        As in `zeros`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> ones((1, 2)).get_value()
    array([[1., 1.]], dtype=float32)
    """
    return keras2.ones(shape, dtype, name)


def eye(size: int, dtype: Any = "float32", name: str | None = None) -> Any:
    """Make a variable whose value is the identity matrix.

    Parameters
    ----------
    size : int
        How many rows and columns.
    dtype, name
        As in `variable`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> eye(2, dtype="int32").get_value().tolist()
    [[1, 0], [0, 1]]
    """
    return keras2.eye(size, dtype, name)


def zeros_like(x: Array, name: str | None = None) -> Array:
    """Zeros of the shape and dtype of another array.

    Parameters
    ----------
    x : array or Tensor
        The other.
    name : str, optional
        The name of a Tensor in error messages.

    Returns
    -------
    array or Tensor
        Recorded where `x` is.

    Examples
    --------
    >>> import numpy as np
    >>> zeros_like(np.asarray([3, 4]))
    array([0, 0])
    """
    return creation.zeros_like(x, name=name)


def ones_like(x: Array, name: str | None = None) -> Array:
    """Ones of the shape and dtype of another array.

    Parameters
    ----------
    x, name
        As in `zeros_like`.

    Returns
    -------
    array or Tensor
        Recorded where `x` is.

    Examples
    --------
    >>> import numpy as np
    >>> ones_like(np.asarray([3, 4]))
    array([1, 1])
    """
    return creation.ones_like(x, name=name)


def shape(x: Array) -> Array:
    """The shape as a vector to compute with.

    Parameters
    ----------
    x : array or Tensor
        Whose shape.

    Returns
    -------
    array of int64, or Tensor

    Examples
    --------
    >>> import numpy as np
    >>> shape(np.ones((2, 3))) * 2
    array([4, 6])
    """
    return variables.shape_vector(x, "int64")


def function(inputs: Any, outputs: Any, updates: Any = (), **kwargs: Any) -> graphs.NumpyFunction:
    """Compile a recorded computation.

    Parameters
    ----------
    inputs : list of Tensor
        Placeholders, and variables whose value the caller gives.
    outputs : list of Tensor
        What the function returns.
    updates : list of tuple
        Pairs of a variable and its new value; all are set after the outputs are computed. Of several for one variable,
        the last counts.
    **kwargs
        What ``theano.function`` takes besides, as far as it has a meaning here: ``name``, ``givens`` and
        ``on_unused_input``; what tunes its compiler is passed over.

    Returns
    -------
    callable
        Takes a list of arrays, one for each input, and returns a list of NumPy arrays, one for each output.

    Raises
    ------
    TypeError
        If `inputs` or `outputs` is no list, or a keyword is none of these.

    Examples
    --------
    >>> x, total = placeholder(ndim=1), variable(0.0)
    >>> f = function([x], [x * 2.0], updates=[(total, total + 1.0)])
    >>> f([[1.0, 2.0]]), float(total)
    ([array([2., 4.], dtype=float32)], 1.0)
    """
    return graphs.NumpyFunction(inputs, outputs, updates, **kwargs)
