"""How values print: a recorded one as the expression it is, a leaf as what it stands for. Nothing is computed.

Length and depth are bounded, whatever the graph. Only what lies in the host's memory is looked at, and a few elements
of that.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, host_namespace, library_name

from .dtypes import DTYPE_CLASSES, DType
from .lengths import Length, known
from .node import CONSTANT, OUTPUT, PLACEHOLDER, SUBGRAPH_TAG, VARIABLE, Node, Shape

__all__ = ["call_name", "described", "described_kind", "expression", "held_values", "short", "telling_options"]

_RECORDED_BY = {"loop": "scan"}
_DEEPEST = 6
_MOST_CALLS = 16
_MOST_ARGUMENTS = 6
_MOST_ELEMENTS = 6
_LONGEST = 120
_MORE = "…"


def described(node: Node, kind: str) -> str:
    """A value in one line, such as ``<Tensor 'h' = tanh((x @ W) + b): float32[?, 500]>``."""
    label = f"{kind} {node.name!r}" if node.name else kind
    what = described_kind(node.dtype, node.shape)
    if node.op is PLACEHOLDER:
        return f"<{label} placeholder: {what}>"
    if node.op is VARIABLE:
        library = library_name(node.payload.value)
        values = held_values(node.payload.value)
        return f"<{label}{f' = {values}' if values else ''}: {what} in {library}>"
    if node.op is CONSTANT:
        return f"<{label} {f'= {held_values(node.payload)}' if held_values(node.payload) else 'constant'}: {what}>"
    text = expression(node)
    return f"<{label} = {text if len(text) <= _LONGEST else text[: _LONGEST - 1] + _MORE}: {what}>"


def described_kind(dtype: DType, shape: Shape) -> str:
    """A dtype and shape, unknown lengths as question marks: ``float32[?, 500]``."""
    lengths = ("?" if length is None else str(length) for length in map(known, shape))
    return f"{dtype}[{', '.join(lengths)}]"


def call_name(node: Node) -> str:
    """What a user calls the operation of a node: a loop by the name it was given, or the function that records it."""
    if SUBGRAPH_TAG not in node.op.tags:
        return node.op.name
    return node.name or _RECORDED_BY.get(node.op.name, node.op.name)


def held_values(array: Any) -> str:
    """The values of a small array in the host's memory; nothing for any other."""
    if array_namespace(array) is not host_namespace() or array.size > _MOST_ELEMENTS:
        return ""
    return str(array.tolist())


def expression(node: Node) -> str:
    """The expression that a node was recorded as, named values in it by their names."""
    return _Printer().call(node, _DEEPEST)[0]


def short(value: Any) -> str:
    """An argument by itself, in few words; an index as it stands between brackets."""
    return _Printer().index(value, 2) if isinstance(value, tuple) else _Printer().part(value, 2)


def telling_options(node: Node) -> list[str]:
    """The options of a call that say more than that they were not used."""
    return [f"{key}={short_option(value)}" for key, value in node.attributes.items() if _tells(value, node)]


def short_option(value: Any) -> str:
    """The value of an option; one axis without brackets."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return _Printer().plain(value, 2)


class _Printer:
    """Prints calls until there have been enough."""

    def __init__(self) -> None:
        self.calls = 0

    def value(self, value: Any, depth: int) -> tuple[str, bool]:
        """Source of a value, and whether it must stand in brackets beside an operator."""
        if not isinstance(value, Node):
            return self.plain(value, depth), False
        if value.name:
            return value.name, False
        if value.op is CONSTANT:
            return held_values(value.payload) or described_kind(value.dtype, value.shape), False
        if value.op in (PLACEHOLDER, VARIABLE):
            return f"{value.op.name} {described_kind(value.dtype, value.shape)}", True
        return self.call(value, depth - 1)

    def call(self, node: Node, depth: int) -> tuple[str, bool]:
        self.calls += 1
        if depth <= 0 or self.calls > _MOST_CALLS:
            return _MORE, False
        name, args = node.op.name, node.args
        if node.op is OUTPUT:
            return f"{self.value(args[0], depth)[0]}[{args[1]}]", False
        if name == "scalar":
            return self.plain(args[0], depth), False
        if node.op.symbol and len(args) == 2:
            left, right = (self.operand(arg, depth) for arg in args)
            return f"{left} {node.op.symbol} {right}", True
        if node.op.symbol:
            return f"{node.op.symbol}{self.operand(args[0], depth)}", True
        if name == "getitem" and len(args) == 2:
            return f"{self.operand(args[0], depth)}[{self.index(args[1], depth)}]", False
        if SUBGRAPH_TAG in node.op.tags:
            return f"{call_name(node)}({_MORE})", False
        shown = [self.value(arg, depth)[0] for arg in args[:_MOST_ARGUMENTS]]
        shown += [_MORE] if len(args) > _MOST_ARGUMENTS else []
        shown += telling_options(node)
        return f"{name}({', '.join(shown)})", False

    def operand(self, value: Any, depth: int) -> str:
        text, loose = self.value(value, depth)
        return f"({text})" if loose else text

    def index(self, value: Any, depth: int) -> str:
        parts = value if isinstance(value, tuple) else (value,)
        return ", ".join(self.part(part, depth) for part in parts[:_MOST_ARGUMENTS])

    def part(self, value: Any, depth: int) -> str:
        if value is Ellipsis:
            return "..."
        if not isinstance(value, slice):
            return self.value(value, depth)[0]
        start, stop, step = ("" if v is None else self.plain(v, depth) for v in (value.start, value.stop, value.step))
        return f"{start}:{stop}:{step}" if step and step != "1" else f"{start}:{stop}"

    def plain(self, value: Any, depth: int) -> str:
        if isinstance(value, Node):
            return self.value(value, depth)[0]
        if isinstance(value, (tuple, list)):
            shown = [self.plain(item, depth) for item in value[:_MOST_ARGUMENTS]]
            more = f", {_MORE}" if len(value) > _MOST_ARGUMENTS else "," if len(value) == 1 else ""
            return f"({', '.join(shown)}{more})"
        if type(value) in DTYPE_CLASSES:
            return str(value)
        if isinstance(value, Length):
            number = known(value)
            return "?" if number is None else str(number)
        text = repr(value)
        return text if len(text) <= _LONGEST // 4 else _MORE


def _tells(value: Any, node: Node) -> bool:
    """Whether an option says more than that it was not used."""
    if value is None or value is False or (type(value) in DTYPE_CLASSES and value == node.dtype):
        return False
    first = node.args[0] if node.args else None
    every = isinstance(first, Node) and isinstance(value, tuple) and value == tuple(range(len(first.shape)))
    return not every
