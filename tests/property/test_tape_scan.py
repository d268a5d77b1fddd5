"""`scan` gives what its steps give written out one after the other: values, gradients and gradients of gradients.

What a loop keeps, what it takes out of its steps and what it adds up afterwards must change none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.tape import Tensor, Variable, checkpoint, evaluate, function, gradients, ifelse, placeholder, scan, until
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import check_gradient, flat_list
from tests.helpers.libraries import Library, libraries, on_libraries
from tests.helpers.tables.case import values

EVERY = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", "cupy", without=("numpy-readonly",))
Loop = Callable[..., Any]

X = values(4, 2, 3, low=-1.0, high=1.0)
Y = values(4, 2, 3, low=-0.7, high=1.2)
H = values(2, 3, low=-0.5, high=0.6)
W = values(3, 3, low=-0.6, high=0.5)
B = values(3, low=-0.3, high=0.4)


def by_scan(*arguments: Any, **options: Any) -> Any:
    """The outputs of a loop."""
    return scan(*arguments, **options)[0]


def written_out(
    step: Callable[..., Any], sequences: Any = (), outputs_info: Any = (), non_sequences: Any = (),
    n_steps: int | None = None, go_backwards: bool = False,
) -> Any:  # fmt: skip
    """The outputs of a loop by the definition of `scan`: its steps one after the other."""
    feeds = [feed if isinstance(feed, dict) else {"input": feed, "taps": [0]} for feed in sequences]
    taps = [0, *(tap for feed in feeds for tap in feed["taps"])]
    begin, end = -min(taps), min((len(feed["input"]) for feed in feeds), default=0) - max(taps)
    inputs = [feed["input"][::-1, ...] if go_backwards else feed["input"] for feed in feeds]
    pasts = [
        (list(xp.unstack(info["initial"])), info["taps"]) if isinstance(info, dict) else ([info], [-1])
        for info in outputs_info
    ]
    made: dict[int, list[Any]] = {}
    for t in range(begin, end if n_steps is None else begin + n_steps):
        read = [x[t + tap, ...] for x, feed in zip(inputs, feeds, strict=True) for tap in feed["taps"]]
        carried = [past[tap] for past, lags in pasts for tap in lags if past[0] is not None]
        result = step(*read, *carried, *non_sequences)
        outputs, stop = result if isinstance(result, tuple) else (result, None)
        for place, output in enumerate(flat_list(outputs)):
            made.setdefault(place, []).append(output)
            if pasts:
                pasts[place][0].append(output)
        if stop is not None and bool(stop.condition):
            break
    stacked = [xp.stack(states) for states in made.values()]
    return stacked if len(stacked) > 1 else stacked[0]


def plain(x: Any, h: Any, w: Any, b: Any) -> Any:
    return xp.tanh(x @ w + h @ xp.matrix_transpose(w) + b)


def gated(x: Any, h: Any, w: Any, b: Any) -> Any:
    gate = 1.0 / (1.0 + xp.exp(-(x @ w) - b))
    return gate * h + (1.0 - gate) * xp.tanh(h @ w + x)


def shapes(x: Any, h: Any, w: Any, b: Any) -> Any:
    """Views, reductions, indices and a product of vectors."""
    rows = xp.reshape(xp.matrix_transpose(h)[..., None] * x[0, 0], x.shape)
    return xp.sin(rows) + xp.sum(h, axis=0, keepdims=True) * b + xp.broadcast_to(x[:, 0:1], x.shape) @ w + (b @ w)


def chosen(x: Any, h: Any, w: Any, b: Any) -> Any:
    total = xp.sum(h + x)
    return ifelse(total > 0.0, xp.log1p(total * total) * xp.tanh(h @ w), h * b - xp.exp(-x) * 0.1)


def checkpointed(x: Any, h: Any, w: Any, b: Any) -> Any:
    return checkpoint(lambda x, h: xp.tanh(x @ w + h) * xp.exp(-h * h) + b)(x, h)


STEPS: dict[str, Callable[..., Any]] = {step.__name__: step for step in (plain, gated, shapes, chosen, checkpointed)}


def two_outputs(loop: Loop, x: Any, y: Any, start: Any, w: Any) -> Any:
    """Everything a step may have, in its order; the shortest sequence counts."""
    feed, info = {"input": y, "taps": [0, 1]}, {"initial": start, "taps": [-2]}
    return loop(
        lambda x, now, later, old, w: [xp.sum(old * now) + later, xp.tanh(old @ w + x)], [x, feed], [None, info], [w]
    )


def one_handed_on(loop: Loop, x: Any, h: Any) -> Any:
    return loop(lambda x, h, k: [h * x + k, k], [x], [h, h * 2.0])


def taps_of_an_output(loop: Loop, start: Any, x: Any) -> Any:
    info = {"initial": start, "taps": [-3, -1]}
    return loop(lambda x, third, last: xp.sin(third) + last * x, [x], [info])


def taps_of_a_sequence(loop: Loop, x: Any, h: Any) -> Any:
    feed = {"input": x, "taps": [-1, 0, 2]}
    return loop(lambda before, now, later, h: h + before * now - xp.cos(later), [feed], [h])


def powers(loop: Loop, a: Any) -> Any:
    return loop(lambda p, a: p * a, (), [xp.ones_like(a)], [a], n_steps=4)


def map_only(loop: Loop, x: Any, w: Any) -> Any:
    return loop(lambda row: xp.exp(row @ w), [x])


def backwards(loop: Loop, x: Any, h: Any, w: Any) -> Any:
    return loop(lambda x, h, w: xp.tanh(x + h @ w), [x], [h], [w], n_steps=3, go_backwards=True)


def last_state(loop: Loop, x: Any, h: Any, w: Any) -> Any:
    return loop(lambda x, h: xp.tanh(x + h @ w), [x], [h])[-1, ...]


def inner_loop(loop: Loop, x: Any, h: Any, w: Any) -> Any:
    def step(x: Any, h: Any) -> Any:
        return loop(lambda row, other, h: xp.tanh(h * row + other @ w), [x, xp.flip(x, axis=0)], [h])[-1, ...] + h * 0.5

    return loop(step, [x], [h])


def branches(loop: Loop, x: Any, h: Any, w: Any) -> Any:
    one = loop(lambda row, h: xp.tanh(row + h @ w), [x], [h])
    other = loop(lambda row, h: h * xp.exp(-row * row), [x], [h])
    return ifelse(xp.sum(x) < -0.5, [one, one[-1, ...]], [other, other[0, ...]])


def stopped(loop: Loop, x: Any, h: Any) -> Any:
    return loop(lambda row, h: (h + row * row, until(xp.sum(h + row * row) > 3.5)), [x], [h])


def never_stopped(loop: Loop, x: Any, h: Any) -> Any:
    return loop(lambda row, h: (h + row * row, until(xp.sum(h) > 1e9)), [x], [h])


def stopped_in_a_loop(loop: Loop, x: Any, h: Any, w: Any) -> Any:
    def outer(row: Any, h: Any) -> Any:
        def inner(k: Any) -> Any:
            return k * 0.5 + row, until(xp.sum((k * 0.5 + row) ** 2) < 3.0)

        return loop(inner, (), [h @ w + 4.0], n_steps=9)[-1, ...]

    return loop(outer, [x], [h])


LOOPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        name: (lambda loop, x, h, w, b, step=step: loop(lambda x, h: step(x, h, w, b), [x], [h]), (X, H, W, B))
        for name, step in STEPS.items()
    },
    "two outputs": (two_outputs, (X, Y, values(2, 2, 3), W)), "one handed on": (one_handed_on, (X, H)),
    "taps of an output": (taps_of_an_output, (values(3, 2, 3), X)), "taps of a sequence": (taps_of_a_sequence, (X, H)),
    "powers": (powers, (H + 1.0,)), "map": (map_only, (X, W)), "backwards": (backwards, (X, H, W)),
    "last state": (last_state, (X, H, W)), "inner loop": (inner_loop, (X, H, W)), "branches": (branches, (X, H, W)),
    "until": (stopped, (X, H)), "until never": (never_stopped, (X, H)),
    "until in a loop": (stopped_in_a_loop, (X, H, W)),
}  # fmt: skip
TODAY = on_libraries({name: name for name in LOOPS}, EVERY, ("dask-halves", "torch", "jax"))


def loss_and_gradients(results: list[Any], inputs: list[Any], order: int) -> list[Any]:
    """A loss of the results, its gradients, and the gradients of a function of these."""
    loss = sum((xp.sum(xp.sin(r)) for r in results), xp.asarray(0.0, dtype="float64"))
    if order == 0:
        return [loss]
    first = gradients(loss, inputs, disconnected="zero")
    second = sum((xp.sum(g * g) for g in first), xp.asarray(0.0, dtype="float64"))
    return [loss, *first, *(gradients(second, inputs, disconnected="zero") if order == 2 else [])]


def found(name: str, loop: Loop, make: Callable[[Any], Any], order: int = 2, last: bool = False) -> list[Any]:
    fn, arrays = LOOPS[name]
    variables = [Variable(make(a)) for a in arrays]
    results = flat_list(fn(loop, *variables))
    results = [results[0][-1, ...]] if last else results
    return evaluate([*results, *loss_and_gradients(results, variables, order)])


@pytest.mark.parametrize(("name", "library"), TODAY, indirect=["library"])
def test_a_loop_is_its_steps(name: str, library: Library) -> None:
    order, last = (1 if library.lazy else 2), False  # a second order, op by op on small blocks, is thousands of tasks
    if library.lazy and name.startswith("until"):  # how many steps there are depends on data
        order, last = 0, True
    expected = found(name, written_out, np.asarray, order, last)
    for got, want in zip(found(name, by_scan, library.array, order, last), expected, strict=True):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LOOPS)
def test_with_unknown_lengths(name: str) -> None:
    fn, arrays = LOOPS[name]
    inputs = [placeholder(ndim=a.ndim, dtype="float64") for a in arrays]
    results = flat_list(fn(by_scan, *inputs))
    lengths = [length for result in results for length in result.node.shape]
    *got, told = function(inputs, [*results, *loss_and_gradients(results, inputs, 2), xp.stack(lengths)])(*arrays)
    expected = found(name, written_out, np.asarray)
    for one, want in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-9, atol=1e-12)
    assert told.tolist() == [length for want in expected[: len(results)] for length in want.shape]


@pytest.mark.parametrize("name", ["plain", "taps of an output", "branches", "until", "until in a loop"])
def test_finite_differences(name: str) -> None:
    fn, arrays = LOOPS[name]
    check_gradient(lambda *inputs: loss_and_gradients(flat_list(fn(by_scan, *inputs)), [], 0), *arrays)


@given(
    st.sampled_from(sorted(STEPS)), st.integers(1, 6), st.integers(1, 6), st.booleans(), st.booleans(),
    st.sampled_from(["int", "tensor", "length"]),
)  # fmt: skip
def test_any_number_of_steps(name: str, length: int, steps: int, back: bool, each: bool, kind: str) -> None:
    steps, array = min(length, steps), values(length, 2, 3, low=-1.0, high=1.0)
    h, w, b = map(Variable, (H, W, B))
    x, count = placeholder((None, 2, 3), dtype="float64"), placeholder((), dtype="int64")
    n_steps: Any = {"int": steps, "tensor": count, "length": x.shape[0] - (length - steps)}[kind]
    step = checkpoint(STEPS[name]) if each else STEPS[name]

    def of(loop: Loop, x: Tensor, n_steps: Any) -> list[Any]:
        states = loop(lambda x, h: step(x, h, w, b), [x], [h], n_steps=n_steps, go_backwards=back)
        return [states, *loss_and_gradients([states], [x, w, b], 1)]

    got = function([x, count], of(by_scan, x, n_steps), on_unused_input="ignore")(array, steps)
    for one, want in zip(got, evaluate(of(written_out, Variable(array), steps)), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-9, atol=1e-12)


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
