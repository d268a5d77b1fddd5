"""`vmap`: vectorise a function of one example over many examples.

The function is recorded for one example, and the graph is recorded again with an additional first axis. Each operation
has a rule here for arguments with the new axis (those that depend on the example) and arguments without it; a composite
without a rule is expanded into its operations. If a rule is missing, a loop runs over the examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from operator import index
from typing import Any

from ..evaluation import computed
from ..graph import OUTPUT, VARIABLE, Node, inner_placeholder, reachable
from ..lengths import Size, is_number, same_length
from ..loops.body import LoopBody
from ..loops.node import loop, results_of
from ..operations import ALONG_AXES_TAG, COMPOSITE_TAG, ELEMENTWISE_TAG, IDENTITY_TAG, MATRICES_TAG
from ..standard.indexing import take
from ..standard.manipulation import expand_dims, matrix_transpose, moveaxis, permute_dims, reshape, squeeze
from ..standard.shapes import named_axes
from ..standard.sums import broadcast_to, matmul, sum_to
from ..standard.sums import sum as sum_
from ..tensor import Tensor, as_tensor, is_tensor, record, record_several, result
from ..trees import leaves, mapped
from .calls import argument, is_foreign, is_output

# Nodes with the new axis, mapped to their values for all examples.
Many = dict[Node, Tensor]


Rule = Callable[[Node, Many], "Tensor | None"]


_RULES: dict[str, Rule] = {}


def _vmap_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for operations of these names."""

    def enter(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return enter


def batched(results: Sequence[Node], examples: Mapping[Node, Tensor]) -> list[Tensor] | None:
    """Return the results for many examples, along a new first axis; None if an operation has no rule.

    Parameters
    ----------
    results
        Results for one example; those that do not depend on it are repeated.
    examples
        Leaves of one example, mapped to all examples stacked along the first axis; at least one.
    """
    many: Many = dict(examples)
    if not _extended(many, results):
        return None
    count = next(iter(examples.values())).node.shape[0]
    return [many[node] if node in many else broadcast_to(Tensor(node), (count, *node.shape)) for node in results]


def _extended(many: Many, results: Sequence[Node]) -> bool:
    """Add to `many` the values of all nodes of the results; return whether each operation had a rule."""
    for node in reachable(results, list(many)):
        if node in many or not any(parent in many for parent in node.inputs):
            continue
        made = _again(node, many)
        if made is None:
            return False
        many[node] = made
    return True


def _again(node: Node, many: Many) -> Tensor | None:
    if node.op is OUTPUT:
        return result(many[node.args[0]].node, node.args[1])
    if any(parent in many for parent in set(node.inputs) - set(node.array_args())):
        return None  # a length or an option that depends on the example
    if IDENTITY_TAG in node.op.tags:
        return many[node.args[0]]
    rule = _RULES.get(node.op.name) or next((rule for tag, rule in _BY_TAG.items() if tag in node.op.tags), None)
    return None if rule is None else rule(node, many)


def _by_parts(node: Node, many: Many) -> Tensor | None:
    """Vectorise the operations of a composite without a rule."""
    assert node.op.run is not None
    args = [Tensor(arg) if isinstance(arg, Node) else arg for arg in node.args]
    whole = node.op.run(None, *args, **node.attributes)
    inner = dict(many)
    return inner[whole.node] if _extended(inner, [whole.node]) else None


def _full(arg: Node, many: Many, ndim: int) -> Tensor:
    """Reshape an argument so that it broadcasts against others of `ndim` axes after the new axis."""
    return _widened(many[arg], ndim - len(arg.shape)) if arg in many else Tensor(arg)


def _widened(x: Tensor, missing: int) -> Tensor:
    """Insert `missing` axes of length 1 after the new axis."""
    return reshape(x, (x.node.shape[0], *[1] * missing, *x.node.shape[1:])) if missing else x


@_vmap_rule("clip", "where")
def _elementwise(node: Node, many: Many) -> Tensor:
    args = [_full(arg, many, len(node.shape)) if isinstance(arg, Node) else arg for arg in node.args]
    return record(node.op, *args, **node.attributes)


def _first(node: Node, many: Many) -> Tensor | None:
    """Return the first argument if no other argument has the new axis, else None."""
    others = [parent for parent in node.inputs if parent is not node.args[0]]
    return None if any(parent in many for parent in others) else many[node.args[0]]


@_vmap_rule("broadcast_to")
def _broadcast_to(node: Node, many: Many) -> Tensor:
    x = _full(node.args[0], many, len(node.shape))
    return broadcast_to(x, (x.node.shape[0], *node.shape))


@_vmap_rule("reshape", "getitem", "setitem", "index_add")
def _along_first(node: Node, many: Many) -> Tensor | None:
    """Add the new axis to the shape (the last argument), and a full slice to an index."""
    x = _first(node, many)
    if x is None:
        return None
    rest = [(slice(None), *arg) if isinstance(arg, tuple) else arg for arg in node.args[1:]]
    if node.op.name in ("reshape", "index_add"):
        rest[-1] = (x.node.shape[0], *node.shape)
    return record(node.op, x, *rest)


@_vmap_rule("sum_to")
def _sum_to(node: Node, many: Many) -> Tensor:
    """Sum over broadcast axes but not over the new axis: the leading axes are summed first."""
    x = many[node.args[0]]
    extra = x.ndim - 1 - len(node.shape)
    if extra > 0:
        x = sum_(x, axis=tuple(range(1, extra + 1)), dtype=x.dtype)
    return sum_to(x, (x.node.shape[0], *node.shape))


@_vmap_rule("permute_dims", "transpose")
def _permute(node: Node, many: Many) -> Tensor:
    axes = range(len(node.shape))[::-1] if node.op.name == "transpose" else node.args[1]
    return permute_dims(many[node.args[0]], (0, *(axis + 1 for axis in axes)))


@_vmap_rule("concat")
def _joined(node: Node, many: Many) -> Tensor:
    parts = [_everywhere(item, many) for item in node.args[0]]
    return record(node.op, parts, axis=node.attributes["axis"] + 1)


def _everywhere(arg: Node, many: Many) -> Tensor:
    """Return an argument with the new axis, repeated along it if it does not have it."""
    if arg in many:
        return many[arg]
    count = next(iter(many.values())).node.shape[0]
    return broadcast_to(Tensor(arg), (count, *arg.shape))


@_vmap_rule("take")
def _take(node: Node, many: Many) -> Tensor | None:
    x, indices = node.args
    axis = node.attributes["axis"]
    if indices not in many:
        return record(node.op, many[x], Tensor(indices), axis=axis + 1)
    if x in many:
        return None
    places = many[indices]
    taken = take(Tensor(x), reshape(places, (-1,)), axis=axis)
    shape = x.shape
    apart = reshape(taken, (*shape[:axis], *places.node.shape, *shape[axis + 1 :]))
    return moveaxis(apart, axis, 0)


@_vmap_rule("matmul")
def _matmul(node: Node, many: Many) -> Tensor:
    """Convert vectors to matrices first, because the axes before the last two are broadcast."""
    a, b = node.args
    ndim = max(len(a.shape), len(b.shape), 2)
    column, row = len(b.shape) == 1, len(a.shape) == 1
    if a not in many and len(a.shape) == 2 and column:  # one matrix, many vectors: one product
        return matmul(many[b], matrix_transpose(Tensor(a)))
    if b not in many and len(b.shape) == 2 and row:
        return matmul(many[a], Tensor(b))

    def as_matrix(arg: Node, axis: int) -> Tensor:
        tensor = many.get(arg, Tensor(arg))
        if len(arg.shape) == 1:
            tensor = expand_dims(tensor, axis)
        return _widened(tensor, ndim - max(len(arg.shape), 2)) if arg in many else tensor

    found = matmul(as_matrix(a, -2), as_matrix(b, -1))
    return reshape(found, (found.node.shape[0], *node.shape))


@_vmap_rule("linalg.solve")
def _solve(node: Node, many: Many) -> Tensor:
    a, b = node.args
    if len(b.shape) > 1:
        ndim = max(len(a.shape), len(b.shape))
        return record(node.op, _full(a, many, ndim), _full(b, many, ndim))
    if a not in many:  # one matrix, many vectors: one system
        return moveaxis(record(node.op, Tensor(a), matrix_transpose(many[b])), -1, 0)
    columns = _widened(expand_dims(_everywhere(b, many), -1), len(a.shape) - 2)
    return squeeze(record(node.op, many[a], columns), axis=-1)


def _along_axes(node: Node, many: Many) -> Tensor:
    """Increase the axes of the operation by one."""
    option, axes = named_axes(node)
    moved = tuple(axis + 1 for axis in axes)
    changed = {option: moved[0] if isinstance(node.attributes[option], int) else moved}
    args = [_everywhere(arg, many) if isinstance(arg, Node) else arg for arg in node.args]
    return record(node.op, *args, **(node.attributes | changed))


@_vmap_rule("astype")
def _as_is(node: Node, many: Many) -> Tensor | None:
    x = _first(node, many)
    if x is None:
        return None
    if node.is_call:  # return the node of the call itself
        return Tensor(record_several(node.op, x, *node.args[1:], **node.attributes)[0].node.args[0])
    return record(node.op, x, *node.args[1:], **node.attributes)


# Rules, by tag, for operations without a rule of their own; the first matching tag applies.
_BY_TAG = {ELEMENTWISE_TAG: _elementwise, ALONG_AXES_TAG: _along_axes, MATRICES_TAG: _as_is, COMPOSITE_TAG: _by_parts}

Axes = int | Sequence[Any] | dict[Any, Any] | None


def vmap(fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """Vectorise a function of one example.

    Parameters
    ----------
    fn : callable
        Function of arrays, or of tuples, lists and dicts of arrays, that returns arrays in any of these.
    in_axes : int, None, or tuple or list of these
        Axis of the examples in the arguments: one for all arguments, or one for each, which may have the structure of
        the argument. None for an argument that is the same for all examples.
    out_axes : int, None, or tuple, list or dict of these
        Axis of the examples in the results: one for all results, or in the structure of the value. None for a result
        that is the same for all examples, which is returned without the axis.

    Returns
    -------
    callable
        Function of the arguments with the axis of the examples; its results have that axis too. It returns arrays of
        the library of its arguments, or Tensors if an argument is a Tensor. Keyword arguments are passed to `fn` as
        they are.

    Raises
    ------
    TypeError
        If an argument with an axis is not an array, or the structure of `in_axes` or `out_axes` differs from that of
        the arguments or results.
    ValueError
        If no argument has an axis, an array has no such axis, the numbers of examples differ, a result whose `out_axes`
        is None depends on the example, or `fn` draws random numbers.

    Notes
    -----
    `vmap` can be nested with itself, `grad`, `jacobian` and the other transforms, in any order. The arguments of `fn`
    are Tensors without values, so that `fn` cannot test the values of an example.

    Examples
    --------
    >>> import numpy as np
    >>> rows, vector = np.asarray([[1.0, 2.0], [3.0, 4.0]]), np.asarray([1.0, 10.0])
    >>> vmap(lambda x, w: x @ w, (0, None))(rows, vector).tolist()
    [21.0, 43.0]
    >>> from nbm_xp.tape import grad
    >>> vmap(grad(lambda x: x @ x))(rows).tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    @wraps(fn)
    def many(*args: Any, **options: Any) -> Any:
        axes = list(_spread(in_axes, list(args), "in_axes"))
        given = [_Leaf(leaf, axis) for leaf, axis in zip(leaves(list(args)), axes, strict=True)]
        count = _count(given)
        inner = iter([leaf.inner for leaf in given])
        value = fn(*mapped(lambda leaf: next(inner), list(args)), **options)
        outs = list(zip(leaves(value), _spread(out_axes, value, "out_axes"), strict=True))
        singles = [as_tensor(leaf) for leaf, _ in outs if _is_result(leaf)]
        where = [axis for leaf, axis in outs if _is_result(leaf)]
        examples = {leaf.node: leaf.stacked for leaf in given if leaf.node is not None}
        _refuse_draws(singles, min(node.serial for node in examples))
        found = _placed(singles, for_each([s.node for s in singles], examples, count, "vmap"), where, examples)
        if not (any(leaf.recorded for leaf in given) or is_foreign([tensor.node for tensor in found], frozenset())):
            found = computed("vmap", found, [leaf.tensor for leaf in given if leaf.node is not None], lambda: found)
        results = iter(found)
        return mapped(lambda leaf: next(results) if _is_result(leaf) else leaf, value)

    return many


class _Leaf:
    """One leaf of the arguments, and its replacement in the call of the function."""

    def __init__(self, value: Any, axis: int | None) -> None:
        self.axis = axis
        self.recorded = is_tensor(value)
        self.node: Node | None = None
        self.inner = as_tensor(value) if is_output(value) else value
        if axis is None:
            return
        if not is_output(value):
            raise TypeError(f"in_axes names an axis of what is no array: {type(value).__name__}; None is for that")
        tensor = value if self.recorded else argument(value)
        if not -tensor.ndim <= axis < tensor.ndim:
            raise ValueError(f"in_axes names axis {axis} of an array of shape {tensor.shape}, which has none such")
        self.tensor = tensor
        self.stacked = moveaxis(tensor, axis, 0) if axis % tensor.ndim else tensor
        self.node = inner_placeholder(self.stacked.node.shape[1:], tensor.dtype)
        self.inner = Tensor(self.node)


def _is_result(leaf: Any) -> bool:
    return is_output(leaf) or is_number(leaf)


def _spread(axes: Any, tree: Any, name: str) -> Iterator[int | None]:
    """Yield the axis of each leaf of a tree; an axis given for a subtree applies to all its leaves."""
    if axes is None or hasattr(axes, "__index__"):
        yield from (None if axes is None else index(axes) for _ in leaves(tree))
    elif isinstance(axes, dict) and isinstance(tree, dict) and set(axes) == set(tree):
        for key, part in tree.items():
            yield from _spread(axes[key], part, name)
    elif isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list)) and len(axes) == len(tree):
        for axis, part in zip(axes, tree, strict=True):
            yield from _spread(axis, part, name)
    else:
        raise TypeError(f"{name} must hold an int, None, or what is built as the value beside it, got {axes!r}")


def _count(given: Sequence[_Leaf]) -> Size:
    """Return the number of examples."""
    lengths = [leaf.stacked.node.shape[0] for leaf in given if leaf.node is not None]
    if not lengths:
        raise ValueError("vmap needs an array with an axis of examples: in_axes is None for all arguments")
    for length in lengths[1:]:
        if same_length(lengths[0], length) is False:
            raise ValueError(f"in_axes must name axes of one length, got {lengths[0]} and {length}")
    return lengths[0]


def _refuse_draws(results: Sequence[Tensor], start: int) -> None:
    """Raise for random numbers drawn since `start`, by the serial numbers of nodes."""
    for node in reachable([tensor.node for tensor in results]):
        if node.serial > start and any(
            parent.op is VARIABLE and parent.payload.default_update is not None for parent in node.inputs
        ):
            raise ValueError(
                "fn draws random numbers, which would be the same for all examples: draw them before, with an axis of "
                "examples, and hand them to fn as an argument"
            )


def for_each(results: list[Node], examples: dict[Node, Tensor], count: Size, name: str) -> list[Tensor]:
    """Return the results for many examples along a new first axis; a loop of this name is used if a rule is missing."""
    found = batched(results, examples)
    if found is not None:
        return found
    body = LoopBody(list(examples), [], [], results, name=name)
    return results_of(loop(body, count, list(examples.values()), []))[1]


def _placed(
    singles: Sequence[Tensor], found: Sequence[Tensor], axes: Sequence[int | None], examples: dict[Node, Tensor]
) -> list[Tensor]:
    """Move the axis of the examples to its position in each result."""
    placed = []
    for single, tensor, axis in zip(singles, found, axes, strict=True):
        if axis is None:
            if not examples.keys().isdisjoint(reachable([single.node])):
                raise ValueError("out_axes is None for a result that differs from example to example")
            placed.append(single)
        elif not -tensor.ndim <= axis < tensor.ndim:
            raise ValueError(f"out_axes names axis {axis} of a result of {tensor.ndim} axes")
        else:
            placed.append(moveaxis(tensor, 0, axis) if axis % tensor.ndim else tensor)
    return placed
