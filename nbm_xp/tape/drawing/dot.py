"""A graph in the DOT language, for Graphviz and for whatever reads it; of a loop, the step inside its box."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbm_xp.tape.dtypes import DType
from nbm_xp.tape.lengths import Length
from nbm_xp.tape.node import CONSTANT, OUTPUT, PLACEHOLDER, SUBGRAPH_TAG, VARIABLE, Node
from nbm_xp.tape.printing import call_name, described_kind, held_values, short, telling_options
from nbm_xp.tape.source_locations import recorded_at
from nbm_xp.tape.traversal import reachable

__all__ = ["dot"]

_KINDS = {PLACEHOLDER: "placeholder", VARIABLE: "variable", CONSTANT: "constant"}
_LOOK = {
    "placeholder": 'style="rounded,filled", color="#4d8fd6", fillcolor="#e4effd"',
    "variable": 'style="rounded,filled", color="#4aa564", fillcolor="#e5f5e8"',
    "constant": 'style="rounded,filled", color="#b3aea3", fillcolor="#f3f2ef"',
    "outer": 'style="rounded,dashed", color="#b3aea3"',
    "operation": 'style="rounded,filled", color="#9aa7b5", fillcolor="#ffffff"',
}
_LEGEND = {
    "placeholder": "blue: input",
    "variable": "green: variable",
    "constant": "grey: constant",
    "outer": "dashed: from outside the loop",
}


def dot(roots: Sequence[Node]) -> tuple[str, int]:
    """The text of a directed graph of what the roots are computed from, and how many boxes it has."""
    writer = _Writer()
    lines = list(writer.lines(roots, (), {}, "  "))
    legend = ", ".join(text for kind, text in _LEGEND.items() if kind in writer.kinds)
    text = [
        "digraph {",
        f'  graph [fontname="Helvetica", fontsize=9, fontcolor="#5d6b7a", pad=0.2, label={_quoted(legend)}];',
        '  node [shape=box, fontname="Helvetica", fontsize=11, fontcolor="#1d2733", margin="0.14,0.06"];',
        '  edge [fontname="Helvetica", fontsize=9, color="#a3b0bd", fontcolor="#7b8794", arrowsize=0.7];',
        *lines,
        "}",
    ]
    return "\n".join(text) + "\n", next(writer.numbers)


class _Writer:
    """Writes boxes and arrows, numbered through; `kinds` are those of the boxes so far."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.kinds: set[str] = set()

    def lines(
        self, roots: Sequence[Node], stop: Sequence[Node], names: Mapping[Node, str], margin: str
    ) -> Iterator[str]:
        """The boxes, inputs first, then the arrows.

        Parameters
        ----------
        roots
            What is asked for.
        stop
            Nodes that are drawn as leaves.
        names
            What to write on leaves, and beside results, such as which carried value of a loop one becomes.
        margin
            What each line begins with.
        """
        halt = frozenset(stop)
        order = [node for node in reachable(roots, stop) if node.op.name != "scalar" or node in roots]
        results = {node: node.call for node in order if node.op is OUTPUT and node not in halt}
        details = {results[node]: described_kind(node.dtype, node.shape) for node in reversed(results)}
        beside: dict[Node, list[str]] = defaultdict(list)  # what is asked for
        for root in roots:
            beside[results.get(root, root)] += [names[root]] if root in names and root not in halt else []
        boxes: dict[Node, str] = {}
        arrows = []
        for node in order:
            if node in results:
                boxes[node] = boxes[results[node]]
                continue
            box = boxes[node] = f"n{next(self.numbers)}"
            leaf = node in halt
            arrows += [] if leaf else [f"{margin}{boxes[a]} -> {box}{on};" for a, on in _sources(node) if a in boxes]
            if not leaf and SUBGRAPH_TAG in node.op.tags and hasattr(node.payload, "following"):
                title = _quoted(" ".join([call_name(node), *beside.get(node, ())]))
                look = 'style="rounded,filled"; color="#9a84cf"; fillcolor="#f6f3fc"'
                yield f"{margin}subgraph cluster_{box} {{"
                yield f"{margin}  label={title}; {look};"
                yield f'{margin}  {box} [label="one step", shape=plaintext];'
                yield from self.lines(*_step(node.payload), f"{margin}  ")
                yield f"{margin}}}"
                continue
            kind, title = _kind_and_title(node, names.get(node) if leaf else None, leaf)
            self.kinds.add(kind)
            title = " ".join([title, *beside.get(node, ())])
            detail = details.get(node, "") if node.is_call else described_kind(node.dtype, node.shape)
            tooltip = _quoted(recorded_at(node.source_location).removeprefix(", "))
            heavy = ", penwidth=2" if node in beside else ""
            label = _quoted("\n".join(filter(None, (title, detail))))
            yield f"{margin}{box} [label={label}, tooltip={tooltip}, {_LOOK[kind]}{heavy}];"
        yield from arrows


def _sources(node: Node) -> Iterator[tuple[Node, str]]:
    """What goes into a node, with a word on what it is for."""
    array_args = set(node.array_args())
    for source in node.inputs:
        word = f"[{source.args[1]}]" if source.op is OUTPUT else ""
        word = word or ("" if source in array_args or SUBGRAPH_TAG in node.op.tags else "length")
        yield source, f" [label={_quoted(word)}]" if word else ""


def _kind_and_title(node: Node, name: str | None, leaf: bool) -> tuple[str, str]:
    """How a box looks, and what stands in it first; `name` is that of a leaf of a step."""
    if node.op in _KINDS or leaf:
        kind = _KINDS[node.op] if not leaf else "outer" if name is None else "placeholder"
        values = held_values(node.payload) if node.op is CONSTANT else ""
        return kind, name or node.name or values or _KINDS.get(node.op) or _title(node)
    return "operation", f"{node.name} = {_title(node)}" if node.name else _title(node)


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


def _step(body: Any) -> tuple[list[Node], list[Node], dict[Node, str]]:
    """The step of a loop: its results, the leaves that it starts from, and what both are."""
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
    return (
        list(dict.fromkeys([*body.following, *body.outputs, *([] if body.stop is None else [body.stop])])),
        inner,
        names,
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
