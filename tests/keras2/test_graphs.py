"""Phases, updates, variables, functions, gradients, images and errors of Keras 2.0 beyond the recorded calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp.namespace import library_name
from nbm_xp.tape import is_tensor
from tests.helpers.libraries import EAGER, Library

X = np.asarray([[1.0, -2.0, 3.0]], dtype="float32")


@pytest.fixture(autouse=True)
def new_session() -> None:
    K.clear_session()


def test_the_phase_is_an_input_until_it_is_set() -> None:
    phase = K.learning_phase()
    assert is_tensor(phase)
    assert K.learning_phase() is phase
    K.set_learning_phase(1)
    assert K.learning_phase() == 1
    K.clear_session()
    assert is_tensor(K.learning_phase())
    with pytest.raises(ValueError, match=r"0 .* or 1"):
        K.set_learning_phase(2)


def test_a_phase_that_is_known_takes_its_side_at_once() -> None:
    called: list[str] = []

    def side(name: str) -> Callable[[], str]:
        return lambda: called.append(name) or name  # type: ignore[func-returns-value]

    assert K.in_train_phase(side("a"), side("b"), training=True) == "a"
    K.set_learning_phase(0)
    assert K.in_train_phase(side("a"), side("b")) == "b"
    assert K.in_test_phase(side("a"), side("b")) == "a"
    assert called == ["a", "b", "a"]


def test_what_needs_the_phase_is_marked() -> None:
    x, own = K.variable(X), K.placeholder((), dtype="bool")
    marked = [K.in_train_phase(x, 2 * x), K.in_test_phase(x, 2 * x)]
    assert [one._uses_learning_phase for one in (x, K.placeholder((1,)), *marked)] == [False, False, True, True]
    assert not getattr(K.in_train_phase(x, 2 * x, training=own), "_uses_learning_phase", False)


def test_dropout_in_training_only() -> None:
    x = K.placeholder((None, 50))
    f = K.function([x, K.learning_phase()], [K.in_train_phase(K.dropout(x, 0.5, seed=1), x)])
    ones = np.ones((4, 50), dtype="float32")
    np.testing.assert_array_equal(f([ones, 0])[0], ones)
    assert set(np.unique(f([ones, 1])[0])) == {0.0, 2.0}


def test_updates_are_set_together_after_the_outputs() -> None:
    x, y = K.variable(1.0), K.variable(10.0)
    f = K.function([], [x + y], updates=[K.update(x, y), K.update_add(y, x), K.update_sub(x, 4.0)])
    assert f([])[0] == 11
    assert [float(v) for v in K.batch_get_value([x, y])] == [-3.0, 11.0]  # the last of two updates of one variable
    K.batch_set_value([(x, 5), (y, 1)])
    assert (K.get_value(x), K.get_value(y)) == (5, 1)


@pytest.mark.parametrize("library", EAGER, indirect=True)
def test_a_variable_is_set_to_what_comes_from_the_host(library: Library) -> None:
    x = K.variable(library.array(X))
    value = K.placeholder((None, 3))
    outputs = K.function([value], [K.sum(value)], updates=[K.update(x, value * 2)])([X])
    assert isinstance(outputs[0], np.ndarray)
    K.function([], [], updates=[K.update(x, K.get_value(x) + 1)])([])
    assert library_name(x.value) == library.name
    np.testing.assert_array_equal(K.get_value(x), 2 * X + 1)


def test_only_variables_are_updated() -> None:
    for update in (K.update, K.update_add, K.update_sub):
        with pytest.raises(TypeError, match="variable"):
            update(K.placeholder((1,)), 1.0)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda x: K.function(x, [x]), TypeError, "inputs must be a list"),
        (lambda x: K.function([x], x), TypeError, "outputs must be a list"),
        (lambda x: K.function([x], [x], feed=1), ValueError, "feed"),
        (lambda x: K.function([], [x]), ValueError, "placeholder"),
        (lambda x: K.function([x], [x])(X), TypeError, "list or tuple of arrays"),
        (lambda x: K.function([x], [x])([X, X]), TypeError, "takes 1 inputs, got 2"),
        (lambda x: K.function([x], [x])([X[0]]), TypeError, "2 axes"),
        (lambda x: K.function([x], [x])([X[:, :2]]), ValueError, "shape"),
        (lambda x: K.eval(x), ValueError, "placeholder"),
        (lambda x: K.get_value(x), TypeError, "variable"),
        (lambda x: K.placeholder(), ValueError, "shape"),
    ],
)
def test_what_is_refused(make: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(K.placeholder((None, 3)))


@pytest.mark.parametrize("library", EAGER, indirect=True)
@pytest.mark.parametrize("condition", [True, False])
def test_switch_of_truth_values_of_every_library(library: Library, condition: bool) -> None:
    chosen = K.switch(library.array(np.asarray(condition)), library.array(X), library.array(-X))
    np.testing.assert_array_equal(library.numpy(chosen), X if condition else -X)


def test_print_tensor_prints_whenever_it_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    x = K.placeholder((None,))
    f = K.function([x], [K.print_tensor(x, message="x is") * 2])
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(f([[1.0, 2.0]])[0], [2.0, 4.0])
    f([[3.0]])
    assert capsys.readouterr().out == "x is [1. 2.]\nx is [3.]\n"
    K.print_tensor(X)
    assert capsys.readouterr().out == f"{X}\n"


def test_identity_is_another_handle() -> None:
    x = K.variable(X)
    same = K.identity(x)
    assert same is not x
    np.testing.assert_array_equal(K.eval(same), X)
    assert K.identity(X) is X


def test_manual_initialization_changes_nothing() -> None:
    K.manual_variable_initialization(True)
    np.testing.assert_array_equal(K.eval(K.variable(X)), X)
    K.manual_variable_initialization(False)


@pytest.mark.parametrize("format", [None, "channels_first", "channels_last"])
def test_images_are_laid_out_as_configured(format: str | None) -> None:
    K.set_image_data_format("channels_first")
    images, kernel = np.ones((1, 3, 4, 5)), np.ones((2, 2, 3, 6))
    if format == "channels_last":
        images = np.moveaxis(images, 1, -1)
    shape = (1, 4, 5, 6) if format == "channels_last" else (1, 6, 4, 5)
    assert K.conv2d(images, kernel, padding="same", data_format=format).shape == shape
    assert K.pool2d(images, (2, 2), (2, 2), data_format=format).shape[-1 if format != "channels_last" else 2] == 2
    larger = K.resize_images(images, 2, 3, format).shape
    assert larger == ((1, 8, 15, 3) if format == "channels_last" else (1, 3, 8, 15))


def test_the_first_of_equal_maxima_has_the_gradient() -> None:
    x = K.variable(np.ones((1, 2, 2, 1)))
    gradient = K.gradients(K.sum(K.pool2d(x, (2, 2))), [x])[0]
    np.testing.assert_array_equal(K.eval(gradient).reshape(-1), [1.0, 0.0, 0.0, 0.0])
    a, b = K.variable(1.0), K.variable(1.0)
    assert [float(K.eval(g)) for g in K.gradients(K.maximum(a, b), [a, b])] == [1.0, 0.0]


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("moments", [2, 9])
def test_a_mask_has_as_many_moments_as_the_inputs(moments, unroll):
    x = np.ones((2, 4, 3), "float32")
    with pytest.raises(ValueError, match=f"mask must have 4 moments, as inputs has, got {moments}"):
        K.rnn(lambda now, states: (now, [now]), x, [x[:, 0]], mask=np.ones((2, moments)), unroll=unroll)


def test_gradients_of_what_is_not_recorded_say_so():
    w = K.variable([1.0, 2.0])
    with pytest.raises(TypeError, match="loss must be recorded, a Tensor, got ndarray"):
        K.gradients(np.ones(2), [w])
    with pytest.raises(TypeError, match="variables must be recorded, a Tensor, got ndarray"):
        K.gradients(K.sum(w), [np.ones(2)])


def test_a_value_of_another_shape_is_refused_and_nothing_is_set():
    x, y = K.zeros((3,)), K.ones((2,), name="weights")
    with pytest.raises(ValueError, match=r"value must have shape \(2,\), as weights has, got \(4,\)"):
        K.batch_set_value([(x, np.ones(3)), (y, np.ones(4))])
    np.testing.assert_array_equal(K.get_value(x), np.zeros(3))
    with pytest.raises(TypeError, match="takes a variable"):
        K.set_value(np.ones(3), np.ones(3))


@pytest.mark.parametrize(
    "made", [lambda: K.zeros((2, 2), name="q"), lambda: K.ones((2, 2), name="q"), lambda: K.eye(2, name="q")]
)
def test_filled_variables_are_keras_tensors_with_names_in_scopes(made):
    with K.name_scope("s"):
        variable = made()
    assert K.is_keras_tensor(variable)
    assert (variable.name, variable._keras_shape) == ("s/q", (2, 2))


def test_the_shape_of_a_lazy_array_is_known():
    da = pytest.importorskip("dask.array")
    x = da.ones((4, 3), chunks=2)
    assert K.shape(x).tolist() == [4, 3]
    assert K.reshape(x, [K.shape(x)[1], -1]).shape == (3, 4)


def test_a_length_that_a_shape_leaves_out_is_not_repeated_along():
    x = K.placeholder(shape=(None, 2, 3))
    with pytest.raises(ValueError, match=r"x must have a known length along axis 0, got shape \(None, 2, 3\)"):
        K.repeat_elements(x, 5, axis=0)
    assert K.int_shape(K.repeat_elements(x, 5, axis=1)) == (None, 10, 3)
    assert K.repeat_elements(K.placeholder(ndim=2), 5, axis=0).ndim == 2


def test_a_loss_multiplied_by_weights_gives_its_name_to_the_product():
    """Training code multiplies the loss of each sample by its weight; a loss may also return a single number."""
    losses, weights = K.placeholder(ndim=2), K.placeholder(ndim=1)
    score = K.mean(losses)
    score *= weights
    score /= K.mean(K.cast(K.not_equal(weights, 0), "float32"))
    (total,) = K.function([losses, weights], [K.mean(score)])([np.asarray([[1.0, 3.0]]), np.asarray([1.0, 0.0, 2.0])])
    assert total == pytest.approx(3.0)


def test_the_backend_has_a_name_for_programs_that_read_it():
    assert K._BACKEND != "tensorflow"  # programs must not look for a session
    if K._BACKEND == "theano":
        assert K.variable(1.0, dtype="float64").dtype == "float64"


@pytest.mark.parametrize("x", np.linspace(-20.0, 3.0, 24))
def test_the_scaled_exponential_unit_is_right_to_two_ulps(x):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    found = K.eval(scale * K.elu(K.variable([x]), alpha))
    exact = scale * (np.float32(x) if x > 0 else alpha * np.expm1(np.float64(np.float32(x))))
    assert abs(found[0] - exact) <= 2 * np.spacing(np.float32(abs(exact)))  # NumPy's expm1 differs between machines
