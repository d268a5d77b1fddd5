"""Gradients of the documented functions equal finite differences, to second order."""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.tape import Variable, evaluate, gradients
from tests.gradcheck import check_gradient
from tests.property.function_cases import CASES, FunctionCase


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable and not case.flat], ids=str)
def test_finite_differences(case: FunctionCase) -> None:
    check_gradient(lambda *tensors: case.call(B, *tensors), *case.arrays, order=case.order)


@pytest.mark.parametrize("case", [case for case in CASES if case.flat and case.arrays[0].dtype == "float64"], ids=str)
def test_flat(case: FunctionCase) -> None:
    x = Variable(case.arrays[0])
    (gradient,) = evaluate([gradients(B.sum(case.call(B, x)), x, disconnected="zero")])
    np.testing.assert_array_equal(gradient, np.zeros_like(case.arrays[0]))
