"""Tensors as Python values: operators with operands of every type, conversions, variables, placeholders."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.tape import Tensor, Variable, evaluate, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip
OTHERS = {
    "int": 2, "float": 1.5, "bool": True, "float32 scalar": np.float32(1.5), "float64 scalar": np.float64(1.5),
    "int scalar": np.int64(2), "0-d array": np.asarray(1.5),
    "float32 array": np.asarray([1.5, 2.0, 0.5], dtype="float32"), "float64 array": np.asarray([[1.5, 2.0, 0.5]]),
    "int array": np.asarray([1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operators_with_what_is_not_recorded(op: Callable[..., Any], other: Any, dtype: str) -> None:
    array = np.asarray([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]], dtype=dtype)
    x = Variable(array)
    numpys = np.power if op is operator.pow else op  # before NumPy 2.3, float32 ** np.int64(2) is float32
    for result, expected in ((op(x, other), numpys(array, other)), (op(other, x), numpys(other, array))):
        assert isinstance(result, Tensor)
        assert result.dtype == str(expected.dtype)
        np.testing.assert_allclose(evaluate(result), expected, rtol=1e-6, strict=True)


@pytest.mark.parametrize("library", libraries("array_api_strict", "dask-halves", "torch", "jax", "cupy"), indirect=True)
@pytest.mark.parametrize("op", OPERATORS[:4] + OPERATORS[7:], ids=lambda op: op.__name__)
def test_operators_with_arrays_of_the_library(op: Callable[..., Any], library: Library) -> None:
    left, right = np.asarray([[0.5, 1.5], [2.5, 1.0]]), np.asarray([1.5, 2.0])
    x = Variable(library.array(left))
    np.testing.assert_allclose(library.numpy(evaluate(op(x, library.array(right)))), op(left, right))
    if library.name != "array_api_strict":  # its operators reject unknown types before the other operand is tried
        np.testing.assert_allclose(library.numpy(evaluate(op(library.array(right), x))), op(right, left))


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.lt])
@pytest.mark.parametrize("other", ["text", None, [1.0], object()])
def test_what_is_no_operand_is_refused(op: Callable[..., Any], other: Any) -> None:
    with pytest.raises(TypeError):
        op(Variable(1.0), other)


def test_integers_divide_to_the_configured_precision() -> None:
    x = Variable(np.asarray([1, 2]), dtype="int32")
    assert (x / x).dtype == (x / 2).dtype == (2 / x).dtype == "float32"
    assert (x / Variable(np.ones(2))).dtype == "float64"


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, 1e308])
def test_unusual_scalars_are_kept(value: float) -> None:
    x = Variable(np.asarray([1.0, -2.0]))
    np.testing.assert_array_equal(evaluate(xp.copysign(x, value)), np.copysign([1.0, -2.0], value))
    np.testing.assert_array_equal(evaluate(x + value), np.asarray([1.0, -2.0]) + value)
    np.testing.assert_array_equal(evaluate(xp.asarray(value, dtype="float64")), value)


def test_zeros_of_both_signs_are_two_values() -> None:
    x = Variable(np.asarray([1.0]))
    one, other = evaluate([x * 0.0, x * -0.0])
    assert np.signbit([one[0], other[0]]).tolist() == [False, True]


def test_whole_and_floating_scalars_are_two_values() -> None:
    x = Variable(np.asarray([3]), dtype="int64")
    whole, floating, true = evaluate([x * 1, x * 1.0, x * True])
    assert (whole.dtype, floating.dtype, true.dtype) == ("int64", "float64", "int64")


class TestConversion:
    def test_to_numbers(self) -> None:
        x = Variable(np.asarray([1.5, 2.5]))
        assert float(xp.sum(x)) == 4.0
        assert int(xp.sum(x)) == 4
        assert complex(xp.sum(x)) == 4.0
        assert bool(xp.sum(x) > 3.0)
        assert not bool(xp.all(x > 2.0))

    def test_to_an_index(self) -> None:
        count = Variable(2, dtype="int64")
        assert list(range(5))[count] == 2
        with pytest.raises(TypeError, match="integer"):
            operator.index(Variable(2.0))

    def test_length_and_iteration(self) -> None:
        x = Variable(np.arange(6.0).reshape(3, 2))
        assert len(x) == 3
        assert [float(row[0]) for row in x] == [0.0, 2.0, 4.0]
        with pytest.raises(TypeError, match="len"):
            len(Variable(1.0))
        with pytest.raises(TypeError, match="unknown"):
            len(placeholder((None,)))


class TestAttributes:
    def test_of_an_array(self) -> None:
        x = placeholder((None, 3), dtype="float64", name="x")
        assert (x.ndim, x.dtype, x.name, x.device) == (2, "float64", "x", "recorded")
        assert x.size is None
        assert Variable(np.ones((2, 3))).size == 6
        assert x.T.shape == (3, x.shape[0])
        assert x.mT.shape == (3, x.shape[0])
        assert x.to_device("recorded") is x
        with pytest.raises(ValueError, match="device"):
            x.to_device("gpu")

    def test_dot_is_that_of_numpy(self) -> None:
        a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(5, 4, 2)
        np.testing.assert_array_equal(evaluate(Variable(a).dot(b)), a.dot(b))

    def test_a_tensor_is_a_key(self) -> None:
        x, y = placeholder((2,)), placeholder((2,))
        table = {x: 1, y: 2}
        assert table[x] == 1
        assert [x, y].index(x) == 0


class TestPlaceholder:
    def test_what_is_wrong_is_named(self) -> None:
        with pytest.raises(ValueError, match="shape or ndim"):
            placeholder()
        with pytest.raises(ValueError, match="shape"):
            placeholder((-1,))
        with pytest.raises(TypeError, match="beerfloat"):
            placeholder((1,), dtype="beerfloat")


class TestVariable:
    def test_owns_its_value(self) -> None:
        source = np.ones(2)
        v = Variable(source)
        source[0] = 5.0
        copy = v.get_value()
        copy[1] = 7.0
        np.testing.assert_array_equal(v.get_value(), [1.0, 1.0])
        replacement = np.zeros(2)
        v.set_value(replacement)
        replacement[0] = 9.0
        np.testing.assert_array_equal(v.get_value(), [0.0, 0.0])

    def test_dtype(self) -> None:
        assert Variable(1.0).dtype == Variable([1, 2]).dtype == "float32"
        assert Variable(np.asarray([1])).dtype == "int64"
        assert Variable(np.asarray([1]), dtype="float64").dtype == "float64"
        v = Variable(np.ones(2))
        v.set_value([1, 2])
        assert v.get_value().dtype == "float64"

    def test_number_of_axes_stays(self) -> None:
        v = Variable(np.ones(2), name="bias")
        v.set_value(np.ones(5))
        assert v.shape == (5,)
        with pytest.raises(TypeError, match="bias"):
            v.set_value(np.ones((2, 2)))

    def test_is_there(self) -> None:
        assert Variable(np.zeros(3))
        assert not Variable(0.0)

    def test_of_a_tensor_is_its_value(self) -> None:
        v = Variable(np.ones(2))
        assert Variable(v * 3.0).get_value().tolist() == [3.0, 3.0]
        v.set_value(v * 2.0)
        assert v.get_value().tolist() == [2.0, 2.0]

    def test_lives_in_the_configured_library(self, library: Library) -> None:
        with use_backend(library.name):
            v = Variable([[1.0, 2.0]])
        assert v.library is library.xp
        assert library.numpy(v.value).tolist() == [[1.0, 2.0]]
