"""Dask's arrays on expressions (``DASK_ARRAY__QUERY_PLANNING=True``): what of the suite fails on them, and why.

As of Dask 2026.8. `ERRORS` are those by which Dask says what these arrays cannot do: a test that ends in one is
expected to fail. `KNOWN` are patterns of test ids that end otherwise. These tests must fail: one that passes is an
error, so that the list shrinks with every release of Dask that mends something.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

import pytest

from tests.helpers.libraries import AT_NIGHT

__all__ = ["ERRORS", "KNOWN", "ON_EXPRESSIONS", "expect_error", "mark_known"]

ON_EXPRESSIONS = os.environ.get("DASK_ARRAY__QUERY_PLANNING", "").lower() == "true"

_LENGTHS = "Dask puts blocks together by a rechunk, which rejects unknown lengths: `FinalizeComputeArray`"
_STEPS = "Dask's rechunk in several steps fails when it is computed: `ones((40, 50), chunks=(7, 11)).rechunk((40, 1))`"
_NUMBERS = "Dask's operators make an array of a number, which is no part of reading: `x * 2`"
_DELAYED = "Dask's arrays on expressions have no `to_delayed`, by which a plan gets its blocks"
_THE_SAME = "Dask's arrays on expressions have no `copy`, since nothing can be assigned to them"
_WIDER = (
    r"assert \(?(dtype\()?'(float64|complex128|int64)'\)? (==|in) |\(dtypes \w+, \w+ mismatch\)"
    r"|assert dtype\('float32'\) == dtype\('float64'\)"
)
_UNASKED = "what is called computes by `np.asarray` or `bool`, which these arrays do not let: dask/dask#11922"

ERRORS: list[tuple[type[Exception], str, str]] = [
    (
        NotImplementedError, "_array_expr/_blockwise.py",
        "operators fail for arrays in different blocks, and for a Tensor",
    ),
    (
        NotImplementedError, "_array_expr/_collection.py",
        "there is no `@`, no indexing by truth values, no NumPy function",
    ),
    (TypeError, "'Array' object does not support item assignment", "there is no assignment"),
    (AttributeError, "'function' object has no attribute 'norm'", "there are no norms: `dask.array.linalg`"),
    (AttributeError, "'Array' object has no attribute '(flatten|ravel)'", "there is no `flatten`, nor `ravel`"),
    (AttributeError, "'Array' object has no attribute 'expr'", "`einsum` takes arrays of graphs"),
    (
        ValueError, "You must specify the meta or dtype of the array",
        "what is computed with a stack of arrays has no meta",
    ),
    (ZeroDivisionError, "dask/array/gufunc.py", "`apply_gufunc` divides by zero where there are no elements"),
    (AssertionError, _WIDER, "a Python number is taken for an array of its own dtype: `x * 0.5` of float32 is float64"),
]  # fmt: skip
"""The type of an error, a pattern of the file that raised it and its message, and Dask's reason."""

KNOWN: list[tuple[str, str]] = [
    *[("*namespace/test_functions.py::test_values_are_numpys[[]repeat-dask-ragged]", _LENGTHS)] * AT_NIGHT,
    ("*namespace/test_functions.py::test_values_are_numpys[[]nonzero-dask-ragged]", _LENGTHS),
    ("*namespace/test_convolution.py::test_images_of_unknown_number_on_dask", _LENGTHS),
    ("*namespace/test_compat.py::test_dask_repeats_by_counts_that_are_not_known_yet*", _LENGTHS),
    ("*namespace/test_compat.py::test_mend_is_right_and_needed[[]dask: repeat by a Dask array's counts]", _LENGTHS),
    ("*test_boltzmann_layers.py::test_mean_field_is_the_same_for_every_row_wherever_it_is[[]dask-ragged]", _DELAYED),
    ("*test_storage.py::test_a_folder_keeps_arrays_and_tiles", _UNASKED),
    ("*rng/test_dask.py::test_schedulers_and_workers_change_nothing", _STEPS),
    ("*namespace/test_tiles.py::test_what_costs_little_is_done_after_reading[[]times]", _NUMBERS),
    ("*namespace/test_tiles.py::test_what_costs_little_is_done_after_reading[[]over]", _NUMBERS),
    ("*test_tape_memory.py::*[[]concat-*", _THE_SAME),
    ("*test_tape_memory.py::*[[]roll-dask-ragged]", _THE_SAME),
    ("*test_tape_memory.py::test_where_there_is_nothing_to_do[[]fft.fftshift-dask-ragged]", _THE_SAME),
]


def mark_known(items: list[pytest.Item]) -> None:
    """Mark what is known to fail; nothing where Dask's arrays are graphs."""
    if not ON_EXPRESSIONS:
        return
    for item in items:
        for pattern, reason in KNOWN:
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def expect_error(report: pytest.TestReport, call: pytest.CallInfo[None]) -> pytest.TestReport:
    """Have a test that ended in one of Dask's errors reported as expected to fail."""
    if ON_EXPRESSIONS and report.failed and call.excinfo and (reason := _reason(call.excinfo.value)):
        report.outcome, report.wasxfail = "skipped", reason
    return report


def _reason(error: BaseException | None) -> str:
    """Dask's reason for an error or for one that it followed from, or for all of a group; empty where there is none."""
    while error is not None:
        if isinstance(error, BaseExceptionGroup):  # of Hypothesis, which found several
            reasons = [_reason(each) for each in error.exceptions]
            return reasons[0] if all(reasons) else ""
        said = f"{pytest.ExceptionInfo.from_exception(error).traceback[-1].path}: {error}"
        for kind, pattern, reason in ERRORS:
            if isinstance(error, kind) and re.search(pattern, said):
                return reason
        error = error.__cause__ or error.__context__
    return ""
