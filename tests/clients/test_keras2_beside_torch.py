"""Recurrent networks of Keras 2.0.6 beside PyTorch: losses of the first gradient steps from the same weights.

The networks are written twice: in Keras, and in PyTorch's functions with TensorFlow's definition of recurrent layers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
F = torch.nn.functional

RATE = 0.5
STEPS = 5


def descent(forward: Callable[..., Any], weights: list[Any], inputs: Any, target: Any) -> list[float]:
    """The losses of gradient descent on the mean cross-entropy."""
    held = [torch.tensor(value, requires_grad=True) for value in weights]
    losses = []
    for _ in range(STEPS):
        shares = forward(torch.tensor(inputs), *held)
        loss = -(torch.tensor(target) * torch.log(torch.clamp(shares, 1e-7, 1 - 1e-7))).sum(dim=1).mean()
        losses.append(loss.item())
        with torch.no_grad():
            for weight, slope in zip(held, torch.autograd.grad(loss, held), strict=True):
                weight -= RATE * slope
    return losses


def same_losses(keras: Any, layers: list[Any], forward: Callable[..., Any], inputs: Any, target: Any) -> None:
    model = keras.models.Sequential(layers)
    model.compile(keras.optimizers.SGD(lr=RATE), "categorical_crossentropy")
    weights = [keras.backend.get_value(weight) for weight in model.trainable_weights]
    expected = descent(forward, weights, inputs, target)
    found = [float(model.train_on_batch(inputs, target)) for _ in range(STEPS)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.ptp(found) > 2e-4


def classes(samples: int, count: int = 3) -> Any:
    return np.eye(count, dtype="float32")[np.arange(samples) % count]


def images(*shape: int) -> Any:
    return np.random.default_rng(5).normal(size=shape).astype("float32")


def dense(x: Any, kernel: Any, bias: Any) -> Any:
    return torch.softmax(x @ kernel + bias, dim=1)


def hard_sigmoid(x: Any) -> Any:
    return torch.clamp(0.2 * x + 0.5, 0, 1)


def simple_step(x: Any, states: list[Any], kernel: Any, again: Any, bias: Any) -> list[Any]:
    return [torch.tanh(x @ kernel + bias + states[0] @ again)]


def lstm_step(x: Any, states: list[Any], kernel: Any, again: Any, bias: Any) -> list[Any]:
    i, f, c, o = torch.chunk(x @ kernel + states[0] @ again + bias, 4, dim=1)
    cell = hard_sigmoid(f) * states[1] + hard_sigmoid(i) * torch.tanh(c)
    return [hard_sigmoid(o) * torch.tanh(cell), cell]


def gru_step(x: Any, states: list[Any], kernel: Any, again: Any, bias: Any) -> list[Any]:
    (xz, xr, xh), (hz, hr, hh) = torch.chunk(x @ kernel + bias, 3, dim=1), torch.chunk(again, 3, dim=1)
    z, r = hard_sigmoid(xz + states[0] @ hz), hard_sigmoid(xr + states[0] @ hr)
    return [z * states[0] + (1 - z) * torch.tanh(xh + (r * states[0]) @ hh)]


KINDS = {"SimpleRNN": (simple_step, 1), "LSTM": (lstm_step, 2), "GRU": (gru_step, 1)}


def unrolled(name: str, x: Any, weights: Any, shown: Any = None, backwards: bool = False) -> Any:
    """The outputs of all steps, in order of computation; masked steps leave the states unchanged."""
    step, count = KINDS[name]
    states = [torch.zeros(len(x), weights[1].shape[0])] * count
    outputs = []
    for t in reversed(range(x.shape[1])) if backwards else range(x.shape[1]):
        new = step(x[:, t], states, *weights)
        keep = None if shown is None else shown[:, t, None]
        states = new if keep is None else [torch.where(keep, a, b) for a, b in zip(new, states, strict=True)]
        outputs.append(states[0])
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("options", [{"implementation": 0}, {"implementation": 2}, {"unroll": True}], ids=str)
def test_recurrent(keras: Any, name: str, options: dict[str, Any]) -> None:
    layers = keras.layers
    layer = getattr(layers, name)

    def forward(x: Any, *w: Any) -> Any:
        h = unrolled(name, x, w[:3])
        return dense(unrolled(name, h, w[3:6], backwards=True)[:, -1], *w[6:])

    network = [
        layer(4, return_sequences=True, input_shape=(6, 3), **options),
        layer(5, go_backwards=True, **options),
        layers.Dense(3, activation="softmax"),
    ]
    same_losses(keras, network, forward, images(12, 6, 3), classes(12))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [None, 7])
def test_masked_words(keras: Any, name: str, length: int | None) -> None:
    layers = keras.layers
    words = np.random.default_rng(2).integers(1, 9, size=(12, 7))
    words[np.arange(7) >= 7 - np.arange(12)[:, None] % 5] = 0
    words[3, 0] = 0  # masked from the first step on

    def forward(x: Any, table: Any, *w: Any) -> Any:
        first = unrolled(name, table[x], w[:3], shown=x != 0)
        return dense(unrolled(name, first, w[3:6], shown=x != 0)[:, -1], *w[6:])

    network = [
        layers.Embedding(9, 4, mask_zero=True, input_length=length),
        getattr(layers, name)(4, return_sequences=True),
        getattr(layers, name)(5),
        layers.Dense(3, activation="softmax"),
    ]
    same_losses(keras, network, forward, words, classes(12))


@pytest.mark.parametrize("merge", ["concat", "sum", "mul", "ave"])
def test_both_directions_and_each_step(keras: Any, merge: str) -> None:
    layers = keras.layers
    together = {
        "concat": lambda a, b: torch.cat([a, b], dim=-1),
        "sum": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "ave": lambda a, b: (a + b) / 2,
    }[merge]

    def forward(x: Any, k1: Any, b1: Any, *w: Any) -> Any:
        h = torch.tanh(x @ k1 + b1)
        one, other = unrolled("LSTM", h, w[:3]), unrolled("LSTM", h, w[3:6], backwards=True)
        return dense(together(one, other.flip(1)).flatten(1), *w[6:])

    network = [
        layers.TimeDistributed(layers.Dense(5, activation="tanh"), input_shape=(6, 3)),
        layers.Bidirectional(layers.LSTM(4, return_sequences=True), merge_mode=merge),
        layers.Flatten(),
        layers.Dense(3, activation="softmax"),
    ]
    same_losses(keras, network, forward, images(12, 6, 3), classes(12))
