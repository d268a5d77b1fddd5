"""All cases of all chapters of the standard."""

from __future__ import annotations

import importlib

from tests.helpers.tables.case import Case, by_function

__all__ = ["CASES", "Case", "by_function"]

_CHAPTERS = "assignment complex_numbers creation decompositions elementwise fft indexing linalg manipulation searching"
CASES: list[Case] = [
    case
    for chapter in (*_CHAPTERS.split(), "sets", "statistical")
    for case in importlib.import_module(f"{__name__}.{chapter}").CASES
]
