"""A view of a view of a buffer shows, and writes to, the elements that NumPy would name; on every library."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.neon import Backend, Buffer
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.at_night("jax", "dask")

SHAPES = st.lists(st.integers(0, 4), min_size=2, max_size=3).map(tuple)


@st.composite
def slices(draw: st.DrawFn, length: int) -> slice:
    bound = st.none() | st.integers(-length - 1, length + 1)
    return slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))


def left(places: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    """What an index leaves: the axes of integers go, as long as there are more than two."""
    found = places[tuple(slice(k, k + 1 or None) if isinstance(k, int) else k for k in key)]
    for axis in reversed([axis for axis, item in enumerate(key) if isinstance(item, int)][: max(0, places.ndim - 2)]):
        found = found.squeeze(axis)
    return found


@st.composite
def views(draw: st.DrawFn, buffer: Buffer, places: np.ndarray) -> tuple[Buffer, np.ndarray]:
    """A few steps from a buffer, with the places in its memory that the view shows."""
    for _ in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["index", "transpose", "reshape", "share"])):
            case "index":
                count = draw(st.integers(1, places.ndim))
                key = tuple(
                    draw(slices(length) | st.integers(-length, length - 1)) if length else slice(None)
                    for length in places.shape[:count]
                )
                buffer, places = buffer[key], left(places, key)
            case "transpose":
                buffer, places = buffer.T, places.swapaxes(-1, -2) if places.ndim > 2 else places.T
            case "reshape":
                rows = draw(st.sampled_from([n for n in range(1, places.size + 1) if places.size % n == 0] or [0]))
                shape = (rows, places.size // rows) if rows else (0, 3)
                buffer, places = buffer.reshape(shape), places.reshape(shape)
            case "share":
                count = draw(st.integers(0, places.size))
                buffer, places = buffer.share((count, 1)), places.reshape(-1)[:count].reshape(count, 1)
    return buffer, places


def check(library: Library, buffer: Buffer, wanted: np.ndarray) -> None:
    with computing():
        np.testing.assert_array_equal(buffer.get(), wanted)
        assert buffer.shape == wanted.shape


@given(st.data(), SHAPES)
def test_views_read_and_write_through(library: Library, data: st.DataObject, shape: tuple[int, ...]) -> None:
    be = Backend(rng_seed=1, library=library.name)
    memory = np.arange(math.prod(shape), dtype="float32").reshape(shape)
    whole = be.array(library.array(memory.copy()))
    places = np.arange(memory.size).reshape(shape)
    first, there = data.draw(views(whole, places))
    other, elsewhere = data.draw(views(whole, places))
    for value in (7.0, -np.arange(there.size, dtype="float32").reshape(there.shape)):
        first[:] = library.array(value) if isinstance(value, np.ndarray) else value
        memory.flat[there] = value
        check(library, whole, memory)
        check(library, other, memory.flat[elsewhere])
    first[:] = first * 2 + 1  # what it is computed from is where it goes
    memory.flat[there] = memory.flat[there] * 2 + 1
    if elsewhere.shape == there.shape:  # which may overlap
        first[:] = other
        memory.flat[there] = memory.flat[elsewhere]
    check(library, whole, memory)
    check(library, first, memory.flat[there])
