"""Chains of a model in files on a real cluster: worker processes of their own, one of them killed."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.storage.chunked import open_array
from tests.helpers.clusters import two_processes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what a killed worker leaves open is the cluster's to warn of
]

HIDDEN, VISIBLE = 80, 100


class Slow:
    """A stored matrix of which a part takes a while to read."""

    ndim = 2

    def __init__(self, path: pathlib.Path, seconds: float) -> None:
        self.path, self.seconds = str(path), seconds
        held = np.load(self.path, mmap_mode="r")
        self.shape, self.dtype = held.shape, held.dtype

    def __getitem__(self, index: Any) -> Any:
        time.sleep(self.seconds)
        return np.array(np.load(self.path, mmap_mode="r")[index])


@pytest.fixture(scope="module")
def values() -> list[Any]:
    random = np.random.default_rng(0)
    shapes = ((HIDDEN, VISIBLE), (HIDDEN,), (VISIBLE,))
    return [(random.integers(-12, 13, size=shape) / 8).astype("float32") for shape in shapes]


@pytest.fixture(scope="module")
def file(values: list[Any], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("cluster") / "weights.npy"
    np.save(path, values[0])
    return path


@pytest.fixture
def client() -> Iterator[Any]:
    with dask.config.set({"array.chunk-size": "1KiB"}), two_processes() as client:
        yield client


@pytest.mark.parametrize("chunks", [30, 7])
def test_chains_on_a_cluster_are_those_in_memory(
    chunks: int, client: Any, file: pathlib.Path, values: list[Any]
) -> None:
    rbm = RBM.from_parameters(open_array(file, 25), *values[1:])
    found = rbm.sample(30, 5, chunks=chunks, random_state=3).compute()
    np.testing.assert_array_equal(found, RBM.from_parameters(*values).sample(30, 5, random_state=3))


def test_a_killed_worker_changes_nothing(client: Any, file: pathlib.Path, values: list[Any]) -> None:
    """The tiles alone take two workers 4 × 4 × 2 × 8 × 0.02 / 2 = 2.5 s."""
    rbm = RBM.from_parameters(da.from_array(Slow(file, 0.02), chunks=(20, 25)), *values[1:])
    future = client.compute(rbm.sample(30, 8, chunks=30, random_state=3))
    pids = list(client.run(os.getpid).values())
    time.sleep(1.0)
    assert not future.done()
    os.kill(pids[0], signal.SIGKILL)
    found = future.result(timeout=300)
    assert set(client.run(os.getpid).values()) != set(pids)
    np.testing.assert_array_equal(found, RBM.from_parameters(*values).sample(30, 8, random_state=3))
