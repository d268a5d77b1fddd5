"""Loops and branches that can be recorded: scan, until, ifelse; and what cuts a gradient.

Recorded, a loop is one node with a plan of its own, and of a branch only the side taken is computed. Given plain
arrays, a branch is taken at once.
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
    function: Callable[..., Any],
    outputs_info: Any = None,
    n_steps: Any = None,
    name: str | None = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """A loop: call a function once and repeat what it records.

    Parameters
    ----------
    function : callable
        One step. It is given the sequences' current elements, the outputs of the step before, and the non-sequences,
        in this order, and returns the outputs: one, several in a list or tuple, or a pair of these with updates of
        variables, or with `until`, which ends the loop.
    outputs_info : Tensor, array, dict or None, or list of them
        Where each output starts; None for one that is not fed back. ``dict(initial=x, taps=[-2, -1])`` feeds back
        several earlier steps.
    n_steps : int or integer Tensor, optional
        How many steps; by default as many as the shortest sequence has elements.
    name : str, optional
        A name for error messages.
    **kwargs
        ``sequences`` and ``non_sequences`` (one or a list each; ``dict(input=x, taps=[-1, 0, 1])`` for neighbours),
        ``go_backwards`` (read the sequences from their ends), ``truncate_gradient`` (how many steps a gradient goes
        back, -1 for all) and ``return_list`` (whether one output, too, comes in a list). ``mode``, ``profile``,
        ``allow_gc`` and ``strict``, which elsewhere say how a loop is compiled, have no effect.

    Returns
    -------
    outputs : Tensor or list of Tensor
        The outputs of all steps along a new first axis; a list where there are several. Where nothing but plain arrays
        is involved, arrays, computed at once.
    updates : mapping
        Variables and their values after the loop, to be handed to `function`.

    Raises
    ------
    ValueError
        If nothing says how many steps there are, or a sequence is too short.

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
    """End a `scan` at the step where a condition holds; that step is kept.

    Parameters
    ----------
    condition : Tensor
        Without axes; anything but 0 is true.

    Returns
    -------
    object
        To be returned by the step, after its outputs.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> step = lambda s: (2 * s, until(2 * s > 5))
    >>> scan(step, outputs_info=variable(1.0), n_steps=9)[0].eval()
    array([2., 4., 8.], dtype=float32)
    """
    return tape.until(condition)


def ifelse(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two values, as a condition says.

    Parameters
    ----------
    condition : Tensor, array or bool
        Without axes; anything but 0 is true.
    then_expression, else_expression : array, number, or list or tuple of them
        The values. They have equally many axes, but their lengths may differ.

    Returns
    -------
    array, or list of arrays
        Recorded if anything is a Tensor: then only the side taken is computed, and the gradient through the other
        is 0.

    Raises
    ------
    TypeError
        If the condition has axes, or cannot be known without computing a lazy array.
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
    """The same values, constant when a gradient is taken.

    Parameters
    ----------
    variables : array, or list or tuple of arrays
        What to hold constant.

    Returns
    -------
    array, or list of arrays
        Plain arrays, through which no gradient is taken, as they are.

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
    """The same values, printed whenever they are computed.

    Parameters
    ----------
    x : array or Tensor
        What to print.
    message : str
        What to print before it.

    Returns
    -------
    array
        `x`. A plain array is printed at once; a lazy one as what it is, since its values are not known.

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
    "print_tensor",
    infer=lambda x, *, message: (x.shape, x.dtype),
    run=_print,
    gradient=lambda g, out, x, *, message: g,
)
