"""Run-time errors name the user's line that recorded the operation, the operation and its operands."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, function, gradients, ifelse, operation, placeholder, register_gradient, scan
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.printing import described_location


def matrix(name: str | None = None) -> Tensor:
    return placeholder((None, None), dtype="float64", name=name)


def notes_of(run: Callable[..., Any], *args: Any) -> list[str]:
    with pytest.raises(ValueError, match=r".") as caught:
        run(*args)
    return list(getattr(caught.value, "__notes__", []))


def energy(x: Any, w: Any) -> Any:
    hidden = xp.tanh(x * 2.0)
    y = xp.matmul(hidden + 1.0, w)
    return xp.sum(y)


class TestNote:
    def test_names_operation_shapes_and_line(self) -> None:
        x, w = matrix(), matrix()
        [note] = notes_of(function([x, w], energy(x, w)), np.ones((2, 3)), np.ones((4, 5)))
        assert note.startswith("matmul of float64[2, 3] and float64[4, 5], recorded at ")
        assert re.search(r"test_errors\.py:\d+ in energy: y = xp\.matmul\(hidden \+ 1\.0, w\)$", note)

    def test_of_a_gradient_names_the_forward_line(self) -> None:
        def failing(namespace: Any, g: Any) -> Any:
            raise ValueError("no gradient today")

        broken = operation("test_broken_rule", infer=lambda g: (g.shape, g.dtype), run=failing)
        steep = operation("test_steep", infer=lambda x: (x.shape, x.dtype), run=lambda namespace, x: x * 3)
        register_gradient("test_steep", lambda g, out, x: broken(g))
        x = matrix()
        y = steep(x)
        slope = gradients(xp.sum(y), x)
        [note] = notes_of(function([x], slope), np.ones((2, 2)))
        assert note.startswith("test_broken_rule of float64[2, 2], in the gradient of test_steep, recorded at")
        assert note.endswith("y = steep(x)")

    def test_inside_a_branch(self) -> None:
        x, w = matrix(), matrix()
        chosen = ifelse(xp.sum(x) > 0, xp.matmul(x, w), x)
        [note] = notes_of(function([x, w], chosen), np.ones((2, 3)), np.ones((2, 3)))
        assert note.startswith("matmul of float64[2, 3] and float64[2, 3], recorded at")
        function([x, w], chosen)(-np.ones((2, 3)), np.ones((2, 3)))

    def test_inside_a_loop_names_the_step_too(self) -> None:
        rows = placeholder((None, None), dtype="float64")
        start = placeholder((None,), dtype="float64")

        def step(row: Any, state: Any) -> Any:
            return state + xp.concat([row, row])

        outputs, _ = scan(step, sequences=rows, outputs_info=start)
        notes = notes_of(function([rows, start], outputs[-1]), np.ones((4, 3)), np.ones(5))
        assert notes[0].startswith("add of float64[5] and float64[")
        assert " in step: return state + xp.concat([row, row])" in notes[0]

    def test_while_looking_at_a_value(self) -> None:
        x = Variable(np.ones((2, 3)))
        product = x + xp.exp(Variable(np.ones((2, 3))))
        x.set_value(np.ones((4, 5)))
        assert notes_of(product.eval)[0].startswith("add of float64[4, 5] and float64[2, 3], recorded at")
        for _ in range(4):  # compiled by then
            assert len(notes_of(product.eval)) == 1

    def test_equal_plans_keep_their_own_lines(self) -> None:
        found = []
        for line in ("first", "second"):
            x, w = matrix(), matrix()
            if line == "first":
                y = x @ w
            else:
                y = xp.matmul(x, w)
            found += notes_of(function([x, w], y), np.ones((2, 3)), np.ones((2, 3)))
        assert found[0].endswith("y = x @ w")
        assert found[1].endswith("y = xp.matmul(x, w)")

    def test_outlives_sending_to_another_process(self) -> None:
        x, w = matrix(), matrix()
        run = function([x, w], x @ w)
        notes_of(run, np.ones((2, 3)), np.ones((2, 3)))
        [note] = notes_of(pickle.loads(cloudpickle.dumps(run)), np.ones((2, 3)), np.ones((2, 3)))
        assert note.endswith("run = function([x, w], x @ w)")

    def test_is_not_attached_twice(self) -> None:
        shared = ValueError("always the same")

        def failing(namespace: Any, x: Any) -> Any:
            raise shared

        broken = operation("test_shared_error", infer=lambda x: (x.shape, x.dtype), run=failing)
        x = matrix()
        run = function([x], broken(x))
        for _ in range(3):
            assert len(notes_of(run, np.ones((1, 1)))) == 1

    def test_missing_rule_names_function_and_line(self) -> None:
        ruleless = operation("test_ruleless", infer=lambda x: (x.shape, x.dtype), run=lambda namespace, x: x)
        x = matrix()
        y = ruleless(x)
        with pytest.raises(NotImplementedError, match=r"test_ruleless has no gradient rule.*y = ruleless\(x\)"):
            gradients(xp.sum(y), x)


class TestPlace:
    def test_is_the_users_not_the_packages(self) -> None:
        node = (matrix() * 2.0).node
        assert node.source_location is not None
        assert node.source_location[0].co_filename == __file__
        assert "test_is_the_users_not_the_packages" in described_location(node.source_location)
