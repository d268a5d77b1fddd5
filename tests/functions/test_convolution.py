"""Convolution and pooling as functions: refusals, unknown lengths, gradients by rule and by parts, ties."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.functions.convolution import conv, conv_kernel, conv_to_shape, conv_transpose
from nbm_xp.functions.convolution_local import depthwise_conv2d, local_conv1d, local_conv2d, separable_conv2d
from nbm_xp.functions.padding import resize_images, spatial_2d_padding
from nbm_xp.functions.pooling import pool
from nbm_xp.namespace import set_image_data_format
from nbm_xp.tape import Variable, evaluate, function, gradients, placeholder
from nbm_xp.tape import namespace as recorded
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import libraries
from tests.helpers.windows import convolved, pooled

LINE, IMAGE, VOLUME = np.ones((1, 5, 2)), np.ones((1, 5, 4, 2)), np.ones((1, 3, 3, 3, 2))
K1, K2 = np.ones((3, 2, 4)), np.ones((3, 3, 2, 4))

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: conv(IMAGE, K2, padding="causal"), "padding must be one of .* got 'causal'"),
    (lambda: conv(IMAGE, K2, padding=((1, 1),)), r"padding must be a number or pair for each of 2 .*\(\(1, 1\),\)"),
    (lambda: conv(IMAGE, K2, padding=((1, 1), (-1, 0))), r"padding must be 0 or more, got .*-1"),
    (lambda: conv(IMAGE, K2, padding=((1, 1), 1.5)), r"padding must hold integers or pairs"),
    (lambda: conv(IMAGE, K2, strides=0), "strides must be 1 or more, got 0"),
    (lambda: conv(IMAGE, K2, strides=(1, 2, 3)), r"strides must be an integer or 2 integers.* got \(1, 2, 3\)"),
    (lambda: conv(IMAGE, K2, dilation_rate=(1, -1)), r"dilation_rate must be 1 or more, got \(1, -1\)"),
    (lambda: conv(IMAGE, K1, axes=2), r"kernel must have 4 axes.* got shape \(3, 2, 4\)"),
    (lambda: conv(LINE, K2), r"x must have as many axes as kernel.* got shapes \(1, 5, 2\)"),
    (lambda: conv(VOLUME, K2, axes=3), "kernel must have 5 axes"),
    (lambda: conv(LINE, K1[:, :1]), "x must have the 1 channels of kernel, got 2"),
    (lambda: conv(LINE, np.ones((7, 2, 1))), "kernel must not be larger than the array: a window of 7 .* 5 elements"),
    (lambda: conv(LINE, K1, dilation_rate=4), "a window of 9 does not fit into 5 elements with padding 'valid'"),
    (lambda: conv_to_shape(IMAGE, K2, (1, 7, 6), axes=2), r"output_shape must have 4 lengths, got \(1, 7, 6\)"),
    (lambda: conv_to_shape(IMAGE, K2[..., :2], (2, 7, 6, 2), axes=2), "output_shape must have 1 images, got 2"),
    (lambda: conv_to_shape(IMAGE, K2[..., :2], (1, 7, 6, 3), axes=2), "output_shape must have 2 channels, got 3"),
    (lambda: conv_to_shape(IMAGE, K2[..., :2], (1, 9, 6, 2), axes=2), "as many windows .* 9 gives 7, and y has 5"),
    (lambda: conv_to_shape(IMAGE, K2, (1, 7, 6, 2), axes=2), "y must have the 4 channels of kernel, got 2"),
    (lambda: conv_transpose(LINE, K1[..., :2], (4, 4)), r"lengths must be 1, one for each spatial axis, got \(4, 4\)"),
    (lambda: conv_kernel(LINE, LINE, 2), "y must have a position for each of 4 windows of axis 0, got 5"),
    (lambda: depthwise_conv2d(IMAGE, K2[:, :, :1]), "x must have the 1 channels of depthwise_kernel, got 2"),
    (lambda: depthwise_conv2d(IMAGE, K1), "x and depthwise_kernel must have 4 axes"),
    (lambda: separable_conv2d(IMAGE, K2, K2), r"pointwise_kernel must have shape \(1, 1, .* got \(3, 3"),
    (lambda: local_conv1d(LINE, np.ones((2, 6, 1)), (3,), (1,)), "kernel must hold one .* 3 windows, got 2"),
    (lambda: local_conv2d(IMAGE, np.ones((4, 8, 1)), (2, 2), (1, 1), (4,)), "output_shape must be the numbers"),
    (lambda: local_conv2d(IMAGE, np.ones((25, 8, 1)), (2, 2), (1, 1), (5, 5)), "output_shape must not be more than"),
    (lambda: pool(IMAGE, 2, ties="last"), "ties must be 'share', 'first' or 'whole', got 'last'"),  # type: ignore[arg-type]
    (lambda: pool(IMAGE, (2, 2, 2)), "pool_size must be an integer or 2 integers"),
    (lambda: pool(IMAGE, 9), "pool_size must not be larger than the array"),
    (lambda: pool(LINE, 2, axes=2), r"x must have 4 axes, got shape \(1, 5, 2\)"),
    (lambda: pool(np.ones((2, 2)), 1), "x must have three axes or more"),
    (lambda: resize_images(LINE, 1, 2), "x must have 4 axes"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[re.sub(r"\W+", "-", text)[:50] for _, text in REFUSED])
def test_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("strides", [1.5, "2", (1, None)])
def test_strides_are_integers(strides: Any) -> None:
    with pytest.raises(TypeError, match="strides must be an integer or 2 integers"):
        conv(IMAGE, K2, strides)


def test_the_data_format_is_as_configured() -> None:
    x = np.arange(20.0).reshape(1, 1, 5, 4)
    set_image_data_format("channels_first")
    assert conv(x, np.ones((3, 3, 1, 2))).shape == (1, 2, 3, 2)
    assert pool(x, 2).shape == (1, 1, 4, 3)
    assert spatial_2d_padding(x, (1, 2)).shape == (1, 1, 7, 8)


def test_mixed_dtypes_are_promoted() -> None:
    result = conv(np.arange(5).reshape(1, 5, 1), np.ones((2, 1, 1), dtype="float32"))
    assert result.dtype == "float64"
    assert conv(LINE.astype("float32"), K1.astype("float32")).dtype == "float32"


@pytest.mark.parametrize("padding", ["valid", "same", "full", "half", "causal", ((2, 1),)])
def test_unknown_lengths_are_told_and_kept(padding: Any) -> None:
    x, kernel = placeholder((None, None, 2), dtype="float64"), placeholder((None, 2, 3), dtype="float64")
    result = conv(x, kernel, 2, padding, dilation_rate=2)
    loss = recorded.sum(result * result)
    call = function([x, kernel], [result, *gradients(loss, [x, kernel])])
    for images, length, size in ((1, 9, 2), (3, 6, 3)):
        given = np.random.default_rng(length).standard_normal((images, length, 2))
        weights = np.random.default_rng(size).standard_normal((size, 2, 3))
        out, *slopes = call(given, weights)
        np.testing.assert_allclose(out, convolved(given, weights, 2, padding, 2), atol=1e-12)
        assert [slope.shape for slope in slopes] == [given.shape, weights.shape]


def test_a_graph_with_a_variable_stays_right_for_another_array() -> None:
    x = Variable(np.ones((1, 5, 1)))
    result = conv(x, np.ones((3, 1, 1)), 2, "same")
    assert result.shape == (1, 3, 1)
    x.set_value(np.ones((2, 8, 1)))
    assert evaluate(result).shape == (2, 4, 1)


def test_windows_too_large_are_an_error_when_the_length_is_known() -> None:
    x = placeholder((1, None, 1), dtype="float64")
    call = function([x], conv(x, np.ones((4, 1, 1))))
    assert call(np.ones((1, 3, 1))).shape == (1, 0, 1)
    with pytest.raises(ValueError, match="kernel must not be larger than the padded array"):
        call(np.ones((1, 1, 1)))
    pooled_call = function([x], pool(x, 4))
    with pytest.raises(ValueError, match="pool_size must not be larger than the padded array"):
        pooled_call(np.ones((1, 1, 1)))


def test_an_output_shape_may_be_recorded() -> None:
    x, kernel = placeholder((None, 2, 2, 3), dtype="float64"), Variable(np.ones((3, 3, 4, 3)))
    result = conv_to_shape(x, kernel, (x.shape[0], 5, 5, 4), strides=(2, 2), axes=2)
    assert function([x], result)(np.ones((2, 2, 2, 3))).shape == (2, 5, 5, 4)
    shape = np.asarray([2, 5, 5, 4])
    from_vector = conv_to_shape(np.ones((2, 2, 2, 3)), np.ones((3, 3, 4, 3)), shape, (2, 2), axes=2)
    assert from_vector.shape == (2, 5, 5, 4)


TIED = np.asarray([[2.0, 2.0, 1.0, 3.0], [2.0, 0.0, 3.0, 3.0]]).reshape(1, 2, 4, 1)


@pytest.mark.parametrize(
    ("ties", "want"),
    [
        ("share", [[1 / 3, 1 / 3, 0, 1 / 3], [1 / 3, 0, 1 / 3, 1 / 3]]),
        ("first", [[1, 0, 0, 1], [0, 0, 0, 0]]),
        ("whole", [[1, 1, 0, 1], [1, 0, 1, 1]]),
    ],
)
@pytest.mark.parametrize(
    "library", libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax"), indirect=True
)
@pytest.mark.at_night("jax")
def test_ties(library: Any, ties: Any, want: Any) -> None:
    x = Variable(library.array(TIED))
    slope = evaluate(gradients(recorded.sum(pool(x, (2, 2), (2, 2), ties=ties)), x))
    np.testing.assert_allclose(library.numpy(slope)[0, :, :, 0], want)


@pytest.mark.parametrize("ties", ["share", "first", "whole"])
def test_ties_to_second_order(ties: Any) -> None:
    generator = np.random.default_rng(8)
    x = generator.standard_normal((1, 5, 4, 2))
    check_gradient(lambda x: pool(x, (3, 2), (2, 1), "same", ties=ties) ** 2, x)


@pytest.mark.parametrize("ties", ["share", "first", "whole"])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
def test_windows_of_one_extreme_value_have_a_gradient(value: float, ties: Any) -> None:
    x = Variable(np.full((1, 3, 3, 1), value))
    result = pool(x, (2, 2), (2, 2), "same", ties=ties)
    np.testing.assert_array_equal(evaluate(result), np.full((1, 2, 2, 1), value))
    slope = evaluate(gradients(recorded.sum(result), x))
    assert np.all(np.isfinite(slope))
    assert np.sum(slope) == (9.0 if ties == "whole" else 4.0)


def test_a_root_of_no_squares_has_the_gradient_zero() -> None:
    x = Variable(np.zeros((1, 4, 1)))
    slope = evaluate(gradients(recorded.sum(pool(x, 2, 2, pool_mode="l2")), x))
    np.testing.assert_array_equal(slope, np.zeros((1, 4, 1)))


def test_complex_numbers_have_no_largest() -> None:
    with pytest.raises(TypeError, match="x must be real, got complex128"):
        pool(IMAGE.astype("complex128"), 2)


def test_empty_arrays() -> None:
    assert conv(np.ones((0, 4, 4, 2)), np.ones((3, 3, 2, 5)), padding="same").shape == (0, 4, 4, 5)
    assert conv(np.ones((2, 0, 4, 2)), np.ones((3, 3, 2, 5)), padding="same").shape == (2, 0, 4, 5)
    assert pool(np.ones((0, 4, 4, 2)), (2, 2)).shape == (0, 3, 3, 2)
    np.testing.assert_array_equal(conv(np.ones((1, 2, 2, 0)), np.ones((1, 1, 0, 3))), np.zeros((1, 2, 2, 3)))
    x, kernel = Variable(np.ones((0, 4, 1))), Variable(np.ones((2, 1, 1)))
    slopes = evaluate(gradients(recorded.sum(conv(x, kernel)), [x, kernel]))
    assert [slope.shape for slope in slopes] == [(0, 4, 1), (2, 1, 1)]
    np.testing.assert_array_equal(slopes[1], np.zeros((2, 1, 1)))


def test_pooling_of_integers_keeps_them() -> None:
    x = np.arange(-8, 8, dtype="int32").reshape(1, 4, 4, 1)
    result = pool(x, (3, 3), (2, 2), "same")
    assert result.dtype == "int32"
    np.testing.assert_array_equal(result, pooled(x, 3, 2, "same"))
