"""Running op-trees: one plan for each structure of a tree, found again when the same expression is recorded anew.

A training loop records the same expressions at every step, with other numbers in them: a learning rate that decays, a
momentum that grows. So numbers are handed to the plan with the arrays, and so are the parts of buffers that it uses, of
which a recurrent layer has another at every time step. The structure alone decides which plan.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from nbm_xp.namespace import array_namespace, convert, is_lazy, may_overlap
from nbm_xp.namespace.compiling import compiled
from nbm_xp.tape import Tensor, function
from nbm_xp.tape.dtypes import DTYPE_CLASSES, float64
from nbm_xp.tape.node import CONSTANT, PLACEHOLDER, VARIABLE, Node, leaf
from nbm_xp.tape.plans.plan import compile_plan, may_share
from nbm_xp.tape.plans.writer import keep
from nbm_xp.tape.source_locations import add_note, described_location

__all__ = ["run"]

_MOST_PLANS = 2048
_LENGTHS = frozenset({int, type(None)})
_PLAIN = frozenset({int, bool, str, type(None), *DTYPE_CLASSES})


class _Plan(NamedTuple):
    """A compiled structure, and whether what it gives lies in memory of its own."""

    call: Callable[..., tuple[Any, ...]]
    fresh: bool


_plans: dict[Hashable, _Plan] = {}


def run(tree: Tensor, xp: Any, *, kept: bool) -> tuple[Any, bool]:
    """Compute a tree on the arrays of one library.

    Parameters
    ----------
    tree : Tensor
        What is to be computed.
    xp : namespace
        The library's. NumPy arrays in the tree are moved to it.
    kept : bool
        Whether the value can be kept as it is where it is written, so that it matters whose memory it lies in.

    Returns
    -------
    array
        The value.
    bool
        Whether it may be kept: it shares no memory with anything else.

    Raises
    ------
    TypeError
        If there is an array of a third library in the tree.
    """
    structure = _Structure()
    if not structure.read(tree.node):
        return function([], tree)(), True
    key = (xp, tuple(structure.entries))
    arrays = [_array(node) for node in structure.leaves]
    for position, array in enumerate(arrays):
        if array_namespace(array) is not xp:
            arrays[position] = convert(array, xp)
    try:
        plan = _plans.get(key)
        if plan is None:
            plan = keep(_plans, key, structure.plan(tree.node, xp), _MOST_PLANS)
        value = plan.call(*arrays, *structure.numbers)[0]
        # a function that does nothing to arrays that lie in a certain way gives one of them
        return value, kept and plan.fresh and not any(may_overlap(value, array) for array in arrays)
    except Exception as error:
        if tree.node.source_location is not None:
            add_note(error, f"in the op-tree recorded at {described_location(tree.node.source_location)}")
        raise


def _array(node: Node) -> Any:
    if node.reader is not None:
        return node.reader()
    return node.payload.value if node.op is VARIABLE else node.payload


class _Structure:
    """What a tree computes, apart from the values it computes it from."""

    __slots__ = ("entries", "leaves", "numbers", "place", "slots")

    def __init__(self) -> None:
        self.entries: list[Hashable] = []
        self.place: dict[Node, int] = {}
        self.leaves: list[Node] = []
        self.numbers: list[float] = []
        self.slots: dict[Hashable, int] = {}

    def read(self, root: Node) -> bool:
        """Walk through a tree; False if there is something in it that belongs to this tree alone."""
        place, entries, stack = self.place, self.entries, [root]
        while stack:
            node = stack[-1]
            if node in place:
                stack.pop()
                continue
            ready = True
            if node.reader is None:
                for other in node.inputs:
                    if other not in place:
                        stack.append(other)
                        ready = False
            if ready:
                entry = self._entry(node)
                if entry is None:
                    return False
                place[node] = len(place)
                entries.append(entry)
                stack.pop()
        return True

    def _entry(self, node: Node) -> Hashable | None:
        op = node.op
        if node.reader is not None:  # like any other array of its shape, wherever it lies
            self.leaves.append(node)
            return VARIABLE, node.dtype, node.shape
        if op is VARIABLE or op is CONSTANT:
            if op is VARIABLE and (node.payload.is_state or node.payload.default_update is not None):
                return None
            for length in node.shape:
                if type(length) is not int:
                    return None
            self.leaves.append(node)
            return op, node.dtype, node.shape
        if op is PLACEHOLDER or node.payload is not None:
            return None
        try:
            if op.emit is None:
                args = tuple([self._frozen(arg) for arg in node.args])
            else:  # an operator of Python's takes a number as it is
                args = tuple([self._slot(arg) if type(arg) is float else self._frozen(arg) for arg in node.args])
            if not node.attributes:
                return op, args
            return op, args, tuple([(name, self._frozen(value)) for name, value in node.attributes.items()])
        except TypeError:
            return None

    def _slot(self, number: float) -> Hashable:
        """The place of a number among those handed over; equal ones share it, so that equal parts stay equal."""
        key = number or str(number)  # -0.0 is not 0.0
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = len(self.numbers)
            self.numbers.append(number)
        return float, slot

    def _frozen(self, value: Any) -> Hashable:
        kind = type(value)
        if kind is Node:
            return Node, self.place[value]
        if kind in _PLAIN:
            return kind, value
        if kind is tuple:
            if _LENGTHS.issuperset(map(type, value)):  # shapes, axes and bounds of slices: most of what there is
                return int, value
            return tuple([self._frozen(item) for item in value])
        if kind is slice:
            return slice, self._frozen((value.start, value.stop, value.step))
        if kind is float:
            return str, str(value)
        raise TypeError(f"{kind.__name__} is not the same in another tree")

    def plan(self, root: Node, xp: Any) -> _Plan:
        """Compile the structure, from which nothing leads back to the buffers of this tree."""
        copies: dict[Node, Node] = {}
        for node in self.leaves:
            copies[node] = leaf(PLACEHOLDER, node.shape, len(node.shape), node.dtype, node.name)  # type: ignore[arg-type]
        numbers = [leaf(PLACEHOLDER, (), 0, float64, None) for _ in self.numbers]
        for node in self.place:
            if node not in copies:
                copies[node] = self._copy(node, copies, numbers)
        inputs = [*(copies[node] for node in self.leaves), *numbers]
        result = copies[root]
        plan = compile_plan(inputs, [result], xp, lazy=is_lazy(xp))
        fresh = not may_share([result])
        return _Plan(compiled(plan, xp), fresh)

    def _copy(self, node: Node, copies: dict[Node, Node], numbers: list[Node]) -> Node:
        def replaced(value: Any) -> Any:
            if type(value) is Node:
                return copies[value]
            if type(value) is tuple:
                return tuple(map(replaced, value))
            if type(value) is slice:
                return slice(*map(replaced, (value.start, value.stop, value.step)))
            return value

        numeric = node.op.emit is not None
        args = tuple(
            numbers[self.slots[arg or str(arg)]] if numeric and type(arg) is float else replaced(arg)
            for arg in node.args
        )
        attributes = {name: replaced(value) for name, value in node.attributes.items()}
        copy = Node(node.op, args, attributes, node.shape, node.dtype)
        copy.source_location = None  # which differs from tree to tree
        return copy
