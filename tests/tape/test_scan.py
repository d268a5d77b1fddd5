"""`scan`: arguments and results of a step, updates of variables, memory, and errors."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import (
    Length,
    Tensor,
    Until,
    Variable,
    evaluate,
    function,
    gradients,
    operation,
    placeholder,
    scan,
    stop_gradient,
    until,
)
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

CALLS: Counter[str] = Counter()


def _counted(namespace: Any, x: Any) -> Any:
    CALLS["step"] += 1
    return x * 1.0


counted = operation(
    "test_counted_step", infer=lambda x: (x.shape, x.dtype), run=_counted, gradient=lambda g, out, x: g * 1.0
)
ROWS = np.arange(6.0).reshape(3, 2)


class TestForms:
    def test_one_output_is_no_list_and_several_are(self) -> None:
        x = Variable(ROWS)
        one, updates = scan(lambda row: row * 2, x)
        assert isinstance(one, Tensor)
        assert not updates
        assert isinstance(scan(lambda row: [row * 2], x)[0], Tensor)
        for several in (lambda row: [row, row * 2], lambda row: (row, row * 2)):
            outputs, _ = scan(several, x)
            assert isinstance(outputs, list)
            assert [o.shape for o in outputs] == [(3, 2), (3, 2)]

    @pytest.mark.parametrize("several", [list, tuple])
    def test_arguments_are_lists_or_single(self, several: Any) -> None:
        x, h, k = Variable(ROWS), Variable(np.ones(2)), Variable(np.full(2, 3.0))
        single = scan(lambda row, h, k: h * k + row, x, h, k)[0]
        listed = scan(lambda row, h, k: h * k + row, several([x]), several([h]), several([k]))[0]
        np.testing.assert_array_equal(evaluate(single), evaluate(listed))

    def test_order_of_the_arguments_of_a_step(self) -> None:
        seen: list[tuple[int, ...]] = []

        def step(*args: Tensor) -> Any:
            seen.append(tuple(a.ndim for a in args))
            return [args[4], args[3]]

        scan(
            step,
            sequences=[Variable(np.ones((4, 2))), {"input": Variable(np.ones(6)), "taps": [0, 1]}],
            outputs_info=[None, {"initial": Variable(np.ones((2, 2, 2))), "taps": [-2]}],
            non_sequences=[Variable(np.ones((1, 1, 1)))],
        )
        assert seen == [(1, 0, 0, 2, 3)]

    def test_arrays_and_numbers_are_taken(self) -> None:
        outputs, _ = scan(lambda row, h, k: h + row * k, ROWS, np.zeros(2), np.asarray(2.0))
        np.testing.assert_array_equal(evaluate(outputs), np.cumsum(ROWS * 2, axis=0))

    def test_integer_outputs(self) -> None:
        outputs, _ = scan(lambda n: n * 2, outputs_info=Variable(1, dtype="int32"), n_steps=5)
        assert evaluate(outputs).tolist() == [2, 4, 8, 16, 32]
        assert outputs.dtype == "int32"

    def test_shapes(self) -> None:
        x = placeholder((None, 4), name="x")
        outputs, _ = scan(lambda row: xp.sum(row), x)
        assert outputs.shape == (x.shape[0],)
        outputs, _ = scan(lambda h: h * 2, outputs_info=xp.ones((2, 3)), n_steps=7)
        assert outputs.shape == (7, 2, 3)
        outputs, _ = scan(lambda row: (row, until(xp.sum(row) > 0)), x)
        assert isinstance(outputs.shape[0], Length)

    def test_the_shortest_sequence_counts(self) -> None:
        outputs, _ = scan(lambda a, b: a + b, [Variable(np.ones(5)), Variable(np.ones(3))])
        assert evaluate(outputs).shape == (3,)

    def test_of_no_recurrence_nor_sequence(self) -> None:
        w = Variable(2.0)
        outputs, _ = scan(lambda: w * 3.0, n_steps=3)
        assert evaluate(outputs).tolist() == [6.0, 6.0, 6.0]

    def test_a_value_that_is_the_same_in_each_step_is_computed_once(self) -> None:
        CALLS.clear()
        w = Variable(np.ones(2))
        outputs, _ = scan(lambda row, h: h + row * counted(w * 2), Variable(ROWS), Variable(np.zeros(2)))
        evaluate(outputs)
        assert CALLS["step"] == 1


class TestUpdates:
    def test_a_step_may_update_variables(self) -> None:
        count, total = Variable(0.0), Variable(np.zeros(2))
        for form in (dict, list):
            count.set_value(0.0)
            outputs, updates = scan(
                lambda row, form=form: (row * count, form({count: count + 1.0, total: total + row}.items())),
                Variable(ROWS),
            )
            assert set(updates) == {count, total}
            run = function([], outputs, updates=updates)
            np.testing.assert_array_equal(run(), ROWS * np.asarray([[0], [1], [2]]))
            assert float(count) == 3.0
        assert total.get_value().tolist() == [12.0, 18.0]

    def test_only_updates(self) -> None:
        total = Variable(np.zeros(2))
        outputs, updates = scan(lambda row: {total: total + row}, Variable(ROWS))
        assert outputs == []
        function([], None, updates=updates)()
        assert total.get_value().tolist() == [6.0, 9.0]

    def test_a_variable_with_an_update_of_its_own_moves_on_in_each_step(self) -> None:
        state = Variable(1.0)
        state.default_update = state * 2.0
        outputs, updates = scan(lambda row: row * state, Variable(np.ones(4)))
        assert list(updates) == [state]
        run = function([], outputs)
        assert run().tolist() == [1.0, 2.0, 4.0, 8.0]
        assert run().tolist() == [16.0, 32.0, 64.0, 128.0]

    def test_such_a_variable_in_a_nested_scan(self) -> None:
        state = Variable(1.0)
        state.default_update = state + 1.0

        def outer(row: Tensor) -> Tensor:
            inner, _ = scan(lambda element: element * state, row)
            return xp.sum(inner)

        run = function([], scan(outer, Variable(np.ones((2, 3))))[0])
        assert run().tolist() == [6.0, 15.0]
        assert float(state) == 7.0

    def test_updates_are_cast_to_the_dtype_of_their_variable(self) -> None:
        count = Variable(0, dtype="int32")
        _, updates = scan(lambda row: (row, {count: count + row}), Variable(np.ones(3)))
        function([], None, updates=updates)()
        assert int(count) == 3


class TestMemory:
    def peak(self, outputs: Any, *inputs: Any) -> int:
        run = function([], outputs)
        run()
        tracemalloc.start()
        run()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    def test_of_the_last_value_does_not_grow_with_the_steps(self) -> None:
        size = 50_000
        start = Variable(np.ones(size))
        outputs, _ = scan(lambda h: xp.tanh(h * 0.9), outputs_info=start, n_steps=40)
        assert self.peak(outputs[-1]) < 5 * 8 * size
        assert self.peak(xp.sum(outputs[-1, :10])) < 5 * 8 * size
        assert self.peak(outputs) > 40 * 8 * size


class TestUntil:
    def test_ends_after_the_step_in_which_it_holds(self) -> None:
        doubled, _ = scan(lambda x: (2 * x, until(2 * x > 50.0)), outputs_info=Variable(1.0), n_steps=30)
        assert evaluate(doubled).tolist() == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
        assert float(doubled[-1]) == 64.0

    def test_steps_after_it_are_not_run(self) -> None:
        CALLS.clear()
        outputs, _ = scan(lambda x: (counted(x) + 1, until(x > 1.5)), outputs_info=Variable(0.0), n_steps=30)
        evaluate(outputs)
        assert CALLS["step"] == 3

    def test_beside_a_list_and_updates(self) -> None:
        count = Variable(0.0)
        outputs, updates = scan(
            lambda x: ([x + 1, x * 2], {count: count + 1}, until(x >= 2)), outputs_info=[Variable(0.0), None], n_steps=9
        )
        assert [o.tolist() for o in function([], outputs, updates=updates)()] == [[1, 2, 3], [0, 2, 4]]
        assert float(count) == 3.0

    def test_needs_a_scalar(self) -> None:
        with pytest.raises(TypeError, match="scalar"):
            until(Variable(np.ones(2)) > 0)
        assert isinstance(until(Variable(1.0) > 0), Until)

    @pytest.mark.parametrize("library", libraries("dask"), indirect=True)
    def test_stacked_on_a_lazy_library_is_refused(self, library: Library) -> None:
        start = Variable(library.array(np.ones(4)))
        outputs, _ = scan(lambda x: (x * 2, until(xp.sum(x) > 10)), outputs_info=start, n_steps=6, name="doubling")
        with pytest.raises(TypeError, match=r"doubling.*until.*outputs\[-1\]"):
            evaluate(outputs)
        assert library.numpy(evaluate(outputs[-1])).tolist() == [8.0] * 4


ONE = Variable(1.0)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no number of steps": (lambda: scan(lambda h: h, outputs_info=ONE, name="sampler"), "n_steps of sampler"),
    "half a step": (lambda: scan(lambda h: h, outputs_info=ONE, n_steps=2.5), "n_steps"),
    "more steps than entries": (lambda: scan(lambda row: row, ROWS, n_steps=4), r"n_steps.*4.*3 entries"),
    "a scalar sequence": (lambda: scan(lambda row: row, ONE), "scalar"),
    "another dtype": (lambda: scan(lambda h: xp.astype(h, xp.float64), outputs_info=ONE, n_steps=2), "float64"),
    "other axes": (lambda: scan(lambda h: h[0], outputs_info=ROWS, n_steps=2), "axes"),
    "another shape": (lambda: scan(lambda h: xp.concat([h, h]), outputs_info=ROWS, n_steps=2), r"output 0 .*shape"),
    "too few outputs": (
        lambda: scan(lambda h, k: h, outputs_info=[ONE, ONE], n_steps=2),
        "describes 2 outputs, the step returned 1",
    ),
    "a tap of the future": (
        lambda: scan(lambda h: h, outputs_info={"initial": ROWS, "taps": [0]}, n_steps=2),
        "negative",
    ),
    "too few taps": (lambda: scan(lambda h: h, outputs_info={"initial": ROWS, "taps": [-2]}, n_steps=2), "2 steps"),
    "another key": (lambda: scan(lambda h: h, outputs_info={"initial": ONE, "lag": 2}, n_steps=2), "lag"),
    "another key of a sequence": (lambda: scan(lambda row: row, {"input": ROWS, "offset": 1}), "offset"),
    "two conditions": (
        lambda: scan(lambda h: (h, until(h > 0), until(h > 1)), outputs_info=ONE, n_steps=2),
        "at most one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_named_when_it_is_recorded(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_wrong_is_named_when_it_runs() -> None:
    count, x = placeholder((), dtype="int64"), placeholder((None, 2), dtype="float64")
    run = function([count, x], scan(lambda row: row, x, n_steps=count, name="walk")[0])
    for steps, message in ((-1, "n_steps of walk must be 0 or more, got -1"), (4, r"n_steps.*4.*3 entries")):
        with pytest.raises(ValueError, match=message):
            run(steps, ROWS)


class TestGradients:
    def test_through_an_update(self) -> None:
        w, scale = Variable(np.asarray([1.0, 2.0, 3.0])), Variable(2.0, dtype="float64")
        running = Variable(0.0, dtype="float64")
        _, updates = scan(lambda element: {running: running * scale + element}, w)
        total = updates[running]
        by_w, by_scale = evaluate(gradients(total, [w, scale]))
        assert by_w.tolist() == [4.0, 2.0, 1.0]
        assert float(by_scale) == 2 * 2.0 * 1.0 + 2.0

    def test_an_update_with_a_stopped_gradient(self) -> None:
        x = Variable(np.asarray([1.0, 2.0]))
        outputs, _ = scan(lambda e, h: stop_gradient(h) * e, x, Variable(1.0, dtype="float64"))
        assert evaluate(gradients(outputs[-1], x)).tolist() == [0.0, 1.0]

    def test_integer_states_take_none(self) -> None:
        x = Variable(np.asarray([1.0, 2.0, 3.0]))
        outputs, _ = scan(
            lambda h, n, x: [h + x[n], n + 1],
            outputs_info=[Variable(0.0, dtype="float64"), Variable(0, dtype="int64")],
            non_sequences=x,
            n_steps=3,
        )
        assert evaluate(gradients(outputs[0][-1], x)).tolist() == [1.0, 1.0, 1.0]

    def test_of_a_value_that_another_output_depends_on(self) -> None:
        x, h = Variable(np.ones(3)), Variable(0.0, dtype="float64")
        outputs, _ = scan(lambda e, h: [h + 1, e * 2], x, [h, None])
        by_x, by_h = evaluate(gradients(xp.sum(outputs[1]), [x, h]))
        assert by_x.tolist() == [2.0, 2.0, 2.0]
        assert float(by_h) == 0.0
