"""Variables, compiled functions, loops and branches, as the documented names offer them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp import set_floatx
from nbm_xp.functions import creation, variables
from nbm_xp.namespace import library_name
from nbm_xp.tape import Tensor, Variable
from tests.helpers.libraries import DASK, EAGER, Library

X = np.asarray([[1.0, -2.0, 3.0]], dtype="float32")


@pytest.mark.parametrize("library", EAGER, indirect=True)
def test_a_variable_keeps_the_library_of_its_array(library: Library) -> None:
    x = B.variable(library.array(X), name="x")
    assert (library_name(x.value), x.name, B.dtype(x), B.ndim(x)) == (library.name, "x", "float32", 2)
    assert B.get_variable_shape(x) == (1, 3)
    assert isinstance(B.get_value(x), np.ndarray)
    assert library_name(B.eval(x * 2)) == library.name
    B.set_value(x, [[5, 6]])
    assert library_name(x.value) == library.name
    np.testing.assert_array_equal(B.get_value(x), [[5.0, 6.0]])


def test_a_variable_is_floatx_unless_asked() -> None:
    assert B.variable(np.arange(3)).dtype == "float32"
    assert B.variable(B.variable([1.0], dtype="float64")).dtype == "float32"
    set_floatx("float64")
    assert B.variable([1, 2]).dtype == "float64"
    assert B.variable([1.9], dtype="int32").get_value() == [1]
    for made in (B.zeros((2,)), B.ones(2), B.eye(2)):
        assert isinstance(made, Variable)
        assert made.dtype == "float64"


def test_values_are_copies() -> None:
    source = X.copy()
    x = B.variable(source)
    source[...] = 0
    B.get_value(x)[...] = 0
    np.testing.assert_array_equal(B.get_value(x), X)


def test_shapes_with_unknown_lengths_are_recorded() -> None:
    x = B.placeholder(ndim=2)
    made = B.zeros((x.shape[0], 2), name="made")
    assert isinstance(made, Tensor)
    assert made.name == "made"
    assert B.function([x], made)(np.ones((3, 1))).shape == (3, 2)
    assert B.get_variable_shape(made) == (None, 2)


def test_placeholders_promise_their_shape_only_when_asked() -> None:
    loose, strict = B.placeholder(shape=(2, 3)), creation.placeholder(shape=(2, 3), checked=True)
    assert B.function([loose], B.sum(loose))(np.ones((5, 2))) == 10
    with pytest.raises(ValueError, match="shape"):
        B.function([strict], B.sum(strict))(np.ones((5, 2)))


def test_eval_of_anything() -> None:
    x = B.variable(np.ones((2, 3)))
    assert B.eval(x.shape).tolist() == [2, 3]
    assert variables.eval(x.shape) == (2, 3)
    assert B.eval(x.shape[0]) == 2
    assert B.eval(2.5) == 2.5
    assert B.eval(X) is X
    pair = B.eval((B.sum(x), [x.shape[1], X]))
    assert pair[0] == 6
    assert pair[1][0] == 3
    assert B.eval([]) == []
    with pytest.raises((TypeError, ValueError)):
        B.eval(B.placeholder(ndim=1))


@pytest.mark.parametrize("pack", [list, OrderedDict, dict, tuple, iter])
def test_updates_in_every_form(pack: Callable[[Any], Any]) -> None:
    x, y = B.variable(1.0), B.variable(2.0)
    f = B.function([], [x + y], updates=pack([(x, y), (y, x)]))
    assert [float(v) for v in f()] == [3.0]
    assert (float(B.get_value(x)), float(B.get_value(y))) == (2.0, 1.0)


def test_options_of_function() -> None:
    a, b = B.placeholder(ndim=1), B.placeholder(ndim=1)
    f = B.function([a], a + b, givens=[(b, B.variable([1.0]))], allow_input_downcast=True, mode=None, profile=False)
    np.testing.assert_array_equal(f([1]), [2.0])
    with pytest.raises(ValueError, match="depends on"):
        B.function([a, b], a, on_unused_input="raise")
    with pytest.raises(TypeError, match="nonsense"):
        B.function([a], a, nonsense=1)
    with pytest.raises(TypeError, match="no_default_updates"):
        B.function([a], a, no_default_updates=True)
    assert B.function([a], a, no_default_updates=False)([1]) == [1]


def test_arguments_are_cast_down() -> None:
    a = B.placeholder(ndim=1, dtype="int32")
    np.testing.assert_array_equal(B.function([a], a * 1)(np.asarray([5.7, -1.2])), [5, -1])


def test_gradients_keep_what_was_widened() -> None:
    from nbm_xp.functions import graphs

    x, y = B.variable(X), B.variable(X, dtype="float64")
    loss = B.sum(x * y)
    assert [B.dtype(g) for g in B.gradients(loss, [x, y])] == ["float64", "float64"]
    assert [B.dtype(g) for g in graphs.gradients(loss, [x, y])] == ["float32", "float64"]
    with pytest.raises(ValueError, match="depend"):
        B.gradients(loss, [x, B.variable(1.0)])


def test_scan_takes_theanos_options() -> None:
    xs = B.variable([1.0, 2.0, 3.0])
    outputs, updates = B.scan(lambda x, s: x + s, outputs_info=B.variable(0.0), sequences=xs, strict=True, mode=None)
    assert len(updates) == 0
    np.testing.assert_array_equal(B.eval(outputs), [1.0, 3.0, 6.0])
    listed, _ = B.scan(lambda x: 2 * x, sequences=xs, return_list=True)
    assert isinstance(listed, list)
    with pytest.raises(TypeError, match="nonsense"):
        B.scan(lambda x: x, sequences=xs, nonsense=1)


def test_ifelse_of_arrays_is_taken_at_once() -> None:
    assert B.ifelse(np.asarray(True), 1.0, 2.0) == 1.0
    assert B.ifelse(False, X, X + 1) is not X
    assert B.ifelse(np.asarray(3), (1, 2), (3, 4)) == [1, 2]
    with pytest.raises(TypeError, match="axes"):
        B.ifelse(np.asarray([True, False]), X, X)
    with pytest.raises(ValueError, match="values"):
        B.ifelse(True, [X, X], [X])


@pytest.mark.parametrize("library", DASK[:1], indirect=True)
def test_ifelse_of_lazy_arrays_computes_nothing(library: Library) -> None:
    with pytest.raises(TypeError, match="not known"):
        B.ifelse(library.array(np.asarray(True)), 1.0, 2.0)


def test_stop_gradient() -> None:
    x = B.variable([3.0])
    first, second = B.stop_gradient([x, X])
    assert second is X
    assert float(B.eval(B.gradients(B.sum(x * first), x))[0]) == 3.0
