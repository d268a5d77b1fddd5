"""Functions applied to the elements along an axis, one after another: recurrent layers, maps and folds.

Each records its step once, as one loop with its own reverse pass. With arrays only, it is computed immediately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from nbm_xp import tape
from nbm_xp.namespace import dtype_of
from nbm_xp.namespace.errors import described
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.derivatives.calls import is_settled

from ._arguments import Array, as_array, differ

__all__ = ["at_once", "foldl", "foldr", "map_fn", "rnn"]


def rnn(
    step_function: Callable[[Any, list[Any]], tuple[Any, Sequence[Any]]],
    inputs: Array,
    initial_states: Sequence[Array],
    go_backwards: bool = False,
    mask: Array | None = None,
    constants: Sequence[Array] | None = None,
    unroll: bool = False,
    input_length: int | None = None,
    *,
    masked_output: Literal["state", "previous"] = "state",
    shortened: bool = False,
) -> tuple[Any, Any, list[Any]]:
    """Iterate a step function over time, with states passed from step to step.

    Parameters
    ----------
    step_function : callable
        ``step_function(x, states)`` takes the input of one time step, of shape (samples, ...), and the list of states
        followed by the constants; it returns the output and the list of new states.
    inputs : array
        Of shape (samples, time, ...).
    initial_states : sequence of array
        States before the first step; empty for a step without states.
    go_backwards : bool
        Whether to iterate backwards in time. The outputs are in the order in which they are computed.
    mask : array, optional
        Of shape (samples, time) or (samples, time, 1). Where it is 0, the states are kept, and the output is given by
        `masked_output`; if `unroll` is true, it is the previous output, initially zeros.
    constants : sequence of array, optional
        Constants passed to every step, after the states.
    unroll : bool
        Whether to record each step separately instead of a loop.
    input_length : int, optional
        Number of time steps, if `unroll` is true and the length of `inputs` is unknown.
    masked_output : {"state", "previous"}
        Output where the mask is 0: the first state, which must have the output's shape, as in Keras on TensorFlow; or
        the previous output, initially zeros, as in Keras on Theano.
    shortened : bool
        Whether to unroll only `input_length` steps even if `inputs` has more.

    Returns
    -------
    last_output : array
        Of shape (samples, ...).
    outputs : array
        Of shape (samples, time, ...).
    new_states : list of array
        States after the last step.

    Raises
    ------
    ValueError
        If `inputs` has fewer than three axes; if masked outputs are states and there are no states; if `mask` has
        another number of time steps; if `unroll` is true and the number of time steps is unknown; if the step returns
        another number of states.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([[[1.0], [2.0], [3.0]]])
    >>> last, outputs, states = rnn(lambda x, states: (x + states[0], [x + states[0]]), x, [np.zeros((1, 1))])
    >>> last.tolist(), outputs[0, :, 0].tolist()
    ([[6.0]], [1.0, 3.0, 6.0])
    """
    if not isinstance(initial_states, (list, tuple)):
        raise TypeError(f"initial_states must be a list of arrays, got {described(initial_states)}")
    given = [as_array(inputs), *map(as_array, initial_states), *map(as_array, constants or ())]
    x, states = tape.as_tensor(given[0]), [tape.as_tensor(state) for state in given[1 : 1 + len(initial_states)]]
    fixed = given[1 + len(initial_states) :]
    if x.ndim < 3:
        raise ValueError(f"inputs must have three axes or more, (samples, time, ...), got shape {x.shape}")
    if mask is not None and not states and masked_output == "state":
        raise ValueError("mask needs an initial state: a step that is masked repeats the state before")
    moments = recorded.moveaxis(x, 1, 0)
    seen = None if mask is None else _moments_of_mask(as_array(mask))
    if seen is not None:
        for what, count, given_length in zip(("moments", "samples"), (x.shape[1], x.shape[0]), seen.shape, strict=True):
            if differ(count, given_length):
                raise ValueError(f"mask must have {count} {what}, as inputs has, got {given_length}")

    def step(now: Any, before: list[Any], shown: Any = None, previous: Any = None) -> tuple[Any, list[Any]]:
        output, after = step_function(now, [*before, *fixed])
        if len(after) != len(before):
            raise ValueError(f"step_function must return {len(before)} states, as many as it gets, got {len(after)}")
        if shown is None:
            return output, list(after)
        stay = before[0] if previous is None else previous
        kept = [_where(shown, new, old) for new, old in zip(after, before, strict=True)]
        return _where(shown, output, stay), kept

    if unroll:
        steps = _steps_to_unroll(x.shape[1], input_length, shortened)
        outputs, finals = _unrolled(step, moments, states, seen, steps, go_backwards)
    else:
        outputs, finals = _looped(step, moments, states, seen, go_backwards, masked_output)
    results = [outputs[-1], recorded.moveaxis(outputs, 0, 1), *finals]
    last, every, *new = at_once(results, [*given, mask])
    return last, every, new


def _steps_to_unroll(moments: Any, input_length: int | None, shortened: bool) -> int:
    if not isinstance(moments, int):
        if input_length is None:
            raise ValueError("unroll needs the number of moments: give inputs a known second length, or input_length")
        return input_length
    if input_length is None or not shortened:
        return moments
    if not 0 < input_length <= moments:
        raise ValueError(f"input_length must be from 1 to {moments}, the moments that inputs has, got {input_length}")
    return input_length


def _moments_of_mask(mask: Array) -> tape.Tensor:
    """Convert a mask to booleans of shape (time, samples)."""
    mask = tape.as_tensor(mask)
    if mask.ndim not in (2, 3) or (mask.ndim == 3 and differ(mask.shape[2], 1)):
        raise ValueError(f"mask must have shape (samples, time) or (samples, time, 1), got {mask.shape}")
    mask = mask[:, :, 0] if mask.ndim == 3 else mask
    return recorded.moveaxis(mask if mask.dtype == "bool" else mask != 0, 1, 0)


def _where(shown: Any, new: Any, old: Any) -> Any:
    """`new` in the unmasked samples, `old` in the others."""
    new = tape.as_tensor(new)
    return recorded.where(recorded.reshape(shown, (shown.shape[0], *(1,) * (new.ndim - 1))), new, tape.as_tensor(old))


def _looped(
    step: Callable[..., Any], moments: Any, states: list[Any], seen: Any, go_backwards: bool, masked_output: str
) -> tuple[Any, list[Any]]:
    sequences = [moments] if seen is None else [moments, seen]
    repeats = seen is not None and masked_output == "previous"
    first = recorded.zeros_like(step(moments[0, ...], states)[0]) if repeats else None

    def body(*arguments: Any) -> list[Any]:
        current, before = arguments[: len(sequences)], list(arguments[len(sequences) :])
        previous = before.pop(0) if repeats else None
        output, after = step(current[0], before, *(*current[1:], previous) if seen is not None else ())
        return [output, *after]

    made, _ = tape.scan(body, sequences=sequences, outputs_info=[first, *states], go_backwards=go_backwards)
    made = made if isinstance(made, list) else [made]
    return made[0], [history[-1] for history in made[1:]]


def _unrolled(
    step: Callable[..., Any], moments: Any, states: list[Any], seen: Any, length: int, go_backwards: bool
) -> tuple[Any, list[Any]]:
    outputs: list[Any] = []
    for moment in range(length - 1, -1, -1) if go_backwards else range(length):
        shown = () if seen is None else (seen[moment, ...],)
        if seen is not None:
            previous = outputs[-1] if outputs else recorded.zeros_like(step(moments[moment, ...], states)[0])
            shown = (*shown, previous)
        output, states = step(moments[moment, ...], states, *shown)
        outputs.append(tape.as_tensor(output))
    return recorded.stack(outputs, axis=0), list(states)


def map_fn(fn: Callable[[Any], Any], elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    """Apply a function to each element along the first axis.

    Parameters
    ----------
    fn : callable
        Function of an element, or of a tuple of elements if `elems` is a sequence.
    elems : array, or list or tuple of arrays
        Elements, along the first axis.
    name : str, optional
        Name for error messages.
    dtype : str, optional
        Dtype of the result. Defaults to the dtype that `fn` returns.

    Returns
    -------
    array
        Results, stacked along a new first axis.

    Examples
    --------
    >>> import numpy as np
    >>> map_fn(lambda row: row / 2, np.asarray([[2.0, 4.0], [6.0, 8.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    several = isinstance(elems, (list, tuple))
    given = [as_array(item) for item in (elems if several else [elems])]

    def body(*items: Any) -> Any:
        made = tape.as_tensor(fn(tuple(items) if several else items[0]))
        return made if dtype is None else recorded.astype(made, dtype_of(recorded, dtype))

    result, _ = tape.scan(body, sequences=[tape.as_tensor(item) for item in given], name=name or "map_fn")
    return at_once([result], given)[0]


def foldl(
    fn: Callable[[Any, Any], Any], elems: Array, initializer: Array | None = None, name: str | None = None
) -> Any:
    """Reduce the elements along the first axis, from the first to the last.

    Parameters
    ----------
    fn : callable
        ``fn(accumulator, element)`` returns the new accumulator.
    elems : array
        Elements, along the first axis.
    initializer : array, optional
        Initial accumulator. Defaults to the first element; the reduction then starts with the second.
    name : str, optional
        Name for error messages.

    Returns
    -------
    array
        Final accumulator.

    Raises
    ------
    ValueError
        If there are no elements and no `initializer`.

    Examples
    --------
    >>> import numpy as np
    >>> foldl(lambda total, x: total * 10 + x, np.asarray([1, 2, 3])).tolist()
    123
    """
    return _folded(fn, elems, initializer, name or "foldl", backwards=False)


def foldr(
    fn: Callable[[Any, Any], Any], elems: Array, initializer: Array | None = None, name: str | None = None
) -> Any:
    """Reduce the elements along the first axis, from the last to the first.

    Parameters
    ----------
    fn : callable
        ``fn(accumulator, element)`` returns the new accumulator.
    elems : array
        Elements, along the first axis.
    initializer : array, optional
        Initial accumulator. Defaults to the last element; the reduction then starts with the second to last.
    name : str, optional
        Name for error messages.

    Returns
    -------
    array
        Final accumulator.

    Raises
    ------
    ValueError
        If there are no elements and no `initializer`.

    Examples
    --------
    >>> import numpy as np
    >>> foldr(lambda total, x: total * 10 + x, np.asarray([1, 2, 3])).tolist()
    321
    """
    return _folded(fn, elems, initializer, name or "foldr", backwards=True)


def _folded(
    fn: Callable[[Any, Any], Any], elems: Array, initializer: Array | None, name: str, *, backwards: bool
) -> Any:
    given = [as_array(elems), *([] if initializer is None else [as_array(initializer)])]
    sequence = tape.as_tensor(given[0])
    if not sequence.ndim:
        raise ValueError(f"elems of {name} must have an axis to go along, got an array without axes")
    if initializer is None:
        if sequence.shape[0] == 0:
            raise ValueError(f"{name} needs an initializer where elems has no elements")
        start = sequence[-1 if backwards else 0, ...]
        sequence = sequence[:-1, ...] if backwards else sequence[1:, ...]
    else:
        start = tape.as_tensor(given[1])
    if sequence.shape[0] == 0:
        return at_once([start], given)[0]
    made, _ = tape.scan(
        lambda element, total: fn(total, element),
        sequences=[sequence],
        outputs_info=[start],
        go_backwards=backwards,
        name=name,
    )
    return at_once([made[-1]], given)[0]


def at_once(results: list[Any], given: Sequence[Any]) -> list[Any]:
    """Evaluate results if all arguments were arrays and no result depends on an input; else return them unchanged."""
    if any(tape.is_tensor(value) for value in given):
        return results
    return list(tape.evaluate(results)) if is_settled(results) else results
