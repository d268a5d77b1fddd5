"""Dask's namespace, mended, gives NumPy's values for every function of the standard, lazily, as it promises them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import get_namespace
from tests.helpers.gradcheck import flat_list
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables import CASES, Case

OF_THE_ARRAY_ITSELF = ("getitem-*", "setitem-*", "matrix_transpose-attribute-*", "matrix_transpose-mT-*")
"""What a Dask array does by its own methods, which no namespace can mend; the tape's functions do without them."""

NAMED = [case for case in CASES if not any(fnmatchcase(str(case), pattern) for pattern in OF_THE_ARRAY_ITSELF)]


def expected(case: Case) -> list[Any]:
    """What NumPy gives, or what stands for it where NumPy refuses."""
    host = get_namespace("numpy")
    try:
        results = case.call(host, *case.arrays)
    except ValueError:
        if case.reference is None:
            raise
        results = case.reference(host, *case.arrays)
    return list(map(np.asarray, flat_list(results)))


@pytest.mark.parametrize("library", libraries("dask-ragged"), indirect=True)
@pytest.mark.parametrize("case", NAMED, ids=str)
def test_values_are_numpys(case: Case, library: Library) -> None:
    with np.errstate(all="ignore"):
        wanted = expected(case)
        lazy = flat_list(case.call(library.xp, *map(library.array, case.arrays)))
        found = [library.numpy(result) for result in lazy]
    for got, want in zip(found, wanted, strict=True):
        if case.function.startswith("unique_values"):  # in an order of the library's own
            got, want = np.sort(got), np.sort(want)
        rtol = max(case.rtol, 1e-5 if want.dtype in ("float16", "float32", "complex64") else 1e-9)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, strict=True)
