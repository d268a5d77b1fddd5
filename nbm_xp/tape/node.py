"""The graph: immutable nodes, the operations that they record, and the registry of all operations.

A node is one value: an operation, its arguments, its shape and dtype. Arguments are nodes, Python scalars, lengths
and sequences of these; attributes (axis, keepdims, dtype, …) are plain values and lengths. Nothing here knows an array
library. Leaves are placeholders, variables and constants. An operation with several results is recorded as one call
node and one `OUTPUT` node for each result that is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from nbm_xp.namespace import host_namespace

from .dtypes import DTYPE_CLASSES, DType
from .lengths import Length, Size, axis_length
from .source_locations import SourceLocation, current_location

__all__ = [
    "ALONG_AXES_TAG", "COMPOSITE_TAG", "CONSTANT", "ChainStep", "ELEMENTWISE_TAG", "FLAT", "IDENTITY_TAG",
    "IFELSE_NAME", "Joint", "LEAVES", "LINEAR_TAG", "MATRICES_TAG", "Node", "OPERATIONS", "OUTPUT",
    "Operation", "PLACEHOLDER", "Rule", "SUBGRAPH_TAG", "Shape", "Spec", "VARIABLE", "call_of", "declare", "leaf",
    "nodes_in", "register_gradient", "rules_version", "same_as_first", "with_short_lengths",
]  # fmt: skip

_LONGEST = 32


Shape: TypeAlias = tuple[Size, ...]
Spec: TypeAlias = tuple[Shape, DType]
Rule: TypeAlias = "Callable[..., Any] | None"

_serials = itertools.count()


class Joint:
    """A gradient rule that answers for all arguments at once: ``rule(g, out, *args, **attributes)``, one entry each."""

    __slots__ = ("rule",)

    def __init__(self, rule: Callable[..., Sequence[Any]]) -> None:
        self.rule = rule


FLAT = Joint(lambda g, out, *args, **attributes: [None] * len(args))
"""The gradient rule of a function that is constant almost everywhere: nothing flows back."""


class ChainStep(NamedTuple):
    """What stands for a value in a chain of elementwise functions, where it broadcasts, and the shape it then has."""

    value: Node
    shape: Shape


@dataclass(eq=False, slots=True)
class Operation:
    """What a node does.

    Parameters
    ----------
    name
        Name in the array API standard, dotted for its extensions (``"linalg.solve"``), or a name of its own.
    infer
        ``infer(*args, **attributes)`` gives shape and dtype, or a list of these where there are several results.
    gradient
        One rule for each array argument, ``rule(g, out, *args, **attributes)``; a `Joint` rule; or None where no
        rule has been given.
    run
        ``run(xp, *arrays, **attributes)``; by default the library's function of that name. Of an operation that holds
        a graph (`SUBGRAPH_TAG`), ``run(xp, payload, needed, unstacked)`` gives what computes the needed ones of its
        results, of which the unstacked may stay lists of steps.
    emit
        ``emit(call, *sources)``: an expression in place of a call, for operators and indexing.
    fused
        What runs in place of several operations: by position of an argument and the names of the operations that
        compute it, one within another, for this one alone. Like `run`, with what the innermost is given in place of
        the argument, then what else the outer ones are given. Of two that fit, the first is taken.
    may_overlap
        Whether the result may lie in the memory of an argument, or be for reading only: before such a result is handed
        out or becomes a variable's value, it is copied where it does.
    symbol
        How Python writes a call, before its operand or between the two.
    shape_at
        Which argument is the shape of the result, if one is: its lengths are those of a block where there are blocks.
    length_at
        Which argument is a length, if one is, in the form that it has in shapes.
    vmap_rule
        How a call is recorded for many examples (`derivatives.batching`), where tags do not tell.
    chain_step
        ``chain_step(node)``: what a call that is no elementwise function does in a chain of them (`plans.chains`), or
        None where it has to stay outside.
    adds_up
        Whether it adds up along axes, as chains can on the way.
    written
        ``written(part, x, *args, **attributes)``: what writing `part` to the result makes of the first argument `x`,
        for a result that is a part or view of it.
    """

    name: str
    infer: Callable[..., Any]
    gradient: tuple[Rule, ...] | Joint | None = None
    run: Callable[..., Any] | None = None
    emit: Callable[..., str] | None = None
    tags: frozenset[str] = field(default_factory=frozenset)
    fused: dict[tuple[int, *tuple[str, ...]], Callable[..., Any]] = field(default_factory=dict)
    may_overlap: bool = False
    symbol: str | None = None
    shape_at: int | None = None
    length_at: int | None = None
    vmap_rule: Callable[..., Any] | None = None
    chain_step: Callable[[Node], ChainStep | None] | None = None
    adds_up: bool = False
    written: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


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


def with_short_lengths(node: Node) -> Node:
    """The node, its lengths replaced by symbols of its own where they take too long to write."""
    if any(type(size) is Length and size.weight > _LONGEST for size in node.shape):
        node.shape = tuple(
            axis_length(node, axis) if isinstance(size, Length) and size.weight > _LONGEST else size
            for axis, size in enumerate(node.shape)
        )
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


def same_as_first(x: Node, *others: Any, **attributes: Any) -> Spec:
    """The shape and dtype rule of a function whose result is as its first array."""
    return x.shape, x.dtype


def _never(*args: Any, **attributes: Any) -> Any:
    raise AssertionError("a leaf is made, not recorded")


PLACEHOLDER = Operation("placeholder", _never)
VARIABLE = Operation("variable", _never)
CONSTANT = Operation("constant", _never)
OUTPUT = Operation("output", _never)
LEAVES = frozenset((PLACEHOLDER, VARIABLE, CONSTANT))

IFELSE_NAME = "ifelse"
SUBGRAPH_TAG = "subgraph"
"""Holds a graph as its payload, and gives several results, of which only the needed ones are computed.

The payload tells by `within` what the graph is, by `n_results` and `spec` what it gives, and by `state_updates` how the
states of random draws in it move on.
"""
IDENTITY_TAG = "identity"
COMPOSITE_TAG = "made-of-parts"
ELEMENTWISE_TAG = "elementwise"
ALONG_AXES_TAG = "along-axes"
"""Goes along the axes that its option `axis` or `axes` names, for each place in the others by itself."""
MATRICES_TAG = "of-matrices"
"""Of the matrices in the last two axes, for each of them by itself."""
LINEAR_TAG = "linear"
"""Linear in the first argument, whatever the others are."""


def leaf(
    op: Operation, shape: Sequence[int | None] | None, ndim: int, dtype: DType, name: str | None, payload: Any = None
) -> Node:
    """A leaf whose unknown lengths (None, or all of them) are the symbols of its own axes."""
    node = Node(op, (), {}, (), dtype, name=name, payload=payload)
    lengths = [None] * ndim if shape is None else shape
    node.shape = tuple(axis_length(node, axis) if length is None else length for axis, length in enumerate(lengths))
    return node


OPERATIONS: dict[str, Operation] = {}
"""Every declared operation by name."""

_rule_changes = itertools.count()
_rules_version = next(_rule_changes)


def declare(
    name: str,
    infer: Callable[..., Any],
    gradient: tuple[Rule, ...] | Joint | None = None,
    run: Callable[..., Any] | None = None,
    **facts: Any,
) -> Operation:
    """Make an operation of what `Operation` takes, and enter it into the registry; a name is declared once."""
    if name in OPERATIONS:
        raise ValueError(f"operation {name!r} is declared already")
    OPERATIONS[name] = op = Operation(name, infer, gradient, run, **facts)
    return op


def register_gradient(name: str, *rules: Rule, joint: Callable[..., Sequence[Any]] | None = None) -> None:
    """Give an operation its gradient rule, or another one.

    Parameters
    ----------
    name : str
        The operation's name, as in the standard (``"exp"``, ``"linalg.solve"``) or as declared.
    *rules : callable or None
        One for each array argument: ``rule(g, out, *args, **attributes)``, where `g` is the gradient of the loss in
        the result `out`, gives the gradient in that argument. None says that nothing flows back.
    joint : callable, optional
        Instead of `rules`, one rule that returns all of them in a sequence.

    Raises
    ------
    TypeError
        If a rule is neither callable nor None.
    ValueError
        If there is no such operation, too few rules are given, or both or neither of `rules` and `joint`.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients, operation
    >>> half = operation("doctest_half", infer=lambda x: (x.shape, x.dtype), run=lambda xp, x: x / 2)
    >>> register_gradient("doctest_half", lambda g, out, x: g / 2)
    >>> x = Variable(3.0)
    >>> float(gradients(half(x), x))
    0.5
    """
    given: Any = name
    if not isinstance(given, str) or name not in OPERATIONS:
        raise ValueError(f"name must be a declared operation, got {name!r}")
    if bool(rules) == (joint is not None):
        raise ValueError("register_gradient takes either rules or joint=")
    for rule in rules if joint is None else (joint,):
        if rule is not None and not callable(rule):
            raise TypeError(f"rules must be callable or None, got {rule!r}")
    before = OPERATIONS[name].gradient
    if rules and isinstance(before, tuple) and len(rules) < len(before):
        raise ValueError(f"rules of {name} must be one for each of its {len(before)} array arguments, got {len(rules)}")
    OPERATIONS[name].gradient = rules if joint is None else Joint(joint)
    global _rules_version
    _rules_version = next(_rule_changes)


def rules_version() -> int:
    """A number that changes whenever a rule does: what was compiled with another is out of date."""
    return _rules_version
