"""All cases of all chapters of the standard."""

from __future__ import annotations

from tests.tables import creation, elementwise, indexing, linalg, manipulation, searching, statistical
from tests.tables.case import Case

__all__ = ["CASES", "Case"]

CASES: list[Case] = [
    *creation.CASES,
    *elementwise.CASES,
    *indexing.CASES,
    *linalg.CASES,
    *manipulation.CASES,
    *searching.CASES,
    *statistical.CASES,
]
