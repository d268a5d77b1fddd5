"""Variables, placeholders and compiled functions as in Keras 1.0 on Theano."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import keras2
from nbm_xp.functions import creation, graphs, variables
from nbm_xp.functions._arguments import Array, Shape

__all__ = ["eye", "function", "ones", "ones_like", "placeholder", "shape", "variable", "zeros", "zeros_like"]


def variable(value: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Create a variable: a Tensor whose value is an array.

    Parameters
    ----------
    value : array, number or nested list
        Initial value.
    dtype : str
        Dtype of the variable, whatever the dtype of `value` and ``floatx``.
    name : str, optional
        Name in error messages and in saved weights.

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
    """Create an input of a recorded computation.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Lengths of the axes, None if unknown. The shapes of arrays are checked against the known lengths.
    ndim : int, optional
        Number of axes; used only without `shape`.
    dtype : str
        Dtype of the input.
    name : str, optional
        Name in error messages.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        If neither `shape` nor `ndim` is given.

    Examples
    --------
    >>> placeholder(ndim=2).dtype == "float32"
    True
    """
    return keras2.placeholder(shape, ndim, dtype, name=name)


def zeros(shape: Shape, dtype: Any = "float32", name: str | None = None) -> Any:
    """Create a variable of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the variable.
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
    """Create a variable of ones.

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
    """Create a variable whose value is the identity matrix.

    Parameters
    ----------
    size : int
        Number of rows and columns.
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
    """Return zeros with the shape and dtype of another array.

    Parameters
    ----------
    x : array or Tensor
        The other array.
    name : str, optional
        Name of a Tensor in error messages.

    Returns
    -------
    array or Tensor
        A Tensor if `x` is one.

    Examples
    --------
    >>> import numpy as np
    >>> zeros_like(np.asarray([3, 4]))
    array([0, 0])
    """
    return creation.zeros_like(x, name=name)


def ones_like(x: Array, name: str | None = None) -> Array:
    """Return ones with the shape and dtype of another array.

    Parameters
    ----------
    x, name
        As in `zeros_like`.

    Returns
    -------
    array or Tensor
        A Tensor if `x` is one.

    Examples
    --------
    >>> import numpy as np
    >>> ones_like(np.asarray([3, 4]))
    array([1, 1])
    """
    return creation.ones_like(x, name=name)


def shape(x: Array) -> Array:
    """Return the shape as a vector.

    Parameters
    ----------
    x : array or Tensor
        The array.

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
        Placeholders, and variables whose value the caller passes.
    outputs : list of Tensor
        Results of the function.
    updates : list of tuple
        Pairs of a variable and its new value; all are set after the outputs are computed. If a variable occurs several
        times, its last pair counts.
    **kwargs
        Options of ``theano.function`` that apply here: ``name``, ``givens`` and ``on_unused_input``; options of its
        compiler are ignored.

    Returns
    -------
    callable
        Takes a list of arrays, one for each input; returns a list of NumPy arrays, one for each output.

    Raises
    ------
    TypeError
        If `inputs` or `outputs` is not a list, or a keyword is unknown.

    Examples
    --------
    >>> x, total = placeholder(ndim=1), variable(0.0)
    >>> f = function([x], [x * 2.0], updates=[(total, total + 1.0)])
    >>> f([[1.0, 2.0]]), float(total)
    ([array([2., 4.], dtype=float32)], 1.0)
    """
    return graphs.NumpyFunction(inputs, outputs, updates, **kwargs)
