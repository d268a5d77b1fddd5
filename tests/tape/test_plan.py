"""Plans compute each value once, free it after its last use, work at any depth, are cached, and are thread-safe."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, function, gradients, operation, placeholder, stop_gradient
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
        reduced = [xp.sum(x), xp.max(x), xp.min(x), xp.any(x > 0), xp.all(x > 0)]
        results = [*reduced, xp.abs(x), xp.round(x), x**2, pow(x, 2)]
        squares = [[1, 4], [9, 16]]
        expected = [6.0, 4.0, -2.0, True, False, [[1, 2], [3, 4]], [[1, -2], [3, 4]], squares, squares]
        for got, want in zip(evaluate(results), expected, strict=True):
            np.testing.assert_array_equal(got, want)
