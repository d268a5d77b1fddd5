"""Variables, placeholders, phases, loops and compiled functions as Keras 1.0 on Theano means them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp import keras2
from nbm_xp.functions import creation, graphs, phases, recurrence, variables
from nbm_xp.functions._arguments import Array, Shape

__all__ = [
    "eye", "function", "gradients", "in_test_phase", "in_train_phase", "learning_phase", "ones", "ones_like",
    "placeholder", "rnn", "shape", "switch", "variable", "zeros", "zeros_like",
]  # fmt: skip


def variable(value: Any, dtype: Any = "float32", name: str | None = None) -> Any:
    """Make a Tensor that holds an array.

    Parameters
    ----------
    value : array, number or nested list
        What it holds at first.
    dtype : str
        Its dtype, whatever that of `value`; float32 if not given, whatever ``floatx`` is.
    name : str, optional
        What it is called in error messages and saved weights.

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
        Its lengths; None for those not known. Arrays are held to the others.
    ndim : int, optional
        How many axes it has; only looked at where there is no `shape`.
    dtype : str
        Its dtype, float32 if not given.
    name : str, optional
        What it is called in error messages.

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
    """Make a variable that holds zeros.

    Parameters
    ----------
    shape : int or tuple of int
        How many, along each axis.
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
    """Make a variable that holds ones.

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
    """Make a variable that holds the identity matrix.

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
        What a Tensor is called in error messages.

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


def learning_phase() -> Any:
    """The input that says whether a model is trained, 1, or tested, 0.

    Returns
    -------
    Tensor
        Of dtype uint8, without axes.

    Examples
    --------
    >>> f = function([learning_phase()], [in_train_phase(variable(1.0), variable(2.0))])
    >>> f([0])
    [array(2., dtype=float32)]
    """
    return phases.learning_phase(dtype="uint8")


def in_train_phase(x: Array, alt: Array) -> Any:
    """One value in training, another in testing.

    Parameters
    ----------
    x : array, Tensor or callable
        The value in training; a callable makes it.
    alt : array, Tensor or callable
        The value in testing; both shapes are broadcast.

    Returns
    -------
    Tensor
        With an attribute ``_uses_learning_phase``: a function of it needs `learning_phase` as an input.

    Examples
    --------
    >>> in_train_phase(variable(1.0), variable(2.0))._uses_learning_phase
    True
    """
    return phases.in_train_phase(x, alt, learning_phase(), broadcast=True)


def in_test_phase(x: Array, alt: Array) -> Any:
    """One value in testing, another in training.

    Parameters
    ----------
    x : array, Tensor or callable
        The value in testing; a callable makes it.
    alt : array, Tensor or callable
        The value in training; both shapes are broadcast.

    Returns
    -------
    Tensor
        See `in_train_phase`.

    Examples
    --------
    >>> f = function([learning_phase()], [in_test_phase(variable(1.0), variable(2.0))])
    >>> f([0])
    [array(1., dtype=float32)]
    """
    return phases.in_test_phase(x, alt, learning_phase(), broadcast=True)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two values, as a condition says.

    Parameters
    ----------
    condition : array, Tensor or number
        Anything but 0 is true. It may have axes: then each element is taken by itself.
    then_expression, else_expression : array, Tensor, number or callable
        The values; a callable makes one. All shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where no shape differs, only the side taken is computed.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([-1.0, 2.0])
    >>> switch(np.asarray(1), x, 0.0), switch(x > 0, x, 0.0)
    (array([-1.,  2.]), array([0., 2.]))
    """
    return phases.switch(condition, then_expression, else_expression, broadcast=True)


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


def gradients(loss: Any, variables: Any) -> Any:
    """Differentiate a number.

    Parameters
    ----------
    loss : Tensor
        Without axes.
    variables : Tensor or list of Tensor
        What it depends on.

    Returns
    -------
    Tensor or list of Tensor
        Of a wider dtype than the variable where the loss was computed in one.

    Raises
    ------
    TypeError
        If `loss` has axes.
    ValueError
        If it does not depend on one of `variables`.

    Examples
    --------
    >>> x = variable(3.0)
    >>> [float(g) for g in gradients(x * x, [x])]
    [6.0]
    """
    return graphs.gradients(loss, variables, keep_dtype=False)


def rnn(
    step_function: Callable[[Any, list[Any]], tuple[Any, Sequence[Any]]],
    inputs: Array,
    initial_states: Sequence[Array],
    go_backwards: bool = False,
    mask: Array | None = None,
    constants: Sequence[Array] | None = None,
    unroll: bool = False,
    input_length: int | None = None,
) -> tuple[Any, Any, list[Any]]:
    """Take a step for each moment of sequences.

    Parameters
    ----------
    step_function : callable
        Gets the samples of a moment, (samples, ...), and a list of the states and behind them the constants; returns
        its output and a list of the new states.
    inputs : array or Tensor
        Of shape (samples, moments, ...).
    initial_states : list of array or Tensor
        What the first step gets; may be empty.
    go_backwards : bool
        Whether to begin with the last moment. The outputs stay in the order of the steps.
    mask : array or Tensor, optional
        Of shape (samples, moments) or (samples, moments, 1). Where it is 0, the states stay, and the output is that of
        the step before, 0 before the first.
    constants : list of array or Tensor, optional
        What every step gets alike.
    unroll : bool
        Whether each step is recorded by itself.
    input_length : int, optional
        How many steps to unroll; by default as many as `inputs` is known to have moments.

    Returns
    -------
    last_output : array or Tensor
        Of shape (samples, ...).
    outputs : array or Tensor
        Of shape (samples, steps, ...).
    new_states : list of array or Tensor
        The states after the last step.

    Raises
    ------
    ValueError
        If `inputs` has fewer than three axes, `mask` does not fit, a step returns another number of states, or the
        number of steps to unroll is not known or too large.

    Examples
    --------
    >>> import numpy as np
    >>> x, start = np.asarray([[[1.0], [2.0], [3.0]]]), np.zeros((1, 1))
    >>> last, outputs, states = rnn(lambda x, states: (x + states[0], [x + states[0]]), x, [start], mask=x[:, :, 0] > 1)
    >>> outputs.reshape(-1)
    array([0., 2., 5.])
    """
    return recurrence.rnn(
        step_function, inputs, initial_states, go_backwards, mask, constants, unroll, input_length,
        masked_output="previous", shortened=True,
    )  # fmt: skip
