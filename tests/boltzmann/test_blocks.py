"""On Dask a block of chains is one task, however many steps the chains make and whatever their units are.

Operation by operation, two hundred temperatures would be tens of thousands of tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from tests.helpers.libraries import guard

RANDOM = np.random.default_rng(0)
NUMBERS, BITS, STATES = RANDOM.normal(size=(20, 4)), RANDOM.integers(0, 2, (20, 4)), RANDOM.integers(0, 3, (20, 4))
ROWS = {
    "binary": BITS, "spin": 2 * BITS - 1, "gaussian": NUMBERS, "normal": NUMBERS, "categorical:3": STATES,
    "2*normal+2*categorical:3": np.concatenate([NUMBERS[:, :2], STATES[:, 2:]], axis=1),
}  # fmt: skip
kinds = pytest.mark.parametrize(
    ("visible", "hidden"), [*((kind, "binary") for kind in ROWS), ("spin", "categorical:3"), ("binary", "relu")]
)


def machine(visible: str, hidden: str) -> RBM:
    rows = ROWS[visible].astype("float64")
    return RBM(3, visible=visible, hidden=hidden, n_iter=1, learning_rate=0.001, random_state=0).fit(rows)


@kinds
@pytest.mark.parametrize("library", ["numpy", "dask"])
def test_a_block_of_chains_is_one_task_however_many_sweeps(visible: str, hidden: str, library: str) -> None:
    rbm = machine(visible, hidden).to(library)
    tasks = []
    for sweeps in (4, 12):
        with guard():
            found = rbm.sample(30, sweeps, random_state=1, library="dask", chunks=10)
            tempered = rbm.parallel_tempering(30, sweeps, n_temperatures=3, random_state=1, library="dask", chunks=10)
        tasks.append([len(dict(drawn.__dask_graph__())) for drawn in (found, tempered)])
    assert tasks[0] == tasks[1]
    assert max(tasks[0]) < 20  # a few for each of three blocks


@pytest.mark.at_night("gaussian", "normal")
@kinds
def test_chains_in_blocks_are_those_at_once(visible: str, hidden: str) -> None:
    rbm, lazy = machine(visible, hidden), machine(visible, hidden).to("dask")
    blocks: dict[str, Any] = {"library": "dask", "chunks": 5}
    for steps in (0, 3):
        drawn = rbm.sample(12, steps, random_state=1)
        np.testing.assert_allclose(rbm.sample(12, steps, random_state=1, **blocks), drawn)
    drawn = rbm.parallel_tempering(12, 3, n_temperatures=3, random_state=1)
    np.testing.assert_allclose(rbm.parallel_tempering(12, 3, n_temperatures=3, random_state=1, **blocks), drawn)
    for weigh in (rbm.ais, rbm.reverse_ais):
        found, by_block = (weigh(12, 5, random_state=1, **how).log_weights for how in ({}, blocks))
        np.testing.assert_allclose(by_block, found, rtol=1e-6, atol=1e-9)
        again = getattr(lazy, weigh.__name__)(12, 5, random_state=1, **blocks)
        np.testing.assert_array_equal(again.log_weights, by_block)
