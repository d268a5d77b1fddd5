"""Values of Tensors now: by plans that are found again for the next graph of the same structure.

What constants alone decide is kept on its node as far as it is small, in bounded memory, so that code that looks at its
values as it goes on takes time in proportion to its steps.

Functions whose result has a shape that depends on data look at values while recording. Variables and constants may be
looked at. Inputs have no value yet, arrays of a lazy library are computed only when the user says so, and random draws
are drawn anew at every run: where one of these is involved, an error is raised.
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

__all__ = [
    "Plan", "computed", "concrete", "evaluate", "held", "is_lasting", "lasting_number", "look", "made_for_structure",
    "planned",
]  # fmt: skip

T = TypeVar("T")

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
        return _values([_uncut(item).node for item in value])
    return _value(_uncut(value).node)


def _uncut(value: Any) -> Tensor:
    """The value as a Tensor, unless it is being differentiated."""
    tensor = as_tensor(value)
    refuse_cut(tensor.node, repr(tensor))
    return tensor


def look(tensor: Tensor) -> Any:
    """The value of a Tensor, though it may be differentiated."""
    return _value(tensor.node)


def _value(node: Node) -> Any:
    """The value of a node, as it was found last where nothing has changed."""
    found = None if node.evaluator is None else node.evaluator()
    return _values([node])[0] if found is None else found


@dataclass
class _Evaluator:
    """How the value of a node was found: from which leaves, by what plan, and what this was compiled for."""

    leaves: list[Node]
    made_for: Hashable
    plan: Plan

    def __call__(self) -> Any:
        """The value; None where something has changed, or there is an error."""
        arrays = list(map(held, self.leaves))
        if self.made_for == _configuration(arrays) and not any(map(_needs_function, self.leaves)):
            with suppress(Exception):
                return self.plan(arrays)[0]
        return None


def _values(roots: Sequence[Node]) -> list[Any]:
    """The values of nodes: arrays that share no memory with variables, constants or kept values."""
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
        roots[0].evaluator = _Evaluator(leaves, _configuration(arrays), plan)
    found_of = dict(zip(results, values, strict=True))
    for node in keep:
        is_own = not node.call.op.may_overlap or not node.shape
        _keep(node, found_of[node] if is_own else _copied(found_of[node]))
    pairs = zip(roots, values, strict=False)
    return [_copied(value) if node.memo is value else value for node, value in pairs]


def _copied(array: Any) -> Any:
    return array_namespace(array).asarray(array, copy=True)


def _needs_function(node: Node) -> bool:
    """Whether a value has no plan of its own: it is missing, or drawn at random."""
    return node.op is PLACEHOLDER or _is_drawn(node)


def _is_drawn(node: Node) -> bool:
    return node.op is VARIABLE and (node.payload.is_state or node.payload.default_update is not None)


def _by_function(roots: Sequence[Node]) -> list[Any]:
    if len(roots) > 1:
        return cast("list[Any]", function([], list(map(Tensor, roots)))())
    (node,) = roots
    if node.evaluator is None or isinstance(node.evaluator, _Evaluator):  # a plan of before an update was given
        node.evaluator = function([], Tensor(node))
    return [node.evaluator()]


def _lasting(order: Sequence[Node], kept: Mapping[Node, Any]) -> list[Node]:
    """The nodes whose values follow from constants and kept values, and not from the configuration alone."""
    lasting: set[Node] = set()
    free: set[Node] = set()
    for node in order:
        if node in kept or node.op is CONSTANT:
            lasting.add(node)
        elif node.op not in LEAVES and all(other in lasting or other in free for other in node.inputs):
            (free if all(other in free for other in node.inputs) else lasting).add(node)
    return [node for node in order if node in lasting]


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
    """The values of what `build` records, unless a graph of the structure of `roots` was compiled for this `kind`.

    `inputs` are arguments made of arrays. With `other_numbers`, a graph in which operators take other numbers is
    computed by the same plan; `build` returns `roots` then.
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
    """What `make` made for another graph of the same structure, or makes now; the leaves of this one, and their arrays.

    None where a graph has no structure that another recording could equal. `kind` says what `make` makes, of leaves and
    the library that they run on; `given` has the arrays of leaves, and of nodes that count as leaves; `numbers` are as
    `structural_key` takes them.
    """
    found = structural_key(roots, list(given), numbers)
    if found is None:
        return None
    structure, leaves = found
    arrays = [given[node] if node in given else held(node) for node in leaves]
    key = (kind, structure, _configuration(arrays))
    made: T | None = _plans.get(key)
    if made is None:
        made = keep(_plans, key, make(leaves, running_namespace(arrays, default_namespace())), _CACHE_SIZE)
    return made, leaves, arrays


def _run(plan: Plan, arrays: Sequence[Any], anew: Callable[[], Plan]) -> list[Any]:
    """What a plan computes; one made anew fails again, with a note of where this graph was recorded."""
    with suppress(Exception):
        return plan(arrays)
    return anew()(arrays)


def _configuration(arrays: Sequence[Any]) -> Hashable:
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


def _why_unknown(node: Node, *, for_good: bool) -> str | None:
    """Why a value is not known now, or not for good; None where it is."""
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
    if is_lazy(running_namespace(arrays, default_namespace())):
        return "it depends on lazy arrays, which are never computed unasked"
    return None


def concrete(x: Tensor, function: str) -> Any:
    """The array that a Tensor is, looked at now for a function whose result's length depends on it.

    Raises
    ------
    ValueError
        If the value is not known yet; the message names the function and says why.
    """
    reason = _why_unknown(x.node, for_good=False)
    if reason is not None:
        raise ValueError(
            f"the length of what {function} gives depends on data, which must be known while recording; {reason}"
        )
    return look(x)


def is_lasting(x: Tensor) -> bool:
    """Whether constants alone decide a value, which is there for the asking: what is differentiated is none."""
    return not is_differentiated(x.node) and _why_unknown(x.node, for_good=True) is None


def lasting_number(node: Node) -> Any:
    """The value of a scalar that nothing can change; None where inputs, variables or lazy arrays decide it."""
    with use_backend(library_name(host_namespace())):  # for numbers alone, which are the same in every library
        if _why_unknown(node, for_good=True) is not None:
            return None
        return to_numpy(_value(node)).item()
