"""Every documented function gives NumPy's values on every library: of arrays, Variables and placeholders alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.tape import Variable, evaluate, is_tensor
from tests.helpers.libraries import AGAIN, Library, libraries, today
from tests.helpers.tables import by_function, told
from tests.property.function_cases import CASES, FunctionCase

SOME = libraries("numpy", "array_api_strict", "cupy", *AGAIN, without=("numpy-readonly", "dask-halves"))

SUBSTITUTES = {("torch", "uint64"): "int64"}
"""Dtypes that a library gives in the place of another: PyTorch adds up unsigned integers as int64."""


def check(case: FunctionCase, result: Any, library: Library) -> None:
    got, want = library.numpy(result), np.asarray(case.reference(*case.arrays))
    assert str(got.dtype) in (str(want.dtype), SUBSTITUTES.get((library.name, str(want.dtype))))
    np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.rtol)
    assert got.shape == want.shape


@pytest.mark.parametrize("cases", by_function(CASES))
def test_of_arrays(cases: list[FunctionCase], library: Library) -> None:
    for case in today(cases, library):
        with told(case):
            of_arrays(case, library)


def of_arrays(case: FunctionCase, library: Library) -> None:
    arrays = [library.array(a) for a in case.arrays]
    before = [a.copy() for a in case.arrays]
    check(case, case.call(B, *arrays), library)
    for array, original in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(library.numpy(array), original)


@pytest.mark.parametrize("library", SOME, indirect=True)
@pytest.mark.parametrize("cases", by_function(case for case in CASES if case.recorded))
def test_of_variables(cases: list[FunctionCase], library: Library) -> None:
    for case in today(cases, library):
        with told(case):
            of_variables(case, library)


def of_variables(case: FunctionCase, library: Library) -> None:
    result = case.call(B, *(Variable(library.array(a)) for a in case.arrays))
    assert is_tensor(result)
    want = np.asarray(case.reference(*case.arrays))
    assert (result.dtype, result.shape) == (str(want.dtype), want.shape) or case.name == "reshape"
    check(case, evaluate(result), library)


@pytest.mark.parametrize("library", SOME, indirect=True)
@pytest.mark.parametrize("cases", by_function(case for case in CASES if case.recorded and case.unknown))
def test_of_placeholders(cases: list[FunctionCase], library: Library) -> None:
    for case in today(cases, library):
        with told(case):
            of_placeholders(case, library)


def of_placeholders(case: FunctionCase, library: Library) -> None:
    inputs = [B.placeholder(ndim=a.ndim, dtype=str(a.dtype)) for a in case.arrays]
    result = case.call(B, *inputs)
    assert result.dtype == str(np.asarray(case.reference(*case.arrays)).dtype)
    check(case, B.function(inputs, result)(*(library.array(a) for a in case.arrays)), library)
