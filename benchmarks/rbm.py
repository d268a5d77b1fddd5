"""The RBM that the benchmarks share: parameters, a batch, and its free energy as a user writes it on the surface."""

from typing import Any, NamedTuple

import numpy as np

from nbm_xp import natural_bm as B


class Parameters(NamedTuple):
    """Weights, visible and hidden biases of an RBM."""

    weights: Any
    visible: Any
    hidden: Any


def parameters(n_visible: int, n_hidden: int) -> Parameters:
    """Small random float32 parameters, as they are early in training."""
    random = np.random.Generator(np.random.PCG64(7))
    normal = lambda *shape: (0.1 * random.standard_normal(shape)).astype(np.float32)  # noqa: E731
    return Parameters(normal(n_visible, n_hidden), normal(n_visible), normal(n_hidden))


def binary(*shape: int) -> np.ndarray:
    """A fixed array of zeros and ones, float32."""
    return (np.random.Generator(np.random.PCG64(8)).random(shape) < 0.5).astype(np.float32)


def free_energy(v: Any, weights: Any, visible: Any, hidden: Any) -> Any:
    """Mean free energy of the rows of v."""
    softplus = B.log(1 + B.exp(B.dot(v, weights) + hidden))
    return -B.mean(B.dot(v, visible) + B.sum(softplus, axis=1))
