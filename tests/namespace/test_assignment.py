"""Copies of arrays with a part replaced, on every library: what was there before stays as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import put, replaced
from nbm_xp.namespace.indexing import looked_up
from tests.helpers.libraries import Library, guard, libraries

X = np.random.default_rng(3).normal(size=(4, 5, 3))
INDICES: list[Any] = [(0,), (-1, slice(1, 3)), (slice(None), 2), (slice(1, 4, 2), slice(None), -1), (), (slice(2, 2),)]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_replaced(index: Any, library: Library) -> None:
    wanted, part = X.copy(), np.random.default_rng(4).normal(size=X[index].shape)
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
    wanted, part = X.copy(), np.random.default_rng(4).normal(size=shape)
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


@pytest.mark.parametrize("places", [[2, 0, 3], [-1], [], [1, 1, 1, 0, 2]], ids=str)
def test_the_portable_body_is_the_kernels(places: list[int]) -> None:
    library = Library("numpy", "numpy")
    index = np.asarray(places, dtype="int64")
    part = np.random.default_rng(4).normal(size=(4, len(places), 3))
    np.testing.assert_array_equal(looked_up(library.xp, X, index, part, 1), put(X, index, part, 1))


@pytest.mark.parametrize("library", libraries("dask-ragged"), indirect=True)
def test_nothing_is_computed(library: Library) -> None:
    with guard():
        result = put(library.array(X), library.array(np.asarray([3, 1])), library.array(X[:2]), 0)
        result = replaced(result, (0, slice(1, 2)), library.array(X[0, :1]))
    assert result.chunks == library.array(X).chunks
