"""How often sites are in each state, and pairs of sites in each pair of states."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import array_namespace, asarray

from .counting import checked_states, one_hot

__all__ = ["connected_correlations", "pair_frequencies", "pearson", "site_frequencies", "site_pairs"]

_BLOCK = 4096  # sequences counted at a time


def site_frequencies(states: Any, n_states: int | None = None, weights: Any = None) -> Any:
    """How often each site is in each state.

    Parameters
    ----------
    states : array of shape (sequences, sites)
        Whole numbers from 0.
    n_states : int, optional
        How many states a site has; by default one more than the largest number.
    weights : array of shape (sequences,), optional
        How much each sequence counts; all the same by default.

    Returns
    -------
    array of shape (sites, n_states), of float32

    Examples
    --------
    >>> import numpy as np
    >>> site_frequencies(np.asarray([[0, 1], [0, 0]]))
    array([[1. , 0. ],
           [0.5, 0.5]], dtype=float32)
    """
    states, count = checked_states(states, n_states)
    sample_weights = _sample_weights(states, weights)
    xp, total = array_namespace(states), 0.0
    for rows, weight in _blocks(states, sample_weights, _BLOCK):
        total = total + weight @ one_hot(rows, count)
    return xp.reshape(total, (states.shape[1], count))


def pair_frequencies(states: Any, n_states: int | None = None, weights: Any = None, *, block: int = _BLOCK) -> Any:
    """How often each two sites are in each two states.

    Parameters
    ----------
    states, n_states, weights
        As in `site_frequencies`.
    block : int, optional
        Sequences that are counted at a time.

    Returns
    -------
    array of shape (sites, n_states, sites, n_states), of float32

    Examples
    --------
    >>> import numpy as np
    >>> pair_frequencies(np.asarray([[0, 1], [0, 0]]))[0, 0, 1, :]
    array([0.5, 0.5], dtype=float32)
    """
    states, count = checked_states(states, n_states)
    sample_weights = _sample_weights(states, weights)
    total: Any = 0.0
    for rows, weight in _blocks(states, sample_weights, positive_int(block, "block")):
        found = one_hot(rows, count)
        total = total + (found * weight[:, None]).T @ found
    return array_namespace(states).reshape(total, (states.shape[1], count, states.shape[1], count))


def connected_correlations(pairs: Any) -> Any:
    """How much more often two states are met together than they would be independently.

    Parameters
    ----------
    pairs : array of shape (sites, n_states, sites, n_states)
        Frequencies.

    Returns
    -------
    array of shape (sites, n_states, sites, n_states)

    Examples
    --------
    >>> import numpy as np
    >>> same = pair_frequencies(np.asarray([[0, 0], [1, 1]]))
    >>> connected_correlations(same)[0, :, 1, :]
    array([[ 0.25, -0.25],
           [-0.25,  0.25]], dtype=float32)
    """
    sites, count = pairs.shape[:2]
    xp = array_namespace(pairs)
    own = B.sum(pairs[0, :, :, :], axis=0)  # of all sites, from the pairs with the first
    return pairs - xp.reshape(own, (sites, count, 1, 1)) * xp.reshape(own, (1, 1, sites, count))


def site_pairs(values: Any) -> Any:
    """The values of each two sites once, of those that are not the same.

    Parameters
    ----------
    values : array of shape (sites, n_states, sites, n_states)

    Returns
    -------
    array of shape (pairs, n_states, n_states)
        In the order (0, 1), (0, 2), …
    """
    sites, count = values.shape[:2]
    xp = array_namespace(values)
    apart = xp.reshape(xp.permute_dims(values, (0, 2, 1, 3)), (sites * sites, count, count))
    places = [first * sites + second for first in range(sites) for second in range(first + 1, sites)]
    return xp.take(apart, asarray(places, xp), axis=0)


def pearson(one: Any, other: Any) -> float:
    """The correlation coefficient of Pearson of the elements of two arrays; nan where one has the same everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> round(pearson(np.asarray([1.0, 2.0, 3.0]), np.asarray([2.0, 4.0, 6.0])), 6)
    1.0
    """
    one, other = one - B.mean(one), other - B.mean(other)
    spread = float(B.sqrt(B.sum(one * one) * B.sum(other * other)))
    return float(B.sum(one * other)) / spread if spread else math.nan


def _sample_weights(states: Any, weights: Any) -> Any:
    """What each sequence counts; all of them one."""
    length, xp = states.shape[0], array_namespace(states)
    if weights is None:
        return B.cast(xp.ones(length) / length, "float32")
    weights = asarray(weights, xp, "float32")
    if weights.shape != (length,):
        raise ValueError(f"weights must be {length}, one for each sequence, got shape {tuple(weights.shape)}")
    return weights / B.sum(weights)


def _blocks(states: Any, sample_weights: Any, size: int) -> Any:
    for start in range(0, states.shape[0], size):
        end = min(start + size, states.shape[0])
        yield states[start:end, :], sample_weights[start:end]
