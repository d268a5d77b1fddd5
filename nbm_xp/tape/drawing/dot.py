"""A diagram in the DOT language, for Graphviz and for whatever reads it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .diagram import Box, Diagram

__all__ = ["dot"]

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


def dot(diagram: Diagram) -> str:
    """The text of a directed graph; the step of a loop is a cluster."""
    numbers = itertools.count()
    names: dict[Box, str] = {}
    kinds = _kinds(diagram)
    legend = ", ".join(text for kind, text in _LEGEND.items() if kind in kinds)
    lines = [
        "digraph {",
        f'  graph [fontname="Helvetica", fontsize=9, fontcolor="#5d6b7a", pad=0.2, label={_quoted(legend)}];',
        '  node [shape=box, fontname="Helvetica", fontsize=11, fontcolor="#1d2733", margin="0.14,0.06"];',
        '  edge [fontname="Helvetica", fontsize=9, color="#a3b0bd", fontcolor="#7b8794", arrowsize=0.7];',
        *_lines(diagram, "  ", names, numbers),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _kinds(diagram: Diagram) -> set[str]:
    inside = (_kinds(box.inside) for box in diagram.boxes if box.inside is not None)
    return {box.kind for box in diagram.boxes}.union(*inside)


def _lines(diagram: Diagram, margin: str, names: dict[Box, str], numbers: Iterator[int]) -> Iterator[str]:
    for box in diagram.boxes:
        name = names[box] = f"n{next(numbers)}"
        if box.inside is not None:
            yield f"{margin}subgraph cluster_{name} {{"
            yield f'{margin}  label={_quoted(box.title)}; style="rounded,filled"; color="#9a84cf"; fillcolor="#f6f3fc";'
            yield f"{margin}  {name} [label={_quoted(box.detail)}, shape=plaintext];"
            yield from _lines(box.inside, f"{margin}  ", names, numbers)
            yield f"{margin}}}"
            continue
        label = _quoted("\n".join(filter(None, (box.title, box.detail))))
        heavy = ", penwidth=2" if box.is_result else ""
        yield f"{margin}{name} [label={label}, tooltip={_quoted(box.tooltip)}, {_LOOK[box.kind]}{heavy}];"
    for arrow in diagram.arrows:
        label = f" [label={_quoted(arrow.label)}]" if arrow.label else ""
        yield f"{margin}{names[arrow.start]} -> {names[arrow.end]}{label};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
