"""Blocks that are taken on step by step, each beside what its neighbours show: three tasks for a block and a step.

A step gives a block, what it shows of itself, and what was measured; only what is shown goes to other workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from dask import _task_spec

from .dask_names import GraphArray, graph_from, lifted, tokenize

__all__ = ["stepped"]

Datum: Any = _task_spec.DataNode

TOGETHER = 16
"""So many blocks' sums one task adds."""

Index = tuple[int, ...]


def _stepped(
    work: Any,
    steps: Sequence[Any],
    chunks: tuple[tuple[int, ...], ...],
    neighbours: Mapping[Index, Sequence[Index]],
    given: Sequence[Mapping[Index, Any]],
    sums: Sequence[tuple[int, ...]],
    start: Any,
    name: str,
) -> tuple[Any, Any]:
    """See `nbm_xp.namespace.stepping.stepped`."""
    name = f"{name}-{tokenize(work, steps, chunks, given, start)}"
    own = f"{name}-work"
    before: list[Any] = []
    kept: dict[int, str] = {}
    tasks: dict[Any, Any] = {own: Datum(own, work)}
    if start is None:
        blocks = {block: (f"{name}-begin", *block) for block in neighbours}
        tasks |= {key: (_begin, own, _Plain(block)) for block, key in blocks.items()}
    elif isinstance(start, GraphArray):
        before = [start.rechunk(chunks)]
        blocks = {block: (before[0].name, *block) for block in neighbours}
    else:
        blocks = {block: (f"{name}-begin", *block) for block in neighbours}
        tasks |= {key: Datum(key, _part(start, chunks, block)) for block, key in blocks.items()}
    shown = {block: (f"{name}-show", *block) for block in neighbours}
    tasks |= {shown[block]: (_show, own, key) for block, key in blocks.items()}
    total = f"{name}-sums"
    lengths: list[int] = []
    adding: dict[Any, Any] = {}
    for number, (step, handed, shape) in enumerate(zip(steps, given, sums, strict=True)):
        made = {block: (f"{name}-step-{number}", *block) for block in neighbours}
        for block, others in neighbours.items():
            value = handed[block]
            if id(value) not in kept:  # data once for a block, whichever steps use them
                kept[id(value)] = key = f"{name}-given-{len(kept)}"
                tasks[key] = Datum(key, value)
            near = [shown[other] for other in others]
            told = _Plain((block, tuple(others), step))
            tasks[made[block]] = (_step, own, told, blocks[block], near, kept[id(value)])
        shown = {block: (f"{name}-shown-{number}", *block) for block in neighbours}
        tasks |= {shown[block]: (_item, key, 1) for block, key in made.items()}
        blocks = made
        if shape[0]:
            adding |= _sum_of(f"{name}-sum-{number}", list(made.values()), (total, len(lengths), 0))
            lengths.append(shape[0])
    last = {block: (f"{name}-end", *block) for block in neighbours}
    tasks |= {last[block]: (_end, own, key) for block, key in blocks.items()}
    end = f"{name}-end"
    array = GraphArray(graph_from(end, tasks, dependencies=before), end, chunks, dtype=work.dtype)
    if not lengths:
        return array, None
    graph = graph_from(total, adding, dependencies=[array])
    return array, GraphArray(graph, total, (tuple(lengths), (sums[0][1],)), dtype="float64")


stepped = lifted(_stepped)


def _sum_of(name: str, keys: list[Any], last: Any) -> dict[Any, Any]:
    """Tasks that add what blocks have measured."""
    tasks: dict[Any, Any] = {}
    found: list[Any] = [(_item, key, 2) for key in keys]
    level = 0
    while len(found) > 1:
        parts = [(f"{name}-{level}", k) for k in range(len(found))]
        tasks |= dict(zip(parts, found, strict=True))
        found = [(_sum, parts[k : k + TOGETHER]) for k in range(0, len(parts), TOGETHER)]
        level += 1
    return tasks | {last: found[0]}


def _part(array: Any, chunks: tuple[tuple[int, ...], ...], block: Index) -> Any:
    """A block of an array in memory."""
    ends = [tuple(itertools.accumulate(sizes, initial=0)) for sizes in chunks]
    return array[tuple(slice(along[i], along[i + 1]) for along, i in zip(ends, block, strict=True))]


class _Plain:
    """What a task is told as it is: tuples that might be taken for keys."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return _Plain, (self.value,)


def _begin(work: Any, block: _Plain) -> Any:
    return work.begin(block.value)


def _show(work: Any, array: Any) -> Any:
    return work.show(array)


def _step(work: Any, told: _Plain, before: Any, near: Any, given: Any) -> Any:
    block, others, step = told.value
    return work.step(block, _array_of(before), dict(zip(others, near, strict=True)), step, given)


def _array_of(made: Any) -> Any:
    """The states that a step gave, or that there were before all steps."""
    return made[0] if isinstance(made, tuple) else made


def _end(work: Any, made: Any) -> Any:
    return work.end(_array_of(made))


def _item(made: Any, k: int) -> Any:
    return made[k]


def _sum(parts: Any) -> Any:
    return sum(parts[1:], parts[0])
