"""What variables can be set to: whatever NumPy makes an array of; all of a batch, or none."""

from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1, keras2, natural_bm
from nbm_xp.namespace import library_name, use_backend
from tests.helpers.libraries import libraries

SURFACES = pytest.mark.parametrize("K", [keras1, keras2, natural_bm], ids=["keras1", "keras2", "natural_bm"])
VALUE = np.asarray([[1.5, -2.0, 3.0], [4.0, 5.0, 6.0]])


class Described:
    """Something that is no array and says how to become one, as datasets of files and frames of tables do."""

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
