"""Plans compute each value once and only what is needed; a traceback shows their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, evaluate, function, gradients, placeholder, stop_gradient
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import counted, runs_of


def of_a_training(x: Tensor) -> Any:
    w = Variable(np.ones(3))
    hidden = counted(w, label="hidden")
    loss = xp.sum(hidden * hidden * x)
    return function([x], [loss, hidden], updates=[(w, w - 0.1 * gradients(loss, w))])


PLANS: dict[str, tuple[Callable[[Tensor], Any], dict[str, int]]] = {
    "a value that is recorded twice": (
        lambda x: [counted(x, label="a") * 2, counted(x, label="a") + xp.sum(x), counted(x, label="b")],
        {"a": 1, "b": 1},
    ),
    "whole expressions": (
        lambda x: xp.exp(counted(x * 2 + 1, label="a")) - xp.exp(counted(x * 2 + 1, label="a")) * 2,
        {"a": 1},
    ),
    "what stop_gradient holds": (lambda x: counted(x, label="a") * counted(stop_gradient(x), label="a"), {"a": 1}),
    "a length alone": (lambda x: [counted(x, label="a").shape[0], xp.sum(x)], {}),
    "outputs, updates and gradients": (of_a_training, {"hidden": 1}),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_value_is_computed_once_and_only_if_needed(name: str) -> None:
    record, runs = PLANS[name]
    x = placeholder((None,), dtype="float64")
    counted(x, label="unused")
    recorded = record(x)
    assert runs_of(recorded if callable(recorded) else function([x], recorded), np.ones(3)) == runs


def test_the_text_is_shown_in_a_traceback() -> None:
    x = placeholder((None,), dtype="float64")
    run = function([x], xp.reshape(xp.concat([x, x]), (3, -1)))
    with pytest.raises(ValueError, match="reshape") as caught:
        run(np.ones(2))
    assert any("reshape" in str(entry.statement) for entry in caught.traceback if entry.path is not None)


def test_names_that_python_has_are_no_obstacle() -> None:
    x = Variable(np.asarray([[1.0, -2.0], [3.0, 4.0]]))
    results = [xp.sum(x), xp.max(x), xp.min(x), xp.any(x > 0), xp.all(x > 0), xp.abs(x), xp.round(x), pow(x, 2)]
    expected = [6.0, 4.0, -2.0, True, False, [[1, 2], [3, 4]], [[1, -2], [3, 4]], [[1, 4], [9, 16]]]
    for got, want in zip(evaluate(results), expected, strict=True):
        np.testing.assert_array_equal(got, want)
