"""Elementary functions of the compiled core: accuracy, special values, what they tell of, layouts of memory, levels."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import core, host_namespace
from nbm_xp.namespace.exponentials import numpy_functions, own_functions
from nbm_xp.tape import Variable, evaluate, function, placeholder
from nbm_xp.tape import namespace as xp

pytestmark = pytest.mark.skipif(not core.functions, reason="there is no compiled core, or it is not used")

OWN: Mapping[tuple[str, str], Any] = own_functions(host_namespace()) if core.functions else {}
LARGEST_ERROR = {("exp", "float32"): 1.0, ("expm1", "float32"): 0.51, ("log1p", "float32"): 0.52,
                 ("log1p", "float64"): 0.82}  # fmt: skip
"""In units of the last place; NumPy's are 2.4 (exp), and 0.81 where the C library computes them."""

WIDER: dict[str, Any] = {"float32": np.float64, "float64": np.longdouble}

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]
TOLD = {
    "exp": [88.722832, 88.72284, 1e30, -87.33654, -89.0, -103.0, -104.5, -1e30],
    "expm1": [88.722832, 88.72284, 1e30, -17.5, -90.0, -1e30, 1e-40, -1e-40],
    "log1p": [-1.0, -0.99999994, -1.0000001, -3.0, 3e38, 1e-40, -1e-40, 1e-310, -1e-310],
}
each = pytest.mark.parametrize(("name", "dtype"), sorted(OWN))


def numbers(dtype: str, every: int = 4001) -> Any:
    """Finite numbers of all sizes and signs, and many of common ones."""
    rng = np.random.default_rng(0)
    bits = np.arange(0, 2**32, every, dtype=np.uint32).view(np.float32)
    spread = [rng.normal(0.0, scale, 100_003).astype(np.float32) for scale in (0.02, 0.4, 1.0, 9.0, 60.0)]
    near = -np.exp(rng.uniform(-17.0, 0.0, 100_003)).astype(np.float32)
    found = np.concatenate([bits, *spread, np.float32(-1.0) - near]).astype(dtype)
    found *= 1 + np.finfo(dtype).eps * rng.integers(0, 2**20, found.size).astype(dtype)
    return found[np.isfinite(found)]


def ulps(found: Any, exact: Any) -> Any:
    """The errors, in units of the last place of what is exact."""
    info = np.finfo(found.dtype)
    least = info.minexp - info.nmant
    exponents = np.frexp(np.abs(exact))[1] - 1 - info.nmant
    return np.abs(found.astype(exact.dtype) - exact) / np.ldexp(exact.dtype.type(1.0), np.maximum(exponents, least))


def told(call: Callable[[Any], Any], x: Any) -> list[str]:
    """What a call says of each kind."""
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


@each
def test_errors_are_as_small_as_is_said(name: str, dtype: str) -> None:
    if np.finfo(WIDER[dtype]).eps == np.finfo(dtype).eps:
        pytest.skip("there are no wider numbers here to compare with")
    with np.errstate(all="ignore"):
        x = numbers(dtype)
        exact = getattr(np, name)(x.astype(WIDER[dtype]))
        found = OWN[name, dtype](x)
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
        among = np.concatenate([plain, x, plain])  # found among others, in arrays that lie apart as well
        with np.errstate(all="ignore"):
            same(own(among)[999], found[0])
        wanted_of_it = [line for line in told(theirs, x) if "underflow" not in line]  # NumPy's depends on the machine
        if np.isfinite(value) and x[0] and abs(found[0]) < np.finfo(dtype).tiny:
            wanted_of_it.append(f"underflow encountered in {name}")
        assert told(own, x) == wanted_of_it
        assert told(own, among) == wanted_of_it
        assert told(own, np.repeat(among, 2)[::2]) == wanted_of_it
    assert told(own, plain) == []
    assert str(own) == str(theirs)


@each
def test_memory_of_any_layout(name: str, dtype: str) -> None:
    own = OWN[name, dtype]
    x = np.linspace(-0.9, 9.0, 5000, dtype=dtype)
    want = own(x)
    assert want.dtype == dtype
    one_by_one = np.asarray([own(number) for number in x[::50]])
    same(one_by_one, want[::50])
    same(own(x[::-3]), want[::-3])
    same(own(x.reshape(50, 100).T), want.reshape(50, 100).T)
    same(own(x.astype(x.dtype.newbyteorder())), want)
    for target, source in ((slice(None), slice(None)), (slice(1, None), slice(-1)), (slice(None, None, 2),) * 2):
        y = x.copy()
        own(y[source], out=y[target])  # onto itself, or a part of it
        same(y[target], want[source])
    assert own(x[:0]).shape == (0,)
    assert own(x[3]) == want[3]
    same(own(x, where=x > 0, out=np.zeros_like(x)), np.where(x > 0, want, 0))


@each
def test_levels_give_the_same_bits(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.concatenate([numbers(dtype, 65_537), np.asarray([*SPECIAL, *TOLD[name]], dtype)])
        want = numpy_functions.ufunc(name, core.levels[0])(x)
        for level in core.levels[1:]:
            found = numpy_functions.ufunc(name, level)(x)
            np.testing.assert_array_equal(found.view(f"i{x.itemsize}"), want.view(f"i{x.itemsize}"))


@each
def test_plans_of_that_dtype_call_them(name: str, dtype: str) -> None:
    numbers = np.linspace(-0.9, 5.0, 5000, dtype=dtype)
    for other in ("float16", "float32", "float64", "complex128"):
        x = placeholder((None,), dtype=other)
        wanted = OWN[name, dtype] if other == dtype else getattr(np, name)
        if (name, other) not in OWN or other == dtype:
            found = function([x], getattr(xp, name)(x))(numbers.astype(other))
            np.testing.assert_array_equal(found, wanted(numbers.astype(other)))
            assert found.dtype == other


@each
def test_a_value_that_is_looked_at_again_keeps_its_bits(name: str, dtype: str) -> None:
    numbers = np.linspace(-0.9, 5.0, 3000, dtype=dtype)
    value = getattr(xp, name)(Variable(numbers))
    for _ in range(4):  # computed by itself at first, then by a plan
        np.testing.assert_array_equal(evaluate(value), OWN[name, dtype](numbers))


@each
def test_they_are_pickled_by_name(name: str, dtype: str) -> None:
    own = OWN[name, dtype]
    assert pickle.loads(pickle.dumps(own)) is own


def test_what_is_no_such_kernel_is_refused() -> None:
    table = core.compiled.functions(core.level())
    with pytest.raises(TypeError, match="is no kernel of one array that writes another of its kind"):
        core.compiled.ufunc(np._core._multiarray_umath._UFUNC_API, "softmax", (table["softmax"],))  # type: ignore[attr-defined]
    for given in ((), (1, "log1p", ()), (1, "log1p", [table["log1p_float32"]])):
        with pytest.raises(TypeError, match="ufunc takes"):
            core.compiled.ufunc(*given)
    with pytest.raises((TypeError, ValueError)):
        core.compiled.ufunc(1, "log1p", (table["log1p_float32"],))
