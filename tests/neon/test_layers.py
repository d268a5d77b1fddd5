"""neon's layer operations beyond the recorded cases: factors, sums, repetitions; errors before anything is written."""

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


def sevens(be: Backend, *shape: int) -> Any:
    """A buffer of sevens, to detect whether it was written."""
    return be.array(np.full(shape, 7.0))


def ramp(be: Backend, *shape: int) -> Any:
    return be.array(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape))


def test_lengths_may_be_integers_of_any_library(be: Backend) -> None:
    layer = be.conv_layer(np.float32, np.int64(2), 1, np.int32(3), H=np.int64(5), R=np.int8(3))
    assert (layer.dimO, layer.dimS, layer.nOut) == ((3, 1, 3, 1, 2), (3, 1), 9)
    assert type(layer.dimO[0]) is int and str(layer.dtype) == "float32"
    assert repr(layer) == "<ConvLayer float32 (1, 1, 5, 1, 2) to (3, 1, 3, 1, 2)>"


def test_lengths_of_inputs_and_outputs(be: Backend) -> None:
    assert be.conv_layer("float32", 1, 1, 1, W=7, S=3, dil_w=2).MPQ == (1, 1, 3)
    back = be.deconv_layer("float32", 1, 1, 1, P=1, Q=3, S=3, dil_w=2)
    assert (back.DHW, back.dilation, back.nOut) == ((1, 1, 7), (1, 1, 2), 7)
    assert be.deconv_layer("float32", 1, 1, 1, P=2, Q=2, M=3, T=2, str_d=2).DHW == (6, 2, 2)
    named = be.pool_layer("float32", "max", 1, 5, J=3, pad_c=1, str_c=2)  # neon's own names for feature maps
    assert (named.padding, named.strides, named.K) == ((1, 0, 0, 0), (2, 1, 1, 1), 3)
    assert be.output_dim(4, 2, 2, 1, pooling=True, dilation=2) == 6
    be.set_caffe_compat()
    assert be.output_dim(3, 2, 1, 2, pooling=True) == 2  # a third window would contain only padding
    assert be.output_dim(4, 1, 0, 2, pooling=True) == 3  # as in neon, although the third window is empty
    assert be.conv_layer("float32", 1, 1, 1, H=6, R=3, str_h=2).P == 2
    assert be.pool_layer("float32", "avg", 1, 1, H=6, R=3, str_h=2).P == 3
    with pytest.raises(ValueError, match="along W: stride must lead to a window that holds an element"):
        be.pool_layer("float32", "max", 1, 1, W=4, str_w=2)


ONE = ("float32", 1, 1, 1)
POOL = ("float32", "max", 1, 1)
IMPOSSIBLE: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ("conv_layer", ("float32", 0, 1, 1), {}, ValueError, "N must be 1 or more"),
    ("conv_layer", ONE, {"H": 3, "R": 4}, ValueError, "must fit along H: size must fit"),
    ("conv_layer", ONE, {"str_w": 0}, ValueError, "str_w must be 1 or more"),
    ("conv_layer", ONE, {"pad_d": -1}, ValueError, "pad_d must be 0 or more"),
    ("deconv_layer", (*ONE, 1, 1), {"pad_h": 1}, ValueError, "along P: padding must leave an element"),
    ("pool_layer", ("complex64", "max", 1, 1), {}, TypeError, "dtype must be one of real numbers"),
    ("pool_layer", ("float32", "min", 1, 1), {}, ValueError, "op must be one of 'max', 'avg', 'l2'"),
    ("pool_layer", POOL, {"H": 4, "R": 2, "pad_h": 2}, ValueError, "along H: padding must be less"),
    ("pool_layer", POOL, {"H": 2, "R": 3}, ValueError, "size must fit"),
    ("pool_layer", POOL, {"str_j": 0}, ValueError, "str_j must be 1 or more"),
    ("output_dim", (5, 2, 2, 1), {"pooling": True}, ValueError, "padding must be less"),
    ("output_dim", (4, 2, 3, 1), {"pooling": True, "dilation": 2}, ValueError, "less than the window's size of 3"),
    ("output_dim", (5, 2, 0, 0), {}, ValueError, "strides must be 1 or more"),
    ("lrn_layer", ("float32", 1, 4), {"J": 2}, ValueError, "J must be odd"),
]


@pytest.mark.parametrize(("make", "args", "options", "error", "message"), IMPOSSIBLE)
def test_layers_that_cannot_be(be: Any, make: str, args: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(be, make)(*args, **options)


def ones(*shape: int, dtype: str | None = None) -> Callable[[Any], Any]:
    return lambda be: be.ones(shape, dtype=dtype)


def valid_arguments(be: Any, method: str) -> dict[str, Any]:
    """Valid arguments of a method; its destinations are filled with sevens."""
    h = sevens(be, 2, 6)
    images = {"roi_count": 1, "C": 1, "H": 3, "W": 3, "pooled_height": 2, "pooled_width": 2, "spatial_scale": 1.0}
    be.bsz = 1
    conv, pool = be.conv_layer("float32", 2, 1, 3, W=4, S=2), be.pool_layer("float32", "max", 1, 1, W=4, S=2)
    lrn = be.lrn_layer("float32", N=1, C=4)
    arguments: dict[str, dict[str, Any]] = {
        "fprop_conv": {"layer": conv, "I": be.ones((4, 2)), "F": be.ones((2, 3)), "O": sevens(be, 9, 2)},
        "fprop_pool": {"layer": pool, "I": be.ones((4, 1)), "O": sevens(be, 2, 1)},
        "bprop_pool": {"layer": pool, "I": be.ones((4, 1)), "E": be.ones((2, 1)), "grad_I": sevens(be, 4, 1)},
        "compound_dot": {"A": be.ones((2, 3)), "B": be.ones((3, 4)), "C": sevens(be, 2, 4)},
        "batched_dot": {"A": be.ones((2, 3)), "B": be.ones((5, 3, 4)), "C": sevens(be, 5, 2, 4)},
        "compound_rnn_unroll_fprop": {
            "W_recur": be.ones((2, 2)), "h_prev_s": [h[:, 0:2], h[:, 2:4]], "h_ff_s": [be.ones((2, 2))] * 2,
            "h_s": [h[:, 2:4], h[:, 4:6]], "bias": be.ones((2, 1)), "nout": 2, "num_steps": 2,
            "num_used_steps": None, "activation": be.tanh,
        },
        "compound_rnn_unroll_bprop": {
            "W_recur": be.ones((2, 2)), "delta_prev_s": [h[:, 0:2]], "delta_s": [h[:, 2:4]], "h_s": [h[:, 2:4]],
            "nout": 2, "num_steps": 1, "num_used_steps": 1, "activation": be.tanh,
        },
        "compound_bprop_lut": {
            "nin": 3, "inputs": be.array([[2, 0, 2]], dtype="int32"), "error": be.array([[1, 2, 4]]),
            "error_t": be.empty((3, 1)), "dW": sevens(be, 4, 1), "pad_idx": None,
        },
        "fprop_lrn": {"layer": lrn, "I": be.ones((4, 1)), "O": sevens(be, 4, 1), "denom": sevens(be, 4, 1)},
        "roipooling_fprop": {
            "I": be.ones((9, 1)), "rois": be.ones((1, 5)), "O": sevens(be, 4, 1),
            "argmax": be.array(np.full((4, 1), 7), dtype="int32"), **images,
        },
    }  # fmt: skip
    return arguments[method]


WRITTEN: dict[str, tuple[str, ...]] = {
    "fprop_conv": ("O",), "fprop_pool": ("O",), "bprop_pool": ("grad_I",), "compound_dot": ("C",),
    "batched_dot": ("C",), "compound_rnn_unroll_fprop": ("h_s",), "compound_rnn_unroll_bprop": ("delta_s",),
    "compound_bprop_lut": ("dW",), "fprop_lrn": ("O", "denom"), "roipooling_fprop": ("O", "argmax"),
}  # fmt: skip
BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("fprop_conv", {"I": ones(5, 2)}, ValueError, r"I must have shape \(4, 2\)"),
    ("fprop_conv", {"I": ones(2, 4)}, ValueError, r"I must have .* as many elements of which 2 along the last axis"),
    ("fprop_conv", {"F": ones(5, 2)}, ValueError, r"F must have shape \(2, 3\)"),
    ("fprop_conv", {"O": ones(5, 2)}, ValueError, r"O must have shape \(9, 2\)"),
    ("fprop_conv", {"I": lambda be: Backend(library="array_api_strict").ones((4, 2))}, ValueError,
     "I must be a buffer of numpy, got one of array_api_strict"),
    ("fprop_conv", {"I": ones(4, 2, dtype="bool")}, TypeError, "I must hold numbers"),
    ("fprop_conv", {"repeat": 0}, ValueError, "repeat must be 1 or more"),
    ("fprop_conv", {"bsum": ones(2, 1)}, ValueError, r"bsum must have shape \(3, 1\)"),
    ("fprop_pool", {"layer": lambda be: be.conv_layer(*ONE)}, TypeError, "layer must be what pool_layer returns"),
    ("fprop_pool", {"I": ones(3, 1)}, ValueError, "I must have shape"),
    ("fprop_pool", {"argmax": ones(2, 1)}, TypeError, "argmax must hold integers"),
    ("fprop_pool", {"argmax": ones(4, 1, dtype="uint8")}, ValueError, "argmax must have shape"),
    ("bprop_pool", {"E": ones(3, 1)}, ValueError, "E must have shape"),
    ("bprop_pool", {"I": None}, ValueError, "I must be given: the gradient of 'max' pooling"),
    ("compound_dot", {"B": ones(4, 4)}, ValueError, "B must have 3 rows"),
    ("compound_dot", {"C": ones(3, 4)}, ValueError, r"C must have shape \(2, 4\)"),
    ("compound_dot", {"A": ones(2, 3, 1)}, ValueError, "A must be a matrix"),
    ("batched_dot", {"B": ones(3, 4)}, ValueError, "B must have three axes"),
    ("batched_dot", {"A": ones(2, 3, 4), "B": ones(4, 3)}, ValueError, "B must have three axes"),
    ("batched_dot", {"B": ones(5, 2, 4)}, ValueError, r"A must fit B of shape \(5, 2, 4\)"),
    ("batched_dot", {"A": ones(5, 2, 4), "B": ones(4, 4, 3)}, ValueError, r"A must fit B of shape \(4, 4, 3\)"),
    ("batched_dot", {"C": ones(5, 3, 4)}, ValueError, r"C must have shape \(5, 2, 4\)"),
    ("compound_rnn_unroll_fprop", {"nout": 3}, ValueError, r"W_recur must have shape \(3, 3\)"),
    ("compound_rnn_unroll_fprop", {"nout": 0}, ValueError, "nout must be 1 or more"),
    ("compound_rnn_unroll_fprop", {"num_steps": 3}, ValueError, "h_prev_s must have a buffer for each of 3 steps, got"),
    ("compound_rnn_unroll_fprop", {"num_used_steps": -1}, ValueError, "num_used_steps must be 0 or more"),
    ("compound_rnn_unroll_fprop", {"h_ff_s": [None, None]}, TypeError, r"h_ff_s\[0\] must be a buffer"),
    ("compound_rnn_unroll_bprop", {}, TypeError, "activation must have a method bprop"),
    ("compound_bprop_lut", {"nin": 0}, ValueError, "nin must be 1 or more"),
    ("compound_bprop_lut", {"inputs": ones(1, 2, dtype="int32")}, ValueError, r"inputs must have shape \(1, 3\)"),
    ("compound_bprop_lut", {"inputs": ones(1, 3)}, TypeError, "inputs must hold integers"),
    ("compound_bprop_lut", {"inputs": lambda be: be.array([[2, 0, 4]], dtype="int32")}, IndexError, "index 4"),
    ("compound_bprop_lut", {"error_t": ones(1, 3)}, ValueError, r"error_t must have shape \(3, 1\)"),
    ("compound_bprop_lut", {"error": ones(2, 3), "error_t": None}, ValueError, r"dW must have shape \(4, 2\)"),
    ("fprop_lrn", {"layer": lambda be: be.pool_layer(*POOL)}, TypeError, "layer must be what lrn_layer returns"),
    ("fprop_lrn", {"I": ones(3, 1)}, ValueError, "I must have shape"),
    ("fprop_lrn", {"O": ones(3, 1)}, ValueError, "O must have shape"),
    ("fprop_lrn", {"denom": ones(3, 1)}, ValueError, "denom must have shape"),
    ("roipooling_fprop", {"I": ones(8, 1)}, ValueError, "I must have shape"),
    ("roipooling_fprop", {"rois": ones(1, 4)}, ValueError, "rois must have shape"),
    ("roipooling_fprop", {"O": ones(3, 1)}, ValueError, "O must have shape"),
    ("roipooling_fprop", {"argmax": ones(3, 1)}, ValueError, "argmax must have shape"),
    ("roipooling_fprop", {"C": 0}, ValueError, "C must be 1 or more"),
    ("roipooling_fprop", {"pooled_height": 0}, ValueError, "pooled_height must be 1 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "changes", "error", "message"), BAD)
def test_a_bad_argument_is_named_and_nothing_is_written(
    be: Any, method: str, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments = valid_arguments(be, method)
    made = {name: value(be) if inspect.isfunction(value) else value for name, value in changes.items()}
    with pytest.raises(error, match=message):
        getattr(be, method)(**{**arguments, **made})
    for target in (arguments[name] for name in WRITTEN[method]):
        for buffer in target if isinstance(target, list) else [target]:
            np.testing.assert_array_equal(buffer.get(), 7.0)


def test_a_factor_counts_without_beta_too(be: Backend) -> None:
    layer = be.conv_layer(*ONE, W=2)
    out, product = be.array([[np.nan], [np.nan]]), be.array([[np.nan]])
    be.fprop_conv(layer, be.array([1, -2]), be.array([3]), out, alpha=2.0)
    np.testing.assert_array_equal(out.get(), [[6], [-12]])
    assert be.compound_dot(be.array([[3]]), be.array([[4]]), product, alpha=0.5) is product
    np.testing.assert_array_equal(product.get(), [[6]])


def test_rectified_before_what_was_there_is_added(be: Backend) -> None:
    out = sevens(be, 2, 1)
    be.fprop_conv(be.conv_layer(*ONE, W=2), be.array([1, -2]), be.array([3]), out, relu=True, beta=-1.0)
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
    layer = be.conv_layer(*ONE)
    for method in (be.fprop_conv, be.bprop_conv, be.update_conv):
        out = be.ones((1, 1))
        method(layer, be.array([[2]]), be.array([[3]]), out, repeat=3, beta=1.0)  # type: ignore[operator]
        assert out.get().item() == 19.0
    assert be.compound_dot(be.array([[2]]), be.array([[3]]), be.ones((1, 1)), beta=1.0, repeat=3).get() == 19.0


def test_products_sum_their_rows(be: Any) -> None:
    sums = be.empty((2, 1))
    be.compound_dot(ramp(be, 2, 2), ramp(be, 2, 2), be.ones((2, 2)), beta=1.0, bsum=sums)
    np.testing.assert_array_equal(sums.get(), [[19], [39]])
    A, B, C = be.array([[1, -1, 1], [1, 1, 1]]), be.array([[1, 1], [1, -1], [1, 1]]), be.zeros((2, 2))
    for call in (  # by keyword, and by position as neon's own layers call it
        lambda: be.xnor_compound_dot(A, B, C, bsum=sums), lambda: be.xnor_compound_dot(A, B, C, 0.0, sums),
        lambda: be.compound_dot(A, B, C, 1.0, 0.0, False, sums),
    ):  # fmt: skip
        sums.fill(0)
        assert call() is C
        assert C.get().tolist() == [[1, 3], [3, 1]] and sums.get().tolist() == [[4], [4]]


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
    """(C, H, W) is accepted for one image; for two images the batch axis would be ambiguous."""
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


def test_results_share_no_memory_with_operands(be: Backend) -> None:
    layer, inputs = be.pool_layer("float32", "max", 2, 3), ramp(be, 3, 2)
    out, product, row = be.empty((3, 2)), be.empty((1, 2)), ramp(be, 1, 2)
    be.fprop_pool(layer, inputs, out)  # windows of one element
    be.compound_dot(be.ones((1, 1)), row, product)
    out[:] = product[:] = 0
    np.testing.assert_array_equal(inputs.get(), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(row.get(), [[1, 2]])


def test_places_of_wide_windows_need_room(be: Backend) -> None:
    layer = be.pool_layer("float32", "max", 1, 1, H=20, W=20, R=17, S=17)
    inputs, out, argmax = ramp(be, 400, 1), be.empty(layer.dimO2), be.empty(layer.dimO2, dtype="int32")
    with pytest.raises(ValueError, match="argmax must have room for 289 places"):
        be.fprop_pool(layer, inputs, out, argmax=be.empty(layer.dimO2, dtype="uint8"))
    be.fprop_pool(layer, inputs, out, argmax=argmax)
    assert argmax.get().item() == 288


def test_poolings_go_back_without_inputs(be: Any) -> None:
    """By position, neon's layers pass the errors, the destination, the indices or None, and the factors."""
    layer, grad = be.pool_layer("float32", "avg", 1, 1, W=4, S=2), sevens(be, 4, 1)
    be.bprop_pool(layer, be.array([2, 4]), grad, None, 3.0, 1.0)
    np.testing.assert_array_equal(grad.get().reshape(-1), [10, 10, 13, 13])
    with pytest.raises(ValueError, match="'l2' pooling depends on the inputs"):
        be.bprop_pool(be.pool_layer("float32", "l2", 1, 1, W=4, S=2), be.array([2, 4]), grad, None, 3.0, 1.0)
    with pytest.raises(TypeError, match="takes 4 positional arguments"):
        be.fprop_pool(layer, be.ones((4, 1)), be.ones((2, 1)), None, 1.0, 0.0, 3)


def test_gradients_of_poolings(be: Backend) -> None:
    grad = be.empty((4, 1))  # the square root at 0 has gradient 0
    be.bprop_pool(be.pool_layer("float32", "l2", 1, 1, W=4, S=2), be.array([0, 0, 3, 4]), be.array([1, 5]), grad)
    np.testing.assert_allclose(grad.get().reshape(-1), [0, 0, 3, 4])
    inputs, errors = be.array([4, 4, 2, 3], dtype="int32"), be.array([1, 10], dtype="int32")
    integers = be.empty((4, 1), dtype="int32")
    be.bprop_pool(be.pool_layer("int32", "max", 1, 1, W=4, S=2), inputs, errors, integers)
    np.testing.assert_array_equal(integers.get().reshape(-1), [1, 0, 0, 10])


def test_unrolling_no_step_writes_nothing(be: Backend) -> None:
    arguments = valid_arguments(be, "compound_rnn_unroll_fprop")
    be.compound_rnn_unroll_fprop(**{**arguments, "num_used_steps": 0})
    np.testing.assert_array_equal(arguments["h_s"][0].root.get(), 7.0)


def test_look_ups_scale_and_keep(be: Backend) -> None:
    arguments = valid_arguments(be, "compound_bprop_lut")
    dW = be.compound_bprop_lut(**{**arguments, "pad_idx": 0}, alpha=2.0, beta=-1.0)
    np.testing.assert_array_equal(dW.get().reshape(-1), [7, 7, 3, 7])
