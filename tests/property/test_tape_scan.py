"""`scan` gives what a Python loop gives, on every library, and so do its gradients, by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp.tape import Tensor, Variable, evaluate, function, gradients, placeholder, scan, until
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables.case import values

EVERY = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", "cupy", without=("numpy-readonly",))

X = values(5, 3, low=-1.0, high=1.0)
Y = values(5, 3, low=-0.7, high=1.2)
H = values(3, low=-0.5, high=0.6)
W = values(3, 3, low=-0.4, high=0.5)


def recurrent(x: Any, h: Any, w: Any, **options: Any) -> Any:
    return scan(lambda x, h, w: xp.tanh(x + h @ w), sequences=x, outputs_info=h, non_sequences=w, **options)[0]


def looped(x: Any, h: Any, w: Any) -> Any:
    states = []
    for row in x:
        h = np.tanh(row + h @ w)
        states.append(h)
    return np.stack(states)


def two_outputs(x: Any, y: Any, h: Any) -> Any:
    def step(x: Tensor, y: Tensor, h: Tensor) -> list[Tensor]:
        return [xp.tanh(h + x), xp.sum(h * y) + y]

    return scan(step, sequences=[x, y], outputs_info=[h, None])[0]


def two_outputs_looped(x: Any, y: Any, h: Any) -> Any:
    states, others = [], []
    for row, other in zip(x, y, strict=True):
        others.append(np.sum(h * other) + other)
        h = np.tanh(h + row)
        states.append(h)
    return [np.stack(states), np.stack(others)]


def deep_taps(start: Any, x: Any) -> Any:
    info = {"initial": start, "taps": [-3, -1]}
    return scan(lambda x, third, last: xp.sin(third) + last * x, sequences=x, outputs_info=info)[0]


def deep_taps_looped(start: Any, x: Any) -> Any:
    past = list(start)
    for row in x:
        past.append(np.sin(past[-3]) + past[-1] * row)
    return np.stack(past[3:])


def sequence_taps(x: Any, h: Any) -> Any:
    feed = {"input": x, "taps": [-1, 0, 2]}
    return scan(lambda before, now, later, h: h + before * now - xp.cos(later), sequences=feed, outputs_info=h)[0]


def sequence_taps_looped(x: Any, h: Any) -> Any:
    states = []
    for t in range(1, len(x) - 2):
        h = h + x[t - 1] * x[t] - np.cos(x[t + 2])
        states.append(h)
    return np.stack(states)


def powers(a: Any) -> Any:
    return scan(lambda p, a: p * a, outputs_info=xp.ones_like(a), non_sequences=a, n_steps=4)[0]


def map_only(x: Any, w: Any) -> Any:
    return scan(lambda row: xp.exp(row @ w), sequences=x)[0]  # w from outside


def backwards(x: Any, h: Any, w: Any) -> Any:
    return recurrent(x, h, w, go_backwards=True)


def shortened(x: Any, h: Any, w: Any) -> Any:
    return recurrent(x, h, w, n_steps=3)


def last_state(x: Any, h: Any, w: Any) -> Any:
    return recurrent(x, h, w)[-1]


def nested(x: Any, h: Any) -> Any:
    def outer(row: Tensor, h: Tensor) -> Tensor:
        inner, _ = scan(lambda element, h: xp.tanh(h * element + row), sequences=row, outputs_info=h)
        return inner[-1]

    return scan(outer, sequences=x, outputs_info=h)[0]


def nested_looped(x: Any, h: Any) -> Any:
    states = []
    for row in x:
        for element in row:
            h = np.tanh(h * element + row)
        states.append(h)
    return np.stack(states)


def stopped(x: Any, h: Any) -> Any:
    def step(row: Tensor, h: Tensor) -> Any:
        new = h + row * row
        return new, until(xp.sum(new) > 1.9)

    return scan(step, sequences=x, outputs_info=h)[0]


def stopped_looped(x: Any, h: Any) -> Any:
    states = []
    for row in x:
        h = h + row * row
        states.append(h)
        if np.sum(h) > 1.9:
            break
    assert len(states) < len(x)
    return np.stack(states)


def never_stopped(x: Any, h: Any) -> Any:
    return scan(lambda row, h: (h + row * row, until(xp.sum(h) > 1e9)), sequences=x, outputs_info=h)[0]


def unchanged(x: Any, h: Any) -> Any:
    return scan(lambda x, h, k: [h * x + k, k], sequences=x, outputs_info=[h, h * 2.0])[0]


SCANS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "recurrent": (recurrent, looped, (X, H, W)),
    "two outputs": (two_outputs, two_outputs_looped, (X, Y, H)),
    "taps of an output": (deep_taps, deep_taps_looped, (values(3, 3), X)),
    "taps of a sequence": (sequence_taps, sequence_taps_looped, (X, H)),
    "steps only": (powers, lambda a: np.stack([a, a**2, a**3, a**4]), (H + 1.0,)),
    "map": (map_only, lambda x, w: np.exp(x @ w), (X, W)),
    "backwards": (backwards, lambda x, h, w: looped(x[::-1], h, w), (X, H, W)),
    "fewer steps": (shortened, lambda x, h, w: looped(x[:3], h, w), (X, H, W)),
    "last state": (last_state, lambda x, h, w: looped(x, h, w)[-1], (X, H, W)),
    "nested": (nested, nested_looped, (X, H)),
    "until": (stopped, stopped_looped, (X, H)),
    "until never": (never_stopped, lambda x, h: h + np.cumsum(x * x, axis=0), (X, H)),
    "a value handed on": (
        unchanged,
        lambda x, h: [_affine(x, h), np.broadcast_to(h * 2.0, x.shape)],
        (X, H),
    ),
}


def _affine(x: Any, h: Any) -> Any:
    states, k = [], h * 2.0
    for row in x:
        h = h * row + k
        states.append(h)
    return np.stack(states)


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("name", SCANS)
def test_values(name: str, library: Library) -> None:
    fn, reference, arrays = SCANS[name]
    results = as_list(fn(*(Variable(library.array(a)) for a in arrays)))
    if library.lazy and name.startswith("until"):
        with pytest.raises(TypeError, match="until"):  # how many steps there are depends on data
            evaluate(results)
        return
    for got, want in zip(evaluate(results), as_list(reference(*arrays)), strict=True):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-12)


@pytest.mark.parametrize("name", SCANS)
def test_values_with_unknown_lengths(name: str) -> None:
    fn, reference, arrays = SCANS[name]
    inputs = [placeholder(ndim=a.ndim, dtype="float64") for a in arrays]
    results = as_list(fn(*inputs))
    lengths = [length for result in results for length in result.node.shape]
    found = function(inputs, [*results, *lengths])(*arrays)
    expected = as_list(reference(*arrays))
    for got, want in zip(found, expected, strict=False):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert found[len(results) :] == [length for want in expected for length in want.shape]


@pytest.mark.parametrize("name", SCANS)
def test_gradients(name: str) -> None:
    fn, _, arrays = SCANS[name]
    if name.startswith("until"):  # the number of steps is unknown while recording: as one number
        fn_ = fn
        fn = lambda *inputs: xp.sum(xp.sin(fn_(*inputs)))  # noqa: E731
    check_gradient(fn, *arrays)


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("name", SCANS)
def test_gradients_on_every_library(name: str, library: Library) -> None:
    fn, _, arrays = SCANS[name]
    if library.lazy and name == "until":
        pytest.skip("how many steps there are depends on data")

    def run(make: Callable[[Any], Any]) -> list[Any]:
        variables = [Variable(make(a)) for a in arrays]
        results = as_list(fn(*variables))
        if name == "until never":
            results = [results[0][-1]]
        loss = sum((xp.sum(xp.sin(r)) for r in results), xp.asarray(0.0, dtype="float64"))
        first = gradients(loss, variables)
        if library.lazy:  # a second order is thousands of tasks
            return evaluate([loss] if name == "until never" else [loss, *first])
        second = sum((xp.sum(g * g) for g in first), xp.asarray(0.0, dtype="float64"))
        return evaluate([loss, *first, *gradients(second, variables)])

    for got, want in zip(run(library.array), run(np.asarray), strict=not library.lazy):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_until_gives_the_last_value_everywhere(library: Library) -> None:
    x, h = Variable(library.array(X)), Variable(library.array(H))
    for fn, reference in ((stopped, stopped_looped), (never_stopped, SCANS["until never"][1])):
        np.testing.assert_allclose(library.numpy(evaluate(fn(x, h)[-1])), reference(X, H)[-1])


@given(st.integers(1, 6), st.integers(1, 6), st.booleans(), st.data())
def test_any_number_of_steps(length: int, steps: int, go_backwards: bool, data: st.DataObject) -> None:
    steps = min(length, steps)
    array = np.linspace(-1.0, 1.0, length * 2).reshape(length, 2)
    x, count = placeholder((None, 2), dtype="float64"), placeholder((), dtype="int64")
    given_steps: Any = data.draw(st.sampled_from(["int", "tensor", "length"]))
    n_steps = {"int": steps, "tensor": count, "length": x.shape[0] - (length - steps)}[given_steps]
    outputs, _ = scan(
        lambda row, h: h * 0.5 + row, x, Variable(np.zeros(2)), n_steps=n_steps, go_backwards=go_backwards
    )
    read = array[::-1][:steps] if go_backwards else array[:steps]
    h, expected = np.zeros(2), []
    for row in read:
        h = h * 0.5 + row
        expected.append(h)
    weights = [2 - 0.5 ** (steps - 1 - i) for i in range(steps)]
    slopes = np.zeros((length, 2))
    slopes[:steps] = np.repeat(weights, 2).reshape(steps, 2)
    run = function([x, count], [outputs, gradients(xp.sum(outputs), x)], on_unused_input="ignore")
    values_, slope = run(array, steps)
    np.testing.assert_allclose(values_, expected)
    np.testing.assert_allclose(slope, slopes[::-1] if go_backwards else slopes)
