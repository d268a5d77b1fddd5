"""Contact prediction: scores of pairs of sites from the strength of their couplings.

The zero-sum gauge separates couplings from fields. The score of a pair is the Frobenius norm of its couplings minus the
average product correction.

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

_BLOCK = 4096  # sequences processed at a time


def zero_sum(couplings: Array) -> Array:
    """Return couplings in the zero-sum gauge, in which they sum to zero over the states of either site.

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
    """Return the coupling strength of each pair of sites: the Frobenius norm in the zero-sum gauge.

    Parameters
    ----------
    couplings : array of shape (sites, n_states, sites, n_states)
        In any gauge.
    gap : int or None, optional
        State whose couplings are left out, since shared gaps do not indicate contacts; None includes all states.
    corrected : bool, optional
        Whether to subtract the average product correction (`average_product_correction`).

    Returns
    -------
    array of shape (sites, sites)
        The diagonal is zero.

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
    """Subtract from each score the product of both sites' mean scores divided by the overall mean score.

    Parameters
    ----------
    scores : array of shape (sites, sites)
        Symmetric; the diagonal is ignored.

    Returns
    -------
    array of shape (sites, sites)
        The diagonal is zero.

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
    # Where all scores are zero, the correction is zero too.
    common = means[:, None] * means[None, :] / xp.where(mean == 0, mean + 1, mean)
    return (scores - common) * apart


def effective_couplings(components: Array, intercept_hidden: Array, states: Array, n_states: int) -> Array:
    """Return couplings between the sites of a machine with binary hidden units, to second order.

    The contribution of the hidden units to the log-probability of a row is expanded around the given rows. The second
    order couples two sites by the products of their weights to each hidden unit, times the mean variance of that unit.

    Parameters
    ----------
    components : array of shape (hidden units, sites · n_states)
        Weights, site by site, and within a site state by state.
    intercept_hidden : array of shape (hidden units,)
        Biases of the hidden units.
    states : array of shape (rows, sites)
        Rows of data, whole numbers from 0.
    n_states : int
        Number of states of a site.

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
    # The means that the gauge removes from the weights are added to the bias.
    bias = intercept_hidden + B.sum(B.mean(by_site, axis=2), axis=1)
    flat = xp.reshape(centred, (hidden, units))
    varies: Any = 0.0
    for start in range(0, states.shape[0], _BLOCK):
        rows = one_hot(states[start : min(start + _BLOCK, states.shape[0]), :], count, B.dtype(components))
        on = B.sigmoid(rows @ flat.T + bias)
        varies = varies + B.sum(on * (1 - on), axis=0) / states.shape[0]
    return xp.reshape((flat * varies[:, None]).T @ flat, (sites, count, sites, count))
