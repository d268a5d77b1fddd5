"""Sessions and phases, updates, constants and compiled functions of the surface of Keras 2.0."""

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


def test_counts_of_names() -> None:
    assert [K.get_uid("dense"), K.get_uid("dense"), K.get_uid(), K.get_uid("conv")] == [1, 2, 1, 1]
    K.reset_uids()
    assert K.get_uid("dense") == 1
    K.clear_session()
    assert K.get_uid("dense") == 1


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


@pytest.mark.parametrize(("phase", "value"), [(1, 10.0), (0, -10.0), (True, 10.0), (np.asarray(0), -10.0)])
def test_both_phases_in_one_graph(phase: Any, value: float) -> None:
    x = K.placeholder((None,))
    y = K.in_train_phase(x * 10, x * -10) + K.in_test_phase(lambda: x * 0, lambda: x * 0)
    f = K.function([x, K.learning_phase()], [y])
    np.testing.assert_array_equal(f([[1.0], phase])[0], [value])


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
    x = K.variable(X)
    assert x._uses_learning_phase is False
    assert K.placeholder((1,))._uses_learning_phase is False
    assert K.in_train_phase(x, 2 * x)._uses_learning_phase is True
    assert K.in_test_phase(x, 2 * x)._uses_learning_phase is True
    own = K.placeholder((), dtype="bool")
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
    assert [float(v) for v in K.batch_get_value([x, y])] == [-3.0, 11.0]  # of two for one variable, the last
    K.batch_set_value([(x, 5), (y, 1)])
    assert (K.get_value(x), K.get_value(y)) == (5, 1)


def test_moving_averages() -> None:
    x = K.variable(np.zeros(2))
    f = K.function([], [], updates=[K.moving_average_update(x, np.asarray([1.0, -1.0]), 0.75)])
    assert f([]) == []
    f([])
    np.testing.assert_allclose(K.get_value(x), [0.4375, -0.4375])


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


def test_constants() -> None:
    assert K.eval(K.constant(2.5)).dtype == "float32"
    np.testing.assert_array_equal(K.eval(K.constant(7, shape=(2, 2), dtype="int32")), np.full((2, 2), 7))
    np.testing.assert_array_equal(K.eval(K.constant([1, 2, 3, 4], shape=(2, 2))), [[1.0, 2.0], [3.0, 4.0]])
    assert K.eval(K.constant(0.1, dtype="float64")) == 0.1
    assert K.constant(1.0, name="one").name == "one"
    with pytest.raises(TypeError):
        K.set_value(K.constant(1.0), 2.0)


def test_a_function_takes_a_list_and_gives_a_list_of_numpy_arrays() -> None:
    x = K.placeholder((None, 3))
    f = K.function([x], [x + 1, K.sum(x)])
    shifted, total = f([X])
    assert isinstance(shifted, np.ndarray)
    np.testing.assert_array_equal(shifted, X + 1)
    assert total == 2
    np.testing.assert_array_equal(f([K.variable(X)])[0], X + 1)  # a Tensor without placeholders is evaluated


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
    ids=[
        "inputs", "outputs", "keyword", "missing", "no list", "too many", "axes", "lengths", "eval", "get_value",
        "no shape",
    ],
)  # fmt: skip
def test_what_is_refused(make: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(K.placeholder((None, 3)))


def test_gradients() -> None:
    x, y, z = K.variable(X), K.variable(X), K.variable(1.0)
    of_x, of_y, of_z = K.gradients(K.sum(x * K.stop_gradient(y)) + K.sum(K.stop_gradient(x)), [x, y, z])
    np.testing.assert_array_equal(K.eval(of_x), X)
    assert not np.any(K.eval(of_y))
    assert of_z is None


def test_switch_computes_one_side_only() -> None:
    x, condition = K.variable(X), K.placeholder((), dtype="bool")
    f = K.function([condition], [K.switch(condition, lambda: 2 * x, lambda: -x)])
    np.testing.assert_array_equal(f([True])[0], 2 * X)
    np.testing.assert_array_equal(f([False])[0], -X)


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


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x, k: K.conv2d(x, k, padding="causal"), "padding"),
        (lambda x, k: K.conv2d(x, k, padding="full"), "padding"),
        (lambda x, k: K.conv2d(x, k, data_format="last"), "data_format"),
        (lambda x, k: K.conv2d_transpose(x, k, (1, 4, 4, 2), data_format="last"), "data_format"),
        (lambda x, k: K.pool2d(x, (2, 2), pool_mode="l2"), "pool_mode"),
        (lambda x, k: K.pool2d(x, (2, 2), padding="full"), "padding"),
        (lambda x, k: K.pool2d(x, (2, 2), data_format="last"), "data_format"),
        (lambda x, k: K.spatial_2d_padding(x, data_format="last"), "data_format"),
        (lambda x, k: K.resize_images(x, 2, 2, "last"), "data_format"),
        (lambda x, k: K.bias_add(x, k, "channels_last"), "bias"),
        (lambda x, k: K.bias_add(x, k[0, 0, 0], "last"), "data_format"),
    ],
)
def test_what_images_refuse(call: Callable[[Any, Any], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call(np.ones((1, 4, 4, 2)), np.ones((2, 2, 2, 3)))


def test_the_first_of_equal_maxima_has_the_gradient() -> None:
    x = K.variable(np.ones((1, 2, 2, 1)))
    gradient = K.gradients(K.sum(K.pool2d(x, (2, 2))), [x])[0]
    np.testing.assert_array_equal(K.eval(gradient).reshape(-1), [1.0, 0.0, 0.0, 0.0])
    a, b = K.variable(1.0), K.variable(1.0)
    assert [float(K.eval(g)) for g in K.gradients(K.maximum(a, b), [a, b])] == [1.0, 0.0]
