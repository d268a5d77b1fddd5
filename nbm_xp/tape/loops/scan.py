"""`scan`: Theano's loop with sequences, taps, several outputs, updates and an early end, built on the loop node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..control import Until
from ..graph import Node, inner_placeholder, reachable
from ..lengths import Length, Size, minimum_length, same_length
from ..standard.manipulation import flip
from ..standard.shapes import integer_length
from ..tensor import Tensor, as_tensor
from ..variable import Variable, automatic_updates, new_value
from .body import LoopBody
from .node import loop, results_of


class _Recurrence(NamedTuple):
    """A recurrent output of the step: its taps, its initial values, and the step's placeholders for past values."""

    taps: Sequence[int]
    initials: list[Tensor]
    inner: list[Node]


def _entries(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _tapped(sequence: Any, go_backwards: bool) -> list[Tensor]:
    """Return one sequence for each tap; step `i` reads its entry `i`."""
    if not isinstance(sequence, dict):
        x = as_tensor(sequence)
        return [flip(x, axis=0) if go_backwards else x]
    unknown = set(sequence) - {"input", "taps"}
    if unknown or "input" not in sequence:
        raise ValueError(f"a sequence may be given as a dict with input and taps, got keys {sorted(sequence)}")
    x = as_tensor(sequence["input"])
    given = sequence.get("taps")
    taps = [given] if isinstance(given, int) else list(given or [0])
    first, last = min(0, *taps), max(0, *taps)
    parts = [x[tap - first : tap - last if tap != last else None] for tap in taps]
    return [flip(part, axis=0) for part in parts] if go_backwards else parts


def _recurrence(info: Any) -> _Recurrence | None:
    given = info if isinstance(info, dict) else {"initial": info}
    unknown = set(given) - {"initial", "taps"}
    if unknown:
        raise ValueError(f"outputs_info may hold dicts with initial and taps, got {sorted(unknown)}")
    if given.get("initial") is None:
        return None
    initial, taps = as_tensor(given["initial"]), given.get("taps") or [-1]
    if any(tap >= 0 for tap in taps):
        raise ValueError(f"taps of outputs_info must be negative, got {list(taps)}")
    depth, initials = -min(taps), [initial]
    if list(taps) != [-1]:
        length = initial.node.shape[0] if initial.ndim else 0
        if same_length(length, depth) is False:
            raise ValueError(f"initial must hold {depth} steps for taps {list(taps)}, got {length}")
        initials = [initial[depth - lag] for lag in range(1, depth + 1)]
    return _Recurrence(taps, initials, [inner_placeholder(t.node.shape, t.dtype) for t in initials])


def _is_updates(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Variable) for item in value)
    )


def _sorted_result(result: Any) -> tuple[list[Tensor], dict[Variable, Tensor], Until | None]:
    """Split the result of a step into outputs, updates and condition."""
    parts = list(result) if isinstance(result, tuple) else [result]
    conditions = [part for part in parts if isinstance(part, Until)]
    updates = [part for part in parts if not isinstance(part, Until) and _is_updates(part)]
    rest = [part for part in parts if not isinstance(part, Until) and not _is_updates(part)]
    if len(conditions) > 1 or len(updates) > 1:
        raise ValueError("a step returns outputs, at most one dict of updates and at most one until")
    if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
        rest = list(rest[0])
    outputs = [as_tensor(item) for item in rest if item is not None]
    pairs = [] if not updates else updates[0].items() if isinstance(updates[0], dict) else updates[0]
    return outputs, {variable: as_tensor(value) for variable, value in pairs}, conditions[0] if conditions else None


def scan(
    function: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    name: str | None = None,
) -> tuple[Any, OrderedDict[Variable, Tensor]]:
    """Apply a step function repeatedly.

    Parameters
    ----------
    function : callable
        Step function. It is called once, with Tensors: the current entry of each sequence (one for each tap), the past
        values of the recurrent outputs (one for each tap), and `non_sequences`. It returns one or more outputs and,
        optionally, a dict of updates of variables and an `until`.
    sequences : Tensor, dict, or list of these, optional
        Sequences, read along their first axis, one entry for each step. A dict has the keys ``input`` and ``taps``,
        the offsets of the entries that a step reads.
    outputs_info : Tensor, dict, None, or list of these, optional
        Initial value of each output, or None for an output that is not recurrent. A dict has the keys ``initial``, with
        as many past values as the largest lag, and ``taps``, negative offsets.
    non_sequences : Tensor or list of Tensor, optional
        Further arguments, constant over the steps.
    n_steps : int, Length or integer Tensor, optional
        Number of steps. Defaults to the length of the shortest sequence. 0 steps give outputs of length 0. A negative
        int reverses the direction given by `go_backwards`.
    truncate_gradient : int
        Number of steps over which gradients are propagated back; -1 for all.
    go_backwards : bool
        Whether sequences are read from their end; outputs stay in the order of the steps.
    name : str, optional
        Name of the loop in error messages.

    Returns
    -------
    outputs : Tensor or list of Tensor
        Outputs of all steps, stacked along a new first axis; a single Tensor if there is one output.
    updates : OrderedDict
        Updated variables, including the states of random draws, and their final values.

    Raises
    ------
    ValueError
        If neither `n_steps` nor a sequence gives the number of steps, or the shape or dtype of a recurrent output
        differs from that of its initial value.
    """
    if isinstance(n_steps, int) and n_steps.bit_length() > 63:
        raise ValueError(f"n_steps must be below 2**63, got {n_steps}")
    if isinstance(n_steps, int) and n_steps < 0:
        n_steps, go_backwards = -n_steps, not go_backwards
    feeds = [tapped for sequence in _entries(sequences) for tapped in _tapped(sequence, go_backwards)]
    for feed in feeds:
        if not feed.ndim:
            raise ValueError("sequences must have an axis to read along, got a scalar")
    recurrences = [_recurrence(info) for info in _entries(outputs_info)]
    count = _step_count(n_steps, feeds, name)
    inner = [inner_placeholder(feed.node.shape[1:], feed.dtype) for feed in feeds]
    past = [Tensor(r.inner[-tap - 1]) for r in recurrences if r is not None for tap in r.taps]
    result = function(*map(Tensor, inner), *past, *map(as_tensor, _entries(non_sequences)))
    outputs, given, condition = _sorted_result(result)
    if recurrences and len(recurrences) != len(outputs):
        raise ValueError(f"outputs_info describes {len(recurrences)} outputs, the step returned {len(outputs)}")

    roots = [*outputs, *given.values(), *([] if condition is None else [condition.condition])]
    updates = {**automatic_updates(reachable([root.node for root in roots])), **given}
    carried: list[tuple[Node, Tensor, Node]] = []  # placeholder in the step, initial value, next value
    fed_back: dict[int, int] = {}
    shifts: dict[int, int] = {}
    for position, (recurrence, value) in enumerate(zip(recurrences, outputs, strict=False)):
        if recurrence is not None:
            _check_same_kind(value, recurrence.initials[0], position)
            fed_back[position] = first = len(carried)
            shifts |= {place + 1: place for place in range(first, first + len(recurrence.inner) - 1)}
            following = [value.node, *recurrence.inner[:-1]]
            carried += zip(recurrence.inner, recurrence.initials, following, strict=True)
    carried += [(variable.node, variable, new_value(variable, value).node) for variable, value in updates.items()]
    body = LoopBody(
        sequences=inner,
        carries=[carry for carry, _, _ in carried],
        following=[node for _, _, node in carried],
        outputs=[value.node for value in outputs],
        stop=None if condition is None else condition.condition.node,
        fed_back=fed_back,
        shifts=shifts,
        truncate=None if truncate_gradient in (-1, None) else int(truncate_gradient),
        name=name,
    )
    finals, stacked = results_of(loop(body, count, feeds, [initial for _, initial, _ in carried]))
    states = OrderedDict(zip(updates, finals[len(finals) - len(updates) :], strict=True))
    return (stacked[0] if len(stacked) == 1 else stacked), states


def _step_count(n_steps: Any, feeds: Sequence[Tensor], name: str | None) -> Size:
    lengths = [feed.node.shape[0] for feed in feeds]
    if n_steps is None:
        if not lengths:
            raise ValueError(f"n_steps of {name or 'scan'} must be given where there are no sequences")
        return minimum_length(lengths)
    if isinstance(n_steps, Variable) or not isinstance(n_steps, Tensor):
        count = integer_length(n_steps)
        if isinstance(count, Length):
            return count
        steps = int(count)
        if steps != count or steps < 0:
            raise ValueError(f"n_steps of {name or 'scan'} must be an integer, got {n_steps!r}")
        for length in lengths:
            if isinstance(length, int) and length < steps:
                raise ValueError(f"n_steps of {name or 'scan'} is {steps}, but a sequence has only {length} entries")
        return steps
    steps_taken: Length = integer_length(n_steps)
    return steps_taken


def _check_same_kind(value: Tensor, initial: Tensor, position: int) -> None:
    if value.dtype != initial.dtype or value.ndim != initial.ndim:
        raise ValueError(
            f"output {position} of the step must be like its initial value, {initial.dtype} of {initial.ndim} axes, "
            f"got {value.dtype} of {value.ndim}"
        )
    pairs = zip(value.node.shape, initial.node.shape, strict=True)
    if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
        raise ValueError(
            f"output {position} of the step must have the shape of its initial value: {initial.shape}, "
            f"got {value.shape}"
        )
