"""The interface of kinds of units.

A unit with local field r has the states x with weights exp(x·r - e(x)), where e is its own energy. Methods of units
take Tensors; those of rates and biases also take arrays. Arguments have an axis of units, which kinds with several
units for each site need to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Namespace, Shape, Streams
from nbm_xp.namespace import array_namespace, dtype_of, wide_dtypes

from ..rows import Values

TINY = 1e-30  # lower bound of probabilities in logarithms of entropies

RAREST = 2.0**-23  # lower bound of probabilities in base rates; 1 minus it differs from 1 in float32


def softplus(x: Any) -> Array:
    """Return ``log(1 + exp(x))``, which the tape records in its numerically stable form."""
    return B.log(1 + B.exp(x))


def apart(values: Array, axis: int, count: int = 2) -> list[Array]:
    """Return the first units of all sites along an axis, the second ones, …, of sites with `count` units each."""
    before: tuple[slice, ...] = (slice(None),) * (axis % len(values.shape))
    return [values[(*before, slice(first, None, count))] for first in range(count)]


def interleaved(parts: Sequence[Array], axis: int) -> Array:
    """Return the units of sites along an axis from the first ones, the second ones, …: see `apart`."""
    shape = tuple(parts[0].shape)
    axis = axis % len(shape)
    return B.reshape(B.stack(list(parts), axis=axis + 1), (*shape[:axis], -1, *shape[axis + 1 :]))


class Units:
    """A kind of units.

    Attributes
    ----------
    name : str
    within : Values, or None
        Allowed values of data; values between states are means. None for all real numbers.
    rates_within : Values, or None
        Allowed base rates.
    states : tuple of float, or None
        States of a unit in the order of enumeration; None if they cannot be listed.
    stored : str or None
        The dtype of states on disk; None for the model's.
    has_own_energy : bool
        Whether e(x) is not 0 everywhere.
    is_bounded : bool
        Whether states are bounded. With two connected layers of unbounded units Z may be infinite.
    knows_means : bool
        Whether states can be drawn from their means alone, and the entropy is a function of the mean.
    can_be_visible, can_be_hidden : bool
    prior_count : int
        Number of pseudo-rows, equally divided among the states, in estimates of base rates.
    undecided : float
        Initial mean of chains without further information: that with local field 0, if the unit `knows_means`.
    fewest : int
        Smallest number of sites of a layer.
    constant : float
        Part of each unit's `log_normaliser` that does not depend on the local field, and is left out there.
    """

    name: str
    within: Values | None = None
    states: tuple[float, ...] | None = None
    stored: str | None = None
    has_own_energy: bool = False
    is_bounded: bool = True
    knows_means: ClassVar[bool] = True
    can_be_visible: ClassVar[bool] = True
    can_be_hidden: ClassVar[bool] = True
    prior_count: int = 0
    undecided: float = 0.5
    fewest: int = 1
    constant: ClassVar[float] = 0.0
    is_categorical: ClassVar[bool] = False

    @property
    def rates_within(self) -> Values | None:
        """Allowed base rates."""
        return self.within

    def size(self, sites: int) -> int:
        """Return the number of units of `sites` sites; data have one number for each site."""
        return sites

    def sites(self, size: int) -> int:
        """Return the number of sites of `size` units.

        Raises
        ------
        ValueError
            If it is not a whole number.
        """
        return size

    def radices(self, size: int) -> tuple[int, ...] | None:
        """Return the number of states of each site; None if they cannot be listed."""
        return None if self.states is None else (len(self.states),) * size

    def encoded(self, states: Array, axis: int = -1) -> Array:
        """Return the units of states in the format of data, one number for each site."""
        return states

    def decoded(self, state: Array, axis: int = -1) -> Array:
        """Return states in the format of data from units."""
        return state

    def per_unit(self, values: Array, axis: int = -1) -> Array:
        """Return values of sites repeated for the units of each site."""
        count = self.size(1)
        return values if count == 1 else array_namespace(values).repeat(values, count, axis=axis)

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the means of units with these local fields."""
        raise NotImplementedError

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw states with these means; `inputs` are the local fields, if known."""
        raise NotImplementedError

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """Return initial states of chains: drawn with these means, or for real numbers the means themselves."""
        return self.draw(mean, shape, rng, axis)

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the sum over a site's states of their weights, minus `constant`."""
        raise NotImplementedError

    def own_energy(self, state: Array, axis: int = -1) -> Array:
        """Return the own energy e(x) of units."""
        return B.zeros_like(state)

    def entropy(self, mean: Array) -> Array:
        """Return the contribution of units with these means to the mean-field bound.

        It is their entropy, minus their mean own energy, plus the own energy of the mean.
        """
        raise NotImplementedError

    def of_indices(self, numbers: Array, axis: int = -1) -> Array:
        """Return the units of states from the indices of the states of each site."""
        return numbers

    def of_bool(self, xp: Namespace, upper: Array) -> Array:
        """Return the upper of two states where `upper` is true, else the lower one, as int8."""
        low, high = map(int, self.states or ())
        return xp.astype(upper, dtype_of(xp, "int8")) * (high - low) + low

    def uniform_states(self, xp: Namespace, uniforms: Array) -> Array:
        """Return equally probable states in the format of data, as int8, from uniform numbers."""
        first, *_ = values = self.values
        with wide_dtypes(xp):
            found = xp.astype(xp.floor(uniforms * float(len(values))), dtype_of(xp, "int8"))
        return found * (values[1] - first) + first

    @property
    def values(self) -> list[int]:
        """The states of a site in the format of data; empty for real numbers."""
        return [int(state) for state in self.states or ()]

    @property
    def count(self) -> int:
        """Number of values of a site."""
        return len(self.values)

    @property
    def least(self) -> int:
        """Smallest value of a site."""
        return self.values[0]

    @property
    def step(self) -> float:
        """Difference between consecutive values of a site."""
        return float(self.values[1] - self.values[0])

    def shifted(self, state: Array, where: Array, places: int = 1) -> Array:
        """Return the states `places` further in the list of states where `where` is 1, unchanged where it is 0."""
        raise NotImplementedError

    def uninformed(self, zeros: Array, axis: int = -1) -> Array:
        """Return the initial means of chains without further information, in the shape of `zeros`."""
        return zeros + self.undecided

    def gauged(self, values: Array, axis: int = -1) -> Array:
        """Return weights or biases of units along an axis in the zero-sum gauge, if the kind has one."""
        return values

    def unweighted(self, weights: Array, axis: int = -1) -> Array:
        """Return weights of units along an axis, with 0 for units that must not have weights."""
        return weights

    def stepped(self, biases: Array, step: Array) -> Array:
        """Return valid biases after a step of gradient descent."""
        return biases - step

    def observed(self, rows: Array) -> Array:
        """Return the mean of each unit in rows of data."""
        return B.mean(rows, axis=0)

    def base_rate(self, mean: Array, count: int) -> Array:
        """Return the base rate estimated from `count` rows with this mean."""
        return mean

    def bias(self, rate: Array) -> Array:
        """Return the biases of units without weights whose means are `rate`."""
        raise NotImplementedError

    def bounded_rate(self, rate: Array) -> Array:
        """Return the base rate, bounded such that every state has a positive probability."""
        return rate

    def check_bias(self, bias: Array, name: str) -> None:
        """Raise `ValueError` for invalid biases."""

    def scaling_advice(self, rate: Array, first: int = 0) -> str:
        """Return a message if data with this base rate are badly scaled, else ""; `first` is the index of site 0."""
        return ""

    def updated_rate(self, rate: Array, seen: int, mean: Array, count: int) -> Array:
        """Return the base rate estimated from `seen` rows, updated with `count` more rows with this mean."""
        seen = seen + self.prior_count
        return (rate * seen + mean * count) / (seen + count)

    def neutral_rates(self, size: int) -> list[float]:
        """Return the base rate of `size` units without data."""
        return [self.undecided] * size
