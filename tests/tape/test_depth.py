"""Deep, wide and long graphs: no recursion, and no step with time or text beyond linear in the graph's size."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from nbm_xp.tape import Tensor, Variable, evaluate, function, gradients, placeholder, scan, value_and_grad
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import calls_of


@contextmanager
def little_stack(frames: int = 120) -> Iterator[None]:
    """Limit the stack to so few further frames that recursion over a graph would overflow."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def chain(x: Tensor, steps: int) -> Tensor:
    y = x
    for _ in range(steps):
        y = xp.sin(y) + x
    return y


class TestDepth:
    def test_recording_running_and_gradients(self) -> None:
        x = placeholder((None,), dtype="float64")
        function([x], gradients(xp.sum(chain(x, 3)), x))(np.ones(2))  # fills caches and imports on first use
        with little_stack():
            y = chain(x, 600)
            loss = xp.sum(y)
            slope = gradients(loss, x)
            again = gradients(xp.sum(slope), x)
            values = function([x], [loss, slope, again])(np.full(2, 0.5))
            assert len(repr(again)) < 300
        value, rate = 0.5, 1.0
        for _ in range(600):
            value, rate = np.sin(value) + 0.5, np.cos(value) * rate + 1.0
        np.testing.assert_allclose(values[0], 2 * value, rtol=1e-9)
        np.testing.assert_allclose(values[1], [rate] * 2, rtol=1e-9)
        assert np.all(np.isfinite(values[2]))

    def test_looking_and_derivatives_of_functions(self) -> None:
        derivative = value_and_grad(lambda a: xp.sum(chain(a, 1000)))
        derivative(np.ones(2))
        with little_stack():
            assert np.isfinite(float(xp.sum(chain(Variable(np.ones(2)), 1000))))
            assert len(evaluate([chain(Variable(np.ones(2)), 500)])) == 1
            assert np.isfinite(derivative(np.full(2, 0.25))[0])

    def test_inside_a_loop(self) -> None:
        rows = placeholder((None, 2), dtype="float64")
        outputs, _ = scan(lambda row, s: chain(row, 800) + s, sequences=rows, outputs_info=xp.zeros(2, dtype="float64"))
        loss = xp.sum(outputs[-1])
        found = function([rows], [loss, gradients(loss, rows)])(np.ones((3, 2)))
        assert np.all(np.isfinite(found[1]))

    def test_a_long_history_is_given_up_at_once(self) -> None:
        y = chain(placeholder((2,), dtype="float64"), 20_000)
        del y
        gc.collect()


class TestWork:
    def test_grows_with_the_graph(self) -> None:
        def of(steps: int) -> int:
            def work() -> None:
                x = placeholder((None,), dtype="float64")
                function([x], gradients(xp.sum(chain(x, steps)), x))(np.ones(2))

            return calls_of(work)

        of(100)  # fills caches and imports on first use
        small, large = of(200), of(1600)
        assert large < 1.1 * 8 * small


class TestLengths:
    def test_of_slices_of_slices(self) -> None:
        x = placeholder((None,), dtype="float64")
        y: Tensor = x
        with little_stack(450):
            for _ in range(600):
                y = y[2 : y.shape[0] - 1]
            assert len(str(y.shape[0])) < 2000
            run = function([x], [y[0], xp.sum(y * 0.0 + 1.0), gradients(xp.sum(y), x)])
        first, count, slope = run(np.arange(5000.0))
        assert (float(first), float(count), float(np.sum(slope))) == (1200.0, 3200.0, 3200.0)

    def test_halving_and_joining(self) -> None:
        x = placeholder((None,), dtype="float64")
        y = x
        for _ in range(120):
            y = xp.concat([y[: y.shape[0] // 2], y[y.shape[0] // 2 :]])
        np.testing.assert_array_equal(function([x], y)(np.arange(7.0)), np.arange(7.0))

    def test_of_many_inputs(self) -> None:
        parts = [placeholder((None,), dtype="float64") for _ in range(200)]
        joined = parts[0]
        for part in parts[1:]:
            joined = xp.concat([joined, part])
        run = function(parts, [joined, joined.shape[0], gradients(xp.sum(joined), parts[7])])
        values, length, slope = run(*(np.full(i % 3, float(i)) for i in range(200)))
        assert (len(values), length, slope.tolist()) == (199, 199, [1.0])

    def test_mean_the_same_when_they_come_from_elsewhere(self) -> None:
        x = placeholder((None, None))
        n = (x.shape[0] // 2 + 1) * 3 + x.shape[1] * x.shape[0]
        for other in (pickle.loads(pickle.dumps((n, n))), (copy.deepcopy(n), n)):
            assert repr(other[0]) == repr(n)
            assert all(monomial in other[0].terms for monomial in other[0].terms)
