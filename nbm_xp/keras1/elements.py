"""Elementwise extremes, rounding, logic, learning phases, branches and loops as in Keras 1.0 on Theano.

Tied elements each get the whole gradient, truth values are numbers, branches broadcast, masked steps repeat outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.functions import comparison, elementwise, extremes, phases, recurrence, shaping
from nbm_xp.functions._arguments import Array, Axis

__all__ = [
    "any", "expand_dims", "in_test_phase", "in_train_phase", "learning_phase", "maximum", "minimum", "rnn", "round",
    "switch",
]  # fmt: skip


def maximum(x: Array, y: Array) -> Array:
    """Return the elementwise maximum of two arrays.

    Parameters
    ----------
    x, y : array, Tensor or number
        Arrays whose shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where both are equal, each gets the whole gradient.

    Examples
    --------
    >>> import numpy as np
    >>> maximum(np.asarray([-1.0, 2.0]), np.asarray([0.5, 0.5]))
    array([0.5, 2. ])
    """
    return comparison.maximum(x, y, ties="whole")


def minimum(x: Array, y: Array) -> Array:
    """Return the elementwise minimum of two arrays.

    Parameters
    ----------
    x, y : array, Tensor or number
        Arrays whose shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where both are equal, each gets the whole gradient.

    Examples
    --------
    >>> import numpy as np
    >>> minimum(np.asarray([-1.0, 2.0]), np.asarray([0.5, 0.5]))
    array([-1. ,  0.5])
    """
    return comparison.minimum(x, y, ties="whole")


def round(x: Array) -> Array:
    """Round to the nearest integer, halves away from 0.

    Parameters
    ----------
    x : array or Tensor
        Of any dtype, which the result keeps.

    Returns
    -------
    array or Tensor
        The gradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> round(np.asarray([-1.5, 0.5, 2.4]))
    array([-2.,  1.,  2.])
    """
    return elementwise.round_half_away(x)


def any(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether any element is nonzero.

    Parameters
    ----------
    x, axis, keepdims
        As in `max`; `x` may be empty.

    Returns
    -------
    array of uint8, or Tensor
        1 where there is a nonzero element, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> any(np.asarray([[0.0, 2.0], [0.0, 0.0]]), axis=1)
    array([1, 0], dtype=uint8)
    """
    return shaping.cast(extremes.any(x, axis, keepdims), "uint8")


def expand_dims(x: Array, dim: int = -1) -> Array:
    """Insert an axis of length 1.

    Parameters
    ----------
    x : array or Tensor
        Array with n axes.
    dim : int
        Position of the new axis: from 0 to n, or from -1 (last) to -n; -n-1 is -1 again, and so on.

    Returns
    -------
    array or Tensor
        With n + 1 axes.

    Raises
    ------
    IndexError
        If `dim` is greater than n.

    Examples
    --------
    >>> import numpy as np
    >>> expand_dims(np.ones((2, 3)), dim=1).shape
    (2, 1, 3)
    """
    return shaping.expand_dims(x, dim, cyclic=True)


def learning_phase() -> Any:
    """Return the learning phase, an input: 1 in training, 0 in testing.

    Returns
    -------
    Tensor
        Of dtype uint8, without axes.

    Examples
    --------
    >>> from nbm_xp.keras1 import function, variable
    >>> f = function([learning_phase()], [in_train_phase(variable(1.0), variable(2.0))])
    >>> f([0])
    [array(2., dtype=float32)]
    """
    return phases.learning_phase(dtype="uint8")


def in_train_phase(x: Array, alt: Array) -> Any:
    """Select one value in training and another in testing.

    Parameters
    ----------
    x : array, Tensor or callable
        Value in training, or a callable that returns it.
    alt : array, Tensor or callable
        Value in testing, or a callable that returns it. Both shapes are broadcast.

    Returns
    -------
    Tensor
        With the attribute ``_uses_learning_phase``: a function of it needs `learning_phase` as an input.

    Examples
    --------
    >>> from nbm_xp.keras1 import variable
    >>> in_train_phase(variable(1.0), variable(2.0))._uses_learning_phase
    True
    """
    return phases.in_train_phase(x, alt, learning_phase(), broadcast=True)


def in_test_phase(x: Array, alt: Array) -> Any:
    """Select one value in testing and another in training.

    Parameters
    ----------
    x : array, Tensor or callable
        Value in testing, or a callable that returns it.
    alt : array, Tensor or callable
        Value in training, or a callable that returns it. Both shapes are broadcast.

    Returns
    -------
    Tensor
        See `in_train_phase`.

    Examples
    --------
    >>> from nbm_xp.keras1 import function, variable
    >>> f = function([learning_phase()], [in_test_phase(variable(1.0), variable(2.0))])
    >>> f([0])
    [array(1., dtype=float32)]
    """
    return phases.in_test_phase(x, alt, learning_phase(), broadcast=True)


def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Select one of two values by a condition.

    Parameters
    ----------
    condition : array, Tensor or number
        Nonzero is true. If it has axes, the selection is elementwise.
    then_expression, else_expression : array, Tensor, number or callable
        The values, or callables that return them. All shapes are broadcast.

    Returns
    -------
    array or Tensor
        If all shapes are equal, only the selected branch is computed.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([-1.0, 2.0])
    >>> switch(np.asarray(1), x, 0.0), switch(x > 0, x, 0.0)
    (array([-1.,  2.]), array([0., 2.]))
    """
    return phases.switch(condition, then_expression, else_expression, broadcast=True)


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
    """Apply a step function to each time step of sequences.

    Parameters
    ----------
    step_function : callable
        Called with the inputs of one time step, of shape (samples, ...), and a list of the states followed by the
        constants; returns its output and a list of the new states.
    inputs : array or Tensor
        Of shape (samples, steps, ...).
    initial_states : list of array or Tensor
        States passed to the first step; may be empty.
    go_backwards : bool
        Whether to begin with the last time step. The outputs are in the order of computation.
    mask : array or Tensor, optional
        Of shape (samples, steps) or (samples, steps, 1). Where it is 0, the states are unchanged and the output repeats
        the output of the previous step, which is 0 before the first.
    constants : list of array or Tensor, optional
        Further arguments of every step.
    unroll : bool
        Whether to record each step separately.
    input_length : int, optional
        Number of steps to unroll; by default the number of steps of `inputs`, if known.

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
        If `inputs` has fewer than three axes, the shape of `mask` does not match, a step returns another number of
        states, or the number of steps to unroll is unknown or too large.

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
