"""Products of Dask arrays with a stored matrix: correct for any chunks, one tile at a time, without it in the graph."""

from __future__ import annotations

import gc
import pathlib
import threading
import weakref
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.namespace import get_namespace, size_in_bytes
from nbm_xp.namespace.compat.dask_names import name_of_blocks
from nbm_xp.storage.chunked import open_array
from tests.helpers.libraries import guard

XP = get_namespace("dask")


class Watched:
    """A stored matrix that counts reads of its parts, and the most parts in memory at the same time."""

    def __init__(self, values: Any) -> None:
        self.values, self.shape, self.dtype, self.ndim = values, values.shape, values.dtype, values.ndim
        self.lock, self.alive, self.most, self.reads = threading.Lock(), 0, 0, 0

    def __dask_tokenize__(self) -> Any:
        return ("watched", id(self))

    def __getitem__(self, index: Any) -> Any:
        part = np.array(self.values[index])
        if not part.size:  # Dask reads an empty part to infer the type
            return part
        with self.lock:
            self.reads += 1
            self.alive += 1
            self.most = max(self.most, self.alive)
        weakref.finalize(part, self._gone)
        return part

    def _gone(self) -> None:
        with self.lock:
            self.alive -= 1


def small_blocks() -> Any:
    """Set Dask's preferred block size to a few numbers."""
    return dask.config.set({"array.chunk-size": "16B"})


def whole(shape: tuple[int, ...], seed: int = 0) -> Any:
    """Small multiples of 1/8, which float32 adds without rounding."""
    return (np.random.default_rng(seed).integers(-16, 17, size=shape) / 8).astype("float32")


def is_read_where_used(product: Any, stored: Any) -> bool:
    names = {key[0] if isinstance(key, tuple) else key for key in dict(product.__dask_graph__())}
    return name_of_blocks(stored) not in names


def splits(length: int) -> st.SearchStrategy[tuple[int, ...]]:
    """All ways to split an axis into chunks."""
    ends = st.sets(st.integers(1, length - 1)) if length > 1 else st.just(set())
    return ends.map(lambda cuts: tuple(np.diff([0, *sorted(cuts), length]).tolist()))


@given(data=st.data(), shape=st.tuples(*[st.integers(1, 9)] * 3), left=st.booleans(), turned=st.booleans())
def test_the_product_is_that_of_the_undivided_matrices(
    data: st.DataObject, shape: tuple[int, int, int], left: bool, turned: bool
) -> None:
    n, k, m = shape
    x, y = whole((n, k)), whole((k, m), 1)
    chunks = [tuple(data.draw(splits(length)) for length in array.shape) for array in (x, y)]
    stored, other = (x, y) if left else (y, x)
    held = Watched(np.ascontiguousarray(stored.T) if turned else stored)
    own, others = chunks if left else chunks[::-1]
    with guard(), small_blocks():
        lazy = da.from_array(held, chunks=own[::-1] if turned else own)
        lazy = lazy.T if turned else lazy
        beside = da.from_array(other, chunks=others)
        product = XP.matmul(lazy, beside) if left else XP.matmul(beside, lazy)
    assert held.reads == 0
    if max(lazy.numblocks) > 1 and size_in_bytes(lazy) > 16 and size_in_bytes(lazy) >= size_in_bytes(beside):
        assert is_read_where_used(product, lazy)
    with small_blocks(), dask.config.set(scheduler="synchronous"):  # expressions use the settings at compute time
        found = product.compute()
    assert (product.shape, product.dtype) == (found.shape, found.dtype)
    np.testing.assert_array_equal(found, x @ y)
    np.testing.assert_array_equal(tuple(sum(sizes) for sizes in product.chunks), found.shape)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_thread_holds_one_tile_at_a_time(threads: int) -> None:
    held = Watched(whole((40, 30)))
    x = whole((5, 40), 1)
    with small_blocks():
        weights = da.from_array(held, chunks=(4, 5))
        hidden = XP.matmul(da.from_array(x, chunks=-1), weights)
        back = XP.matmul(hidden, weights.T)
    gc.disable()  # memory must be freed by reference counts alone
    try:
        with dask.config.set(scheduler="threads", num_workers=threads):
            found = back.compute()
    finally:
        gc.enable()
    np.testing.assert_array_equal(found, x @ held.values @ held.values.T)
    assert held.most <= threads
    assert held.reads == 2 * 10 * 6


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.T.T, lambda w: w * 0.5, lambda w: -w, lambda w: w / 2, lambda w: w.astype("float64"),
        lambda w: w[1:9, 2:], lambda w: w.rechunk((5, 3)), lambda w: w.rechunk((12, 3)),
        lambda w: da.concatenate([w, w], axis=1), lambda w: XP.matrix_transpose(w), lambda w: w.map_blocks(np.asarray),
    ],
    ids=["turned", "times", "minus", "over", "cast", "cut", "rechunked", "columns", "joined", "transposed", "moved"],
)  # fmt: skip
def test_what_costs_little_is_done_after_reading(change: Any) -> None:
    values = whole((12, 10))
    with guard(), small_blocks():
        weights = change(da.from_array(Watched(values), chunks=(4, 4)))
        x = whole((3, weights.shape[0]), 1)
        product = XP.matmul(da.from_array(x), weights)
    assert is_read_where_used(product, weights)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(product.compute(), x @ weights.compute())


def test_what_is_computed_or_in_memory_or_small_is_made_once() -> None:
    values = whole((12, 10))
    stored = da.from_array(Watched(values), chunks=(4, 4))
    x = da.from_array(whole((3, 12), 1), chunks=-1)  # expressions would split it by the current settings
    with small_blocks(), dask.config.set(scheduler="synchronous"):
        others = [
            da.from_array(values, chunks=(4, 4)), da.from_array(values, chunks=(4, 4), inline_array=True),
            da.exp(stored), stored + whole((12, 10)), stored + da.ones((12, 10), chunks=(4, 4)), stored.persist(),
            stored.rechunk(-1), XP.matmul(stored, da.from_array(whole((10, 10)), chunks=4)),
        ]  # fmt: skip
        for other in others:
            is_made_once(XP.matmul(x, other), x, other)
    is_made_once(XP.matmul(x, stored), x, stored)  # within the size of a block


def is_made_once(product: Any, x: Any, other: Any) -> None:
    assert not is_read_where_used(product, other)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_allclose(product.compute(), x.compute() @ other.compute(), rtol=1e-5)


def test_a_matrix_and_a_vector() -> None:
    values, v, w = whole((12, 10)), whole((12,), 1), whole((10,), 2)
    with guard(), small_blocks():
        stored = da.from_array(Watched(values), chunks=(4, 4))
        row, column = XP.matmul(da.from_array(v), stored), XP.matmul(stored, da.from_array(w))
    for product, wanted in ((row, v @ values), (column, values @ w)):
        assert is_read_where_used(product, stored)
        assert product.shape == wanted.shape
        with small_blocks(), dask.config.set(scheduler="synchronous"):
            np.testing.assert_array_equal(product.compute(), wanted)


def test_integers_keep_their_dtype() -> None:
    values = np.arange(120, dtype="int8").reshape(12, 10)
    with small_blocks():
        product = XP.matmul(da.from_array(np.ones((2, 12), "int8")), da.from_array(Watched(values), chunks=5))
    assert product.dtype == np.int8
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(product.compute(), np.ones((2, 12), "int8") @ values)


def test_unequal_inner_lengths_are_refused() -> None:
    with small_blocks(), pytest.raises(ValueError, match=r"12|add up"):
        XP.matmul(da.ones((2, 11)), da.from_array(Watched(whole((12, 10))), chunks=5))


def test_parts_are_added_in_the_order_of_the_tiles() -> None:
    """In float32, 16777216 + 1 is 16777216: the sum is 1 in this order and 2 in others."""
    values = np.array([[2.0**24] * 3, [1.0] * 3, [-(2.0**24)] * 3, [1.0] * 3], dtype="float32")
    with small_blocks():
        product = XP.matmul(da.ones((2, 4), dtype="float32", chunks=-1), da.from_array(Watched(values), chunks=1))
    for threads in (1, 2, 5):
        with dask.config.set(scheduler="threads", num_workers=threads):
            np.testing.assert_array_equal(product.compute(), np.ones((2, 3)))


def test_the_graph_holds_a_path_and_no_numbers(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "w.npy", whole((400, 300)))
    with guard(), small_blocks():
        weights = open_array(tmp_path / "w.npy", chunks=(200, 150))
        rows = da.zeros((3, 400), dtype="float32")
        product = XP.matmul(XP.matmul(rows, weights), weights.T)
    assert len(cloudpickle.dumps(product)) < 20_000
