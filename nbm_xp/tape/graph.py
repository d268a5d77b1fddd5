"""The graph: immutable nodes, walks over their inputs, and the derivatives in progress.

A node is one value: an operation, its arguments, its shape and dtype. Arguments are nodes, Python scalars, lengths
and sequences of these; attributes (axis, keepdims, dtype, …) are plain values and lengths. The graph is independent of
array libraries. Leaves are placeholders, variables and constants. An operation with several results is recorded as one
call node and one `OUTPUT` node for each used result. A node stores its source location in the user's code.
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

_serials = itertools.count()

# Code object, position in it, description of the gradient (only for nodes of gradient rules), name of the function.
SourceLocation: TypeAlias = tuple[CodeType, int, str | None, str]

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir)) + os.sep
_USERS = tuple(os.path.join(_PACKAGE, part) for part in ("boltzmann", "cli"))


class _Recording(threading.local):
    """Recording state of a thread; `source_location` replaces the frame's location while a gradient rule runs."""

    source_location: SourceLocation | None = None


recording = _Recording()


def current_location() -> SourceLocation | None:
    """Return the location of the user's call that is being recorded; None if all frames are this package's."""
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


@lru_cache(maxsize=10_000)  # bounded, because every cell of a notebook is a file
def _is_ours(filename: str) -> bool:
    """Return whether a file belongs to this package, except for the subpackages that use the tape as users do."""
    return filename.startswith(_PACKAGE) and not filename.startswith(_USERS)


class Node:
    """One recorded value, or a call with several results.

    `source_location` is the location in the user's code. `evaluator` is the compiled function of the value, if any, and
    `memo` the cached value if it cannot change. `reader` returns the value of a node that is a view of a user's array.
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
        return None, state | dict.fromkeys(("evaluator", "memo", "source_location", "reader"))  # not pickled

    @property
    def is_call(self) -> bool:
        """Whether the node is a call with several results."""
        return bool(self.dtype.kind == "V")

    @property
    def call(self) -> Node:
        """The call of which the node is a result; the node itself if it has a single result."""
        return self.args[0] if self.op is OUTPUT else self

    def current_shape(self) -> tuple[int, ...] | None:
        """Return the current shape of a variable; None for other nodes."""
        return tuple(self.payload.value.shape) if self.op is VARIABLE else None

    def array_args(self) -> Iterator[Node]:
        """Yield the nodes among the arguments, without nodes that occur only in lengths."""
        for arg in self.args:
            if isinstance(arg, Node):
                yield arg
            elif isinstance(arg, tuple):
                yield from (item for item in arg if isinstance(item, Node))

    def __repr__(self) -> str:
        return f"<node {self.name or self.op.name} {self.dtype}{list(self.shape)}>"


_CALL = host_namespace().dtype("V")


class ChainStep(NamedTuple):
    """The argument that replaces a value in a chain of elementwise functions, and the shape of the value."""

    value: Node
    shape: Shape


def call_of(
    op: Operation,
    args: tuple[Any, ...],
    attributes: dict[str, Any] | None = None,
    *,
    payload: Any = None,
    name: str | None = None,
) -> Node:
    """Create the node of a call with several results, which are `OUTPUT` nodes of the call."""
    return Node(op, args, attributes or {}, (), _CALL, payload=payload, name=name)


def _inputs(args: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Node, ...]:
    """Return the distinct nodes from which a call is computed."""
    found: dict[Node, None] = {}
    for value in (*args, *attributes.values()) if attributes else args:
        if type(value) is Node:
            found[value] = None
        elif type(value) not in _PLAIN:
            found.update(dict.fromkeys(nodes_in(value)))
    return tuple(found)


_PLAIN = frozenset({bool, int, float, complex, str, type(None), *DTYPE_CLASSES})


def nodes_in(value: Any) -> Iterator[Node]:
    """Yield every node in a value: the value itself, entries of sequences, and nodes of lengths."""
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
    """Create a leaf; unknown lengths (None, or all of them) become symbols of its axes."""
    node = Node(op, (), {}, (), dtype, name=name, payload=payload)
    lengths = [None] * ndim if shape is None else shape
    node.shape = tuple(axis_length(node, axis) if length is None else length for axis, length in enumerate(lengths))
    return node


# A result of a plan.
Result: TypeAlias = "Node | Length | None"

_inputs_of: Callable[[Node], Sequence[Node]] = attrgetter("inputs")


def reachable(
    roots: Sequence[Result], stop: Collection[Node] = (), givens: Mapping[Node, Node] | None = None
) -> list[Node]:
    """Return the nodes that the roots need, inputs first, with `givens` replaced; inputs of `stop` are not visited."""
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
    """Return the nodes that the roots need, inputs first, by `operands`, which is not called for nodes in `stop`."""
    opened: set[Node] = set()
    placed: dict[Node, None] = {}
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node in opened:  # all its inputs are placed
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
    """Create a placeholder for a value inside a step or for a free variable."""
    return leaf(PLACEHOLDER, shape, len(shape), as_dtype(dtype), name)  # type: ignore[arg-type]


# Identity, through which no gradient flows.
STOP = declare("stop_gradient", same_as_first, gradient=(None,), tags=frozenset({IDENTITY_TAG}), may_overlap=True)

# Identity; marks a value as an argument of one derivative, which ignores other uses of the value.
ARGUMENT = declare(
    "argument", same_as_first, (lambda g, out, x: g,), tags=frozenset({IDENTITY_TAG, ELEMENTWISE_TAG}), may_overlap=True
)

# Arguments of the derivatives being recorded, in all threads.
IN_PROGRESS: set[Node] = set()


def refuse_cut(node: Node, name: str) -> None:
    """Raise if converting a value to an array or number would cut a derivative; the message calls the value `name`.

    Integers and booleans have no derivative.

    Raises
    ------
    TypeError
        If the value is being differentiated.
    """
    if is_differentiated(node):
        raise TypeError(
            f"{name} is being differentiated and cannot become a plain number or array, which would cut the "
            "derivative off: call functions of xp = array_namespace(x), such as xp.sum(x), or stop_gradient(x) where "
            "the cut is meant"
        )


def is_differentiated(node: Node) -> bool:
    """Return whether a value depends on an argument of a derivative in progress."""
    if not IN_PROGRESS or node.dtype.kind not in "fc":
        return False
    stops = [one for one in reachable([node]) if one.op is STOP]
    return any(one in IN_PROGRESS for one in reachable([node], stops))
