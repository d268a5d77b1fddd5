"""The extensions `linalg` and `fft` of every library's own namespace, mended where it must be, give NumPy's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import get_namespace
from nbm_xp.tape import namespace as tape
from tests.helpers.gradcheck import flat_list
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables import Case, by_function, decompositions, fft, linalg
from tests.helpers.tables.known import KNOWN_IN_NAMESPACE, hold_today

pytestmark = pytest.mark.at_night("jax")

ALL = [
    case
    for case in (*decompositions.CASES, *fft.CASES, *linalg.CASES)
    if case.arrays and "mixed" not in case.label and len({a.dtype for a in case.arrays}) == 1
    if case.function != "einsum"  # of the tape alone: the standard has none
]
ROWS = list({(c.function, c.label, c.arrays[0].ndim > 2, c.arrays[0].dtype.kind): c for c in ALL}.values())
OTHERS = libraries("array_api_strict", "dask-ragged", "torch", "jax", "cupy", "dask-cupy")


@pytest.mark.parametrize("library", OTHERS, indirect=True)
@pytest.mark.parametrize("cases", by_function(ROWS))
def test_value(cases: list[Case], library: Library) -> None:
    hold_today(cases, library, value, KNOWN_IN_NAMESPACE)


def value(case: Case, library: Library) -> None:
    host = get_namespace("numpy")
    with np.errstate(all="ignore"):
        wanted = flat_list((case.reference or case.call)(host, *case.arrays))
    found = flat_list(case.call(library.xp, *(library.array(a) for a in case.arrays)))
    for got, want in zip(found, wanted, strict=True):
        result = library.numpy(got)
        assert result.dtype == want.dtype
        np.testing.assert_allclose(result, want, rtol=max(case.rtol, 1e-9), atol=max(case.rtol, 1e-9), strict=True)


@pytest.mark.parametrize("library", OTHERS, indirect=True)
@pytest.mark.parametrize("part", ["linalg", "fft"])
def test_nothing_is_missing(part: str, library: Library) -> None:
    there: Any = getattr(library.xp, part)
    assert [name for name in getattr(tape, part).__all__ if not callable(getattr(there, name, None))] == []
