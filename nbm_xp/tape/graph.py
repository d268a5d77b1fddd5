"""The graph: immutable nodes, walks over what they are computed from, and which derivatives are in progress.

A node is one value: an operation, its arguments, its shape and dtype. Arguments are nodes, Python scalars, lengths
and sequences of these; attributes (axis, keepdims, dtype, …) are plain values and lengths. Nothing here knows an array
library. Leaves are placeholders, variables and constants. An operation with several results is recorded as one call
node and one `OUTPUT` node for each result that is used. A node knows where in the user's code it was recorded.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

from nbm_xp.namespace import host_namespace

from .dtypes import DTYPE_CLASSES, DType, as_dtype
from .lengths import Length, axis_length
from .operations import ELEMENTWISE_TAG, IDENTITY_TAG, Operation, Shape, declare, same_as_first

__all__ = [
    "ARGUMENT", "CONSTANT", "ChainStep", "IN_PROGRESS", "LEAVES", "Node", "OUTPUT", "PLACEHOLDER", "Result", "STOP",
    "SourceLocation", "VARIABLE", "call_of", "gradient_location", "inner_placeholder", "is_differentiated", "leaf",
    "nodes_in", "reachable", "recording", "refuse_cut", "walk", "with_short_lengths",
]  # fmt: skip

_LONGEST = 32
_serials = itertools.count()

SourceLocation: TypeAlias = tuple[CodeType, int, str | None, str]
"""Code, position in it, of what a gradient rule recorded whose gradient it is, and what was called there."""

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir)) + os.sep
_USERS = tuple(os.path.join(_PACKAGE, part) for part in ("boltzmann", "cli"))


class _Recording(threading.local):
    """What the thread records just now; `source_location` stands in for the frame while a gradient rule runs."""

    source_location: SourceLocation | None = None


recording = _Recording()


def current_location() -> SourceLocation | None:
    """The location of the user's call that records just now; None if there is no code but this package's."""
    location = recording.source_location
    if location is not None:
        return location
    frame = inner = sys._getframe(2)
    while _is_ours(frame.f_code.co_filename):
        outer = frame.f_back
        if outer is None:
            return None
        inner, frame = frame, outer
    return frame.f_code, frame.f_lasti, None, inner.f_code.co_name


@lru_cache(maxsize=10_000)  # a notebook, whose every cell is a file, must not fill the memory
def _is_ours(filename: str) -> bool:
    """Whether a file is this package's, and not written as any user's code would be."""
    return filename.startswith(_PACKAGE) and not filename.startswith(_USERS)


def gradient_location(name: str, location: SourceLocation | None) -> SourceLocation | None:
    """The location for what the gradient rule of an operation records: that of the operation."""
    return None if location is None else (location[0], location[1], f"the gradient of {name}", location[3])


class Node:
    """One recorded value; for a call with several results, all of them together.

    `source_location` is where in the user's code it was recorded. `evaluator` is how its value is found, once it
    has been compiled, and `memo` holds the value itself, where it cannot change. `reader` gives the value as an
    array that is there already, where what was recorded shows memory of the user's.
    """

    __slots__ = (
        "__weakref__",
        "args",
        "attributes",
        "dtype",
        "evaluator",
        "inputs",
        "memo",
        "name",
        "op",
        "payload",
        "reader",
        "serial",
        "shape",
        "source_location",
    )

    def __init__(
        self,
        op: Operation,
        args: tuple[Any, ...],
        attributes: dict[str, Any],
        shape: Shape,
        dtype: DType,
        *,
        name: str | None = None,
        payload: Any = None,
    ) -> None:
        self.op = op
        self.args = args
        self.attributes = attributes
        self.shape = shape
        self.dtype = dtype
        self.name = name
        self.payload = payload
        self.serial = next(_serials)
        self.source_location: SourceLocation | None = None if op is OUTPUT else current_location()
        self.evaluator: Callable[[], Any] | None = None
        self.reader: Callable[[], Any] | None = None
        self.memo: Any = None
        self.inputs: tuple[Node, ...] = _inputs(args, attributes)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        state = {name: getattr(self, name) for name in Node.__slots__ if name != "__weakref__"}
        return None, state | dict.fromkeys(("evaluator", "memo", "source_location", "reader"))  # of this process

    @property
    def is_call(self) -> bool:
        """Whether this is a call with several results, which is none of them."""
        return bool(self.dtype.kind == "V")

    @property
    def call(self) -> Node:
        """The call that this is a result of; any other node is a call of its own."""
        return self.args[0] if self.op is OUTPUT else self

    def current_shape(self) -> tuple[int, ...] | None:
        """The shape that a variable has now; None for what is computed."""
        return tuple(self.payload.value.shape) if self.op is VARIABLE else None

    def array_args(self) -> Iterator[Node]:
        """The nodes among the arguments themselves, without those that only decide a length."""
        for arg in self.args:
            if isinstance(arg, Node):
                yield arg
            elif isinstance(arg, tuple):
                yield from (item for item in arg if isinstance(item, Node))

    def __repr__(self) -> str:
        return f"<node {self.name or self.op.name} {self.dtype}{list(self.shape)}>"


_CALL = host_namespace().dtype("V")


class ChainStep(NamedTuple):
    """What stands for a value in a chain of elementwise functions, where it broadcasts, and the shape it then has."""

    value: Node
    shape: Shape


def with_short_lengths(node: Node) -> Node:
    """The node, its lengths replaced by symbols of its own where they take too long to write."""
    for axis, size in enumerate(node.shape):
        if type(size) is Length and size.weight > _LONGEST:
            node.shape = (*node.shape[:axis], axis_length(node, axis), *node.shape[axis + 1 :])
    return node


def call_of(
    op: Operation,
    args: tuple[Any, ...],
    attributes: dict[str, Any] | None = None,
    *,
    payload: Any = None,
    name: str | None = None,
) -> Node:
    """A call with several results, each of which is an `OUTPUT` of it."""
    return Node(op, args, attributes or {}, (), _CALL, payload=payload, name=name)


def _inputs(args: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Node, ...]:
    """What a call is computed from, each node once."""
    found: dict[Node, None] = {}
    for arg in args:
        if type(arg) is Node:
            found[arg] = None
        elif type(arg) not in _PLAIN:
            found.update(dict.fromkeys(nodes_in(arg)))
    for value in attributes.values():
        if type(value) not in _PLAIN:
            found.update(dict.fromkeys(nodes_in(value)))
    return tuple(found)


_PLAIN = frozenset({bool, int, float, complex, str, type(None), *DTYPE_CLASSES})


def nodes_in(value: Any) -> Iterator[Node]:
    """Every node that a value holds: itself, in sequences, or as what decides a length."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, Length):
        yield from value.nodes()
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from nodes_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from nodes_in(item)
    elif isinstance(value, slice):
        yield from nodes_in((value.start, value.stop, value.step))


def _never(*args: Any, **attributes: Any) -> Any:
    raise AssertionError("a leaf is made, not recorded")


PLACEHOLDER = Operation("placeholder", _never)
VARIABLE = Operation("variable", _never)
CONSTANT = Operation("constant", _never)
OUTPUT = Operation("output", _never)
LEAVES = frozenset((PLACEHOLDER, VARIABLE, CONSTANT))


def leaf(
    op: Operation, shape: Sequence[int | None] | None, ndim: int, dtype: DType, name: str | None, payload: Any = None
) -> Node:
    """A leaf whose unknown lengths (None, or all of them) are the symbols of its own axes."""
    node = Node(op, (), {}, (), dtype, name=name, payload=payload)
    lengths = [None] * ndim if shape is None else shape
    node.shape = tuple(axis_length(node, axis) if length is None else length for axis, length in enumerate(lengths))
    return node


Result: TypeAlias = "Node | Length | None"
"""What a plan can be asked for."""

_inputs_of: Callable[[Node], Sequence[Node]] = attrgetter("inputs")


def reachable(
    roots: Sequence[Result], stop: Collection[Node] = (), givens: Mapping[Node, Node] | None = None
) -> list[Node]:
    """What the roots need, inputs first, with `givens` put in the place of their keys; `stop` needs nothing."""
    found = [node for result in roots for node in nodes_in(result)]
    if not givens:
        return walk(found, _inputs_of, frozenset(stop))
    replaced = givens.get
    return walk(
        [replaced(node, node) for node in found],
        lambda node: [replaced(parent, parent) for parent in node.inputs],
        frozenset(stop),
    )


def walk(
    roots: Iterable[Node], operands: Callable[[Node], Sequence[Node]], stop: frozenset[Node] = frozenset()
) -> list[Node]:
    """What the roots need, inputs first, where `operands` says what each node is computed from; `stop` of nothing."""
    opened: set[Node] = set()
    placed: dict[Node, None] = {}
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node in opened:  # all that it needs has been placed by now
            placed[node] = None
            continue
        opened.add(node)
        parents = None if node in stop else operands(node)
        if parents:
            stack.append(node)
            stack += [parent for parent in reversed(parents) if parent not in opened]
        else:
            placed[node] = None
    return list(placed)


def inner_placeholder(shape: Shape, dtype: Any, name: str | None = None) -> Node:
    """A stand-in for a value inside a step, or for one that is free: it depends on nothing."""
    return leaf(PLACEHOLDER, shape, len(shape), as_dtype(dtype), name)  # type: ignore[arg-type]


STOP = declare("stop_gradient", same_as_first, gradient=(None,), tags=frozenset({IDENTITY_TAG}), may_overlap=True)
"""The value itself, through which no gradient flows."""

ARGUMENT = declare(
    "argument",
    same_as_first,
    (lambda g, out, x: g,),
    tags=frozenset({IDENTITY_TAG, ELEMENTWISE_TAG}),
    may_overlap=True,
)
"""The value itself, as one derivative sees it: other uses of the same value are none of its business."""

IN_PROGRESS: set[Node] = set()
"""The arguments of derivatives that are being recorded, in all threads."""


def refuse_cut(node: Node, name: str) -> None:
    """Refuse to hand a value out of which a derivative would then lose track; the message calls it `name`.

    Whole numbers and truth values have no derivative to lose.

    Raises
    ------
    TypeError
        If a derivative in progress goes through the value.
    """
    if is_differentiated(node):
        raise TypeError(
            f"{name} is being differentiated and cannot become a plain number or array, which would cut the "
            "derivative off: call functions of xp = array_namespace(x), such as xp.sum(x), or stop_gradient(x) where "
            "the cut is meant"
        )


def is_differentiated(node: Node) -> bool:
    """Whether a derivative in progress goes through a value."""
    if not IN_PROGRESS or node.dtype.kind not in "fc":
        return False
    stops = [one for one in reachable([node]) if one.op is STOP]
    return any(one in IN_PROGRESS for one in reachable([node], stops))
