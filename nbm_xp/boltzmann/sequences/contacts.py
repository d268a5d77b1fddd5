"""Which sites touch, told by how strongly they are coupled.

Couplings of two sites are told apart from fields in the zero-sum gauge; their strength is the Frobenius norm, less what
both sites have in common with all others (the average product correction).

References
----------
M. Ekeberg, C. Lövkvist, Y. Lan, M. Weigt and E. Aurell, "Improved contact prediction in proteins: using
pseudolikelihoods to infer Potts models", Physical Review E 87 (2013).
S. D. Dunn, L. M. Wahl and G. B. Gloor, "Mutual information without the influence of phylogeny or entropy dramatically
improves residue contact prediction", Bioinformatics 24 (2008).
"""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace

from .statistics import checked_states, one_hot

__all__ = ["average_product_correction", "contact_scores", "effective_couplings", "zero_sum"]

_BLOCK = 4096  # sequences at a time


def zero_sum(couplings: Array) -> Array:
    """Couplings in the gauge in which they sum to zero over the states of either site.

    Parameters
    ----------
    couplings : array of shape (sites, n_states, sites, n_states)

    Returns
    -------
    array of shape (sites, n_states, sites, n_states)

    Examples
    --------
    >>> import numpy as np
    >>> float(np.abs(zero_sum(np.arange(16.0).reshape(2, 2, 2, 2))).max())  # a sum of fields, and no coupling
    0.0
    """
    couplings = couplings - B.mean(couplings, axis=1, keepdims=True)
    return couplings - B.mean(couplings, axis=3, keepdims=True)


def contact_scores(couplings: Array, *, gap: int | None = 0, corrected: bool = True) -> Array:
    """How strongly each two sites are coupled.

    Parameters
    ----------
    couplings : array of shape (sites, n_states, sites, n_states)
        In any gauge.
    gap : int or None, optional
        The state whose couplings do not count, as sites with gaps in common say nothing of contacts; None counts all.
    corrected : bool, optional
        Whether to subtract what both sites have in common with all others (`average_product_correction`).

    Returns
    -------
    array of shape (sites, sites)
        Zero for a site and itself.

    Examples
    --------
    >>> import numpy as np
    >>> couplings = np.zeros((3, 2, 3, 2))
    >>> couplings[0, :, 2, :] = couplings[2, :, 0, :] = np.asarray([[1.0, -1.0], [-1.0, 1.0]])
    >>> contact_scores(couplings, gap=None, corrected=False)[0]
    array([0., 0., 2.])
    """
    shape = tuple(couplings.shape)
    if len(shape) != 4 or shape[:2] != shape[2:]:
        raise ValueError(f"couplings must have the shape (sites, n_states, sites, n_states), got {shape}")
    if gap is not None and not 0 <= gap < shape[1]:
        raise ValueError(f"gap must be a state from 0 to {shape[1] - 1}, or None, got {gap!r}")
    xp, (sites, count) = array_namespace(couplings), shape[:2]
    counted = B.cast(xp.arange(count) != (-1 if gap is None else gap), B.dtype(couplings))
    squares = B.square(zero_sum(couplings)) * counted[None, :, None, None] * counted
    apart = 1 - xp.eye(sites, dtype=couplings.dtype)
    norms = B.sqrt(B.sum(squares, axis=(1, 3))) * apart
    return average_product_correction(norms) if corrected else norms


def average_product_correction(scores: Array) -> Array:
    """Scores of pairs of sites, less the product of both sites' means over the mean of all.

    Parameters
    ----------
    scores : array of shape (sites, sites)
        Symmetric; those of a site and itself do not count.

    Returns
    -------
    array of shape (sites, sites)
        Zero for a site and itself.

    Examples
    --------
    >>> import numpy as np
    >>> average_product_correction(np.ones((3, 3)))  # nothing but what all have in common
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    sites, xp = scores.shape[0], array_namespace(scores)
    apart = 1 - xp.eye(sites, dtype=scores.dtype)
    means = B.sum(scores * apart, axis=1) / (sites - 1)
    mean = B.mean(means)
    # Where all scores are zero, so is what they have in common.
    common = means[:, None] * means[None, :] / xp.where(mean == 0, mean + 1, mean)
    return (scores - common) * apart


def effective_couplings(components: Array, intercept_hidden: Array, states: Array, n_states: int) -> Array:
    """Couplings between the sites of a machine with binary hidden units, to second order.

    What hidden units add to the logarithm of a row's weight is expanded around the rows given; the second order couples
    two sites by the products of their weights to each hidden unit, times how much that unit still varies.

    Parameters
    ----------
    components : array of shape (hidden units, sites · n_states)
        The weights, site by site, and within a site state by state.
    intercept_hidden : array of shape (hidden units,)
        The biases.
    states : array of shape (rows, sites)
        Whole numbers from 0: rows of data.
    n_states : int
        How many states a site has.

    Returns
    -------
    array of shape (sites, n_states, sites, n_states)
        In the zero-sum gauge.

    References
    ----------
    J. Tubiana, S. Cocco and R. Monasson, "Learning protein constitutive motifs from sequence data", eLife 8 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.asarray([[1.0, -1.0, 1.0, -1.0]])  # a hidden unit that likes two sites to be in one state
    >>> effective_couplings(weights, np.zeros(1), np.asarray([[0, 1], [1, 0]]), 2)[0, :, 1, :]
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    states, count = checked_states(states, n_states)
    hidden, units = components.shape
    sites = states.shape[1]
    if units != sites * count:
        raise ValueError(
            f"components must have {sites * count} columns, {count} for each of {sites} sites, got {units}"
        )
    xp = array_namespace(components)
    by_site = xp.reshape(components, (hidden, sites, count))
    centred = by_site - B.mean(by_site, axis=2, keepdims=True)
    # What the gauge takes from the weights, each site gives to the bias.
    bias = intercept_hidden + B.sum(B.mean(by_site, axis=2), axis=1)
    flat = xp.reshape(centred, (hidden, units))
    varies: Any = 0.0
    for start in range(0, states.shape[0], _BLOCK):
        rows = one_hot(states[start : min(start + _BLOCK, states.shape[0]), :], count, B.dtype(components))
        on = B.sigmoid(rows @ flat.T + bias)
        varies = varies + B.sum(on * (1 - on), axis=0) / states.shape[0]
    return xp.reshape((flat * varies[:, None]).T @ flat, (sites, count, sites, count))
