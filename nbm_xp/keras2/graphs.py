"""Variables, placeholders, sparse matrices and compiled functions as Keras 2.0 means them."""

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
    """Make a variable: a Tensor whose value is an array that can be read, set and updated.

    Parameters
    ----------
    value : array, Tensor, number, nested list or sparse matrix
        Its first value.
    dtype : str, optional
        Its dtype, ``floatx`` by default, whatever `value` has.
    name : str, optional
        A name, for people and for saved weights.

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
    """An input of a recorded computation, to be given an array when it runs.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Its lengths, None for unknown ones; arrays are checked against the others.
    ndim : int, optional
        The number of its axes, where no `shape` is given.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    sparse : bool
        Whether it is to be given a sparse matrix, SciPy's or one of the package sparse.
    name : str, optional
        A name for people.

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
    """A Tensor with the same content; of an array, itself.

    Parameters
    ----------
    x : Tensor or array
        The content.

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
    """The value of what was recorded.

    Parameters
    ----------
    x : Tensor, SparseTensor or array
        What to compute.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ValueError
        If a placeholder is needed.

    Examples
    --------
    >>> eval(variable([1, 2]) * 2)
    array([2., 4.], dtype=float32)
    """
    value = variables.eval(to_dense(x))
    return to_numpy(value) if is_array(value) else value


def batch_get_value(ops: Sequence[tape.Variable]) -> list[Any]:
    """The values of several variables.

    Parameters
    ----------
    ops : list of Variable
        The variables.

    Returns
    -------
    list of numpy.ndarray
        Copies.

    Examples
    --------
    >>> batch_get_value([variable(1), variable(2)])
    [array(1., dtype=float32), array(2., dtype=float32)]
    """
    return variables.batch_get_value(ops)


def moving_average_update(x: tape.Variable, value: Any, momentum: float) -> tuple[tape.Variable, Any]:
    """An update that moves a variable some way towards a value.

    Parameters
    ----------
    x : Variable
        The average.
    value : Tensor, array or number
        What is averaged.
    momentum : float
        The weight of the old average; that of `value` is rounded to float32, as in TensorFlow.

    Returns
    -------
    tuple
        The variable and its new value, to be given to `function`.

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
        What it returns.
    updates : list of pairs, optional
        Variables and their new values (`update` and its like make such pairs). All are computed from the old values
        and set together, after the outputs; of several for one variable, the last one counts.
    **kwargs
        ``name``, a name for error messages.

    Returns
    -------
    callable
        ``f(list of arrays)`` gives a list of NumPy arrays.

    Raises
    ------
    TypeError
        If `inputs` or `outputs` is no list.
    ValueError
        For any other keyword.

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
    """Differentiate a recorded value, or the sum of its elements.

    Parameters
    ----------
    loss : Tensor
        What to differentiate.
    variables : list of Tensor
        In what.

    Returns
    -------
    list of Tensor
        None in place of a gradient where `loss` does not depend on the variable.

    Examples
    --------
    >>> x = variable(3.0)
    >>> eval(gradients(x * x, [x])[0])
    array(6., dtype=float32)
    """
    return graphs.gradients_or_none(loss, variables)


def dot(x: Any, y: Any) -> Any:
    """Sum of products over the last axis of one array and the last but one of another.

    Parameters
    ----------
    x : array, Tensor, SparseTensor or sparse matrix
        The left factor; SciPy's sparse matrices, or those of the package sparse, are taken as they are.
    y : array or Tensor
        The right factor; of a vector, its only axis is summed over.

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
    """Join arrays along an axis.

    Parameters
    ----------
    tensors : list of array, Tensor or SparseTensor
        What to join.
    axis : int
        The axis along which.

    Returns
    -------
    array, Tensor or SparseTensor
        Sparse where all are.

    Examples
    --------
    >>> import numpy as np
    >>> concatenate([np.zeros((1, 2)), np.ones((1, 1))])
    array([[0., 0., 1.]])
    """
    if any(map(is_sparse, tensors)):
        return sparse.sparse_concatenate(tensors, axis)
    return joining.concatenate(tensors, axis)
