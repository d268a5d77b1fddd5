"""Draws on Dask: small tasks, nothing computed when they are made, the same numbers whoever makes them."""

from __future__ import annotations

import importlib
import math
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.rng import Generator, RandomStreams, tasks
from nbm_xp.tape import function, placeholder
from tests.helpers.clusters import two_processes
from tests.helpers.distributions import DRAWS, WITH_ARRAYS
from tests.helpers.libraries import guard

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")

MANY: dict[str, Any] = {
    "random": lambda g: g.random((10**6, 10**4), chunks=(10**4, 100)),
    "normal": lambda g: g.normal(2.0, 3.0, (10**6, 10**4), chunks=(10**4, 100)),
    "gamma": lambda g: g.gamma(2.0, 3.0, (10**6, 10**4), chunks=(10**4, 100)),
    "integers": lambda g: g.integers(0, 9, (10**6, 10**4), chunks=(10**4, 100)),
    "binomial": lambda g: g.binomial(3, 0.5, (10**6, 10**4), chunks=(10**4, 100)),
    "categorical": lambda g: g.categorical([0.5, 0.5], (10**6, 10**4), chunks=(10**4, 100)),
}


MORE_TASKS = ("choice", "choice, p", "integers", "multinomial", "permuted, all")
"""Draws of arrays that are computed with beforehand, which Dask's expressions do in tasks of their own."""


@pytest.mark.parametrize("name", MANY)
@pytest.mark.at_night("categorical")
def test_ten_thousand_blocks_hold_a_kilobyte_each_at_most(name: str) -> None:
    """Building them takes no time worth speaking of: the layers are symbolic, which the number of objects shows."""
    from dask.optimization import cull

    from nbm_xp.namespace.compat.dask_names import layers_of

    with guard():
        lazy = MANY[name](Generator(2026, "dask"))
    assert math.prod(lazy.numblocks) == 10_000
    layers = layers_of(lazy)
    assert len(layers) < 12
    assert sum(len(pickle.dumps(layer)) for layer in layers.values()) < 40_000
    corner = lazy[:2, :3]
    tasks, _ = cull(dict(corner.__dask_graph__()), list(dask.core.flatten(corner.__dask_keys__())))
    assert max(len(pickle.dumps(task)) for task in tasks.values()) <= 1024


def drawn(name: str) -> tuple[Any, int]:
    """A draw on Dask, and the number of arrays that are its parameters."""
    given: list[Any] = []
    with guard():
        if name in DRAWS:
            return DRAWS[name](Generator(5, "dask")), 0
        return WITH_ARRAYS[name](Generator(5), lambda x: given.append(da.from_array(x)) or given[-1]), len(given)


@pytest.mark.parametrize("name", [*DRAWS, *(name for name in WITH_ARRAYS if name not in MORE_TASKS)])
def test_a_block_is_one_task(name: str) -> None:
    """After Dask has optimised the graph, and whatever it fuses or does not: no draw is told from its parameters."""
    lazy, parameters = drawn(name)
    with guard():
        graph = lazy.optimize().__dask_graph__() if hasattr(lazy, "optimize") else dask.optimize(lazy)[0].dask
    tasks = [task for task in dict(graph).values() if type(task).__name__ not in ("Alias", "DataNode", "ndarray")]
    assert math.prod(lazy.numblocks) == 1
    assert len(tasks) <= 1 + parameters


def test_recorded_draws_hold_few_numbers_and_make_uniforms_where_they_are_compared() -> None:
    p, shares = np.random.default_rng(0).random((400, 300)), placeholder((400, 300), dtype="float64")
    drawn = function([shares], RandomStreams(7).binomial((400, 300), p=shares))
    with guard():
        lazy = [drawn(da.from_array(p, chunks=(100, 77))) for _ in range(2)]
    names = [key[0] for part in lazy for key in dict(part.__dask_graph__()) if isinstance(key, tuple)]
    assert not any(name.startswith("uniforms") for name in names)
    undivided = function([shares], RandomStreams(7).binomial((400, 300), p=shares))
    want = [undivided(p), undivided(p)]
    for ours, theirs in zip(lazy, want, strict=True):
        assert sum(len(pickle.dumps(task)) for task in dict(ours.__dask_graph__()).values()) < 1.1 * p.nbytes
        np.testing.assert_array_equal(ours.compute(scheduler="synchronous"), theirs)


def test_schedulers_and_workers_change_nothing() -> None:
    lazy = Generator(5, "dask").gamma(0.7, 2.0, (40, 50), chunks=(7, 11))
    want = Generator(5).gamma(0.7, 2.0, (40, 50))
    for options in ({"scheduler": "synchronous"}, {"scheduler": "threads", "num_workers": 3}):
        np.testing.assert_array_equal(lazy.compute(**options), want, strict=True)
        np.testing.assert_array_equal(lazy.rechunk((40, 1)).compute(**options), want, strict=True)


@pytest.mark.slow
def test_a_lost_worker_changes_nothing() -> None:
    want = Generator(5).gamma(0.7, 2.0, (400, 50))
    with two_processes() as client:
        lazy = Generator(5, "dask").gamma(0.7, 2.0, (400, 50), chunks=(10, 10)).persist()
        importlib.import_module("distributed").wait(lazy)
        first, *_ = list(client.cluster.workers.values())
        client.sync(first.kill)
        np.testing.assert_array_equal(client.compute(lazy).result(timeout=120), want, strict=True)


def test_chunks_follow_the_parameters() -> None:
    a = da.from_array(np.linspace(0.1, 1, 12).reshape(12, 1), chunks=((5, 7), (1,)))
    b = da.from_array(np.linspace(1, 2, 10), chunks=(3,))
    for lazy in (
        Generator(5).gamma(a, b), Generator(5).uniform(-a, b), Generator(5).normal(a, b), Generator(5).beta(a, b),
        Generator(5).bernoulli(a * b / 2), Generator(5).poisson(a * b),
    ):  # fmt: skip
        assert lazy.chunks == ((5, 7), (3, 3, 3, 1))
    assert Generator(5).gamma(a, b, chunks=(12, 10)).chunks == ((12,), (10,))
    rows = da.from_array(np.full((6, 2), 0.5), chunks=(2, 1))
    assert Generator(5).categorical(rows).chunks == ((2, 2, 2),)
    assert Generator(5).multinomial(3, rows).chunks == ((2, 2, 2), (2,))
    assert Generator(5).permutation(rows, axis=1).chunks == ((2, 2, 2), (2,))


@pytest.mark.parametrize("chunks", [2, (2,), [2], ((2, 2, 2),), {0: 2}])
def test_outcomes_are_not_split(chunks: Any) -> None:
    counts = Generator(5, "dask").multinomial(3, [0.5, 0.5], 6, chunks=chunks)
    assert counts.chunks == ((2, 2, 2), (2,))
    np.testing.assert_array_equal(counts.compute(), Generator(5).multinomial(3, [0.5, 0.5], 6))


@pytest.mark.parametrize(("size", "chunks"), [(None, [1, 2]), (6, (2, 1)), (6, ((2, 2),)), (6, 2.5)])
def test_chunks_of_other_axes_than_there_are_are_refused(size: Any, chunks: Any) -> None:
    generator = Generator(5, "dask")
    with pytest.raises(ValueError, match="chunks must say how Dask is to split an array of shape"):
        generator.multinomial(3, [0.5, 0.5], size, chunks=chunks)
    assert generator == Generator(5, "dask")


@pytest.mark.parametrize("name", [*DRAWS, *WITH_ARRAYS])
def test_the_meta_says_what_the_blocks_are(name: str) -> None:
    lazy, _ = drawn(name)
    assert lazy.dtype == lazy.compute(scheduler="synchronous").dtype == lazy._meta.dtype


@pytest.mark.parametrize("name", ["gamma", "beta", "poisson"])
def test_numbers_made_a_stretch_at_a_time_are_those_made_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {"gamma": (0.7, 2.0), "beta": (0.7, 2.0), "poisson": (15.0,)}[name]
    spread = np.linspace(1.0, 2.0, 33 * 41).reshape(33, 41)
    given = parameters[0] * spread, *parameters[1:]

    def made(*parameters: object, **settings: object) -> list[np.ndarray]:
        whole = getattr(Generator(8), name)(*parameters, size=(33, 41), **settings)
        lazy = getattr(Generator(8, "dask"), name)(*parameters, size=(33, 41), chunks=((20, 13), (30, 11)), **settings)
        return [whole, lazy.compute(scheduler="synchronous")]

    want = made(*parameters), made(*given)
    for length in (1353 // 2, 100, 7):
        monkeypatch.setattr(tasks, "_STRETCH", length)
        for found, expected in zip((made(*parameters), made(*given)), want, strict=True):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, expected[0], strict=True)
                np.testing.assert_array_equal(one, other, strict=True)
