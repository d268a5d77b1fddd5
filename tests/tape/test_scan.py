"""`scan`: arguments and results of a step, updates of variables, what is computed again and what is kept, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import get_namespace
from nbm_xp.tape import Tensor, Variable, evaluate, function, gradients, ifelse, placeholder, scan, stop_gradient, until
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import counted, memory_of, runs_of
from tests.helpers.libraries import Library, libraries

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
    def test_arguments_are_lists_or_single_tensors_arrays_or_numbers(self, several: Any) -> None:
        x, h, k = Variable(ROWS), Variable(np.ones(2)), Variable(np.full(2, 3.0))
        single = scan(lambda row, h, k: h * k + row, x, h, k)[0]
        listed = scan(lambda row, h, k: h * k + row, several([x]), several([h]), several([k]))[0]
        plain = scan(lambda row, h, k: h * k + row, ROWS, np.ones(2), 3.0)[0]
        np.testing.assert_array_equal(evaluate(single), evaluate(listed))
        np.testing.assert_array_equal(evaluate(single), evaluate(plain))

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
        assert not isinstance(outputs.shape[0], int)

    def test_of_no_recurrence_nor_sequence(self) -> None:
        w = Variable(2.0)
        outputs, _ = scan(lambda: w * 3.0, n_steps=3)
        assert evaluate(outputs).tolist() == [6.0, 6.0, 6.0]

    def test_a_negative_number_of_steps_goes_backwards(self) -> None:
        x = Variable(np.arange(4.0))
        outputs, _ = scan(lambda e, h: h * 2 + e, x, Variable(0.0, dtype="float64"), n_steps=-3)
        assert evaluate(outputs).tolist() == [3.0, 8.0, 17.0]


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

    def test_steps_that_differ_in_the_variables_they_update_share_no_plan(self) -> None:
        one, other = Variable(5.0), Variable(3.0)
        for step, value in [(lambda: one - other, 2.0), (lambda: other - one, -2.0)]:
            _, updates = scan(lambda step=step: {one: step(), other: other}, n_steps=1)
            assert float(updates[one]) == value

    def test_only_updates_which_are_cast_to_the_dtype_of_their_variable(self) -> None:
        total = Variable(np.zeros(2), dtype="int32")
        outputs, updates = scan(lambda row: {total: total + row}, Variable(ROWS))
        assert outputs == []
        function([], None, updates=updates)()
        assert total.get_value().tolist() == [6, 9]

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


def in_a_loop(h: Tensor) -> Tensor:
    return scan(lambda h: xp.sin(counted(h, label="step")), outputs_info=h, n_steps=3)[0][-1]


class TestWork:
    @pytest.mark.parametrize(
        ("step", "runs"),
        [
            (lambda h: xp.sin(counted(h, label="step")), {"step": 5}),
            (lambda h: h * xp.sin(counted(Variable(np.ones(2)), label="the same")), {"the same": 1}),
            (lambda h: ifelse(xp.sum(h) > -9.0, xp.tanh(h), xp.sin(counted(h, label="the other branch"))), {}),
            (in_a_loop, {"step": 15}),
        ],
    )
    def test_no_step_is_computed_again_for_the_gradient(self, step: Any, runs: dict[str, int]) -> None:
        h = Variable(np.ones(2))
        outputs, _ = scan(step, outputs_info=h, n_steps=5)
        loss = xp.sum(outputs[-1])
        assert runs_of(function([], [loss, gradients(loss, h)])) == runs

    def test_a_state_that_nobody_asks_for_is_not_carried(self) -> None:
        h, k = Variable(np.ones(2)), Variable(np.ones(2))
        outputs, _ = scan(lambda h, k: [h * 2.0, counted(k, label="step")], outputs_info=[h, k], n_steps=5)
        assert runs_of(function([], outputs[0])) == {}

    SIZE, COUNT = 50_000, 40

    @pytest.mark.parametrize(
        "step",
        [
            lambda h: xp.tanh(h * 0.9),
            lambda h: xp.tanh(2.0 * h + 1.0),
            lambda h: xp.tanh(xp.matrix_transpose(xp.matrix_transpose(h) * 0.9)),
        ],
        ids=["one product", "what the reverse does not need", "views"],
    )
    def test_the_gradient_keeps_one_array_for_each_step_and_the_last_value_none(self, step: Any) -> None:
        start = Variable(np.ones((self.SIZE // 50, 50)))
        outputs, _ = scan(step, outputs_info=start, n_steps=self.COUNT)
        loss = xp.sum(outputs[-1])
        assert memory_of(function([], [loss, gradients(loss, start)])) < (self.COUNT + 8) * 8 * self.SIZE
        for last in (outputs[-1], xp.sum(outputs[-1, :10])):
            assert memory_of(function([], last)) < 5 * 8 * self.SIZE

    def test_the_gradient_in_a_large_matrix_is_added_up_step_by_step(self) -> None:
        size, steps = 400, 30
        w, h = Variable(np.eye(size) * 0.1), Variable(np.ones((size, size)))
        outputs, _ = scan(lambda h: xp.tanh(h @ w), outputs_info=h, n_steps=steps)
        assert memory_of(function([], gradients(xp.sum(outputs[-1]), w))) < (steps + 10) * 8 * size**2


class TestUntil:
    def test_ends_after_the_step_in_which_it_holds(self) -> None:
        outputs, _ = scan(lambda x: (2 * counted(x, label="x"), until(2 * x > 50.0)), None, Variable(1.0), n_steps=30)
        assert evaluate(outputs).tolist() == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
        assert float(outputs[-1]) == 64.0
        assert runs_of(function([], outputs)) == {"x": 6}

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

    @pytest.mark.parametrize("library", libraries("dask"), indirect=True)
    def test_stacked_on_a_lazy_library_is_refused(self, library: Library) -> None:
        start = Variable(library.array(np.ones(4)))
        outputs, _ = scan(lambda x: (x * 2, until(xp.sum(x) > 10)), outputs_info=start, n_steps=6, name="doubling")
        with pytest.raises(TypeError, match=r"doubling.*until.*outputs\[-1\]"):
            evaluate(outputs)
        assert library.numpy(evaluate(outputs[-1])).tolist() == [8.0] * 4


class TestNoSteps:
    def test_outputs_without_entries(self) -> None:
        x = placeholder((None, 2), dtype="float64")
        start = Variable(np.ones(2))
        outputs, _ = scan(lambda row, h: xp.tanh(row + h), x, start, name="rows")
        run = function([x], [outputs, outputs[-1], *gradients(xp.sum(outputs), [x, start])])
        states, last, *slopes = run(np.ones((0, 2)))
        assert states.shape == (0, 2)
        assert last.tolist() == [1.0, 1.0]
        assert [slope.shape for slope in slopes] == [(0, 2), (2,)]
        assert not slopes[1].any()
        assert evaluate(scan(lambda h: h * 2, outputs_info=Variable(1.0), n_steps=0)[0]).shape == (0,)

    @pytest.mark.parametrize("library", ["numpy", "array_api_strict", "dask", "torch", "jax"])
    def test_their_shape_is_told_by_a_step_that_is_not_seen(self, library: str) -> None:
        pytest.importorskip(library)
        x = placeholder((None, None), dtype="float32")
        outputs, _ = scan(lambda row: [xp.concat([row, row]), xp.sum(row)], x)
        rows = get_namespace(library).ones((0, 3), dtype=get_namespace(library).float32)
        assert [found.shape for found in function([x], outputs)(rows)] == [(0, 6), (0,)]


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
    "a future tap": (lambda: scan(lambda h: h, outputs_info={"initial": ROWS, "taps": [0]}, n_steps=2), "negative"),
    "too few taps": (lambda: scan(lambda h: h, outputs_info={"initial": ROWS, "taps": [-2]}, n_steps=2), "2 steps"),
    "another key": (lambda: scan(lambda h: h, outputs_info={"initial": ONE, "lag": 2}, n_steps=2), "lag"),
    "another key of a sequence": (lambda: scan(lambda row: row, {"input": ROWS, "offset": 1}), "offset"),
    "two untils": (lambda: scan(lambda h: (h, until(h > 0), until(h > 1)), outputs_info=ONE, n_steps=2), "at most one"),
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

    @pytest.mark.parametrize("part", [lambda w, i: w[:, :2], lambda w, i: w[:, i : i + 2]], ids=["one", "each its own"])
    def test_in_parts_of_a_matrix(self, part: Any) -> None:
        rows = np.random.default_rng(0).normal(size=(6, 4, 3))
        w = Variable(np.random.default_rng(1).normal(size=(3, 3)) * 0.4)
        places = np.arange(len(rows)) % 2

        def step(i: Any, x: Tensor, h: Tensor) -> Tensor:
            return h + xp.sum(xp.tanh(x @ part(w * h, i)))

        last = start = xp.asarray(1.0, dtype="float64")
        outputs, _ = scan(step, [Variable(places), Variable(rows)], start)
        for place, row in zip(places.tolist(), rows, strict=True):
            last = step(place, xp.asarray(row), last)
        np.testing.assert_allclose(*evaluate([gradients(outputs[-1], w), gradients(last, w)]), rtol=1e-12)
