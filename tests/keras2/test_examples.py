"""What the document of Keras 2.0's backend shows by example, function by function."""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp.tape import is_tensor
from nbm_xp.tape import placeholder as bare_placeholder


def test_settings() -> None:
    assert K.epsilon() == 1e-7  # the document's example has 1e-08, its function 1e-07
    K.set_epsilon(1e-5)
    assert K.epsilon() == 1e-5
    assert K.floatx() == "float32"
    K.set_floatx("float16")
    assert K.floatx() == "float16"
    K.set_image_data_format("channels_first")
    assert K.image_data_format() == "channels_first"
    K.set_image_data_format("channels_last")
    assert K.image_data_format() == "channels_last"


def test_legacy_names_of_image_layouts() -> None:
    K.set_image_dim_ordering("th")
    assert (K.image_dim_ordering(), K.image_data_format()) == ("th", "channels_first")
    K.set_image_dim_ordering("tf")
    assert (K.image_dim_ordering(), K.image_data_format()) == ("tf", "channels_last")
    with pytest.raises(ValueError, match="'tf' or 'th'"):
        K.set_image_dim_ordering("channels_last")


def test_what_is_a_tensor_of_keras() -> None:
    with pytest.raises(ValueError, match="Tensor"):
        K.is_keras_tensor(np.asarray([1, 2]))
    assert not K.is_keras_tensor(bare_placeholder((1, 1)))
    assert K.is_keras_tensor(K.variable(np.asarray([1, 2])))
    assert K.is_keras_tensor(K.placeholder(shape=(2, 4, 5)))


def test_shapes() -> None:
    x, y = K.placeholder(shape=(2, 4, 5)), K.variable(np.asarray([[1, 2], [3, 4]]))
    assert x._keras_shape == (2, 4, 5)
    assert (K.int_shape(x), K.int_shape(y)) == ((2, 4, 5), (2, 2))
    assert (K.ndim(x), K.ndim(y)) == (3, 2)
    recorded = K.shape(x)
    assert is_tensor(recorded)
    assert recorded.dtype == "int32"
    np.testing.assert_array_equal(K.eval(K.shape(y)), [2, 2])
    np.testing.assert_array_equal(K.eval(recorded), [2, 4, 5])


@pytest.mark.parametrize(
    ("x", "y", "product"),
    [((2, 3), (3, 4), (2, 4)), ((32, 28, 3), (3, 4), (32, 28, 4)), ((2, 3), (4, 3, 5), (2, 4, 5))],
)
def test_dot(x: tuple[int, ...], y: tuple[int, ...], product: tuple[int, ...]) -> None:
    assert K.int_shape(K.dot(K.placeholder(shape=x), K.placeholder(shape=y))) == product


def test_batch_dot() -> None:
    x, y = np.asarray([[1.0, 2.0], [3.0, 4.0]]), np.asarray([[5.0, 6.0], [7.0, 8.0]])
    np.testing.assert_array_equal(K.batch_dot(x, y, axes=1), [[17.0], [53.0]])  # a column, as its shape rule has it
    long = K.batch_dot(K.placeholder((100, 20)), K.placeholder((100, 30, 20)), axes=(1, 2))
    assert K.int_shape(long) == (100, 30)
    assert K.int_shape(K.batch_dot(K.ones(shape=(32, 20, 1)), K.ones(shape=(32, 30, 20)), axes=[1, 2])) == (32, 1, 30)
