"""Recurrent layers, maps and folds give what a loop in NumPy gives, on every library, in value and gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import natural_bm as B
from nbm_xp.functions.activations import tanh
from nbm_xp.functions.recurrence import foldl, foldr, map_fn, rnn
from nbm_xp.tape import Variable, evaluate, grad, is_tensor, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables.case import values

SOME = libraries("numpy", "array_api_strict", "dask-ragged", "torch", "jax", "cupy", without=("numpy-readonly",))
BOOLEANS = st.booleans()


def cell(x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
    """A step with two states and, behind them, two constants."""
    h, c, u, b = states
    c = 0.5 * c + x
    h = tanh(c + B.dot(h, u) + b)
    return h, [h, c]


def reference(
    x: np.ndarray,
    h: np.ndarray,
    c: np.ndarray,
    u: np.ndarray,
    b: np.ndarray,
    mask: Any,
    *,
    backwards: bool,
    zeros: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    outputs = []
    for t in reversed(range(x.shape[1])) if backwards else range(x.shape[1]):
        new_c = 0.5 * c + x[:, t]
        new_h = np.tanh(new_c + h @ u + b)
        if mask is None:
            output, h, c = new_h, new_h, new_c
        else:
            shown = mask[:, t].reshape(-1, 1).astype(bool)
            before = (outputs[-1] if outputs else np.zeros_like(h)) if zeros else h
            output, h, c = (np.where(shown, a, o) for a, o in ((new_h, before), (new_h, h), (new_c, c)))
        outputs.append(output)
    return outputs[-1], np.stack(outputs, axis=1), h, c


def arguments(samples: int = 3, moments: int = 4, units: int = 2) -> list[np.ndarray]:
    return [
        values(samples, moments, units), values(samples, units, low=-1.0), values(samples, units, low=-0.5),
        values(units, units, low=-0.9, high=0.8), values(units, low=-0.1, high=0.2),
    ]  # fmt: skip


def run(x: Any, h: Any, c: Any, u: Any, b: Any, **options: Any) -> list[Any]:
    last, outputs, states = rnn(cell, x, [h, c], constants=[u, b], **options)
    return [last, outputs, *states]


@pytest.mark.parametrize("library", SOME, indirect=True)
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("mask", [None, "bool", "float64", "column"])
def test_rnn(library: Library, recorded: bool, mask: str | None) -> None:
    given_arrays = arguments()
    shown = np.asarray([[1, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1]])
    for backwards in (True,) if library.lazy else (False, True):
        for unroll in (False, True):
            options: dict[str, Any] = {"go_backwards": backwards, "unroll": unroll}
            if mask is not None:
                masks = shown[..., None] if mask == "column" else shown
                options["mask"] = library.array(masks.astype("bool" if mask == "column" else mask))
            arrays = [library.array(a) for a in given_arrays]
            results = run(*(map(Variable, arrays) if recorded else arrays), **options)
            assert all(is_tensor(result) is recorded for result in results)
            want = reference(*given_arrays, None if mask is None else shown, backwards=backwards, zeros=unroll)
            for got, expected in zip(evaluate(results) if recorded else results, want, strict=True):
                np.testing.assert_allclose(library.numpy(got), expected, rtol=1e-12, atol=1e-12)


@given(samples=st.integers(1, 3), moments=st.integers(1, 5), backwards=BOOLEANS, masked=BOOLEANS, data=st.data())
def test_rnn_of_unknown_lengths(samples: int, moments: int, backwards: bool, masked: bool, data: Any) -> None:
    arrays = arguments(samples, moments)
    shown = np.asarray(data.draw(st.lists(BOOLEANS, min_size=samples * moments, max_size=samples * moments)))
    shown = shown.reshape(samples, moments)
    inputs = [placeholder(ndim=a.ndim, dtype="float64") for a in arrays]
    mask = placeholder(ndim=2, dtype="bool")
    results = run(*inputs, go_backwards=backwards, mask=mask if masked else None)
    got = B.function([*inputs, mask], results)(*arrays, shown)
    want = reference(*arrays, shown if masked else None, backwards=backwards, zeros=False)
    for result, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("unroll", [False, True])
def test_gradient_of_rnn(masked: bool, unroll: bool) -> None:
    mask = np.asarray([[1, 0, 1], [0, 1, 1]], dtype=bool) if masked else None
    check_gradient(
        lambda *tensors: B.concatenate([B.flatten(r) for r in run(*tensors, mask=mask, unroll=unroll)]),
        *arguments(2, 3),
    )


def test_a_step_may_have_no_memory() -> None:
    last, outputs, states = rnn(lambda x, states: (2 * x, []), values(2, 3, 4), [])
    np.testing.assert_array_equal(outputs, 2 * values(2, 3, 4))
    np.testing.assert_array_equal(last, outputs[:, -1])
    assert states == []


def test_what_rnn_refuses() -> None:
    x, h = values(2, 3, 4), values(2, 4)
    with pytest.raises(ValueError, match="inputs must have three axes or more"):
        rnn(lambda x, s: (x, s), h, [h])
    with pytest.raises(ValueError, match="mask needs an initial state"):
        rnn(lambda x, s: (x, s), x, [], mask=np.ones((2, 3)))
    with pytest.raises(ValueError, match="mask must have shape"):
        rnn(lambda x, s: (x, s), x, [h], mask=np.ones(2))
    with pytest.raises(ValueError, match="must return 1 states"):
        rnn(lambda x, s: (x, []), x, [h])
    with pytest.raises(ValueError, match="unroll needs the number of moments"):
        rnn(lambda x, s: (x, s), placeholder((None, None, 4)), [h], unroll=True)


@pytest.mark.parametrize("library", SOME, indirect=True)
def test_maps_and_folds(library: Library) -> None:
    x, start = values(4, 3), values(3, low=-1.0)
    for recorded in (False, True):
        elems, first = library.array(x), library.array(start)
        if recorded:
            elems, first = Variable(elems), Variable(first)
        pairs = {
            "map_fn": (map_fn(lambda row: row / B.sum(row * row), elems), x / (x * x).sum(axis=1, keepdims=True)),
            "dtype": (map_fn(lambda row: B.sum(row) > 0, elems, dtype="int32"), (x.sum(axis=1) > 0).astype("int32")),
            "several": (map_fn(lambda pair: pair[0] - pair[1], (elems, elems)), np.zeros_like(x)),
            "foldl": (foldl(lambda t, row: t * 0.5 - row, elems), ((x[0] * 0.5 - x[1]) * 0.5 - x[2]) * 0.5 - x[3]),
            "foldr": (
                foldr(lambda t, row: t * 0.5 - row, elems, first),
                start * 0.5**4 - x[3] / 8 - x[2] / 4 - x[1] / 2 - x[0],
            ),
        }
        for name, (result, want) in pairs.items():
            assert is_tensor(result) is recorded, name
            got = library.numpy(evaluate(result) if recorded else result)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=name)


def test_gradients_of_maps_and_folds() -> None:
    x, start = values(3, 2), values(2, low=-1.0)
    check_gradient(lambda elems: map_fn(lambda row: row * B.sum(row), elems), x)
    check_gradient(lambda elems, first: foldl(lambda t, row: t * row + 1.0, elems, first), x, start)
    check_gradient(lambda elems: foldr(lambda t, row: t * row + 1.0, elems), x)


def test_a_fold_of_one_element_is_that_element() -> None:
    np.testing.assert_array_equal(foldl(lambda t, x: t * x, values(1, 2)), values(1, 2)[0])
    with pytest.raises(ValueError, match="needs an initializer"):
        foldr(lambda t, x: t * x, np.zeros((0, 2)))


ELEMENTS = np.asarray([1.0, 2.0, 3.0])
LOOPS = {
    "map_fn": (lambda w: map_fn(lambda e: e * w, ELEMENTS), 6.0),
    "foldl": (lambda w: foldl(lambda total, e: total + e * w, ELEMENTS), 5.0),
    "foldr": (lambda w: foldr(lambda total, e: total + e * w, ELEMENTS), 3.0),
    "scan": (lambda w: B.scan(lambda s: s * w, outputs_info=np.asarray(1.0), n_steps=3)[0], 17.0),
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_a_loop_over_arrays_closes_over_is_differentiated(name: str) -> None:
    loop, slope = LOOPS[name]
    assert float(grad(lambda w: xp.sum(loop(w)))(np.asarray(2.0))) == slope
    assert not is_tensor(loop(np.asarray(2.0)))
