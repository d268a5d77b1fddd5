"""Immediate evaluation of Tensors, with plans cached by the structure of the graph.

Small values that depend only on constants are cached on their nodes, in bounded memory, so that the run time of code
that evaluates intermediate values is linear in its number of steps.

Functions whose result has a data-dependent shape evaluate their arguments while recording. The arguments may depend on
variables and constants; an error is raised if they depend on placeholders, on lazy arrays or on random draws.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar, cast

from nbm_xp.namespace import (
    array_namespace,
    brought,
    default_namespace,
    floatx,
    host_namespace,
    is_lazy,
    library_name,
    running_namespace,
    to_numpy,
    use_backend,
)
from nbm_xp.namespace.compiling import compiled
from nbm_xp.namespace.memory import unshared

from .function import function
from .graph import ARGUMENT, CONSTANT, LEAVES, PLACEHOLDER, VARIABLE, Node, Result, is_differentiated, refuse_cut, walk
from .lengths import known, product
from .operations import rules_version
from .plans.plan import compile_plan, may_share, number_arguments, structural_key
from .plans.writer import keep
from .tensor import Tensor, as_tensor

T = TypeVar("T")

# Largest total size of the cached values, in bytes.
BUDGET = 32 * 2**20

# Number of elements of the largest cached value.
_LARGEST = 2**20

# Overhead of a cached value, in bytes.
_ENTRY = 512


def evaluate(value: Any, inputs: Mapping[Tensor, Any] | None = None) -> Any:
    """Compute Tensors now.

    Parameters
    ----------
    value : Tensor, or list or tuple of Tensors
        Tensors to compute.
    inputs : mapping of Tensor to array, optional
        Values of placeholders or of any other Tensors.

    Returns
    -------
    array, or list of arrays
        Arrays of the library on which the computation ran. They may be written to.

    Raises
    ------
    TypeError
        If a Tensor is being differentiated; as an array it would be a constant for the derivative.

    Notes
    -----
    Recorded arrays are constants and must not be written to afterwards, because small values that depend only on
    constants are computed once and cached.

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
        return _values([_uncut(item).node for item in value])
    return look(_uncut(value))


def _uncut(value: Any) -> Tensor:
    """Convert a value to a Tensor; raise if it is being differentiated."""
    tensor = as_tensor(value)
    refuse_cut(tensor.node, repr(tensor))
    return tensor


def look(tensor: Tensor) -> Any:
    """Return the value of a Tensor, even while it is being differentiated; by its last evaluator if still valid."""
    node = tensor.node
    found = None if node.evaluator is None else node.evaluator()
    return _values([node])[0] if found is None else found


@dataclass
class _Evaluator:
    """The leaves and the plan of a node's value, and the configuration for which the plan was compiled."""

    leaves: list[Node]
    made_for: Hashable
    plan: Plan

    def __call__(self) -> Any:
        """Return the value; None if the configuration has changed or an error occurred."""
        arrays = list(map(held, self.leaves))
        with suppress(Exception):
            if self.made_for == _configuration(_library_of(arrays)) and not any(map(_needs_function, self.leaves)):
                return self.plan(arrays)[0]
        return None


def _values(roots: Sequence[Node]) -> list[Any]:
    """Return the values of nodes as arrays that share no memory with variables, constants or cached values."""
    kept: dict[Node, Any] = {}  # another thread may evict entries meanwhile

    def operands(node: Node) -> Sequence[Node]:
        memo = node.memo
        if memo is None:
            return node.inputs
        kept[node] = memo
        return ()

    order = walk(roots, operands)
    if any(map(_needs_function, order)):
        return _by_function(roots)
    keep = [node for node in _lasting(order, kept) if node not in kept and _is_worth_keeping(node)]
    results = [*roots, *(node for node in keep if node not in roots)]

    def plan_of(leaves: Sequence[Node], xp: ModuleType) -> Plan:
        return planned(leaves, results, len(roots), xp, once=True)

    found = made_for_structure(("values", len(roots)), results, kept, plan_of)
    if found is None:
        return cast("list[Any]", function([], list(map(Tensor, roots)))())
    plan, leaves, arrays = found
    values = _run(plan, arrays, lambda: plan_of(leaves, plan.xp))
    if len(results) == 1 and roots[0] not in leaves and not keep:
        roots[0].evaluator = _Evaluator(leaves, _configuration(plan.xp), plan)
    found_of = dict(zip(results, values, strict=True))
    for node in keep:
        is_own = not node.call.op.may_overlap or not node.shape
        _keep(node, found_of[node] if is_own else _copied(found_of[node]))
    pairs = zip(roots, values, strict=False)
    return [_copied(value) if node.memo is value else value for node, value in pairs]


def _copied(array: Any) -> Any:
    return array_namespace(array).asarray(array, copy=True)


def _needs_function(node: Node) -> bool:
    """Return whether a node is a placeholder or a random draw, which only a `Function` handles."""
    return node.op is PLACEHOLDER or _is_drawn(node)


def _is_drawn(node: Node) -> bool:
    return node.op is VARIABLE and (node.payload.is_state or node.payload.default_update is not None)


def _by_function(roots: Sequence[Node]) -> list[Any]:
    if len(roots) > 1:
        return cast("list[Any]", function([], list(map(Tensor, roots)))())
    (node,) = roots
    if node.evaluator is None or isinstance(node.evaluator, _Evaluator):  # made before an update was set
        node.evaluator = function([], Tensor(node))
    return [node.evaluator()]


def _lasting(order: Sequence[Node], kept: Mapping[Node, Any]) -> list[Node]:
    """Return the nodes that depend on constants and cached values only, and on at least one of them."""
    changes: dict[Node, int] = {}  # 0 if a node depends on nothing, 1 if on constants only, else 2
    for node in order:
        if node in kept or node.op is CONSTANT:
            changes[node] = 1
        else:
            changes[node] = 2 if node.op in LEAVES else max([changes[other] for other in node.inputs], default=0)
    return [node for node in order if changes[node] == 1]


def _is_worth_keeping(node: Node) -> bool:
    if node.op in LEAVES or node.is_call:
        return False
    size = known(product(node.shape))
    return size is not None and size <= _LARGEST


# Nodes with cached values and the sizes of these in bytes, oldest first.
_kept: deque[tuple[weakref.ref[Node], int]] = deque()
_keeping = threading.Lock()
_room = BUDGET


def _keep(node: Node, value: Any) -> None:
    """Cache a value on its node; evict the oldest values if the cache exceeds its budget."""
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
    """A compiled graph without references to the arrays that it was recorded with; its inputs may include floats."""

    xp: ModuleType
    run: Callable[..., tuple[Any, ...]]
    scalars: tuple[int, ...]
    shared: tuple[int, ...]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the results in the plan's library; arrays of other libraries are converted to it."""
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
    """Compile a graph for a library; the first `returned` results are returned to the user.

    With `once`, the library's own compiler, which takes longer than a few runs, is not used. For `givens`, see
    `compile_plan`.
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
    """Return the values of the Tensors that `build` records, with a plan cached by `kind` and the structure of `roots`.

    `inputs` are arguments made of arrays. With `other_numbers`, graphs that differ only in the Python numbers of
    operators share a plan; `build` must then return `roots`.
    """
    numbers: dict[str, int] | None = {} if other_numbers else None

    def plan_of(leaves: Sequence[Node], xp: ModuleType) -> Plan:
        outputs = [tensor.node for tensor in build()]
        arguments, givens = number_arguments(outputs, leaves, numbers) if numbers else ([], None)
        return planned([*leaves, *arguments], outputs, len(outputs), xp, givens=givens)

    given = {tensor.node: held(tensor.node) for tensor in inputs}
    found = made_for_structure(kind, [root.node for root in roots], given, plan_of, numbers)
    if found is None:
        results: list[Any] = function(list(inputs), list(build()))(*given.values())
        return results
    plan, leaves, arrays = found
    return _run(plan, [*arrays, *map(float, numbers or ())], lambda: plan_of(leaves, plan.xp))


def made_for_structure(
    kind: Hashable,
    roots: Sequence[Node],
    given: Mapping[Node, Any],
    make: Callable[[Sequence[Node], ModuleType], T],
    numbers: dict[str, int] | None = None,
) -> tuple[T, list[Node], list[Any]] | None:
    """Return the result of `make` for this structure (cached), the leaves of the graph and their arrays.

    None if the graph has no structural key. `kind` identifies `make`, a function of the leaves and the library on which
    they run; `given` maps leaves, and nodes treated as leaves, to arrays; for `numbers`, see `structural_key`.
    """
    found = structural_key(roots, list(given), numbers)
    if found is None:
        return None
    structure, leaves = found
    arrays = [given[node] if node in given else held(node) for node in leaves]
    xp = _library_of(arrays)
    key = (kind, structure, _configuration(xp))
    made: T | None = _plans.get(key)
    if made is None:
        made = keep(_plans, key, make(leaves, xp), _CACHE_SIZE)
    return made, leaves, arrays


def _run(plan: Plan, arrays: Sequence[Any], anew: Callable[[], Plan]) -> list[Any]:
    """Run a plan; after an error, run a new plan, whose error names the lines that recorded this graph."""
    with suppress(Exception):
        return plan(arrays)
    return anew()(arrays)


def _library_of(arrays: Sequence[Any]) -> Any:
    """Return the namespace in which arrays are computed with."""
    found = {id(xp): xp for xp in map(array_namespace, arrays)}
    return next(iter(found.values())) if len(found) == 1 else running_namespace(arrays, default_namespace())


def _configuration(xp: ModuleType) -> Hashable:
    """Return everything on which a plan depends besides the structure of its graph.

    Namespaces are told apart by identity, for those of unlisted libraries need not be hashable.
    """
    return id(xp), floatx(), rules_version()


def held(node: Node) -> Any:
    """Return the array of a leaf or of an argument made of one, or the cached value of another node."""
    if node.reader is not None:
        return node.reader()
    if node.op is ARGUMENT:
        node = node.args[0]
    if node.op not in LEAVES:
        return node.memo
    return node.payload.value if node.op is VARIABLE else node.payload


def _why_unknown(node: Node, *, for_good: bool) -> str | None:
    """Return why a value is unknown now (with `for_good`, why it may change), or None if it is known."""
    arrays = []
    for needed in walk([node], lambda other: () if other.memo is not None else other.inputs):
        if needed.op is PLACEHOLDER:
            return f"it depends on the input {needed.name or repr(needed)}"
        if _is_drawn(needed):
            return "it depends on random draws, which are drawn anew at every run"
        if needed.op is VARIABLE and for_good:
            return f"it depends on {needed.payload!r}, which may be set"
        if needed.op in LEAVES or needed.memo is not None:
            arrays.append(held(needed))
    if is_lazy(_library_of(arrays)):
        return "it depends on lazy arrays, which are never computed implicitly"
    return None


def concrete(x: Tensor, function: str) -> Any:
    """Evaluate a Tensor for a function whose result has a length that depends on it.

    Raises
    ------
    ValueError
        If the value is not known yet; the message names the function and gives the reason.
    """
    reason = _why_unknown(x.node, for_good=False)
    if reason is not None:
        raise ValueError(
            f"the length of what {function} gives depends on data, which must be known while recording; {reason}"
        )
    return look(x)


def is_lasting(x: Tensor) -> bool:
    """Return whether a value depends only on constants and is not being differentiated."""
    return not is_differentiated(x.node) and _why_unknown(x.node, for_good=True) is None


def lasting_number(node: Node) -> Any:
    """Return the value of a constant scalar; None if it depends on inputs, variables or lazy arrays."""
    with use_backend(library_name(host_namespace())):  # scalars are the same in every library
        if _why_unknown(node, for_good=True) is not None:
            return None
        return to_numpy(look(Tensor(node))).item()
