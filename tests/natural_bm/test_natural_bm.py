"""What natural_bm's models ask of its backend beyond the documents; tests/clients runs them."""

import random
import sys

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.functions import randomness
from nbm_xp.tape import Length


def test_it_stands_in_for_all_four_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["bm.backend", *(f"bm.backend.{part}" for part in ("theano_backend", "numpy_backend", "common"))]
    for place in places:
        monkeypatch.delitem(sys.modules, place, raising=False)
    B.install_as("bm.backend")
    B.install_as("bm.backend")  # again changes nothing
    assert [sys.modules[place] for place in places] == [B] * 4
    assert B.theano_backend is B
    assert B.numpy_backend is B
    assert B.common is B
    for place in places:
        monkeypatch.delitem(sys.modules, place)


def test_it_takes_no_place_if_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "taken.backend.numpy_backend", np)
    with pytest.raises(ImportError, match=r"taken\.backend\.numpy_backend was imported already"):
        B.install_as("taken.backend")
    assert "taken.backend" not in sys.modules


@pytest.mark.parametrize(
    "draw",
    [
        lambda: B.random_uniform((5,)), lambda: B.random_normal((5,)), lambda: B.random_binomial((9,), p=0.4),
        lambda: B.make_rng().uniform((5,)),
    ],
    ids=["uniform", "normal", "binomial", "make_rng"],
)  # fmt: skip
def test_seeds_are_drawn_where_natural_bm_draws_them(draw: object) -> None:
    """From NumPy's global state, one for each draw: whatever Python's own random numbers are."""
    assert callable(draw)
    found = []
    for seed in (3, 3, 4):
        np.random.seed(seed)  # noqa: NPY002 - what it is about
        found.append([B.eval(draw()).tolist(), B.eval(draw()).tolist(), np.random.randint(1000)])  # noqa: NPY002
        random.seed(1)
    assert found[0] == found[1] != found[2]
    assert found[0][0] != found[0][1]
    np.random.seed(3)  # noqa: NPY002
    assert len(np.random.randint(1, 10**7, size=2)) == 2  # noqa: NPY002
    assert found[0][2] == np.random.randint(1000)  # noqa: NPY002 - two numbers were taken, and no more


def test_a_generator_that_is_given_takes_no_seed() -> None:
    np.random.seed(5)  # noqa: NPY002
    rng = B.make_rng(7)
    drawn = B.random_binomial((3, 4), p=0.5, rng=rng), B.random_normal((3,), rng=rng), B.random_uniform((3,), rng=rng)
    assert [x.shape for x in drawn] == [(3, 4), (3,), (3,)]
    assert np.random.randint(1000) == np.random.RandomState(5).randint(1000)  # noqa: NPY002


def test_the_shared_generator_draws_its_seed_from_python() -> None:
    states = []
    for seed in (3, 3, 4):
        random.seed(seed)
        states.append(randomness.make_rng().rstate.tolist())
    assert states[0] == states[1] != states[2]
    assert randomness.make_rng(draw=lambda low, high: high - low).rstate.tolist() == [9999999] * 6


def test_the_shape_of_a_tensor_is_a_vector_once_it_is_known() -> None:
    x = B.variable(np.ones((6, 2)))
    found = B.eval(x.shape)
    assert isinstance(found, np.ndarray)
    assert found.dtype == "int64"
    assert found.tolist() == [6, 2]
    assert found[0] == (6,)  # elements of an array compare so, and natural_bm's tests rely on it
    assert B.eval(x.shape[0]) == 6
    assert B.eval(B.variable(1.0).shape).shape == (0,)
    assert [part.shape for part in B.eval((x, x))] == [(6, 2), (6, 2)]
    open_shape = B.placeholder(shape=(None, 2)).shape
    assert isinstance(open_shape[0], Length)
    with pytest.raises(TypeError, match="unknown until the graph runs"):
        B.eval(open_shape)


def test_lengths_of_placeholders_are_remarks() -> None:
    """Draws in the shape of one take as many streams as on Theano, and arrays of other lengths are welcome."""
    p = B.placeholder(shape=(3, 2))
    rng = B.make_rng(1)
    draw = B.function([p], B.random_binomial(p.shape, p, rng=rng))
    assert rng.state_updates[0][0].shape == (15360, 6)
    assert draw(np.ones((7, 5))).shape == (7, 5)
