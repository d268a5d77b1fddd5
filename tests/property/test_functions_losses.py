"""Losses and normalisations at the ends of what they take: certain and impossible classes, huge logits, equal rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import keras2 as K
from tests.helpers.libraries import Library, libraries

SOME = libraries("numpy-readonly", "array_api_strict", "torch", "cupy")  # the formulas are the same on all
LOGITS = st.sampled_from([-1e30, -1e4, -80.0, -1.0, 0.0, 1e-30, 1.0, 80.0, 1e4, 1e30])
ROWS = st.lists(LOGITS, min_size=3, max_size=3)
PROBABILITIES = st.lists(st.sampled_from([0.0, 1e-30, 1e-8, 0.25, 1.0]), min_size=3, max_size=3).filter(any)
DTYPES = st.sampled_from(["float32", "float64"])

Loss = Callable[[Any], Any]


def defined(library: Library, loss: Loss, x: np.ndarray) -> Any:
    """The value: no warning and no nan in it, recorded or not, nor in the gradient."""
    value = library.numpy(loss(library.array(x)))
    assert np.all(np.isfinite(value))
    variable = K.variable(library.array(x), dtype=x.dtype.name)
    (gradient,) = K.gradients(loss(variable), [variable])
    np.testing.assert_allclose(K.eval(loss(variable)), value, rtol=1e-6)
    assert K.eval(gradient).dtype == x.dtype
    assert np.all(np.isfinite(K.eval(gradient)))
    return value


def losses(library: Library, dtype: str, target: int, *, from_logits: bool) -> list[Loss]:
    """The losses of one row whose class is `target`."""
    truth, place = library.array(np.eye(3, dtype=dtype)[[target]]), library.array(np.asarray([target]))
    return [
        lambda x: K.categorical_crossentropy(x, truth, from_logits=from_logits),
        lambda x: K.sparse_categorical_crossentropy(x, place, from_logits=from_logits),
        lambda x: K.binary_crossentropy(x, truth, from_logits=from_logits),
    ]


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(row=ROWS, dtype=DTYPES, target=st.integers(0, 2))
def test_losses_of_logits(library: Library, row: list[float], dtype: str, target: int) -> None:
    for loss in losses(library, dtype, target, from_logits=True):
        assert np.all(defined(library, loss, np.asarray([row], dtype=dtype)) > -1e-6)


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(row=PROBABILITIES, dtype=DTYPES, target=st.integers(0, 2))
def test_losses_of_probabilities(library: Library, row: list[float], dtype: str, target: int) -> None:
    """Certain of the wrong class, a loss ends at minus the logarithm of 1e-7, but for what others share in it."""
    for loss in losses(library, dtype, target, from_logits=False):
        value = defined(library, loss, np.asarray([row], dtype=dtype))
        assert np.all((value > -1e-6) & (value < -np.log(1e-7) + np.log(3.0)))


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(row=ROWS, dtype=DTYPES)
def test_softmax_adds_up_to_one(library: Library, row: list[float], dtype: str) -> None:
    x = np.asarray([row], dtype=dtype)
    np.testing.assert_allclose(defined(library, K.softmax, x).sum(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(value=st.sampled_from([-1e6, 0.0, 1e-20, 3.0]), rows=st.integers(1, 3), dtype=DTYPES)
def test_what_does_not_vary_is_normalised_to_zero(library: Library, value: float, rows: int, dtype: str) -> None:
    x = np.full((rows, 2), value, dtype=dtype)
    ones, zeros = (library.array(np.full(2, n, dtype=dtype)) for n in (1.0, 0.0))
    normed = defined(library, lambda x: K.normalize_batch_in_training(x, ones, zeros, [0])[0], x)
    defined(library, lambda x: K.std(x, axis=0), x)
    defined(library, lambda x: K.l2_normalize(x, axis=1), x)
    np.testing.assert_allclose(normed, 0.0, atol=1e-2)
