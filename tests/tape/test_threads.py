"""Recording, differentiating, running, updating and evaluating in many threads at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import kernels, library_name, use_backend
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, as_tensor, evaluation, function, gradients, placeholder, scan, value_and_grad
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.plans import writer as plans

THREADS = 8


@pytest.fixture(autouse=True)
def _switching_often() -> Iterator[None]:
    """Switch threads a thousand times as often as usual, to provoke races."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any]) -> list[Any]:
    """Run ``work(i)`` in several threads that start at the same time."""
    barrier = threading.Barrier(THREADS)

    def started(i: int) -> Any:
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


def test_updates_of_one_variable_are_all_counted() -> None:
    counter = Variable(np.zeros(2))
    x = placeholder((2,), dtype="float64")
    add = function([x], counter, updates=[(counter, counter + x)])
    take = function([], [], updates=[(counter, counter - 1.0)])

    def work(i: int) -> None:
        for _ in range(50):
            add(np.asarray([1.0, 3.0]))
            take()

    together(work)
    assert counter.get_value().tolist() == [0.0, 50.0 * THREADS * 2.0]


def test_updates_of_several_variables_do_not_wait_for_ever() -> None:
    variables = [Variable(np.zeros(())) for _ in range(THREADS)]

    def work(i: int) -> None:
        first, second = variables[i], variables[(i + 1) % THREADS]
        both = function([], [], updates=[(second, second + 1.0), (first, first + 1.0)])
        for _ in range(30):
            both()

    together(work)
    assert [float(v) for v in variables] == [60.0] * THREADS


def test_draws_of_one_graph_are_all_different() -> None:
    draw = function([], RandomStreams(5).uniform((4,)))
    found = [tuple(values) for part in together(lambda i: [draw().tolist() for _ in range(30)]) for values in part]
    assert len(set(found)) == 30 * THREADS


def test_draws_recorded_at_once_take_different_streams() -> None:
    rng = RandomStreams(5)
    found = together(lambda i: [tuple(rng.uniform((4,)).eval().tolist()) for _ in range(10)])
    assert len({values for part in found for values in part}) == 10 * THREADS


def test_caches_that_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_CACHE_SIZE", 3)
    monkeypatch.setattr(evaluation, "_CACHE_SIZE", 3)

    def work(i: int) -> None:
        for power in range(2, 12):
            value, slope = value_and_grad(lambda x, n=power: xp.sum(x**n))(np.full(3, 2.0))
            assert (float(value), slope.tolist()) == (3 * 2.0**power, [power * 2.0 ** (power - 1)] * 3)

    together(work)


def test_looking_at_what_others_extend() -> None:
    start = as_tensor(np.ones(3)) * 2.0

    def work(i: int) -> float:
        x = start
        for _ in range(40):
            x = xp.where(x > 1e6, x / 1e6, x * 2.0) if bool(xp.all(x > 0)) else -x
        return float(xp.sum(x))

    assert len(set(together(work))) == 1


def test_each_thread_has_its_library() -> None:
    pytest.importorskip("array_api_strict")

    def work(i: int) -> set[str]:
        name = ("numpy", "array_api_strict")[i % 2]
        found = set()
        for _ in range(20):
            with use_backend(name):
                found.add(library_name((xp.zeros(3) + 1.0).eval()))
                found.add(library_name(Variable([1.0]).value))
        return found

    assert together(work) == [{"numpy"}, {"array_api_strict"}] * (THREADS // 2)


def test_one_loop_and_its_gradient() -> None:
    def work(i: int) -> list[float]:
        rows = placeholder((None, 2), dtype="float64")
        outputs, _ = scan(lambda row, state: xp.tanh(row + state), rows, xp.zeros(2, dtype="float64"))
        run = function([rows], gradients(xp.sum(outputs[-1]), rows))
        return [run(np.full((4, 2), 0.1 * k)).tolist() for k in range(8)]

    first, *others = together(work)
    assert all(other == first for other in others)


def test_a_kernel_is_found_while_another_thread_imports_it() -> None:
    for attempt in range(20):
        name = f"test.threads.{attempt}"
        kernels.register_kernel(name, "numpy", "json:dumps")
        assert all(found is not None for found in together(lambda i, name=name: kernels.kernel(name, "numpy")))
