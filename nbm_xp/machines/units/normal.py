"""Sites that are real numbers whose variances are learnt, as their means are.

A site is two units, x and -x²/2: what the first receives, divided by what the second does, is the mean of a normal
distribution, and one over what the second receives is its variance. The second unit has a bias, the precision, and no
weights, so the variance is the same whatever the other layers are.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace, to_numpy

from .kind import Units

__all__ = ["NORMAL", "Normal"]

_LEAST = 1e-6
"""A variance is no less."""
_FAR, _WIDE = 4.0, 5.0
"""Means and standard deviations with which learning still works at the usual rates, by trials."""


class Normal(Units):
    """Real numbers with a learnt variance."""

    name = "normal"
    within = None
    states = None
    stored = None
    is_bounded = False
    log_volume = math.inf
    constant = 0.0

    def size(self, sites: int) -> int:
        """Two units each."""
        return 2 * sites

    def sites(self, size: int) -> int:
        """One for two units."""
        if size % 2:
            raise ValueError(f"layers of {self.name} units must have two for each site, got {size}")
        return size // 2

    def opened(self, told: Any, axis: int = -1) -> Any:
        """A number, and half of its square, less than 0."""
        return _joined(told, -0.5 * B.square(told), axis)

    def told(self, state: Any, axis: int = -1) -> Any:
        """The number."""
        return _apart(state, axis)[0]

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """Of both units."""
        first, precision = _apart(inputs, axis)
        mean = first / precision
        return _joined(mean, -0.5 * (B.square(mean) + 1 / precision), axis)

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """A normal number for each site."""
        axis = axis % len(shape)
        sites = (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])
        if inputs is None:
            middle, variance = _moments(mean, axis)
        else:
            first, precision = _apart(inputs, axis)
            middle, variance = first / precision, 1 / precision
        return self.opened(middle + B.sqrt(variance) * B.random_normal(sites, 0.0, 1.0, dtype=dtype, rng=rng), axis)

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any, axis: int = -1) -> Any:
        """Where they are told to."""
        return self.opened(self.told(mean, axis), axis)

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """The integral."""
        first, precision = _apart(inputs, axis)
        return 0.5 * (B.square(first) / precision - B.log(precision) + math.log(2 * math.pi))

    def unknown(self, zeros: Any, axis: int = -1) -> Any:
        """0, with a variance of 1."""
        number, square = _apart(zeros, axis)
        return _joined(number, square - 0.5, axis)

    def unweighted(self, weights: Any, axis: int = -1) -> Any:
        """The second units have none."""
        first, second = _apart(weights, axis)
        return _joined(first, second * 0, axis)

    def moved(self, biases: Any, step: Any) -> Any:
        """A step of the logarithms of the precisions, which so stay above 0 and move alike whatever the scale is."""
        (first, precision), (of_first, of_precision) = _apart(biases, 0), _apart(step, 0)
        down = B.minimum(B.maximum(precision * of_precision, -1.0), 1.0)
        return _joined(first - of_first, precision * B.exp(-down), 0)

    def observed(self, rows: Any) -> Any:
        """The means of the numbers, and of half their squares, less than 0."""
        return _joined(B.mean(rows, axis=0), -0.5 * B.mean(B.square(rows), axis=0), 0)

    def bias(self, rate: Any) -> Any:
        """That of the normal distribution with these moments."""
        middle, variance = _moments(rate, 0)
        return _joined(middle / variance, 1 / variance, 0)

    def check_bias(self, bias: Any, name: str) -> None:
        """Precisions are above 0."""
        least = float(B.min(_apart(bias, 0)[1]))
        if not least > 0.0:
            raise ValueError(
                f"{name} must hold a precision above 0 in the second place of each normal site, got {least:g}"
            )

    def unsuited(self, rate: Any, first: int = 0) -> str:
        """Columns far from a mean of 0 and a variance of 1, for which steps are too long."""
        middle, variance = (to_numpy(part).tolist() for part in _moments(rate, 0))
        for number, (mean, deviation) in enumerate(zip(middle, map(math.sqrt, variance), strict=True), first):
            if abs(mean) > _FAR or not 1 / _WIDE <= deviation <= _WIDE:
                return (
                    f"column {number} has mean {mean:.3g} and standard deviation {deviation:.3g}, and normal units "
                    "learn from columns of about 0 and 1: standardise them, as scikit-learn's StandardScaler does"
                )
        return ""

    def neutral_rates(self, size: int) -> list[float]:
        """A mean of 0 and a variance of 1."""
        return [0.0, -0.5] * (size // 2)


def _apart(values: Any, axis: int) -> tuple[Any, Any]:
    """The first units of sites along an axis, and the second ones."""
    before: tuple[Any, ...] = (slice(None),) * (axis % len(values.shape))
    return values[(*before, slice(0, None, 2))], values[(*before, slice(1, None, 2))]


def _joined(first: Any, second: Any, axis: int) -> Any:
    """The units of sites again, from the first and the second ones."""
    shape = tuple(first.shape)
    axis = axis % len(shape)
    pairs = array_namespace(first).stack([first, second], axis=axis + 1)
    return B.reshape(pairs, (*shape[:axis], -1, *shape[axis + 1 :]))


def _moments(means: Any, axis: int) -> tuple[Any, Any]:
    """The mean and the variance that the means of both units tell."""
    middle, square = _apart(means, axis)
    return middle, B.maximum(-2 * square - B.square(middle), _LEAST)


NORMAL = Normal()
