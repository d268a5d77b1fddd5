"""What a library beneath cannot do, as data: library, which cases (a pattern of their names), and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.helpers.known import hold, reason_of
from tests.helpers.libraries import Library, today
from tests.helpers.tables.case import Case

__all__ = ["KNOWN", "KNOWN_IN_NAMESPACE", "hold_today"]

_BOUNDS = "array_api_strict rejects slices beyond the ends of an axis, which the standard leaves open"
_LAZY = "the length of the result depends on values, which a lazy array has only after it is computed"

KNOWN: list[tuple[str, str, str]] = [
    ("array_api_strict", "getitem-0:9:-*", _BOUNDS), ("array_api_strict", "getitem-7::-*", _BOUNDS),
    ("array_api_strict", "getitem--9::-*", _BOUNDS), ("array_api_strict", "getitem-:-9:-*", _BOUNDS),
    ("array_api_strict", "isin-*float64*", "array_api_strict takes only integers in isin"),
    ("dask", "nonzero-*", _LAZY), ("dask", "unique_*", _LAZY),
]  # fmt: skip


KNOWN_IN_NAMESPACE: list[tuple[str, str, str]] = [
    ("array_api_strict", "fft.*-of real numbers-*", "array_api_strict transforms complex numbers alone"),
    ("array_api_strict", "linalg.matrix_power-integers-*", "array_api_strict multiplies floating matrices alone"),
    ("array_api_strict", "linalg.matrix_rank-*0x*", "array_api_strict looks for the largest of no singular values"),
    ("array_api_strict", "vecdot-axis=0-*", "array_api_strict counts axes from the end, as the standard has it"),
]
"""What the library's own namespace cannot do, where the tape can."""


def hold_today(
    cases: Sequence[Case],
    library: Library,
    check: Callable[[Case, Library], None],
    known: Sequence[tuple[str, str, str]] = KNOWN,
) -> None:
    """Check the cases of a function that are run today on a library; one that is known to fail there must."""
    chosen = today(cases, library)
    hold(chosen, lambda case: reason_of(known, library.name, str(case)), lambda case: check(case, library))
