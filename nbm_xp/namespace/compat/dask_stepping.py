"""Blocks advanced step by step with values of their neighbours: two tasks for each block and step.

A step returns a block, its values for the neighbours and its measurements; only the latter two go to other workers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dask import _task_spec

from .dask_names import GraphArray, graph_from, on_expressions, tokenize

__all__ = ["stepped"]

Datum: Any = _task_spec.DataNode

TOGETHER = 16
"""So many blocks' sums one task adds."""

Index = tuple[int, ...]


def _stepped(
    work: Any,
    blocks: Mapping[Index, Any],
    neighbours: Mapping[Index, Sequence[Index]],
    steps: Sequence[Any],
    chunks: tuple[tuple[int, ...], ...],
    sums: Sequence[tuple[int, ...]],
    start: Any,
    name: str,
    observed: Sequence[int] = (),
) -> tuple[Any, Any, list[Any]]:
    """See `nbm_xp.namespace.blocks.stepped`."""
    name = f"{name}-{tokenize(work, blocks, steps, chunks, start)}"
    before: list[Any] = []
    own, given = f"{name}-work", {block: (f"{name}-given", 0, *block) for block in blocks}
    tasks: dict[Any, Any] = {own: Datum(own, work)} | {key: Datum(key, blocks[block]) for block, key in given.items()}
    parts: dict[Index, Any] = dict.fromkeys(blocks)
    if isinstance(start, GraphArray):
        before = [start.rechunk(chunks)]
        parts = {block: (before[0].name, 0, *block) for block in blocks}
    elif start is not None:
        parts = {block: (f"{name}-part", 0, *block) for block in blocks}
        tasks |= {key: Datum(key, _part(start, chunks, (0, *block))) for block, key in parts.items()}
    made = {block: (f"{name}-begin", 0, *block) for block in blocks}
    # where nothing is given to begin with, nothing that one worker has and others lack is needed: all begin at once
    tasks |= {
        key: (_begin, own, given[block], parts[block]) if parts[block] else (partial(_begin, work, blocks[block]),)
        for block, key in made.items()
    }
    shown = {block: (f"{name}-show", 0, *block) for block in blocks}
    tasks |= {shown[block]: (_beside, key) for block, key in made.items()}
    total = f"{name}-sums"
    lengths: list[int] = []
    adding: dict[Any, Any] = {}
    seen_steps: list[tuple[str, dict[Any, Any]]] = []
    for number, (step, shape) in enumerate(zip(steps, sums, strict=True)):
        last, made = made, {block: (f"{name}-step-{number}", 0, *block) for block in blocks}
        for block, others in neighbours.items():
            near = [shown[other] for other in others]
            tasks[made[block]] = (partial(_step, block, tuple(others), step), own, given[block], last[block], near)
        shown = {block: (f"{name}-shown-{number}", 0, *block) for block in blocks}
        tasks |= {shown[block]: (_beside, key) for block, key in made.items()}
        if number in observed:
            seen_steps.append((seen_name := f"{name}-observed-{number}", _arrays(seen_name, own, given, made)))
        if shape[0]:
            adding |= _sum_of(f"{name}-sum-{number}", list(shown.values()), (total, len(lengths), 0))
            lengths.append(shape[0])
    end = f"{name}-end"
    tasks |= _arrays(end, own, given, made)
    array = GraphArray(graph_from(end, tasks, dependencies=before), end, chunks, dtype=work.dtype)
    seen = [
        GraphArray(graph_from(seen_name, made, dependencies=[array]), seen_name, chunks, dtype=work.dtype)
        for seen_name, made in seen_steps
    ]  # fmt: skip
    if not lengths:
        return array, None, seen
    graph = graph_from(total, adding, dependencies=[array])
    return array, GraphArray(graph, total, (tuple(lengths), (sums[0][1],)), dtype="float64"), seen


stepped = on_expressions(_stepped)


def _arrays(name: str, own: str, given: Mapping[Index, Any], made: Mapping[Index, Any]) -> dict[Any, Any]:
    """Tasks that give the blocks' arrays."""
    return {(name, 0, *block): (_array, own, given[block], key) for block, key in made.items()}


def _sum_of(name: str, keys: list[Any], last: Any) -> dict[Any, Any]:
    """Tasks that add what blocks have measured."""
    tasks: dict[Any, Any] = {}
    add, level = _sum_measured, 0
    while len(keys) > TOGETHER:
        groups = [keys[k : k + TOGETHER] for k in range(0, len(keys), TOGETHER)]
        keys = [(f"{name}-{level}", k) for k in range(len(groups))]
        tasks |= {key: (add, group) for key, group in zip(keys, groups, strict=True)}
        add, level = _sum, level + 1
    return tasks | {last: (add, keys)}


def _part(array: Any, chunks: tuple[tuple[int, ...], ...], block: Index) -> Any:
    """A block of an array in memory."""
    ends = [tuple(itertools.accumulate(sizes, initial=0)) for sizes in chunks]
    return array[tuple(slice(along[i], along[i + 1]) for along, i in zip(ends, block, strict=True))]


# What is no key of the graph is bound to the functions: a tuple in a task might be taken for one.


def _begin(work: Any, given: Any, array: Any = None) -> Any:
    kept, shown = given.begin(work, array)
    return kept, (shown, None)


def _step(block: Index, others: tuple[Index, ...], step: Any, work: Any, given: Any, before: Any, near: Any) -> Any:
    borders = {other: shown[block] for other, (shown, _) in zip(others, near, strict=True)}
    kept, shown, measured = given.step(work, before[0], borders, step)
    return kept, (shown, measured)


def _array(work: Any, given: Any, made: Any) -> Any:
    return given.array(work, made[0])


def _beside(made: Any) -> Any:
    """A block's values for its neighbours, and its measurements."""
    return made[1]


def _sum_measured(parts: Any) -> Any:
    return _sum([measured for _, measured in parts])


def _sum(parts: Any) -> Any:
    return sum(parts[1:], parts[0])
