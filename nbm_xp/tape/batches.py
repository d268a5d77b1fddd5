"""Functions that run block by block along a batch axis: the same plan on each block, results joined or combined.

The caller asserts that examples are independent. Results with the batch axis are concatenated; others are summed or
averaged over the blocks. Operations whose shapes, axes or random draws show a dependence on examples of other blocks
raise an error when the function is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

from nbm_xp.namespace import blocks as library
from nbm_xp.namespace import is_lazy

from .dtypes import as_dtype
from .graph import OUTPUT, PLACEHOLDER, VARIABLE, Node, Result, leaf, reachable
from .lengths import Length, Size, atom_length, axis_length, substituted
from .operations import ALONG_AXES_TAG
from .plans.plan import compile_plan
from .printing import recorded_at
from .standard.shapes import named_axes

_REDUCTIONS = frozenset({"sum", "prod", "max", "min", "mean", "any", "all"})


def batch_axes(inputs: Sequence[Node], batch_axis: Any) -> dict[int, int]:
    """Return the batch axes of inputs by their positions; see `nbm_xp.tape.function`."""
    if isinstance(batch_axis, int):
        axes = [batch_axis if _is_open(node, batch_axis) else None for node in inputs]
    elif isinstance(batch_axis, (tuple, list)) and len(batch_axis) == len(inputs):
        axes = list(batch_axis)
        for node, axis in zip(inputs, axes, strict=True):
            if axis is not None and not _is_open(node, axis):
                raise ValueError(f"batch_axis must name an axis of unknown length (None), got {axis} for {node!r}")
    else:
        raise TypeError(
            f"batch_axis must be an int, or one int or None for each of the {len(inputs)} inputs, got {batch_axis!r}"
        )
    found = {n: axis % len(inputs[n].shape) for n, axis in enumerate(axes) if axis is not None}
    if not found:
        raise ValueError(f"batch_axis={batch_axis} names an axis that no input has with an unknown length")
    return found


def _is_open(node: Node, axis: Any) -> bool:
    ndim = len(node.shape)
    return isinstance(axis, int) and -ndim <= axis < ndim and isinstance(node.shape[axis], Length)


def _raise_for(node: Node, why: str) -> NoReturn:
    at = recorded_at(node.source_location)
    raise ValueError(f"batch_axis cannot be kept: {node.name or node.op.name}{at and at + ','} {why}")


class Batches:
    """A graph that runs block by block.

    Parameters
    ----------
    inputs, axes
        Inputs, and their batch axes by position.
    leaves
        Arguments of the plan, starting with the inputs.
    results, givens
        See `compile_plan`.
    combine
        Reduction of results without the batch axis: ``"sum"``, ``"mean"``, or one of these or None for each result.
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        axes: Mapping[int, int],
        leaves: Sequence[Node],
        results: Sequence[Result],
        givens: Mapping[Node, Node],
        combine: Any,
    ) -> None:
        hows = list(combine) if isinstance(combine, (tuple, list)) else [combine] * len(results)
        if len(hows) != len(results) or any(how not in (None, "sum", "mean") for how in hows):
            raise ValueError(
                f"combine must be 'sum', 'mean', None, or one of these for each of {len(results)} outputs, "
                f"got {combine!r}"
            )
        self.leaves = list(leaves)
        self.axes = dict(axes)
        self.givens = dict(givens)
        self._split = {inputs[number]: axis for number, axis in axes.items()}
        self._batch = axis_length(leaf(PLACEHOLDER, None, 1, as_dtype("int64"), "batch"), 0)
        for node in reachable(results, leaves, givens):
            self._check(node)
        self.results: list[Node] = []
        self._places: list[tuple[int | None, str | None]] = []
        for result, how in zip(results, hows, strict=True):
            if not isinstance(result, Node):
                raise ValueError("batch_axis cannot be kept: outputs must be Tensors, got a length or None")
            place = self._axis(result)
            if place is None and how is None:
                _raise_for(result, 'does not keep the axis of the batch: say combine="sum" or combine="mean"')
            self.results.append(result)
            self._places.append((place, how if place is None else None))
        self._check_joined(
            [node for node, (place, _) in zip(self.results, self._places, strict=True) if place is not None]
        )
        self._plans: dict[ModuleType, Callable[..., tuple[Any, ...]]] = {}

    def _holds(self, size: Any) -> bool:
        """Return whether a length depends on the batch size, which is the same for all batch axes."""

        def renewed(atom: tuple[Any, ...]) -> Size:
            own = atom[0] == "axis" and self._split.get(atom[1]) == atom[2]
            return self._batch if own else atom_length(atom)

        found = substituted(size, renewed) if isinstance(size, Length) else size
        return isinstance(found, Length) and not set(self._batch.nodes()).isdisjoint(found.nodes())

    def _axis(self, node: Node) -> int | None:
        """Return the axis of a node whose length depends on the batch size, or None."""
        held = [i for i, size in enumerate(node.shape) if self._holds(size)]
        if len(held) > 1:
            _raise_for(node, "pairs each example with every other")
        return held[0] if held else None

    def _check(self, node: Node) -> None:
        """Raise if an operation by itself depends on other blocks."""
        if node.op is VARIABLE and node.payload.default_update is not None:
            _raise_for(node, "is a random draw, which would be the same in each block: draw before, and hand it in")
        if (
            ALONG_AXES_TAG in node.op.tags
            and node.op.name not in _REDUCTIONS
            and self._axis(node.args[0]) in named_axes(node)[1]
        ):
            _raise_for(node, "goes along the batch, where an entry needs those of other blocks")
        if node.op.name == "getitem":
            axis, index = self._axis(node.args[0]), [item for item in node.args[1] if item is not None]
            if axis is not None and index[axis : axis + 1] not in ([], [slice(None)]):
                _raise_for(node, "takes single examples, or a part of the batch")

    def _check_joined(self, results: Sequence[Node]) -> None:
        """Raise if a concatenated result depends on reductions over the batch or on the number of examples."""
        split: set[Node] = set(self._split)
        for node in reachable(results, self.leaves, self.givens):
            if node in split:
                continue
            kept = not node.is_call and self._axis(node) is not None
            if kept or any(parent in split for parent in node.array_args()):
                split.add(node)
                if not kept and not node.is_call and node.op is not OUTPUT:
                    _raise_for(node, "needs the whole batch for a result that is joined of blocks")
            if node.op.name == "arange" and kept:
                _raise_for(node, "numbers the examples, which each block would begin anew")
            if node.op.name != "arange" and any(map(self._holds, node.args)):
                _raise_for(node, "counts all examples for a result that is joined of blocks")

    def applies(self, xp: ModuleType, arrays: Sequence[Any]) -> bool:
        """Return whether to run block by block: on lazy arrays whose batch is not empty."""
        return is_lazy(xp) and all(arrays[number].shape[axis] != 0 for number, axis in self.axes.items())

    def run(self, xp: ModuleType, arrays: Sequence[Any]) -> list[Any]:
        """Return the results for arrays, one for each leaf."""
        blocks = library.block_namespace(xp, arrays)
        if blocks not in self._plans:
            self._plans[blocks] = compile_plan(self.leaves, self.results, blocks, givens=self.givens)
        wanted = [
            library.BatchResult(len(node.shape), str(node.dtype), partial(self._shape_of, node, arrays), axis, how)
            for node, (axis, how) in zip(self.results, self._places, strict=True)
        ]
        return library.in_blocks(xp, self._plans[blocks], arrays, self.axes, wanted)

    def _shape_of(self, node: Node, arrays: Sequence[Any], length: Any) -> tuple[Any, ...]:
        """Return the shape of a result for a block of this length; NaN for unknown lengths."""
        sizes: dict[tuple[Any, ...], Any] = {
            ("axis", leaf, axis): length if self.axes.get(number) == axis else size
            for number, (leaf, array) in enumerate(zip(self.leaves, arrays, strict=True))
            for axis, size in enumerate(array.shape)
        }

        def evaluated(size: Size) -> Any:
            try:
                return substituted(size, lambda atom: int(sizes[atom]))
            except (KeyError, ValueError):  # depends on values, or is NaN
                return math.nan

        return tuple(map(evaluated, node.shape))
