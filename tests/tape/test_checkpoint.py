"""`checkpoint`: the same values and gradients, recomputed instead of stored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nbm_xp.tape import Tensor, Variable, checkpoint, function, gradients, placeholder, scan, until, value_and_grad
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import counted, memory_of, runs_of

X = np.linspace(-1.0, 1.0, 6).reshape(2, 3)


class Both(NamedTuple):
    one: Any
    other: Any


def test_is_run_forward_and_again_for_the_gradient() -> None:
    x = Variable(X)
    for wrap, runs in ((lambda f: f, 1), (checkpoint, 2)):
        loss = xp.sum(xp.exp(wrap(lambda x: xp.sin(counted(x, label="layer")))(x)))
        assert runs_of(function([], [loss, gradients(loss, x)])) == {"layer": runs}


def test_of_arrays_it_is_the_function() -> None:
    np.testing.assert_array_equal(checkpoint(lambda x: x + 1.0)(X), X + 1.0)
    _, slope = value_and_grad(lambda x: xp.sum(checkpoint(xp.sin)(x)))(X)
    np.testing.assert_allclose(slope, np.cos(X))
    assert checkpoint(xp.sin).__name__ == xp.sin.__name__


def test_trees_of_results_and_arguments() -> None:
    @checkpoint
    def parts(pair: Any, options: dict[str, Any]) -> Any:
        x, y = pair
        return Both(x * y, [xp.sin(x), {"sum": xp.sum(y) + options["shift"]}, 7, "label"])

    x, y, shift = Variable(X), Variable(X + 1.0), Variable(2.0, dtype="float64")
    found = parts((x, y), options={"shift": shift})
    assert isinstance(found, Both)
    assert found.other[2:] == [7, "label"]
    total = xp.sum(found.one) + xp.sum(found.other[0]) + found.other[1]["sum"]
    by_x, by_y, by_shift = function([], gradients(total, [x, y, shift]))()
    np.testing.assert_allclose(by_x, X + 1.0 + np.cos(X))
    np.testing.assert_allclose(by_y, X + 1.0)
    assert float(by_shift) == 1.0


def test_unknown_lengths() -> None:
    x = placeholder((None, 3), dtype="float64")
    value = checkpoint(lambda x: x / x.shape[0] + xp.sum(x, axis=0))(x)
    assert value.shape == x.shape
    found, slope = function([x], [value, gradients(xp.sum(value * value), x)])(X)
    np.testing.assert_allclose(found, X / 2 + X.sum(axis=0))
    assert slope.shape == X.shape


def test_a_variable_in_it_moves_on_once() -> None:
    state = Variable(1.0)
    state.default_update = state * 2.0
    x = Variable(np.ones(2))
    loss = xp.sum(checkpoint(lambda x: x * x * state)(x))
    run = function([], [loss, gradients(loss, x)])
    assert [float(run()[0]) for _ in range(3)] == [2.0, 4.0, 8.0]
    assert run()[1].tolist() == [16.0, 16.0]
    assert float(state) == 16.0


def test_a_loop_in_it_moves_its_states_on() -> None:
    x = Variable(np.ones(3))

    def total(x: Tensor) -> Tensor:
        state = Variable(1.0)
        state.default_update = state + 1.0
        states.append(state)
        return xp.sum(scan(lambda e: e * state, x)[0])

    states: list[Variable] = []
    run = function([], checkpoint(total)(x))
    assert [float(run()), float(run())] == [6.0, 15.0]
    assert float(states[0]) == 7.0


class TestScans:
    def test_a_step_with_updates_and_until(self) -> None:
        count, start = Variable(0.0), Variable(1.0)

        def step(x: Tensor) -> Any:
            return xp.square(x) + 1.0, {count: count + 1.0}, until(x > 20.0)

        found = [scan(wrap(step), outputs_info=start, n_steps=9) for wrap in (lambda f: f, checkpoint)]
        runs = [function([], [o, gradients(xp.sum(o), start)], updates=u) for o, u in found]
        for one, other in zip(runs[0](), runs[1](), strict=True):
            np.testing.assert_array_equal(one, other)
        assert float(count) == 8.0

    def test_states_of_draws_move_on_in_segments(self) -> None:
        def run(segment: Any, x: Variable) -> list[Any]:
            state = Variable(1.0, dtype="float64")
            state.default_update = state * 1.5 + 1.0

            def step(e: Tensor, h: Tensor) -> Tensor:
                return xp.sin(h * state + e)

            outputs, updates = segment(step, x, Variable(0.2, dtype="float64"))
            assert list(updates) == [state]
            run = function([], [outputs[-1], xp.reshape(gradients(outputs[-1], x), (6,))])
            return [*run(), *run(), state.get_value()]

        def in_segments(step: Any, x: Variable, h: Variable) -> Any:
            def segment(rows: Tensor, h: Tensor) -> Any:
                outputs, updates = scan(step, rows, h)
                return outputs[-1], updates

            return scan(checkpoint(segment), x, h)

        numbers = np.linspace(0.1, 0.9, 6)
        expected = run(scan, Variable(numbers))
        for got, want in zip(run(in_segments, Variable(numbers.reshape(2, 3))), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)

    def test_memory(self) -> None:
        """Memory grows with the square root of the number of steps, without the inner values of a step."""
        size, steps = 20_000, 100
        start = Variable(np.ones(size))

        def step(h: Tensor) -> Tensor:
            return xp.tanh(xp.exp(xp.sin(h) * 0.5) - xp.cos(h * h))

        def most(step: Any, steps: int = steps) -> float:
            outputs, _ = scan(step, outputs_info=start, n_steps=steps)
            loss = xp.sum(outputs[-1])
            return memory_of(function([], [loss, gradients(loss, start)])) / (8 * size)

        def segment(h: Tensor) -> Tensor:
            return scan(checkpoint(step), outputs_info=h, n_steps=10)[0][-1]

        assert most(step) > 2 * steps
        assert most(checkpoint(step)) < steps + 15
        assert most(checkpoint(segment), steps=10) < 20 + 20
