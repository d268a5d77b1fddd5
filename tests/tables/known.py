"""What a library beneath cannot do, as data: library, which cases (a pattern of their names), and why."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from tests.libraries import Library
from tests.tables.case import Case

__all__ = ["KNOWN_IN_NAMESPACE", "expect_failure", "is_known"]

_BOUNDS = "array_api_strict refuses slices beyond the ends of an axis, which the standard leaves open"
_LAZY = "the length of the result depends on values, which a lazy array has only after it is computed"

KNOWN: list[tuple[str, str, str]] = [
    ("array_api_strict", "getitem-0:9:-*", _BOUNDS),
    ("array_api_strict", "getitem-7::-*", _BOUNDS),
    ("array_api_strict", "getitem--9::-*", _BOUNDS),
    ("array_api_strict", "getitem-:-9:-*", _BOUNDS),
    ("array_api_strict", "isin-*float64*", "array_api_strict takes only integers in isin"),
    ("dask", "nonzero-*", _LAZY),
    ("dask", "unique_*", _LAZY),
]


KNOWN_IN_NAMESPACE: list[tuple[str, str, str]] = [
    ("array_api_strict", "fft.*-of real numbers-*", "array_api_strict transforms complex numbers alone"),
    ("array_api_strict", "linalg.matrix_power-integers-*", "array_api_strict multiplies floating matrices alone"),
    ("array_api_strict", "linalg.matrix_rank-*0x*", "array_api_strict looks for the largest of no singular values"),
    ("array_api_strict", "vecdot-axis=0-*", "array_api_strict counts axes from the end, as the standard has it"),
]
"""What the library's own namespace cannot do, where the tape can."""


def is_known(case: Case, library: Library) -> bool:
    """Whether the tape cannot do a case on a library, for the reason given above."""
    return any(name == library.name and fnmatchcase(str(case), pattern) for name, pattern, _ in KNOWN)


def expect_failure(
    request: pytest.FixtureRequest, case: Case, library: Library, known: list[tuple[str, str, str]] = KNOWN
) -> None:
    """Mark the running test as one that must fail, if its case is known to."""
    for name, pattern, reason in known:
        if name == library.name and fnmatchcase(str(case), pattern):
            request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
