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
    x, w, v = placeholder((None, None, 2), dtype="float64"), Variable(np.eye(2) * 0.5), Variable(np.eye(2) * 0.25)

    def layer(z: Tensor, matrix: Tensor) -> Tensor:
        state = xp.zeros_like(z[:, 0, :])
        z = reshaped(z, times)
        made, _ = scan(lambda i, s: xp.tanh(i + s @ matrix), sequences=xp.moveaxis(z, 1, 0), outputs_info=state)
        return xp.moveaxis(made, 0, 1)

    out = layer(layer(reshaped(x, times), w), v)
    total = xp.sum(out[:, -1, :])
    run = function([x], [total, *gradients(total, [w, v])])
    value = np.linspace(-1, 1, 24).reshape(4, 3, 2)

    def expected(matrix: np.ndarray, other: np.ndarray) -> float:
        first = second = np.zeros((4, 2))
        for step in range(3):
            first = np.tanh(value[:, step] + first @ matrix)
            second = np.tanh(first + second @ other)
        return float(second.sum())

    found = run(value)
    assert float(found[0]) == pytest.approx(expected(np.eye(2) * 0.5, np.eye(2) * 0.25))
    small = 1e-6 * np.asarray([[0.0, 1.0], [0.0, 0.0]])
    eye = np.eye(2)
    for position, (one, other) in enumerate([(small, 0 * small), (0 * small, small)], 1):
        above = expected(eye * 0.5 + one, eye * 0.25 + other)
        below = expected(eye * 0.5 - one, eye * 0.25 - other)
        assert found[position][0, 1] == pytest.approx((above - below) / 2e-6, rel=1e-6)
