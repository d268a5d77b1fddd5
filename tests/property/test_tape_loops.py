"""Loops against the same steps written out one after the other: values, gradients and gradients of gradients.

What a loop keeps, what it takes out of its steps and what it adds up afterwards must change none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.tape import Tensor, Variable, checkpoint, evaluate, gradients, ifelse, scan, sigmoid, until
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables.case import values

EVERY = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", "cupy", without=("numpy-readonly",))
Step = Callable[..., Any]

X = values(4, 2, 3, low=-1.0, high=1.0)
H = values(2, 3, low=-0.5, high=0.6)
W = values(3, 3, low=-0.6, high=0.5)
B = values(3, low=-0.3, high=0.4)


def plain(x: Any, h: Any, w: Any, b: Any) -> Any:
    return xp.tanh(x @ w + h @ xp.matrix_transpose(w) + b)


def gated(x: Any, h: Any, w: Any, b: Any) -> Any:
    gate = sigmoid(x @ w + b)
    return gate * h + (1.0 - gate) * xp.tanh(h @ w + x)


def shapes(x: Any, h: Any, w: Any, b: Any) -> Any:
    """Views, reductions, indices and a product of vectors."""
    rows = xp.reshape(xp.matrix_transpose(h)[..., None] * x[0, 0], (2, 3))
    return xp.sin(rows) + xp.sum(h, axis=0, keepdims=True) * b + xp.broadcast_to(x[:, 0:1], (2, 3)) @ w + (b @ w)


def chosen(x: Any, h: Any, w: Any, b: Any) -> Any:
    total = xp.sum(h + x)
    return ifelse(total > 0.0, xp.log1p(total * total) * xp.tanh(h @ w), h * b - xp.exp(-x) * 0.1)


def inner_loop(x: Any, h: Any, w: Any, b: Any) -> Any:
    def step(row: Any, column: Any, h: Any) -> Any:
        return xp.tanh(h * row + column @ w)

    return steps_of(step, [x, xp.flip(x, axis=0)], h[0, ...])[-1] + h * 0.5


def inner_checkpoint(x: Any, h: Any, w: Any, b: Any) -> Any:
    return checkpoint(lambda x, h: xp.tanh(x @ w + h) * xp.exp(-h * h) + b)(x, h)


STEPS: dict[str, Step] = {step.__name__: step for step in (plain, gated, shapes, chosen, inner_loop, inner_checkpoint)}

_looping: list[bool] = [True]


def steps_of(step: Step, sequences: list[Any], h: Any) -> Any:
    """The states of a loop, or of its steps written out."""
    if _looping[0]:
        return scan(step, sequences, h)[0]
    states = []
    for t in range(int(sequences[0].shape[0])):
        h = step(*[s[t, ...] for s in sequences], h)
        states.append(h)
    return xp.stack(states, axis=0)


def written_out(fn: Callable[[], Any]) -> Any:
    _looping[0] = False
    try:
        return fn()
    finally:
        _looping[0] = True


def derivatives(step: Step, arrays: list[Any], order: int = 2) -> list[Any]:
    """The states, the gradients of a loss, and the gradients of a function of these."""
    x, h, w, b = variables = [Variable(a) for a in arrays]
    states = steps_of(lambda x, h: step(x, h, w, b), [x], h)
    loss = xp.sum(xp.sin(states)) + xp.sum(states[-1, ...] ** 2)
    first = gradients(loss, variables, disconnected="zero")
    if order == 1:
        return [states, *first]
    second = sum((xp.sum(xp.cos(g)) for g in first), xp.asarray(0.0, dtype="float64"))
    return [states, *first, *gradients(second, variables, disconnected="zero")]


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("name", STEPS)
def test_a_loop_is_its_steps(name: str, library: Library) -> None:
    order = 1 if library.lazy else 2  # a second order, op by op on small blocks, is thousands of tasks
    expected = evaluate(written_out(lambda: derivatives(STEPS[name], [X, H, W, B], order)))
    found = evaluate(derivatives(STEPS[name], [library.array(a) for a in (X, H, W, B)], order))
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-9, atol=1e-12)


@given(st.sampled_from(sorted(STEPS)), st.integers(1, 6), st.booleans())
def test_of_any_length_and_checkpointed(name: str, length: int, each: bool) -> None:
    x = values(length, 2, 3, low=-1.0, high=1.0)
    expected = evaluate(written_out(lambda: derivatives(STEPS[name], [x, H, W, B])))
    step = checkpoint(STEPS[name]) if each else STEPS[name]
    for got, want in zip(evaluate(derivatives(step, [x, H, W, B])), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def in_a_branch(x: Tensor, h: Tensor, w: Tensor) -> Any:
    states, _ = scan(lambda row, h: xp.tanh(row + h @ w), x, h)
    return ifelse(xp.sum(x) > -0.5, states[-1, ...] * 2.0, xp.sin(h))


def branch_of_loops(x: Tensor, h: Tensor, w: Tensor) -> Any:
    one, _ = scan(lambda row, h: xp.tanh(row + h @ w), x, h)
    other, _ = scan(lambda row, h: h * xp.exp(-row * row), x, h)
    return ifelse(xp.sum(x) < -0.5, [one, one[-1, ...]], [other, other[0, ...]])


def loop_that_stops(x: Tensor, h: Tensor, w: Tensor) -> Any:
    def step(row: Tensor, h: Tensor) -> Any:
        new = h + xp.tanh(row @ w) ** 2
        return new, until(xp.sum(new) > 1.6)

    return xp.sum(xp.sin(scan(step, x, h)[0]))


def loop_that_stops_in_a_loop(x: Tensor, h: Tensor, w: Tensor) -> Any:
    def outer(row: Tensor, h: Tensor) -> Any:
        def inner(k: Tensor) -> Any:
            new = k * 0.5 + row
            return new, until(xp.sum(new * new) < 3.0)

        return scan(inner, outputs_info=h @ w + 4.0, n_steps=9)[0][-1]

    return scan(outer, x, h)[0]


@pytest.mark.parametrize(
    "fn", [in_a_branch, branch_of_loops, loop_that_stops, loop_that_stops_in_a_loop], ids=lambda fn: fn.__name__
)
def test_finite_differences(fn: Step) -> None:
    check_gradient(fn, X, H, W)


@pytest.mark.parametrize("taps", [[-1], [-2], [-2, -1], [-3, -1]])
@pytest.mark.parametrize("truncate", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("unknown", [False, True])
def test_truncated_as_if_the_steps_before_were_given(taps: list[int], truncate: int, unknown: bool) -> None:
    """The last steps are differentiated; what they read that no differentiated step made, counts if it was given."""
    depth, steps = -min(taps), 5
    start = values(depth, low=-0.7, high=0.9)
    initial = Variable(start)
    count: Any = Variable(steps, dtype="int64") if unknown else steps

    def step(*past: Any) -> Any:
        return sum((xp.sin(p * (k + 1.0)) for k, p in enumerate(past)), xp.asarray(0.1, dtype="float64"))

    n_steps = xp.asarray(count) if unknown else count
    info = {"initial": initial, "taps": taps}
    outputs, _ = scan(step, outputs_info=info, n_steps=n_steps, truncate_gradient=truncate)
    found = evaluate(gradients(xp.sum(outputs * outputs), initial))

    history = [float(v) for v in start]
    for _ in range(steps):
        history.append(float(sum(np.sin(history[tap] * (k + 1.0)) for k, tap in enumerate(taps)) + 0.1))
    slopes = np.zeros(depth + steps)
    for t in range(steps - 1, max(steps - truncate, 0) - 1, -1):
        slopes[depth + t] += 2.0 * history[depth + t]
        for k, tap in enumerate(taps):
            read = history[depth + t + tap]
            slopes[depth + t + tap] += slopes[depth + t] * (k + 1.0) * np.cos(read * (k + 1.0))
    np.testing.assert_allclose(found, slopes[:depth], rtol=1e-12, atol=1e-14)
