"""Variables: valid values, setting a batch all or nothing, and copies as independent variables."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1, keras2, natural_bm
from nbm_xp.namespace import library_name, use_backend
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, composite, evaluate, function, placeholder
from tests.helpers.libraries import libraries

SURFACES = pytest.mark.parametrize("K", [keras1, keras2, natural_bm], ids=["keras1", "keras2", "natural_bm"])
VALUE = np.asarray([[1.5, -2.0, 3.0], [4.0, 5.0, 6.0]])


class Described:
    """A non-array with `__array__`, like datasets of files and data frames."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype)


@SURFACES
def test_what_becomes_an_array_sets_a_variable(K: Any) -> None:
    for given in (Described(VALUE), memoryview(VALUE), VALUE.tolist(), [Described(row) for row in VALUE]):
        one, other = K.zeros((2, 3)), K.zeros((2, 3), dtype="float64")
        K.set_value(one, given)
        K.batch_set_value([(other, given)])
        assert (one.get_value().dtype, other.get_value().dtype) == ("float32", "float64")
        np.testing.assert_array_equal(one.get_value(), VALUE)
        np.testing.assert_array_equal(other.get_value(), VALUE)


@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "jax", "cupy"))
@SURFACES
def test_on_every_library(K: Any, library: Any) -> None:
    with use_backend(library.name):
        variable = K.zeros((2, 3))
    K.batch_set_value([(variable, Described(VALUE))])
    assert library_name(variable.value) == library.name
    np.testing.assert_array_equal(variable.get_value(), VALUE)


@SURFACES
def test_datasets_of_a_file(K: Any, tmp_path: Any) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    variables = [K.zeros((2, 3)), K.zeros(()), K.zeros((3,), dtype="int32")]
    values = [VALUE, np.float64(2.5), np.asarray([1, 2, 3])]
    with h5py.File(tmp_path / "weights.h5", "w") as file:
        datasets = [file.create_dataset(str(place), data=value) for place, value in enumerate(values)]
        K.batch_set_value(zip(variables, datasets, strict=True))
        K.set_value(variables[0], datasets[0])
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_array_equal(K.get_value(variable), value)


@SURFACES
@pytest.mark.parametrize("wrong", [object(), ["one", "two"], [[1.0], [2.0, 3.0]], {"a": 1}, None, "12", b"12"])
def test_what_does_not_is_named_and_nothing_is_set(K: Any, wrong: Any) -> None:
    first, second = K.zeros((2,)), K.zeros((2,))
    with pytest.raises((TypeError, ValueError), match="value must be an array, a number or a nested list of numbers"):
        K.batch_set_value([(first, [1.0, 2.0]), (second, wrong)])
    with pytest.raises((TypeError, ValueError), match=r"value must have (1 axes|shape \(2,\))"):
        K.batch_set_value([(first, [1.0, 2.0]), (second, [[1.0, 2.0]])])
    assert first.get_value().tolist() == second.get_value().tolist() == [0.0, 0.0]


@pytest.fixture
def v() -> Variable:
    made = Variable(np.asarray([1.0, 2.0]), name="v")
    made.note = "kept"  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_copy_of_a_variable_holds_a_value_of_its_own(v: Variable, copied: Any) -> None:
    other = copied(v)
    other.set_value([8.0, 8.0])
    np.testing.assert_array_equal(evaluate(other * 1.0), [8.0, 8.0])
    np.testing.assert_array_equal(evaluate(v * 1.0), [1.0, 2.0])
    assert other.name == "v"


def test_attributes_are_copied(v: Variable) -> None:
    assert copy.deepcopy(v).note == copy.copy(v).note == "kept"


def test_a_copy_of_what_is_recorded_is_the_same_value(v: Variable) -> None:
    doubled = copy.deepcopy([v * 2.0])[0]
    v.set_value([3.0, 4.0])
    np.testing.assert_array_equal(evaluate(doubled), [6.0, 8.0])


def test_the_state_of_a_draw_is_not_copied() -> None:
    rng = RandomStreams(1)
    rng.uniform((2,))
    state = rng.state_updates[0][0]
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="the state of a random draw cannot be"):
            copied(state)


def test_complex_numbers_do_not_become_real(v: Variable) -> None:
    x = placeholder((None,), dtype="float64")
    run = function([x], x * 2.0)
    for attempt in (
        lambda: run(np.ones(2) * 1j), lambda: run([1j]), lambda: v.set_value([1j, 2.0]),
        lambda: Variable(1j, dtype="float32"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="complex numbers cannot become float"):
            attempt()
    np.testing.assert_array_equal(v.get_value(), [1.0, 2.0])


def test_a_composite_may_be_defined_anew_but_not_over_the_standard() -> None:
    def define(factor: float) -> Any:
        @composite(gradient=lambda g, out, x: g * factor, name="test_scaled")
        def scaled(x: Any) -> Any:
            return x * factor

        return scaled

    first, second = define(2.0), define(3.0)
    x = Variable(1.0)
    assert (float(first(x)), float(second(x))) == (2.0, 3.0)
    with pytest.raises(ValueError, match="declared already"):
        composite(gradient=lambda g, out, x: g, name="exp")(lambda x: x)
