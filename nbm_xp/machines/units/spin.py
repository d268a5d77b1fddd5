"""Units that are -1 or 1."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp import natural_bm as B

from .kind import RAREST, TINY, Units, Values, softplus

__all__ = ["SPIN", "Spin"]


class Spin(Units):
    """-1 or 1."""

    name = "spin"
    within = Values(-1.0, 1.0)
    states = (-1.0, 1.0)
    stored = "int8"
    prior_count = 2
    undecided = 0.0
    log_volume = math.log(2)
    neutral = 0.0

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """The probability of 1 less that of -1: the hyperbolic tangent."""
        return 2 * B.sigmoid(2 * inputs) - 1

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """A uniform for each unit."""
        return 2 * B.random_binomial(shape, p=0.5 * (mean + 1), dtype=B.dtype(mean), rng=rng) - 1

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """Of -1 and of 1."""
        return softplus(2 * inputs) - inputs

    def entropy(self, mean: Any) -> Any:
        """Of independent units."""
        on, off = 0.5 * (1 + mean), 0.5 * (1 - mean)
        return -(on * B.log(B.maximum(on, TINY)) + off * B.log(B.maximum(off, TINY)))

    def listed(self, numbers: Any, axis: int = -1) -> Any:
        """From 0 and 1."""
        return 2 * numbers - 1

    def turned(self, state: Any, where: Any, places: int = 1) -> Any:
        """1 in place of -1, -1 in place of 1."""
        return state * (1 - 2 * where)

    def base_rate(self, mean: Any, count: int) -> Any:
        """With a -1 and a 1 more than there are: no unit is always the same."""
        return count * mean / (count + 2.0)

    def bias(self, rate: Any) -> Any:
        """Half of the log-odds."""
        return 0.5 * (B.log(1.0 + rate) - B.log(1.0 - rate))

    def possible(self, rate: Any) -> Any:
        """Neither -1 nor 1."""
        return B.minimum(B.maximum(rate, 2 * RAREST - 1), 1 - 2 * RAREST)


SPIN = Spin()
