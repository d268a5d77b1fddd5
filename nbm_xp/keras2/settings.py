"""Settings by Keras 2.0's names, and properties of Tensors: shape, dtype, and whether Keras created them."""

from __future__ import annotations

from typing import Any

from nbm_xp import namespace, tape
from nbm_xp.functions import shaping, variables
from nbm_xp.functions.sparse import SparseTensor
from nbm_xp.namespace import (
    asarray,
    configuration,
    floatx,
    host_namespace,
    image_data_format,
    is_array,
    set_image_data_format,
)

__all__ = [
    "cast_to_floatx", "dtype", "epsilon", "image_dim_ordering", "int_shape", "is_keras_tensor", "is_sparse",
    "manual_variable_initialization", "ndim", "set_image_dim_ordering", "shape", "to_dense",
]  # fmt: skip

_EPSILON = 1e-7
_ORDERINGS = {"tf": "channels_last", "th": "channels_first"}


def epsilon() -> float:
    """Return the fuzz factor: the configured value, by default 1e-7.

    Returns
    -------
    float

    Examples
    --------
    >>> epsilon()
    1e-07
    """
    return _EPSILON if configuration()["epsilon"][1] == "default" else namespace.epsilon()


def cast_to_floatx(x: Any) -> Any:
    """Convert to the default floating dtype, ``floatx``.

    Parameters
    ----------
    x : array, number or nested list
        Values to convert.

    Returns
    -------
    array
        Of the library of `x`; a NumPy array if `x` is not an array.

    Examples
    --------
    >>> cast_to_floatx([1, 2.5])
    array([1. , 2.5], dtype=float32)
    """
    if tape.is_tensor(x) or is_array(x):
        return shaping.cast_to_floatx(x)
    return asarray(x, host_namespace(), dtype=floatx())


def image_dim_ordering() -> str:
    """Return the image layout by its older name.

    Returns
    -------
    str
        ``'tf'`` for channels last, ``'th'`` for channels first.

    Examples
    --------
    >>> image_dim_ordering()
    'tf'
    """
    return next(name for name, layout in _ORDERINGS.items() if layout == image_data_format())


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set the image layout by its older name.

    Parameters
    ----------
    dim_ordering : {"tf", "th"}
        ``'tf'`` for channels last, ``'th'`` for channels first.

    Raises
    ------
    ValueError
        If `dim_ordering` is invalid.

    Examples
    --------
    >>> set_image_dim_ordering("tf")
    """
    if dim_ordering not in _ORDERINGS:
        raise ValueError(f"dim_ordering must be 'tf' or 'th', got {dim_ordering!r}")
    set_image_data_format(_ORDERINGS[dim_ordering])


def manual_variable_initialization(value: bool) -> None:
    """Do nothing: variables have their value from creation.

    Parameters
    ----------
    value : bool
        In Keras, whether the user initialises variables. Ignored.

    Examples
    --------
    >>> manual_variable_initialization(True)
    """


def is_keras_tensor(x: Any) -> bool:
    """Return whether a Tensor comes from Keras: from `variable`, `placeholder` or a layer.

    Parameters
    ----------
    x : Tensor
        The array.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If `x` is not a Tensor.

    Examples
    --------
    >>> from nbm_xp.keras2 import variable
    >>> is_keras_tensor(variable(1.0)), is_keras_tensor(variable(1.0) + 1.0)
    (True, False)
    """
    if not tape.is_tensor(x) and not is_sparse(x):
        raise ValueError(f"x must be a Tensor, got {type(x).__name__}")
    return is_sparse(x) or hasattr(x, "_keras_shape") or hasattr(x, "_keras_history")


def is_sparse(tensor: Any) -> bool:
    """Return whether a Tensor is a sparse matrix.

    Parameters
    ----------
    tensor : Tensor or SparseTensor
        The matrix.

    Returns
    -------
    bool

    Examples
    --------
    >>> from nbm_xp.keras2 import placeholder
    >>> is_sparse(placeholder((2, 2), sparse=True)), is_sparse(placeholder((2, 2)))
    (True, False)
    """
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """Convert a sparse matrix to a dense one; return anything else unchanged.

    Parameters
    ----------
    tensor : SparseTensor, Tensor or array
        The matrix.

    Returns
    -------
    Tensor or array

    Examples
    --------
    >>> from nbm_xp.keras2 import placeholder
    >>> is_sparse(to_dense(placeholder((2, 2), sparse=True)))
    False
    """
    return tensor.to_dense() if is_sparse(tensor) else tensor


def shape(x: Any) -> Any:
    """Return the shape as a vector.

    Parameters
    ----------
    x : array, Tensor or SparseTensor
        The array.

    Returns
    -------
    array of int32, or Tensor
        A Tensor if `x` is one.

    Examples
    --------
    >>> import numpy as np
    >>> shape(np.ones((2, 3)))
    array([2, 3], dtype=int32)
    """
    return variables.shape_vector(to_dense(x), "int32")


def ndim(x: Any) -> int:
    """Return the number of axes.

    Parameters
    ----------
    x : array, Tensor or SparseTensor
        The array.

    Returns
    -------
    int

    Examples
    --------
    >>> from nbm_xp.keras2 import placeholder
    >>> ndim(placeholder((2, None), sparse=True))
    2
    """
    count: int = x.ndim if is_sparse(x) else variables.ndim(x)
    return count


def dtype(x: Any) -> str:
    """Return the name of the dtype.

    Parameters
    ----------
    x : array, Tensor or SparseTensor
        The array.

    Returns
    -------
    str

    Examples
    --------
    >>> from nbm_xp.keras2 import placeholder
    >>> dtype(placeholder((2, None), sparse=True))
    'float32'
    """
    return variables.dtype(x.values if is_sparse(x) else x)


def int_shape(x: Any) -> tuple[int | None, ...]:
    """Return the shape as a tuple of integers.

    Parameters
    ----------
    x : Tensor or array
        The array.

    Returns
    -------
    tuple of int
        None for lengths that are unknown before the graph runs.

    Examples
    --------
    >>> from nbm_xp.keras2 import placeholder
    >>> int_shape(placeholder((2, None)))
    (2, None)
    """
    declared = getattr(x, "_keras_shape", None)
    return variables.get_variable_shape(x) if declared is None else declared
