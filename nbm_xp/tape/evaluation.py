"""Values of Tensors now: by plans that are found again for the next graph of the same structure.

What constants alone decide is kept on its node as far as it is small, in bounded memory, so that code that looks at its
values as it goes on takes time in proportion to its steps.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from nbm_xp.namespace import array_namespace, brought, default_namespace, floatx, is_lazy, running_namespace
from nbm_xp.namespace.compiling import compiled
from nbm_xp.namespace.memory import unshared

from .function import function
from .graph import ARGUMENT, Result, refuse_cut, walk
from .lengths import known, product
from .node import CONSTANT, LEAVES, PLACEHOLDER, VARIABLE, Node, rules_version
from .plans.plan import compile_plan, may_share
from .plans.structural_key import number_arguments, structural_key
from .plans.writer import keep
from .tensor import Tensor, as_tensor

__all__ = [
    "Plan", "cache_key", "computed", "evaluate", "held", "look", "planned", "recalled", "remembered",
]  # fmt: skip

BUDGET = 32 * 2**20
"""Bytes that all kept values together may take."""

_LARGEST = 2**20
"""Elements of the largest value that is kept."""

_ENTRY = 512
"""Bytes that a value takes besides its elements."""


def evaluate(value: Any, inputs: Mapping[Tensor, Any] | None = None) -> Any:
    """Compute Tensors now.

    Parameters
    ----------
    value : Tensor, or list or tuple of Tensors
        What to compute.
    inputs : mapping of Tensor to array, optional
        Values for placeholders, or for any other Tensors.

    Returns
    -------
    array, or list of arrays
        In the library that the computation ran on; yours to write to.

    Raises
    ------
    TypeError
        If a derivative that is being taken goes through a Tensor, which as an array would count as a constant.

    Notes
    -----
    An array that was recorded is a constant: it must not be written to afterwards, for values computed from constants
    alone are computed once and kept, as far as they are small.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, evaluate, placeholder
    >>> x, y = Variable(2.0), placeholder(())
    >>> float(evaluate(x * x)), float(evaluate(x * y, {y: 10.0}))
    (4.0, 20.0)
    """
    if inputs:
        keys = list(inputs)
        return function(keys, list(value) if isinstance(value, tuple) else value)(*(inputs[key] for key in keys))
    if isinstance(value, (list, tuple)):
        return _values([_uncut(item).node for item in value], own=True)
    return _values([_uncut(value).node], own=True)[0]


def _uncut(value: Any) -> Tensor:
    """The value as a Tensor, unless it is being differentiated."""
    tensor = as_tensor(value)
    refuse_cut(tensor.node, repr(tensor))
    return tensor


def look(tensor: Tensor) -> Any:
    """The value of a Tensor to be read and not to be written to."""
    return _values([tensor.node], own=False)[0]


def _values(roots: Sequence[Node], *, own: bool) -> list[Any]:
    """The values of nodes; with `own`, arrays that share no memory with variables, constants or kept values."""
    kept: dict[Node, Any] = {}  # another thread may make room meanwhile

    def operands(node: Node) -> Sequence[Node]:
        memo = node.memo
        if memo is None:
            return node.inputs
        kept[node] = memo
        return ()

    order = walk(roots, operands)
    if any(map(_needs_function, order)):
        return _by_function(roots)
    lasting = _lasting(order, kept)
    keep = [node for node in order if node in lasting and node not in kept and _is_worth_keeping(node)]
    results = [*roots, *(node for node in keep if node not in roots)]
    found = structural_key(results, list(kept))
    if found is None:
        return cast("list[Any]", function([], list(map(Tensor, roots)))())
    structure, leaves = found
    arrays = [kept[node] if node in kept else held(node) for node in leaves]
    key: Hashable = ("values", own, len(roots), structure, cache_key(arrays))

    def anew() -> Plan:
        xp = running_namespace(arrays, default_namespace())
        return planned(leaves, results, len(roots) if own else 0, xp, once=True)

    values = _run(key, anew, arrays)
    found_of = dict(zip(results, values, strict=True))
    for node in keep:
        is_own = not node.call.op.may_overlap or not node.shape
        _keep(node, found_of[node] if is_own else _copied(found_of[node]))
    pairs = zip(roots, values, strict=False)
    return [_copied(value) if own and node.memo is value else value for node, value in pairs]


def _copied(array: Any) -> Any:
    return array_namespace(array).asarray(array, copy=True)


def _needs_function(node: Node) -> bool:
    """Whether a value has no plan of its own: it is missing, or drawn at random."""
    if node.op is VARIABLE:
        return node.payload.is_state or node.payload.default_update is not None
    return node.op is PLACEHOLDER


def _by_function(roots: Sequence[Node]) -> list[Any]:
    if len(roots) > 1:
        return cast("list[Any]", function([], list(map(Tensor, roots)))())
    (node,) = roots
    if node.evaluator is None:
        node.evaluator = function([], Tensor(node))
    return [node.evaluator()]


def _lasting(order: Sequence[Node], kept: Mapping[Node, Any]) -> set[Node]:
    """The nodes whose values follow from constants and kept values, and not from the configuration alone."""
    lasting: set[Node] = set()
    free: set[Node] = set()
    for node in order:
        if node in kept or node.op is CONSTANT:
            lasting.add(node)
        elif node.op not in LEAVES and all(other in lasting or other in free for other in node.inputs):
            (free if all(other in free for other in node.inputs) else lasting).add(node)
    return lasting


def _is_worth_keeping(node: Node) -> bool:
    if node.op in LEAVES or node.is_call:
        return False
    size = known(product(node.shape))
    return size is not None and size <= _LARGEST


_kept: deque[tuple[weakref.ref[Node], int]] = deque()
"""The nodes that keep their values, and how much each takes, the oldest first."""
_keeping = threading.Lock()
_room = BUDGET


def _keep(node: Node, value: Any) -> None:
    """Keep a value on its node; where all together take too much, the oldest go."""
    global _room
    node.memo = value
    size = node.dtype.itemsize * cast("int", known(product(node.shape))) + _ENTRY
    with _keeping:
        _kept.append((weakref.ref(node), size))
        _room -= size
        while _room < 0:
            reference, gone = _kept.popleft()
            _room += gone
            oldest = reference()
            if oldest is not None:
                oldest.memo = None


@dataclass(frozen=True)
class Plan:
    """A compiled graph that holds on to none of the arrays it was recorded with; numbers may stand among its inputs."""

    xp: ModuleType
    run: Callable[..., tuple[Any, ...]]
    scalars: tuple[int, ...]
    shared: tuple[int, ...]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results, in the plan's library, to which arrays of the host are converted."""
        given = [a if type(a) is float or array_namespace(a) is self.xp else brought(a, self.xp) for a in arrays]
        results = list(self.run(*given))
        for position in self.scalars:
            results[position] = self.xp.asarray(results[position])
        for position in self.shared:
            results[position] = unshared(results[position], [*given, *results[:position]])
        return results


def planned(
    inputs: Sequence[Node],
    results: Sequence[Result],
    returned: int,
    xp: ModuleType,
    *,
    once: bool = False,
    givens: Mapping[Node, Node] | None = None,
) -> Plan:
    """Compile a graph for a library; the first results, as many as are `returned`, are the user's.

    With `once`, the library's own compiler is not asked: it takes longer than a few runs. `givens` as for a plan.
    """
    plan = compile_plan(inputs, results, xp, givens=givens, lazy=is_lazy(xp))
    return Plan(
        xp,
        plan if once else compiled(plan, xp),
        tuple(i for i, r in enumerate(results[:returned]) if isinstance(r, Node) and not r.shape),
        tuple(may_share(results[:returned], givens)),
    )


_CACHE_SIZE = 512
_plans: dict[Hashable, Any] = {}


def computed(
    kind: Hashable,
    roots: Sequence[Tensor],
    inputs: Sequence[Tensor],
    build: Callable[[], Sequence[Tensor]],
    *,
    other_numbers: bool = False,
) -> list[Any]:
    """The values of what `build` records; it need not record what a graph of the same structure was compiled for.

    Parameters
    ----------
    kind : hashable
        What `build` makes of the graph: equal for the same.
    roots : sequence of Tensor
        What the graph computes.
    inputs : sequence of Tensor
        Arguments (see `argument`) made of arrays.
    build : callable
        Records the results from `roots` and `inputs`.
    other_numbers : bool
        Whether a graph in which operators take other numbers is computed by the same plan; `build` returns `roots`.
    """
    arrays = [held(tensor.node) for tensor in inputs]
    numbers: dict[str, int] | None = {} if other_numbers else None
    found = structural_key([root.node for root in roots], [tensor.node for tensor in inputs], numbers)
    if found is None:
        results: list[Any] = function(list(inputs), list(build()))(*arrays)
        return results
    structure, nodes = found
    arrays += [held(node) for node in nodes[len(inputs) :]]
    key = (kind, structure, cache_key(arrays))

    def anew() -> Plan:
        outputs = [tensor.node for tensor in build()]
        arguments, givens = number_arguments(outputs, nodes, numbers) if numbers else ([], None)
        xp = running_namespace(arrays, default_namespace())
        return planned([*nodes, *arguments], outputs, len(outputs), xp, givens=givens)

    return _run(key, anew, [*arrays, *map(float, numbers or ())])


def _run(key: Hashable, anew: Callable[[], Plan], arrays: Sequence[Any]) -> list[Any]:
    """What the plan of a key computes from arrays; `anew` makes it."""
    plan: Plan | None = recalled(key)
    if plan is None:
        plan = cast("Plan", remembered(key, anew()))
    with suppress(Exception):
        return plan(arrays)
    return anew()(arrays)  # fails again, with a note of where this graph was recorded


def recalled(key: Hashable) -> Any:
    """What was compiled under a key, or None."""
    return _plans.get(key)


def remembered(key: Hashable, value: Any) -> Any:
    """Keep what was compiled; another thread's, if it came first."""
    return keep(_plans, key, value, _CACHE_SIZE)


def cache_key(arrays: Sequence[Any]) -> Hashable:
    """What a plan depends on besides the structure of its graph."""
    return tuple(map(type, arrays)), floatx(), default_namespace(), rules_version()


def held(node: Node) -> Any:
    """The array that a leaf, or an argument made of one, holds, or that was kept of any other value."""
    if node.reader is not None:
        return node.reader()
    if node.op is ARGUMENT:
        node = node.args[0]
    if node.op not in LEAVES:
        return node.memo
    return node.payload.value if node.op is VARIABLE else node.payload
