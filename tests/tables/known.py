"""What a library beneath cannot do, as data: library, which cases (a pattern of their names), and why."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from tests.libraries import Library
from tests.tables.case import Case

__all__ = ["expect_failure"]

_BOUNDS = "array_api_strict refuses slices beyond the ends of an axis, which the standard leaves open"

KNOWN: list[tuple[str, str, str]] = [
    ("array_api_strict", "getitem-0:9:-*", _BOUNDS),
    ("array_api_strict", "getitem-7::-*", _BOUNDS),
    ("array_api_strict", "getitem--9::-*", _BOUNDS),
    ("array_api_strict", "getitem-:-9:-*", _BOUNDS),
]


def expect_failure(request: pytest.FixtureRequest, case: Case, library: Library) -> None:
    """Mark the running test as one that must fail, if its case is known to."""
    for name, pattern, reason in KNOWN:
        if name == library.name and fnmatchcase(str(case), pattern):
            request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
