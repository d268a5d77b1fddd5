"""Loops: values stored for the gradient, values hoisted out of the loop, and sums moved behind it."""

from __future__ import annotations

import pickle
import tracemalloc
from collections import Counter
from typing import Any

import cloudpickle
import numpy as np
import pytest

from nbm_xp.namespace import get_namespace
from nbm_xp.tape import (
    Tensor,
    Variable,
    checkpoint,
    evaluate,
    evaluation,
    function,
    gradients,
    ifelse,
    operation,
    placeholder,
    scan,
    value_and_grad,
)
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.graph import OUTPUT, Node, reachable
from nbm_xp.tape.loops.body import LoopBody
from nbm_xp.tape.plans.plan import structural_key

CALLS: Counter[str] = Counter()


def _counting(name: str) -> Any:
    def run(namespace: Any, x: Any) -> Any:
        CALLS[name] += 1
        return x * 1.0

    return operation(
        f"test_keeping_{name}", infer=lambda x: (x.shape, x.dtype), run=run, gradient=lambda g, out, x: g * out
    )


costly, dear = _counting("costly"), _counting("dear")
ROWS = np.random.default_rng(0).normal(size=(6, 4, 3))
W = np.random.default_rng(1).normal(size=(3, 3)) * 0.4


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def bodies(*tensors: Tensor) -> dict[str | None, LoopBody]:
    """Loops of a graph by name."""
    nodes = reachable([tensor.node for tensor in tensors])
    return {node.name: node.payload for node in nodes if node.op.name == "loop"}


def kept(name: str, *tensors: Tensor) -> set[Node]:
    """Values that a loop of this name stores for each step."""
    nodes = reachable([tensor.node for tensor in tensors])
    asked = {(node.args[0].payload, node.args[1]) for node in nodes if node.op is OUTPUT and node.args[0].name == name}
    return {body.tapped_at(index) for body, index in asked if index >= body.first_tap}


def peak(run: Any, *inputs: Any) -> int:
    run(*inputs)
    tracemalloc.start()
    run(*inputs)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


class TestKept:
    def test_no_step_is_computed_again(self) -> None:
        h = Variable(np.ones(2))
        outputs, _ = scan(lambda h: xp.tanh(costly(h)), outputs_info=h, n_steps=5)
        loss = xp.sum(outputs[-1])
        function([], [loss, gradients(loss, h)])()
        assert CALLS["costly"] == 5

    def test_without_a_gradient_nothing_is_kept(self) -> None:
        h = Variable(np.ones(2))
        outputs, _ = scan(lambda h: xp.tanh(xp.sin(h) + xp.exp(h)), outputs_info=h, n_steps=5, name="walk")
        assert len(kept("walk", outputs)) == 1

    def test_only_what_the_reverse_needs(self) -> None:
        h = Variable(np.ones(2))
        outputs, _ = scan(lambda h: xp.tanh(2.0 * h + 1.0), outputs_info=h, n_steps=5, name="walk")
        loss = xp.sum(outputs[-1])
        slope = gradients(loss, h)
        assert len(kept("walk", loss, slope)) == 1  # the value of tanh, which is the output

    def test_views_are_taken_again(self) -> None:
        w, h = Variable(W), Variable(ROWS[0])
        outputs, _ = scan(
            lambda h: xp.tanh(xp.matrix_transpose(w @ xp.matrix_transpose(h))), outputs_info=h, n_steps=3, name="scan"
        )
        slopes = gradients(xp.sum(outputs[-1]), [w, h])
        stacks = kept("scan", *slopes)
        assert stacks
        assert not {"matrix_transpose", "transpose"} & {node.op.name for node in stacks}

    def test_a_gradient_leaves_the_loop_as_it_was_recorded(self) -> None:
        rows, h = Variable(ROWS), Variable(ROWS[0])

        def step(x: Tensor, h: Tensor) -> Tensor:
            inner, _ = scan(lambda h: xp.tanh(xp.sin(h) + x), outputs_info=h, n_steps=2)
            return xp.exp(inner[-1]) * x

        outputs, _ = scan(step, rows, h)
        body = bodies(outputs)[None]

        def state() -> dict[str, Any]:
            recorded = {name: value for name, value in vars(body).items() if name in known}
            return {name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()}

        known = vars(body).keys() - {"runners", "_specs"}
        before, key = state(), structural_key([outputs.node], [])
        gradients(xp.sum(outputs), [rows, h])
        assert state() == before
        assert structural_key([outputs.node], []) == key

    def test_what_belongs_to_a_branch_is_not_computed_for_the_other(self) -> None:
        h = Variable(np.ones(2))

        def step(h: Tensor) -> Tensor:
            return ifelse(xp.sum(h) > 0.0, xp.tanh(h), dear(h))

        outputs, _ = scan(step, outputs_info=h, n_steps=4)
        loss = xp.sum(outputs[-1])
        function([], [loss, gradients(loss, h)])()
        assert CALLS["dear"] == 0

    def test_of_an_inner_loop(self) -> None:
        h = Variable(np.ones(3))

        def outer(h: Tensor) -> Tensor:
            return scan(lambda h: xp.tanh(costly(h)), outputs_info=h, n_steps=3)[0][-1]

        outputs, _ = scan(outer, outputs_info=h, n_steps=4)
        loss = xp.sum(outputs[-1])
        function([], [loss, gradients(loss, h)])()
        assert CALLS["costly"] == 12

    def test_a_state_that_nobody_asks_for_is_not_carried(self) -> None:
        h, k = Variable(np.ones(2)), Variable(np.ones(2))
        outputs, _ = scan(lambda h, k: [h * 2.0, costly(k)], outputs_info=[h, k], n_steps=5)
        function([], outputs[0])()
        assert CALLS["costly"] == 0

    def test_a_kept_state_is_one_array_not_a_copy(self) -> None:
        size, steps = 50_000, 40
        start = Variable(np.ones(size))
        outputs, _ = scan(lambda h: xp.tanh(h * 0.9), outputs_info=start, n_steps=steps)
        loss = xp.sum(outputs[-1])
        assert peak(function([], [loss, gradients(loss, start)])) < (steps + 8) * 8 * size


class TestSums:
    @pytest.mark.parametrize("part", [lambda w, i: w[:, :2], lambda w, i: w[:, i : i + 2]], ids=["one", "each its own"])
    def test_of_gradients_in_parts_of_a_matrix(self, part: Any) -> None:
        w, rows = Variable(W), Variable(ROWS)
        places = np.arange(len(ROWS)) % 2

        def step(i: Any, x: Tensor, h: Tensor) -> Tensor:
            return h + xp.sum(xp.tanh(x @ part(w * h, i)))

        start = xp.asarray(1.0, dtype="float64")
        outputs, _ = scan(step, [Variable(places), rows], start)
        last = start
        for place, row in zip(places.tolist(), ROWS, strict=True):
            last = step(place, xp.asarray(row), last)
        for one, other in zip(evaluate(gradients(outputs[-1], [w])), evaluate(gradients(last, [w])), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)

    def test_the_gradient_in_a_matrix_is_one_product(self) -> None:
        w, b, h = Variable(W), Variable(ROWS[0, 0]), Variable(ROWS[0])
        outputs, _ = scan(lambda h: xp.tanh(h @ w + b), outputs_info=h, n_steps=5, name="layer")
        slopes = gradients(xp.sum(outputs), [w, b])
        reverse = bodies(*slopes)["gradient of layer"]
        assert len(reverse.carries) == 1  # the cotangent of the state; no sums

    def test_a_large_one_is_added_up_step_by_step(self) -> None:
        size, steps = 400, 30
        w, h = Variable(np.eye(size) * 0.1), Variable(np.ones((size, size)))
        outputs, _ = scan(lambda h: xp.tanh(h @ w), outputs_info=h, n_steps=steps, name="layer")
        slope = gradients(xp.sum(outputs[-1]), w)
        assert len(bodies(slope)["gradient of layer"].carries) == 2
        assert peak(function([], slope)) < (steps + 10) * 8 * size**2


class TestNoSteps:
    def test_outputs_without_entries(self) -> None:
        x = placeholder((None, 2), dtype="float64")
        start = Variable(np.ones(2))
        outputs, _ = scan(lambda row, h: xp.tanh(row + h), x, start, name="rows")
        states, last, *slopes = function([x], [outputs, outputs[-1], *gradients(xp.sum(outputs), [x, start])])(
            np.ones((0, 2))
        )
        assert states.shape == (0, 2)
        assert last.tolist() == [1.0, 1.0]
        assert [slope.shape for slope in slopes] == [(0, 2), (2,)]
        assert not slopes[1].any()

    def test_of_a_number_of_steps(self) -> None:
        assert function([], scan(lambda h: h * 2, outputs_info=Variable(1.0), n_steps=0)[0])().shape == (0,)

    @pytest.mark.parametrize("library", ["numpy", "array_api_strict", "dask", "torch", "jax"])
    def test_their_shape_is_told_by_a_step_that_is_not_seen(self, library: str) -> None:
        pytest.importorskip(library)
        x = placeholder((None, None), dtype="float32")
        outputs, _ = scan(lambda row: [xp.concat([row, row]), xp.sum(row)], x)
        doubled, summed = function([x], outputs)(
            get_namespace(library).ones((0, 3), dtype=get_namespace(library).float32)
        )
        assert doubled.shape == (0, 6)
        assert summed.shape == (0,)


class TestBackwards:
    def test_a_negative_number_of_steps(self) -> None:
        x = Variable(np.arange(4.0))
        outputs, _ = scan(lambda e, h: h * 2 + e, x, Variable(0.0, dtype="float64"), n_steps=-3)
        assert function([], outputs)().tolist() == [3.0, 8.0, 17.0]


class TestElsewhere:
    def test_a_function_with_a_loop_is_compiled_once(self) -> None:
        def loss(x: Any, w: Any, steps: int) -> Any:
            return xp.sum(scan(lambda row, h: checkpoint(xp.tanh)(row @ w + h), x, w[0], n_steps=steps)[0] ** 2)

        evaluation._plans.clear()  # a full cache drops as many plans as it stores
        derived = value_and_grad(loss, argnums=(0, 1))
        first = derived(ROWS[:, 0], W, 3)
        count = len(evaluation._plans)
        second = derived(ROWS[:, 0], W * 2.0, 3)
        assert len(evaluation._plans) == count
        assert not np.array_equal(first[1][1], second[1][1])
        derived(ROWS[:, 0], W, 2)
        assert len(evaluation._plans) == count + 1

    def test_a_compiled_loop_travels_to_another_process(self) -> None:
        x, w, h = placeholder((None, 4, 3), dtype="float64"), Variable(W), Variable(ROWS[0])
        outputs, _ = scan(lambda row, h: xp.tanh(row @ w + h), x, h)
        run = function([x], [outputs, *gradients(xp.sum(outputs), [x, w])])
        expected = run(ROWS)
        (route,) = run._routes.values()
        plan = pickle.loads(cloudpickle.dumps(route.plan))
        for got, want in zip(plan(ROWS, *(variable.value for variable in run._variables)), expected, strict=True):
            np.testing.assert_array_equal(got, want)
