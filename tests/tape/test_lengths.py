"""Lengths of variables, computed lengths, and lengths that are known only within a step of a loop."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.namespace import use_backend
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import KnownLength, Length, Tensor, Variable, evaluate, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import LIBRARIES, Library


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


def test_what_is_recorded_follows_the_variable(x: Variable) -> None:
    rows, columns = x.shape
    recorded = [
        xp.zeros(x.shape), xp.ones((2 * rows,)), xp.reshape(x, (rows * columns,)), x[: rows - 1], xp.sum(x) / rows,
        gradients(xp.mean(x * x), x),
    ]  # fmt: skip
    x.set_value(np.full((6, 2), 3.0))
    zeros, ones, flat, part, mean, slope = map(np.asarray, evaluate(recorded))
    np.testing.assert_allclose(slope, np.full((6, 2), 0.5))
    assert (zeros.shape, ones.shape, flat.shape, part.shape, mean) == ((6, 2), (12,), (12,), (5, 2), 6.0)


def test_plain_shapes_and_copies_are_plain_integers(x: Variable) -> None:
    for shape in (B.get_variable_shape(x), pickle.loads(pickle.dumps(x.shape)), copy.deepcopy(x.shape)):
        assert [type(length) for length in shape] == [int, int]


def test_draws_whose_sizes_may_change_take_the_streams_of_an_unknown_size(x: Variable) -> None:
    rng = RandomStreams(123)
    recorded = (xp.asarray(2) + 0, 3)
    for size in (x.shape, (x.shape[0], 3), (2 * x.shape[0],), placeholder((None,)).shape, (x + 1).shape, recorded):
        rng.uniform(size)
    B.random_binomial(x.shape, p=x, rng=rng)
    assert {state.shape for state, *_ in rng.state_updates} == {(15360, 6)}
    assert (rng.n_streams(x.shape), rng.n_streams((4, 3))) == (15360, 2)


X = np.arange(12.0).reshape(4, 3)

USES: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "stop": (lambda x, two: x[:two], (2, 3)), "start": (lambda x, two: x[two - 1 :], (3, 3)),
    "step": (lambda x, two: x[::two], (2, 3)), "from the end": (lambda x, two: x[two - 5 : -two + 1], (2, 3)),
    "backwards": (lambda x, two: x[two::-1], (3, 3)), "zeros": (lambda x, two: xp.zeros((two, 5)), (2, 5)),
    "arange": (lambda x, two: xp.arange(two + 1), (3,)), "eye": (lambda x, two: xp.eye(two), (2, 2)),
    "linspace": (lambda x, two: xp.linspace(0.0, 1.0, two), (2,)),
    "reshape": (lambda x, two: xp.reshape(x, (two, -1)), (2, 6)),
    "broadcast_to": (lambda x, two: xp.broadcast_to(x, (two, 4, 3)), (2, 4, 3)),
    "repeat": (lambda x, two: xp.repeat(x, two, axis=1), (4, 6)), "tile": (lambda x, two: xp.tile(x, (two, 1)), (8, 3)),
    "full": (lambda x, two: xp.full(two, 7.0), (2,)),
}  # fmt: skip
EACH_USE = pytest.mark.parametrize("use", USES.values(), ids=USES)


@EACH_USE
@pytest.mark.parametrize("library", LIBRARIES, indirect=True)
@pytest.mark.at_night("jax")
def test_constants_give_integers(use: tuple[Callable[[Any, Any], Any], tuple[int, ...]], library: Library) -> None:
    """Numbers alone, whatever the library; constants of a lazy library would have to be computed for it."""
    call, shape = use
    counts = xp.asarray(library.array(np.asarray([1, 1])))
    with use_backend(library.name):
        for two in (xp.asarray(3) - 1, *([] if library.lazy else [xp.sum(counts) + 0])):
            made = call(xp.asarray(library.array(X)), two)
            assert [type(length) for length in made.shape] == [int] * len(shape)
            assert made.shape == shape == tuple(evaluate(made).shape)
            assert len(made) == shape[0]
    if library.lazy:
        assert isinstance(xp.zeros(xp.sum(counts) + 0).shape[0], Length)


@EACH_USE
def test_a_variables_number_is_one_of_each_run(use: tuple[Callable[[Any, Any], Any], tuple[int, ...]]) -> None:
    call, shape = use
    number = Variable(np.asarray(1))
    made = call(Variable(X), number + 0)
    count = placeholder((), dtype="int64")
    assert function([count], call(Variable(X), count + 0))(2).shape == shape
    assert any(isinstance(length, Length) for length in made.shape)
    for value in (1, 2):
        number.set_value(value)
        now = tuple(evaluate(made).shape)
    assert now == shape


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x, two: x[:two] + xp.zeros((3, 3)), r"\(2, 3\) and \(3, 3\) cannot be broadcast"),
        (lambda x, two: xp.where(x > 0, x, xp.zeros((two + 3, 3))), "cannot be broadcast"),
        (lambda x, two: x @ xp.zeros((two, 5)), "equal inner lengths"),
        (lambda x, two: xp.concat([x, xp.zeros((two, two))]), "equal lengths along axis 1"),
        (lambda x, two: xp.reshape(x, (two + 3, 2)), "cannot reshape"),
        (lambda x, two: xp.broadcast_to(x, (two + 3, 3)), "cannot be broadcast"),
        (lambda x, two: xp.linalg.solve(xp.zeros((two, 3)), x), "square matrices"),
        (lambda x, two: xp.zeros(two - 5), "0 or more, got -3"),
        (lambda x, two: x[two + 2], "index 4 is out of bounds"),
    ],
)
def test_what_cannot_fit_is_refused_when_it_is_recorded(call: Callable[[Any, Any], Any], match: str) -> None:
    with pytest.raises((ValueError, IndexError), match=match):
        call(xp.asarray(X), xp.asarray(2) + 0)


@pytest.mark.parametrize("step", [0, xp.asarray(2) - 2])
@pytest.mark.parametrize("x", [xp.asarray(X), Variable(X), placeholder((None, 3))])
def test_no_step_is_zero(x: Any, step: Any) -> None:
    for call in (lambda: x[::step], lambda: x[1, step + 1 :: step], lambda: xp.arange(0, x.shape[0], step)):
        with pytest.raises(ValueError, match=r"the step of .* must not be zero"):
            call()


def test_no_length_is_negative_now() -> None:
    with pytest.raises(ValueError, match="0 or more, got -1"):
        xp.zeros(Variable(X).shape[0] - 5)


@pytest.mark.parametrize("step", [None, 2, -1, -2])
def test_a_bound_may_count_from_the_end(step: int | None) -> None:
    """Whatever its sign at run time, the length is that of NumPy's slice."""
    first, last = placeholder((), dtype="int64"), placeholder((), dtype="int64")
    x = xp.asarray(X)
    forms: list[Callable[[Any, Any], slice]] = [
        lambda a, b: slice(a, b, step), lambda a, _: slice(a, None, step), lambda _, b: slice(None, b, step),
    ]  # fmt: skip
    ones = function([first, last], [xp.ones_like(x[form(first, last)]) for form in forms])
    bounds = (-6, -3, -1, 0, 2, 4, 6)
    for start in bounds:
        for stop in bounds:
            for form, made in zip(forms, ones(start, stop), strict=True):
                assert made.shape == X[form(start, stop)].shape, (start, stop)


def test_gradients_come_back_through_such_a_slice() -> None:
    x, number = Variable(X), Variable(np.asarray(-1))
    slope = gradients(xp.sum(x[: number + 0] ** 2), x)
    for value in (-1, 2):
        number.set_value(value)
        want = np.zeros_like(X)
        want[:value] = 2 * X[:value]
        np.testing.assert_array_equal(evaluate(slope), want)


def test_arange_takes_floating_scalars_that_nothing_changes() -> None:
    made = xp.arange(xp.asarray(0.0), xp.asarray(np.asarray(1.0)) + 0.5, xp.asarray(0.25))
    assert made.shape == (6,)
    np.testing.assert_array_equal(evaluate(made), np.arange(0.0, 1.5, 0.25))
    for bound in (Variable(np.asarray(2.5)), placeholder(())):
        with pytest.raises(TypeError, match="arange must be a number, or computed from numbers and constants alone"):
            xp.arange(bound)


EYE = Variable(np.eye(2))


def reshaped(x: Tensor, times: int) -> Tensor:
    """The same values; the expression of the first length grows with `times`."""
    for _ in range(times):
        x = xp.reshape(xp.reshape(x, (-1, 2)) @ EYE, (-1, x.shape[1], 2))
    return x


@pytest.mark.parametrize("times", [1, 2, 4])
def test_two_loops_over_states_of_lengths_that_take_long_to_write(times: int) -> None:
    """Values and gradients equal those of a graph in which all lengths are integers."""
    w, v = Variable(np.asarray([[0.5, 0.1], [0.0, 0.4]])), Variable(np.eye(2) * 0.25)

    def layer(z: Tensor, matrix: Tensor) -> Tensor:
        state = xp.zeros_like(z[:, 0, :])
        z = reshaped(z, times)
        made, _ = scan(lambda i, s: xp.tanh(i + s @ matrix), sequences=xp.moveaxis(z, 1, 0), outputs_info=state)
        return xp.moveaxis(made, 0, 1)

    def results(shape: tuple[int | None, ...]) -> list[np.ndarray]:
        x = placeholder(shape, dtype="float64")
        total = xp.sum(layer(layer(reshaped(x, times), w), v)[:, -1, :])
        return function([x], [total, *gradients(total, [w, v])])(np.linspace(-1, 1, 24).reshape(4, 3, 2))

    for got, want in zip(results((None, None, 2)), results((4, 3, 2)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
