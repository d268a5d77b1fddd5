"""Random numbers of Keras 2.0: seeds, new draws at every evaluation, quantiles; the records test the distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest, truncnorm

from nbm_xp import keras2 as K
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, is_tensor
from tests.helpers.libraries import libraries

N = 40_000

DRAWS: dict[str, Callable[..., Any]] = {
    "random_normal": lambda **kwargs: K.random_normal((N,), 1.0, 0.5, **kwargs),
    "random_uniform": lambda **kwargs: K.random_uniform((N,), -1.0, 3.0, **kwargs),
    "random_binomial": lambda **kwargs: K.random_binomial((N,), 0.3, **kwargs),
    "truncated_normal": lambda **kwargs: K.truncated_normal((N,), 1.0, 0.5, **kwargs),
    "random_uniform_variable": lambda **kwargs: K.random_uniform_variable((N,), -1.0, 3.0, **kwargs),
    "random_normal_variable": lambda **kwargs: K.random_normal_variable((N,), 1.0, 0.5, **kwargs),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_fixes_what_is_drawn(name: str) -> None:
    first, second, other = (K.eval(DRAWS[name](seed=seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, second)
    assert np.any(first != other)


@pytest.mark.parametrize("name", [*DRAWS, "dropout"])
def test_without_a_seed_the_global_state_of_numpy_decides(name: str) -> None:
    draw = DRAWS.get(name, lambda: K.dropout(np.ones(40), 0.5))
    drawn = []
    for seed in (1, 1, 2):
        np.random.seed(seed)  # noqa: NPY002 - what old programs call
        drawn.append((K.eval(draw()), K.eval(draw())))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert np.any(drawn[0][0] != drawn[0][1]) and np.any(drawn[0][0] != drawn[2][0])


def test_a_seed_costs_the_global_state_what_it_cost() -> None:
    """A draw takes one integer below ten million from NumPy's state, a variable one below a thousand million."""
    for draw, low, high in ((K.random_uniform, 1, 10**7), (K.random_uniform_variable, 0, 10**9)):
        np.random.seed(5)  # noqa: NPY002
        seed = int(np.random.randint(low, high))  # noqa: NPY002
        after = np.random.random_sample(3)  # noqa: NPY002
        np.random.seed(5)  # noqa: NPY002
        drawn = K.eval(draw((4,), 0.0, 1.0))
        np.testing.assert_array_equal(np.random.random_sample(3), after)  # noqa: NPY002
        if draw is K.random_uniform:
            want = RandomStreams(seed).uniform((4,), dtype="float32").eval()
        else:
            want = K.eval(draw((4,), 0.0, 1.0, seed=seed))
        np.testing.assert_array_equal(drawn, want)


def test_without_a_seed_uniform_numbers_are_those_of_keras_on_theano() -> None:
    """Reference values of Keras 2.0.6 on Theano with the same seed of NumPy."""
    np.random.seed(1337)  # noqa: NPY002
    uniform = K.eval(K.random_uniform((3, 4), -1, 1))
    np.testing.assert_array_equal(uniform[0, :3], np.float32([-0.44717556, 0.12066615, -0.22966659]))


def test_what_is_refused_or_has_a_seed_draws_none() -> None:
    np.random.seed(5)  # noqa: NPY002
    with pytest.raises(ValueError, match="level must be from 0 to less than 1"):
        K.dropout(np.ones(4), 1.5)
    for draw in DRAWS.values():
        draw(seed=3)
    assert np.random.randint(10**9) == np.random.RandomState(5).randint(10**9)  # noqa: NPY002


def test_draws_draw_anew_and_variables_do_not() -> None:
    x = K.random_uniform((5,), seed=3)
    assert is_tensor(x)
    f = K.function([], [x, x])
    (a, same), (b, _) = f([]), f([])
    np.testing.assert_array_equal(a, same)
    assert np.any(a != b)
    y = K.random_uniform_variable((5,), 0, 1, name="y", seed=3)
    assert isinstance(y, Variable)
    assert y.name == "y"
    np.testing.assert_array_equal(K.eval(y), K.eval(y))


def test_the_same_bits_on_every_library() -> None:
    from nbm_xp import use_backend

    want = K.eval(K.random_uniform((3, 4), seed=5))
    for parameter in libraries("array_api_strict", "torch", "jax"):
        if not parameter.marks:
            with use_backend(parameter.values[0].name):
                np.testing.assert_array_equal(K.eval(K.random_uniform((3, 4), seed=5)), want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_truncated_normal_is_a_quantile_of_each_uniform(dtype: str) -> None:
    """Each element is SciPy's inverse normal distribution function of a uniform between its values at -2 and 2."""
    uniform = K.eval(K.random_uniform((N,), dtype=dtype, seed=4)).astype("float64")
    low, high = 0.5 * math.erfc(math.sqrt(2)), 1 - 0.5 * math.erfc(math.sqrt(2))
    want = 1.0 + 0.5 * ndtri(low + uniform * (high - low))
    got = K.eval(K.truncated_normal((N,), 1.0, 0.5, dtype=dtype, seed=4))
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6 if dtype == "float32" else 1e-9)
    assert kstest((got - 1.0) / 0.5, truncnorm(-2, 2).cdf).pvalue > 1e-4


def test_the_gradient_of_dropout_is_its_noise() -> None:
    x = K.variable(np.ones((50,)))
    y = K.dropout(x, 0.5, seed=1)
    value, gradient = K.function([], [y, *K.gradients(K.sum(y), [x])])([])
    np.testing.assert_array_equal(value, gradient)


@pytest.mark.parametrize("level", [-0.1, 1.0, 2.0])
def test_dropout_rejects(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        K.dropout(np.ones(3), level)
    with pytest.raises(ValueError, match="noise_shape"):
        K.dropout(np.ones(3), 0.5, noise_shape=(3, 1))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "double", np.int64])
def test_a_normal_variable_is_floating_point(dtype: Any) -> None:
    with pytest.raises(ValueError, match="dtype must be one of float16, float32, float64; got"):
        K.random_normal_variable((2, 3), 0.0, 1.0, dtype=dtype)
    assert K.random_normal_variable((2, 3), 0.0, 1.0, dtype=np.float64).dtype == "float64"


def test_near_seeds_have_nothing_in_common() -> None:
    one, two = (K.eval(K.random_uniform((20_000,), seed=seed)) for seed in (1, 2))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.05
    masks = [K.eval(K.dropout(K.variable(np.ones(20_000)), 0.5, seed=seed)) for seed in (1, 2)]
    assert abs(np.corrcoef(*masks)[0, 1]) < 0.05


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("draw", [K.random_normal, K.truncated_normal])
def test_normal_numbers_have_the_dtype_that_is_asked_for(draw, dtype):
    for mean in (0.0, K.variable(1.0, dtype="float64")):
        drawn = draw((3,), mean, dtype=dtype, seed=1)
        assert K.dtype(drawn) == dtype
        assert K.eval(drawn).dtype == dtype


def test_narrow_truncated_normal_numbers_have_their_distribution():
    drawn = K.eval(K.truncated_normal((4000,), dtype="float16", seed=1)).astype("float64")
    assert np.abs(drawn).max() <= 2.0
    assert abs(drawn.std() - 0.8796) < 0.03
