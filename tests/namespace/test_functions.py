"""Every library's namespace, as corrected here, gives NumPy's values, dtypes and shapes; Dask stays lazy."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import get_namespace
from tests.helpers.gradcheck import flat_list
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables import CASES, Case, by_function
from tests.helpers.tables.case import case as written
from tests.helpers.tables.case import plain, values, whole
from tests.helpers.tables.known import hold_today

OF_THE_ARRAY_ITSELF = ("getitem-*", "setitem-*", "matrix_transpose-attribute-*", "matrix_transpose-mT-*")
"""Methods of arrays, which no namespace can correct; the tape's functions do not use them."""

FLOATS, EMPTY, SCALAR = values(3, 5, 4, dtype="float32"), np.zeros((0, 3), "float32"), np.asarray(2.5, "float32")
POSITIVE, INTS = np.abs(FLOATS) + np.float32(0.1), whole(3, 5, 4, low=-9, high=10)
BYTES, EXTREME = whole(4, 3, low=0, high=200, dtype="uint8"), np.asarray([-np.inf, -1e4, -0.0, 0.0, 1e-8, 1e4, np.inf])
NAN = np.asarray([*EXTREME, np.nan])
NARROW = {"rtol": 1e-5}


def _cases() -> list[Case]:
    """Cases beyond the tables: extreme numbers, narrow dtypes, empty and one-element arrays, operators."""
    made = []
    for name in ("abs", "sign", "square", "negative", "positive", "floor", "ceil", "trunc"):
        made += [plain(name, x) for x in (FLOATS, INTS, EXTREME, EMPTY, SCALAR)]
    for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sqrt", "tanh", "sinh", "cosh", "atan"):
        made += [plain(name, x, fields=NARROW) for x in (POSITIVE, SCALAR)]
    made += [plain(name, NAN) for name in ("isfinite", "isnan", "isinf", "signbit", "max", "min")]
    for name in ("maximum", "minimum", "logaddexp"):
        made.append(plain(name, EXTREME[:, None], EXTREME[None, :].copy()))
    for name in ("sum", "prod", "max", "min", "mean", "var", "std"):
        made += [plain(name, POSITIVE, axis=axis, fields=NARROW) for axis in (None, 1, (0, 2))]
    for name in ("max", "min", "argmax", "argmin"):
        made += [plain(name, x) for x in (EXTREME, np.full(5, -np.inf), np.full(5, np.inf), np.zeros((4, 3)))]
    for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
        made += [plain(name, BYTES, axis=0, dtype="uint64"), plain(name, EMPTY, axis=0)]
    made += [plain("any", EMPTY > 0, axis=0), plain("all", EMPTY > 0, axis=0)]
    made += [plain("concat", [EMPTY, EMPTY], axis=0), plain("reshape", EMPTY, shape=(3, 0))]
    made += [plain("matmul", x, y) for x, y in ((EMPTY, np.ones((3, 2), "float32")), (EMPTY.T.copy(), EMPTY))]
    made += [plain("linspace", 0.0, 1.0, 104, dtype="float64"), plain("eye", 5, 3, k=-2, dtype="int32")]
    operators: dict[str, Callable[..., Any]] = {
        "operators": lambda xp, x: (-x + 1) * 2 - x / 3 + abs(x) ** 2 - 1.5 * x // 2 % 3,
        "reflected": lambda xp, x: 1 - x + (2 / (x * x + 1)) + 3 * x + 2.0**x,
        "comparisons": lambda xp, x: ((x < 0.5) & (x > -0.5)) | (x >= 1) | (x <= -1) | (x == 0) | (x != x),
    }
    return made + [written(name, call, FLOATS, **NARROW) for name, call in operators.items()]


_SUMS = "PyTorch cannot compute with uint64: sums of unsigned integers are int64"
KNOWN = [
    *(("torch", f"{name}-*uint8", _SUMS) for name in ("sum-2x3", "prod-2x3", "cumulative_sum-3", "cumulative_prod-3")),
    *(("torch", f"{name}-uint16-3-*", _SUMS) for name in ("sum", "prod")),
    ("torch", "roll-(1, 1),axis=0-*", "PyTorch shifts an axis once"),
    ("jax", "permute_dims-(-1, *", "JAX takes no negative axes"),
    ("numpy", "linalg.matrix_rank-*0x*", "NumPy looks for the largest of no singular values"),
]

OPEN = [f"{name}-*{kind}*" for name in ("exp", "mean", "sin", "sqrt") for kind in ("int", "bool")]
"""Cases that the standard leaves undefined and the tape defines: real functions of integers and bools."""

NAMED = [case for case in CASES if not any(fnmatchcase(str(case), p) for p in (*OF_THE_ARRAY_ITSELF, *OPEN))]


@pytest.mark.parametrize("library", libraries(without=("array_api_strict",)), indirect=True)
@pytest.mark.parametrize("cases", by_function([*NAMED, *_cases()]))
def test_values_are_numpys(cases: list[Case], library: Library) -> None:
    hold_today(cases, library, values_are_numpys, KNOWN)


def expected(case: Case) -> list[Any]:
    """NumPy's results, or those of the case's reference where NumPy raises `ValueError`."""
    host = get_namespace("numpy")
    try:
        results = case.call(host, *case.arrays)
    except ValueError:
        if case.reference is None:
            raise
        results = case.reference(host, *case.arrays)
    return list(map(np.asarray, flat_list(results)))


def values_are_numpys(case: Case, library: Library) -> None:
    with np.errstate(all="ignore"):
        wanted = expected(case)
        found = flat_list(case.call(library.xp, *map(library.array, case.arrays)))
        found = [library.numpy(result) for result in found]
    for got, want in zip(found, wanted, strict=True):
        if case.function.startswith("unique_values"):  # whose order depends on the library
            got, want = np.sort(got), np.sort(want)
        rtol = max(case.rtol, 1e-5 if want.dtype in ("float16", "float32", "complex64") else 1e-9)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, strict=True)


@pytest.mark.parametrize("name", ["max", "min"])
def test_dask_extrema_of_no_elements(name: str) -> None:
    da = pytest.importorskip("dask.array")
    xp = get_namespace("dask")
    original = getattr(da, name)(da.zeros((3, 0, 2), chunks=1), axis=0)
    assert original.compute().shape != original.shape  # the error that is corrected
    for shape in ((3, 0, 2), (1, 0, 0)):
        result = getattr(xp, name)(da.zeros(shape, chunks=1, dtype="float32"), axis=0)
        assert result.compute().shape == result.shape == shape[1:]
        assert result.dtype == "float32"
    with pytest.raises(ValueError, match="no elements"):
        getattr(xp, name)(da.zeros((3, 0, 2), chunks=1), axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", ">f4", "int32"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 70, 40), 0), ((40, 3, 40), -2), ((3, 64, 16), 1), ((2000, 3), 0)])
def test_sums_along_an_axis_have_the_bits_of_numpys(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = (1e3 * np.random.default_rng(0).standard_normal(shape)).astype(dtype)
    x[0, 0, ...] = np.nan if dtype != "int32" else 0
    for name, ufunc in (("cumulative_sum", np.add), ("cumulative_prod", np.multiply)):
        with np.errstate(over="ignore", invalid="ignore"):
            found, wanted = getattr(get_namespace("numpy"), name)(x, axis=axis), ufunc.accumulate(x, axis=axis)
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()
