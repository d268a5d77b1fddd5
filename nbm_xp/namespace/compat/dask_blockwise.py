"""Dask: a computation in stages over the blocks of arrays, one task for each block and stage.

The plans are tasks of their own, so that they, like weights, travel once to each worker. Where lengths of blocks are
unknown, they are tasks too.

The graph is laid out by hand. `blockwise` and `map_blocks` make one array of a call, and a stage makes several values
of a block: of these, some go on to the next stage, some into a tree of sums, some to the user. As arrays of tuples,
with getters after them, they would have as many tasks at best; but Dask fuses what it takes for a call of one result
into each of its uses, so that a stage would be computed again for each value, and the tree between two stages, whose
tasks combine several values at once, has no function of Dask's.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import dask.highlevelgraph
from dask.base import tokenize

from nbm_xp.namespace.blockwise import EXTENT, FIRST, OFFSET, TOTAL, Layout, Result, Shaped, Stage

from .dask_names import GraphArray, da, graph_from, lifted

__all__ = ["block_namespace", "lay_out"]

_FAN_IN = 8  # parts combined by one task
_PAIRS = {
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}


def block_namespace(arrays: Sequence[Any]) -> Any:
    """See `nbm_xp.namespace.blockwise.block_namespace`."""
    from nbm_xp.namespace import array_namespace, host_namespace

    found = [array_namespace(array._meta) for array in arrays if isinstance(array, (da.Array, GraphArray))]
    return next((xp for xp in found if xp is not host_namespace()), host_namespace())


def _laid_out(layout: Layout, arrays: Mapping[int, Any]) -> list[Any]:
    return _Graph(layout, dict(arrays)).results()


lay_out = lifted(_laid_out)
"""See `nbm_xp.namespace.blockwise.lay_out`."""


class _Graph:
    """The tasks of one computation."""

    def __init__(self, layout: Layout, arrays: Mapping[int, Any]) -> None:
        self.layout = layout
        self.xp = block_namespace(list(arrays.values()))
        split, self.lengths = _in_step(layout.split, arrays)
        self.split = {number: _in_blocks_of(self.xp, array) for number, array in split.items()}
        whole = {number: array for number, array in arrays.items() if number not in layout.split}
        self.whole = {n: array.rechunk(-1) if isinstance(array, GraphArray) else array for n, array in whole.items()}
        names = [array.name for array in self.split.values()]
        names += [array.name if isinstance(array, GraphArray) else tokenize(array) for array in self.whole.values()]
        self.name = f"blockwise-{tokenize(layout.name, names, self.lengths)}"
        self.tasks: dict[Any, Any] = {}
        self.sources: dict[int, Any] = {}
        self._place_arrays()
        self._place_lengths()
        for number, stage in enumerate(layout.stages):
            self._place(number, stage)

    def key(self, *parts: Any) -> tuple[Any, ...]:
        """The key of a task of ours."""
        return (self.name, *parts)

    def _place_arrays(self) -> None:
        """What stands for each whole array in a task."""
        from nbm_xp.namespace import array_namespace, library_name

        for number, array in self.whole.items():
            key: Any = self.key("given", number)
            if isinstance(array, GraphArray):
                key, inner = (array.name, *(0,) * array.ndim), array_namespace(array._meta)
            else:
                self.tasks[key], inner = array, array_namespace(array)
            if inner is not self.xp:
                key, before = self.key("moved", number), key
                self.tasks[key] = (_moved, before, library_name(self.xp))
            self.sources[number] = key

    def _block_key(self, number: int, block: int) -> tuple[Any, ...]:
        array = self.split[number]
        place = [0] * array.ndim
        place[self.layout.split[number]] = block
        return (array.name, *place)

    def _place_lengths(self) -> None:
        """How long each block is, how many examples come before it, and how many there are; tasks where unknown."""
        if all(length == length for length in self.lengths):
            lengths = [int(length) for length in self.lengths]
            offsets = list(itertools.accumulate(lengths, initial=0))
            self.offsets: list[Any] = offsets[:-1]
            self.total: Any = offsets[-1]
            self.extents: list[Any] = [Shaped((length,)) for length in lengths]
            self.whole_extent: Any = Shaped((self.total,))
            self.shapes: dict[int, Any] = {number: Shaped(array.shape) for number, array in self.split.items()}
            return
        first = next(iter(self.split))
        blocks = range(len(self.lengths))
        for block in blocks:
            block_key = self._block_key(first, block)
            self.tasks[self.key("length", block)] = (_length, block_key, self.layout.split[first])
            self.tasks[self.key("extent", block)] = (_extent, self.key("length", block))
            self.tasks[self.key("offset", block)] = (operator.getitem, self.key("offsets"), block)
        self.tasks[self.key("offsets")] = (_offsets, [self.key("length", block) for block in blocks])
        self.tasks[self.key("offset", "end")] = (operator.getitem, self.key("offsets"), -1)
        self.tasks[self.key("extent", "all")] = (_extent, self.key("offset", "end"))
        self.offsets = [self.key("offset", block) for block in blocks]
        self.extents = [self.key("extent", block) for block in blocks]
        self.total, self.whole_extent = self.key("offset", "end"), self.key("extent", "all")
        self.shapes = {}
        for number, array in self.split.items():
            shape = array.shape
            self.tasks[self.key("shape", number)] = (_shaped, list(shape), self.layout.split[number], self.total)
            self.shapes[number] = self.key("shape", number)

    def _place(self, number: int, stage: Stage) -> None:
        if stage.whole is not None:
            program, made = self.key("whole-plan", number), self.key("whole", number)
            self.tasks[program] = stage.whole
            self.tasks[made] = (_call, program, *map(self._whole_argument, stage.whole_inputs))
            for place, value in enumerate(stage.whole_outputs):
                self.sources[value] = self.key("value", value)
                self.tasks[self.sources[value]] = (operator.getitem, made, place)
        if stage.block is None:
            return
        program, parts = self.key("block-plan", number), []
        self.tasks[program] = stage.block
        kept = [value for value in stage.block_outputs if value not in stage.combined]
        order = {value: place for place, value in enumerate(stage.block_outputs)}
        for block in range(len(self.lengths)):
            made = self.key("block", number, block)
            arguments = [self._block_argument(value, block) for value in stage.block_inputs]
            self.tasks[made] = (_call, program, *arguments)
            for value in kept:
                self.tasks[self.key("part", value, block)] = (operator.getitem, made, order[value])
            if stage.combined and kept:
                self.tasks[self.key("parts", number, block)] = (_some, made, [order[v] for v in stage.combined])
                parts.append(self.key("parts", number, block))
            elif stage.combined:
                parts.append(made)
        if stage.combined:
            in_order = list(stage.combined) if kept else list(stage.block_outputs)
            self._combine(number, [stage.combined[value] for value in in_order], parts)

    def _combine(self, number: int, wanted: list[tuple[str, int]], parts: list[Any]) -> None:
        """A tree of tasks that each combine a few parts."""
        hows = tuple(how for how, _ in wanted)
        level = 0
        while len(parts) > 1 or not level:
            groups = [parts[start : start + _FAN_IN] for start in range(0, len(parts), _FAN_IN)]
            parts = [self.key("combined", number, level, place) for place in range(len(groups))]
            for key, group in zip(parts, groups, strict=True):
                self.tasks[key] = (_combine, list(hows), group)
            level += 1
        for place, (how, value) in enumerate(wanted):
            self.sources[value] = self.key("value", value)
            self.tasks[self.sources[value]] = (_finished, parts[0], place, how)

    def _whole_argument(self, value: int) -> Any:
        if value in self.split:
            return self.shapes[value]
        if value == EXTENT:
            return self.whole_extent
        return self.total if value == TOTAL else self.sources[value]

    def _block_argument(self, value: int, block: int) -> Any:
        if value in self.split:
            return self._block_key(value, block)
        if value in self.sources:
            return self.sources[value]
        if value == TOTAL:
            return self.total
        if value == FIRST:
            return block == 0
        if value in (EXTENT, OFFSET):
            return (self.extents if value == EXTENT else self.offsets)[block]
        return self.key("part", value, block)

    def results(self) -> list[Any]:
        """The arrays that are asked for, on one graph."""
        dependencies = [
            array for array in (*self.split.values(), *self.whole.values()) if isinstance(array, GraphArray)
        ]
        graph = graph_from(self.name, self.tasks, dependencies=dependencies)
        return [self._result(graph, result) for result in self.layout.results]

    def _result(self, graph: Any, result: Result) -> Any:
        name = f"{self.name}-{result.number}"
        ndim = len(result.shape)
        chunks = [(length,) for length in result.shape]
        layer: dict[Any, Any] = {}
        if result.axis is None:
            layer[(name, *(0,) * ndim)] = (_as_array, self.sources[result.number])
        else:
            chunks[result.axis] = tuple(length * result.multiple for length in self.lengths)
            for block in range(len(self.lengths)):
                place = [0] * ndim
                place[result.axis] = block
                source = self._block_argument(result.number, block)
                layer[(name, *place)] = (_as_array, source)
        layers = {**graph.layers, name: layer}
        needs = {**graph.dependencies, name: {self.name}}
        if result.number in self.split or (result.axis is None and result.number in self.whole):
            needs[name] = set(graph.layers)
        high = dask.highlevelgraph.HighLevelGraph(layers, needs)
        meta = self.xp.zeros((0,) * ndim, dtype=_dtype(self.xp, result.dtype))
        return GraphArray(high, name, chunks=tuple(chunks), meta=meta, dtype=meta.dtype)


def _in_step(axes: Mapping[int, int], arrays: Mapping[int, Any]) -> tuple[dict[int, Any], tuple[Any, ...]]:
    """The split arrays in the same blocks along the batch, whole along other axes; and the lengths of the blocks."""
    found = {}
    for number, axis in axes.items():
        array = arrays[number]
        others = {i: -1 for i in range(array.ndim) if i != axis and len(array.chunks[i]) > 1}
        found[number] = array.rechunk(others) if others else array
    chunks = {number: array.chunks[axes[number]] for number, array in found.items()}
    if any(math.isnan(length) for sizes in chunks.values() for length in sizes):
        if len({len(sizes) for sizes in chunks.values()}) > 1:
            raise ValueError(
                "the split arrays must have as many blocks where the lengths of blocks are unknown, got "
                f"{' and '.join(str(len(sizes)) for sizes in chunks.values())}"
            )
        return found, (math.nan,) * len(next(iter(chunks.values())))
    totals = {sum(sizes) for sizes in chunks.values()}
    if len(totals) > 1:
        raise ValueError(f"the split arrays must have as many examples, got {' and '.join(map(str, sorted(totals)))}")
    finest = max(chunks.values(), key=lambda sizes: len([length for length in sizes if length]))
    common = tuple(length for length in finest if length) or (0,)
    stepped = {
        number: array if chunks[number] == common else array.rechunk({axes[number]: common})
        for number, array in found.items()
    }
    return stepped, common


def _call(program: Any, *args: Any) -> Any:
    return program(*args)


def _some(values: Any, places: list[int]) -> tuple[Any, ...]:
    return tuple(values[place] for place in places)


def _length(block: Any, axis: int) -> int:
    return int(block.shape[axis])


def _extent(length: int) -> Shaped:
    return Shaped((length,))


def _shaped(shape: list[Any], axis: int, length: int) -> Shaped:
    return Shaped(tuple(length if i == axis else size for i, size in enumerate(shape)))


def _offsets(lengths: list[int]) -> list[int]:
    return list(itertools.accumulate(lengths, initial=0))


def _in_blocks_of(xp: Any, array: Any) -> Any:
    """An array whose blocks are of a library, or of the host and to be moved."""
    from nbm_xp.namespace import array_namespace, library_name

    if array_namespace(array._meta) is xp:
        return array
    empty = xp.zeros((0,) * array.ndim, dtype=_dtype(xp, str(array.dtype)))
    return array.map_blocks(_moved, library_name(xp), dtype=array.dtype, meta=empty)


def _moved(array: Any, library: str) -> Any:
    """An array of the host in the library of the blocks."""
    from nbm_xp.namespace import convert, get_namespace

    return convert(array, get_namespace(library))


def _dtype(xp: Any, name: str) -> Any:
    from nbm_xp.namespace import dtype_of

    return dtype_of(xp, name)


def _combine(hows: list[str], parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Parts of several values, combined value by value; a block without elements has no part in an extremum."""
    from nbm_xp.namespace import array_namespace

    combined: list[Any] = []
    for how, column in zip(hows, zip(*parts, strict=True), strict=True):
        present = [part for part in column if part is not None]
        if len(present) < 2:
            combined.append(present[0] if present else None)
            continue
        pair = operator.add if how == "sum" else getattr(array_namespace(present[0]), _PAIRS[how])
        combined.append(functools.reduce(pair, present))
    return tuple(combined)


def _finished(parts: tuple[Any, ...], place: int, how: str) -> Any:
    if parts[place] is None:
        raise ValueError(f"{how} of no elements is not defined: the batch has none")
    return parts[place]


def _as_array(value: Any) -> Any:
    """A value, of which a library may have made a scalar, as an array."""
    from nbm_xp.namespace import array_namespace

    return array_namespace(value).asarray(value)
