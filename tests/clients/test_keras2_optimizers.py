"""Keras's optimizers on a small network: losses of the first steps and weights agree with NumPy implementations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Weights = list[np.ndarray]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(32, 5))
Y = np.eye(3)[RNG.integers(0, 3, size=32)]
DECAY = 0.01
STEPS = 6


def loss_and_slopes(weights: Weights) -> tuple[float, Weights]:
    """Loss and gradients of two dense layers, tanh and softmax, with cross-entropy and L2 on the first matrix."""
    first, bias, second, other = weights
    hidden = np.tanh(X @ first + bias)
    scores = hidden @ second + other
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -np.mean(np.sum(Y * np.log(shares), axis=1)) + DECAY * np.sum(first**2)
    above = (shares - Y) / len(X)
    below = (above @ second.T) * (1 - hidden**2)
    return loss, [X.T @ below + 2 * DECAY * first, below.sum(axis=0), hidden.T @ above, above.sum(axis=0)]


def sgd(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    s["v"] = 0.9 * s.get("v", 0) - 0.1 / (1 + 0.01 * (step - 1)) * g
    return w + 0.9 * s["v"] - 0.1 / (1 + 0.01 * (step - 1)) * g


def rmsprop(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g**2
    return w - 0.01 * g / (np.sqrt(s["a"]) + 1e-8)


def adagrad(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    s["a"] = s.get("a", 0) + g**2
    return w - 0.05 * g / (np.sqrt(s["a"]) + 1e-8)


def adadelta(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    s["a"] = 0.95 * s.get("a", 0) + 0.05 * g**2
    change = g * np.sqrt(s.get("d", 0) + 1e-6) / np.sqrt(s["a"] + 1e-6)
    s["d"] = 0.95 * s.get("d", 0) + 0.05 * change**2
    return w - change


def adam(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
    rate = 0.02 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return w - rate * s["m"] / (np.sqrt(s["v"]) + 1e-8)


def adamax(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g))
    return w - 0.02 / (1 - 0.9**step) * s["m"] / (s["u"] + 1e-8)


def nadam(step: int, w: Any, g: Any, s: dict[str, Any]) -> Any:
    now, then = (0.9 * (1 - 0.5 * 0.96 ** (t * 0.004)) for t in (step, step + 1))
    s["p"] = s.get("p", 1.0) * now
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g**2
    slope, mean, spread = g / (1 - s["p"]), s["m"] / (1 - s["p"] * then), s["v"] / (1 - 0.999**step)
    return w - 0.02 * ((1 - now) * slope + then * mean) / (np.sqrt(spread) + 1e-8)


CASES: list[tuple[str, dict[str, Any], Callable[..., Any]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "decay": 0.01}, sgd),
    ("RMSprop", {"lr": 0.01}, rmsprop),
    ("Adagrad", {"lr": 0.05}, adagrad),
    ("Adadelta", {"epsilon": 1e-6}, adadelta),
    ("Adam", {"lr": 0.02}, adam),
    ("Adamax", {"lr": 0.02}, adamax),
    ("Nadam", {"lr": 0.02}, nadam),
]


def network(keras: Any, optimizer: Any, **dense: Any) -> Any:
    layers = keras.layers
    first = layers.Dense(4, activation="tanh", input_dim=5, kernel_regularizer=keras.regularizers.l2(DECAY), **dense)
    model = keras.models.Sequential([first, layers.Dense(3, activation="softmax")])
    model.compile(optimizer, "categorical_crossentropy")
    return model


@pytest.mark.parametrize(("name", "options", "rule"), CASES, ids=[case[0] for case in CASES])
def test_first_steps(keras: Any, name: str, options: dict[str, Any], rule: Callable[..., Any]) -> None:
    model = network(keras, getattr(keras.optimizers, name)(**options))
    weights = [value.astype("float64") for value in model.get_weights()]
    states: list[dict[str, Any]] = [{} for _ in weights]
    for step in range(1, STEPS + 1):
        loss, slopes = loss_and_slopes(weights)
        assert float(model.train_on_batch(X, Y)) == pytest.approx(loss, rel=2e-5)
        weights = [rule(step, *each) for each in zip(weights, slopes, states, strict=True)]
    for found, expected in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("clipped", [{"clipnorm": 0.05}, {"clipvalue": 0.01}], ids=str)
def test_clipped_gradients(keras: Any, clipped: dict[str, float]) -> None:
    model = network(keras, keras.optimizers.SGD(lr=1.0, **clipped))
    before = [value.astype("float64") for value in model.get_weights()]
    _, slopes = loss_and_slopes(before)
    norm = np.sqrt(sum((slope**2).sum() for slope in slopes))
    assert norm > 0.05
    model.train_on_batch(X, Y)
    for found, value, slope in zip(model.get_weights(), before, slopes, strict=True):
        step = slope * 0.05 / norm if "clipnorm" in clipped else np.clip(slope, -0.01, 0.01)
        np.testing.assert_allclose(found, value - step, rtol=1e-4, atol=1e-6)


def test_constraint(keras: Any) -> None:
    model = network(keras, "sgd", kernel_constraint=keras.constraints.max_norm(0.1))
    model.train_on_batch(X, Y)
    assert np.linalg.norm(model.get_weights()[0], axis=0).max() <= 0.1 + 1e-6
