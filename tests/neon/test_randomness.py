"""A Backend's random numbers: equal on every library; seeds, states, masks, binarized values, NumPy's method names."""

from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Backend
from nbm_xp.rng import Generator
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.at_night("jax")


@pytest.fixture
def be() -> Any:
    return Backend(rng_seed=1, library="numpy")


def mask(be: Backend, shape: tuple[int, int] = (20, 20)) -> list[Any]:
    out = be.zeros(shape)
    be.make_binary_mask(out)
    with computing():
        values: list[Any] = out.get().tolist()
    return values


def test_draws_are_the_same_on_every_library(library: Library) -> None:
    ours, theirs = Backend(rng_seed=7, library="numpy"), Backend(rng_seed=7, library=library.name)
    assert mask(ours, (3, 50)) == mask(theirs, (3, 50))
    state = ours.rng_get_state()
    assert state == theirs.rng_get_state()
    first = mask(theirs)
    theirs.rng_set_state(state)
    assert mask(theirs) == first == mask(ours)


def test_seeds() -> None:
    assert Backend(rng_seed=3, library="numpy").rng_get_state() == (Generator(3).state,)
    for seed in (0, 2**32 - 1, 2**40):
        one, other = (Backend(rng_seed=seed, library="numpy") for _ in range(2))
        assert mask(one) == mask(other)
    one, other = (Backend(library="numpy") for _ in range(2))
    assert mask(one) != mask(other)
    with pytest.raises(TypeError, match="seed must be an integer"):
        Backend(rng_seed="x", library="numpy")  # type: ignore[arg-type]


def test_states() -> None:
    be: Any = Backend(rng_seed=5, library="array_api_strict")
    rng = be.gen_rng(9)
    assert rng is be.rng and type(rng.uniform(-1.0, 1.0, size=(2, 3))) is np.ndarray
    assert be.rng_get_state() != be.init_rng_state
    be.rng_reset()
    assert be.rng_get_state() == be.init_rng_state == (Generator(9).state,)
    state = rng.get_state()
    first = rng.rand(5)
    for restore in (lambda: rng.set_state(state), lambda: be.rng_set_state((state,)), lambda: rng.seed(9)):
        restore()
        np.testing.assert_array_equal(rng.rand(5), first)
    state = rng.get_state()
    for wrong in (None, 3.5, ((1, 2, 3),), (), "state"):
        with pytest.raises((TypeError, ValueError), match="state must be what rng_get_state gave"):
            be.rng_set_state(wrong)
    for seed, error in ((-1, ValueError), ("x", TypeError)):
        with pytest.raises(error, match="seed must"):
            rng.seed(seed)
    assert rng.get_state() == state


def test_names_of_numpys(be: Any) -> None:
    rng = be.rng
    assert rng.rand(2, 3).shape == rng.randn(2, 3).shape == rng.random_sample((2, 3)).shape == (2, 3)
    assert rng.rand(2).dtype == rng.randn(2).dtype == rng.random_sample(2).dtype == "float64"
    assert rng.randint(9, size=2).dtype == "int64"
    assert {type(number) for number in (rng.rand(), rng.randn(), rng.random_sample())} == {float}
    assert type(rng.randint(9)) is int and set(rng.randint(2, 4, size=(20, 5)).ravel()) == {2, 3}
    assert abs(rng.randn(10000).mean()) < 0.05 and abs(rng.rand(10000).mean() - 0.5) < 0.02


def test_masks(be: Any) -> None:
    out = be.zeros((100, 100), dtype="int8")
    be.make_binary_mask(out, keepthresh=0.25)
    assert set(np.unique(out.get())) == {0, 1} and 0.23 < out.get().mean() < 0.27
    wrong: list[tuple[Any, Any, type[Exception], str]] = [
        (out, 1.5, ValueError, "keepthresh"), (out, "half", TypeError, "keepthresh"),
        (np.zeros((2, 2)), 0.5, TypeError, "out must be a Buffer"),
    ]  # fmt: skip
    for target, share, error, message in wrong:
        with pytest.raises(error, match=message):
            be.make_binary_mask(target, share)


def test_a_tree_draws_whenever_it_is_computed(be: Any) -> None:
    tree = be.binarize(be.zeros((8, 8)))
    first, second = tree.get(), tree.get()
    assert (first != second).any() and set(np.unique(first)) == {-1, 1}
    be.rng_reset()
    np.testing.assert_array_equal(tree.get(), first)


def test_binarized_values(library: Library) -> None:
    """As documented, and with the destination as the second argument, as neon's own layers call it."""
    be: Any = Backend(rng_seed=1, library=library.name)
    x, many = be.array([[-0.5, 0.0, 2.0]]), be.zeros((40, 40))
    for call in (
        lambda out: be.binarize(x, False, out), lambda out: be.binarize(a=x, stochastic=np.False_, out=out),
        lambda out: be.binarize(x, out, stochastic=False), lambda out: be.binarize(x, out, False),
    ):  # fmt: skip
        out = be.zeros((1, 3))
        assert call(out) is out
        with computing():
            assert out.get().tolist() == [[-1, 1, 1]]
    assert be.binarize(x, x, stochastic=False) is x and be.binarize(many, many) is many
    with computing():
        assert x.get().tolist() == [[-1, 1, 1]] and set(np.unique(many.get())) == {-1, 1}
    with pytest.raises(TypeError, match="multiple values for argument 'out'"):
        be.binarize(x, out, out=out)
    for wrong in (x + 1, np.ones(2)):
        with pytest.raises(TypeError, match="stochastic must be True or False"):
            be.binarize(x, stochastic=wrong)
