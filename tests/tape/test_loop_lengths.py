"""Lengths that only a step of a loop knows: what it stacks has them too, outside the loop."""

import numpy as np
import pytest

from nbm_xp.tape import Tensor, Variable, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as xp

EYE = Variable(np.eye(2))


def reshaped(x: Tensor, times: int) -> Tensor:
    """The same, with a first length that takes long to write."""
    for _ in range(times):
        x = xp.reshape(xp.reshape(x, (-1, 2)) @ EYE, (-1, x.shape[1], 2))
    return x


@pytest.mark.parametrize("times", [1, 2, 4])
def test_two_loops_over_states_of_lengths_that_take_long_to_write(times: int) -> None:
    """Value and gradients are those of a graph in which all lengths are integers."""
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
