"""What the documented functions take beside arrays, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import floatx, set_floatx, use_backend
from nbm_xp import keras2 as K
from nbm_xp import natural_bm as B
from nbm_xp.functions import shaping
from nbm_xp.namespace import dtype_name, get_namespace, library_name
from nbm_xp.tape import Length, Tensor, Variable, evaluate, is_tensor, namespace
from tests.helpers.libraries import EAGER, Library

ONES = np.ones((2, 3), dtype="float32")


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "sqrt", "sigmoid", "logsumexp", "mean"])
def test_numbers_alone_are_arrays_of_floatx_in_the_default_library(name: str) -> None:
    got = getattr(B, name)(3)
    assert (library_name(got), dtype_name(got), got.ndim) == ("numpy", floatx(), 0)
    with use_backend("array_api_strict"):
        assert library_name(getattr(B, name)(3)) == "array_api_strict"


@pytest.mark.parametrize(("call", "want"), [
    (lambda: B.sum([1, 2, 3]), np.asarray(6)), (lambda: B.mean([1.0, 2.0]), np.asarray(1.5, dtype="float32")),
    (lambda: B.max([[1, 5], [7, 2]]), np.asarray(7)), (lambda: B.exp([0.0]), np.asarray([1.0], dtype="float32")),
    (lambda: B.pow(2, 3), np.asarray(8)), (lambda: B.equal(1, 2), np.asarray(False)),
    (lambda: B.equal([1, 2], [1.0, 3.0]), np.asarray([True, False])), (lambda: B.dot([1, 2], [3, 4]), np.asarray(11)),
    (lambda: B.maximum(1, 2.5), np.asarray(2.5, dtype="float32")), (lambda: B.dot(2, 3), np.asarray(6)),
    (lambda: B.cast(3, "float32"), np.asarray(3.0, dtype="float32")), (lambda: B.abs(-3), np.asarray(3)),
    (lambda: B.any([False, True]), np.asarray(True)),
    (lambda: K.argmax([[[1, 5], [7, 2]], [[0, 9], [3, 4]]], axis=(0, 2)), np.asarray([3, 0])),
    (lambda: B.zeros_like([1, 2]), np.zeros(2, dtype="int64")),
    (lambda: B.one_hot([1], 2), np.asarray([[0.0, 1.0]], dtype="float32")),
    (lambda: B.stack([1, np.ones(())]), np.asarray([1.0, 1.0])), (lambda: B.clip(5, 0, 1), np.asarray(1)),
    (lambda: B.transpose([[1, 2]]), np.asarray([[1], [2]])), (lambda: B.flatten(3), np.asarray([3])),
    (lambda: B.reshape([1, 2], (2, 1)), np.asarray([[1], [2]])), (lambda: B.tile([1], 2), np.asarray([1, 1])),
    (lambda: B.diag([[1, 2], [3, 4]]), np.asarray([1, 4])),
    (lambda: B.arange(np.asarray(3), dtype="int64"), np.asarray([0, 1, 2])),
    (lambda: B.cast_to_floatx([[1, 2.5]]), np.asarray([[1.0, 2.5]], dtype="float32")),
])  # fmt: skip
def test_numbers_and_lists(call: Callable[[], Any], want: np.ndarray) -> None:
    got = np.asarray(call())
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_lists_of_tensors_are_stacked() -> None:
    x, y = Variable(1.0), Variable(2.0)
    assert float(B.sum([x, y])) == 3.0
    assert bool(B.all([B.greater(x, 0), B.greater(y, 0)]))


def test_lengths_of_tensors_are_numbers() -> None:
    x = B.placeholder(shape=(None, 3))
    assert isinstance(x.shape[0], Length)
    root = B.sqrt(B.cast(x.shape[0], "float32"))
    assert isinstance(root, Tensor)
    (got,) = [B.function([x], root)(np.ones((4, 3)))]
    assert got == 2.0
    np.testing.assert_array_equal(B.function([x], B.sum(x) / x.shape[0])(np.ones((4, 3))), 3.0)


@pytest.mark.parametrize("library", EAGER, indirect=True)
def test_integers_average_to_floatx(library: Library) -> None:
    if library.name != "array_api_strict":
        set_floatx("float16")
        assert dtype_name(B.mean(library.array(np.asarray([1, 2])))) == "float16"
    set_floatx("float64")
    assert dtype_name(B.mean(library.array(np.asarray([1, 2])))) == "float64"
    assert dtype_name(B.one_hot(library.array(np.asarray([1, 2])), 3)) == "float64"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: shaping.reverse(ONES, 5), ValueError),
        (lambda: B.diag(np.ones(())), ValueError),
        (lambda: B.logdiffexp(np.ones(())), ValueError),
        (lambda: B.placeholder(ndim=2, sparse=True), NotImplementedError),
        (lambda: B.get_value(Variable(ONES) * 2), TypeError),
    ],
)
def test_what_no_record_has_raises(call: Callable[[], Any], error: type[Exception]) -> None:
    """Beside the records of the original systems in tests/golden."""
    with pytest.raises(error):
        call()


def test_clip_with_bounds_of_other_kinds() -> None:
    x = np.asarray([-2, 0, 5], dtype="int32")
    assert B.clip(x, 0, 3).dtype == "int32"
    assert B.clip(x, 0.5, 3).dtype == "float64"
    assert B.clip(x, 0, None).dtype == "float64"
    assert B.clip(ONES, np.float64(0.25), 0.5).dtype == "float64"
    bounds = Variable(0.25), Variable(0.5)
    np.testing.assert_array_equal(evaluate(B.clip(Variable(ONES), *bounds)), 0.5 * ONES)


def test_gradient_passes_at_the_bounds_of_clip() -> None:
    x = Variable(np.asarray([-1.0, 0.0, 1.0, 2.0]))
    got = evaluate(B.gradients(B.sum(B.clip(x, -1.0, 1.0)), x))
    np.testing.assert_array_equal(got, [1.0, 1.0, 1.0, 0.0])


def test_ties_share_or_get_the_whole() -> None:
    from nbm_xp.functions import extremes

    x = Variable(np.asarray([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]))
    for fn, sign in ((extremes.max, 1), (extremes.min, -1)):
        y = x * sign
        half = evaluate(B.gradients(B.sum(fn(y, axis=1)), y))
        whole = evaluate(B.gradients(B.sum(fn(y, axis=1, ties="whole")), y))
        np.testing.assert_array_equal(half, [[0, 0.5, 0.5], [0.5, 0.5, 0]])
        np.testing.assert_array_equal(whole, [[0, 1, 1], [1, 1, 0]])
    got = evaluate(B.gradients(B.max(x), x))
    np.testing.assert_array_equal(got, [[0, 1, 1], [0, 0, 0]])
    pairs = Variable(np.asarray([1.0, 2.0])), Variable(np.asarray([1.0, 0.0]))
    left, right = evaluate(B.gradients(B.sum(B.maximum(*pairs)), list(pairs)))
    np.testing.assert_array_equal([left, right], [[0.5, 1.0], [0.5, 0.0]])


def test_reverse_in_both_meanings() -> None:
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(B.reverse(x, -1), x)
    np.testing.assert_array_equal(shaping.reverse(x, -1), x[:, ::-1])


def test_logdiffexp_ignores_axis_in_natural_bm() -> None:
    x = np.asarray([[1.0, 2.0, 4.0]])
    np.testing.assert_allclose(B.logdiffexp(x, axis=0, keepdims=True), B.logdiffexp(x))


def test_arange_of_tensors_is_recorded() -> None:
    n = B.placeholder(ndim=0, dtype="int32")
    counting = B.arange(n)
    assert is_tensor(counting)
    np.testing.assert_array_equal(B.function([n], counting)(4), np.arange(4, dtype="int32"))
    assert not is_tensor(B.arange(4))


def test_recorded_shapes_follow_a_variable() -> None:
    x = B.variable(np.ones((2, 3)))
    vector, flat = B.shape(x), B.reshape(x, (B.shape(x)[0], -1))
    B.set_value(x, np.ones((4, 5)))
    np.testing.assert_array_equal(evaluate(vector), [4, 5])
    assert evaluate(flat).shape == (4, 5)


def test_nothing_is_widened_by_numbers() -> None:
    x = np.ones(3, dtype="float32")
    for got in (B.pow(x, 2), B.maximum(x, 0.5), B.clip(x, 0, 0.5), B.pow(0.5, x), B.dot(x, 2.0)):
        assert got.dtype == "float32"


def test_infinite_bounds_of_integers() -> None:
    assert namespace.isfinite is not None
    np.testing.assert_array_equal(B.clip(np.asarray([-5, 5]), None, math.inf), [-5.0, 5.0])


BIG_ENDIAN = np.asarray([[1.0, 2.0, 4.0], [0.5, 3.0, 1.0]], dtype=">f4")


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i4", ">u2", ">c16"])
@pytest.mark.parametrize(
    "call",
    [
        B.cumsum, B.cumprod, B.sum, B.var, B.sigmoid, lambda x: B.clip(x, 1, 2), lambda x: B.dot(x, x.T),
        lambda x: K.cumsum(x, axis=1), lambda x: K.cumprod(x, axis=None),
        lambda x: get_namespace("numpy").clip(x, x - 1, x + 1),
        lambda x: get_namespace("numpy").cumulative_sum(x, axis=0, include_initial=True),
    ],
)  # fmt: skip
def test_the_order_of_bytes_does_not_matter(call: Callable[[Any], Any], dtype: str) -> None:
    x = BIG_ENDIAN.astype(dtype)
    got, want = call(x), call(x.astype(x.dtype.newbyteorder("=")))
    np.testing.assert_array_equal(got, want)
    assert dtype_name(got) == dtype_name(want)


def test_nor_does_it_in_a_loss() -> None:
    target, output = BIG_ENDIAN / 5, BIG_ENDIAN / 9
    want = K.binary_crossentropy(target.astype("float32"), output.astype("float32"))
    np.testing.assert_array_equal(K.binary_crossentropy(target, output), want)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("library", EAGER, indirect=True)
@pytest.mark.at_night("jax")
def test_deviations_of_complex_numbers_are_real(name: str, dtype: str, library: Library) -> None:
    z = np.asarray([[1 + 2j, 3 - 1j], [0.5j, 2.0]], dtype=dtype)
    for axis in (None, 0):
        for x in (library.array(z), Variable(library.array(z))):
            got = getattr(B, name)(x, axis=axis)
            want = getattr(np, name)(z, axis=axis)
            assert dtype_name(got) == want.dtype
            np.testing.assert_allclose(library.numpy(evaluate(got) if is_tensor(got) else got), want, rtol=1e-6)


@pytest.mark.parametrize("x", [ONES, Variable(ONES)], ids=["array", "Tensor"])
def test_no_axis_is_no_place_for_a_new_one(x: Any) -> None:
    with pytest.raises(TypeError, match="axis must be an integer, got None"):
        K.expand_dims(x, axis=None)
    for function in (namespace.expand_dims, namespace.squeeze):
        with pytest.raises(TypeError, match="axis must be an integer or a tuple of integers, got None"):
            function(x, axis=None)
