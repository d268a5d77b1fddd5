"""Copies of variables are variables of their own; complex numbers do not become real ones without a word."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, composite, evaluate, function, placeholder


@pytest.fixture
def v() -> Variable:
    made = Variable(np.asarray([1.0, 2.0]), name="v")
    made.note = "kept"  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_a_copy_of_a_variable_holds_a_value_of_its_own(v: Variable, copied: Any) -> None:
    other = copied(v)
    other.set_value([8.0, 8.0])
    np.testing.assert_array_equal(evaluate(other * 1.0), [8.0, 8.0])
    np.testing.assert_array_equal(evaluate(v * 1.0), [1.0, 2.0])
    assert other.name == "v"


def test_attributes_are_copied(v: Variable) -> None:
    assert copy.deepcopy(v).note == copy.copy(v).note == "kept"


def test_a_copy_of_what_is_recorded_is_the_same_value(v: Variable) -> None:
    doubled = copy.deepcopy([v * 2.0])[0]
    v.set_value([3.0, 4.0])
    np.testing.assert_array_equal(evaluate(doubled), [6.0, 8.0])


def test_the_state_of_a_draw_is_not_copied() -> None:
    rng = RandomStreams(1)
    rng.uniform((2,))
    state = rng.state_updates[0][0]
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="the state of a random draw cannot be"):
            copied(state)


def test_complex_numbers_do_not_become_real(v: Variable) -> None:
    x = placeholder((None,), dtype="float64")
    run = function([x], x * 2.0)
    for attempt in (
        lambda: run(np.ones(2) * 1j), lambda: run([1j]), lambda: v.set_value([1j, 2.0]),
        lambda: Variable(1j, dtype="float32"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="complex numbers cannot become float"):
            attempt()
    np.testing.assert_array_equal(v.get_value(), [1.0, 2.0])


def test_a_composite_may_be_defined_anew_but_not_over_the_standard() -> None:
    def define(factor: float) -> Any:
        @composite(gradient=lambda g, out, x: g * factor, name="test_scaled")
        def scaled(x: Any) -> Any:
            return x * factor

        return scaled

    first, second = define(2.0), define(3.0)
    x = Variable(1.0)
    assert (float(first(x)), float(second(x))) == (2.0, 3.0)
    with pytest.raises(ValueError, match="declared already"):
        composite(gradient=lambda g, out, x: g, name="exp")(lambda x: x)
