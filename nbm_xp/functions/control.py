"""Loops and branches that can be recorded: scan, until, ifelse; `stop_gradient` and `print_tensor`.

A recorded loop is one node with a plan of its own; of a recorded branch, only the side taken is computed. With plain
arrays, a branch is evaluated immediately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, concrete_int, is_bool, running_dtype
from nbm_xp.tape.derivatives.calls import is_settled

from ._arguments import Array, as_array

__all__ = ["ifelse", "print_tensor", "scan", "stop_gradient", "until"]

_OF_THE_LOOP = ("sequences", "non_sequences", "go_backwards", "truncate_gradient")
_WITHOUT_EFFECT = ("allow_gc", "mode", "profile", "strict")


def scan(
    function: Callable[..., Any], outputs_info: Any = None, n_steps: Any = None, name: str | None = None, **kwargs: Any
) -> tuple[Any, Any]:
    """Loop over sequences: call a function once and repeat the operations that it records.

    Parameters
    ----------
    function : callable
        One step. Its arguments are the sequences' current elements, the outputs of the previous step, and the
        non-sequences, in this order. It returns the outputs (one, or several in a list or tuple), or a pair of the
        outputs and either updates of variables or `until`, which ends the loop.
    outputs_info : Tensor, array, dict or None, or list of them
        Initial value of each output; None for an output that is not fed back. ``dict(initial=x, taps=[-2, -1])``
        feeds back several earlier steps.
    n_steps : int or integer Tensor, optional
        Number of steps. Defaults to the length of the shortest sequence.
    name : str, optional
        Name for error messages.
    **kwargs
        ``sequences`` and ``non_sequences`` (one or a list each; ``dict(input=x, taps=[-1, 0, 1])`` for neighbours),
        ``go_backwards`` (read the sequences from their ends), ``truncate_gradient`` (number of steps of the reverse
        pass, -1 for all) and ``return_list`` (whether a single output is returned in a list, too). ``mode``,
        ``profile``, ``allow_gc`` and ``strict``, Theano's options of compilation, have no effect.

    Returns
    -------
    outputs : Tensor or list of Tensor
        Outputs of all steps, stacked along a new first axis; a list if there are several. If only plain arrays are
        involved, arrays, computed immediately.
    updates : mapping
        Variables and their values after the loop, for the `updates` of `nbm_xp.functions.graphs.function`.

    Raises
    ------
    ValueError
        If the number of steps is not determined, or a sequence is too short.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> powers, updates = scan(lambda s: 2 * s, outputs_info=variable(1.0), n_steps=4)
    >>> powers.eval()
    array([ 2.,  4.,  8., 16.], dtype=float32)
    """
    as_list = kwargs.pop("return_list", False)
    options = {key: kwargs.pop(key) for key in _OF_THE_LOOP if key in kwargs}
    unknown = [key for key in kwargs if key not in _WITHOUT_EFFECT]
    if unknown:
        known = ", ".join((*_OF_THE_LOOP, "return_list", *_WITHOUT_EFFECT))
        raise TypeError(f"scan got an unexpected keyword argument {unknown[0]!r}; it takes {known}")
    outputs, updates = tape.scan(function, outputs_info=outputs_info, n_steps=n_steps, name=name, **options)
    several = isinstance(outputs, (list, tuple))
    if not updates and is_settled(outputs if several else [outputs]):
        outputs = tape.evaluate(outputs)
    return [outputs] if as_list and not several else outputs, updates


def until(condition: Any) -> Any:
    """End a `scan` after the first step at which a condition holds.

    Parameters
    ----------
    condition : Tensor
        Scalar; any value except 0 is true.

    Returns
    -------
    object
        Marker for the step to return after its outputs.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> step = lambda s: (2 * s, until(2 * s > 5))
    >>> scan(step, outputs_info=variable(1.0), n_steps=9)[0].eval()
    array([2., 4., 8.], dtype=float32)
    """
    return tape.until(condition)


def ifelse(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Select one of two values by a condition.

    Parameters
    ----------
    condition : Tensor, array or bool
        Scalar; any value except 0 is true.
    then_expression, else_expression : array, number, or list or tuple of them
        Values to select from, with the same number of axes; their lengths may differ.

    Returns
    -------
    array, or list of arrays
        Recorded if any argument is a Tensor: then only the side taken is computed, and the gradient through the other
        is 0.

    Raises
    ------
    TypeError
        If the condition is not a scalar, or is a lazy array.
    ValueError
        If one side has more values than the other.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([1.0, 2.0])
    >>> ifelse(np.sum(x) > 2, x, -x)
    array([1., 2.])
    """
    several = isinstance(then_expression, (list, tuple))
    then_values, else_values = _listed(then_expression), _listed(else_expression)
    if len(then_values) != len(else_values) or several != isinstance(else_expression, (list, tuple)):
        raise ValueError(f"both sides must have as many values, got {len(then_values)} and {len(else_values)}")
    if any(map(tape.is_tensor, (condition, *then_values, *else_values))):
        return tape.ifelse(condition, then_expression, else_expression)
    condition = as_array(condition)
    if condition.ndim:
        raise TypeError(f"condition must have no axes, got shape {tuple(condition.shape)}")
    xp = array_namespace(condition)
    truth = condition if is_bool(condition) else condition != 0
    chosen = then_values if concrete_int(xp.astype(truth, running_dtype(xp, "int64"))) else else_values
    return chosen if several else chosen[0]


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def stop_gradient(variables: Array | Sequence[Array]) -> Any:
    """Return the same values, treated as constant in gradients.

    Parameters
    ----------
    variables : array, or list or tuple of arrays
        Arrays to treat as constant.

    Returns
    -------
    array, or list of arrays
        Plain arrays are returned unchanged, as no gradient passes through them.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> from nbm_xp.tape import gradients
    >>> x = variable(3.0)
    >>> gradients(x * stop_gradient(x), x).eval()
    array(3., dtype=float32)
    """
    if isinstance(variables, (list, tuple)):
        return [stop_gradient(variable) for variable in variables]
    return tape.stop_gradient(variables) if tape.is_tensor(variables) else variables


def print_tensor(x: Array, message: str = "") -> Array:
    """Return the same values, and print them whenever they are computed.

    Parameters
    ----------
    x : array or Tensor
        Array to print.
    message : str
        Text to print before the values.

    Returns
    -------
    array
        `x`. A plain array is printed immediately; of a lazy array, its representation is printed, not its values.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> doubled = print_tensor(variable([1.0, 2.0]), message="x =") * 2
    >>> doubled.eval()
    x = [1. 2.]
    array([2., 4.], dtype=float32)
    """
    if tape.is_tensor(x):
        return _printed(x, message=message)
    print(*([message] if message else []), x)
    return x


def _print(xp: Any, x: Array, *, message: str) -> Array:
    return print_tensor(x, message)


_printed = tape.operation(
    "print_tensor", infer=lambda x, *, message: (x.shape, x.dtype), run=_print, gradient=lambda g, out, x, *, message: g
)
