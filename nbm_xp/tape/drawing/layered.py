"""Where boxes go: in layers, so that all arrows lead down, with few crossings and short, straight ways.

Layers by the longest way from a leaf; leaves just above their first use. An arrow over several layers bends at a point
in each. The order within layers follows the mean position of neighbours, sweep after sweep, the best one kept; then
positions move towards their neighbours as far as the order and the widths allow, which is a regression with ordered
values.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Point", "laid_out"]

_ORDER_SWEEPS = 12
_PLACE_SWEEPS = 24
_STRAIGHTNESS = 8.0


@dataclass(eq=False)
class Point:
    """A box, or a bend of an arrow, in the plan; `x` and `y` are the middle of its top edge."""

    width: float
    height: float
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    is_bend: bool = False
    above: list[Point] = field(default_factory=list)
    below: list[Point] = field(default_factory=list)


def laid_out(
    sizes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int]], *, gap: float, rise: float
) -> tuple[list[Point], list[list[Point]]]:
    """Place boxes of these sizes, which stand in an order in which all arrows lead forward.

    Parameters
    ----------
    sizes
        Width and height of each box.
    arrows
        Pairs of positions of boxes.
    gap, rise
        The least distance between neighbours in a layer, and between layers.

    Returns
    -------
    boxes : list of Point
        One for each size.
    ways : list of list of Point
        For each arrow the points that it passes, its two ends included.
    """
    boxes = [Point(width, height) for width, height in sizes]
    _choose_layers(boxes, arrows)
    ways = [_way(boxes[start], boxes[end], gap) for start, end in arrows]
    layers: dict[int, list[Point]] = defaultdict(list)
    seen: set[Point] = set()
    for point in (*boxes, *(point for way in ways for point in way)):
        if point not in seen:
            seen.add(point)
            layers[point.layer].append(point)
    ordered = [layers[key] for key in sorted(layers)]
    for way in ways:
        for upper, lower in pairwise(way):
            upper.below.append(lower)
            lower.above.append(upper)
    ordered = _with_few_crossings(ordered)
    _place(ordered, gap)
    top = 0.0
    for layer in ordered:
        height = max(point.height for point in layer)
        for point in layer:
            point.height = height if point.is_bend else point.height  # past a tall box an arrow goes straight down
            point.y = top + (height - point.height) / 2
        top += height + rise
    return boxes, ways


def _choose_layers(boxes: list[Point], arrows: Sequence[tuple[int, int]]) -> None:
    into: dict[int, list[int]] = defaultdict(list)
    out: dict[int, list[int]] = defaultdict(list)
    for start, end in arrows:
        into[end].append(start)
        out[start].append(end)
    for position, box in enumerate(boxes):
        box.layer = max((boxes[start].layer + 1 for start in into[position]), default=0)
    for position in range(len(boxes) - 1, -1, -1):  # no higher than its first use asks for
        if out[position]:
            boxes[position].layer = min(boxes[end].layer for end in out[position]) - 1


def _way(start: Point, end: Point, gap: float) -> list[Point]:
    bends = [Point(gap / 2, 0.0, layer, is_bend=True) for layer in range(start.layer + 1, end.layer)]
    return [start, *bends, end]


def _with_few_crossings(layers: list[list[Point]]) -> list[list[Point]]:
    place: dict[Point, float] = {}

    def number(layer: list[Point]) -> None:
        place.update((point, float(position)) for position, point in enumerate(layer))

    for layer in layers:
        number(layer)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, place)
    for sweep in range(_ORDER_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wish = {point: _mean_place(point.above if down else point.below, place, place[point]) for point in layer}
            layer.sort(key=wish.__getitem__)
            number(layer)
        found = _crossings(layers, place)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
    return best


def _mean_place(neighbours: Sequence[Point], place: dict[Point, float], otherwise: float) -> float:
    return sum(place[point] for point in neighbours) / len(neighbours) if neighbours else otherwise


def _crossings(layers: list[list[Point]], place: dict[Point, float]) -> int:
    """How many pairs of arrows between neighbouring layers cross."""
    total = 0
    for layer in layers:
        passed: list[float] = []
        for point in layer:
            ends = sorted(place[other] for other in point.below)
            total += sum(len(passed) - bisect_left(passed, end + 0.5) for end in ends)
            for end in ends:
                insort(passed, end)
    return total


def _place(layers: list[list[Point]], gap: float) -> None:
    for layer in layers:
        left = 0.0
        for point in layer:
            point.x = left + point.width / 2
            left += point.width + gap
        for point in layer:
            point.x -= left / 2
    for sweep in range(_PLACE_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _settle(layer, gap)
    leftmost = min((point.x - point.width / 2 for layer in layers for point in layer), default=0.0)
    for layer in layers:
        for point in layer:
            point.x -= leftmost


def _settle(layer: list[Point], gap: float) -> None:
    """Move a layer's points as near to their wishes as their order and widths allow, in the least squares sense."""
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + gap)
    groups: list[tuple[float, float, int]] = []  # mean, weight, how many points
    for point, offset in zip(layer, offsets, strict=True):
        wish, weight = _wish(point)
        group = wish - offset, weight, 1
        while groups and groups[-1][0] > group[0]:
            mean, other, count = groups.pop()
            together = other + group[1]
            group = (mean * other + group[0] * group[1]) / together, together, count + group[2]
        groups.append(group)
    positions = [mean for mean, _, count in groups for _ in range(count)]
    for point, offset, position in zip(layer, offsets, positions, strict=True):
        point.x = position + offset


def _wish(point: Point) -> tuple[float, float]:
    """Where a point would like to be, and how much: in line with its neighbours, a bend above all with other bends."""
    total = weight = 0.0
    for neighbours in (point.above, point.below):
        for other in neighbours:
            pull = (_STRAIGHTNESS if point.is_bend and other.is_bend else 1.0) / len(neighbours)
            total += pull * other.x
            weight += pull
    return (total / weight, weight) if weight else (point.x, 0.1)
