"""Units that are real numbers, normally distributed around what they receive with variance 1."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp import natural_bm as B

from .kind import Units

__all__ = ["GAUSSIAN", "Gaussian"]


class Gaussian(Units):
    """Real numbers; e(x) = ½ x²."""

    name = "gaussian"
    within = None
    states = None
    stored = None
    has_own_energy = True
    is_bounded = False
    undecided = 0.0
    log_volume = 0.5 * math.log(2 * math.pi)
    constant = log_volume
    neutral = 0.0

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """What they receive."""
        return inputs

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """A normal number for each unit."""
        return mean + B.random_normal(shape, 0.0, 1.0, dtype=dtype, rng=rng)

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any, axis: int = -1) -> Any:
        """Where they are told to."""
        return mean

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """The integral."""
        return 0.5 * B.square(inputs)

    def own_energy(self, state: Any, axis: int = -1) -> Any:
        """½ x²."""
        return 0.5 * B.square(state)

    def entropy(self, mean: Any) -> Any:
        """½ log 2πe, less ½ for the variance: the same for every mean."""
        return B.zeros_like(mean) + self.constant

    def bias(self, rate: Any) -> Any:
        """The mean itself."""
        return rate


GAUSSIAN = Gaussian()
