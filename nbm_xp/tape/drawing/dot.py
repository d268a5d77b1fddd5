"""A diagram in the DOT language, for Graphviz and for whatever reads it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .diagram import Box, Diagram

__all__ = ["dot"]

_LOOK = {
    "placeholder": 'style="rounded,filled", fillcolor="#e0edff"',
    "variable": 'style="rounded,filled", fillcolor="#e2f4e5"',
    "constant": 'style="rounded,filled", fillcolor="#f0f0ee"',
    "outer": 'style="rounded,dashed"',
    "operation": 'style="rounded"',
}


def dot(diagram: Diagram) -> str:
    """The text of a directed graph; the step of a loop is a cluster."""
    numbers = itertools.count()
    names: dict[Box, str] = {}
    lines = [
        "digraph {",
        '  graph [fontname="Helvetica"];',
        '  node [shape=box, fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9];',
        *_lines(diagram, "  ", names, numbers),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _lines(diagram: Diagram, margin: str, names: dict[Box, str], numbers: Iterator[int]) -> Iterator[str]:
    for box in diagram.boxes:
        name = names[box] = f"n{next(numbers)}"
        if box.inside is not None:
            yield f"{margin}subgraph cluster_{name} {{"
            yield f"{margin}  label={_quoted(box.title)}; style=rounded;"
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
