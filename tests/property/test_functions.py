"""Gradients of the documented functions equal finite differences, to second order, wherever one is recorded.

That values are the recorded ones on every library is in tests/golden; on JAX, which compiles each form anew, by night.
By day one call of each function gives NumPy's values there.
"""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.tape import Variable, evaluate, gradients
from tests.golden.calls import CALLS, OF_ARRAYS, Call, first_of_each
from tests.helpers.gradcheck import check_gradient, flat_list
from tests.helpers.libraries import EVERYWHERE, Library, libraries

FLAT = ("round", "sign", "stop_gradient")
AT_KINKS = (
    *("special", "ties", "cast/same", "cast/to32", "zero", "extreme", "clipped", "edges", "at-bound", "at-the-bounds"),
    *("softmax/large", "ctc_batch_cost/sharp", "ctc_batch_cost/float-labels"),
)
"""Where the function has no derivative, single precision hides it, or a step leads out of where it is defined."""
SMOOTH = [
    call
    for call in CALLS
    if call.differentiable and call.name not in FLAT and not any(text in call.case.id for text in AT_KINKS)
]
CHOSEN = SMOOTH if EVERYWHERE else first_of_each(SMOOTH, lambda call: (call.case.system, call.form))


@pytest.mark.parametrize("call", CHOSEN, ids=str)
def test_finite_differences(call: Call) -> None:
    check_gradient(call, *call.arrays)


@pytest.mark.parametrize("call", [call for call in CALLS if call.differentiable and call.name in FLAT], ids=str)
def test_flat(call: Call) -> None:
    variables = [Variable(array) for array in call.arrays]
    for gradient in evaluate(gradients(B.sum(call(*variables)), variables, disconnected="zero")):
        np.testing.assert_array_equal(gradient, np.zeros_like(gradient))


@pytest.mark.parametrize("library", libraries("jax"), indirect=True)
@pytest.mark.parametrize("case", first_of_each(OF_ARRAYS), ids=str)
def test_on_jax(case: Call, library: Library) -> None:
    found = flat_list(library.at_once(lambda *arrays: case(*arrays), *case.arrays))
    for got, want in zip(found, flat_list(case.answer), strict=True):
        np.testing.assert_allclose(library.numpy(got), want, rtol=1e-9, atol=1e-11, strict=True)
