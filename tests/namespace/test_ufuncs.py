"""Elementary functions of the compiled core: accuracy, special values, warnings, memory layouts, levels."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import core, exponentials, host_namespace

pytestmark = pytest.mark.skipif(not core.functions, reason="there is no compiled core, or it is not used")

LARGEST_ERROR = {
    ("exp", "float32"): 1.0, ("exp", "float64"): 0.9, ("expm1", "float32"): 0.51, ("log1p", "float32"): 0.52,
    ("log1p", "float64"): 0.83, ("sigmoid", "float32"): 2.3, ("sigmoid", "float64"): 2.4, ("softplus", "float32"): 2.7,
    ("softplus", "float64"): 1.7, ("tanh", "float32"): 2.32, ("tanh", "float64"): 1.1,
}  # fmt: skip
"""Largest errors in ULP. NumPy's are 2.4 (exp of float32), 1.4 and 1.2 (tanh); the C library's is 0.81 (log1p)."""

WITHIN = {(name, dtype): getattr(exponentials, name) for name, dtype in LARGEST_ERROR}
OWN: Mapping[tuple[str, str], Any] = {key: own for key, own in WITHIN.items() if hasattr(np, key[0])}

WIDER: dict[str, Any] = {"float32": np.float64, "float64": np.longdouble}

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]
TOLD = {
    "exp": [88.722832, 88.72284, 709.78, 709.79, 1e30, -87.33654, -89.0, -103.0, -104.5, -708.4, -745.0, -746.0, -1e30],
    "expm1": [88.722832, 88.72284, 1e30, -17.5, -90.0, -1e30, 1e-40, -1e-40],
    "log1p": [-1.0, -0.99999994, -1.0000001, -3.0, 3e38, 1e-40, -1e-40, 1e-310, -1e-310],
    "sigmoid": [88.8, 1e30, -88.0, -103.0, -104.5, -709.0, -745.0, -1e30],
    "softplus": [88.8, 1e30, -88.0, -103.0, -104.5, -709.0, -745.0, -1e30],
    "tanh": [0.625, 0.75, 9.0, 9.1, 19.0, 22.1, 3e38, 1e-40, -1e-40, 1e-310, -1e-310],
}
ANSWERS = {"sigmoid": [0.5, 0.5, 1.0, 0.0, np.nan], "softplus": [np.log(2.0), np.log(2.0), np.inf, 0.0, np.nan]}
within = pytest.mark.parametrize(("name", "dtype"), sorted(WITHIN))
each = pytest.mark.parametrize(("name", "dtype"), sorted(OWN))


def numbers(dtype: str, every: int = 4001) -> Any:
    """Finite numbers of all magnitudes and signs, and many of common magnitude."""
    rng = np.random.default_rng(0)
    bits = np.arange(0, 2**32, every, dtype=np.uint32).view(np.float32)
    spread = [rng.normal(0.0, scale, 100_003).astype(np.float32) for scale in (0.02, 0.4, 1.0, 9.0, 60.0)]
    near = -np.exp(rng.uniform(-17.0, 0.0, 100_003)).astype(np.float32)
    found = np.concatenate([bits, *spread, np.float32(-1.0) - near]).astype(dtype)
    found *= 1 + np.finfo(dtype).eps * rng.integers(0, 2**20, found.size).astype(dtype)
    return found[np.isfinite(found)]


def ulps(found: Any, exact: Any) -> Any:
    """Errors in ULP of the exact values."""
    info = np.finfo(found.dtype)
    least = info.minexp - info.nmant
    exponents = np.frexp(np.abs(exact))[1] - 1 - info.nmant
    return np.abs(found.astype(exact.dtype) - exact) / np.ldexp(exact.dtype.type(1.0), np.maximum(exponents, least))


def wide(name: str, x: Any) -> Any:
    """The function in higher precision."""
    if hasattr(np, name):
        return getattr(np, name)(x)
    e = np.exp(-np.abs(x))
    return np.maximum(x, 0) + np.log1p(e) if name == "softplus" else np.where(x > 0, 1 / (1 + e), e / (1 + e))


def told(call: Callable[[Any], Any], x: Any) -> list[str]:
    """Floating-point errors of a call, by kind."""
    said = []
    kinds: list[dict[str, Any]] = [{"divide": "raise"}, {"over": "raise"}, {"under": "raise"}, {"invalid": "raise"}]
    for kind in kinds:
        with np.errstate(all="ignore"), np.errstate(**kind):
            try:
                call(x)
            except FloatingPointError as error:
                said.append(str(error))
    return said


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.signbit(one)[~np.isnan(one)], np.signbit(other)[~np.isnan(other)])


@within
def test_errors_are_as_small_as_is_said(name: str, dtype: str) -> None:
    if np.finfo(WIDER[dtype]).eps == np.finfo(dtype).eps:
        pytest.skip("there are no wider numbers here to compare with")
    with np.errstate(all="ignore"):
        x = numbers(dtype)
        exact = wide(name, x.astype(WIDER[dtype]))
        found = WITHIN[name, dtype](x)
    seen = np.isfinite(exact) & (np.abs(exact) <= np.finfo(dtype).max)
    assert np.max(ulps(found[seen], exact[seen])) <= LARGEST_ERROR[name, dtype]


@each
def test_special_values_and_errors_are_those_of_numpy(name: str, dtype: str) -> None:
    own, theirs = OWN[name, dtype], getattr(np, name)
    plain = np.linspace(0.25, 0.75, 999, dtype=dtype)
    for value in [*SPECIAL, *TOLD[name]]:
        x = np.asarray([value], dtype)
        with np.errstate(all="ignore"):
            found, wanted = own(x), theirs(x)
        assert np.isfinite(found) == np.isfinite(wanted)
        if not np.isfinite(wanted) or not wanted:
            same(found, wanted)
        among = np.concatenate([plain, x, plain])  # the same values among others, also in non-contiguous arrays
        with np.errstate(all="ignore"):
            same(own(among)[999], found[0])
        wanted_of_it = [line for line in told(theirs, x) if "underflow" not in line]  # NumPy's differs between machines
        if np.isfinite(value) and x[0] and abs(found[0]) < np.finfo(dtype).tiny and name != "tanh":
            wanted_of_it.append(f"underflow encountered in {name}")
        assert told(own, x) == wanted_of_it
        assert told(own, among) == wanted_of_it
        assert told(own, np.repeat(among, 2)[::2]) == wanted_of_it
    assert told(own, plain) == []
    assert str(own) == str(theirs)


@pytest.mark.parametrize(("name", "dtype"), sorted(WITHIN.keys() - OWN.keys()))
def test_what_numpy_has_not_tells_of_nothing(name: str, dtype: str) -> None:
    own = WITHIN[name, dtype]
    assert told(own, np.asarray([*SPECIAL, *TOLD[name], *np.linspace(0.0, 1.0, 600)], dtype)) == []
    same(own(np.asarray(SPECIAL, dtype)), np.asarray(ANSWERS[name], dtype))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pickle searches numpy.core on NumPy 2.1
@within
def test_memory_of_any_layout(name: str, dtype: str) -> None:
    own = WITHIN[name, dtype]
    x = np.linspace(-0.9, 9.0, 5000, dtype=dtype)
    want = own(x)
    assert want.dtype == dtype
    assert pickle.loads(pickle.dumps(own)) is own
    one_by_one = np.asarray([own(number) for number in x[::50]])
    same(one_by_one, want[::50])
    same(own(x[::-3]), want[::-3])
    same(own(x.reshape(50, 100).T), want.reshape(50, 100).T)
    same(own(x.astype(x.dtype.newbyteorder())), want)
    for target, source in ((slice(None), slice(None)), (slice(1, None), slice(-1)), (slice(None, None, 2),) * 2):
        y = x.copy()
        own(y[source], out=y[target])  # in place, or onto an overlapping part
        same(y[target], want[source])
    assert own(x[:0]).shape == (0,)
    assert own(x[3]) == want[3]
    same(own(x, where=x > 0, out=np.zeros_like(x)), np.where(x > 0, want, 0))


@pytest.mark.parametrize("name", sorted(exponentials.FUNCTIONS))
def test_other_dtypes_are_computed_by_numpy(name: str) -> None:
    own, theirs = exponentials.FUNCTIONS[name], getattr(np, name)
    assert getattr(host_namespace(), name) is own
    assert own.types == theirs.types
    assert own.__doc__ == theirs.__doc__
    others = (np.float16, np.longdouble, np.complex64, np.complex128, np.int8, np.int16, np.int64, np.uint64, np.bool_)
    with np.errstate(all="ignore"):
        for dtype in others:
            x = np.asarray([0, 1, 1, 0], dtype)
            found, wanted = own(x), theirs(x)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=3e-7)
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    assert own(masked).mask.tolist() == [False, True]
    with pytest.raises(TypeError, match=f"ufunc '{name}' not supported"):
        own(np.asarray(["text"]))
