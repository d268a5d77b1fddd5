"""Dask: products with a matrix that is stored somewhere and larger than a block should be.

Dask makes each block of such a matrix once and holds it until its last use, so that a matrix used again and again is
soon in memory as a whole, with a partial product for each of its blocks. Here a block of the product is one task: it
reads the tiles that it needs one after the other, multiplies, adds, and lets go of them. What is in memory is a tile
for each thread, besides the other factor and the product. The price: a tile is read again where it is used again.

Only what costs little more than reading is done again: cutting, turning, putting together, casting, scaling. A matrix
that is computed, that lies in memory or on a cluster's workers (`persist`), or that is no larger than a block should be
(Dask's setting ``array.chunk-size``) is multiplied by Dask's own product.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import dask.array.chunk
import dask.array.core
import numpy as np
from dask import _task_spec
from dask.layers import ArrayBlockwiseDep

from nbm_xp.namespace.memory import size_in_bytes

from .dask_names import da, layers_of, name_of_blocks
from .dask_shaping import block_limit

_spec: Any = _task_spec
_READING = (dask.array.core.getter, dask.array.core.getter_nofancy, dask.array.core.getter_inline)
_CHEAP = (
    dask.array.chunk.getitem, dask.array.chunk.astype, dask.array.core.concatenate_shaped,
    dask.array.core.concatenate3, operator.getitem, operator.mul, operator.neg, operator.truediv, np.swapaxes,
    np.transpose,
)  # fmt: skip
_MOVING = "asarray"  # to a device, by the function of any library
_FEW = 32  # layers of a graph that may be no more than reading
_LITTLE = 4096  # bytes of an array that may travel with every task


class Tile:
    """The graph that reads one block of a stored matrix."""

    __slots__ = ("graph", "key")

    def __init__(self, graph: Mapping[Any, Any], key: Any) -> None:
        self.graph = dict(graph)
        self.key = key

    def __call__(self) -> Any:
        """Read the block."""
        return _spec.execute_graph(self.graph, keys={self.key})[self.key]

    def __reduce__(self) -> Any:
        return Tile, (self.graph, self.key)

    def __dask_tokenize__(self) -> Any:
        return ("nbm_xp.tile", self.key)


def stored_product(x1: Any, x2: Any) -> Any:
    """The product of matrices, or of one and a vector, if one is to be read where it is used; None if none is.

    Parts are added up in the order of the tiles, so that the result does not depend on what is computed when.
    """
    if (x1.ndim, x2.ndim) == (1, 2):
        row = stored_product(x1[None, :], x2)
        return None if row is None else row[0, :]
    if (x1.ndim, x2.ndim) == (2, 1):
        column = stored_product(x1, x2[:, None])
        return None if column is None else column[:, 0]
    if x1.ndim != 2 or x2.ndim != 2 or x1.shape[1] != x2.shape[0]:
        return None
    for stored, other in sorted(((x1, x2), (x2, x1)), key=lambda pair: -size_in_bytes(pair[0])):
        tiles = _tiles(stored) if _too_large(stored) else None
        if tiles is not None:
            return _product(tiles, stored.name, stored.chunks, stored.dtype, other, left=stored is x1)
    return None


def _too_large(x: Any) -> bool:
    return bool(max(x.numblocks) > 1 and size_in_bytes(x) > block_limit())  # nan, of an unknown length, is not larger


class _Tiles(ArrayBlockwiseDep):
    """The tiles of a matrix as an argument of `blockwise`, which takes to each task those that it needs."""

    def __init__(self, chunks: tuple[tuple[int, ...], ...], tiles: dict[tuple[int, ...], Tile], name: str) -> None:
        super().__init__(chunks)
        self.tiles = tiles
        self.name = name

    def __getitem__(self, index: tuple[Any, ...]) -> list[Tile]:
        """The tiles along the index that is summed over, in the place of which Dask gives a list."""
        rows, columns = (place if isinstance(place, list) else [place] for place in index)
        return [self.tiles[i, k] for i in rows for k in columns]

    def __dask_tokenize__(self) -> Any:
        return ("nbm_xp.tiles", self.name)


def _product(
    tiles: dict[tuple[int, ...], Tile], stored: str, split: tuple[tuple[int, ...], ...], dtype: Any, other: Any, *,
    left: bool,
) -> Any:  # fmt: skip
    """A task for each block of the product."""
    other = other.rechunk({0: split[1]} if left else {1: split[0]})
    dtype = np.result_type(dtype, other.dtype)
    factors = (_Tiles(split, tiles, stored), "ik" if left else "kj", other, "kj" if left else "ik")
    meta = np.empty_like(other._meta, shape=(0, 0), dtype=dtype)
    options = {"concatenate": False, "align_arrays": False, "token": "stored-product", "dtype": dtype, "meta": meta}
    return da.blockwise(_multiplied, "ij", *factors, left=left, **options)


def _multiplied(tiles: list[Tile], blocks: list[Any], left: bool) -> Any:
    """One block of the product: tile by tile, in their order."""
    from nbm_xp.namespace import array_namespace

    total = None
    for read, block in zip(tiles, blocks, strict=True):
        tile = read()
        xp = array_namespace(tile, block)
        part = xp.matmul(tile, block) if left else xp.matmul(block, tile)
        del tile
        if total is None:
            total = part
        else:
            total += part  # it is nobody else's
    return total


class _Held:
    """An array that is compared by its name and layers: computed on a cluster, it has the same name."""

    def __init__(self, array: Any) -> None:
        self.array = array
        layers = layers_of(array)
        self.known_by = (array.name, *sorted((name, type(layer).__name__) for name, layer in layers.items()))

    def __hash__(self) -> int:
        return hash(self.known_by)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.known_by == self.known_by


def _tiles(x: Any) -> dict[tuple[int, ...], Tile] | None:
    """The tile of each block; None if a block is not read from storage, or needs more than cheap tasks."""
    try:
        return _found(_Held(x)) if len(layers_of(x)) <= _FEW else None
    except _NotStoredError:
        return None


class _NotStoredError(Exception):
    """Raised if a matrix is not stored, so that neither the result nor the matrix is cached."""


@functools.lru_cache(maxsize=8)
def _found(held: _Held) -> dict[tuple[int, ...], Tile]:
    x = held.array
    graph = _spec.convert_legacy_graph(dict(x.__dask_graph__()))
    name = name_of_blocks(x)
    if not all(map(_is_cheap, graph.values())):
        raise _NotStoredError
    tiles = {}
    for index in np.ndindex(*x.numblocks):
        own = _spec.cull(graph, [(name, *index)])
        complete = all(dependency in own for node in own.values() for dependency in node.dependencies)
        if not complete or not any(map(_reads, own.values())):
            raise _NotStoredError
        tiles[index] = Tile(own, (name, *index))
    return tiles


def _reads(node: Any) -> bool:
    return getattr(node, "func", None) in _READING


def _is_cheap(node: Any) -> bool:
    """Whether a task may be done again, and may travel with every task that needs it."""
    if isinstance(node, (_spec.Alias, _spec.NestedContainer)):
        return True
    if isinstance(node, _spec.DataNode):
        return _is_little(node.value)
    function = node.func
    known = any(function is one for one in (*_READING, *_CHEAP)) or getattr(function, "__name__", "") == _MOVING
    return known and all(map(_is_little, _parts([*node.args, *node.kwargs.values()])))


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """All values nested in arguments."""
    for value in values:
        if isinstance(value, _spec.DataNode):
            yield from _parts([value.value])
        elif isinstance(value, _spec.Task):
            yield from _parts([*value.args, *value.kwargs.values()])
        elif isinstance(value, (list, tuple)):
            yield from _parts(value)
        elif isinstance(value, dict):
            yield from _parts(value.values())
        elif not isinstance(value, (_spec.TaskRef, _spec.Alias)) or type(value).__module__.startswith("distributed"):
            yield value


def _is_little(value: Any) -> bool:
    """Whether a value is neither a large array in memory nor an array on the workers of a cluster."""
    from nbm_xp.namespace import is_array

    if isinstance(value, _spec.TaskRef) or getattr(value, "__dask_future__", False):
        return False
    return not is_array(value) or size_in_bytes(value) <= _LITTLE
