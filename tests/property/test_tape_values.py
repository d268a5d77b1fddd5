"""Every function of the tape's namespace gives NumPy's values, on every library, and declares what it gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.tape import Length, Tensor, Variable, evaluate, function, placeholder
from nbm_xp.tape import namespace as tape
from tests.helpers.gradcheck import flat_list
from tests.helpers.known import told
from tests.helpers.libraries import AGAIN, Library, libraries
from tests.helpers.tables import CASES, Case, by_function
from tests.helpers.tables.known import hold_today

NUMPY = Library("numpy", "numpy")


def expected(case: Case) -> list[Any]:
    with np.errstate(all="ignore"):
        return flat_list((case.reference or case.call)(NUMPY.xp, *case.arrays))


def check(case: Case, actual: list[Any], library: Library) -> None:
    wanted = expected(case)
    assert len(actual) == len(wanted)
    for got, want in zip(map(library.numpy, actual), wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.rtol, strict=True)


VARIABLES = libraries("numpy-readonly", "array_api_strict", "cupy", "dask-cupy", *AGAIN, without=("dask-ragged",))


@pytest.mark.parametrize("library", VARIABLES, indirect=True)
@pytest.mark.parametrize("cases", by_function(CASES))
def test_value_from_variables(cases: list[Case], library: Library) -> None:
    hold_today(cases, library, value_from_variables)


def value_from_variables(case: Case, library: Library) -> None:
    with use_backend(library.name):  # what is made of no array at all is made in the default library
        results = flat_list(case.call(tape, *(Variable(library.array(a)) for a in case.arrays)))
        declared = [(result.shape, str(result.dtype)) for result in results]
        assert declared == [(want.shape, str(want.dtype)) for want in expected(case)]
        check(case, evaluate(results), library)


PLACEHOLDERS = libraries("numpy", "array_api_strict", "cupy", *AGAIN, without=("numpy-readonly", "dask-halves"))


@pytest.mark.parametrize("library", PLACEHOLDERS, indirect=True)
@pytest.mark.parametrize("cases", by_function(case for case in CASES if case.unknown))
def test_declared_shape_and_dtype_with_unknown_lengths(cases: list[Case], library: Library) -> None:
    hold_today(cases, library, lambda case, on: run_with([(None,) * a.ndim for a in case.arrays], case, on))


@pytest.mark.parametrize("cases", by_function(case for case in CASES if case.unknown))
def test_declared_shape_and_dtype_with_one_unknown_length(cases: list[Case]) -> None:
    for case, unknown in itertools.product(cases, (0, -1)):
        shapes: list[list[int | None]] = [list(a.shape) for a in case.arrays]
        for shape in shapes:
            if shape:
                shape[unknown] = None
        with told(case):
            run_with(shapes, case, NUMPY)


def run_with(shapes: Sequence[Sequence[int | None]], case: Case, library: Library) -> None:
    """Record the case with placeholders of these shapes, run it, and hold what was declared to what came out."""
    inputs = [placeholder(shape, dtype=str(a.dtype)) for shape, a in zip(shapes, case.arrays, strict=True)]
    results = flat_list(case.call(tape, *inputs))
    lengths = [length for result in results for length in result.shape]
    unknown = [length for length in lengths if isinstance(length, Length)]
    run = function(inputs, [*results, *unknown])
    actual = run(*(library.array(a) for a in case.arrays))
    check(case, actual[: len(results)], library)
    found = iter(actual[len(results) :])
    told = [next(found) if isinstance(length, Length) else length for length in lengths]
    assert told == [length for want in expected(case) for length in want.shape]
    assert [result.dtype for result in results] == [str(want.dtype) for want in expected(case)]


def test_every_public_function_has_a_case() -> None:
    public = {name for name in tape.__all__ if callable(getattr(tape, name)) and not name.startswith("_")}
    public |= {f"linalg.{name}" for name in tape.linalg.__all__} | {f"fft.{name}" for name in tape.fft.__all__}
    kinds = {name for name in public if isinstance(getattr(tape, name, None), (str, type))}
    elsewhere = {
        "can_cast", "finfo", "iinfo", "isdtype", "result_type",  # of dtypes: tests/tape/test_dtypes.py
        "broadcast_shapes",  # of shapes: tests/tape/test_standard.py
        "from_dlpack", "dtype_name", "promote_types", "floatx", "as_dtype", "host_namespace",
    }  # fmt: skip
    missing = public - kinds - elsewhere - {case.function for case in CASES}
    assert not missing


def test_results_are_tensors() -> None:
    x = Variable(np.ones((2, 3)))
    assert isinstance(tape.exp(x), Tensor)
