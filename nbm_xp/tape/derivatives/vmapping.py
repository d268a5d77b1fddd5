"""`vmap`: a function of one example, applied to many at once.

The function is recorded for one example, and what was recorded is recorded again with an axis more (see `batching`).
Where it holds an operation that has no such form, a loop takes the examples one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from operator import index
from typing import Any

from ..lengths import Size, same_length
from ..loops.body import LoopBody
from ..loops.node import loop, results_of
from ..node import VARIABLE, Node
from ..operators import is_number
from ..stand_ins import inner_placeholder
from ..standard.manipulation import moveaxis
from ..tensor import Tensor, as_tensor, is_tensor
from ..traversal import reachable
from ..trees import leaves, mapped
from .batching import batched
from .calls import argument, computed, is_foreign, is_output

__all__ = ["for_each", "vmap"]

Axes = int | Sequence[Any] | dict[Any, Any] | None


def vmap(fn: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """A function of one example, made one of many.

    Parameters
    ----------
    fn : callable
        A function of arrays, or of tuples, lists and dicts of arrays, that returns arrays in any of these.
    in_axes : int, None, or tuple or list of these
        Along which axis the examples lie: one for all arguments, or one for each, which may itself be built as its
        argument is. None for an argument that is the same for all examples.
    out_axes : int, None, or tuple, list or dict of these
        Where the axis of the examples goes in the results, one for all of them, or built as the value is. None for a
        result that is the same for all examples, which is then given once.

    Returns
    -------
    callable
        It takes the arguments with an axis more and gives results with an axis more, at once and in the library of its
        arrays; given Tensors, it records. Options by keyword are handed on as they are.

    Raises
    ------
    TypeError
        If an argument with an axis holds no array there, or `in_axes` or `out_axes` is built otherwise than what it
        stands beside.
    ValueError
        If no argument has an axis, an array has no such axis, the numbers of examples differ, a result whose `out_axes`
        is None depends on the example, or `fn` draws random numbers.

    Notes
    -----
    It may stand within `grad`, `jacobian` and the others, within itself, and around them. `fn` sees Tensors, and cannot
    look at the values of an example.

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
        axes = _spread(in_axes, args, "in_axes") if _is_one(in_axes) else _each(in_axes, args)
        given = [_Leaf(leaf, axis) for leaf, axis in zip(leaves(list(args)), axes, strict=True)]
        count = _count(given)
        inner = iter([leaf.inner for leaf in given])
        value = fn(*mapped(lambda leaf: next(inner), list(args)), **options)
        outs = [leaf for leaf in leaves(value) if is_output(leaf) or is_number(leaf)]
        singles = [as_tensor(leaf) for leaf in outs]
        where = [
            axis for leaf, axis in zip(leaves(value), _spread(out_axes, value, "out_axes"), strict=True)
            if is_output(leaf) or is_number(leaf)
        ]  # fmt: skip
        examples = {leaf.node: leaf.stacked for leaf in given if leaf.node is not None}
        _refuse_draws(singles, min(node.serial for node in examples))
        found = _placed(singles, for_each([s.node for s in singles], examples, count, "vmap"), where, examples)
        if not (any(leaf.recorded for leaf in given) or is_foreign([tensor.node for tensor in found], frozenset())):
            found = computed("vmap", found, [leaf.tensor for leaf in given if leaf.node is not None], lambda: found)
        results = iter(found)
        return mapped(lambda leaf: next(results) if is_output(leaf) or is_number(leaf) else leaf, value)

    return many


class _Leaf:
    """One array of the arguments, and what the function gets in its place."""

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
        self.node = inner_placeholder(self.stacked.node.shape[1:], tensor.dtype, free=True)
        self.inner = Tensor(self.node)


def _is_one(axes: Axes) -> bool:
    return axes is None or hasattr(axes, "__index__")


def _each(in_axes: Any, args: Sequence[Any]) -> list[int | None]:
    if not isinstance(in_axes, (tuple, list)):
        raise TypeError(
            f"in_axes must be an int, None, or a tuple or list with an entry for each argument: {in_axes!r}"
        )
    if len(in_axes) != len(args):
        raise ValueError(f"in_axes has {len(in_axes)} entries, but {len(args)} arguments were given")
    return [axis for part, arg in zip(in_axes, args, strict=True) for axis in _spread(part, arg, "in_axes")]


def _spread(axes: Any, tree: Any, name: str) -> list[int | None]:
    """For each leaf of a tree its axis; an axis in the place of a part of the tree is that of all its leaves."""
    return list(_walk(axes, tree, name))


def _walk(axes: Any, tree: Any, name: str) -> Iterator[int | None]:
    if _is_one(axes):
        yield from (None if axes is None else index(axes) for _ in leaves(tree))
    elif isinstance(axes, dict) and isinstance(tree, dict) and set(axes) == set(tree):
        for key, part in tree.items():
            yield from _walk(axes[key], part, name)
    elif isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list)) and len(axes) == len(tree):
        for axis, part in zip(axes, tree, strict=True):
            yield from _walk(axis, part, name)
    else:
        raise TypeError(f"{name} must hold an int, None, or what is built as the value beside it, got {axes!r}")


def _count(given: Sequence[_Leaf]) -> Size:
    """How many examples there are."""
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
    """The results for many examples, along a new first axis; by a loop of this name where nothing else can be done."""
    found = batched(results, examples)
    if found is not None:
        return found
    body = LoopBody(list(examples), [], [], results, name=name)
    return results_of(loop(body, count, list(examples.values()), []))[1]


def _placed(
    singles: Sequence[Tensor], found: Sequence[Tensor], axes: Sequence[int | None], examples: dict[Node, Tensor]
) -> list[Tensor]:
    """The results with the axis of the examples where it is asked for."""
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
