"""Units that are 0 or 1."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp import natural_bm as B

from .kind import RAREST, TINY, Units, Values, softplus

__all__ = ["BINARY", "Binary"]


class Binary(Units):
    """0 or 1."""

    name = "binary"
    within = Values(0.0, 1.0)
    states = (0.0, 1.0)
    stored = "uint8"
    prior_count = 2
    log_volume = math.log(2)
    neutral = 0.5

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """The probability of 1."""
        return B.sigmoid(inputs)

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """A uniform for each unit."""
        return B.random_binomial(shape, p=mean, dtype=B.dtype(mean), rng=rng)

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """Of 0 and of 1."""
        return softplus(inputs)

    def entropy(self, mean: Any) -> Any:
        """Of independent units."""
        off = 1 - mean
        return -(mean * B.log(B.maximum(mean, TINY)) + off * B.log(B.maximum(off, TINY)))

    def turned(self, state: Any, where: Any, places: int = 1) -> Any:
        """1 in place of 0, 0 in place of 1."""
        return state + where * (1 - 2 * state)

    def base_rate(self, mean: Any, count: int) -> Any:
        """With a 0 and a 1 more than there are: no unit is always the same."""
        return (count * mean + 1.0) / (count + 2.0)

    def bias(self, rate: Any) -> Any:
        """The log-odds."""
        return B.log(rate) - B.log(1.0 - rate)

    def possible(self, rate: Any) -> Any:
        """Neither 0 nor 1."""
        return B.minimum(B.maximum(rate, RAREST), 1 - RAREST)


BINARY = Binary()
