"""Dask's arrays on expressions (``DASK_ARRAY__QUERY_PLANNING=True``): what of the suite fails on them, and why.

Each entry is a pattern of test ids and Dask's own reason, as of Dask 2026.8. The tests must fail: one that passes is an
error, so that the list shrinks with every release of Dask that mends something.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

import pytest

__all__ = ["KNOWN", "ON_EXPRESSIONS", "mark_known"]

ON_EXPRESSIONS = os.environ.get("DASK_ARRAY__QUERY_PLANNING", "").lower() == "true"

_LENGTHS = "Dask puts blocks together by a rechunk, which refuses unknown lengths: `FinalizeComputeArray`"
_STEPS = "Dask's rechunk in several steps fails when it is computed: `ones((40, 50), chunks=(7, 11)).rechunk((40, 1))`"
_TAKEN = "Dask's indexing by an array beside integers fails where every element is a block: `Shapes do not align`"
_UNASKED = "the test computes by `np.asarray` or `bool`, which these arrays do not let: dask/dask#11922"

KNOWN: list[tuple[str, str]] = [
    ("*test_namespace_dask.py::test_values_are_numpys[[]repeat-[[]*", _LENGTHS),
    ("*test_namespace_dask.py::test_values_are_numpys[[]nonzero-[234]*", _LENGTHS),
    ("*test_namespace_dask.py::test_values_are_numpys[[]unique_*-by name-*", _LENGTHS),
    ("*test_namespace_convolution.py::test_images_of_unknown_number_on_dask", _LENGTHS),
    ("*test_namespace_compat.py::test_dask_repeats_by_counts_that_are_not_known_yet*", _LENGTHS),
    ("*test_namespace_compat.py::test_mend_is_right_and_needed[[]dask: repeat by a Dask array's counts]", _LENGTHS),
    ("*test_namespace_functions.py::test_function[[]dask-singles-index-beside-integers]", _TAKEN),
    ("*test_rng_random_streams.py::test_lengths_may_be_known_late[[]<lambda>-<lambda>[0-4]-dask-*", _UNASKED),
    ("*test_namespace_stored.py::test_a_folder_keeps_arrays_and_tiles", _UNASKED),
    ("*test_rng_dask.py::test_schedulers_and_workers_change_nothing", _STEPS),
]


def mark_known(items: list[pytest.Item]) -> None:
    """Mark what is known to fail; nothing where Dask's arrays are graphs."""
    if not ON_EXPRESSIONS:
        return
    for item in items:
        for pattern, reason in KNOWN:
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
