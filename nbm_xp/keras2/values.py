"""Variables as Keras 2.0 makes and sets them: with what its layers look for, and of a shape that stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbm_xp import tape
from nbm_xp.functions import creation, variables
from nbm_xp.functions._arguments import Shape

from .client import scoped

__all__ = ["batch_set_value", "eye", "marked", "ones", "set_value", "zeros"]


def marked(tensor: Any, shape: tuple[int | None, ...]) -> Any:
    """A Tensor with what Keras's layers look for."""
    tensor._keras_shape = shape
    tensor._uses_learning_phase = False
    return tensor


def _own(made: Any) -> Any:
    return marked(made, variables.get_variable_shape(made)) if tape.is_tensor(made) else made


def zeros(shape: Shape, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros.

    Parameters
    ----------
    shape : tuple of int
        Its shape. With an unknown length of a Tensor in it, the result is a Tensor instead.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.

    Returns
    -------
    Variable

    Examples
    --------
    >>> zeros((2,)).get_value()
    array([0., 0.], dtype=float32)
    """
    return _own(creation.zeros(shape, dtype, scoped(name)))


def ones(shape: Shape, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones.

    Parameters
    ----------
    shape : tuple of int
        Its shape. With an unknown length of a Tensor in it, the result is a Tensor instead.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.

    Returns
    -------
    Variable

    Examples
    --------
    >>> ones((2,)).get_value()
    array([1., 1.], dtype=float32)
    """
    return _own(creation.ones(shape, dtype, scoped(name)))


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """A variable with an identity matrix.

    Parameters
    ----------
    size : int
        The number of rows and columns.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.

    Returns
    -------
    Variable

    Examples
    --------
    >>> eye(2).get_value()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _own(creation.eye(size, dtype, scoped(name)))


def set_value(x: tape.Variable, value: Any) -> None:
    """Give a variable another value of the same shape.

    Parameters
    ----------
    x : Variable
        The variable.
    value : array, number, nested list, or anything that NumPy makes an array of
        Cast to the variable's dtype. Datasets of h5py and frames of pandas are taken as NumPy takes them.

    Raises
    ------
    TypeError
        If `x` is no variable.
    ValueError
        If `value` has another shape.

    Examples
    --------
    >>> x = zeros((2,))
    >>> set_value(x, [1.0, 2.0])
    >>> x.get_value()
    array([1., 2.], dtype=float32)
    """
    batch_set_value([(x, value)])


def batch_set_value(tuples: Iterable[tuple[tape.Variable, Any]]) -> None:
    """Give several variables other values of the same shapes: all, or none where one does not fit.

    Parameters
    ----------
    tuples : list of (Variable, value)
        Each variable with its new value, as `set_value` takes it.

    Raises
    ------
    TypeError
        If one is no variable.
    ValueError
        If a value has another shape.

    Examples
    --------
    >>> x, y = zeros(()), zeros(())
    >>> batch_set_value([(x, 3), (y, 4)])
    >>> float(x), float(y)
    (3.0, 4.0)
    """
    variables.batch_set_value(tuples, same_shapes=True)
