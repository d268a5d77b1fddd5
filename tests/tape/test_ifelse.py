"""`ifelse` computes and differentiates only the branch that is taken."""

from __future__ import annotations

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, evaluate, function, gradients, ifelse, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.calls import counted, runs_of
from tests.helpers.libraries import Library


class TestLaziness:
    def test_only_the_branch_that_is_taken_is_run(self) -> None:
        x, flag = placeholder((None,), dtype="float64"), placeholder((), dtype="bool")
        result = ifelse(flag, counted(x, label="then") + 1, counted(x * 2, label="else"))
        run = function([x, flag], result)
        assert runs_of(run, np.ones(2), True) == {"then": 1}
        assert runs_of(run, np.ones(2), False) == {"else": 1}
        assert run(np.ones(2), True).tolist() == run(np.ones(2), False).tolist() == [2.0, 2.0]

    def test_what_is_needed_outside_is_run_before(self) -> None:
        x, flag = placeholder((None,), dtype="float64"), placeholder((), dtype="bool")
        inside = counted(x, label="inside")
        run = function([x, flag], [ifelse(flag, inside + 1, x), xp.sum(inside)])
        assert runs_of(run, np.ones(2), True) == runs_of(run, np.ones(2), False) == {"inside": 1}

    def test_nested(self) -> None:
        x = placeholder((), dtype="float64")
        low = ifelse(x < -1, counted(x, label="lowest"), counted(x * 2, label="low"))
        high = ifelse(x > 1, counted(x * 3, label="highest"), counted(x * 4, label="high"))
        run = function([x], ifelse(x < 0, low, high))
        assert runs_of(run, -2.0) == {"lowest": 1}
        assert runs_of(run, -0.5) == {"low": 1}
        assert runs_of(run, 0.5) == {"high": 1}
        assert [float(run(v)) for v in (-2.0, -0.5, 0.5, 2.0)] == [-2.0, -1.0, 2.0, 6.0]

    def test_only_the_values_that_are_used_are_run(self) -> None:
        x, flag = placeholder((), dtype="float64"), placeholder((), dtype="bool")
        first, _ = ifelse(flag, [counted(x, label="a"), counted(x, label="b")], [x, x])
        assert runs_of(function([x, flag], first), 1.0, True) == {"a": 1}

    def test_of_a_value_and_its_gradients_together(self) -> None:
        x, w = placeholder((None,), dtype="float64"), Variable(np.ones(2))
        taken = xp.sqrt(counted(x * w, label="then")) * counted(w, label="then too")
        loss = xp.sum(ifelse(x[0] > 0, taken, xp.exp(counted(x * w, label="else")))) + xp.sum(w)
        run = function([x], [loss, *gradients(loss, [x, w])])
        assert runs_of(run, np.ones(2)) == {"then": 1, "then too": 1}
        assert runs_of(run, -np.ones(2)) == {"else": 1}  # and no warning from the root
        by_x, by_w = run(np.full(2, 4.0))[1:]
        np.testing.assert_allclose(by_x, [0.25, 0.25])
        np.testing.assert_allclose(by_w, [4.0, 4.0])

    def test_of_choices_by_one_condition(self) -> None:
        x = placeholder((), dtype="float64")
        above = x > 0
        root = xp.sqrt(counted(x, label="then"))
        first = ifelse(above, root, x)
        second = ifelse(above, first * root + counted(x, label="later"), counted(x, label="else"))
        run = function([x], [second, gradients(second, x)])
        assert runs_of(run, 4.0) == {"then": 1, "later": 1}
        assert runs_of(run, -4.0) == {"else": 1}
        assert [float(v) for v in run(4.0)] == [8.0, 2.0]

    def test_a_chain_of_choices_is_walked_once(self) -> None:
        x = Variable(np.asarray([1.0, 2.0]))
        y: Tensor = x
        for _ in range(40):
            y = ifelse(y[0] > 0, xp.sin(y) + 1.5, y * y)
        value, gradient = evaluate([xp.sum(y), gradients(xp.sum(y), x)])
        assert np.all(np.isfinite(gradient))
        assert value > 0


class TestForms:
    def test_lists(self) -> None:
        flag = placeholder((), dtype="bool")
        a, b = Variable(np.ones(2)), Variable(np.zeros((2, 3)))
        results = ifelse(flag, [a, b], (a * 2, b + 1))
        assert isinstance(results, list)
        assert [r.shape for r in results] == [(2,), (2, 3)]
        assert [r.tolist() for r in function([flag], results)(False)] == [[2.0, 2.0], np.ones((2, 3)).tolist()]

    def test_a_number_is_a_condition(self) -> None:
        n = placeholder((), dtype="int32")
        run = function([n], ifelse(n, xp.asarray(1.0), xp.asarray(2.0)))
        assert [float(run(v)) for v in (0, 1, 5)] == [2.0, 1.0, 1.0]

    def test_mixed_dtypes_are_promoted(self) -> None:
        flag = placeholder((), dtype="bool")
        result = ifelse(flag, Variable(np.ones(2, dtype="float32")), Variable(np.ones(2)))
        assert result.dtype == "float64"
        assert function([flag], result)(True).dtype == "float64"

    def test_branches_of_other_lengths(self) -> None:
        flag = placeholder((), dtype="bool")
        result = ifelse(flag, xp.ones((2,), dtype="float64"), xp.zeros((5,), dtype="float64"))
        assert not isinstance(result.shape[0], int)
        run = function([flag], [result, result.shape[0], xp.sum(result + xp.ones(result.shape))])
        assert [run(v)[1:] for v in (True, False)] == [[2, 4.0], [5, 5.0]]

    def test_a_branch_that_is_an_input_or_a_constant(self) -> None:
        x, flag = placeholder((), dtype="float64"), placeholder((), dtype="bool")
        run = function([x, flag], [ifelse(flag, x, 0.0), ifelse(flag, x, x)])
        assert [[float(v) for v in run(3.0, f)] for f in (True, False)] == [[3.0, 3.0], [0.0, 3.0]]

    def test_what_is_wrong_is_named(self) -> None:
        x, flag = Variable(np.ones(2)), Variable(1.0) > 0
        with pytest.raises(TypeError, match="scalar"):
            ifelse(x > 0, x, x)
        with pytest.raises(TypeError, match="axes"):
            ifelse(flag, x, xp.sum(x))
        with pytest.raises(ValueError, match="2 and 1"):
            ifelse(flag, [x, x], [x])


def test_on_every_library(library: Library) -> None:
    x = Variable(library.array(np.asarray([1.0, -2.0])))
    result = ifelse(xp.sum(x) > 0, xp.exp(x), x * 2)
    value, gradient = evaluate([result, gradients(xp.sum(result), x)])
    assert library.numpy(value).tolist() == [2.0, -4.0]
    assert library.numpy(gradient).tolist() == [2.0, 2.0]
