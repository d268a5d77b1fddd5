"""Units that are real numbers of at least 0: what they receive, with noise, rectified.

The normal distribution around what a unit receives, with variance 1, given that it is not negative. Where a unit
receives much less than 0, formulas of Φ itself would be differences of numbers that are large and alike; those of the
scaled complementary error function are not.

References
----------
V. Nair and G. E. Hinton, "Rectified linear units improve restricted Boltzmann machines", ICML 2010.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.special import erfcx, log_ndtr, ndtr, ndtri

from .kind import Units, Values

__all__ = ["RECTIFIED", "Rectified"]

_ROOT_HALF = math.sqrt(0.5)
_DENSITY = math.sqrt(2 / math.pi)
_FAR = 30.0  # below 0: from here on a mean is the sum of a series, to nearly all digits
_NEAR = 9.0  # above 0: from here on a truncated distribution is not told from a whole one
_STEPS = 3  # of Newton's method, from a start that is close


class Rectified(Units):
    """Real numbers of at least 0; e(x) = ½ x²."""

    name = "relu"
    within = Values(0.0, sys.float_info.max)
    states = None
    stored = None
    has_own_energy = True
    is_bounded = False
    knows_means = False
    undecided = 0.0
    log_volume = 0.5 * math.log(math.pi / 2)
    constant = 0.5 * math.log(2 * math.pi)
    neutral = _DENSITY

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """Of the truncated normal distribution."""
        near = B.maximum(inputs, -_FAR)
        direct = near + _DENSITY / erfcx(-_ROOT_HALF * B.minimum(near, _NEAR))
        part = 1 / B.square(B.maximum(-inputs, _FAR))
        series = (1 - part * (2 - part * (10 - part * (74 - part * 706)))) / B.maximum(-inputs, _FAR)
        far = B.cast(B.less(inputs, -_FAR), B.dtype(inputs))
        return far * series + (1 - far) * direct

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """A uniform for each unit, which finds the state that as much of the distribution lies above."""
        if inputs is None:
            raise ValueError("rectified linear units are drawn from what they receive: their means do not tell it")
        above = B.random_uniform(shape, dtype=dtype, rng=rng)
        high, low = B.maximum(inputs, 0.0), B.minimum(inputs, 0.0)
        ordinary = high - ndtri(above * ndtr(high))
        rest = -B.log(above)
        state = 2 * rest / (B.sqrt(B.square(low) + 2 * rest) - low)
        whole = B.log(erfcx(-_ROOT_HALF * low))
        for _ in range(_STEPS):
            scaled = erfcx(_ROOT_HALF * (state - low))
            left = rest + state * (low - 0.5 * state) + B.log(scaled) - whole
            state = B.maximum(state + left * scaled / _DENSITY, 0.0)
        is_low = B.cast(B.less(inputs, 0.0), B.dtype(inputs))
        return B.maximum(is_low * state + (1 - is_low) * ordinary, 0.0)

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any, axis: int = -1) -> Any:
        """Where they are told to."""
        return mean

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """The integral over what is not negative."""
        high, low = B.maximum(inputs, 0.0), B.minimum(inputs, 0.0)
        return B.log(erfcx(-_ROOT_HALF * low)) + 0.5 * B.square(high) + log_ndtr(high)

    def own_energy(self, state: Any, axis: int = -1) -> Any:
        """½ x²."""
        return 0.5 * B.square(state)


RECTIFIED = Rectified()
