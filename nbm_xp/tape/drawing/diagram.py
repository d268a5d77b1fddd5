"""What a picture shows: boxes and the arrows between them, made from a graph; of a loop, the step inside its box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbm_xp.tape.dtypes import DType
from nbm_xp.tape.lengths import Length
from nbm_xp.tape.node import CONSTANT, OUTPUT, PLACEHOLDER, SUBGRAPH_TAG, VARIABLE, Node
from nbm_xp.tape.printing import call_name, described_kind, held_values, short, telling_options
from nbm_xp.tape.source_locations import recorded_at
from nbm_xp.tape.traversal import reachable

__all__ = ["Arrow", "Box", "Diagram", "diagram"]

KINDS = {PLACEHOLDER: "placeholder", VARIABLE: "variable", CONSTANT: "constant"}


@dataclass(eq=False)
class Box:
    """One value, or a loop with its step inside."""

    title: str
    detail: str
    kind: str
    tooltip: str = ""
    inside: Diagram | None = None
    is_result: bool = False


@dataclass(eq=False)
class Arrow:
    """A value that goes into another."""

    start: Box
    end: Box
    label: str = ""


@dataclass(eq=False)
class Diagram:
    """Boxes, inputs first, and arrows."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def count(self) -> int:
        """How many boxes there are, those inside loops included."""
        return sum(1 + (box.inside.count() if box.inside is not None else 0) for box in self.boxes)


def diagram(roots: Sequence[Node], stop: Sequence[Node] = (), names: dict[Node, str] | None = None) -> Diagram:
    """The boxes and arrows for what the roots are computed from.

    Parameters
    ----------
    roots
        What is asked for.
    stop
        Nodes that are drawn as leaves.
    names
        What to write on leaves, and beside results, such as which carried value of a loop one becomes.
    """
    drawn = Diagram()
    labels = names or {}
    halt = frozenset(stop)
    boxes: dict[Node, Box] = {}
    for node in reachable(roots, stop):
        if node.op.name == "scalar" and node not in roots:
            continue
        if node.op is OUTPUT and node not in halt:
            call = boxes[node.args[0]]
            boxes[node] = call
            call.detail = described_kind(node.dtype, node.shape) if not call.detail else call.detail
            continue
        box = boxes[node] = _box(node, labels.get(node) if node in halt else None, node in halt)
        drawn.boxes.append(box)
        for source, label in _sources(node) if node not in halt else ():
            if source in boxes:
                arrow = Arrow(boxes[source], box, label)
                drawn.arrows.append(arrow)
    for root in roots:
        boxes[root].is_result = True
        if root in labels and root not in halt:
            boxes[root].title = f"{boxes[root].title} {labels[root]}"
    return drawn


def _sources(node: Node) -> Iterator[tuple[Node, str]]:
    """What goes into a node, with a word on what it is for."""
    array_args = set(node.array_args())
    for source in node.inputs:
        label = f"[{source.args[1]}]" if source.op is OUTPUT else ""
        yield source, label or ("" if source in array_args or SUBGRAPH_TAG in node.op.tags else "length")


def _box(node: Node, name: str | None, leaf: bool) -> Box:
    detail = "" if node.is_call else described_kind(node.dtype, node.shape)
    tooltip = recorded_at(node.source_location).removeprefix(", ")
    if node.op in KINDS or leaf:
        kind = KINDS[node.op] if not leaf else "outer" if name is None else "placeholder"
        values = held_values(node.payload) if node.op is CONSTANT else ""
        return Box(name or node.name or values or KINDS.get(node.op) or _title(node), detail, kind, tooltip)
    if SUBGRAPH_TAG in node.op.tags and hasattr(node.payload, "following"):
        return Box(call_name(node), "one step", "loop", tooltip, inside=_step(node.payload))
    title = _title(node)
    return Box(f"{node.name} = {title}" if node.name else title, detail, "operation", tooltip)


def _title(node: Node) -> str:
    """The operation, with what it was given besides arrays: ``sum(axis=0)``, ``· ** 2``."""
    shown = ["·" if isinstance(arg, Node) and arg.op.name != "scalar" else short(arg) for arg in node.args]
    name, symbol = node.op.name, node.op.symbol
    if symbol and len(shown) == 2:
        return f"{shown[0]} {symbol} {shown[1]}" if shown != ["·", "·"] else symbol
    if name == "getitem" and len(shown) == 2:
        return f"·[{shown[1]}]"
    given = [text for arg, text in zip(node.args, shown, strict=True) if _is_plain(arg)]
    given += telling_options(node)
    return f"{name}({', '.join(given)})" if given else name


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return bool(value) and all(map(_is_plain, value))
    return isinstance(value, (int, float, complex, str, DType, Length, slice)) or value is Ellipsis


def _step(body: Any) -> Diagram:
    """The step of a loop: from a slice of each sequence and each carried value to what they become."""
    names: dict[Node, str] = {}
    for position, node in enumerate(body.sequences):
        names[node] = node.name or f"entry of sequence {position}"
    for position, node in enumerate(body.carries):
        names[node] = node.name or f"carried {position}"
    for position, node in enumerate(body.following):
        if node not in names:
            names[node] = f"→ {names[body.carries[position]]}"
    for position, node in enumerate(body.outputs):
        names[node] = f"{names.get(node, '')} → output {position}".strip()
    inner = [*body.sequences, *body.carries, *body.captured]
    results = list(dict.fromkeys([*body.following, *body.outputs, *([] if body.stop is None else [body.stop])]))
    return diagram(results, inner, names)
