"""Gradients of the documented functions equal finite differences, to second order."""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.tape import Variable, evaluate, gradients
from tests.helpers.gradcheck import check_gradient
from tests.property.function_cases import CASES, FunctionCase


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=str)
def test_finite_differences(case: FunctionCase) -> None:
    check_gradient(lambda *tensors: case.call(B, *tensors), *case.arrays, order=case.order)


@pytest.mark.parametrize("case", [case for case in CASES if case.flat and case.recorded], ids=str)
def test_flat(case: FunctionCase) -> None:
    variables = [Variable(array) for array in case.arrays]
    loss = B.sum(B.cast(case.call(B, *variables), "float64"))
    for gradient in evaluate(gradients(loss, variables, disconnected="zero")):
        np.testing.assert_array_equal(gradient, np.zeros_like(gradient))
