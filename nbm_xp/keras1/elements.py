"""Extremes, rounding, truth, phases, branches and loops as Keras 1.0 on Theano has them.

Who ties gets the whole gradient, truth is a number, choices broadcast, masked outputs repeat.
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
    """Of two arrays, the larger element in each place.

    Parameters
    ----------
    x, y : array, Tensor or number
        Their shapes are broadcast.

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
    """Of two arrays, the smaller element in each place.

    Parameters
    ----------
    x, y : array, Tensor or number
        Their shapes are broadcast.

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
    """The nearest integer; of two, the one farther from 0.

    Parameters
    ----------
    x : array or Tensor
        Of any dtype, which the result has too.

    Returns
    -------
    array or Tensor
        Its gradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> round(np.asarray([-1.5, 0.5, 2.4]))
    array([-2.,  1.,  2.])
    """
    return elementwise.round_half_away(x)


def any(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether there is an element that is not 0.

    Parameters
    ----------
    x, axis, keepdims
        As in `max`; there need be no element.

    Returns
    -------
    array of uint8, or Tensor
        1 where there is one, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> any(np.asarray([[0.0, 2.0], [0.0, 0.0]]), axis=1)
    array([1, 0], dtype=uint8)
    """
    return shaping.cast(extremes.any(x, axis, keepdims), "uint8")


def expand_dims(x: Array, dim: int = -1) -> Array:
    """A new axis of length 1.

    Parameters
    ----------
    x : array or Tensor
        With n axes.
    dim : int
        Where the new axis is to be: from 0 to n, or from -1 for behind the last to -n; -n-1 is -1 again, and so on.

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
    """The input that says whether a model is trained, 1, or tested, 0.

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
    >>> from nbm_xp.keras1 import variable
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
    >>> from nbm_xp.keras1 import function, variable
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
        Arguments of every step.
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
