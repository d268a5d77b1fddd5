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

KNOWN: list[tuple[str, str]] = [
    ("*test_namespace_dask.py::test_values_are_numpys[[]repeat-[[]*", _LENGTHS),
    ("*test_namespace_dask.py::test_values_are_numpys[[]nonzero-[234]*", _LENGTHS),
    ("*test_namespace_dask.py::test_values_are_numpys[[]unique_*-by name-*", _LENGTHS),
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
