"""Variables, placeholders, sparse matrices and compiled functions as in Keras 2.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.functions import creation, graphs, joining, linear_algebra, sparse, variables
from nbm_xp.functions._arguments import Array
from nbm_xp.namespace import is_array, to_numpy

from .client import marked, scoped
from .settings import is_sparse, to_dense

__all__ = [
    "batch_get_value", "concatenate", "dot", "eval", "function", "gradients", "identity", "moving_average_update",
    "placeholder", "variable",
]  # fmt: skip


def variable(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Create a variable: a Tensor whose value is an array that can be read, set and updated.

    Parameters
    ----------
    value : array, Tensor, number, nested list or sparse matrix
        Initial value.
    dtype : str, optional
        Dtype of the variable, whatever the dtype of `value`. Defaults to ``floatx``.
    name : str, optional
        Name in messages and in saved weights.

    Returns
    -------
    Variable, or SparseTensor
        A sparse matrix stays sparse, and cannot be set.

    Examples
    --------
    >>> eval(variable([[1, 2]]))
    array([[1., 2.]], dtype=float32)
    """
    made: Any
    if sparse.coordinates(value) is not None:
        made = sparse.sparse_variable(value, dtype, scoped(name))
    else:
        made = creation.variable(value, dtype, scoped(name))
    return marked(made, tuple(map(int, made.shape)))


def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Create an input of a recorded computation.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Lengths of the axes, None if unknown. The shapes of arrays are checked against the known lengths.
    ndim : int, optional
        Number of axes; used only without `shape`.
    dtype : str, optional
        Dtype of the input. Defaults to ``floatx``.
    sparse : bool
        Whether the input is a sparse matrix, of SciPy or of the package sparse.
    name : str, optional
        Name in messages.

    Returns
    -------
    Tensor, or SparseTensor

    Raises
    ------
    ValueError
        If neither `shape` nor `ndim` is given.

    Examples
    --------
    >>> placeholder(shape=(None, 4, 5))._keras_shape
    (None, 4, 5)
    """
    made: Any
    if sparse:
        made = _sparse_placeholder(shape, ndim, dtype, name)
    else:
        made = creation.placeholder(shape, ndim, dtype, name=name, checked=True)
    return marked(made, variables.get_variable_shape(made))


_sparse_placeholder = sparse.sparse_placeholder


def identity(x: Any) -> Any:
    """Return a new Tensor with the same value; return an array itself.

    Parameters
    ----------
    x : Tensor or array
        The value.

    Returns
    -------
    Tensor or array

    Examples
    --------
    >>> x = variable(1.0)
    >>> identity(x) is x
    False
    """
    return tape.Tensor(x.node) if tape.is_tensor(x) else x


def eval(x: Any) -> Any:
    """Compute the value of a recorded computation.

    Parameters
    ----------
    x : Tensor, SparseTensor or array
        The value to compute.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ValueError
        If the value depends on a placeholder.

    Examples
    --------
    >>> eval(variable([1, 2]) * 2)
    array([2., 4.], dtype=float32)
    """
    value = variables.eval(to_dense(x))
    return to_numpy(value) if is_array(value) else value


def batch_get_value(ops: Sequence[tape.Variable]) -> list[Any]:
    """Return the values of several variables.

    Parameters
    ----------
    ops : list of Variable
        The variables.

    Returns
    -------
    list of numpy.ndarray
        Copies of the values.

    Examples
    --------
    >>> batch_get_value([variable(1), variable(2)])
    [array(1., dtype=float32), array(2., dtype=float32)]
    """
    return variables.batch_get_value(ops)


def moving_average_update(x: tape.Variable, value: Any, momentum: float) -> tuple[tape.Variable, Any]:
    """Return an update that moves a variable towards a value.

    Parameters
    ----------
    x : Variable
        The moving average.
    value : Tensor, array or number
        New observation.
    momentum : float
        Weight of the old average; the weight of `value` is rounded to float32, as in TensorFlow.

    Returns
    -------
    tuple
        The variable and its new value, for `function`.

    Examples
    --------
    >>> eval(moving_average_update(variable(1.0), 2.0, momentum=0.75)[1])
    array(1.25, dtype=float32)
    """
    return graphs.moving_average_update(x, value, momentum, precision="float32")


def function(inputs: Any, outputs: Any, updates: Any = None, **kwargs: Any) -> graphs.NumpyFunction:
    """Compile a recorded computation into a function of a list of arrays.

    Parameters
    ----------
    inputs : list of Tensor
        Placeholders.
    outputs : list of Tensor
        Results of the function.
    updates : list of pairs, optional
        Variables and their new values (`update` and similar functions return such pairs). All are computed from the old
        values and set together, after the outputs. If a variable occurs several times, its last pair counts.
    **kwargs
        ``name``, for error messages.

    Returns
    -------
    callable
        Takes a list of arrays, one for each input; returns a list of NumPy arrays, one for each output.

    Raises
    ------
    TypeError
        If `inputs` or `outputs` is not a list.
    ValueError
        If there is any other keyword.

    Examples
    --------
    >>> x = placeholder((None,))
    >>> function([x], [x + 1.0])([[1.0, 2.0]])
    [array([2., 3.], dtype=float32)]
    """
    name = kwargs.pop("name", "function")
    if kwargs:
        raise ValueError(f"function takes name and no further keywords, got {next(iter(kwargs))!r}")
    return graphs.NumpyFunction(inputs, outputs, updates, name)


def gradients(loss: Any, variables: Any) -> list[Any]:
    """Differentiate a recorded value, or the sum of its elements, with respect to variables.

    Parameters
    ----------
    loss : Tensor
        The value to differentiate.
    variables : list of Tensor
        Variables or other Tensors to differentiate with respect to.

    Returns
    -------
    list of Tensor
        The gradients; None where `loss` does not depend on the variable.

    Examples
    --------
    >>> x = variable(3.0)
    >>> eval(gradients(x * x, [x])[0])
    array(6., dtype=float32)
    """
    return graphs.gradients_or_none(loss, variables)


def dot(x: Any, y: Any) -> Any:
    """Sum products over the last axis of `x` and the second-to-last axis of `y`.

    Parameters
    ----------
    x : array, Tensor, SparseTensor or sparse matrix
        Left factor; may be a sparse matrix of SciPy or of the package sparse.
    y : array or Tensor
        Right factor; if it is a vector, the sum is over its only axis.

    Returns
    -------
    array or Tensor

    Examples
    --------
    >>> import numpy as np
    >>> dot(np.ones((2, 3)), np.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    if sparse.coordinates(x) is not None:
        x = sparse.sparse_variable(x, getattr(y, "dtype", None))
    return sparse.sparse_dot(x, to_dense(y)) if is_sparse(x) else linear_algebra.dot(x, to_dense(y))


def concatenate(tensors: Sequence[Array], axis: int = -1) -> Any:
    """Concatenate arrays along an axis.

    Parameters
    ----------
    tensors : list of array, Tensor or SparseTensor
        Arrays to concatenate.
    axis : int
        Axis to concatenate along.

    Returns
    -------
    array, Tensor or SparseTensor
        Sparse if all inputs are.

    Examples
    --------
    >>> import numpy as np
    >>> concatenate([np.zeros((1, 2)), np.ones((1, 1))])
    array([[0., 0., 1.]])
    """
    if any(map(is_sparse, tensors)):
        return sparse.sparse_concatenate(tensors, axis)
    return joining.concatenate(tensors, axis)
