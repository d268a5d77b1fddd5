"""Dask clusters for tests: of two processes of this machine, and of processes that share nothing."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import pytest

import nbm_xp

ALONE = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
_PYTHON = pathlib.Path(sys.executable).resolve()

# Read when Python starts: an editable installation leads to the checkout.
_SITE = """import pathlib, sys
sys.meta_path[:] = [x for x in sys.meta_path if "editable" not in type(x).__module__]
sys.path[:] = [x for x in sys.path if not pathlib.Path(x, "pyproject.toml").exists()]"""
PRELOADED = ["distributed", "dask.array", "xarray", "zarr", "nbm_xp.boltzmann", "nbm_xp.graphs", "nbm_xp.runs"]


def begin_workers_from_one_process() -> None:
    """Start the process that workers are forked from, with what they import: each would take seconds to import it."""
    forkserver = importlib.import_module("multiprocessing.forkserver")
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
    forkserver.ensure_running()


@contextmanager
def two_processes(*, as_default: bool = True) -> Iterator[Any]:
    """A client of the cluster, the one that Dask asks unless told otherwise; several can be side by side."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("distributed is not installed")
    distributed: Any = importlib.import_module("distributed")
    begin_workers_from_one_process()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **ALONE) as cluster,
        distributed.Client(cluster, set_as_default=as_default) as client,
    ):
        yield client


class Processes:
    """A scheduler and workers as a user starts them, which share a network, and what a run's address stands for.

    Each process has a folder of its own, with this package, a home and a temporary directory; and is another user, if
    these tests run as root with a Python that all can read. `shared` is a folder of all.
    """

    def __init__(self, workers: int = 2, settings: Mapping[str, str] | None = None) -> None:
        self._folder, self._settings = tempfile.TemporaryDirectory(), dict(settings or {})
        self._processes = list[subprocess.Popen[bytes]]()
        self._place, self.shared = pathlib.Path(self._folder.name), pathlib.Path(self._folder.name) / "shared"
        self._place.chmod(0o755)
        self._usual = os.umask(0)  # of what other users are to write
        self.shared.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.begin(workers)

    def begin(self, workers: int) -> None:
        """Start a scheduler, at the same address each time, and workers."""
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", self._port, "--no-dashboard")
        self.workers = [self.worker() for _ in range(workers)]

    def worker(self) -> subprocess.Popen[bytes]:
        """Start a worker, and the nanny that watches it and takes its signals."""
        return self._start("worker", self.address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "60")

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        own, user = self._place / str(len(self._processes)), 20_000 + len(self._processes)
        for name in ("home", "tmp"):
            (own / name).mkdir(parents=True)
        shutil.copytree(pathlib.Path(nbm_xp.__file__).parent, own / "site" / "nbm_xp")
        (own / "site" / "sitecustomize.py").write_text(_SITE)
        environment = {"PATH": os.environ["PATH"], "HOME": f"{own}/home", "TMPDIR": f"{own}/tmp"} | self._settings
        who: dict[str, Any] = {}
        if os.geteuid() == 0 and all(at.stat().st_mode & 1 for at in (*own.parents, *_PYTHON.parents)):
            who = {"user": user, "group": user, "extra_groups": []}
            for at in (own, *own.rglob("*")):
                os.chown(at, user, user)
        own.chmod(0o700)
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + kind, *arguments],
            env=environment | {"PYTHONPATH": f"{own}/site", "OPENBLAS_NUM_THREADS": "1"},
            cwd=own, umask=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who,
        )  # fmt: skip
        self._processes.append(process)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        for process in reversed(self._processes):
            process.kill()  # a nanny's worker ends with it
            process.wait()
        self._folder.cleanup()
        os.umask(self._usual)
