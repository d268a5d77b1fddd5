"""Units with real values: normal with variance 1 (Gaussian), normal with learned variance, rectified linear, dReLU.

A site with learned variance has two units, x and -x²/2: the local field of the first divided by that of the second is
the mean of a normal distribution, and 1 over the local field of the second is its variance. The second unit has a bias,
the precision, and no weights, so the variance does not depend on the other layers.

Rectified units have the normal distribution with the local field as mean and variance 1, truncated to non-negative
values. For very negative local fields, formulas with Φ suffer from cancellation; those with the scaled complementary
error function do not.

Double rectified linear units (dReLU) have an energy of two half parabolas, ½ γ₊ x² + θ₊ x for positive x and
½ γ₋ x² + θ₋ x for negative x. Since weights have a scale of their own, γ₊ + γ₋ is 2 here. The asymmetry
η = (γ₊ - γ₋) / 2, the threshold Δ = (θ₊ - θ₋) / 2 and the field -(θ₊ + θ₋) / 2 are learned for each unit: they are the
biases of the units ``-½ x |x|``, ``-|x|`` and x of a site, of which only x has weights.

References
----------
J. Tubiana, S. Cocco and R. Monasson, "Learning protein constitutive motifs from sequence data", eLife 8 (2019).
V. Nair and G. E. Hinton, "Rectified linear units improve restricted Boltzmann machines", ICML 2010.
"""

from __future__ import annotations

import math
import sys
from typing import ClassVar

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Shape, Streams
from nbm_xp.namespace import to_numpy
from nbm_xp.special import erfcx, log_ndtr, ndtr, ndtri

from ..rows import Values
from .base import Units, apart, interleaved

_LEAST = 1e-6  # smallest variance
# Largest absolute mean and standard deviation of data that train well at the usual learning rates, empirically
_OFF, _WIDE = 4.0, 5.0
_ROOT_HALF = math.sqrt(0.5)
_DENSITY = math.sqrt(2 / math.pi)
_FAR = 30.0  # for local fields below -30, means are computed by an asymptotic series
_NEAR = 9.0  # for local fields above 9, the truncation is negligible
_STEPS = 3  # of Newton's method, from a good initial value
_TURN, _MOST = 0.1, 0.9  # largest step and size of the asymmetry of dReLU units in training, empirically


class Gaussian(Units):
    """Gaussian units: real numbers with variance 1; e(x) = ½ x²."""

    name = "gaussian"
    has_own_energy = True
    is_bounded = False
    undecided = 0.0
    constant = 0.5 * math.log(2 * math.pi)

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the local fields, which are the means."""
        return inputs

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw states with a normal number for each unit."""
        return mean + B.random_normal(shape, 0.0, 1.0, dtype=B.dtype(mean), rng=rng)

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """Return the means as initial states."""
        return mean

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the integral of the weights, minus `constant`."""
        return 0.5 * B.square(inputs)

    def own_energy(self, state: Array, axis: int = -1) -> Array:
        """Return ½ x²."""
        return 0.5 * B.square(state)

    def entropy(self, mean: Array) -> Array:
        """Return ½ log 2πe minus ½ for the variance: the same for all means."""
        return B.zeros_like(mean) + self.constant

    def bias(self, rate: Array) -> Array:
        """Return the mean itself."""
        return rate


GAUSSIAN = Gaussian()


class _Sites(Units):
    """Sites of `width` units each, of which the first one is the value of the site, and alone has weights."""

    width: ClassVar[int]

    def size(self, sites: int) -> int:
        """Return the number of units: `width` for each site."""
        return self.width * sites

    def sites(self, size: int) -> int:
        """Return the number of sites of `size` units."""
        if size % self.width:
            raise ValueError(f"layers of {self.name} units must have {self.width} for each site, got {size}")
        return size // self.width

    def decoded(self, state: Array, axis: int = -1) -> Array:
        """Return the value of each site."""
        return apart(state, axis, self.width)[0]

    def unweighted(self, weights: Array, axis: int = -1) -> Array:
        """Return the weights with 0 for the further units of each site."""
        first, *others = apart(weights, axis, self.width)
        return interleaved([first, *(other * 0 for other in others)], axis)


class Normal(_Sites):
    """Normal units: real numbers with learned variances."""

    name = "normal"
    width = 2
    can_be_hidden = False
    is_bounded = False
    constant = 0.0

    def encoded(self, states: Array, axis: int = -1) -> Array:
        """Return x and -x²/2 of each site."""
        return interleaved([states, -0.5 * B.square(states)], axis)

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the means of both units of each site."""
        first, precision = apart(inputs, axis)
        mean = first / precision
        return interleaved([mean, -0.5 * (B.square(mean) + 1 / precision)], axis)

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw states with a normal number for each site."""
        axis = axis % len(shape)
        sites = (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])
        if inputs is None:
            middle, variance = _moments(mean, axis)
        else:
            first, precision = apart(inputs, axis)
            middle, variance = first / precision, 1 / precision
        noise = B.random_normal(sites, 0.0, 1.0, dtype=B.dtype(mean), rng=rng)
        return self.encoded(middle + B.sqrt(variance) * noise, axis)

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """Return the means as initial states."""
        return self.encoded(self.decoded(mean, axis), axis)

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the integral of the weights."""
        first, precision = apart(inputs, axis)
        return 0.5 * (B.square(first) / precision - B.log(precision) + math.log(2 * math.pi))

    def uninformed(self, zeros: Array, axis: int = -1) -> Array:
        """Return the means of both units for a mean of 0 and a variance of 1."""
        number, square = apart(zeros, axis)
        return interleaved([number, square - 0.5], axis)

    def stepped(self, biases: Array, step: Array) -> Array:
        """Return biases after a step of the log-precisions, which keeps precisions positive at any scale."""
        (first, precision), (of_first, of_precision) = apart(biases, 0), apart(step, 0)
        down = B.minimum(B.maximum(precision * of_precision, -1.0), 1.0)
        return interleaved([first - of_first, precision * B.exp(-down)], 0)

    def observed(self, rows: Array) -> Array:
        """Return the means of x and of -x²/2."""
        return interleaved([B.mean(rows, axis=0), -0.5 * B.mean(B.square(rows), axis=0)], 0)

    def bias(self, rate: Array) -> Array:
        """Return the biases of the normal distributions with these moments."""
        middle, variance = _moments(rate, 0)
        return interleaved([middle / variance, 1 / variance], 0)

    def check_bias(self, bias: Array, name: str) -> None:
        """Raise `ValueError` unless precisions are positive."""
        least = float(B.min(apart(bias, 0)[1]))
        if not least > 0.0:
            raise ValueError(
                f"{name} must hold a precision above 0 in the second place of each normal site, got {least:g}"
            )

    def scaling_advice(self, rate: Array, first: int = 0) -> str:
        """Return a message about the first column whose mean and variance are far from 0 and 1, else ""."""
        middle, variance = (to_numpy(part).tolist() for part in _moments(rate, 0))
        for number, (mean, deviation) in enumerate(zip(middle, map(math.sqrt, variance), strict=True), first):
            if abs(mean) > _OFF or not 1 / _WIDE <= deviation <= _WIDE:
                return (
                    f"column {number} has mean {mean:.3g} and standard deviation {deviation:.3g}, and normal units "
                    "learn from columns of about 0 and 1: standardise them, as scikit-learn's StandardScaler does"
                )
        return ""

    def neutral_rates(self, size: int) -> list[float]:
        """Return the base rate for a mean of 0 and a variance of 1."""
        return [0.0, -0.5] * (size // 2)


def _moments(means: Array, axis: int) -> tuple[Array, Array]:
    """Return mean and variance of each site from the means of both units."""
    middle, square = apart(means, axis)
    return middle, B.maximum(-2 * square - B.square(middle), _LEAST)


NORMAL = Normal()


class Rectified(Units):
    """Rectified linear units: real numbers of at least 0; e(x) = ½ x²."""

    name = "relu"
    can_be_visible = False
    within: Values | None = Values(0.0, sys.float_info.max)
    has_own_energy = True
    is_bounded = False
    knows_means = False
    undecided = 0.0
    constant = 0.5 * math.log(2 * math.pi)

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the means of the truncated normal distributions."""
        near = B.maximum(inputs, -_FAR)
        direct = near + _DENSITY / erfcx(-_ROOT_HALF * B.minimum(near, _NEAR))
        part = 1 / B.square(B.maximum(-inputs, _FAR))
        series = (1 - part * (2 - part * (10 - part * (74 - part * 706)))) / B.maximum(-inputs, _FAR)
        far = B.cast(B.less(inputs, -_FAR), B.dtype(inputs))
        return far * series + (1 - far) * direct

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw states by inversion of the survival function, with a uniform for each unit."""
        if inputs is None:
            raise ValueError("rectified linear units are drawn from what they receive: their means do not tell it")
        above = B.random_uniform(shape, dtype=B.dtype(mean), rng=rng)
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

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """Return the means as initial states."""
        return mean

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the integral of the weights over non-negative values, minus `constant`."""
        high, low = B.maximum(inputs, 0.0), B.minimum(inputs, 0.0)
        return B.log(erfcx(-_ROOT_HALF * low)) + 0.5 * B.square(high) + log_ndtr(high)

    def own_energy(self, state: Array, axis: int = -1) -> Array:
        """Return ½ x²."""
        return 0.5 * B.square(state)


RECTIFIED = Rectified()


class DReLU(_Sites, Rectified):
    """Double rectified linear units: real numbers with ``e(x) = ½ x² + Δ |x| + ½ η x |x|``, -1 < η < 1.

    A site has the units x, ``-|x|`` and ``-½ x |x|``, whose biases are the field of x, Δ and η. For x of either sign it
    is a rectified linear unit with variance 1 / (1 ± η).
    """

    name = "drelu"
    width = 3
    within = None
    constant = 0.0

    def encoded(self, states: Array, axis: int = -1) -> Array:
        """Return x, ``-|x|`` and ``-½ x |x|`` of each site."""
        size = B.abs(states)
        return interleaved([states, -size, -0.5 * states * size], axis)

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the means of the three units of each site."""
        fields, scales, logs = self._halves(inputs, axis)
        means, shares = super().mean(fields), B.sigmoid(B.stack([logs[0] - logs[1], logs[1] - logs[0]], axis=0))
        sizes, squares = shares * scales * means, shares * B.square(scales) * (1 + fields * means)
        return interleaved([sizes[0] - sizes[1], -sizes[0] - sizes[1], 0.5 * (squares[1] - squares[0])], axis)

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw the sign of each site with a uniform, then its size as that of a rectified linear unit."""
        if inputs is None:
            raise ValueError("drelu units are drawn given their local fields: their means do not determine them")
        axis = axis % len(shape)
        sites = (*shape[:axis], shape[axis] // self.width, *shape[axis + 1 :])
        fields, scales, logs = self._halves(inputs, axis)
        on = B.random_binomial(sites, p=B.sigmoid(logs[0] - logs[1]), dtype=B.dtype(mean), rng=rng)
        field, scale = (on * part[0] + (1 - on) * part[1] for part in (fields, scales))
        return self.encoded((2 * on - 1) * scale * super().draw(field, sites, rng, axis, field), axis)

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the integral of the weights."""
        return B.logsumexp(self._halves(inputs, axis)[2], axis=0) + Rectified.constant

    def own_energy(self, state: Array, axis: int = -1) -> Array:
        """Return ½ x² of each site; the other terms of e(x) are those of biases."""
        return 0.5 * B.square(self.decoded(state, axis))

    def stepped(self, biases: Array, step: Array) -> Array:
        """Return biases after a step, with bounds of η and of its step, proportional to 1 - η²."""
        field, threshold, _ = apart(biases - step, 0, self.width)
        asymmetry, of_asymmetry = (apart(part, 0, self.width)[2] for part in (biases, step))
        turn = (1 - B.square(asymmetry)) * B.minimum(B.maximum(of_asymmetry, -_TURN), _TURN)
        return interleaved([field, threshold, B.minimum(B.maximum(asymmetry - turn, -_MOST), _MOST)], 0)

    def check_bias(self, bias: Array, name: str) -> None:
        """Raise `ValueError` unless η is between -1 and 1."""
        most = float(B.max(B.abs(apart(bias, 0, self.width)[2])))
        if not most < 1.0:
            raise ValueError(f"{name} must be below 1 in the third place of each drelu site, up to sign, got {most:g}")

    def _halves(self, inputs: Array, axis: int) -> tuple[Array, Array, Array]:
        """Return local fields of rectified linear units, scales of x, and log-weights, first for positive x."""
        field, threshold, asymmetry = apart(inputs, axis, self.width)
        scales = 1 / B.sqrt(1 + B.stack([asymmetry, -asymmetry], axis=0))
        fields = scales * (B.stack([field, -field], axis=0) - threshold)
        return fields, scales, super().log_normaliser(fields) + B.log(scales)


DRELU = DReLU()
