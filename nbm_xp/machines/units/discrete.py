"""Units with a list of states: binary, spin, and categorical sites of q states.

Data contain the states of categorical sites as whole numbers from 0; the units of a layer are ordered site by site, and
within a site state by state. Adding a constant to all weights between a site and another unit does not change the
distribution if it is subtracted from the bias of that unit. So training uses weights that sum to zero over the states
of a site (the zero-sum gauge): steps are projected onto it.
"""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Shape, Streams
from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.kernels import or_kernel
from nbm_xp.tape import composite

from ..rows import Values
from .base import RAREST, TINY, Units, softplus


class Binary(Units):
    """Units with two states.

    Parameters
    ----------
    name : str
    low, high : float
        The states: 0 and 1, or -1 and 1.
    stored : str
        The dtype of states on disk.
    """

    prior_count = 2

    def __init__(self, name: str, low: float, high: float, stored: str) -> None:
        self.name, self.stored = name, stored
        self.within, self.states = Values(low, high), (low, high)
        self.undecided = 0.5 * (low + high)
        self._scale, self._low = high - low, low

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the means, from the probabilities of the upper state."""
        return self._between(B.sigmoid(self._gap(inputs)))

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw states with a uniform for each unit."""
        return self._between(B.random_binomial(shape, p=self._share(mean), dtype=B.dtype(mean), rng=rng))

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the sum of the weights of both states."""
        found = softplus(self._gap(inputs))
        return found + self._low * inputs if self._low else found

    def entropy(self, mean: Array) -> Array:
        """Return the entropy of independent units."""
        on = self._share(mean)
        off = 1 - on
        return -(on * B.log(B.maximum(on, TINY)) + off * B.log(B.maximum(off, TINY)))

    def of_indices(self, numbers: Array, axis: int = -1) -> Array:
        """Return states from the indices 0 and 1."""
        return self._between(numbers)

    def shifted(self, state: Array, where: Array, places: int = 1) -> Array:
        """Return the other state where `where` is 1."""
        return state + where * (2 * self.undecided - 2 * state)

    def base_rate(self, mean: Array, count: int) -> Array:
        """Return the mean with one pseudo-row of each state, so that both states have a positive probability."""
        return self._between((count * self._share(mean) + 1.0) / (count + 2.0))

    def bias(self, rate: Array) -> Array:
        """Return the log-odds divided by the difference of the states."""
        on = self._share(rate)
        return (B.log(on) - B.log(1.0 - on)) / self._scale

    def bounded_rate(self, rate: Array) -> Array:
        """Return the base rate with probabilities of both states of at least `RAREST`."""
        return self._between(B.minimum(B.maximum(self._share(rate), RAREST), 1 - RAREST))

    def _gap(self, inputs: Array) -> Array:
        """Return the log-odds of the upper state."""
        return inputs if self._scale == 1.0 else self._scale * inputs

    def _between(self, shares: Array) -> Array:
        """Return the means of units with these probabilities of the upper state."""
        return shares if self.states == (0.0, 1.0) else self._scale * shares + self._low

    def _share(self, mean: Array) -> Array:
        """Return the probability of the upper state of units with these means."""
        return mean if self.states == (0.0, 1.0) else (mean - self._low) / self._scale


BINARY = Binary("binary", 0.0, 1.0, "uint8")
SPIN = Binary("spin", -1.0, 1.0, "int8")


def _weights(inputs: Array, axis: int) -> Array:
    """Return the weights of states along an axis, scaled to a maximum of 1."""
    return B.exp(inputs - B.max(inputs, axis=axis, keepdims=True))


def _one_hot(numbers: Array, axis: int, n_states: int) -> Array:
    """Return the one-hot encoding of indices, with a new axis for the states."""
    xp, after = array_namespace(numbers), len(numbers.shape) - axis
    states = xp.arange(n_states, dtype=numbers.dtype)[(..., *([None] * after))]
    return B.cast(B.equal(xp.expand_dims(numbers, axis=axis), states), B.dtype(numbers))


def _inverted(weights: Array, uniforms: Array, axis: int) -> Array:
    """Return the one-hot encoding of the first state whose cumulative weight exceeds a part of the total weight."""
    before: tuple[Any, ...] = (slice(None),) * axis
    sums = B.cumsum(weights, axis=axis)
    drawn = array_namespace(uniforms).expand_dims(uniforms * sums[(*before, -1, ...)], axis=axis)
    above = B.cast(B.less_equal(sums[(*before, slice(0, -1), ...)], drawn), B.dtype(weights))
    return _one_hot(B.sum(above, axis=axis), axis, weights.shape[axis])


@composite(gradient=(None, None), arrays=2, infer=lambda x, *_, **__: (x.shape, x.dtype), may_overlap=False)
@or_kernel("exponentials.softmax_states", 2)
def softmax_states(inputs: Array, uniforms: Array, axis: int) -> Array:
    """Return the one-hot encoding of states drawn with the probabilities of a softmax.

    Parameters
    ----------
    inputs : array
        Logarithms of the weights of states.
    uniforms : array
        Of the shape of `inputs` without `axis`, from 0 to 1.
    axis : int
        Axis of the states, at least 0.
    """
    return _inverted(_weights(inputs, axis), uniforms, axis)


class Categorical(Units):
    """Categorical sites: one-hot units, one for each state.

    Parameters
    ----------
    n_states : int
        Number of states of a site, at least two.

    Examples
    --------
    >>> import numpy as np
    >>> units = Categorical(3)
    >>> units.encoded(np.asarray([[0.0, 2.0]])), units.decoded(np.asarray([[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]))
    (array([[1., 0., 0., 0., 0., 1.]]), array([[0., 2.]]))
    """

    is_categorical = True

    def __init__(self, n_states: int) -> None:
        self.n_states = n_states
        self.name = f"categorical:{n_states}"
        self.within = Values(0.0, float(n_states - 1), whole=True)
        self.stored = "uint8" if n_states <= 256 else "int32"
        self.prior_count = n_states
        self.undecided = 1.0 / n_states  # equal probabilities

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categorical) and other.n_states == self.n_states

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def rates_within(self) -> Values:
        """Allowed base rates: probabilities."""
        return Values(0.0, 1.0)

    def size(self, sites: int) -> int:
        """Return the number of units: one for each state of each site."""
        return sites * self.n_states

    def sites(self, size: int) -> int:
        """Return the number of sites: the number of units divided by `n_states`."""
        found, left = divmod(size, self.n_states)
        if left:
            raise ValueError(f"layers of {self.name} units must be whole sites of {self.n_states}, got {size} units")
        return found

    def radices(self, size: int) -> tuple[int, ...]:
        """Return the number of states of each site."""
        return (self.n_states,) * self.sites(size)

    def encoded(self, states: Array, axis: int = -1) -> Array:
        """Return the one-hot encoding of states."""
        axis = axis % len(states.shape)
        return self._joined(_one_hot(states, axis + 1, self.n_states), axis)

    def of_indices(self, numbers: Array, axis: int = -1) -> Array:
        """Return the one-hot encoding of indices, which are those of data."""
        return self.encoded(numbers, axis)

    def decoded(self, state: Array, axis: int = -1) -> Array:
        """Return the index of each site's 1."""
        apart, at = self._apart(state, axis)
        values = array_namespace(apart).arange(self.n_states, dtype=apart.dtype)  # products cost a tenth of argmax
        return apart @ values if at == len(apart.shape) - 1 else values @ apart

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """Return the probability of each state."""
        apart, at = self._apart(inputs, axis)
        weights = _weights(apart, at)
        return self._joined(weights / B.sum(weights, axis=at, keepdims=True), at - 1)

    @property
    def values(self) -> list[int]:
        """The states of a site: whole numbers from 0."""
        return list(range(self.n_states))

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw states by inversion of the cumulative weights, with a uniform for each site."""
        apart, at = self._apart(mean if inputs is None else inputs, axis)
        sites = (*shape[: at - 1], self.sites(shape[at - 1]), *shape[at:])
        uniforms = B.random_uniform(sites, dtype=B.dtype(mean), rng=rng)
        return self._joined((_inverted if inputs is None else softmax_states)(apart, uniforms, axis=at), at - 1)

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithm of the sum of the weights of all states."""
        apart, at = self._apart(inputs, axis)
        return B.logsumexp(apart, axis=at)

    def entropy(self, mean: Array) -> Array:
        """Return the entropy of independent sites, as the term of each state."""
        return -mean * B.log(B.maximum(mean, TINY))

    def shifted(self, state: Array, where: Array, places: int = 1) -> Array:
        """Return the states `places` further, cyclically, where `where` is 1."""
        apart, at = self._apart(state, -1)
        places = places % self.n_states
        further = B.concatenate([apart[..., -places:], apart[..., :-places]], axis=at) if places else apart
        return self._joined(apart + where[..., None] * (further - apart), at - 1)

    def gauged(self, values: Array, axis: int = -1) -> Array:
        """Return values minus their mean over the states of each site."""
        apart, at = self._apart(values, axis)
        return self._joined(apart - B.mean(apart, axis=at, keepdims=True), at - 1)

    def observed(self, rows: Array) -> Array:
        """Return the frequency of each state at each site, NaN if a value is missing."""
        shares = B.stack([B.mean(B.equal(rows, state), axis=0) for state in range(self.n_states)], axis=1)
        missing = B.cast(0 * B.mean(rows, axis=0), B.dtype(shares))  # NaN for sites with a missing value, else 0
        return B.reshape(shares + missing[:, None], (-1,))

    def base_rate(self, mean: Array, count: int) -> Array:
        """Return the mean with one pseudo-row of each state, so that all states have a positive probability."""
        return (count * mean + 1.0) / (count + float(self.n_states))

    def bias(self, rate: Array) -> Array:
        """Return the logarithm minus its mean over the states of each site."""
        return self.gauged(B.log(rate))

    def bounded_rate(self, rate: Array) -> Array:
        """Return the base rate with a lower bound `RAREST`, normalised again."""
        apart, at = self._apart(B.maximum(rate, RAREST), -1)
        return self._joined(apart / B.sum(apart, axis=at, keepdims=True), at - 1)

    def _apart(self, values: Array, axis: int) -> tuple[Array, int]:
        """Return units reshaped with an axis of sites and an axis of states, and the index of the latter."""
        shape = tuple(values.shape)
        axis = axis % len(shape)
        sites = shape[axis] // self.n_states
        return B.reshape(values, (*shape[:axis], sites, self.n_states, *shape[axis + 1 :])), axis + 1

    def _joined(self, values: Array, axis: int) -> Array:
        """Return units reshaped with one axis, from an axis of sites and the next of states."""
        shape = tuple(values.shape)
        return B.reshape(values, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))
