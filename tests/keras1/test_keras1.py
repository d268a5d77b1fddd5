"""Keras 1.0's backend beyond the recorded calls: errors, learning phases, broadcast branches, masks, seeds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1 as K
from tests.helpers.libraries import EAGER, Library

X = np.asarray([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
ROW = np.asarray([7.0, 8.0, 9.0])
IMAGES, FILTERS = np.ones((2, 3, 5, 4)), np.ones((4, 3, 2, 2))
SEQUENCES = np.ones((2, 4, 3))

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: K.conv2d(IMAGES, FILTERS[:, :2]), "x must have the 2 channels of kernel, got 3"),
    (lambda: K.conv2d(IMAGES, FILTERS[0]), r"kernel must have 4 axes, \(filters, channels, \*sizes\), got shape \(3,"),
    (lambda: K.conv2d(IMAGES, FILTERS, image_shape=(2, 3, 5, 5)), r"image_shape must be .*5, 4\).* \(2, 3, 5, 5\)"),
    (lambda: K.conv2d(IMAGES, FILTERS, filter_shape=(4, 3, 2)), r"filter_shape must be the shape \(4, 3, 2, 2\)"),
    (lambda: K.spatial_2d_padding(IMAGES, (1, -1)), r"padding must hold integers of 0 or more, got \(1, -1\)"),
    (lambda: K.function([], [], nothing=1), "unexpected keyword argument 'nothing'; it takes givens"),
    (lambda: K.rnn(lambda x, states: (x, []), np.ones((2, 3)), []), "inputs must have three axes"),
    (lambda: K.rnn(lambda x, states: (x, []), SEQUENCES, [], unroll=True, input_length=5),
     "input_length must be from 1 to 4, the moments that inputs has, got 5"),
    (lambda: K.rnn(lambda x, states: (x, []), K.placeholder((2, None, 3)), [], unroll=True), "input_length"),
    (lambda: K.gradients(K.variable([1.0, 2.0]), [K.variable(1.0)]), "loss must be a Tensor without axes"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        call()
    assert re.search(message, str(caught.value))


def test_shapes_that_are_told_in_part_pass() -> None:
    images, filters = K.placeholder((None, 3, 5, 4)), K.variable(FILTERS)
    made = K.conv2d(images, filters, image_shape=(None, 3, None, 4), filter_shape=(4, 3, 2, 2))
    assert K.int_shape(made) == (None, 4, 4, 3)
    K.conv2d(images, filters, image_shape=(7, 3, 5, 4))  # unknown lengths are accepted


@pytest.mark.parametrize("backwards", [False, True])
def test_unrolling_takes_the_steps_that_are_told(backwards: bool) -> None:
    x = np.arange(8.0).reshape(1, 4, 2)
    last, outputs, _ = K.rnn(lambda now, states: (now, []), x, [], backwards, unroll=True, input_length=3)
    expected = x[:, 2::-1] if backwards else x[:, :3]
    np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_array_equal(last, expected[:, -1])


def test_slopes_may_be_learned() -> None:
    """A layer's slope and bound for each element; each gets the gradient of the elements that it determines."""
    x, alpha, bound = K.variable([-2.0, 0.0, 3.0, 9.0]), K.variable([0.5] * 4), K.variable([6.0] * 4)
    y = K.relu(x, alpha, bound)
    np.testing.assert_array_equal(K.eval(y), [-1.0, 0.0, 3.0, 6.0])
    to_x, to_alpha, to_bound = (K.eval(g).tolist() for g in K.gradients(K.sum(y), [x, alpha, bound]))
    assert (to_x, to_alpha, to_bound) == ([0.5, 0.75, 1.0, 0.0], [-2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])


def test_dropout_without_a_seed_goes_on_drawing() -> None:
    x = K.variable(np.ones(64))
    first, second = K.dropout(x, 0.5), K.dropout(x, 0.5)
    assert not np.array_equal(K.eval(first), K.eval(second))
    assert not np.array_equal(K.eval(first), K.eval(first))


def test_without_a_seed_the_global_state_of_numpy_draws_theanos() -> None:
    """The seed is below ten million, as in Keras 1.0, so that dropout drops the same elements as on Theano."""
    draws = [
        lambda seed: K.dropout(np.ones(64), 0.5, seed=seed), lambda seed: K.random_normal((64,), seed=seed),
        lambda seed: K.random_uniform((64,), seed=seed), lambda seed: K.random_binomial((64,), 0.5, seed=seed),
    ]  # fmt: skip
    for draw in draws:
        np.random.seed(9)  # noqa: NPY002 - what old programs call
        drawn = K.eval(draw(None))
        state = np.random.RandomState(9)
        np.testing.assert_array_equal(drawn, K.eval(draw(state.randint(10**7))))
        assert np.random.random_sample() == state.random_sample()  # noqa: NPY002
    uniforms = K.eval(K.random_uniform((64,), seed=42))
    np.testing.assert_array_equal(K.eval(K.random_binomial((64,), 0.5, seed=42)), uniforms < 0.5)
    np.testing.assert_array_equal(K.eval(K.dropout(np.ones(64), 0.5, seed=42)) / 2, uniforms < 0.5)


def test_what_keras_has_beside_its_documents() -> None:
    x = K.variable(np.arange(6.0).reshape(2, 3))
    assert K.eval(K.flatten(x)).tolist() == [0, 1, 2, 3, 4, 5]
    assert K.eval(K.tile(x, (2, 1))).tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]]
    assert K.eval(K.pack([x, 2 * x])).shape == (2, 2, 3)
    with pytest.raises(ValueError, match=r"equal lengths.*\(2, 3\) and \(2, 2\)"):
        K.pack([x, x[:, :2]])


@pytest.mark.parametrize(
    ("axes", "x_shape", "y_shape"), [(0, (4, 3), (4, 3)), ((0, 1), (4, 3), (3, 4)), ((1, 0), (3, 4), (4, 3))]
)
def test_either_axis_of_matrices_is_summed_over(axes: Any, x_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=x_shape), rng.normal(size=y_shape)
    rows, columns = x.T if x_shape == (4, 3) else x, y.T if y_shape == (4, 3) else y
    expected = (rows * columns).sum(axis=1)[:, None]
    np.testing.assert_allclose(K.batch_dot(x, y, axes=axes), expected)
    recorded = K.batch_dot(K.variable(x, dtype="float64"), K.variable(y, dtype="float64"), axes=axes)
    np.testing.assert_allclose(K.eval(recorded), expected)
    with pytest.raises(ValueError, match="axes must name an axis after the first of each array"):
        K.batch_dot(x[:, :, None], y, axes=0)


@pytest.mark.parametrize("library", EAGER, indirect=True)
@pytest.mark.parametrize("condition", [0, 1, X > 0, X[0] > 0])
@pytest.mark.parametrize("other", [ROW, X[:, :1], -X, 2.0, 2])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.at_night("jax")
def test_switch_broadcasts(library: Library, condition, other, recorded):
    def hand(value):
        if not isinstance(value, np.ndarray):
            return value
        return K.variable(value, dtype=value.dtype.name) if recorded else library.array(value)

    for then, otherwise in ((X, other), (other, X)):
        chosen = K.switch(hand(condition), hand(then), hand(otherwise))
        chosen = K.eval(chosen) if recorded else library.numpy(chosen)
        np.testing.assert_array_equal(chosen, np.where(condition, then, otherwise))


@pytest.mark.parametrize("phase", [0, 1])
def test_phases_broadcast_and_so_do_their_gradients(phase):
    x, y = K.placeholder(ndim=2), K.placeholder(ndim=1)
    chosen = K.in_train_phase(x, y)
    f = K.function([x, y, K.learning_phase()], [chosen, *K.gradients(K.sum(chosen * chosen), [x, y])])
    value, of_x, of_y = f([X, ROW, phase])
    assert chosen._uses_learning_phase
    np.testing.assert_array_equal(value, X if phase else [ROW, ROW])
    np.testing.assert_array_equal(of_x, 2 * X * phase)
    np.testing.assert_array_equal(of_y, 4 * ROW * (1 - phase))


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.5])
@pytest.mark.parametrize("largest", [-0.5, 0.0, 1.5])
def test_relu_cuts_off_whatever_is_larger(alpha, largest):
    x = K.variable(X, dtype="float64")
    y = K.relu(x, alpha, largest)
    uncut = np.where(X > 0, X, alpha * X)
    np.testing.assert_array_equal(K.eval(y), np.minimum(uncut, largest))
    slope = np.where(uncut <= largest, np.where(X > 0, 1.0, alpha), 0.0)
    np.testing.assert_array_equal(K.eval(K.gradients(K.sum(y), [x])[0]), slope)
    np.testing.assert_array_equal(K.relu(X, alpha, largest), np.minimum(uncut, largest))


@pytest.mark.parametrize("unroll", [False, True])
def test_a_mask_says_one_thing_of_all_features(unroll):
    x = np.ones((2, 4, 3))
    with pytest.raises(ValueError, match=r"mask must have shape .*, got \(2, 4, 3\)"):
        K.rnn(lambda now, states: (now, []), x, [], mask=x, unroll=unroll, input_length=4)


@pytest.mark.parametrize("length", [1e-9, 1e-3, 1e4])
def test_short_vectors_are_normalised_too(length):
    x = K.variable(X * length, dtype="float64")
    y = K.l2_normalize(x, axis=1)
    rows = np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(K.eval(y), X / rows, rtol=1e-12)
    slope = K.eval(K.gradients(K.sum(y * ROW), [x])[0])
    exact = (ROW - X * np.sum(ROW * X, axis=1, keepdims=True) / rows**2) / rows
    np.testing.assert_allclose(slope * length, exact, rtol=1e-9)


def test_gradients_of_zeros_that_are_normalised_are_finite():
    x = K.variable(np.zeros((1, 3)))
    assert np.all(np.isfinite(K.eval(K.gradients(K.sum(K.l2_normalize(x, axis=1)), [x])[0])))


def test_axes_that_are_no_integers_are_named():
    x = np.ones((2, 3, 3))
    for axes in ([[1, 2], [2, 1]], 1.0, "ab"):
        with pytest.raises(ValueError, match="axes must be an int or a pair of them"):
            K.batch_dot(x, x, axes=axes)
    with pytest.raises(TypeError, match=r"pattern must be a sequence of integers, got \(0, 'x', 1, 2\)"):
        K.permute_dimensions(x, (0, "x", 1, 2))


def test_relu_of_integers_is_floating_point():
    for given, dtype in (("int8", "float32"), ("int32", "float64")):
        assert K.relu(np.asarray([-1, 2], dtype=given)).dtype == dtype
        assert K.dtype(K.relu(K.variable([-1, 2], dtype=given))) == dtype


@pytest.mark.parametrize("recorded", [False, True])
def test_what_does_not_fit_is_named(recorded):
    def of(*shape):
        return K.variable(np.ones(shape)) if recorded else np.ones(shape)

    with pytest.raises(ValueError, match=r"x and y must have as many samples, got shapes \(4, 2, 3\) and \(3, 3, 2\)"):
        K.batch_dot(of(4, 2, 3), of(3, 3, 2))
    with pytest.raises(ValueError, match="x and y must have as many elements to sum over"):
        K.batch_dot(of(4, 2, 3), of(4, 2, 2))
    with pytest.raises(ValueError, match="mask must have 2 samples, as inputs has, got 3"):
        K.rnn(lambda now, states: (now, []), of(2, 4, 3), [], mask=np.ones((3, 4)))
    with pytest.raises(TypeError, match=r"n must be an integer, got 1\.5"):
        K.repeat(of(2, 3), 1.5)
    with pytest.raises(ValueError, match="rep must be an integer of 0 or more, got -1"):
        K.repeat_elements(of(2, 3), -1, axis=0)
    with pytest.raises(ValueError, match="axis 0 needs an x that has axes"):
        K.repeat_elements(of(), 2, axis=0)


def test_updates_and_values_that_are_none_are_named():
    x = K.variable([1.0, 2.0])
    for updates in (x, [x], [(x, x, x)], [(np.ones(2), x)]):
        with pytest.raises(TypeError, match="updates must be pairs of a variable and its new value"):
            K.function([], [x], updates=updates)
    for value in ("a", None):
        with pytest.raises(TypeError, match="value must be an array, a number or a nested list of numbers"):
            K.variable(value)
        with pytest.raises(TypeError, match="value must be an array, a number or a nested list of numbers"):
            K.set_value(x, value)
    np.testing.assert_array_equal(K.get_value(x), [1.0, 2.0])
