"""Frequencies of states at sites and at pairs of sites, and sequence weights.

Sequence weights correct for uneven sampling: databases contain some branches of a family a hundredfold, others once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.rows import numbers
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_bool, is_integer, is_lazy, to_numpy
from nbm_xp.namespace.errors import positive_int
from nbm_xp.package import need


def checked_states(states: Array, n_states: int | None = None, name: str = "states") -> tuple[Array, int]:
    """Return rows of whole numbers as an array, and the number of states of a site.

    Raises
    ------
    ValueError
        If they are not whole numbers from 0 to `n_states` - 1 in an array with two axes.
    """
    states = numbers(states, name)
    if states.ndim != 2 or 0 in states.shape:
        raise ValueError(f"{name} must have two axes, (sequences, sites), got an array of shape {tuple(states.shape)}")
    if is_lazy(array_namespace(states)):
        if n_states is None:
            raise ValueError(f"n_states must be given where {name} are computed later")
        return states, positive_int(n_states, "n_states")
    low, high = float(B.min(states)), float(B.max(states))
    whole = is_integer(states) or is_bool(states) or bool(B.all(B.equal(states, B.round(states))))
    count = int(high) + 1 if n_states is None else positive_int(n_states, "n_states")
    if not (whole and low >= 0 and high < count):
        raise ValueError(f"{name} must be whole numbers from 0 to {count - 1}, got values from {low:g} to {high:g}")
    return states, count


def one_hot(states: Array, count: int, dtype: str = "float32") -> Array:
    """Return the one-hot encoding: a column for each state of each site, site by site."""
    xp = array_namespace(states)
    places = xp.arange(count, dtype=states.dtype)
    found = B.cast(states[:, :, None] == places[None, None, :], dtype)
    return xp.reshape(found, (states.shape[0], states.shape[1] * count))


_BLOCK = 4096  # sequences processed at a time


def site_frequencies(states: Array, n_states: int | None = None, weights: Array = None) -> Array:
    """Return the frequency of each state at each site.

    Parameters
    ----------
    states : array of shape (sequences, sites)
        Whole numbers from 0.
    n_states : int, optional
        Number of states of a site; by default the largest number plus 1.
    weights : array of shape (sequences,), optional
        Weights of the sequences; equal by default.

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


def pair_frequencies(
    states: Array, n_states: int | None = None, weights: Array = None, *, block: int = _BLOCK
) -> Array:
    """Return the frequency of each pair of states at each pair of sites.

    Parameters
    ----------
    states, n_states, weights
        As in `site_frequencies`.
    block : int, optional
        Number of sequences processed at a time.

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
    total: Array = 0.0
    for rows, weight in _blocks(states, sample_weights, positive_int(block, "block")):
        found = one_hot(rows, count)
        total = total + (found * weight[:, None]).T @ found
    return array_namespace(states).reshape(total, (states.shape[1], count, states.shape[1], count))


def connected_correlations(pairs: Array) -> Array:
    """Return connected correlations: the pair frequencies minus the products of the site frequencies.

    Parameters
    ----------
    pairs : array of shape (sites, n_states, sites, n_states)
        Pair frequencies, as `pair_frequencies` returns them.

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
    own = B.sum(pairs[0, :, :, :], axis=0)  # site frequencies, as marginals of the pairs with site 0
    return pairs - xp.reshape(own, (sites, count, 1, 1)) * xp.reshape(own, (1, 1, sites, count))


def site_pairs(values: Array) -> Array:
    """Return the values of all pairs of different sites, each pair once.

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


def pearson(one: Array, other: Array) -> float:
    """Return Pearson's correlation coefficient of the elements of two arrays; NaN if one of them is constant.

    Examples
    --------
    >>> import numpy as np
    >>> round(pearson(np.asarray([1.0, 2.0, 3.0]), np.asarray([2.0, 4.0, 6.0])), 6)
    1.0
    """
    one, other = one - B.mean(one), other - B.mean(other)
    spread = float(B.sqrt(B.sum(one * one) * B.sum(other * other)))
    return float(B.sum(one * other)) / spread if spread else math.nan


def _sample_weights(states: Array, weights: Array) -> Array:
    """Return the weights of the sequences, normalised to a sum of 1."""
    length, xp = states.shape[0], array_namespace(states)
    if weights is None:
        return B.cast(xp.ones(length) / length, "float32")
    weights = asarray(weights, xp, "float32")
    if weights.shape != (length,):
        raise ValueError(f"weights must be {length}, one for each sequence, got shape {tuple(weights.shape)}")
    return weights / B.sum(weights)


def _blocks(states: Array, sample_weights: Array, size: int) -> Array:
    for start in range(0, states.shape[0], size):
        end = min(start + size, states.shape[0])
        yield states[start:end, :], sample_weights[start:end]


def sequence_weights(states: Array, identity: float = 0.8, *, n_states: int | None = None, block: int = 1024) -> Array:
    """Return for each sequence 1 over the number of sequences that agree with it at enough sites, itself included.

    Parameters
    ----------
    states : array of shape (sequences, sites)
        Whole numbers from 0.
    identity : float, optional
        Smallest fraction of sites, gaps included, at which two such sequences agree.
    n_states : int, optional
        Number of states of a site; by default the largest number plus 1.
    block : int, optional
        Number of sequences compared with as many others at a time: memory grows with its square, not with the square
        of the number of sequences.

    Returns
    -------
    array of shape (sequences,), of float32
        The sum of the weights is the effective number of sequences.

    Raises
    ------
    ValueError
        If an argument is invalid.

    References
    ----------
    F. Morcos et al., "Direct-coupling analysis of residue coevolution captures native contacts across many protein
    families", PNAS 108 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> sequence_weights(np.asarray([[0, 1, 2, 3, 4], [0, 1, 2, 3, 3], [4, 4, 4, 4, 4]]))
    array([0.5, 0.5, 1. ], dtype=float32)
    """
    states, count = checked_states(states, n_states)
    near: list[Array] = [0.0] * -(-states.shape[0] // positive_int(block, "block"))
    for i, j, similar in _similar(states, count, identity, block):
        close = B.cast(similar, "float32")
        near[i] = near[i] + B.sum(close, axis=1)
        if i != j:
            near[j] = near[j] + B.sum(close, axis=0)
    return 1.0 / array_namespace(states).concat(near)


def _similar(states: Array, count: int, identity: float, block: int) -> Iterator[tuple[int, int, Array]]:
    """Yield the numbers of two blocks of sequences, each pair once, and which of their sequences agree."""
    if isinstance(identity, bool) or not hasattr(identity, "__float__") or not 0 < identity <= 1:
        raise ValueError(f"identity must be a number above 0, at most 1, got {identity!r}")
    size = positive_int(block, "block")
    length, sites = states.shape
    least = math.ceil(identity * sites - 1e-9)
    parts = [states[start : min(start + size, length), :] for start in range(0, length, size)]
    for i, part in enumerate(parts):
        ours = one_hot(part, count)
        for j, other in itertools.islice(enumerate(parts), i, None):
            theirs = ours if i == j else one_hot(other, count)
            yield i, j, ours @ theirs.T >= least


def identity_groups(states: Array, identity: float = 0.8, *, n_states: int | None = None, block: int = 1024) -> Array:
    """Return a group number for each sequence: sequences of different groups agree at few sites.

    Groups are the connected components of the graph whose edges are pairs of sequences that agree at enough sites
    (clusters of single linkage). A split by groups has no sequence in its test set that is similar to one of its
    training set: pass them as `groups` to ``GroupShuffleSplit``, ``GroupKFold`` and ``cross_validate`` of scikit-learn.

    Parameters
    ----------
    states, identity, n_states, block
        As in `sequence_weights`; `states` must be in memory.

    Returns
    -------
    numpy.ndarray of shape (sequences,)
        Whole numbers from 0, in the order of the groups' first sequences.

    Raises
    ------
    ValueError
        If an argument is invalid.

    References
    ----------
    S. Petti and S. R. Eddy, "Constructing benchmark test sets for biological sequence analysis using independent set
    algorithms", PLOS Computational Biology 18 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> identity_groups(np.asarray([[0, 1, 2, 3], [4, 4, 4, 4], [0, 1, 2, 0], [0, 1, 0, 0]]), 0.75)
    array([0, 1, 0, 0])
    """
    states, count = checked_states(states, n_states)
    if is_lazy(array_namespace(states)):
        raise ValueError("states must be in memory: the number of groups follows from their values")
    host, components = host_namespace(), need("scipy.sparse.csgraph").connected_components
    found = host.arange(states.shape[0])
    for i, j, similar in _similar(states, count, identity, block):
        ours, theirs = host.nonzero(to_numpy(similar))
        pairs = found[ours + i * block], found[theirs + j * block]
        graph = need("scipy.sparse").coo_array((host.ones(ours.shape), pairs), shape=found.shape * 2)
        found = components(graph, directed=False)[1][found]
    _, first, which = host.unique(found, return_index=True, return_inverse=True)
    return host.argsort(host.argsort(first))[which]
