"""The lengths of a variable: integers for Python, yet what is recorded with them follows the variable."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import KnownLength, Variable, evaluate, placeholder
from nbm_xp.tape import namespace as xp


@pytest.fixture
def x() -> Variable:
    return Variable(np.ones((4, 3)))


def test_python_sees_integers(x: Variable) -> None:
    rows, columns = x.shape
    assert x.shape == (4, 3)
    assert [*range(rows)] == [0, 1, 2, 3]
    assert f"{x.shape} {rows:02d}" == "(4, 3) 04"
    assert (rows + 1, 10 - rows, rows * 2, rows // 3, rows % 3, rows / 8, 2**columns) == (5, 6, 8, 1, 1, 0.5, 8)
    assert (1 + rows, rows - 1, 2 * rows, 9 // rows, 9 % rows) == (5, 3, 8, 2, 1)
    assert rows * 0.5 == 2.0
    assert rows * "ab" == "abababab"


def test_arithmetic_remembers_that_the_length_may_change(x: Variable) -> None:
    rows, columns = x.shape
    assert all(isinstance(size, KnownLength) for size in (rows + columns, 2 * rows, rows // 2, 7 % rows, rows - 1))
    assert type(rows - rows) is int
    assert type(rows / 2) is float


def test_copies_are_plain_integers(x: Variable) -> None:
    assert type(pickle.loads(pickle.dumps(x.shape))[0]) is int
    assert type(copy.deepcopy(x.shape[0])) is int


def test_what_is_recorded_follows_the_variable(x: Variable) -> None:
    rows, columns = x.shape
    recorded = [
        xp.zeros(x.shape),
        xp.ones((2 * rows,)),
        xp.reshape(x, (rows * columns,)),
        x[: rows - 1],
        xp.sum(x) / rows,
    ]
    x.set_value(np.full((6, 2), 3.0))
    zeros, ones, flat, part, mean = map(np.asarray, evaluate(recorded))
    assert (zeros.shape, ones.shape, flat.shape, part.shape, mean) == ((6, 2), (12,), (12,), (5, 2), 6.0)


def test_a_draw_of_a_variables_shape_takes_the_streams_of_an_unknown_size(x: Variable) -> None:
    rng = RandomStreams(123)
    for size in (x.shape, (x.shape[0], 3), (2 * x.shape[0],), placeholder((None,)).shape, (x + 1).shape):
        assert rng.n_streams(size) == 15360
        rng.uniform(size)
        assert rng.state_updates[-1][0].shape == (15360, 6)
    assert rng.n_streams((4, 3)) == 2


def test_the_documented_draws_take_them_too(x: Variable) -> None:
    rng = RandomStreams(123)
    B.random_binomial(x.shape, p=x, rng=rng)
    B.random_uniform((4, 3), rng=rng)
    assert [update[0].shape[0] for update in rng.state_updates] == [15360, 2]


def test_a_variables_plain_shape_is_plain(x: Variable) -> None:
    assert [type(length) for length in B.get_variable_shape(x)] == [int, int]
