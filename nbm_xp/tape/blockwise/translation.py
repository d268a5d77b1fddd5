"""From a graph to one that runs block by block along the batch.

Every value of the graph becomes one of three kinds: *whole*, the same whatever the blocks are; *split*, a block of it
follows from the same block of the inputs; or *partial*, each block gives a part and the parts together are the value
(sums are added, maxima compared, …). A partial value whose whole is asked for starts a new stage: the parts are
combined, and from then on it is whole. What is none of the three is refused before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from nbm_xp.namespace import array_namespace

from ..dtypes import DType
from ..extreme_lengths import substituted
from ..lengths import Length, Size, axis_length, same_length, value_length
from ..node import (
    ALONG_AXES_TAG,
    COMPOSITE_TAG,
    ELEMENTWISE_TAG,
    IDENTITY_TAG,
    LEAVES,
    MATRICES_TAG,
    OUTPUT,
    PLACEHOLDER,
    Memory,
    Node,
    Operation,
    leaf,
)
from ..registry import OPERATIONS, declare
from ..source_locations import recorded_at
from ..tensor import Tensor, output
from ..traversal import reachable
from .frame import PARTIAL, SPLIT, WHOLE, Frame, Value

__all__ = ["Translator", "split_rule"]

_OF_FIRST = declare(
    Operation(
        "of_first_block",
        lambda x, first: (x.shape, x.dtype),
        run=lambda xp, x, first: x if first else xp.zeros_like(x),
        memory=Memory.FIRST,
    )
)
"""A whole value as the part of the first block; the others have nothing of it."""

SplitRule = Callable[["Translator", Node], "Value | Sequence[Value]"]
_BY_TAG: dict[str, SplitRule] = {}


def split_rule(*names: str, tag: str | None = None) -> Callable[[SplitRule], SplitRule]:
    """Enter a rule for operations, and for those with a tag that have none of their own.

    Of a call with several results, a rule gives one value for each.
    """

    def enter(rule: SplitRule) -> SplitRule:
        for name in names:
            OPERATIONS[name].split_rule = rule
        if tag is not None:
            _BY_TAG[tag] = rule
        return rule

    return enter


class Translator:
    """Translates one graph: that of the function, or of the step of a loop."""

    def __init__(
        self, frame: Frame, values: Mapping[Node, Value], givens: Mapping[Node, Node], inside: str | None = None
    ) -> None:
        self.frame = frame
        self.values = dict(values)
        self.givens = givens
        self.inside = inside
        self.current: Node | None = None
        self._results: dict[Node, Sequence[Value]] = {}

    def value(self, node: Node) -> Value:
        """What a node of the old graph has become."""
        node = self.givens.get(node, node)
        if node not in self.values:
            self.translate([node])
        return self.values[node]

    def translate(self, roots: Sequence[Any]) -> None:
        """Translate all that these need."""
        for node in reachable(roots, self.values, self.givens):
            if node not in self.values:
                before, self.current = self.current, node
                self.values[node] = self._translated(node)
                self.current = before

    def _translated(self, node: Node) -> Value:
        if node.op in LEAVES:
            return Value(node)
        if node.op is OUTPUT:
            return self._result(node)
        if IDENTITY_TAG in node.op.tags:
            return self.value(node.args[0])
        if all(self.value(parent).kind == WHOLE for parent in node.inputs):
            return self._copied(node)
        tags = (ELEMENTWISE_TAG, COMPOSITE_TAG, ALONG_AXES_TAG, MATRICES_TAG)
        rule = node.op.split_rule or next((_BY_TAG[tag] for tag in tags if tag in node.op.tags), None)
        if rule is None:
            self.refuse(node, "is not known to work block by block")
        found = rule(self, node)
        if isinstance(found, Value):
            return found
        self._results[node] = found
        return Value(node, SPLIT)

    def _result(self, node: Node) -> Value:
        """One result of a call that has several."""
        call, index = node.args
        if call in self._results:
            found: Value = self._results[call][index]
            return found
        new = self.value(call).node
        if new is call:
            return Value(node, stage=self.frame.stage_of(call))
        shape = tuple(self.local(size) for size in node.shape)
        return self.frame.enter(Value(output(new, index, shape, node.dtype), stage=self.frame.stage_of(new)))

    def _copied(self, node: Node) -> Value:
        """A whole value: the old node where it is computed from old ones."""
        found = [self.value(parent) for parent in node.inputs]
        stage = max((value.stage for value in found), default=0)
        if all(value.node is parent for value, parent in zip(found, node.inputs, strict=True)):
            return self.frame.enter(Value(node, stage=stage))
        args, attributes = self.renewed(node.args), self.renewed(node.attributes)
        spec = ((), DType("void")) if node.dtype == "void" else node.op.infer(*args, **attributes)
        return self.frame.enter(Value(self._made(node.op, args, attributes, spec, node.payload), stage=stage))

    def _made(self, op: Operation, args: Any, attributes: Any, spec: Any, payload: Any) -> Node:
        node = Node(op, args, attributes, *spec, payload=payload)
        if self.current is not None:
            node.name, node.source_location = self.current.name, self.current.source_location
        return node

    def emit(
        self,
        op: Operation,
        args: Sequence[Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        kind: str,
        axis: int = 0,
        how: str = "sum",
        payload: Any = None,
    ) -> Value:
        """Record a call in the new graph; arguments are Values, or anything else as a node keeps it."""
        plain = tuple(_bare(arg) for arg in args)
        named = dict(attributes or {})
        node = self._made(op, plain, named, op.infer(*plain, **named), payload)
        if kind == SPLIT:
            self.keep_batch(node, axis)
        stage = max(map(self.frame.stage_of, node.inputs), default=0)
        return self.frame.enter(Value(node, kind, axis, stage, how))

    def keep_batch(self, node: Node, axis: int) -> None:
        """Refuse a split value whose shape does not have the batch where blocks are said to lie."""
        if not 0 <= axis < len(node.shape) or self.frame.multiple(node.shape[axis]) is None:
            self.refuse(node, "does not keep the axis of the batch")

    def adopt(self, tensor: Tensor, kind: str, axis: int = 0) -> Value:
        """A value that functions of the tape have recorded from new nodes."""
        for node in reachable([tensor.node], [*self.frame.blocks, *self.frame.stages]):
            if node.op not in LEAVES and node not in self.frame.blocks and node not in self.frame.stages:
                stage = max(map(self.frame.stage_of, node.inputs), default=0)
                self.frame.enter(Value(node, kind, stage=stage))
        return Value(tensor.node, kind, axis, self.frame.stage_of(tensor.node))

    def settled(self, value: Value) -> Value:
        """The value as it can be used for anything: parts combined, positions counted from the start of all."""
        if value.local:
            per = self.frame.multiple(value.node.shape[value.axis])
            moved = Tensor(value.node) + value_length(self.frame.offset) * (per or 1)
            return self.adopt(moved, SPLIT, value.axis)
        if value.kind != PARTIAL:
            return value
        if self.inside is not None:
            self.refuse(self.current, f"needs a value of the whole batch in each step of {self.inside}")
        found = self.frame.combined.get(value.node)
        if found is None:
            node = leaf(PLACEHOLDER, None, value.ndim, value.node.dtype, "combined")
            node.shape = value.node.shape
            found = self.frame.enter(Value(node, stage=value.stage + 1))
            self.frame.combined[value.node] = found
            self.frame.how[value.node] = value.how
        return found

    def as_part(self, value: Value) -> Value:
        """A whole value as a partial one: the first block has all of it."""
        if value.node.op.name == "zeros":
            return replace(value, kind=PARTIAL)
        return self.emit(_OF_FIRST, (value, self.frame.first), kind=PARTIAL)

    def arguments(self, node: Node) -> list[Any]:
        """The arguments of a call: settled Values; lengths as numbers; anything else as it is."""
        return [self.settled(arg) if isinstance(arg, Value) else arg for arg in self.loose_arguments(node)]

    def loose_arguments(self, node: Node) -> list[Any]:
        """The arguments of a call, partial values among them."""
        return [self.value(arg) if isinstance(arg, Node) else self.renewed(arg, self.total) for arg in node.args]

    def renewed(self, value: Any, length: Callable[[Size], Size] | None = None) -> Any:
        """An argument or attribute with new nodes and lengths in it."""
        length = length or self.local
        if isinstance(value, Node):
            return self.settled(self.value(value)).node
        if isinstance(value, Length):
            return length(value)
        if isinstance(value, (tuple, list)):
            return tuple(self.renewed(item, length) for item in value)
        if isinstance(value, dict):
            return {key: self.renewed(item, length) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(*self.renewed((value.start, value.stop, value.step), length))
        return value

    def local(self, size: Size) -> Size:
        """A length in a shape: as it is within a block."""
        found = substituted(size, self._new_atom)
        return self.frame.written_as.get(found, found)

    def total(self, size: Size) -> Size:
        """A length as a number: as it is for all examples together."""
        return substituted(self.local(size), self._whole_atom)

    def shape(self, sizes: Sequence[Size]) -> tuple[Size, ...]:
        """The lengths of a shape within a block."""
        return tuple(map(self.local, sizes))

    def _new_atom(self, atom: tuple[Any, ...]) -> Size:
        value = self.value(atom[1])
        if atom[0] == "axis":
            size: Size = value.node.shape[atom[2]]
            return size
        value = self.settled(value)
        if value.kind != WHOLE:
            self.refuse(self.current, "has a length that each block decides for itself")
        return value_length(value.node)

    def _whole_atom(self, atom: tuple[Any, ...]) -> Size:
        if atom[1] is self.frame.extent:
            return value_length(self.frame.total)
        return axis_length(atom[1], atom[2]) if atom[0] == "axis" else value_length(atom[1])

    def batch_axis_of(self, node: Node, shape: Sequence[Size]) -> int | None:
        """The axis of a shape that is as long as the batch, or a multiple of it; None if there is none."""
        axes = [axis for axis, size in enumerate(shape) if self.frame.holds_batch(size)]
        if len(axes) > 1 or any(self.frame.multiple(shape[axis]) is None for axis in axes):
            self.refuse(node, "makes a shape in which the batch is not one axis")
        return axes[0] if axes else None

    def aligned(self, node: Node, values: Sequence[Value], ndim: int) -> int | None:
        """The axis of the result of broadcasting along which the blocks lie; None where all values are whole."""
        split = [value for value in values if value.kind == SPLIT]
        axes = {value.axis - value.ndim + ndim for value in split}
        if len(axes) > 1:
            self.refuse(node, "brings two axes together of which one is the batch")
        if not axes:
            return None
        (axis,) = axes
        for value in values:
            own = axis - ndim + value.ndim
            if value.kind == WHOLE and own >= 0 and same_length(value.node.shape[own], 1) is not True:
                self.refuse(node, f"meets the batch with {value.node!r}, which has an axis there but is not split")
        sizes = [value.node.shape[value.axis] for value in split]
        if any(size != sizes[0] for size in sizes):
            self.refuse(node, "brings two axes together of which one is the batch")
        return axis

    def refuse(self, node: Node | None, why: str) -> NoReturn:
        """Say which operation cannot be done in blocks.

        Raises
        ------
        ValueError
            Always.
        """
        label = "the graph" if node is None else f"{node.name or node.op.name}"
        at = recorded_at(None if node is None else node.source_location)
        raise ValueError(
            f"batch_axis cannot be kept: {label}{at and at + ','} {why}; leave batch_axis out to run operation by "
            "operation"
        )


def _bare(arg: Any) -> Any:
    if isinstance(arg, Value):
        return arg.node
    return tuple(map(_bare, arg)) if isinstance(arg, (tuple, list)) else arg


@split_rule(tag=COMPOSITE_TAG)
def _by_parts(t: Translator, node: Node) -> Value:
    """A composite: itself where its parts stay in blocks, else its parts."""
    tensors = [Tensor(arg) if isinstance(arg, Node) else arg for arg in node.args]
    xp = array_namespace(*[tensor for tensor in tensors if isinstance(tensor, Tensor)])
    assert node.op.run is not None
    found = t.value(node.op.run(xp, *tensors, **node.attributes).node)
    args = t.arguments(node)
    stage = max((arg.stage for arg in args if isinstance(arg, Value)), default=0)
    if found.kind != SPLIT or found.stage > stage or found.local:
        return found
    return t.emit(node.op, args, t.renewed(node.attributes, t.total), kind=SPLIT, axis=found.axis)
