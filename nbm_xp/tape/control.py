"""Control flow: `ifelse`, which computes only the selected branch, and `until`, which ends a scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Any, TypeAlias

from .dtypes import common_dtype
from .graph import OUTPUT, Node, call_of
from .lengths import Size, axis_length, same_length
from .operations import declare
from .standard.data_types import astype
from .tensor import Tensor, as_tensor, output


def _run_both(xp: Any, condition: Any, taken: tuple[Any, ...], otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
    """Compute both branches and select one, for conditions without a concrete value."""
    return tuple(xp.where(condition, a, b) for a, b in zip(taken, otherwise, strict=True))


IFELSE = declare("ifelse", lambda *args: [], run=_run_both, may_overlap=True)


def ifelse(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Select one of two values by a condition that is evaluated when the graph runs.

    Parameters
    ----------
    condition : Tensor
        Scalar; 0 is false.
    then_expression, else_expression : Tensor, or list or tuple of Tensors
        Values of the two branches, equal in number and in numbers of axes; different dtypes are promoted. Only the
        selected branch is computed (on a lazy library, both).

    Returns
    -------
    Tensor, or list of Tensor

    Raises
    ------
    TypeError
        If the condition is not a scalar, or the values differ in their number of axes.
    ValueError
        If the branches differ in their number of values.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, ifelse
    >>> x = Variable(2.0)
    >>> float(ifelse(x > 1.0, x * 10.0, x))
    20.0
    """
    single = not isinstance(then_expression, (list, tuple)) and not isinstance(else_expression, (list, tuple))
    taken = [as_tensor(v) for v in ([then_expression] if single else then_expression)]
    otherwise = [as_tensor(v) for v in ([else_expression] if single else else_expression)]
    if len(taken) != len(otherwise):
        raise ValueError(f"both branches must have as many values, got {len(taken)} and {len(otherwise)}")
    chosen = as_tensor(condition)
    if chosen.ndim:
        raise TypeError(f"condition must be a scalar, with 0 for false, got shape {chosen.shape}")
    if chosen.dtype != "bool":
        chosen = chosen != 0
    pairs = [_alike(a, b) for a, b in zip(taken, otherwise, strict=True)]
    args = (chosen.node, tuple(a.node for a, _ in pairs), tuple(b.node for _, b in pairs))
    call = call_of(IFELSE, args)
    results = [Tensor(_merged(call, index, a.node, b.node)) for index, (a, b) in enumerate(pairs)]
    return results[0] if single else results


def _alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    if a.ndim != b.ndim:
        raise TypeError(f"both branches must have as many axes, got shapes {a.shape} and {b.shape}")
    dtype = common_dtype(a.dtype, b.dtype)
    first, second = (t if t.dtype == dtype else astype(t, dtype) for t in (a, b))
    return first, second


def _merged(call: Node, index: int, a: Node, b: Node) -> Node:
    """Create one result of an `ifelse`; a length in which the branches differ becomes a new symbolic length."""
    node = output(call, index, (), a.dtype)
    lengths: list[Size] = []
    for axis, (left, right) in enumerate(zip(a.shape, b.shape, strict=True)):
        lengths.append(left if same_length(left, right) else axis_length(node, axis))
    node.shape = tuple(lengths)
    return node


# A path into nested branches, outermost first: pairs of a condition and the index of its branch.
#
# Calls with the same condition share their branches.
BranchPath: TypeAlias = tuple[tuple[Node, int], ...]


def _common_path(a: BranchPath, b: BranchPath) -> BranchPath:
    """Return the innermost branch that contains both paths."""
    return tuple(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def branch_paths(
    order: Sequence[Node],
    roots: Iterable[Node],
    operands: Callable[[Node], Sequence[Node]] = attrgetter("inputs"),
    resolve: Callable[[Node], Node] = lambda node: node,
    *,
    both: bool = False,
) -> tuple[dict[Node, BranchPath], dict[Node, set[int]]]:
    """Return the innermost branch that contains all uses of each needed node, and the needed results of each call.

    Parameters
    ----------
    order
        Nodes, inputs before their users.
    roots
        Results of the graph, which are outside all branches.
    operands
        Function that returns the arguments of a node.
    resolve
        Function that returns the replacement of a node.
    both
        Whether both branches are always computed, so that no node is inside a branch.
    """
    paths: dict[Node, BranchPath] = dict.fromkeys(roots, ())
    needed: dict[Node, set[int]] = defaultdict(set)
    for node in reversed(order):
        path = paths.get(node)
        if path is None:  # for example an unused value of a branch
            continue
        uses: list[tuple[Node, BranchPath]]
        if node.op is IFELSE and not both:
            condition, *branches = node.args
            chosen = resolve(condition)
            inside = [(*path, (chosen, branch)) for branch in range(len(branches))]
            uses = [(resolve(branches[branch][i]), way) for branch, way in enumerate(inside) for i in needed[node]]
            uses.append((chosen, path))
        else:
            others = operands(node)
            uses = [(other, path) for other in others]
            if others and node.op is OUTPUT:  # and the result is not an input
                needed[resolve(node.args[0])].add(node.args[1])
        for other, way in uses:
            before = paths.get(other)
            paths[other] = way if before is None or before == way else _common_path(before, way)
    return paths, needed


def recorded_paths(order: Sequence[Node], roots: Iterable[Node]) -> dict[Node, BranchPath]:
    """Return the branch of each node of a recorded graph (of a result, its call's)."""
    paths, _ = branch_paths(order, roots)
    return paths | {node: paths[node.args[0]] for node in order if node.op is OUTPUT and node in paths}


class Until:
    """A condition that ends a scan, created by `until`."""

    __slots__ = ("condition",)

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor(condition)
        if self.condition.ndim:
            raise TypeError(f"condition must be a scalar, got shape {self.condition.shape}")


def until(condition: Any) -> Until:
    """End a scan after the first step in which a condition is true.

    Parameters
    ----------
    condition : Tensor
        Scalar.

    Returns
    -------
    Until
        The condition, which the step function returns in addition to its outputs.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, scan, until
    >>> doubled, _ = scan(lambda x: (2 * x, until(2 * x > 50.0)), outputs_info=Variable(1.0), n_steps=30)
    >>> float(doubled[-1])
    64.0
    """
    return Until(condition)
