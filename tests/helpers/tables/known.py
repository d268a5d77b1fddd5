"""What a library beneath cannot do, as data: library, which cases (a pattern of their names), and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import pytest

from tests.helpers.libraries import Library, today
from tests.helpers.tables.case import Case, told

__all__ = ["KNOWN_IN_NAMESPACE", "hold", "reason_of"]

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


FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def reason_of(case: Case, library: Library, known: Sequence[tuple[str, str, str]] = KNOWN) -> str | None:
    """Why a case must fail on a library, or None."""
    name = str(case)
    return next((why for of, pattern, why in known if of == library.name and fnmatchcase(name, pattern)), None)


def hold(
    cases: Sequence[Case],
    library: Library,
    request: pytest.FixtureRequest,
    check: Callable[[Case, Library], None],
    known: Sequence[tuple[str, str, str]] = KNOWN,
) -> None:
    """Check the cases of a function that are run today on a library; one that is known to fail there must."""
    reasons, chosen = [], today(cases, library)
    for case in chosen:
        reason = reason_of(case, library, known)
        with told(case):
            if reason is None:
                check(case, library)
            else:
                reasons.append(reason)
                with pytest.raises(FAILURES):
                    check(case, library)
    request.node.user_properties.append(("known", reasons))
    if chosen and len(reasons) == len(chosen):
        pytest.xfail(reasons[0])
