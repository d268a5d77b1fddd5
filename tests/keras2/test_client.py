"""Undocumented functions that Keras 2.0 calls; tests/clients runs Keras itself."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp import tape
from nbm_xp.namespace import array_namespace, use_backend
from nbm_xp.tape import look_up_by_identity

RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def _by_value() -> Iterator[None]:
    yield
    look_up_by_identity(False)


def test_it_stands_in_for_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "some_backend", raising=False)
    K.install_as("some_backend")
    K.install_as("some_backend")  # a second call has no effect
    assert sys.modules["some_backend"] is K
    with pytest.raises(ImportError, match=r"json was imported already: call install_as\('json'\) before"):
        K.install_as("json")
    monkeypatch.delitem(sys.modules, "some_backend")


def test_a_list_is_searched_by_identity_only_when_asked() -> None:
    x, y, z = K.placeholder((None, 2)), K.placeholder((None, 3)), K.placeholder((None, 2))
    with pytest.raises(ValueError, match="broadcast"):
        _ = x in [y]
    with pytest.raises(TypeError, match="only a Tensor without axes"):
        _ = x in [z]
    number = K.placeholder(())
    with pytest.raises(ValueError, match="placeholder"):
        _ = number in [K.placeholder(())]
    look_up_by_identity()
    assert x not in [y, z] and x in [y, z, x]
    assert number not in [K.placeholder(())] and number in [K.placeholder(()), number]
    assert bool(K.variable(2.0) == K.variable(2.0)) and not bool(K.variable(2.0) == K.variable(3.0))
    equal = tape.function([x, z], x == z)
    np.testing.assert_array_equal(equal(np.ones((1, 2)), [[1.0, 2.0]]), [[True, False]])
    with pytest.raises(TypeError, match="only a Tensor without axes"):
        bool(x > z)


def test_scopes_of_names() -> None:
    with K.name_scope("outer"):
        with K.name_scope("inner"):
            assert K.variable(1.0, name="w").name == "outer/inner/w"
            assert K.variable(1.0).name is None
        assert K.variable(1.0, name="w").name == "outer/w"
    assert K.variable(1.0, name="w").name == "w"


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_depthwise_convolution_is_half_of_a_separable_one(data_format: str, padding: str) -> None:
    x = RNG.normal(size=(2, 6, 5, 3) if data_format == "channels_last" else (2, 3, 6, 5))
    depth, point = RNG.normal(size=(3, 2, 3, 2)), RNG.normal(size=(1, 1, 6, 4))
    half = K.depthwise_conv2d(x, depth, (2, 2), padding, data_format)
    whole = K.conv2d(half, point, data_format=data_format)
    np.testing.assert_allclose(whole, K.separable_conv2d(x, depth, point, (2, 2), padding, data_format), rtol=1e-10)
    with pytest.raises(ValueError, match="padding must be one of 'valid', 'same'"):
        K.depthwise_conv2d(x, depth, padding="full")


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 1, 2)])
def test_transposed_convolution_of_volumes_is_the_adjoint(data_format: str, padding: str, strides: tuple) -> None:
    first = data_format == "channels_first"
    x, kernel = RNG.normal(size=(2, 3, 6, 5, 4) if first else (2, 6, 5, 4, 3)), RNG.normal(size=(3, 2, 2, 3, 4))
    there = K.conv3d(x, kernel, strides, padding, data_format)
    y = RNG.normal(size=there.shape)
    back = K.conv3d_transpose(y, kernel, x.shape, strides, padding, data_format)
    np.testing.assert_allclose((there * y).sum(), (back * x).sum(), rtol=1e-10)
    with pytest.raises(ValueError, match="output_shape must have 5 lengths"):
        K.conv3d_transpose(y, kernel, x.shape[1:], strides, padding, data_format)


def test_a_function_has_a_name() -> None:
    with pytest.raises(TypeError, match="train takes 1 inputs, got 2"):
        K.function([K.placeholder(())], [], name="train")([1.0, 2.0])
    with pytest.raises(ValueError, match="takes name and no further keywords, got 'mode'"):
        K.function([], [], mode="fast")


def test_numbers_of_layers_on_another_library() -> None:
    """Keras computes with NumPy scalars from draws and from weight costs."""
    pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    with use_backend("array_api_strict"):
        weight = K.variable(K.random_uniform((3, 2), minval=-np.sqrt(0.5), maxval=np.sqrt(0.5), seed=1))
        assert array_namespace(weight.value).__name__ == "array_api_strict"
        cost = K.eval(K.sum(K.cast_to_floatx(0.5) * K.square(weight)))
        assert K.cast_to_floatx(np.float64(0.5)).dtype == "float32"
    drawn = K.eval(K.random_uniform((3, 2), minval=-float(np.sqrt(0.5)), maxval=float(np.sqrt(0.5)), seed=1))
    np.testing.assert_array_equal(weight.get_value(), drawn)
    assert float(cost) == pytest.approx(0.5 * (drawn**2).sum(), rel=1e-6)
