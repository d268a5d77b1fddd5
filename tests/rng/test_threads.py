"""Threads fill one draw together: each takes streams that no other has, and nothing changes but the time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import core
from nbm_xp.namespace.mrg31k3p import numpy_draws
from nbm_xp.rng import Generator

pytestmark = pytest.mark.skipif(not core.functions, reason="installed without a compiler")

KINDS = {"draw_float16": "uint16", "draw_float32": "float32", "draw_float64": "float64"}
KINDS |= {"bernoulli_float32_float32_bool": "bool", "bernoulli_float64_float32_int64": "int64"}
SIZES = [(1, 1), (10, 3), (999, 1000), (3000, 1000), (3001, 1000), (700_001, 5121), (1_100_000, 30_000)]


def filled(name: str, n: int, streams: int, *claims: int, threads: int = 1) -> tuple[Any, Any]:
    """A draw and the states after it, by so many threads that share claims, each to its end."""
    numbers = numpy_draws.number_by_number(numpy_draws.substreams((1, 2, 3, 4, 5, 6), streams), n)
    out, after = np.zeros(n, KINDS[name]), np.zeros_like(numbers)
    table = np.arange(2**15, dtype="uint16") if name == "draw_float16" else np.empty(0, KINDS[name])
    if name.startswith("bernoulli"):
        table = (np.arange(n) % 7 / 8).astype("float32")
    shared = np.asarray(claims, np.int64)
    with ThreadPoolExecutor(threads) as pool:
        for job in [pool.submit(core.functions[name], numbers, table, out, after, shared) for _ in range(threads)]:
            assert job.result() == 0
    return out, after


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("n", "streams"), SIZES)
def test_whatever_is_taken_at_once_a_draw_is_the_same(name: str, n: int, streams: int) -> None:
    want = filled(name, n, streams)
    for at_once in (1 + streams // 9, 640, 2 * streams):
        for got, wanted in zip(filled(name, n, streams, 0, at_once, threads=3), want, strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)


def test_a_thread_that_never_starts_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    with ThreadPoolExecutor(1) as busy:
        monkeypatch.setattr(numpy_draws, "_pool", lambda _: busy)
        busy.submit(released.wait)
        try:
            two = Generator(5, threads=2)
            np.testing.assert_array_equal(two.random(200_000), Generator(5).random(200_000))
            wanted = Generator(5).advance(14).bernoulli(0.25, 200_000)
            np.testing.assert_array_equal(two.bernoulli(0.25, 200_000), wanted)
        finally:
            released.set()


def test_an_error_in_a_thread_is_told() -> None:
    def fill(claims: Any) -> None:
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        numpy_draws.together(2, 15_360, 10**6, fill)
