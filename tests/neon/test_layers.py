"""neon's layers and their operations: shapes, factors, sums, what is refused, and that nothing is written then."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Backend


@pytest.fixture
def be() -> Backend:
    return Backend(rng_seed=1, library="numpy")


def held(be: Backend, shape: Any, value: float = 7.0) -> Any:
    """A buffer that shows whether it was written to."""
    return be.array(np.full(shape, value))


def ramp(be: Backend, *shape: int) -> Any:
    return be.array(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape))


def test_lengths_may_be_integers_of_any_library(be: Backend) -> None:
    layer = be.conv_layer(np.float32, np.int64(2), 1, np.int32(3), H=np.int64(5), R=np.int8(3))
    assert (layer.dimO, layer.dimS, layer.nOut) == ((3, 1, 3, 1, 2), (3, 1), 9)
    assert type(layer.dimO[0]) is int
    assert str(layer.dtype) == "float32"
    assert repr(layer) == "<ConvLayer float32 (1, 1, 5, 1, 2) to (3, 1, 3, 1, 2)>"


def test_dilated_layers(be: Backend) -> None:
    layer = be.conv_layer("float32", 1, 1, 1, W=7, S=3, dil_w=2)
    assert layer.MPQ == (1, 1, 3)
    back = be.deconv_layer("float32", 1, 1, 1, P=1, Q=3, S=3, dil_w=2)
    assert back.DHW == (1, 1, 7)
    assert (back.dilation, back.nOut) == ((1, 1, 2), 7)


def test_deconvolution_of_volumes(be: Backend) -> None:
    assert be.deconv_layer("float32", 1, 1, 1, P=2, Q=2, M=3, T=2, str_d=2).DHW == (6, 2, 2)


def test_caffe_lets_pooling_alone_cover_all(be: Backend) -> None:
    be.set_caffe_compat()
    assert be.output_dim(6, 3, 0, 2) == 2
    assert be.output_dim(6, 3, 0, 2, pooling=True) == 3
    assert be.output_dim(3, 2, 1, 2, pooling=True) == 2  # a third window would lie in the padding alone
    assert be.conv_layer("float32", 1, 1, 1, H=6, R=3, str_h=2).P == 2
    assert be.pool_layer("float32", "avg", 1, 1, H=6, R=3, str_h=2).P == 3


def test_pooling_may_be_padded_by_less_than_a_spread_window(be: Backend) -> None:
    assert be.output_dim(4, 2, 2, 1, pooling=True, dilation=2) == 6
    with pytest.raises(ValueError, match="padding must be less than the window's size of 3"):
        be.output_dim(4, 2, 3, 1, pooling=True, dilation=2)


def test_no_window_may_lie_behind_all_elements(be: Backend) -> None:
    be.set_caffe_compat()
    assert be.output_dim(4, 1, 0, 2, pooling=True) == 3  # as neon counts them, though the third window is empty
    with pytest.raises(ValueError, match="along W: stride must lead to a window that holds an element"):
        be.pool_layer("float32", "max", 1, 1, W=4, str_w=2)


def test_neons_own_names_for_feature_maps(be: Backend) -> None:
    layer = be.pool_layer("float32", "max", 1, 5, J=3, pad_c=1, str_c=2)
    assert (layer.padding, layer.strides, layer.K) == ((1, 0, 0, 0), (2, 1, 1, 1), 3)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda be: be.conv_layer("float32", 0, 1, 1), ValueError, "N must be 1 or more"),
        (lambda be: be.conv_layer("float32", 1, 2.0, 1), TypeError, "C must be an integer"),
        (lambda be: be.conv_layer("float32", 1, 1, True), TypeError, "K must be an integer"),
        (lambda be: be.conv_layer("float32", 1, 1, 1, H=3, R=4), ValueError, "must fit along H: size must fit"),
        (lambda be: be.conv_layer("float32", 1, 1, 1, str_w=0), ValueError, "str_w must be 1 or more"),
        (lambda be: be.conv_layer("float32", 1, 1, 1, pad_d=-1), ValueError, "pad_d must be 0 or more"),
        (lambda be: be.conv_layer("nonsense", 1, 1, 1), TypeError, "nonsense"),
        (lambda be: be.pool_layer("complex64", "max", 1, 1), TypeError, "dtype must be one of real numbers"),
        (
            lambda be: be.deconv_layer("float32", 1, 1, 1, 1, 1, pad_h=1),
            ValueError,
            "along P: padding must leave an element",
        ),
        (lambda be: be.pool_layer("float32", "min", 1, 1), ValueError, "op must be one of 'max', 'avg', 'l2'"),
        (
            lambda be: be.pool_layer("float32", "max", 1, 1, H=4, R=2, pad_h=2),
            ValueError,
            "along H: padding must be less",
        ),
        (lambda be: be.pool_layer("float32", "max", 1, 1, H=2, R=3), ValueError, "size must fit"),
        (lambda be: be.pool_layer("float32", "max", 1, 4, str_j=0), ValueError, "str_j must be 1 or more"),
        (lambda be: be.output_dim(5, 2, 2, 1, pooling=True), ValueError, "padding must be less"),
        (lambda be: be.output_dim(5, 2, 0.0, 1), TypeError, "padding must be an integer"),
        (lambda be: be.output_dim(5, 2, 0, 0), ValueError, "strides must be 1 or more"),
    ],
)
def test_layers_that_cannot_be(be: Backend, make: Callable[..., Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make(be)


def test_a_factor_counts_without_beta_too(be: Backend) -> None:
    layer = be.conv_layer("float32", 1, 1, 1, W=2)
    out = held(be, (2, 1), np.nan)
    be.fprop_conv(layer, be.array([1, -2]), be.array([3]), out, alpha=2.0)
    np.testing.assert_array_equal(out.get(), [[6], [-12]])
    product = held(be, (1, 1), np.nan)
    assert be.compound_dot(be.array([[3]]), be.array([[4]]), product, alpha=0.5) is product
    np.testing.assert_array_equal(product.get(), [[6]])


def test_rectified_before_what_was_there_is_added(be: Backend) -> None:
    layer = be.conv_layer("float32", 1, 1, 1, W=2)
    out = held(be, (2, 1))
    be.fprop_conv(layer, be.array([1, -2]), be.array([3]), out, relu=True, beta=-1.0)
    np.testing.assert_array_equal(out.get(), [[-4], [-7]])


def test_a_layer_that_rectifies_and_sums(be: Backend) -> None:
    layer = be.conv_layer("float32", 2, 1, 2, W=2, relu=True, bsum=True)
    inputs, filters = be.array([[1, -1], [2, 3]]), be.array([[1, -1]])
    out, grad = be.empty(layer.dimO2), be.empty(layer.dimI2)
    sums = be.fprop_conv(layer, inputs, filters, out)
    np.testing.assert_array_equal(out.get(), [[1, 0], [2, 3], [0, 1], [0, 0]])
    np.testing.assert_array_equal(sums.get(), [[6], [1]])
    assert str(sums.dtype) == "float32"
    given = be.empty((1, 1), dtype="float64")
    assert be.bprop_conv(layer, filters, out, grad, bsum=given) is given
    np.testing.assert_array_equal(grad.get(), [[1, 0], [2, 3]])  # of 1, -1, 2 and 3
    np.testing.assert_array_equal(given.get(), [[6]])


def test_repeated_operations_add_up_as_often(be: Backend) -> None:
    layer = be.conv_layer("float32", 1, 1, 1)
    for method, arguments in ((be.fprop_conv, ([[2]], [[3]])), (be.bprop_conv, ([[2]], [[3]])),
                              (be.update_conv, ([[2]], [[3]]))):  # fmt: skip
        out = held(be, (1, 1), 1.0)
        method(layer, *map(be.array, arguments), out, repeat=3, beta=1.0)
        assert out.get().item() == 19.0
    assert be.compound_dot(be.array([[2]]), be.array([[3]]), held(be, (1, 1), 1.0), beta=1.0, repeat=3).get() == 19.0


def test_sums_of_rows(be: Backend) -> None:
    sums = be.empty((2, 1))
    be.compound_dot(ramp(be, 2, 2), ramp(be, 2, 2), held(be, (2, 2), 1.0), beta=1.0, bsum=sums)
    np.testing.assert_array_equal(sums.get(), [[19], [39]])


def test_operands_may_be_views_trees_and_have_five_axes(be: Backend) -> None:
    layer = be.conv_layer("float32", 2, 1, 1, H=2, W=2)
    whole, F = ramp(be, 4, 4), be.array([[2]])
    out = be.zeros((4, 4))
    be.fprop_conv(layer, whole[:, 1:3] * 2 + 1, F, out[:, 2:])
    np.testing.assert_array_equal(out.get()[:, 2:], 4 * whole.get()[:, 1:3] + 2)
    np.testing.assert_array_equal(out.get()[:, :2], 0)
    five = be.empty(layer.dimO)
    be.fprop_conv(layer, whole[:, 1:3].reshape(layer.dimI), F, five)
    np.testing.assert_array_equal(five.get().reshape(4, 2), 2 * whole.get()[:, 1:3])


def test_one_image_may_have_any_shape(be: Backend) -> None:
    """(C, H, W), as a picture that was just read has; of two, nobody could tell which axis is theirs."""
    layer = be.conv_layer("float32", 1, 2, 3, H=4, W=5, R=2, S=2)
    image, filters = ramp(be, 2, 4, 5), ramp(be, 8, 3)
    out, wanted, back = be.zeros((3, 3, 4)), be.zeros(layer.dimO2), be.zeros((2, 4, 5))
    be.fprop_conv(layer, image, filters, out)
    be.fprop_conv(layer, image.reshape(layer.dimI2), filters, wanted)
    be.bprop_conv(layer, filters, out, back)
    assert out.get().ravel().tolist() == wanted.get().ravel().tolist() and back.get().all()
    pooling, pooled = be.pool_layer("float32", "max", 1, 2, H=4, W=4, R=2, S=2), be.zeros((2, 2, 2))
    be.fprop_pool(pooling, ramp(be, 2, 4, 4), pooled)
    assert pooled.get().ravel().tolist() == [6, 8, 14, 16, 22, 24, 30, 32]
    with pytest.raises(ValueError, match=r"I must have shape \(40, 1\), or as many elements, got \(2, 4, 4\)"):
        be.fprop_conv(layer, ramp(be, 2, 4, 4), filters, out)
    two = be.conv_layer("float32", 2, 2, 3, H=4, W=5, R=2, S=2)
    with pytest.raises(ValueError, match=r"I must have .* as many elements of which 2 along the last axis, got \(4,"):
        be.fprop_conv(two, ramp(be, 4, 4, 5), filters, be.zeros(two.dimO2))


def test_what_is_written_is_nobody_elses(be: Backend) -> None:
    layer, inputs = be.pool_layer("float32", "max", 2, 3), ramp(be, 3, 2)
    out = be.empty((3, 2))
    be.fprop_pool(layer, inputs, out)  # windows of one element
    out[:] = 0
    np.testing.assert_array_equal(inputs.get(), [[1, 2], [3, 4], [5, 6]])
    product, one = be.empty((1, 2)), be.ones((1, 1))
    row = ramp(be, 1, 2)
    be.compound_dot(one, row, product)
    product.fill(0)
    np.testing.assert_array_equal(row.get(), [[1, 2]])


@pytest.mark.parametrize(
    ("position", "replacement", "error", "said"),
    [
        (0, object(), TypeError, "layer must be what conv_layer or deconv_layer returns"),
        (1, np.ones((4, 2)), TypeError, "I must be a buffer or an op-tree"),
        (1, "five rows", ValueError, r"I must have shape \(4, 2\)"),
        (1, "turned", ValueError, r"I must have shape \(4, 2\)"),
        (2, "five rows", ValueError, r"F must have shape \(2, 3\)"),
        (3, "five rows", ValueError, r"O must have shape \(9, 2\)"),
        (3, np.ones((9, 2)), TypeError, "O must be a buffer to write to"),
        (1, "elsewhere", ValueError, "I must be a buffer of numpy, got one of array_api_strict"),
        (1, "truth", TypeError, "I must hold numbers"),
        (4, "2", TypeError, "alpha must be a number"),
        (6, 0, ValueError, "repeat must be 1 or more"),
        (6, 1.5, TypeError, "repeat must be an integer"),
    ],
)
def test_convolution_refuses(be: Backend, position: int, replacement: Any, error: type[Exception], said: str) -> None:
    layer = be.conv_layer("float32", 2, 1, 3, W=4, S=2)
    made = {
        "five rows": lambda: be.ones((5, 2)),
        "turned": lambda: be.ones((2, 4)),
        "elsewhere": lambda: Backend(library="array_api_strict").ones((4, 2)),
        "truth": lambda: be.ones((4, 2), dtype="bool"),
    }
    arguments = [layer, be.ones((4, 2)), be.ones((2, 3)), held(be, (9, 2)), 1.0, False, 1]
    out = arguments[3]
    arguments[position] = made.get(replacement, lambda: replacement)() if isinstance(replacement, str) else replacement
    with pytest.raises(error, match=said):
        be.fprop_conv(*arguments)
    np.testing.assert_array_equal(out.get(), 7.0)


def test_sums_of_another_shape_are_refused(be: Backend) -> None:
    layer, out = be.conv_layer("float32", 1, 1, 3), held(be, (3, 1))
    with pytest.raises(ValueError, match=r"bsum must have shape \(3, 1\)"):
        be.fprop_conv(layer, be.ones((1, 1)), be.ones((1, 3)), out, bsum=be.ones((2, 1)))
    np.testing.assert_array_equal(out.get(), 7.0)


def test_pooling_refuses(be: Backend) -> None:
    layer = be.pool_layer("float32", "max", 1, 1, W=4, S=2)
    out, grad = held(be, (2, 1)), held(be, (4, 1))
    with pytest.raises(TypeError, match="layer must be what pool_layer returns"):
        be.fprop_pool(be.conv_layer("float32", 1, 1, 1), be.ones((4, 1)), out)
    with pytest.raises(ValueError, match="I must have shape"):
        be.fprop_pool(layer, be.ones((3, 1)), out)
    with pytest.raises(TypeError, match="argmax must hold integers"):
        be.fprop_pool(layer, be.ones((4, 1)), out, argmax=be.ones((2, 1)))
    with pytest.raises(ValueError, match="argmax must have shape"):
        be.fprop_pool(layer, be.ones((4, 1)), out, argmax=be.ones((4, 1), dtype="uint8"))
    with pytest.raises(ValueError, match="E must have shape"):
        be.bprop_pool(layer, be.ones((4, 1)), be.ones((3, 1)), grad)
    with pytest.raises(ValueError, match="I must be given: the gradient of 'max' pooling"):
        be.bprop_pool(layer, be.ones((2, 1)), grad, None)
    with pytest.raises(TypeError, match="takes 4 positional arguments"):
        be.fprop_pool(layer, be.ones((4, 1)), out, None, 1.0, 0.0, 3)
    for buffer in (out, grad):
        np.testing.assert_array_equal(buffer.get(), 7.0)


def test_places_of_wide_windows_need_room(be: Backend) -> None:
    layer = be.pool_layer("float32", "max", 1, 1, H=20, W=20, R=17, S=17)
    inputs, out = ramp(be, 400, 1), be.empty(layer.dimO2)
    with pytest.raises(ValueError, match="argmax must have room for 289 places"):
        be.fprop_pool(layer, inputs, out, argmax=be.empty(layer.dimO2, dtype="uint8"))
    argmax = be.empty(layer.dimO2, dtype="int32")
    be.fprop_pool(layer, inputs, out, argmax=argmax)
    assert argmax.get().item() == 288


def test_neons_own_calls_of_a_mean(be: Backend) -> None:
    """Its layers hand over errors, where to write, no places, and the factors, all by position."""
    layer = be.pool_layer("float32", "avg", 1, 1, W=4, S=2)
    grad = held(be, (4, 1))
    be.bprop_pool(layer, be.array([2, 4]), grad, None, 3.0, 1.0)
    np.testing.assert_array_equal(grad.get().reshape(-1), [10, 10, 13, 13])
    with pytest.raises(ValueError, match="'l2' pooling depends on the inputs"):
        be.bprop_pool(be.pool_layer("float32", "l2", 1, 1, W=4, S=2), be.array([2, 4]), grad, None, 3.0, 1.0)


def test_signatures_show_what_is_documented() -> None:
    assert list(inspect.signature(Backend.bprop_pool).parameters)[1:5] == ["layer", "I", "E", "grad_I"]
    kinds = [parameter.kind for parameter in inspect.signature(Backend.fprop_pool).parameters.values()]
    assert kinds[4:] == [inspect.Parameter.KEYWORD_ONLY] * 3


def test_the_root_of_nothing_has_no_gradient(be: Backend) -> None:
    layer = be.pool_layer("float32", "l2", 1, 1, W=4, S=2)
    grad = be.empty((4, 1))
    be.bprop_pool(layer, be.array([0, 0, 3, 4]), be.array([1, 5]), grad)
    np.testing.assert_allclose(grad.get().reshape(-1), [0, 0, 3, 4])


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((2, 3), (4, 4), (2, 4)), "B must have 3 rows"),
        (((2, 3), (3, 4), (3, 4)), r"C must have shape \(2, 4\)"),
        (((2, 3, 1), (3, 4), (2, 4)), "A must be a matrix"),
    ],
)
def test_products_refuse(be: Backend, shapes: Any, said: str) -> None:
    buffers = [held(be, shape) for shape in shapes]
    for method in (be.compound_dot, be.xnor_compound_dot):
        with pytest.raises(ValueError, match=said):
            method(*buffers)
    np.testing.assert_array_equal(buffers[2].get(), 7.0)


def test_products_with_signs_keep_what_is_asked(be: Backend) -> None:
    signs = be.array([[1, -1, 1], [-1, -1, -1]])
    out = held(be, (2, 2))
    assert be.xnor_compound_dot(signs, signs.T, out, beta=1.0) is out
    np.testing.assert_array_equal(out.get(), [[10, 6], [6, 10]])


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((2, 3), (3, 4), (2, 4)), "B must have three axes"),
        (((2, 3, 4), (4, 3), (2, 3)), "B must have three axes"),
        (((2, 3), (5, 2, 4), (5, 2, 4)), r"A must fit B of shape \(5, 2, 4\)"),
        (((5, 2, 4), (4, 4, 3), (2, 3)), r"A must fit B of shape \(4, 4, 3\)"),
        (((2, 3), (5, 3, 4), (5, 3, 4)), r"C must have shape \(5, 2, 4\)"),
    ],
)
def test_batched_products_refuse(be: Backend, shapes: Any, said: str) -> None:
    buffers = [held(be, shape) for shape in shapes]
    with pytest.raises(ValueError, match=said):
        be.batched_dot(*buffers)
    np.testing.assert_array_equal(buffers[2].get(), 7.0)


def unrolled(be: Backend, **changes: Any) -> tuple[Any, dict[str, Any]]:
    """Two steps of two units, and the buffer that they are written to."""
    h = held(be, (2, 6))
    arguments: dict[str, Any] = {
        "W_recur": be.ones((2, 2)), "h_prev_s": [h[:, 0:2], h[:, 2:4]], "h_ff_s": [be.ones((2, 2))] * 2,
        "h_s": [h[:, 2:4], h[:, 4:6]], "bias": be.ones((2, 1)), "nout": 2, "num_steps": 2, "num_used_steps": None,
        "activation": be.tanh,
    }  # fmt: skip
    return h, arguments | changes


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"nout": 3}, ValueError, r"W_recur must have shape \(3, 3\)"),
        ({"nout": 0}, ValueError, "nout must be 1 or more"),
        ({"num_steps": 3}, ValueError, "h_prev_s must have a buffer for each of 3 steps, got 2"),
        ({"num_used_steps": -1}, ValueError, "num_used_steps must be 0 or more"),
        ({"activation": 3}, TypeError, "activation must be callable"),
        ({"bias": None}, TypeError, "bias must be a buffer"),
        ({"h_prev_s": None}, TypeError, "h_prev_s must be a sequence of buffers"),
        ({"h_ff_s": [None, None]}, TypeError, r"h_ff_s\[0\] must be a buffer"),
    ],
)
def test_unrolling_refuses(be: Backend, change: dict[str, Any], error: type[Exception], said: str) -> None:
    h, arguments = unrolled(be, **change)
    with pytest.raises(error, match=said):
        be.compound_rnn_unroll_fprop(**arguments)
    np.testing.assert_array_equal(h.get(), 7.0)


def test_unrolling_no_step_writes_nothing(be: Backend) -> None:
    h, arguments = unrolled(be, num_used_steps=0)
    be.compound_rnn_unroll_fprop(**arguments)
    np.testing.assert_array_equal(h.get(), 7.0)


def test_unrolling_back_needs_a_slope(be: Backend) -> None:
    h, arguments = unrolled(be)
    lists = [arguments[name] for name in ("h_prev_s", "h_s", "h_s")]
    with pytest.raises(TypeError, match="activation must have a method bprop"):
        be.compound_rnn_unroll_bprop(arguments["W_recur"], *lists, 2, 2, 2, be.tanh)
    np.testing.assert_array_equal(h.get(), 7.0)


def looked_up(be: Backend, **changes: Any) -> tuple[Any, dict[str, Any]]:
    dW = held(be, (4, 1))
    arguments: dict[str, Any] = {
        "nin": 3, "inputs": be.array([[2, 0, 2]], dtype="int32"), "error": be.array([[1, 2, 4]]),
        "error_t": be.empty((3, 1)), "dW": dW, "pad_idx": None,
    }  # fmt: skip
    return dW, arguments | changes


def test_look_ups_scale_and_keep(be: Backend) -> None:
    dW, arguments = looked_up(be, pad_idx=0, alpha=2.0, beta=-1.0)
    be.compound_bprop_lut(**arguments)
    np.testing.assert_array_equal(dW.get().reshape(-1), [7, 7, 3, 7])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"nin": 0}, ValueError, "nin must be 1 or more"),
        ({"pad_idx": 1.5}, TypeError, "pad_idx must be an integer"),
        ({"inputs": [[2, 0]]}, ValueError, r"inputs must have shape \(1, 3\)"),
        ({"error_t": [[1, 2, 4]]}, ValueError, r"error_t must have shape \(3, 1\)"),
        ({"error": [[1, 2, 4]] * 2, "error_t": None}, ValueError, r"dW must have shape \(4, 2\)"),
    ],
)
def test_look_ups_refuse(be: Backend, change: dict[str, Any], error: type[Exception], said: str) -> None:
    kinds = {"inputs": "int32"}
    made = {
        name: be.array(value, dtype=kinds.get(name)) if isinstance(value, list) else value
        for name, value in change.items()
    }
    dW, arguments = looked_up(be, **made)
    with pytest.raises(error, match=said):
        be.compound_bprop_lut(**arguments)
    np.testing.assert_array_equal(dW.get(), 7.0)


def test_look_ups_by_fractions_are_refused(be: Backend) -> None:
    dW, arguments = looked_up(be, inputs=be.array([[2, 0, 2]]))
    with pytest.raises(TypeError, match="inputs must hold integers"):
        be.compound_bprop_lut(**arguments)
    np.testing.assert_array_equal(dW.get(), 7.0)


def test_look_ups_out_of_range_are_refused(be: Backend) -> None:
    dW, arguments = looked_up(be, inputs=be.array([[2, 0, 4]], dtype="int32"))
    with pytest.raises(IndexError):
        be.compound_bprop_lut(**arguments)
    np.testing.assert_array_equal(dW.get(), 7.0)


def test_gradients_of_integers(be: Backend) -> None:
    layer = be.pool_layer("int32", "max", 1, 1, W=4, S=2)
    inputs, errors = be.array([4, 4, 2, 3], dtype="int32"), be.array([1, 10], dtype="int32")
    grad = be.empty(layer.dimI2, dtype="int32")
    be.bprop_pool(layer, inputs, errors, grad)
    np.testing.assert_array_equal(grad.get().reshape(-1), [1, 0, 0, 10])
