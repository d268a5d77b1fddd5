"""Properties of the namespaces: sums into repeated places, any chunking reshaped, promotion as NumPy's."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nbm_xp import namespace, value_and_grad
from nbm_xp import natural_bm as nb
from nbm_xp.namespace import dtype_name, get_namespace, promote, promote_types, scatter_add, to_floating, to_numpy
from tests.helpers.libraries import guard

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6)
NUMBERS = [name for name in namespace.DTYPE_NAMES if name not in ("float16", "uint16", "uint32", "uint64")]
LIBRARIES = st.sampled_from([name for name in namespace.installed_libraries() if name not in ("cupy", "jax")])


def chunkings(length: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Any way to cut an axis of this length."""
    cuts = st.sets(st.integers(1, length - 1)) if length > 1 else st.just(set())
    return cuts.map(lambda found: tuple(int(n) for n in np.diff([0, *sorted(found), length])))


@st.composite
def chunked(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(draw(chunkings(length)) for length in shape)


@st.composite
def factorings(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """A shape with this many elements."""
    shape = []
    while size > 1:
        factor = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
        shape.append(factor)
        size //= factor
    return tuple(draw(st.permutations(shape))) if shape else (1,)


def on(library: str, value: Any, chunks: Any = None) -> Any:
    x = namespace.asarray(value, get_namespace(library))
    return x.rechunk(chunks) if library == "dask" and chunks is not None else x


def back(x: Any) -> Any:
    return to_numpy(x.compute(scheduler="synchronous") if hasattr(x, "compute") else x)


@given(st.data(), SHAPES)
def test_dask_reshapes_any_chunking_to_any_shape(data: st.DataObject, shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape)).reshape(shape)
    target = data.draw(factorings(value.size))
    xp = get_namespace("dask")
    with guard(), dask.config.set({"array.chunk-size": data.draw(st.sampled_from(["64 B", "512 B", "128 MiB"]))}):
        result = xp.reshape(on("dask", value, data.draw(chunked(shape))), target)
    assert result.shape == target
    np.testing.assert_array_equal(back(result), value.reshape(target))


@given(st.data(), SHAPES)
def test_dask_takes_along_any_axis(data: st.DataObject, shape: tuple[int, ...]) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.integers(1, 5))
    value = np.random.default_rng(0).normal(size=shape)
    wanted = tuple(count if i == axis % len(shape) else length for i, length in enumerate(shape))
    limit = shape[axis]
    indices = data.draw(hnp.arrays("int64", wanted, elements=st.integers(-limit, limit - 1)))
    with guard():
        x, i = on("dask", value, data.draw(chunked(shape))), on("dask", indices, data.draw(chunked(wanted)))
        result = get_namespace("dask").take_along_axis(x, i, axis=axis)
    np.testing.assert_array_equal(back(result), np.take_along_axis(value, indices, axis=axis))


@given(st.data(), LIBRARIES, SHAPES)
def test_scatter_add_is_numpys_add_at(data: st.DataObject, library: str, shape: tuple[int, ...]) -> None:
    """An index of integers, slices, None and integer arrays of one shape, in any order."""
    rows = data.draw(hnp.array_shapes(max_dims=2, max_side=4))
    index: list[Any] = []
    for length in shape[: data.draw(st.integers(1, len(shape)))]:
        kind = data.draw(st.sampled_from(["array", "array", "slice", "integer"]))
        if data.draw(st.integers(0, 4)) == 0:
            index.append(None)
        if kind == "array":
            index.append(data.draw(hnp.arrays("int64", rows, elements=st.integers(-length, length - 1))))
        elif kind == "slice":
            if library in ("dask", "numpy") and data.draw(st.booleans()):
                index.append(slice(None, None, data.draw(st.sampled_from([-1, -2, 3]))))
            else:
                start, stop = data.draw(st.integers(0, length)), data.draw(st.integers(0, length))
                index.append(slice(start, stop, data.draw(st.sampled_from([None, 1, 2]))))
        else:
            index.append(data.draw(st.integers(-length, length - 1)))
    value = np.random.default_rng(1).normal(size=shape)
    values = np.random.default_rng(2).normal(size=value[tuple(index)].shape)
    expected = value.copy()
    np.add.at(expected, tuple(index), values)
    places = tuple(on(library, entry) if isinstance(entry, np.ndarray) else entry for entry in index)
    with guard():
        x = on(library, value, data.draw(chunked(shape)))
        result = scatter_add(x, places, on(library, values))
    np.testing.assert_allclose(back(result), expected, rtol=1e-12, atol=1e-12)


@given(st.data(), st.integers(0, 3), st.integers(2, 4))
def test_a_slice_that_names_one_place_is_one_place_in_any_blocks(data: st.DataObject, place: int, step: int) -> None:
    """Where it reaches into the next block, Dask's own have an empty one there, in which the place is found again."""
    part = slice(place, place + data.draw(st.integers(2, step)), step)
    chunks = data.draw(st.just((place + 1, step)) | chunkings(place + 1 + step))
    value = np.arange(place + 1 + step) + 1.0
    x = on("dask", value, chunks)

    def loss(x: Any) -> Any:
        return (x[part] * x)[-1] + nb.sum(x[part] * 2.0)

    wanted = value.copy()
    wanted[part] += 0.5
    np.testing.assert_array_equal(back(scatter_add(x, (part,), 0.5)), wanted)
    for found, there in zip(value_and_grad(loss)(x), value_and_grad(loss)(value), strict=True):
        np.testing.assert_array_equal(back(found), there)


@given(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=4), LIBRARIES)
def test_promotion_is_numpys_on_every_library(names: list[str], library: str) -> None:
    arrays = [on(library, np.ones(2, dtype=name)) for name in names]
    expected = np.result_type(*map(np.dtype, names)).name
    assert promote_types(*names) == expected
    if library != "array_api_strict" or expected != "float16":
        assert {dtype_name(x) for x in promote(*arrays)} == {expected}


@given(hnp.arrays(st.sampled_from(NUMBERS), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)), LIBRARIES)
def test_arrays_come_back_as_they_went(value: Any, library: str) -> None:
    x = namespace.convert(np.asarray(value), get_namespace(library))
    assert dtype_name(x) == value.dtype.name
    np.testing.assert_array_equal(back(x), value)
    floating = to_floating(x)
    assert dtype_name(floating) == promote_types(value.dtype, "float32" if value.dtype.kind in "biu" else value.dtype)


def rows_and_columns(offset: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return np.add.outer(np.arange(shape[0]) + offset[0], 1000 * (np.arange(shape[1]) + offset[1]))


@given(st.data(), st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_blocks_meet_without_gaps(data: st.DataObject, shape: tuple[int, int]) -> None:
    whole = rows_and_columns((0, 0), shape)
    with guard():
        lazy = namespace.from_blocks(get_namespace("dask"), rows_and_columns, shape, "int64", data.draw(chunked(shape)))
    np.testing.assert_array_equal(back(lazy), whole)
