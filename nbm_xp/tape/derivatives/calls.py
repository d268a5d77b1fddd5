"""Functions of arrays called on Tensors in the place of their arguments: what all derivatives of functions start from.

Arrays come in as constants, so that a function may look at values on the way (`if x.max() > 1`), under a mark that
tells which derivative they belong to. Where nothing else is involved, the result is computed at once by a plan that is
found again for the next call of the same structure. Where an argument is a Tensor already, or the function uses what
another derivative in progress has marked, the result is recorded: so derivatives nest.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    brought,
    default_namespace,
    dtype_name,
    floatx,
    host_namespace,
    is_array,
    is_lazy,
    running_namespace,
)
from nbm_xp.namespace.compiling import compiled

from ..function import function
from ..graph import ARGUMENT, IN_PROGRESS, Result, reachable
from ..node import PLACEHOLDER, VARIABLE, Node, rules_version
from ..plans.plan import compile_plan, keep, to_be_copied
from ..plans.structural_key import structural_key
from ..tensor import Tensor, as_tensor, is_tensor, record
from ..trees import leaves, mapped

__all__ = [
    "Call", "Plan", "argument", "cache_key", "called", "computed", "held", "is_foreign", "is_output",
    "is_settled", "planned", "recalled", "remembered",
]  # fmt: skip


def argument(value: Any) -> Tensor:
    """A Tensor for an array or Tensor, which no other recording has seen."""
    return record(ARGUMENT, as_tensor(value))


@dataclass
class Call:
    """What a function gave when it was called.

    Parameters
    ----------
    value
        The tree that it returned.
    targets
        For each argument to differentiate in, its tree with a Tensor at each leaf.
    recorded
        Whether results are Tensors, because something that is only recorded is involved.
    """

    value: Any
    targets: list[Any]
    recorded: bool

    @property
    def arguments(self) -> list[Tensor]:
        """All Tensors to differentiate in."""
        return list(leaves(self.targets))

    def outputs(self) -> list[Tensor]:
        """The Tensors among the leaves of the value, and its arrays as Tensors."""
        return [as_tensor(leaf) for leaf in leaves(self.value) if is_output(leaf)]

    def filled(self, values: Sequence[Any]) -> Any:
        """The value with these in the place of its Tensors and arrays."""
        rest = iter(values)
        return mapped(lambda leaf: next(rest) if is_output(leaf) else leaf, self.value)


def is_output(leaf: Any) -> bool:
    """Whether a leaf of a tree is an array, recorded or not."""
    return is_tensor(leaf) or is_array(leaf)


@contextmanager
def called(
    fn: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int], options: dict[str, Any]
) -> Iterator[Call]:
    """Call a function on Tensors in the place of all arrays; open until the derivative has been taken.

    Raises
    ------
    TypeError
        If `fn` is no function, or an argument to differentiate in holds something else than floating arrays.
    """
    if not callable(fn):
        raise TypeError(f"fn must be a function, got {type(fn).__name__}: give the function, not what it returns")
    positions = _positions(argnums, args)
    args = [mapped(_array, value) if position in positions else value for position, value in enumerate(args)]
    for position in positions:
        for leaf in leaves(args[position]):
            _check_floating(leaf, position)
    recorded = any(is_tensor(leaf) for value in args for leaf in leaves(value))
    targets = {position: mapped(argument, args[position]) for position in positions}
    given = [mapped(_handle, targets.get(position, value)) for position, value in enumerate(args)]
    marked = [target.node for target in leaves(targets)]
    IN_PROGRESS.update(marked)
    try:
        value = fn(*given, **options)
        roots = [leaf.node for leaf in leaves(value) if is_tensor(leaf)]
        recorded = recorded or is_foreign(roots, frozenset(marked))
        yield Call(value, [targets[position] for position in positions], recorded)
    finally:
        IN_PROGRESS.difference_update(marked)


def _handle(leaf: Any) -> Any:
    """What the function gets: a handle of its own, in which it may set elements."""
    if is_tensor(leaf):
        return Tensor(leaf.node)
    return as_tensor(leaf) if is_array(leaf) else leaf


def is_foreign(roots: Sequence[Node], own: frozenset[Node]) -> bool:
    """Whether a graph holds what has no value yet, or belongs to another derivative in progress."""
    return any(
        node.op is PLACEHOLDER or (node.op is ARGUMENT and node not in own and node in IN_PROGRESS)
        for node in reachable(roots, own)
    )


def is_settled(results: Sequence[Tensor]) -> bool:
    """Whether nothing that may change decides some values, and no derivative in progress goes through them."""
    nodes = reachable([result.node for result in results])
    return not any(node.op in (PLACEHOLDER, VARIABLE) or node in IN_PROGRESS for node in nodes)


def _positions(argnums: Sequence[int], args: Sequence[Any]) -> list[int]:
    """The arguments to differentiate in, counted from the front."""
    positions = []
    for number in map(operator.index, argnums):
        if not -len(args) <= number < len(args):
            raise TypeError(f"argnums names argument {number}, but {len(args)} were given")
        positions.append(number % len(args))
    return positions


def _array(leaf: Any) -> Any:
    """A leaf to differentiate in: a Python float counts as an array of `floatx` without axes."""
    return asarray(leaf, host_namespace(), dtype=floatx()) if type(leaf) is float else leaf


def _check_floating(leaf: Any, position: int) -> None:
    if type(leaf) is int:
        raise TypeError(f"argument {position} must be floating to differentiate in, got the integer {leaf}")
    if not is_output(leaf):
        raise TypeError(
            f"argument {position} must be an array to differentiate in, or a tuple, list or dict of arrays, "
            f"got {type(leaf).__name__}"
        )
    try:
        dtype = leaf.dtype if is_tensor(leaf) else dtype_name(leaf)
    except TypeError as error:
        raise TypeError(f"argument {position} must be floating to differentiate in: {error}") from error
    if dtype[0] not in "fc":
        raise TypeError(f"argument {position} must be floating to differentiate in, got {dtype}")


@dataclass(frozen=True)
class Plan:
    """A compiled graph that holds on to none of the arrays it was recorded with."""

    xp: ModuleType
    run: Callable[..., tuple[Any, ...]]
    scalars: tuple[int, ...]
    copied: tuple[int, ...]

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The results, in the plan's library, to which arrays of the host are converted."""
        results = list(self.run(*(a if array_namespace(a) is self.xp else brought(a, self.xp) for a in arrays)))
        for position in self.scalars:
            results[position] = self.xp.asarray(results[position])
        for position in self.copied:
            results[position] = self.xp.asarray(results[position], copy=True)
        return results


def planned(inputs: Sequence[Node], results: Sequence[Result], returned: int, xp: ModuleType) -> Plan:
    """Compile a graph for a library; the first results, as many as are `returned`, are the user's."""
    return Plan(
        xp,
        compiled(_without_graph(compile_plan(inputs, results, xp, lazy=is_lazy(xp))), xp),
        tuple(i for i, r in enumerate(results[:returned]) if isinstance(r, Node) and not r.shape),
        tuple(to_be_copied(results[:returned], returned, inputs, {})),
    )


def _without_graph(plan: Any) -> Any:
    """The plan with nothing but notes of where its lines were recorded: the graph would keep its constants alive."""
    plan.__kwdefaults__ = {name: copy.copy(value) for name, value in plan.__kwdefaults__.items()}
    return plan


_CACHE_SIZE = 256
_plans: dict[Hashable, Any] = {}


def computed(
    kind: Hashable, roots: Sequence[Tensor], inputs: Sequence[Tensor], build: Callable[[], Sequence[Tensor]]
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
    """
    arrays = [held(tensor.node) for tensor in inputs]
    found = structural_key([root.node for root in roots], [tensor.node for tensor in inputs])
    if found is None:
        results: list[Any] = function(list(inputs), list(build()))(*arrays)
        return results
    structure, nodes = found
    arrays += [held(node) for node in nodes[len(inputs) :]]
    key = (kind, structure, cache_key(arrays))

    def anew() -> Plan:
        outputs = [tensor.node for tensor in build()]
        return planned(nodes, outputs, len(outputs), running_namespace(arrays, default_namespace()))

    plan: Plan | None = recalled(key)
    if plan is None:
        plan = cast("Plan", remembered(key, anew()))
        return plan(arrays)
    with suppress(Exception):
        return plan(arrays)
    return anew()(arrays)  # fails again, with a note of where this graph was recorded instead of an equal one


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
    """The array that a leaf, or an argument made of one, holds."""
    if node.op is ARGUMENT:
        node = node.args[0]
    return node.payload.value if node.op is VARIABLE else node.payload
