"""The loop as a node, and its gradient: a loop in the opposite direction that differentiates each step.

The reverse step reads values of the forward step, the residuals, which the forward loop stores; only views are
recomputed. The gradient in captured values is a sum over all steps; a sum of matrix products or a sum over axes becomes
one operation on stacked arrays after the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..control import recorded_paths
from ..gradients import pull_back
from ..graph import Node, call_of, inner_placeholder, nodes_in, walk
from ..lengths import Length, Size, known, minimum_length, product, same_length, same_shape, value_length
from ..operations import IDENTITY_TAG, LINEAR_TAG, SUBGRAPH_TAG, Joint, declare
from ..standard.creation import asarray, zeros, zeros_like
from ..standard.data_types import astype
from ..standard.indexing import stands_for_last
from ..standard.manipulation import concat, expand_dims, matrix_transpose, reshape
from ..standard.sums import matmul, sum_to
from ..standard.sums import sum as sum_
from ..tensor import Tensor, record, result
from .body import LoopBody, loop_runner, varying_in

# Operations without computation, which are repeated instead of stored.
VIEWS = frozenset({"broadcast_to", "permute_dims", "reshape", "transpose"})


def residuals_of(body: LoopBody, results: Sequence[Node]) -> list[Node]:
    """Return the values of a forward step from which the reverse step computes its results, including sequences.

    Views are recomputed, and so are values inside a branch of an `ifelse`, which must not be computed if the branch is
    not taken. All other values are stored.
    """
    inner = [*body.sequences, *body.carries]
    order, varying = varying_in(body.results(), inner)
    paths = recorded_paths(order, body.results())
    place = {node: index for index, node in enumerate(order) if node in varying}
    ends = {*inner, *body.captured}

    def keepable(node: Node) -> bool:
        value = node.call  # computed even if this result was not used so far
        if node.op.name in VIEWS:  # the base of a view is stored
            return False
        return value in place and not node.is_call and not paths.get(node, paths.get(value))

    def kept(node: Node) -> bool:
        return (node in ends and node in place) or keepable(node)

    def behind(node: Node) -> Sequence[Node]:
        if node in ends or kept(node):
            return ()
        return node.inputs[:1] if IDENTITY_TAG in node.op.tags else node.inputs

    return [node for node in walk(results, behind) if kept(node)]


def _sum_of_outer_products(x: Tensor, y: Tensor) -> Tensor:
    """Return the matrix of the outer products of the rows of two arrays, summed over all leading axes."""

    def rows(z: Tensor) -> Tensor:
        *leading, last = z.node.shape
        return reshape(z, (product(leading), last))

    return matmul(matrix_transpose(rows(x)), rows(y))  # of views: `tensordot` would copy both


# Number of elements per step from which on factors are not stored for a sum after the loop.
_LARGE_FACTOR = 2**17


class Term(NamedTuple):
    """A sum over steps that is computed from the stacked factors."""

    factors: tuple[Node, ...]
    finish: Callable[[Sequence[Tensor]], Tensor]


def sums_over_steps(node: Node, varying: Collection[Node]) -> tuple[list[Term], Node | None]:
    """Split the sum of a value over the steps into terms computed after the loop and a rest computed by each step.

    Parameters
    ----------
    node
        Value of one step.
    varying
        Nodes that change from step to step.
    """
    after: list[Term] = []
    inside: Tensor | None = None
    for summand in _summands(node):
        term = _term(summand, varying)
        if term is not None and all(_is_kept_easily(factor, varying) for factor in term.factors):
            after.append(term)
        else:
            inside = Tensor(summand) if inside is None else inside + Tensor(summand)
    return after, None if inside is None else inside.node


def _is_kept_easily(factor: Node, varying: Collection[Node]) -> bool:
    size = known(product(factor.shape))
    return factor in varying and (size is None or size < _LARGE_FACTOR)


def _summands(node: Node) -> Iterator[Node]:
    """Yield the summands of a node that have its shape."""
    stack = [node]
    while stack:
        one = stack.pop()
        parts = [arg for arg in one.args if isinstance(arg, Node)]
        if one.op.name == "add" and len(parts) == 2 and all(same_shape(part.shape, node.shape) for part in parts):
            stack += reversed(parts)
        else:
            yield one


def _term(node: Node, varying: Collection[Node]) -> Term | None:
    """Return the term of a summand: its factors, and the function of their stacks; None if it has none."""
    if not node.args:
        return None
    name, (first, *others) = node.op.name, node.args
    if name == "matmul" and len(first.shape) == len(others[0].shape) == 2:
        return Term((_transposed(first), others[0]), lambda stacks: _sum_of_outer_products(*stacks))
    if name == "sum_to":
        return Term((first,), lambda stacks: sum_to(stacks[0], node.shape))
    if name == "sum":
        axes = (0, *(axis + 1 for axis in node.attributes["axis"]))
        return Term((first,), lambda stacks: reshape(sum_(stacks[0], axis=axes, dtype=node.dtype), node.shape))
    linear = LINEAR_TAG in node.op.tags and not any(other in varying for other in nodes_in(others))
    inner = _term(first, varying) if linear and isinstance(first, Node) else None
    if inner is None:
        return None
    return Term(inner.factors, lambda stacks: record(node.op, inner.finish(stacks), *others, **node.attributes))


def _transposed(node: Node) -> Node:
    turned = matrix_transpose(Tensor(node)).node
    inner: Node = node.args[0] if node.args else node
    return inner if node.op is turned.op and node.args[1:] == turned.args[1:] else turned


def loop_rule(
    g: dict[int, Tensor],
    out: Any,
    n_steps: Any,
    sequences: tuple[Tensor, ...],
    initials: tuple[Tensor, ...],
    captured: tuple[Tensor, ...],
    *,
    payload: LoopBody,
) -> list[Any]:
    """Return the gradients in the sequences, the initial values and the captured values."""
    body = payload
    count: Size = n_steps if body.stop is None else value_length(out[body.steps].node)
    first: Size = 0  # first differentiated step
    if body.truncate is not None:
        last = minimum_length((body.truncate, count))
        first, count = count - last, last

    def of_window(x: Tensor) -> Tensor:
        return x if type(first) is int and first == 0 else x[first:]

    back = {  # placeholders of the cotangents of carried values, from the next step
        position: inner_placeholder(carry.shape, carry.dtype)
        for position, carry in enumerate(body.carries)
        if carry.dtype.kind in "fc"
    }
    tapped = [index for index in sorted(g) if index >= body.first_tap]
    arriving = {  # placeholders of the cotangents of stacked results
        inner_placeholder(g[index].node.shape[1:], g[index].dtype): of_window(g[index]) for index in tapped
    }
    roots = [*(body.following[position] for position in back), *map(body.tapped_at, tapped)]
    targets = [*body.sequences, *body.carries, *body.captured]
    found = pull_back(roots, [Tensor(seed) for seed in (*back.values(), *arriving)], targets, as_leaves=True)
    partial = {node: slope.node for node, slope in zip(targets, found, strict=True) if slope is not None}
    starts = [*body.sequences, *body.carries, *back.values(), *arriving]
    _, varying = varying_in(list(partial.values()), starts)
    sums = {node: sums_over_steps(partial[node], varying) for node in body.captured if node in partial}

    following, start = [], []
    for position in back:
        carry = body.carries[position]
        following.append(partial.get(carry) or zeros_like(Tensor(carry)).node)
        start.append(g.get(position, zeros_like(initials[position])))
    totals: dict[Node, Node] = {}
    for node, (_, inside) in sums.items():
        if inside is not None:
            totals[node] = inner_placeholder(node.shape, node.dtype)
            following.append((Tensor(totals[node]) + Tensor(inside)).node)
            start.append(zeros_like(Tensor(node)))
    to_rows = [partial[node] for node in body.sequences if node in partial]
    factors = [factor for after, _ in sums.values() for term in after for factor in term.factors]

    # Carried values that are an output of the step before: their stack would be a copy of that output's.
    split = body.stop is None and body.truncate is None and not body.reverse and type(count) is int and count > 0
    shifted = {
        carry: (expand_dims(initial, axis=0), body.tap(new))
        for carry, initial, new in zip(body.carries, initials, body.following, strict=True)
        if split and carry in factors and new in body.outputs
    }
    given = dict(zip(body.sequences, sequences, strict=True))
    stacks = {
        node: of_window(given[node] if node in given else out[body.tap(node)])
        for node in residuals_of(body, [*following, *to_rows, *(node for node in factors if node not in shifted)])
    } | arriving
    reverse = LoopBody(
        sequences=list(stacks),
        carries=[*back.values(), *totals.values()],
        following=following,
        outputs=list({node: None for node in (*to_rows, *factors) if node not in stacks and node not in shifted}),
        reverse=not body.reverse,
        name=f"gradient of {body.name or 'scan'}",
    )
    if not reverse.carries and not to_rows and not factors:
        return [None, [None] * len(sequences), [None] * len(initials), [None] * len(captured)]
    call = loop(reverse, count, list(stacks.values()), start)

    def stacked(node: Node) -> Tensor:
        """Return the stack of a value over all steps."""
        if node not in stacks:
            return result(call, reverse.tap(node))
        stack = stacks[node]
        return stack if same_length(stack.node.shape[0], count) is True else stack[:count]

    def over_steps(term: Term) -> list[Tensor]:
        """Return the sum over the steps, in parts."""
        if shifted.keys().isdisjoint(term.factors):
            return [term.finish([stacked(factor) for factor in term.factors])]
        first_step = [shifted[node][0] if node in shifted else stacked(node)[:1] for node in term.factors]
        others = [out[shifted[node][1]][:-1] if node in shifted else stacked(node)[1:] for node in term.factors]
        return [term.finish(first_step), term.finish(others)]

    def total(node: Node) -> Tensor:
        """Return the gradient in a captured value."""
        parts = [part for term in sums[node][0] for part in over_steps(term)]
        if node in totals:
            parts.append(result(call, len(back) + list(totals).index(node)))
        return sum(parts[1:], start=parts[0])

    to_sequences = [
        _padded(stacked(partial[node]), first, sequence) if node in partial else None
        for node, sequence in zip(body.sequences, sequences, strict=True)
    ]
    finals = {position: result(call, index) for index, position in enumerate(back)}
    to_initials = [_reaching_start(p, finals, body.shifts, first) for p in range(len(body.carries))]
    return [None, to_sequences, to_initials, [total(node) if node in sums else None for node in body.captured]]


def _reaching_start(
    position: int, finals: Mapping[int, Tensor], shifts: Mapping[int, int], first: Size
) -> Tensor | None:
    """Return the gradient in an initial value; steps before `first` contribute only by shifting carried values."""
    found: Tensor | None = None
    carrier: int | None = position
    distance = 0
    while carrier is not None and carrier in finals:
        part = finals[carrier]
        if isinstance(first, Length):
            reached = asarray(first) == distance
            part = part * astype(reached, part.dtype)
        if isinstance(first, Length) or first == distance:
            found = part if found is None else found + part
        carrier = next((after for after, before in shifts.items() if before == carrier), None)
        distance += 1
    return found


def _padded(gradient: Tensor, first: Size, sequence: Tensor) -> Tensor:
    """Pad the gradient in a sequence with zeros for entries that were not read or not differentiated."""
    length, have = sequence.node.shape[0], gradient.node.shape[0]
    rest = sequence.node.shape[1:]
    parts = [gradient]
    if isinstance(first, Length) or first:
        parts.insert(0, zeros((first, *rest), dtype=gradient.dtype))
    if same_length(first + have, length) is not True:
        parts.append(zeros((length - first - have, *rest), dtype=gradient.dtype))
    return parts[0] if len(parts) == 1 else concat(parts, axis=0)


LOOP = declare(
    "loop", lambda *args: (), Joint(loop_rule), loop_runner, tags=frozenset({SUBGRAPH_TAG}), may_overlap=True
)


def captured_by(results: Sequence[Node], inner: Sequence[Node]) -> list[Node]:
    """Return the nodes that a step uses and that do not change from step to step, as late in the graph as possible."""
    order, varying = varying_in(results, inner)
    given = frozenset(inner)
    found: dict[Node, None] = {}
    for node in order:
        if node in varying and node not in given:
            found.update((parent, None) for parent in node.inputs if parent not in varying)
    found.update((node, None) for node in results if node not in varying)
    calls = [node for node in found if node.is_call]
    for call in calls:  # a call with several results is captured result by result
        del found[call]
    return list(found)


def loop(body: LoopBody, n_steps: Size, sequences: Sequence[Tensor], initials: Sequence[Tensor]) -> Node:
    """Record a loop and return its call; the results are `OUTPUT` nodes of the call."""
    body.captured = captured_by(body.results(), [*body.sequences, *body.carries])
    args = (n_steps, tuple(t.node for t in sequences), tuple(t.node for t in initials), tuple(body.captured))
    call = call_of(LOOP, args, payload=body, name=body.name)
    body.call = call
    body.count = n_steps if body.stop is None else value_length(result(call, body.steps).node)
    return call


def results_of(call: Node) -> tuple[list[Tensor], list[Tensor]]:
    """Return the final carried values of a loop and its stacked outputs."""
    body: LoopBody = call.payload
    finals = [result(call, index) for index in range(len(body.carries))]
    stacked = [result(call, body.first_tap + place) for place in range(len(body.outputs))]
    for position, carry in body.fed_back.items():
        stands_for_last(stacked[position].node, finals[carry].node)
    return finals, stacked
