"""A Dask cluster of two processes for tests; several can be side by side, since none serves a page at a port."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["two_processes"]


@contextmanager
def two_processes(*, as_default: bool = True) -> Iterator[Any]:
    """A client of the cluster, the one that Dask asks unless told otherwise."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("distributed is not installed")
    distributed: Any = importlib.import_module("distributed")
    alone = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **alone) as cluster,
        distributed.Client(cluster, set_as_default=as_default) as client,
    ):
        yield client
