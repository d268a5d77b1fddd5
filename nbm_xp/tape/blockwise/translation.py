"""From a graph to one that runs block by block along the batch.

Every value of the graph becomes one of three kinds: *whole*, the same whatever the blocks are; *split*, a block of it
follows from the same block of the inputs; or *partial*, each block gives a part and the parts together are the value
(sums are added, maxima compared, …). A partial value whose whole is asked for starts a new stage: the parts are
combined, and from then on it is whole. What is none of the three is refused before anything runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from nbm_xp.namespace import array_namespace

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
    Shape,
    Spec,
    call_of,
    leaf,
    same_as_first,
)
from ..registry import OPERATIONS, declare
from ..source_locations import recorded_at
from ..stand_ins import inner_placeholder
from ..tensor import Tensor, output
from ..traversal import reachable
from .frame import PARTIAL, SPLIT, WHOLE, Frame, Value, values_in
from .parts import stays_in_parts

__all__ = ["Translator", "split_rule"]

_OF_FIRST = declare(
    "of_first_block", same_as_first, run=lambda xp, x, first: x if first else xp.zeros_like(x), memory=Memory.FIRST
)
"""A whole value as the part of the first block; the others have nothing of it."""

SplitRule = Callable[..., "int | Value | Sequence[Value] | Mapping[int, Value] | None"]
_BY_TAG: dict[str, SplitRule] = {}
_TAGS = (ELEMENTWISE_TAG, COMPOSITE_TAG, ALONG_AXES_TAG, MATRICES_TAG)
"""The tags that say how a call splits; of two, the first one tells."""


def split_rule(*names: str, tag: str | None = None) -> Callable[[SplitRule], SplitRule]:
    """Enter a rule for operations, and for those with a tag that have none of their own.

    A rule is asked where not all is whole: ``rule(t, node, *args)``, with translated values in the place of arrays. It
    says along which axis of the result the blocks lie, or None for a result that is whole; where the call itself has to
    become another one, it gives the translated value, or one for each of several results, or of those that are needed.
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
        self.needed: dict[Node, set[int]] = defaultdict(set)
        self._results: dict[Node, Mapping[int, Value]] = {}

    def value(self, node: Node) -> Value:
        """What a node of the old graph has become."""
        node = self.givens.get(node, node)
        if node not in self.values:
            self.translate([node])
        return self.values[node]

    def translate(self, roots: Sequence[Any]) -> None:
        """Translate all that these need."""
        order = reachable(roots, self.values, self.givens)
        for node in order:
            if node.op is OUTPUT:
                self.needed[node.args[0]].add(node.args[1])
        for node in order:
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
            return self.again(node, self.arguments(node), WHOLE)
        rule = node.op.split_rule or _BY_TAG.get(next((tag for tag in _TAGS if tag in node.op.tags), ""))
        if rule is None and COMPOSITE_TAG in node.op.tags:
            return self._by_parts(node)
        args = self.arguments(node)
        values = values_in(args)
        if any(value.kind == PARTIAL for value in values):
            if self.inside is not None and node.op.name in ("add", "subtract"):
                args = [self.as_part(arg) if isinstance(arg, Value) and arg.kind == WHOLE else arg for arg in args]
            if stays_in_parts(self.frame, node, args):
                return self.again(node, args, PARTIAL)
            args = self._settled_arguments(args)
            values = values_in(args)
        if all(value.kind == WHOLE for value in values) and not self.frame.mentions_batch(
            (args, self.renewed(node.attributes))
        ):
            return self.again(node, args, WHOLE)
        if rule is None:
            self.refuse(node, "is not known to work block by block")
        found = rule(self, node, *args)
        if found is None or isinstance(found, int):
            return self.again(node, args, WHOLE if found is None else SPLIT, found or 0)
        if isinstance(found, Value):
            return found
        self._results[node] = found if isinstance(found, Mapping) else dict(enumerate(found))
        return Value(node, SPLIT)

    def _by_parts(self, node: Node) -> Value:
        """A composite: itself where its parts stay in blocks, else its parts."""
        tensors = [Tensor(arg) if isinstance(arg, Node) else arg for arg in node.args]
        xp = array_namespace(*[tensor for tensor in tensors if isinstance(tensor, Tensor)])
        assert node.op.run is not None
        found = self.value(node.op.run(xp, *tensors, **node.attributes).node)
        args = self._settled_arguments(self.arguments(node))
        stage = max((value.stage for value in values_in(args)), default=0)
        if found.kind != SPLIT or found.stage > stage:
            return found
        return self.again(node, args, SPLIT, found.axis)

    def _result(self, node: Node) -> Value:
        """One result of a call that has several."""
        call, index = node.args
        made = self.value(call)
        if call in self._results:
            if index not in self._results[call]:  # needed by what was recorded since
                self._translated(call)
            return self._results[call][index]
        if made.node is call:
            return Value(node, stage=made.stage)
        return self.result(made, index, (self.shape(node.shape), node.dtype), made)

    def result(self, call: Value, index: int, spec: Spec, like: Value) -> Value:
        """One result of a call, of the kind of `like`."""
        node = output(call.node, index, *spec)
        if like.kind == SPLIT:
            self.keep_batch(node, like.axis)
        return self.frame.enter(replace(like, node=node, stage=call.stage))

    def again(
        self,
        node: Node,
        args: Sequence[Any],
        kind: str,
        axis: int = 0,
        *,
        op: Operation | None = None,
        how: str = "sum",
    ) -> Value:
        """A call with new arguments; the old node where it is computed from old ones."""
        if kind == WHOLE and all(self.value(parent).node is parent for parent in node.inputs):
            stage = max(map(self.frame.stage_of, node.inputs), default=0)
            return self.frame.enter(Value(node, stage=stage))
        attributes = self.renewed(node.attributes, self.total)
        if not node.is_call:
            return self.emit(op or node.op, args, attributes, kind=kind, axis=axis, how=how)
        return self.call(node.op, args, attributes, kind=kind, axis=axis, payload=node.payload)

    def emit(
        self,
        op: Operation,
        args: Sequence[Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        kind: str,
        axis: int = 0,
        how: str = "sum",
    ) -> Value:
        """Record a value in the new graph; arguments are Values, or anything else as a node keeps it."""
        plain, named = tuple(map(_bare, args)), dict(attributes or {})
        found = self._entered(Node(op, plain, named, *op.infer(*plain, **named)), kind, axis, how)
        if kind == SPLIT:
            self.keep_batch(found.node, axis)
        elif kind == WHOLE and self.frame.mentions_batch(found.node.shape):
            self.refuse(self.current, "gives an array of the batch that is not split along it")
        return found

    def call(
        self,
        op: Operation,
        args: Sequence[Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        kind: str,
        axis: int = 0,
        payload: Any = None,
    ) -> Value:
        """Record a call with several results, which `result` gives."""
        node = call_of(op, tuple(map(_bare, args)), dict(attributes or {}), payload=payload)
        return self._entered(node, kind, axis)

    def _entered(self, node: Node, kind: str, axis: int, how: str = "sum") -> Value:
        if self.current is not None:
            node.name, node.source_location = self.current.name, self.current.source_location
        return self.frame.enter(Value(node, kind, axis, max(map(self.frame.stage_of, node.inputs), default=0), how))

    def stand_in(self, shape: Shape, like: Value) -> Value:
        """What stands inside a step for a value of the kind of `like`."""
        return self.frame.enter(replace(like, node=inner_placeholder(shape, like.node.dtype)))

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
        """The value as it can be used for anything: parts combined."""
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
        """The arguments of a call with Values for nodes; lengths are those of a block in shapes, else numbers."""
        own = (node.op.shape_at, node.op.length_at)
        return [_renewed(arg, self.local if i in own else self.total, self.value) for i, arg in enumerate(node.args)]

    def _settled_arguments(self, args: Sequence[Any]) -> list[Any]:
        """The arguments with parts combined."""

        def settled(arg: Any) -> Any:
            if isinstance(arg, tuple):
                return tuple(map(settled, arg))
            return self.settled(arg) if isinstance(arg, Value) else arg

        return list(map(settled, args))

    def renewed(self, value: Any, length: Callable[[Size], Size] | None = None) -> Any:
        """An attribute with new nodes and lengths in it, which are those of a block unless `length` says otherwise."""
        return _renewed(value, length or self.local, lambda node: self.settled(self.value(node)).node)

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

    def aligned(self, node: Node, args: Sequence[Any], ndim: int) -> int | None:
        """The axis of the result of broadcasting along which the blocks lie; None where all values are whole."""
        values = values_in(args)
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


def _renewed(value: Any, length: Callable[[Size], Size], node: Callable[[Node], Any]) -> Any:
    """What `length` and `node` give for the lengths and nodes in an argument."""
    if isinstance(value, Node):
        return node(value)
    if isinstance(value, Length):
        return length(value)
    if isinstance(value, (tuple, list)):
        return tuple(_renewed(item, length, node) for item in value)
    if isinstance(value, dict):
        return {key: _renewed(item, length, node) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*_renewed((value.start, value.stop, value.step), length, node))
    return value
