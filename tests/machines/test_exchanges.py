"""Turns, exchanges and distances on ladders: the same of arrays and of recorded Tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.machines.exchanges import distances, due, exchanged, laid_out, odd_pairs
from nbm_xp.namespace import to_numpy
from tests.helpers.libraries import Library, libraries

RANDOM = np.random.default_rng(0)
VALUES = RANDOM.normal(size=(5, 3, 2)).astype("float32")


def by_hand(values: Any, swap: Any) -> Any:
    """Members of a ladder along the first axis, changing places pair by pair."""
    found = values.copy()
    for pair in np.flatnonzero(swap):
        found[[pair, pair + 1]] = found[[pair + 1, pair]]
    return found


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("swap", [(0, 0, 0, 0), (1, 0, 1, 0), (0, 1, 0, 1), (1, 0, 0, 1)])
@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch", "cupy"))
def test_neighbours_change_places(library: Library, swap: tuple[int, ...], axis: int) -> None:
    expected = np.moveaxis(by_hand(VALUES, swap), 0, axis)
    values = library.xp.asarray(np.ascontiguousarray(np.moveaxis(VALUES, 0, axis)))
    shape = [1, 1, 1]
    shape[axis] = 4
    marks = library.xp.reshape(library.xp.asarray(np.asarray(swap, dtype="float32")), tuple(shape))
    np.testing.assert_array_equal(to_numpy(exchanged(values, marks, axis)), expected)
    given, marked = (B.placeholder(shape=tuple(array.shape), dtype="float32") for array in (values, marks))
    compiled = B.function([given, marked], exchanged(given, marked, axis))
    np.testing.assert_array_equal(to_numpy(compiled(values, marks)), expected)


def test_members_of_any_dtype_change_places() -> None:
    order, swap = np.asarray([[0, 1, 2], [3, 4, 5]]), np.asarray([[1.0, 0.0], [0.0, 1.0]])
    found = exchanged(order, swap, 1)
    assert found.dtype == order.dtype
    assert found.tolist() == [[1, 0, 2], [3, 5, 4]]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_pair_has_its_turn_in_every_other_step(count: int) -> None:
    odd = np.asarray(odd_pairs(count))
    even_turn, odd_turn = due(odd, 0), due(odd, 1)
    assert (even_turn + odd_turn == 1).all()
    assert (even_turn == (np.arange(count) % 2 == 0)).all()
    assert not (even_turn[1:] * even_turn[:-1]).any()


@pytest.mark.parametrize("acceptance", [0.1, 0.3, 0.8])
def test_a_ladder_is_laid_out_in_equal_distances(acceptance: float) -> None:
    """Where the energy is as spread at all temperatures, neighbours are erfc's argument apart, but for rounding."""
    spread, ends = 40.0, np.asarray([0.2, 1.7])
    found = laid_out(ends, spread * np.diff(ends), acceptance)
    steps = np.diff(found)
    assert (found[0], found[-1]) == (0.2, 1.7)
    np.testing.assert_allclose(steps, steps[0])
    shares = math.erfc(steps[0] * spread / 2)
    assert shares == pytest.approx(acceptance, abs=0.05)
    assert float(distances(np.asarray(shares))) == pytest.approx(steps[0] * spread)
