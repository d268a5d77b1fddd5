"""The loop node: a step, recorded once, that runs many times; and its reverse, which is a loop again.

A step maps slices of sequences and carried values to new carried values and outputs. What it uses from outside is
captured: it is computed once, before the loop. A loop gives the final carried values, the outputs of all steps stacked,
and, where a gradient asks for them, the carried values as they were before each step; what is not asked for is not
kept, so that memory grows with the number of steps only where it must.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from nbm_xp.namespace import concrete_int, is_lazy

from .dtypes import DType, as_dtype
from .gradients import declare, vjp
from .lengths import Length, Size, minimum_length, same_length, value_length
from .node import LOOP_TAG, PLACEHOLDER, VARIABLE, Joint, Node, Operation, Shape, Spec, leaf
from .operators import FUNCTIONS
from .plan import compile_plan
from .tensor import Tensor, Variable, output
from .traversal import reachable

__all__ = ["LoopBody", "automatic_updates", "inner_placeholder", "loop"]


@dataclass(eq=False)
class LoopBody:
    """The recorded step of a loop, and how it runs.

    Parameters
    ----------
    sequences, carries
        The nodes that stand for a slice of each sequence and for each carried value inside the step.
    following
        What each carried value becomes.
    outputs
        What each step puts out.
    stop
        A scalar that ends the loop after the step in which it is true.
    reverse
        Whether steps are taken from the last to the first; outputs are stacked in the order of the sequences.
    fed_back
        Which output is the new value of which carried one, by position.
    truncate
        How many steps a gradient goes back; all of them for None.
    """

    sequences: list[Node]
    carries: list[Node]
    following: list[Node]
    outputs: list[Node]
    stop: Node | None = None
    reverse: bool = False
    fed_back: Mapping[int, int] = field(default_factory=dict)
    truncate: int | None = None
    name: str | None = None
    captured: list[Node] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    _plans: dict[ModuleType, Callable[..., tuple[Any, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.captured = _captured(self.results(), [*self.sequences, *self.carries])

    def results(self) -> list[Node]:
        """What one run of the step computes."""
        return [*self.following, *self.outputs, *([] if self.stop is None else [self.stop])]

    def plan(self, xp: ModuleType) -> Callable[..., tuple[Any, ...]]:
        """The compiled step for a library."""
        if xp not in self._plans:
            inputs = [*self.sequences, *self.carries, *self.captured]
            self._plans[xp] = compile_plan(inputs, self.results(), xp, lazy=is_lazy(xp))
        return self._plans[xp]

    def final_of(self, call: Node, index: int) -> Node | None:
        """The final value of the carried value that a stacked output is the history of."""
        position = self.fed_back.get(index - len(self.carries))
        return None if position is None else output(call, position, *self.specs[position])

    def before(self, position: int) -> int:
        """The index of the result that holds a carried value as it was before each step."""
        return len(self.carries) + len(self.outputs) + position

    @property
    def steps(self) -> int:
        """The index of the result that holds the number of steps taken."""
        return 2 * len(self.carries) + len(self.outputs)


def inner_placeholder(shape: Shape, dtype: Any, name: str | None = None) -> Node:
    """A stand-in for a value inside a step."""
    return leaf(PLACEHOLDER, shape, len(shape), as_dtype(dtype), name)  # type: ignore[arg-type]


def _captured(results: Sequence[Node], inner: Sequence[Node]) -> list[Node]:
    """What a step uses that does not change from step to step, as far out as possible."""
    varying = set(inner)
    order = reachable(results, inner)
    for node in order:
        if any(parent in varying for parent in node.inputs):
            varying.add(node)
    found: dict[Node, None] = {}
    for node in order:
        if node in varying:
            found.update((parent, None) for parent in node.inputs if parent not in varying)
    found.update((node, None) for node in results if node not in varying)
    calls = [node for node in found if node.dtype == "void"]
    for call in calls:  # a call with several results is captured result by result
        del found[call]
    return list(found)


def loop(body: LoopBody, n_steps: Size, sequences: Sequence[Tensor], initials: Sequence[Tensor]) -> Node:
    """Record a loop; its results are `output` nodes of the call that is returned."""
    args = (n_steps, tuple(t.node for t in sequences), tuple(t.node for t in initials), tuple(body.captured))
    call = Node(_LOOP, args, {}, (), DType("void"), payload=body, name=body.name)
    count: Size = n_steps
    if body.stop is not None:
        count = value_length(output(call, body.steps, (), as_dtype("int64")))
    finals = [(initial.node.shape, initial.dtype) for initial in initials]
    stacked = [((count, *node.shape), node.dtype) for node in body.outputs]
    history = [((count, *shape), dtype) for shape, dtype in finals]
    body.specs = [*finals, *stacked, *history, ((), as_dtype("int64"))]
    return call


def _run_loop(
    xp: ModuleType,
    body: LoopBody,
    n_steps: Any,
    sequences: tuple[Any, ...],
    initials: tuple[Any, ...],
    captured: tuple[Any, ...],
    *,
    needed: frozenset[int],
) -> tuple[Any, ...]:
    count = concrete_int(n_steps)
    label = body.name or "scan"
    for sequence in sequences:
        if sequence.shape[0] < count:
            raise ValueError(f"n_steps of {label} is {count}, but a sequence has only {sequence.shape[0]} entries")
    if count < 1:
        raise ValueError(f"n_steps of {label} must be 1 or more, got {count}")
    if body.stop is not None and is_lazy(xp):
        return _run_lazily_until(xp, body, count, sequences, initials, captured, needed)
    step = body.plan(xp)
    n_carries, n_outputs = len(body.carries), len(body.outputs)
    carries = initials
    kept = [position for position in range(n_outputs) if n_carries + position in needed]
    kept_before = [position for position in range(n_carries) if body.before(position) in needed]
    stacks: list[list[Any]] = [[] for _ in kept]
    histories: list[list[Any]] = [[] for _ in kept_before]
    taken = 0
    for t in range(count - 1, -1, -1) if body.reverse else range(count):
        for history, position in zip(histories, kept_before, strict=True):
            history.append(carries[position])
        results = step(*[sequence[t, ...] for sequence in sequences], *carries, *captured)
        carries = results[:n_carries]
        for stack, position in zip(stacks, kept, strict=True):
            stack.append(results[n_carries + position])
        taken += 1
        if body.stop is not None and bool(results[-1]):
            break
    found: list[Any] = [None] * (2 * n_carries + n_outputs + 1)
    found[:n_carries] = carries
    order = -1 if body.reverse else 1
    for stack, position in zip(stacks, kept, strict=True):
        found[n_carries + position] = xp.stack(stack[::order], axis=0)
    for history, position in zip(histories, kept_before, strict=True):
        found[body.before(position)] = xp.stack(history[::order], axis=0)
    found[-1] = taken
    return tuple(found)


def _run_lazily_until(
    xp: ModuleType,
    body: LoopBody,
    count: int,
    sequences: tuple[Any, ...],
    initials: tuple[Any, ...],
    captured: tuple[Any, ...],
    needed: frozenset[int],
) -> tuple[Any, ...]:
    """Take every step, but keep the carried values as they were once the condition has held."""
    n_carries = len(body.carries)
    if any(index >= n_carries for index in needed):
        raise TypeError(
            f"{body.name or 'scan'} with until cannot stack its outputs on a lazy library: how many steps there are "
            "depends on data; use only the last value, outputs[-1]"
        )
    step = body.plan(xp)
    carries, stopped = initials, None
    for t in range(count):
        results = step(*[sequence[t, ...] for sequence in sequences], *carries, *captured)
        new, stop = results[:n_carries], results[-1]
        if stopped is not None:
            new = tuple(xp.where(stopped, old, value) for old, value in zip(carries, new, strict=True))
            stop = xp.logical_or(stopped, stop)
        carries, stopped = new, stop
    return (*carries, *[None] * (len(body.outputs) + n_carries + 1))


def _loop_rule(
    g: dict[int, Tensor],
    out: Any,
    n_steps: Any,
    sequences: tuple[Tensor, ...],
    initials: tuple[Tensor, ...],
    captured: tuple[Tensor, ...],
    *,
    payload: LoopBody,
) -> list[Any]:
    """One loop in the other direction, in which each step is differentiated by itself.

    The step is computed again from the carried values it started with, so that nothing else need be kept.
    """
    body = payload
    count = n_steps if body.stop is None else value_length(out[body.steps].node)
    first: Size = 0
    if body.truncate is not None:
        kept = minimum_length((body.truncate, count))
        first, count = count - kept, kept
    n_carries, n_outputs = len(body.carries), len(body.outputs)

    def window(x: Tensor) -> Tensor:
        return x if type(first) is int and first == 0 else x[first:]

    # cotangents: of final values they start the reverse loop, of outputs and histories they come in step by step
    smooth = [position for position in range(n_carries) if _smooth(body.carries[position])]
    back = {p: inner_placeholder(body.carries[p].shape, body.carries[p].dtype) for p in smooth}
    start = [g.get(p, FUNCTIONS["zeros_like"](initials[p])) for p in smooth]
    arriving: list[tuple[Node, Node, Tensor]] = []
    for index, node in [*enumerate(body.outputs, n_carries), *enumerate(body.carries, n_carries + n_outputs)]:
        if index in g:
            arriving.append((node, inner_placeholder(g[index].node.shape[1:], g[index].dtype), window(g[index])))
    roots = [*(body.following[p] for p in smooth), *(node for node, _, _ in arriving)]
    seeds = [*(Tensor(back[p]) for p in smooth), *(Tensor(inner) for _, inner, _ in arriving)]
    targets = [*body.sequences, *body.carries, *body.captured]
    partial = vjp(roots, seeds, targets, as_leaves=True)
    by_target = dict(zip(targets, partial, strict=True))

    flowing = [node for node in body.sequences if by_target[node] is not None]
    summed = [node for node in body.captured if by_target[node] is not None]
    totals = {node: inner_placeholder(node.shape, node.dtype) for node in summed}
    following = [_or_zeros(by_target[body.carries[p]], body.carries[p]) for p in smooth]
    following += [(Tensor(totals[node]) + by_target[node]).node for node in summed]
    start += [FUNCTIONS["zeros_like"](Tensor(node)) for node in summed]
    outputs = [_tensor_node(by_target[node]) for node in flowing]

    used = set(reachable([*following, *outputs], [*body.sequences, *body.carries]))
    feeds: list[tuple[Node, Tensor]] = [
        (n, window(s)) for n, s in zip(body.sequences, sequences, strict=True) if n in used
    ]
    feeds += [(n, window(out[body.before(p)])) for p, n in enumerate(body.carries) if n in used]
    feeds += [(inner, gradient) for _, inner, gradient in arriving]
    reverse = LoopBody(
        sequences=[inner for inner, _ in feeds],
        carries=[*(back[p] for p in smooth), *totals.values()],
        following=following,
        outputs=outputs,
        reverse=not body.reverse,
        name=f"gradient of {body.name or 'scan'}",
    )
    if not reverse.carries and not reverse.outputs:
        return [None, [None] * len(sequences), [None] * len(initials), [None] * len(captured)]
    call = loop(reverse, count, [sequence for _, sequence in feeds], start)

    def result(index: int) -> Tensor:
        return Tensor(output(call, index, *reverse.specs[index]))

    to_initials = [_reaching_start(result(smooth.index(p)), first) if p in smooth else None for p in range(n_carries)]
    to_captured = [result(len(smooth) + summed.index(n)) if n in totals else None for n in body.captured]
    to_sequences: list[Tensor | None] = []
    for node, sequence in zip(body.sequences, sequences, strict=True):
        if node not in flowing:
            to_sequences.append(None)
            continue
        gradient = result(len(reverse.carries) + flowing.index(node))
        to_sequences.append(_padded(gradient, first, sequence))
    return [None, to_sequences, to_initials, to_captured]


def _reaching_start(gradient: Tensor, first: Size) -> Tensor | None:
    """The gradient in an initial value: nothing, where truncation ends before it."""
    if isinstance(first, int):
        return gradient if first == 0 else None
    arrived = FUNCTIONS["astype"](FUNCTIONS["asarray"](first) == 0, gradient.dtype)
    return gradient * arrived


def _smooth(node: Node) -> bool:
    return node.dtype[0] in "fc"


def _or_zeros(gradient: Tensor | None, node: Node) -> Node:
    return _tensor_node(FUNCTIONS["zeros_like"](Tensor(node)) if gradient is None else gradient)


def _tensor_node(tensor: Tensor | None) -> Node:
    assert tensor is not None
    return tensor.node


def _padded(gradient: Tensor, first: Size, sequence: Tensor) -> Tensor:
    """Zeros for the entries that the loop did not read, or that the gradient does not reach."""
    length, have = sequence.node.shape[0], gradient.node.shape[0]
    rest = sequence.node.shape[1:]
    parts = [gradient]
    if isinstance(first, Length) or first:
        parts.insert(0, FUNCTIONS["zeros"]((first, *rest), dtype=gradient.dtype))
    if same_length(first + have, length) is not True:
        parts.append(FUNCTIONS["zeros"]((length - first - have, *rest), dtype=gradient.dtype))
    return parts[0] if len(parts) == 1 else FUNCTIONS["concat"](parts, axis=0)


_LOOP = declare(
    Operation(
        "loop",
        lambda *args, payload: payload.specs,
        gradient=Joint(_loop_rule),
        run=_run_loop,
        tags=frozenset({LOOP_TAG}),
    )
)


def automatic_updates(nodes: Sequence[Node]) -> dict[Variable, Tensor]:
    """How the states of random draws among these nodes move on: past the loop that drew from them, or by one draw."""
    updates: dict[Variable, Tensor] = {}
    for node in nodes:
        if node.op is VARIABLE and node.payload.default_update is not None:
            updates.setdefault(node.payload, node.payload.default_update)
        elif node.op is _LOOP:
            for position, carry in enumerate(node.payload.carries):
                if carry.op is VARIABLE and carry.payload.default_update is not None:
                    updates[carry.payload] = Tensor(output(node, position, *node.payload.specs[position]))
    return updates
