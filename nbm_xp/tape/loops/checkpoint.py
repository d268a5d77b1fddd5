"""`checkpoint`: recompute intermediate values for the gradient instead of storing them.

A function is recorded as one call. Its reverse is another call, which recomputes the function from the arguments and
then computes the gradient, so that only the arguments are stored between the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from types import ModuleType
from typing import Any, TypeVar

from nbm_xp.namespace import is_lazy, kernel

from ..control import Until
from ..gradients import pull_back
from ..graph import LEAVES, Node, call_of, inner_placeholder, reachable, walk
from ..operations import SUBGRAPH_TAG, Joint, Spec, declare
from ..plans.plan import compile_plan
from ..tensor import Tensor, result
from ..trees import leaves, mapped
from ..variable import Variable, automatic_updates

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(eq=False)
class Remade:
    """A function recorded as one call.

    Parameters
    ----------
    inputs
        Placeholders of the arguments.
    outputs
        Results.
    captured
        Values from outside the function.
    again
        Whether the call is a recomputation, which must not be merged with the original.
    updates
        Variables with new values (states of random generators), mapped to the positions of these in `outputs`.
    """

    inputs: list[Node]
    outputs: list[Node]
    captured: list[Node]
    again: bool = False
    updates: dict[Variable, int] = field(default_factory=dict)

    def within(self) -> tuple[list[Node], list[Node], list[Node], Hashable]:
        """Return the placeholders, the captured values, the results and the settings of the call."""
        return self.inputs, self.captured, self.outputs, self.again

    def state_updates(self, call: Node) -> dict[Variable, Tensor]:
        """Return the new values of variables after the call."""
        return {variable: result(call, index) for variable, index in self.updates.items()}

    def n_results(self) -> int:
        """Return the number of results."""
        return len(self.outputs)

    def spec(self, index: int) -> Spec:
        """Return the shape and dtype of a result."""
        return self.outputs[index].shape, self.outputs[index].dtype


def _run(
    plan: Callable[..., tuple[Any, ...]],
    barrier: Callable[[Any], Any] | None,
    inputs: tuple[Any, ...],
    captured: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Run a compiled function on arguments and captured values."""
    if barrier is not None:
        inputs, captured = barrier((inputs, captured))
    return plan(*inputs, *captured)


def _runner(xp: ModuleType, call: Remade, needed: frozenset[int], unstacked: frozenset[int]) -> Callable[..., Any]:
    """Return the function that computes the needed results with a library."""
    wanted = [call.outputs[index] for index in sorted(needed)]
    plan = compile_plan([*call.inputs, *call.captured], wanted, xp, lazy=is_lazy(xp))
    return partial(_run, plan, kernel("compiling.barrier", xp) if call.again else None)


def _rule(g: dict[int, Tensor], out: Any, inputs: Any, captured: Any, *, payload: Remade) -> list[Any]:
    """Record one call that recomputes the function and computes its gradient."""
    seeds = {index: inner_placeholder(cotangent.node.shape, cotangent.dtype) for index, cotangent in g.items()}
    targets = [*payload.inputs, *payload.captured]
    roots = [payload.outputs[index] for index in g]
    partial = pull_back(roots, [Tensor(seed) for seed in seeds.values()], targets, as_leaves=True)
    found = [gradient.node for gradient in partial if gradient is not None]
    stops = frozenset(payload.captured)
    results = iter(
        remade(
            [*payload.inputs, *seeds.values()], [*inputs, *g.values()], found, lambda node: node in stops, again=True
        )
    )
    gradients = [None if gradient is None else next(results) for gradient in partial]
    return [gradients[: len(inputs)], gradients[len(inputs) :]]


_CHECKPOINT = declare(
    "checkpoint", lambda *args: (), gradient=Joint(_rule), run=_runner, tags=frozenset({SUBGRAPH_TAG}), may_overlap=True
)


def remade(
    inner: Sequence[Node],
    arguments: Sequence[Tensor],
    results: Sequence[Node],
    is_outside: Callable[[Node], bool],
    *,
    again: bool = False,
    updates: Sequence[tuple[Variable, Node]] = (),
) -> list[Tensor]:
    """Record the graph from `inner` to `results` as one call with `arguments`.

    Parameters
    ----------
    inner
        Placeholders of the arguments.
    arguments
        Arguments of the call.
    results
        Results of the graph.
    is_outside
        Function that returns whether a node is outside the call, which then captures it.
    again
        Whether the call is a recomputation.
    updates
        Variables and their new values.
    """
    outputs = list(dict.fromkeys([*results, *(node for _, node in updates)]))
    captured = _captured(outputs, frozenset(inner), is_outside)
    places = {variable: outputs.index(node) for variable, node in updates}
    payload = Remade(list(inner), outputs, captured, again, places)
    args = (tuple(tensor.node for tensor in arguments), tuple(captured))
    call = call_of(_CHECKPOINT, args, payload=payload)
    return [result(call, outputs.index(node)) for node in results]


def _captured(results: Sequence[Node], inner: frozenset[Node], is_outside: Callable[[Node], bool]) -> list[Node]:
    """Return the nodes that the results use from outside."""

    def is_end(node: Node) -> bool:
        return node.op in LEAVES or is_outside(node.call)

    order = walk(results, lambda node: () if node in inner or is_end(node) else node.inputs)
    return [node for node in order if node not in inner and is_end(node)]


def checkpoint(function: F) -> F:
    """Return a function whose intermediate values are recomputed for the gradient instead of stored.

    Parameters
    ----------
    function : callable
        Function of Tensors that returns a Tensor or a tuple, list or dict of Tensors. It may be the step of a `scan`,
        with updates and `until`. Random numbers are drawn again from the same states and are therefore equal.

    Returns
    -------
    callable
        Function with the same arguments and results. Its gradient stores only the arguments and the values that
        `function` uses from outside, and costs one more forward pass. Called without Tensors, it calls `function`.

    Notes
    -----
    A `scan` of a checkpointed step stores only the carried values of each step. If N steps are split into a `scan` over
    sqrt(N) checkpointed segments, each a `scan` over sqrt(N) steps, the memory grows with sqrt(N).

    Examples
    --------
    >>> from nbm_xp.tape import Variable, checkpoint, gradients
    >>> from nbm_xp.tape import namespace as xp
    >>> @checkpoint
    ... def layer(x):
    ...     return xp.exp(xp.sin(x) * 2.0)
    >>> x = Variable(0.0)
    >>> float(layer(x)), float(gradients(layer(x), x))
    (1.0, 2.0)
    """

    @wraps(function)
    def checkpointed(*args: Any, **keywords: Any) -> Any:
        given = [leaf for leaf in leaves((args, keywords)) if isinstance(leaf, Tensor)]
        if not given:
            return function(*args, **keywords)
        stand_ins = {
            tensor.node: inner_placeholder(tensor.node.shape, tensor.dtype, tensor.name)
            for tensor in given
            if not isinstance(tensor, Variable)  # variables keep their value, updates and name
        }
        first = inner_placeholder((), "bool").serial

        def inside(leaf: Any) -> Any:
            return Tensor(stand_ins[leaf.node]) if isinstance(leaf, Tensor) and leaf.node in stand_ins else leaf

        inner_args, inner_keywords = mapped(inside, (args, keywords))
        value = function(*inner_args, **inner_keywords)
        outside = {inner: Tensor(node) for node, inner in stand_ins.items()}
        return _as_results(value, outside, lambda node: node.serial < first)

    return checkpointed  # type: ignore[return-value]


def _as_results(value: Any, arguments: dict[Node, Tensor], is_outside: Callable[[Node], bool]) -> Any:
    """Record the results of a function as the results of one call."""
    roots = {leaf: node for leaf in leaves(value) if (node := _computed(leaf)) is not None}
    if not roots:
        return value
    inner = frozenset(arguments)
    nodes = list(roots.values())
    captured = _captured(nodes, inner, is_outside)
    updates = {
        variable: new.node
        for variable, new in automatic_updates(reachable(nodes, [*inner, *captured])).items()
        if not is_outside(new.node.call)
    }
    results = remade(list(arguments), list(arguments.values()), nodes, is_outside, updates=list(updates.items()))
    found = dict(zip(roots, results, strict=True))

    def outside(leaf: Any) -> Any:
        if _computed(leaf) is None:
            return leaf
        return Until(found[leaf]) if isinstance(leaf, Until) else found[leaf]

    return mapped(outside, value)


def _computed(leaf: Any) -> Node | None:
    """Return the node of a leaf computed by the function; None for a variable, an array or a number."""
    if isinstance(leaf, Until):
        return leaf.condition.node
    return leaf.node if isinstance(leaf, Tensor) and not isinstance(leaf, Variable) else None
