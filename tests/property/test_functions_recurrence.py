"""Recurrent layers of unknown lengths give what a loop in NumPy gives; what loops close over is differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import natural_bm as B
from nbm_xp.functions.activations import tanh
from nbm_xp.functions.recurrence import foldl, foldr, map_fn, rnn
from nbm_xp.tape import grad, is_tensor, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.tables.case import values

BOOLEANS = st.booleans()


def cell(x: Any, states: list[Any]) -> tuple[Any, list[Any]]:
    """A step with two states and, behind them, two constants."""
    h, c, u, b = states
    c = 0.5 * c + x
    h = tanh(c + B.dot(h, u) + b)
    return h, [h, c]


def reference(arrays: list[np.ndarray], shown: Any, *, backwards: bool) -> list[np.ndarray]:
    x, h, c, u, b = arrays
    outputs = []
    for t in reversed(range(x.shape[1])) if backwards else range(x.shape[1]):
        new_c = 0.5 * c + x[:, t]
        new_h = np.tanh(new_c + h @ u + b)
        h, c = (np.where(shown[:, t, None], a, o) for a, o in ((new_h, h), (new_c, c)))
        outputs.append(h)
    return [outputs[-1], np.stack(outputs, axis=1), h, c]


def arguments(samples: int = 3, moments: int = 4, units: int = 2) -> list[np.ndarray]:
    return [
        values(samples, moments, units), values(samples, units, low=-1.0), values(samples, units, low=-0.5),
        values(units, units, low=-0.9, high=0.8), values(units, low=-0.1, high=0.2),
    ]  # fmt: skip


@given(samples=st.integers(1, 3), moments=st.integers(1, 5), backwards=BOOLEANS, masked=BOOLEANS, data=st.data())
def test_rnn_of_unknown_lengths(samples: int, moments: int, backwards: bool, masked: bool, data: Any) -> None:
    arrays = arguments(samples, moments)
    shown = np.asarray(data.draw(st.lists(BOOLEANS, min_size=samples * moments, max_size=samples * moments)))
    shown = shown.reshape(samples, moments)
    inputs = [placeholder(ndim=a.ndim, dtype="float64") for a in arrays]
    mask = placeholder(ndim=2, dtype="bool")
    x, h, c, u, b = inputs
    options = {"go_backwards": backwards, "mask": mask if masked else None}
    last, outputs, states = rnn(cell, x, [h, c], constants=[u, b], **options)
    got = B.function([*inputs, mask], [last, outputs, *states])(*arrays, shown)
    want = reference(arrays, shown if masked else np.ones_like(shown), backwards=backwards)
    for result, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_what_rnn_and_folds_refuse() -> None:
    x, h = values(2, 3, 4), values(2, 4)
    with pytest.raises(ValueError, match="needs an initializer"):
        foldr(lambda t, x: t * x, np.zeros((0, 2)))
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
