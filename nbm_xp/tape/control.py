"""Control flow by value: `ifelse`, which computes only the branch that is taken, and `until`, which ends a scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from .dtypes import common_dtype
from .graph import OUTPUT, Node, call_of
from .lengths import Size, axis_length, same_length
from .operations import declare
from .standard.data_types import astype
from .tensor import Tensor, as_tensor, output

__all__ = ["BranchPath", "IFELSE", "Until", "branch_paths", "ifelse", "recorded_paths", "until"]


def _run_both(xp: Any, condition: Any, taken: tuple[Any, ...], otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where a value cannot be looked at, both branches are computed and one is selected."""
    return tuple(xp.where(condition, a, b) for a, b in zip(taken, otherwise, strict=True))


IFELSE = declare("ifelse", lambda *args: [], run=_run_both, may_overlap=True)


def ifelse(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two values, by a condition that is known when the graph runs.

    Parameters
    ----------
    condition : Tensor
        A scalar; 0 is false.
    then_expression, else_expression : Tensor, or list or tuple of Tensors
        The values; equal in number, dtype and number of axes. Only what the chosen one needs is computed (on a lazy
        library both are).

    Returns
    -------
    Tensor, or list of Tensor

    Raises
    ------
    TypeError
        If the condition is no scalar, or the values differ in their number of axes.
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
    """The result of a branch; a length in which the branches differ is a symbol of its own."""
    node = output(call, index, (), a.dtype)
    lengths: list[Size] = []
    for axis, (left, right) in enumerate(zip(a.shape, b.shape, strict=True)):
        lengths.append(left if same_length(left, right) else axis_length(node, axis))
    node.shape = tuple(lengths)
    return node


BranchPath: TypeAlias = tuple[tuple[Node, int], ...]
"""The way into nested branches, from outside in: a condition, and which of its branches.

Two choices by one condition share their branches.
"""


def _common_path(a: BranchPath, b: BranchPath) -> BranchPath:
    """The innermost branch that holds both."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return a[:length]


def branch_paths(
    order: Sequence[Node],
    roots: Iterable[Node],
    operands: Callable[[Node], Sequence[Node]] = attrgetter("inputs"),
    resolve: Callable[[Node], Node] = lambda node: node,
    *,
    both: bool = False,
) -> tuple[dict[Node, BranchPath], dict[Node, set[int]]]:
    """The innermost branch that holds all uses of each value that is needed, and which results of each call are.

    Parameters
    ----------
    order
        The values, inputs before their users.
    roots
        Those that are asked for outside all branches.
    operands
        What each is computed from.
    resolve
        Gives the node that is computed in the place of another.
    both
        Whether both branches are computed, so that there are none to be inside of.
    """
    paths: dict[Node, BranchPath] = dict.fromkeys(roots, ())
    needed: dict[Node, set[int]] = defaultdict(set)
    for node in reversed(order):
        path = paths.get(node)
        if path is None:  # such as an unused value of a branch
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
            if others and node.op is OUTPUT:  # and none that is given
                needed[resolve(node.args[0])].add(node.args[1])
        for other, way in uses:
            before = paths.get(other)
            paths[other] = way if before is None or before == way else _common_path(before, way)
    return paths, needed


def recorded_paths(order: Sequence[Node], roots: Iterable[Node]) -> dict[Node, BranchPath]:
    """The branch of each value of a graph as it was recorded, a result where its call is; empty without branches."""
    if not any(node.op is IFELSE for node in order):
        return {}
    paths, _ = branch_paths(order, roots)
    return paths | {node: paths[node.args[0]] for node in order if node.op is OUTPUT and node in paths}


class Until:
    """A condition that ends a scan; made by `until`."""

    __slots__ = ("condition",)

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor(condition)
        if self.condition.ndim:
            raise TypeError(f"condition must be a scalar, got shape {self.condition.shape}")


def until(condition: Any) -> Until:
    """End a scan after the step in which a condition holds.

    Parameters
    ----------
    condition : Tensor
        A scalar, returned by the step beside its outputs.

    Returns
    -------
    Until

    Examples
    --------
    >>> from nbm_xp.tape import Variable, scan, until
    >>> doubled, _ = scan(lambda x: (2 * x, until(2 * x > 50.0)), outputs_info=Variable(1.0), n_steps=30)
    >>> float(doubled[-1])
    64.0
    """
    return Until(condition)
