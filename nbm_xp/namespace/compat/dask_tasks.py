"""Dask: graphs of tasks for whole blocks: compiled plans on blocks of a batch, and steps of neighbouring blocks.

Blocks that are advanced step by step with values of their neighbours take two tasks for each block and step. A step
returns a block, its values for the neighbours and its measurements; only the latter two go to other workers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import dask
import numpy
from dask import _task_spec

from .dask_names import GraphArray, da, graph_from, on_expressions, tokenize

Datum: Any = _task_spec.DataNode
Index = tuple[int, ...]


def block_namespace(arrays: Sequence[Any]) -> Any:
    """The namespace of the blocks: the one that is not the host's, if there is one; of no arrays, as configured."""
    from nbm_xp.namespace import array_namespace, get_namespace, host_namespace

    found = [array_namespace(array._meta) for array in arrays if isinstance(array, da.Array)]
    found = found or [get_namespace(dask.config.get("array.backend", "numpy"))]
    return next((xp for xp in found if xp is not host_namespace()), host_namespace())


class _Work:
    """A plan, called with arrays that are moved to its library first; its results, and the length of the block."""

    def __init__(self, plan: Callable[..., tuple[Any, ...]], library: str, place: int, axis: int) -> None:
        self.plan = plan
        self.library = library
        self.place = place
        self.axis = axis

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        from nbm_xp.namespace import array_namespace, convert, get_namespace

        xp = get_namespace(self.library)
        given = [a if array_namespace(a) is xp else convert(a, xp) for a in arrays]
        count = given[self.place].shape[self.axis]
        with numpy.errstate(all=None if count else "ignore"):  # means of no examples count for nothing
            results = self.plan(*given)
        return *(xp.asarray(result) for result in results), count


def _call(work: _Work, *arrays: Any) -> tuple[Any, ...]:
    return work(*arrays)


def in_blocks(
    plan: Callable[..., tuple[Any, ...]], arrays: Sequence[Any], axes: Mapping[int, int], results: Sequence[Any]
) -> list[Any]:
    """See `nbm_xp.namespace.blocks.in_blocks`."""
    from nbm_xp.namespace import dtype_of, library_name

    xp = block_namespace(arrays)
    split, lengths = _in_step({number: arrays[number] for number in axes}, axes)
    place, axis = next(iter(axes.items()))
    work = dask.delayed(_Work(plan, library_name(xp), place, axis), traverse=False)  # type: ignore[attr-defined]
    given: list[Any] = [
        list(split[number].to_delayed(optimize_graph=False).ravel()) if number in split else _whole(array)
        for number, array in enumerate(arrays)
    ]
    kept = [block for block, length in enumerate(lengths) if length] or [0]
    call = dask.delayed(_call, pure=False)  # type: ignore[attr-defined]
    parts = [call(work, *(g[b] if n in split else g for n, g in enumerate(given))) for b in kept]
    counts = [lengths[block] for block in kept]
    if any(math.isnan(count) for count in counts):
        weights: list[Any] = [da.from_delayed(part[len(results)], shape=(), dtype="int64") for part in parts]
    else:
        weights = list(counts)
    total = sum(weights[1:], start=weights[0])
    found = []
    for index, result in enumerate(results):
        dtype = dtype_of(xp, result.dtype)
        items = [
            da.from_delayed(part[index], shape=result.shape(count), meta=xp.zeros((0,) * result.ndim, dtype=dtype))
            for part, count in zip(parts, counts, strict=True)
        ]
        if result.axis is not None:
            found.append(items[0] if len(items) == 1 else da.concatenate(items, axis=result.axis))
            continue
        if result.combine == "mean" and len(items) > 1:
            shares = zip(items, weights, strict=True)
            items = [da.where(weight > 0, item, 0) * (weight / total) for item, weight in shares]
        added = items[0] if len(items) == 1 else da.stack(items).sum(axis=0)
        found.append(added if added.dtype == dtype else added.astype(dtype))
    return found


def _whole(array: Any) -> Any:
    """The argument of a task for an array that every block takes whole."""
    if isinstance(array, da.Array):
        return array.rechunk(-1).to_delayed(optimize_graph=False).item()
    return dask.delayed(array, traverse=False)  # type: ignore[attr-defined]


def _in_step(arrays: Mapping[int, Any], axes: Mapping[int, int]) -> tuple[dict[int, Any], tuple[float, ...]]:
    """The split arrays in the same blocks along the batch, whole along other axes; and the lengths of the blocks."""
    chunks = {number: array.chunks[axes[number]] for number, array in arrays.items() if isinstance(array, da.Array)}
    known = {number: sizes for number, sizes in chunks.items() if not any(map(math.isnan, sizes))}
    totals = {array.shape[axes[number]] for number, array in arrays.items() if number in known or number not in chunks}
    if len(totals) > 1:
        raise ValueError(f"the split arrays must have as many examples, got {' and '.join(map(str, sorted(totals)))}")
    if len(known) < len(chunks):
        if known or len(chunks) < len(arrays) or len({len(sizes) for sizes in chunks.values()}) > 1:
            raise ValueError("the split arrays must have the same blocks where lengths of blocks are unknown")
        common: Any = next(iter(chunks.values()))
    else:
        finest = max(known.values(), key=lambda sizes: len([length for length in sizes if length]))
        common = tuple(length for length in finest if length) or (0,)
    stepped = {}
    for number, array in arrays.items():
        wanted = {i: common if i == axes[number] else -1 for i in range(array.ndim)}
        if not isinstance(array, da.Array):
            array = da.from_array(array, chunks=tuple(common if i == axes[number] else -1 for i in range(array.ndim)))
        elif number not in known:
            del wanted[axes[number]]
        stepped[number] = array.rechunk(wanted) if wanted else array
    return stepped, common


# So many blocks' sums one task adds.
TOGETHER = 16


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
            seen_steps.append((seen_name := f"{name}-observed-{number}", _arrays(seen_name, given, made)))
        if shape[0]:
            adding |= _sum_of(f"{name}-sum-{number}", list(shown.values()), (total, len(lengths), 0))
            lengths.append(shape[0])
    end = f"{name}-end"
    tasks |= _arrays(end, given, made)
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


def _arrays(name: str, given: Mapping[Index, Any], made: Mapping[Index, Any]) -> dict[Any, Any]:
    """Tasks that give the blocks' arrays."""
    return {(name, 0, *block): (_array, given[block], key) for block, key in made.items()}


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


def _array(given: Any, made: Any) -> Any:
    return given.array(made[0])


def _beside(made: Any) -> Any:
    """A block's values for its neighbours, and its measurements."""
    return made[1]


def _sum_measured(parts: Any) -> Any:
    return _sum([measured for _, measured in parts])


def _sum(parts: Any) -> Any:
    return sum(parts[1:], parts[0])
