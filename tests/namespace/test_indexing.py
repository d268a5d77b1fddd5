"""Arrays with a part replaced, sums into repeated indices, integers from arrays, arrays created by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp import namespace
from nbm_xp import natural_bm as B
from nbm_xp.namespace import concrete_int, from_blocks, get_namespace, put, replaced, scatter_add, take_along_axis
from tests.helpers.calls import calls_of
from tests.helpers.libraries import DASK, Library, guard, libraries

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 5, 3))
ROWS = np.asarray([1, 3, 1, 0, -1, 1])
PAIRS = np.asarray([[0, 2], [2, 2], [1, 0]])


class Keep:
    """Index tuples from subscripts: ``Keep()[1:, None]``."""

    def __getitem__(self, index: Any) -> Any:
        return index


I = Keep()  # noqa: E741
INDICES = {
    "rows-of-two": I[PAIRS], "last": I[..., PAIRS], "int32": I[ROWS.astype("int32")],
    "bytes": I[np.asarray([3, 3, 0], dtype="uint8")], "step": I[::2, 1], "negative": I[-1, ..., 0],
    "none": I[None, 1:, None, 0], "everything": I[...], "array-apart-from-integer": I[ROWS, :, 1],
    "two-arrays-apart": I[ROWS[:4], 1:4, np.asarray([0, 2, 0, 0])],
    "two-arrays-broadcast": I[:, ROWS[:3, None], PAIRS[0]], "empty": I[np.asarray([], dtype="int64")],
    "scalar-array": I[np.asarray(2)],
}  # fmt: skip


def on(library: Library, index: Any) -> Any:
    """The index with its arrays converted to the library."""
    if isinstance(index, tuple):
        return tuple(on(library, entry) for entry in index)
    return library.array(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_scatter_add(library: Library, index: Any) -> None:
    values = RNG.normal(size=X[index].shape)
    expected = X.copy()
    np.add.at(expected, index, values)
    before = X.copy()
    x = library.array(X)
    result = library.numpy(scatter_add(x, on(library, index), library.array(values)))
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    np.testing.assert_array_equal(library.numpy(x), before)
    alone = library.numpy(namespace.scattered(library.xp, X.shape, on(library, index), library.array(values)))
    np.testing.assert_allclose(alone, expected - X, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("index", [I[ROWS], I[:, PAIRS], I[1:], I[0, ROWS]], ids=str)
def test_scatter_add_broadcasts_values_and_takes_an_index_of_numpy(library: Library, index: Any) -> None:
    expected = X.copy()
    np.add.at(expected, index, 2.0)
    x, own, two = library.array(X), on(library, index), library.array(np.asarray([2.0]))
    theirs = own if library.name == "array_api_strict" else index  # which takes no arrays of NumPy as an index
    for places, values in ((own, 2.0), (own, two), (theirs, two)):
        np.testing.assert_allclose(library.numpy(scatter_add(x, places, values)), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int8", "uint8", "complex64"])
def test_scatter_add_keeps_the_dtype(library: Library, dtype: str) -> None:
    values = np.arange(6, dtype="int32")
    expected = np.zeros(4, dtype=dtype)
    np.add.at(expected, ROWS, values.astype(dtype))
    result = library.numpy(scatter_add(library.array(np.zeros(4), dtype), library.array(ROWS), library.array(values)))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("library", libraries(without=("jax", "cupy", "dask")))
@pytest.mark.parametrize("place", [4, -5])
def test_scatter_add_out_of_bounds(library: Library, place: int) -> None:
    for shape in [(4,), (4, 2)]:
        with pytest.raises(IndexError):
            scatter_add(library.array(np.zeros(shape)), library.array(np.asarray([0, place])), 1.0)


@pytest.mark.parametrize("library", DASK)
def test_scatter_add_out_of_bounds_on_dask(library: Library) -> None:
    result = scatter_add(library.array(np.zeros(4)), library.array(np.asarray([0, 4])), 1.0)
    with pytest.raises(IndexError):
        result.compute(scheduler="synchronous")


@pytest.mark.parametrize("library", libraries(without=("dask",)))
def test_scatter_add_at_a_mask(library: Library) -> None:
    mask = X > 0
    expected = X.copy()
    expected[mask] += 1.5
    result = scatter_add(library.array(X), library.array(mask), 1.5)
    np.testing.assert_allclose(library.numpy(result), expected, rtol=1e-12)


def test_scatter_add_rejects_what_does_not_fit(library: Library) -> None:
    x = library.array(X)
    if library.name in ("numpy", "jax", "cupy"):
        with pytest.raises(IndexError):
            scatter_add(x, I[0, 0, 0, 0], 1.0)
        return
    for index in (I[0, 0, 0, 0], I[..., 0, ...]):
        with pytest.raises(IndexError):
            scatter_add(x, index, 1.0)
    with pytest.raises(IndexError):
        scatter_add(x, library.array(np.asarray([0.5])), 1.0)


@pytest.mark.parametrize("library", libraries(without=("dask",)))
def test_concrete_int(library: Library) -> None:
    for seven in (7, np.int64(7), library.array(np.asarray(7)), library.array(np.asarray(7, dtype="uint8"))):
        assert concrete_int(seven) == 7
    assert type(concrete_int(True)) is int
    arrays = (library.array(np.asarray(bad)) for bad in (7.0, [7], True))
    for bad in ("3", 3.0, None, [3], *arrays):
        with pytest.raises(TypeError, match="expected an integer"):
            concrete_int(bad)


def test_concrete_int_of_what_is_not_known_yet() -> None:
    with guard(), pytest.raises(TypeError, match="not known before it is computed"):
        concrete_int(get_namespace("dask").asarray(7))
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError):
        jax.jit(lambda x: x + concrete_int(x))(7)


def coordinates(offset: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Each element's index in row-major order in an array of 100 columns."""
    axes = [np.arange(start, start + length) for start, length in zip(offset, shape, strict=True)]
    grid = np.meshgrid(*axes, indexing="ij")
    places = [100 ** (len(axes) - 1 - i) * axis for i, axis in enumerate(grid)]
    return np.asarray(sum(places))


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((7, 5), "auto"), ((7, 5), -1), ((7, 5), 2), ((7, 5), (3, 2)), ((7, 5), ((1, 4, 2), (5,))),
        ((7,), 3), ((), "auto"), ((0, 3), 2), ((2, 3, 4), {0: 1, 2: 3}), ((7, 5), (-1, 1)), ((4, 3), "32 B"),
    ],
)  # fmt: skip
def test_from_blocks(shape: tuple[int, ...], chunks: Any) -> None:
    expected = coordinates((0,) * len(shape), shape)
    np.testing.assert_array_equal(from_blocks(get_namespace("numpy"), coordinates, shape, "int64"), expected)
    if isinstance(chunks, dict):
        chunks = tuple(chunks.get(i, -1) for i in range(len(shape)))
    with guard():
        lazy = from_blocks(get_namespace("dask"), coordinates, shape, "int64", chunks)
        again = from_blocks(get_namespace("dask"), coordinates, shape, "int64", chunks)
    assert lazy.shape == shape
    assert lazy.name == again.name
    computed = lazy.compute(scheduler="synchronous")
    assert computed.dtype == "int64"
    np.testing.assert_array_equal(computed, expected)


def scaled(offset: tuple[int, ...], shape: tuple[int, ...], factor: Any, addend: Any) -> Any:
    """The index times a sum, plus a scalar."""
    return np.arange(offset[0], offset[0] + shape[0]) * np.sum(factor) + addend


def test_from_blocks_hands_over_whole_arguments() -> None:
    xp = get_namespace("dask")
    factor = xp.asarray([1, 2, 3]).rechunk(1)
    with guard():
        lazy = from_blocks(xp, scaled, 9, "int64", 4, args=(factor, 7))
        other = from_blocks(xp, scaled, 9, "int64", 4, args=(factor, 8))
    assert lazy.name != other.name
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), np.arange(9) * 6 + 7)


def test_from_blocks_is_built_fast_and_sliced_cheaply() -> None:
    def build() -> Any:
        return from_blocks(get_namespace("dask"), coordinates, (1000, 1000), "int64", (10, 10))

    lazy = build()
    assert lazy.npartitions == 10_000
    assert calls_of(build) < 10_000 / 4  # proportional to the 200 chunks along the axes, not to the blocks
    np.testing.assert_array_equal(lazy[995:, 3].compute(scheduler="synchronous"), np.arange(995, 1000) * 100 + 3)


@pytest.mark.parametrize("shape", [(float("nan"),), (-1,), (2.5,), ("3",)])
def test_from_blocks_rejects_unknown_lengths(shape: Any) -> None:
    for name in ("numpy", "dask"):
        with pytest.raises(ValueError, match="known lengths"):
            from_blocks(get_namespace(name), coordinates, shape, "int64")


def test_from_blocks_rejects_wrong_blocks() -> None:
    def wrong(offset: tuple[int, ...], shape: tuple[int, ...]) -> Any:
        return np.zeros((1, 1))

    with pytest.raises(ValueError, match="shape"):
        from_blocks(get_namespace("numpy"), wrong, (2, 2), "float64")
    with pytest.raises(ValueError, match="shape"):
        from_blocks(get_namespace("dask"), wrong, (2, 2), "float64").compute(scheduler="synchronous")
    with pytest.raises(ValueError, match="dtype"):
        from_blocks(get_namespace("dask"), wrong, (1, 1), "float32").compute(scheduler="synchronous")


def test_from_blocks_on_other_libraries(library: Library) -> None:
    result = from_blocks(library.xp, coordinates, (3, 2), "int64")
    np.testing.assert_array_equal(library.numpy(result), coordinates((0, 0), (3, 2)))


@pytest.mark.parametrize(
    "library", libraries("numpy", "dask", "torch", "array_api_strict", without=("dask-cupy",)), indirect=True
)
@pytest.mark.parametrize("beyond", [3, -4, 9])
def test_places_beyond_the_axis_are_errors(library: Library, beyond: int) -> None:
    """Immediately, or when Dask computes; not on JAX and CuPy, which would have to wait for the device."""
    x = library.array(np.asarray([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))
    labels = library.array(np.asarray([0, beyond]))
    for pick in (
        lambda: library.xp.take(x, labels, axis=1),
        lambda: take_along_axis(x, library.xp.reshape(labels, (2, 1)), axis=1), lambda: B.one_hot(labels, 3),
        lambda: K.gather(library.xp.matrix_transpose(x), labels), lambda: K.sparse_categorical_crossentropy(x, labels),
    ):  # fmt: skip
        with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range|DATA bounds)"):
            library.numpy(pick())


@pytest.mark.parametrize("library", libraries("jax"), indirect=True)
def test_jax_marks_them(library: Library) -> None:
    x, labels = library.array(np.asarray([[0.2, 0.3, 0.5]])), library.array(np.asarray([3]))
    assert np.isnan(library.numpy(K.sparse_categorical_crossentropy(x, labels))).all()
    assert np.isnan(library.numpy(library.xp.take(x, labels, axis=1))).all()


@pytest.mark.parametrize("library", libraries("numpy", "torch", "jax", "array_api_strict"), indirect=True)
@pytest.mark.parametrize(("shape", "places"), [((2, 3), (2, 1)), ((1, 3), (4, 2)), ((4, 3), (1, 5)), ((2, 0), (2, 0))])
def test_places_along_an_axis_broadcast(library: Library, shape: tuple[int, ...], places: tuple[int, ...]) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    where = RNG.integers(-3, 3, places)
    got = library.numpy(take_along_axis(library.array(x), library.array(where), axis=1))
    rows = max(shape[0], places[0])
    full, chosen = (np.broadcast_to(a, (rows, a.shape[1])) for a in (x, where))
    np.testing.assert_array_equal(got, np.take_along_axis(full, chosen, axis=1))


PARTS: list[Any] = [(0,), (-1, slice(1, 3)), (slice(None), 2), (slice(1, 4, 2), slice(None), -1), (), (slice(2, 2),)]


@pytest.mark.parametrize("index", PARTS, ids=str)
def test_replaced(index: Any, library: Library) -> None:
    wanted, part = X.copy(), RNG.normal(size=X[index].shape)
    x = library.array(X)
    wanted[index] = part
    np.testing.assert_array_equal(library.numpy(replaced(x, index, library.array(part))), wanted)
    wanted[index] = 2.5
    np.testing.assert_array_equal(library.numpy(replaced(x, index, 2.5)), wanted)
    np.testing.assert_array_equal(library.numpy(x), X)


@pytest.mark.parametrize("places", [[2, 0, 3], [-1], [], [1, 1, 1, 0, 2, 3, 2]], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_put(places: list[int], axis: int, library: Library) -> None:
    shape = (*X.shape[:axis], len(places), *X.shape[axis + 1 :])
    wanted, part = X.copy(), RNG.normal(size=shape)
    index = np.asarray(places, dtype="int64")
    x, where = library.array(X), library.array(index)
    for values in (part, part[..., :1] if axis == 0 else part[:1]):
        wanted[(slice(None),) * axis + (index,)] = values
        np.testing.assert_array_equal(library.numpy(put(x, where, library.array(values), axis)), wanted)
    wanted[(slice(None),) * axis + (index,)] = 2.5
    np.testing.assert_array_equal(library.numpy(put(x, where, 2.5, axis)), wanted)
    np.testing.assert_array_equal(library.numpy(x), X)


@pytest.mark.parametrize("library", libraries("numpy", "torch", "array_api_strict", "dask"), indirect=True)
@pytest.mark.parametrize("place", [4, -5])
def test_a_place_out_of_bounds_is_refused(place: int, library: Library) -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        library.numpy(put(library.array(X), library.array(np.asarray([0, place])), 1.0, 0))


@pytest.mark.parametrize("library", libraries("dask-ragged"), indirect=True)
def test_nothing_is_computed(library: Library) -> None:
    with guard():
        result = put(library.array(X), library.array(np.asarray([3, 1])), library.array(X[:2]), 0)
        result = replaced(result, (0, slice(1, 2)), library.array(X[0, :1]))
    assert result.chunks == library.array(X).chunks
