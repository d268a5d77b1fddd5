"""Plans: each value computed once and freed after its last use, at any depth, found again, and safe across threads."""

from __future__ import annotations

import threading
import tracemalloc
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, function, gradients, operation, placeholder, stop_gradient, value_and_grad
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.plans import writer as plans

CALLS: Counter[str] = Counter()


def _counted(namespace: Any, x: Any, *, label: str) -> Any:
    CALLS[label] += 1
    return x + 1


counted = operation(
    "test_counted", infer=lambda x, label: (x.shape, x.dtype), run=_counted, gradient=lambda g, out, x, label: g
)


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


class TestCommonValues:
    def test_are_computed_once(self) -> None:
        x = placeholder((None,), dtype="float64")
        once = counted(x, label="shared")
        again = counted(x, label="shared")
        other = counted(x, label="other")
        run = function([x], [once * 2, again + xp.sum(once), other, once @ again])
        run(np.ones(3))
        assert CALLS == {"shared": 1, "other": 1}

    def test_through_whole_expressions(self) -> None:
        x = placeholder((None,), dtype="float64")
        left = xp.exp(counted(x * 2 + 1, label="inner"))
        right = xp.exp(counted(x * 2 + 1, label="inner"))
        function([x], left - right)(np.ones(3))
        assert CALLS["inner"] == 1

    def test_across_outputs_updates_and_gradients(self) -> None:
        w = Variable(np.ones(3))
        hidden = counted(w, label="hidden")
        loss = xp.sum(hidden * hidden)
        function([], [loss, hidden], updates=[(w, w - 0.1 * gradients(loss, w))])()
        assert CALLS["hidden"] == 1

    def test_what_stop_gradient_holds_is_the_same_value(self) -> None:
        w = Variable(np.ones(3))
        function([], counted(w, label="same") * counted(stop_gradient(w), label="same"))()
        assert CALLS["same"] == 1

    def test_only_what_is_needed_is_computed(self) -> None:
        x = placeholder((None,), dtype="float64")
        counted(x, label="unused")
        run = function([x], [xp.sum(counted(x, label="used")), counted(x, label="shape").shape[0]])
        assert run(np.ones(3))[1] == 3
        assert CALLS == {"used": 1}

    def test_equal_numbers_of_other_kinds_are_not_merged(self) -> None:
        x = Variable(np.asarray([3]), dtype="int64")
        assert [r.dtype for r in evaluate([x * 2, x * 2.0])] == ["int64", "float64"]


WATCHED: list[weakref.ref[Any]] = []


class _Watched(np.ndarray):
    """An array that can be watched while a plan runs."""


def _watched(namespace: Any, x: Any) -> Any:
    alive = sum(reference() is not None for reference in WATCHED)
    CALLS["most alive"] = max(CALLS["most alive"], alive)
    result = np.array(x + 1).view(_Watched)
    WATCHED.append(weakref.ref(result))
    return result


watched = operation(
    "test_watched", infer=lambda x: (x.shape, x.dtype), run=_watched, gradient=lambda g, out, x: g * 1.0
)


class TestMemory:
    def test_values_are_freed_after_their_last_use(self) -> None:
        WATCHED.clear()
        x = placeholder((None,), dtype="float64")
        y = x
        for _ in range(40):  # more than stand inside one expression
            y = watched(y)
        function([x], y)(np.ones(3))
        assert len(WATCHED) == 40
        assert CALLS["most alive"] <= 2

    def test_of_a_chain(self) -> None:
        size = 250_000  # 2 MB of float64
        x = placeholder((None,), dtype="float64")
        y = x
        for _ in range(30):
            y = xp.tanh(y * 0.5 + xp.exp(-y))
        run = function([x], y)
        array = np.ones(size)
        run(array)
        tracemalloc.start()
        run(array)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= 4.5 * array.nbytes

    def test_of_the_gradient_of_a_chain(self) -> None:
        size, steps = 250_000, 30
        x = placeholder((None,), dtype="float64")
        y = x
        for _ in range(steps):
            y = xp.tanh(y * 0.5)
        run = function([x], gradients(xp.sum(y), x))
        array = np.ones(size)
        run(array)
        tracemalloc.start()
        run(array)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= (steps + 6) * array.nbytes


class TestDepth:
    def test_a_long_chain_needs_no_recursion(self) -> None:
        x = Variable(np.asarray([0.5]))
        y = x
        for _ in range(2500):
            y = xp.sin(y) + x
        result = evaluate([y, gradients(xp.sum(y), x)])
        expected, slope = 0.5, 1.0
        for _ in range(2500):
            expected, slope = np.sin(expected) + 0.5, np.cos(expected) * slope + 1.0
        np.testing.assert_allclose(result, [[expected], [slope]], rtol=1e-9)

    def test_a_value_used_many_times_is_walked_once(self) -> None:
        x = Variable(np.asarray([1.0]))
        y = x
        for _ in range(60):
            y = (y + y) * 0.5
        np.testing.assert_allclose(evaluate([y, gradients(xp.sum(y), x)]), [[1.0], [1.0]])

    def test_a_wide_sum(self) -> None:
        x = Variable(np.asarray([1.0, 2.0]))
        y = sum((x * float(i) for i in range(1000)), x * 0.0)
        np.testing.assert_allclose(evaluate(gradients(xp.sum(y), x)), [499500.0] * 2)


class TestSource:
    def test_is_found_again(self) -> None:
        def run() -> None:
            x = placeholder((None, 3), dtype="float64")
            function([x], xp.sum(xp.exp(x) * 2.0 + x.shape[0]))(np.ones((2, 3)))

        run()
        before = len(plans._compiled)
        for _ in range(5):
            run()
        assert len(plans._compiled) == before

    def test_is_shown_in_a_traceback(self) -> None:
        x = placeholder((None,), dtype="float64")
        run = function([x], xp.reshape(xp.concat([x, x]), (3, -1)))
        with pytest.raises(ValueError, match="reshape") as caught:
            run(np.ones(2))
        assert any("reshape" in str(entry.statement) for entry in caught.traceback if entry.path is not None)

    def test_names_that_python_has_are_no_obstacle(self) -> None:
        x = Variable(np.asarray([[1.0, -2.0], [3.0, 4.0]]))
        results = [
            xp.sum(x),
            xp.max(x),
            xp.min(x),
            xp.abs(x),
            xp.any(x > 0),
            xp.all(x > 0),
            xp.round(x),
            x**2,
            pow(x, 2),
        ]
        expected = [
            6.0,
            4.0,
            -2.0,
            [[1, 2], [3, 4]],
            True,
            False,
            [[1, -2], [3, 4]],
            [[1, 4], [9, 16]],
            [[1, 4], [9, 16]],
        ]
        for got, want in zip(evaluate(results), expected, strict=True):
            np.testing.assert_array_equal(got, want)


def _together(work: Any, count: int = 8) -> list[Any]:
    """Run ``work(i)`` in several threads that start at the same time."""
    barrier = threading.Barrier(count)

    def started(i: int) -> Any:
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(started, range(count)))


class TestThreads:
    def test_recording_and_running_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plans, "_CACHE_SIZE", 4)

        def work(i: int) -> float:
            total = 0.0
            for j in range(15):
                x = placeholder((None,), dtype="float64")
                loss = xp.sum(xp.sin(x * (i + 1)) ** 2 + float(j))
                value, gradient = function([x], [loss, gradients(loss, x)])(np.arange(3.0))
                angle = np.arange(3.0) * (i + 1)
                np.testing.assert_allclose(value, np.sum(np.sin(angle) ** 2 + j))
                np.testing.assert_allclose(gradient, (i + 1) * np.sin(2 * angle), atol=1e-12)
                total += float(value)
            return total

        assert len(_together(work)) == 8

    def test_one_function_in_many_threads(self) -> None:
        x = placeholder((None,), dtype="float64")
        run = function([x], xp.cumulative_sum(x * 2))
        results = _together(lambda i: [run(np.full(4, float(i))).tolist() for _ in range(20)])
        assert results == [[[2.0 * i * k for k in (1, 2, 3, 4)]] * 20 for i in range(8)]

    def test_one_variable_in_many_graphs(self) -> None:
        w = Variable(np.ones(3))
        results = _together(lambda i: float(xp.sum(w * float(i)).eval()))
        assert results == [3.0 * i for i in range(8)]

    def test_derivatives_of_functions(self) -> None:
        differentiated = value_and_grad(lambda x: xp.sum(x * x))
        results = _together(lambda i: differentiated(np.full(2, float(i)))[1].tolist())
        assert results == [[2.0 * i] * 2 for i in range(8)]
