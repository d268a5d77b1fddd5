"""Runs in stores over HTTP whose requests fail, with clients, workers and schedulers killed: the same bytes."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbm_xp.runs import Workers, resume
from tests.faults.test_clusters import come_and_go
from tests.faults.test_killed_clients import CLIENT, interrupted
from tests.faults.test_killed_workers import Killer, pids_of
from tests.helpers.clusters import Processes
from tests.helpers.object_store import BUCKET, ObjectStore, serving
from tests.helpers.runs import RUNS, left_off, program, results_of, whole

for _package in ("zarr", "distributed"):
    pytest.importorskip(_package)
pytest.importorskip("obstore.fsspec").register("s3a")  # s3 is s3fs's
pytestmark = [  # few sweeps, whose files count; connections that were cut off
    pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("nbm_xp.graphs.MixingWarning", "ResourceWarning")
]
SHARE, NAMES = 0.2, ["sample", "train", "evaluate", "transition", "web"]
BY_DAY = [("s3a", "sample"), ("s3", "train")]
BY_NIGHT = [(protocol, name) for protocol in ("s3", "s3a", "gs", "abfs") for name in NAMES]


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[str], ObjectStore]]:
    with contextlib.ExitStack() as servers:
        yield functools.cache(lambda protocol: servers.enter_context(serving(protocol)))


@pytest.fixture
def store(serve: Callable[[str], ObjectStore]) -> ObjectStore:
    return serve("s3")


@pytest.mark.parametrize(
    ("protocol", "name"),
    [*BY_DAY, *(pytest.param(*each, marks=pytest.mark.slow) for each in BY_NIGHT if each not in BY_DAY)],
)
def test_a_run_through_faults(protocol: str, name: str, serve: Callable[[str], ObjectStore]) -> None:
    store, place = serve(protocol.removesuffix("a")), f"{protocol}://{BUCKET}/{protocol}/{name}"
    with store.faults(len(name), SHARE / 20 if protocol == "abfs" else SHARE):  # adlfs waits for 15 s after each
        left_off(RUNS[name], place, share=0.5)
        resume(place)
    assert results_of(place) == whole(name)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["s3", "gs", "abfs"])
def test_of_clients_that_begin_in_one_place_one_goes_on(protocol: str, serve: Callable[[str], ObjectStore]) -> None:
    place = f"{protocol}://{BUCKET}/one"
    source = CLIENT.format(name="sample", place=place, share=1, how={"n_draws": 12})
    with serve(protocol).faults(3, 0.01 if protocol == "abfs" else SHARE / 2):
        clients = [program(source) for _ in range(3)]
        said = [client.communicate(timeout=300)[1] for client in clients]
    assert sorted(client.returncode for client in clients) == [0, 1, 1], said
    assert all("FileExistsError" in text or "RunError: another" in text for text in said if text), said
    assert results_of(place) == whole("sample")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(24))
def test_clients_killed(number: int, store: ObjectStore) -> None:
    name, chance = NAMES[number % 5], random.Random(number)
    place: Any = f"s3://{BUCKET}/clients/{number}"
    with store.faults(number, SHARE):
        interrupted(name, place, chance.random() * 0.9, signal.SIGKILL)
        resume(place)
    assert results_of(place) == whole(name)


@pytest.mark.slow
def test_workers_killed(store: ObjectStore) -> None:
    chance, killed = random.Random(20), 0
    with store.faults(20, SHARE), Workers("local", n_workers=2) as workers:
        for number in range(24):
            name = ["sample", "web", "evaluate", "train in blocks"][number % 4]
            killer = Killer(lambda: pids_of(workers), chance, 12)
            run = RUNS[name](f"s3://{BUCKET}/workers/{number}", scheduler=workers, progress=killer)
            killed += killer.killed
            assert results_of(run.path) == whole(name)
    assert killed == 24


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_schedulers_killed(number: int, store: ObjectStore) -> None:
    """Its workers share the store alone; others come with the next scheduler."""
    place, chance = f"s3://{BUCKET}/schedulers/{number}", random.Random(number).random() * 0.9

    def restart(done: int, total: int) -> None:
        if done > chance * total and cluster.scheduler is first:
            first.kill()
            cluster.begin(1)

    with Processes(1, store.settings) as cluster, Workers(cluster.address) as workers:
        first = cluster.scheduler
        with store.faults(number, SHARE):
            RUNS["sample"](place, scheduler=workers, progress=restart)
        assert cluster.scheduler is not first
    assert results_of(place) == whole("sample")


@pytest.mark.slow
def test_workers_that_share_a_store_come_and_go(store: ObjectStore) -> None:
    with Processes(settings=store.settings) as cluster, Workers(cluster.address) as workers:
        come_and_go(f"s3://{BUCKET}/shared", cluster, workers)


@pytest.mark.slow
def test_the_recipe_of_a_cluster(tmp_path: pathlib.Path) -> None:
    root, paths = pathlib.Path(__file__).parents[2], f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    shutil.copytree(root / "nbm_xp", tmp_path / "site" / "nbm_xp")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # names of sockets are short
        said = subprocess.run(
            ["bash", root / "examples" / "cluster.sh", folder], cwd=tmp_path, capture_output=True, text=True,
            env=os.environ | {"PATH": paths, "PYTHONPATH": os.fspath(tmp_path / "site")},
        )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr
    assert "a worker is lost\n" in said.stdout
    assert said.stdout.endswith(" files are the same in both\n")
