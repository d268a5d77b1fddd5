"""`visualize`: write a graph in the DOT language, for Graphviz and other readers; a loop is a box around its step."""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbm_xp.files import local_path, replacing

from .graph import CONSTANT, OUTPUT, PLACEHOLDER, VARIABLE, Node, reachable
from .printing import described_kind, expression, recorded_at
from .tensor import Tensor

_COLOURS = {PLACEHOLDER: "#e4effd", VARIABLE: "#e5f5e8", CONSTANT: "#f3f2ef"}


def visualize(x: Tensor | Sequence[Tensor], path: str | os.PathLike[str]) -> pathlib.Path:
    """Write the graph of Tensors to a DOT file for Graphviz.

    Inputs are blue, variables green and constants grey; every value shows its dtype and shape, with unknown lengths as
    ``?``; a loop is a box around one step. The tooltip of a value is the line of code that recorded it. To draw the
    file, run ``dot -Tsvg graph.dot -o graph.svg``.

    Parameters
    ----------
    x : Tensor, or sequence of Tensors
        Results of the graph.
    path : path-like
        Path of the file, with the suffix ``.dot``; the file is written atomically.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Raises
    ------
    TypeError
        If `x` contains anything but Tensors.
    ValueError
        If the path has another suffix.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nbm_xp.tape import placeholder, visualize
    >>> x = placeholder((None, 3), name="x")
    >>> file = visualize(x @ x.T, pathlib.Path(tempfile.mkdtemp()) / "graph.dot")
    >>> file.read_text()[:9]
    'digraph {'
    """
    file = local_path(path)
    if file.suffix.lower() != ".dot":
        raise ValueError(f"path must end in .dot, which Graphviz draws (dot -Tsvg …), got {os.fspath(path)!r}")
    tensors = [x] if isinstance(x, Tensor) else list(x)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"x must be a Tensor or a sequence of Tensors, got {type(tensor).__name__}")
    lines = _lines([tensor.node for tensor in tensors], (), {}, itertools.count(), "  ")
    text = "\n".join(["digraph {", "  node [shape=box, style=filled, fillcolor=white];", *lines, "}", ""])
    with replacing(file) as part:
        part.write_text(text, encoding="utf-8")
    return file


def _lines(
    roots: Sequence[Node], stop: Sequence[Node], names: Mapping[Node, str], numbers: Iterator[int], margin: str
) -> Iterator[str]:
    """Yield the lines of the boxes, inputs first, then of the arrows; `names` names the leaves `stop` and results."""
    ends = frozenset(stop)
    order = [node for node in reachable(roots, stop) if node.op.name != "scalar" or node in roots]
    results = {node: node.call for node in order if node.op is OUTPUT and node not in ends}
    kinds = {results[node]: described_kind(node.dtype, node.shape) for node in reversed(results)}
    asked = {results.get(root, root): f" {names.get(root, '')}" for root in roots if root not in ends}
    boxes: dict[Node, str] = {}
    arrows = []
    for node in order:
        if node in results:
            boxes[node] = boxes[results[node]]
            continue
        box = boxes[node] = f"n{next(numbers)}"
        if node in ends:
            title = names.get(node) or node.name or _title(node)
        else:
            arrows += [f"{margin}{boxes[source]} -> {box};" for source in node.inputs if source in boxes]
            title = f"{_title(node)}{asked.get(node, '')}".strip()
        if node not in ends and hasattr(node.payload, "following"):
            yield f"{margin}subgraph cluster_{box} {{ label={_quoted(title)};"
            yield f'{margin}  {box} [label="one step"];'
            yield from _lines(*_step(node.payload), numbers, f"{margin}  ")
            yield f"{margin}}}"
            continue
        kind = kinds.get(node, "") if node.is_call else described_kind(node.dtype, node.shape)
        tooltip = _quoted(recorded_at(node.source_location).removeprefix(", "))
        colour = _quoted(_COLOURS.get(node.op, "white"))
        label = _quoted("\n".join(filter(None, (title, kind))))
        yield f"{margin}{box} [label={label}, tooltip={tooltip}, fillcolor={colour}];"
    yield from arrows


def _title(node: Node) -> str:
    """Return a node as one expression: ``sum(…, axis=0)``, ``x ** 2``."""
    if node.op in _COLOURS:
        return node.name or expression(node, 1)
    return f"{node.name} = {expression(node, 1)}" if node.name and not node.is_call else expression(node, 1)


def _step(body: Any) -> tuple[list[Node], list[Node], dict[Node, str]]:
    """Return the results and leaves of the step of a loop, and the names of both."""
    names = {node: node.name or f"entry of sequence {place}" for place, node in enumerate(body.sequences)}
    names |= {node: node.name or f"carried {place}" for place, node in enumerate(body.carries)}
    for carry, node in zip(body.carries, body.following, strict=True):
        names.setdefault(node, f"→ {names[carry]}")
    for place, node in enumerate(body.outputs):
        names[node] = f"{names.get(node, '')} → output {place}".strip()
    return list(dict.fromkeys(body.results())), [*body.sequences, *body.carries, *body.captured], names


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
