"""A diagram as an SVG picture: one file, with no fonts or scripts from elsewhere.

Where in the user's code a value was recorded shows when the pointer rests on it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from .diagram import Box, Diagram
from .layered import Point, laid_out

__all__ = ["svg"]

_MARGIN = 24.0
_GAP, _RISE = 26.0, 40.0
_PAD_X, _HEIGHT, _BARE_HEIGHT = 14.0, 44.0, 30.0
_HEAD = 34.0  # the title of a loop, above its step
_TITLE_SIZE, _DETAIL_SIZE, _LABEL_SIZE = 13.0, 10.5, 9.5
_LEGEND = {"placeholder": "input", "variable": "variable", "constant": "constant", "outer": "from outside the loop"}

_STYLE = """
text { font-family: "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #1d2733; }
.title { font-size: 13px; font-weight: 500; }
.detail { font-size: 10.5px; fill: #5d6b7a; font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.label { font-size: 9.5px; fill: #7b8794; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }
.box { stroke-width: 1.2; }
.operation { fill: #ffffff; stroke: #9aa7b5; }
.placeholder { fill: #e4effd; stroke: #4d8fd6; }
.variable { fill: #e5f5e8; stroke: #4aa564; }
.constant { fill: #f3f2ef; stroke: #b3aea3; }
.outer { fill: #ffffff; stroke: #b3aea3; stroke-dasharray: 4 3; }
.loop { fill: #f6f3fc; stroke: #9a84cf; }
.result { stroke-width: 2.6; }
.arrow { fill: none; stroke: #a3b0bd; stroke-width: 1.3; }
.head { fill: #a3b0bd; }
""".strip()

_ARROW_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="head" d="M0,0.6 L8,4 L0,7.4 z"/></marker></defs>'
)


@dataclass
class _Drawn:
    """Elements of a picture and the room they take."""

    elements: list[str]
    width: float
    height: float


def svg(diagram: Diagram) -> str:
    """The text of the picture."""
    drawn = _draw(diagram)
    legend = list(_legend(diagram, drawn.height + 22))
    legend_width = 40.0 + sum(34 + _width(_LEGEND[kind], _DETAIL_SIZE) for kind in _kinds(diagram))
    width = max(drawn.width, legend_width if legend else 0.0) + 2 * _MARGIN
    height = drawn.height + 2 * _MARGIN + (34 if legend else 0)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<style>{_STYLE}</style>",
        _ARROW_HEAD,
        f'<rect width="{width:.1f}" height="{height:.1f}" fill="#ffffff"/>',
        f'<g transform="translate({_MARGIN:.1f},{_MARGIN:.1f})">',
        *drawn.elements,
        *legend,
        "</g>",
        "</svg>",
        "",
    ])  # fmt: skip


def _draw(diagram: Diagram) -> _Drawn:
    """Boxes over arrows; a loop's step is drawn first, for the room it needs."""
    inner = {box: _draw(box.inside) for box in diagram.boxes if box.inside is not None}
    sizes = [_size(box, inner.get(box)) for box in diagram.boxes]
    place = {box: position for position, box in enumerate(diagram.boxes)}
    arrows = [(place[arrow.start], place[arrow.end]) for arrow in diagram.arrows]
    points, ways = laid_out(sizes, arrows, gap=_GAP, rise=_RISE)
    elements: list[str] = []
    for arrow, way in zip(diagram.arrows, _with_ports(ways), strict=True):
        elements.append(f'<path class="arrow" marker-end="url(#head)" d="{_curve(way)}"/>')
        if arrow.label:
            (x, y), (next_x, _) = way[-1], way[-2]
            x += max(-14.0, min(14.0, (next_x - x) / 4)) + 5
            elements.append(f'<text class="label" x="{x:.1f}" y="{y - 9:.1f}">{escape(arrow.label)}</text>')
    for box, point in zip(diagram.boxes, points, strict=True):
        elements += _box(box, point, inner.get(box))
    width = max((point.x + point.width / 2 for point in points), default=0.0)
    width = max([width, *(point.x for way in ways for point in way)])
    height = max((point.y + point.height for point in points), default=0.0)
    return _Drawn(elements, width, height)


def _size(box: Box, inner: _Drawn | None) -> tuple[float, float]:
    if inner is not None:
        return max(inner.width, _width(box.title, _TITLE_SIZE)) + 2 * _PAD_X, inner.height + _HEAD + _PAD_X
    text = max(_width(box.title, _TITLE_SIZE), 1.08 * _width(box.detail, _DETAIL_SIZE))
    return max(44.0, text + 2 * _PAD_X), _HEIGHT if box.detail else _BARE_HEIGHT


def _width(text: str, size: float) -> float:
    """About how wide a text is."""
    units = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            units += 1.0
        elif character in "iljtfr.,:;|!'()[] ":
            units += 0.36
        else:
            units += 0.72 if character.isupper() or character in "mw@→" else 0.57
    return units * size


def _box(box: Box, point: Point, inner: _Drawn | None) -> Iterator[str]:
    left, middle = point.x - point.width / 2, point.x
    result = " result" if box.is_result else ""
    radius = 10 if inner is not None else point.height / 2 if box.kind in _LEGEND else 7
    yield "<g>"
    if box.tooltip:
        yield f"<title>{escape(box.tooltip)}</title>"
    yield (
        f'<rect class={quoteattr(f"box {box.kind}{result}")} x="{left:.1f}" y="{point.y:.1f}" '
        f'width="{point.width:.1f}" height="{point.height:.1f}" rx="{radius:.1f}"/>'
    )
    if inner is not None:
        yield f'<text class="title" x="{left + _PAD_X:.1f}" y="{point.y + 21:.1f}">{escape(box.title)}'
        yield f'<tspan class="detail" dx="8">{escape(box.detail)}</tspan></text>'
        shift = left + (point.width - inner.width) / 2
        yield f'<g transform="translate({shift:.1f},{point.y + _HEAD:.1f})">'
        yield from inner.elements
        yield "</g>"
    else:
        first = point.y + (18.5 if box.detail else point.height / 2 + 4.5)
        yield f'<text class="title" text-anchor="middle" x="{middle:.1f}" y="{first:.1f}">{escape(box.title)}</text>'
        if box.detail:
            yield (
                f'<text class="detail" text-anchor="middle" x="{middle:.1f}" y="{point.y + 34:.1f}">'
                f"{escape(box.detail)}</text>"
            )
    yield "</g>"


def _with_ports(ways: Sequence[Sequence[Point]]) -> list[list[tuple[float, float]]]:
    """The ways as positions; where several arrows meet a box, each has its own spot on the edge, in order."""
    found = [[(point.x, y) for point in way for y in _passed(point)] for way in ways]
    for end, neighbour in ((0, 1), (-1, -2)):
        at_box: dict[Point, list[int]] = {}
        for index, way in enumerate(ways):
            at_box.setdefault(way[end], []).append(index)
        for box, indices in at_box.items():
            indices.sort(key=lambda index: ways[index][neighbour].x)
            room = min(box.width * 0.6, 18.0 * (len(indices) - 1))
            for rank, index in enumerate(indices):
                shift = room * (rank / (len(indices) - 1) - 0.5) if len(indices) > 1 else 0.0
                y = box.y + box.height if end == 0 else box.y - 1
                found[index][end] = box.x + shift, y
    return found


def _passed(point: Point) -> tuple[float, ...]:
    """The heights at which an arrow goes by: at a bend, the top and the bottom of its layer."""
    return (point.y, point.y + point.height) if point.is_bend else (point.y,)


def _curve(way: Sequence[tuple[float, float]]) -> str:
    """A smooth line that leaves and arrives upright."""
    (x, y), *rest = way
    parts = [f"M{x:.1f},{y:.1f}"]
    for next_x, next_y in rest:
        bend = (next_y - y) * 0.45
        parts.append(f"C{x:.1f},{y + bend:.1f} {next_x:.1f},{next_y - bend:.1f} {next_x:.1f},{next_y:.1f}")
        x, y = next_x, next_y
    return " ".join(parts)


def _kinds(diagram: Diagram) -> list[str]:
    """The kinds of leaves in a diagram and inside its loops, in the legend's order."""
    found: set[str] = set()
    stack = [diagram]
    while stack:
        for box in stack.pop().boxes:
            found.add(box.kind)
            stack += [] if box.inside is None else [box.inside]
    return [kind for kind in _LEGEND if kind in found]


def _legend(diagram: Diagram, y: float) -> Iterator[str]:
    x = 0.0
    for kind in _kinds(diagram):
        yield f'<rect class="box {kind}" x="{x:.1f}" y="{y:.1f}" width="18" height="12" rx="6"/>'
        yield f'<text class="detail" x="{x + 24:.1f}" y="{y + 9.5:.1f}">{_LEGEND[kind]}</text>'
        x += 40 + 1.08 * _width(_LEGEND[kind], _DETAIL_SIZE)
