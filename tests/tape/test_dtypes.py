"""Dtypes of the tape's namespace: names that compare as strings, promotion, kinds and limits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.namespace import dtype_name, promote, set_floatx, to_floating
from nbm_xp.tape import Variable, evaluate, placeholder
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.dtypes import as_dtype, common_dtype
from nbm_xp.tape.standard.data_types import floating, together

NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_is_that_of_the_host(name: str) -> None:
    dtype, host = placeholder((2,), dtype=name).dtype, np.dtype(name)
    assert dtype is host is as_dtype(host) is as_dtype(name) is as_dtype(getattr(xp, name))
    assert dtype == name == str(dtype) == f"{dtype}" == pickle.loads(pickle.dumps(dtype))
    assert dtype == getattr(xp, name) and getattr(xp, name) not in ("beer", None, 3, dict)


@pytest.mark.parametrize("left", NAMES)
@pytest.mark.parametrize("right", NAMES)
def test_promotion_is_that_of_numpy(left: str, right: str) -> None:
    expected = np.result_type(np.dtype(left), np.dtype(right)).name
    a, b = placeholder((2,), dtype=left), placeholder((2,), dtype=right)
    assert common_dtype(as_dtype(left), as_dtype(right)) == expected
    assert xp.result_type(a, right) == xp.result_type(left, b) == expected
    if left[0] in "if" and right[0] in "if":
        assert (a * b).dtype == expected


def test_python_scalars_are_weak() -> None:
    assert xp.result_type(placeholder((2,), dtype="int8"), 3) == "int8"
    assert xp.result_type("float32", 3.0, True) == "float32"
    assert xp.result_type("float32", 1j) == "complex64"
    assert xp.result_type("int64", 1.0) == "float64"
    with pytest.raises(ValueError, match="at least one"):
        xp.result_type(1, 2.0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "complex64"])
def test_lengths_are_weak_integers(dtype: str) -> None:
    """As Python integers in NumPy: bool becomes int64, other dtypes are kept; operators and `isin` agree."""
    x = xp.asarray(np.ones(2, dtype=dtype))
    for length in (3, Variable(np.ones((3, 2))).shape[0], placeholder((None,)).shape[0]):
        assert xp.result_type(x, length) == xp.result_type(length, x) == (x + length).dtype
        assert xp.result_type(x, length) == np.result_type(np.ones(2, dtype=dtype), 3)
    assert evaluate(xp.isin(x, Variable(np.ones((1, 2))).shape[0])).all()


def test_kinds() -> None:
    assert xp.isdtype(xp.float32, "real floating")
    assert xp.isdtype("int8", ("bool", "signed integer"))
    assert xp.isdtype(xp.uint8, "integral")
    assert xp.isdtype(xp.float64, xp.float64)
    assert xp.isdtype(xp.float64, (xp.float32, xp.float64))
    assert not xp.isdtype(xp.bool, "numeric")
    assert not xp.isdtype(xp.float64, xp.float32)
    assert xp.isdtype(xp.complex64, "complex floating")
    with pytest.raises(ValueError, match="beer"):
        xp.isdtype(xp.float32, "beer")


def test_casting() -> None:
    assert xp.can_cast("int8", "int64")
    assert xp.can_cast(Variable(np.ones(2, dtype="float32")), xp.float64)
    assert not xp.can_cast("float64", "float32")
    assert not xp.can_cast("int32", "float32")


def test_the_configured_precision_is_the_default() -> None:
    for floatx in ("float32", "float64"):
        set_floatx(floatx)
        defaults = [xp.zeros(2), xp.ones(2), xp.asarray(1.0), xp.linspace(0, 1, 3), xp.eye(2), xp.arange(0.0, 1.0, 0.5)]
        assert {str(x.dtype) for x in (*defaults, placeholder((2,)), Variable([1.0]))} == {floatx}
    assert xp.arange(3).dtype == xp.asarray(3).dtype == "int64"
    assert xp.asarray(True).dtype == "bool"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_small_integers_become_the_configured_precision(dtype: str, precision: str) -> None:
    set_floatx(precision)
    x = Variable(np.asarray([1, 0], dtype=dtype))
    for y in (xp.exp(x), x * 0.5, 0.5 + x, xp.mean(x), xp.where(x != 0, x, 0.5), xp.maximum(x, 0.5)):
        assert y.dtype == evaluate(y).dtype == precision
    assert xp.result_type(x, 1.0) == precision


@pytest.mark.parametrize("precision", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*NAMES, "float16"])
def test_what_is_computed_and_what_is_recorded_have_one_promotion(name: str, precision: str) -> None:
    set_floatx(precision)
    x = np.ones(2, dtype=name)
    for scalar in (True, 2, 0.5, 1j):
        assert together(Variable(x), scalar)[0].dtype == dtype_name(promote(x, scalar)[0]), scalar
    assert floating(Variable(x)).dtype == dtype_name(to_floating(x))
    if name[0] != "c":
        for function in (B.sigmoid, B.log, B.mean, lambda x: B.maximum(x, 0.5)):
            assert function(Variable(x)).dtype == dtype_name(function(x))
