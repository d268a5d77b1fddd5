"""Random graphs: what a plan computes is what NumPy computes step by step, and gradients agree with differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbm_xp.namespace import get_namespace
from nbm_xp.tape import Tensor, Variable, evaluate, function, gradients, ifelse, placeholder, scan
from nbm_xp.tape import namespace as tape
from tests.helpers.libraries import Library, libraries

HOST = get_namespace("numpy")
SHAPES: list[tuple[int, ...]] = [(2, 3), (3,), (2, 1), (), (1, 3)]
Program = list[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Language:
    """What a program is run in: a namespace, a choice between two values, and a loop."""

    xp: Any
    choose: Callable[[Any, Any, Any], Any]
    loop: Callable[[Any, Any], Any]


def _loop_recorded(x: Any, h: Any) -> Any:
    return scan(lambda row, h: tape.tanh(h * 0.5 + row), x, h)[0]


def _loop_on_host(x: Any, h: Any) -> Any:
    states = []
    for row in x:
        h = np.tanh(h * 0.5 + row)
        states.append(h)
    return np.stack(states)


RECORDED = Language(tape, ifelse, _loop_recorded)
ON_HOST = Language(HOST, lambda condition, a, b: a if condition else b, _loop_on_host)

ONE: dict[str, Callable[[Language, Any], Any]] = {
    "tanh": lambda a, x: a.xp.tanh(x), "sin": lambda a, x: a.xp.sin(x * 1.7),
    "softplus": lambda a, x: a.xp.log(1 + a.xp.exp(x)), "square": lambda a, x: x * x, "negative": lambda a, x: -x,
    "by a number": lambda a, x: 2 - x / 3 + 0.25, "sum": lambda a, x: a.xp.sum(x) * 0.1,
    "mean of rows": lambda a, x: a.xp.mean(x, axis=-1, keepdims=True) if x.ndim else x,
    "largest of rows": lambda a, x: a.xp.max(x, axis=0) if x.ndim else x,
    "running": lambda a, x: a.xp.cumulative_sum(x, axis=-1) if x.ndim else x,
    "turned": lambda a, x: x[..., ::-1] if x.ndim else x, "first": lambda a, x: x[..., :1] if x.ndim else x,
    "there and back": lambda a, x: a.xp.reshape(a.xp.reshape(x, (-1,)), x.shape),
    "number of elements": lambda a, x: x / (x.shape[-1] + 1) if x.ndim else x,
    "stacked": lambda a, x: a.xp.sum(a.xp.stack([x, x * 2.0, a.xp.sin(x)]), axis=0),
    "loop": lambda a, x: a.loop(x, a.xp.zeros_like(x[0])) if x.ndim == 2 else x,
}  # fmt: skip
TWO: dict[str, Callable[[Language, Any, Any], Any]] = {
    "add": lambda a, x, y: x + y, "subtract": lambda a, x, y: x - 0.5 * y, "multiply": lambda a, x, y: x * y,
    "divide": lambda a, x, y: x / (1.5 + y * y), "larger": lambda a, x, y: a.xp.maximum(x, y),
    "where": lambda a, x, y: a.xp.where(x > 0.1, a.xp.sin(y), x), "inner": lambda a, x, y: a.xp.sum(x * y),
    "choice": lambda a, x, y: a.choose(a.xp.sum(x) > 0.0, a.xp.tanh(x) * a.xp.sum(y), x - a.xp.mean(y)),
}  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Steps: an operation, and which of the values so far it is applied to."""
    count = len(SHAPES)
    steps: Program = []
    for _ in range(draw(st.integers(1, 14))):
        name = draw(st.sampled_from([*ONE, *TWO]))
        arity = 1 if name in ONE else 2
        steps.append((name, tuple(draw(st.integers(0, count - 1)) for _ in range(arity))))
        count += 1
    return steps


def run(program: Program, language: Language, inputs: list[Any]) -> list[Any]:
    """All values of a program, in order; kept small, so that differences are exact."""
    values = list(inputs)
    for name, operands in program:
        operation: Any = ONE.get(name) or TWO[name]
        values.append(language.xp.tanh(operation(language, *(values[i] for i in operands)) * 0.5))
    return values[len(inputs) :]


def inputs_of(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in SHAPES]


def total(language: Language, values: list[Any]) -> Any:
    return sum((language.xp.sum(v) * (0.3 + 0.1 * i) for i, v in enumerate(values[1:])), language.xp.sum(values[0]))


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@settings(max_examples=30)
@given(programs(), st.integers(0, 99))
@example([*[("tanh", (0,))] * 8, ("inner", (0, 1))], 0)  # a broadcast value that two chains use
def test_values_and_gradients(known: bool, program: Program, seed: int) -> None:
    arrays = inputs_of(seed)
    inputs = [placeholder(a.shape if known else None, ndim=a.ndim, dtype="float64") for a in arrays]
    values = run(program, RECORDED, inputs)
    loss = total(RECORDED, values)
    first = gradients(loss, inputs, disconnected="zero")
    second = gradients(sum((tape.sum(g * g) for g in first), loss * 0.0), inputs, disconnected="zero")
    compiled = function(inputs, [*values, loss, *first, *second])
    found = compiled(*arrays)
    expected = run(program, ON_HOST, arrays)
    for got, want in zip(found, expected, strict=False):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12, strict=True)

    def loss_at(moved: list[Any]) -> float:
        return float(total(ON_HOST, run(program, ON_HOST, moved)))

    step = 1e-6
    directions = inputs_of(seed + 1000)
    slopes = found[len(values) + 1 :][: len(inputs)]
    for place in range(len(inputs)):
        ahead, behind = (
            loss_at([a + sign * step * directions[i] if i == place else a for i, a in enumerate(arrays)])
            for sign in (1, -1)
        )
        assert slopes[place].shape == arrays[place].shape
        exact = float(np.sum(slopes[place] * directions[place]))
        assert abs(exact - (ahead - behind) / (2 * step)) <= 1e-5 * max(1.0, abs(exact))


LAZY = libraries("array_api_strict", "dask-halves")


@pytest.mark.parametrize("library", LAZY, indirect=True)
@settings(max_examples=8)
@given(programs(), st.integers(0, 99))
def test_on_other_libraries(library: Library, program: Program, seed: int) -> None:
    arrays = inputs_of(seed)
    variables: list[Tensor] = [Variable(library.array(a)) for a in arrays]
    values = run(program, RECORDED, variables)
    first = gradients(total(RECORDED, values), variables, disconnected="zero")
    host: list[Tensor] = [Variable(a) for a in arrays]
    expected = evaluate(gradients(total(RECORDED, run(program, RECORDED, host)), host, disconnected="zero"))
    for got, want in zip(evaluate([*first, *variables]), expected, strict=False):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-9, atol=1e-11)
