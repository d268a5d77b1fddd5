"""What Keras 1.0's backend means on Theano beyond the recorded cases: branches of several shapes, cuts, masks."""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp import keras1 as K
from tests.helpers.libraries import EAGER, Library

X = np.asarray([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
ROW = np.asarray([7.0, 8.0, 9.0])


@pytest.mark.parametrize("library", EAGER, indirect=True)
@pytest.mark.parametrize("condition", [0, 1, X > 0, X[0] > 0])
@pytest.mark.parametrize("other", [ROW, X[:, :1], -X, 2.0, 2])
@pytest.mark.parametrize("recorded", [False, True])
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
