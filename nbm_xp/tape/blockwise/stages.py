"""Plans that run block by block along the batch: a whole graph, loops included, as one task for each block.

A translated graph is cut into stages. In each stage what is whole is computed once, then what is split is computed in
every block, then the parts that blocks give are combined. Of what an earlier stage computed in a block, a later one
takes what it needs; what costs nothing is made again instead.
"""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any, TypeAlias

from nbm_xp.namespace import array_namespace, is_lazy
from nbm_xp.namespace import blockwise as layout

from ..lengths import Length, Size, axis_length
from ..node import ELEMENTWISE_TAG, IDENTITY_TAG, LEAVES, OUTPUT, PLACEHOLDER, Node, leaf
from ..plans.plan import compile_plan
from ..traversal import Result, reachable, walk
from . import indexing, loops, matrices, rules  # noqa: F401  (they enter their rules)
from .frame import SPLIT, WHOLE, Frame, Value
from .translation import Translator

__all__ = ["Blockwise", "batch_axes"]

Plan: TypeAlias = Callable[..., tuple[Any, ...]]


def batch_axes(inputs: Sequence[Node], batch_axis: Any) -> list[int | None]:
    """The batch axis of each input, None where it has none; see `nbm_xp.tape.function`.

    Raises
    ------
    TypeError
        If `batch_axis` is neither an integer nor one entry for each input.
    ValueError
        If an input has no such axis, or one of known length; or if no input has one.
    """
    if isinstance(batch_axis, int):
        found = [_own_axis(node, batch_axis) for node in inputs]
    elif isinstance(batch_axis, (tuple, list)) and len(batch_axis) == len(inputs):
        found = [_checked_axis(node, axis) for node, axis in zip(inputs, batch_axis, strict=True)]
    else:
        raise TypeError(
            f"batch_axis must be an int, or one int or None for each of the {len(inputs)} inputs, got {batch_axis!r}"
        )
    if all(axis is None for axis in found):
        raise ValueError(f"batch_axis={batch_axis} names an axis that no input has with an unknown length")
    return found


def _own_axis(node: Node, axis: int) -> int | None:
    ndim = len(node.shape)
    return axis % ndim if -ndim <= axis < ndim and isinstance(node.shape[axis], Length) else None


def _checked_axis(node: Node, axis: Any) -> int | None:
    if axis is None:
        return None
    ndim = len(node.shape)
    if not isinstance(axis, int) or not -ndim <= axis < ndim:
        raise ValueError(f"batch_axis must be from {-ndim} to {ndim - 1} for {node!r}, got {axis!r}")
    if not isinstance(node.shape[axis], Length):
        raise ValueError(f"batch_axis must name an axis of unknown length (None), got {axis} for {node!r}")
    return axis % ndim


class Blockwise:
    """A graph that runs block by block.

    Parameters
    ----------
    inputs, axes
        The inputs, and the batch axis of each, None for one that every block gets whole.
    leaves
        What it is called with: the inputs first.
    results, givens
        As of `compile_plan`.

    Raises
    ------
    ValueError
        If an operation cannot be done in blocks; the message names it.
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        axes: Sequence[int | None],
        leaves: Sequence[Node],
        results: Sequence[Result],
        givens: Mapping[Node, Node],
    ) -> None:
        self.name = uuid.uuid4().hex
        self.frame = Frame()
        self.leaves = list(leaves)
        self.split = {number: axis for number, axis in enumerate(axes) if axis is not None}
        for number, axis in self.split.items():
            self.leaves[number] = self._split_leaf(inputs[number], axis)
        values = {
            old: self._leaf_value(number, new)
            for number, (old, new) in enumerate(zip(leaves, self.leaves, strict=True))
        }
        translator = Translator(self.frame, values, givens)
        translator.translate([result for result in results if isinstance(result, Node)])
        self.found = [
            translator.settled(translator.value(result)) if isinstance(result, Node) else None for result in results
        ]
        self.lengths = {i: translator.total(r) for i, r in enumerate(results) if isinstance(r, Length)}
        self.numbers: dict[Node, int] = {node: number for number, node in enumerate(self.leaves)}
        self.numbers |= {
            self.frame.extent: layout.EXTENT,
            self.frame.total: layout.TOTAL,
            self.frame.offset: layout.OFFSET,
            self.frame.first: layout.FIRST,
        }
        self._parts = {whole.node: part for part, whole in self.frame.combined.items()}
        self._free = itertools.count(len(self.leaves))
        self._cheap: dict[Node, bool] = {}
        self.stages = self._stages()
        self._compiled: dict[Any, tuple[list[layout.Stage], Plan]] = {}
        self._eager: dict[tuple[Node, ModuleType], Plan] = {}

    def _split_leaf(self, old: Node, axis: int) -> Node:
        new = leaf(PLACEHOLDER, None, len(old.shape), old.dtype, old.name)
        new.shape = tuple(
            self.frame.batch if i == axis else axis_length(new, i) if isinstance(size, Length) else size
            for i, size in enumerate(old.shape)
        )
        self.frame.blocks[new] = 0
        return new

    def _leaf_value(self, number: int, node: Node) -> Value:
        axis = self.split.get(number)
        return Value(node) if axis is None else Value(node, SPLIT, axis)

    def _number(self, node: Node) -> int:
        if node not in self.numbers:
            self.numbers[node] = next(self._free)
        return self.numbers[node]

    def _stages(self) -> list[_Cut]:
        """Each stage's inputs and outputs, found from the last to the first."""
        last = max((value.stage for value in self.found if value is not None), default=0)
        cuts = [_Cut() for _ in range(last + 1)]
        for value in self.found:
            if value is not None:
                self._want(cuts, value.node)
        for stage in reversed(range(len(cuts))):
            cut = cuts[stage]
            cut.block_inputs = self._walk(cuts, list(cut.block), stage, True)
            cut.whole_inputs = self._walk(cuts, list(cut.whole), stage, False)
        return cuts

    def _want(self, cuts: list[_Cut], node: Node) -> None:
        """Have a value made by the stage it belongs to."""
        self._number(node)
        if node in self._parts:
            part = self._parts[node]
            cut = cuts[self.frame.stage_of(part)]
            cut.block[part] = None
            cut.combined[part] = node
            self._number(part)
        elif node.op not in LEAVES and self.numbers[node] >= len(self.leaves):
            cut = cuts[self.frame.stage_of(node)]
            (cut.block if node in self.frame.blocks else cut.whole)[node] = None

    def _walk(self, cuts: list[_Cut], roots: list[Node], stage: int, in_block: bool) -> list[Node]:
        """What a stage's plan takes: leaves, and what others make."""

        def known(node: Node) -> bool:
            return node.op in LEAVES or self.numbers.get(node, len(self.leaves)) < len(self.leaves)

        def made_here(node: Node) -> bool:
            own = (node in self.frame.blocks) == in_block
            return not known(node) and ((own and self.frame.stage_of(node) == stage) or self._is_cheap(node))

        inputs: list[Node] = []

        def operands(node: Node) -> Sequence[Node]:
            if made_here(node):
                return node.inputs
            inputs.append(node)
            return ()

        walk(roots, operands)
        for node in inputs:
            if not in_block and node in self.frame.blocks and not known(node):
                raise AssertionError(f"{node!r} is split, but is needed whole")
            self._want(cuts, node)
        return inputs

    def _is_cheap(self, node: Node) -> bool:
        """Whether a value is better made again than handed on: of no array, a view, or arithmetic on such scalars."""
        for other in reachable([node], self._cheap):
            if other not in self._cheap:
                rests = [parent for parent in other.inputs if parent.op not in LEAVES]
                plain = all(self._cheap[parent] for parent in rests)
                small = not other.shape and ELEMENTWISE_TAG in other.op.tags
                made = not any(True for _ in other.array_args()) and other.op is not OUTPUT and not other.is_call
                view = other.op.memory.is_view or IDENTITY_TAG in other.op.tags
                scalar = all(not parent.shape for parent in other.inputs)
                self._cheap[other] = other.op not in LEAVES and plain and (made or view or (small and scalar))
        return self._cheap[node]

    def applies(self, xp: ModuleType, arrays: Sequence[Any]) -> bool:
        """Whether arrays have blocks to run in; a batch without examples is left to the plan that knows no blocks."""
        return is_lazy(xp) and all(arrays[number].shape[axis] != 0 for number, axis in self.split.items())

    def run(self, xp: ModuleType, arrays: Sequence[Any], states: Sequence[bool]) -> list[Any]:
        """The results for arrays, one for each leaf; those of `states` at once where nothing lazy is involved."""
        blocks = layout.block_namespace(xp, arrays)
        if blocks not in self._compiled:
            self._compiled[blocks] = self._compile(blocks)
        stages, measure = self._compiled[blocks]
        total = next(arrays[number].shape[axis] for number, axis in self.split.items())
        measured = dict(zip(self._measured, measure(*arrays, layout.Shaped((total,)), total), strict=True))

        def told(size: Size) -> Any:
            return measured.get(size, math.nan) if isinstance(size, Length) else size

        values: list[Any] = [told(self.lengths[i]) if i in self.lengths else None for i in range(len(self.found))]
        wanted: dict[int, layout.Result] = {}
        for place, value in enumerate(self.found):
            if value is None:
                continue
            if states[place] and total == total:
                values[place] = self._at_once(value, arrays, total)
            if values[place] is None:
                wanted[place] = self._result(value, told)
        plan = layout.Layout(self.name, self.split, stages, list(wanted.values()))
        made = layout.lay_out(xp, plan, dict(enumerate(arrays)))
        for place, array in zip(wanted, made, strict=True):
            values[place] = array
        return values

    @cached_property
    def _measured(self) -> list[Length]:
        """The lengths that have to be told when arrays are there, as far as those alone decide them."""
        sizes = [size for value in self.found if value is not None for size in self._sizes(value)]
        lengths = [size for size in (*sizes, *self.lengths.values()) if isinstance(size, Length)]
        known = {*self.leaves, self.frame.extent, self.frame.total}
        return [size for size in dict.fromkeys(lengths) if known.issuperset(size.nodes())]

    def _sizes(self, value: Value) -> list[Size]:
        """The shape of a value, and how many entries each example has in it."""
        shape = list(value.node.shape)
        return [*shape, 1 if value.kind == WHOLE else self.frame.multiple(shape[value.axis]) or 1]

    def _result(self, value: Value, told: Callable[[Size], Any]) -> layout.Result:
        *shape, multiple = map(told, self._sizes(value))
        axis = None if value.kind == WHOLE else value.axis
        return layout.Result(self.numbers[value.node], tuple(shape), str(value.node.dtype), axis, multiple)

    def _compile(self, blocks: ModuleType) -> tuple[list[layout.Stage], Plan]:
        """The stages for a library of blocks, and what tells lengths."""

        def program(inputs: Sequence[Node], outputs: Sequence[Node]) -> Plan | None:
            return compile_plan(inputs, outputs, blocks) if outputs else None

        stages = []
        for cut in self.stages:
            outputs = [*cut.combined, *(node for node in cut.block if node not in cut.combined)]
            combined = {self.numbers[p]: (self.frame.how[p], self.numbers[w]) for p, w in cut.combined.items()}
            stages.append(
                layout.Stage(
                    program(cut.whole_inputs, list(cut.whole)),
                    self._numbers(cut.whole_inputs),
                    self._numbers(cut.whole),
                    program(cut.block_inputs, outputs),
                    self._numbers(cut.block_inputs),
                    self._numbers(outputs),
                    combined,
                )
            )
        inputs = [*self.leaves, self.frame.extent, self.frame.total]
        return stages, compile_plan(inputs, list(self._measured), blocks)

    def _numbers(self, nodes: Iterable[Node]) -> list[int]:
        return [self.numbers[node] for node in nodes]

    def _at_once(self, value: Value, arrays: Sequence[Any], total: int) -> Any:
        """A value that follows from what is there already: no array that is still to be computed, only lengths."""
        if value.kind != WHOLE or value.stage:
            return None
        needed = set(reachable([value.node]))
        held = [a for n, a in enumerate(arrays) if self.leaves[n] in needed and n not in self.split]
        if not held or any(is_lazy(array_namespace(array)) for array in held):
            return None
        key = (value.node, array_namespace(*held))
        plan = self._eager.get(key)
        if plan is None:
            inputs = [*self.leaves, self.frame.extent, self.frame.total]
            plan = self._eager[key] = compile_plan(inputs, [value.node], key[1])
        given = [layout.Shaped(tuple(array.shape)) if n in self.split else array for n, array in enumerate(arrays)]
        return plan(*given, layout.Shaped((total,)), total)[0]


@dataclass
class _Cut:
    """What one stage takes and makes; `combined` says what each part becomes."""

    whole: dict[Node, None] = field(default_factory=dict)
    block: dict[Node, None] = field(default_factory=dict)
    combined: dict[Node, Node] = field(default_factory=dict)
    whole_inputs: list[Node] = field(default_factory=list)
    block_inputs: list[Node] = field(default_factory=list)
