"""All cases of all chapters of the standard."""

from __future__ import annotations

from tests.helpers.tables import (
    assignment,
    complex_numbers,
    creation,
    decompositions,
    elementwise,
    fft,
    indexing,
    linalg,
    manipulation,
    searching,
    sets,
    statistical,
)
from tests.helpers.tables.case import Case, by_function

__all__ = ["CASES", "Case", "by_function"]

CASES: list[Case] = [
    *assignment.CASES, *complex_numbers.CASES, *creation.CASES, *decompositions.CASES, *elementwise.CASES, *fft.CASES,
    *indexing.CASES, *linalg.CASES, *manipulation.CASES, *searching.CASES, *sets.CASES, *statistical.CASES,
]  # fmt: skip
