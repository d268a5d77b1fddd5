"""Ladders whose neighbours exchange states: whose turn it is, what goes where, and how far apart neighbours should be.

Contract: what is told of turns and places holds for arrays and for recorded Tensors alike, to the last bit.

A ladder is placed so that each pair of neighbours exchanges as often. Energies of a temperature are about normal, of
variance σ²; then neighbours Δβ apart exchange with the probability erfc(Δβ σ / 2), so that σ, or a measured share of
exchanges, says how far apart two temperatures are, and equal distances are laid out along the whole.

References
----------
K. Hukushima and K. Nemoto, "Exchange Monte Carlo method and application to spin glass simulations", Journal of the
Physical Society of Japan 65 (1996), 1604-1608.
"""

from __future__ import annotations

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.special import erfinv

__all__ = ["distances", "due", "exchanged", "laid_out", "odd_pairs"]


def odd_pairs(count: int) -> list[float]:
    """1 for every other one of so many pairs, the second, the fourth …, else 0."""
    return [float(pair % 2) for pair in range(count)]


def due(odd: Array, turn: Array) -> Array:
    """1 for the pairs that have their turn, else 0.

    Parameters
    ----------
    odd : array of shape (pairs,)
        The numbers of `odd_pairs`.
    turn : array that goes with it, or int
        0 or 1: whether even or odd pairs have their turn.

    Examples
    --------
    >>> import numpy as np
    >>> due(np.asarray(odd_pairs(4)), 0).tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
    return odd * turn + (1 - odd) * (1 - turn)


def exchanged(values: Array, swap: Array, axis: int) -> Array:
    """What lies along an axis, where neighbours change places.

    Parameters
    ----------
    values : array
    swap : array
        1 for a pair of neighbours that does, else 0, for each pair along the axis; no member in two pairs.
    axis : int

    Examples
    --------
    >>> import numpy as np
    >>> exchanged(np.asarray([5, 6, 7]), np.asarray([0, 1]), 0).tolist()
    [5, 7, 6]
    """

    def along(array: Array, *place: int | None) -> Array:
        return array[(*[slice(None)] * axis, slice(*place), ...)]

    end = along(swap, 0, 1) * 0
    after, before = B.concatenate([swap, end], axis=axis) > 0, B.concatenate([end, swap], axis=axis) > 0
    following = B.concatenate([along(values, 1, None), along(values, 0, 1)], axis=axis)
    preceding = B.concatenate([along(values, -1, None), along(values, 0, -1)], axis=axis)
    xp = array_namespace(values)
    return xp.where(after, following, xp.where(before, preceding, values))


def distances(shares: Array) -> Array:
    """How far apart temperatures are that exchange so often, in standard deviations of the energy; in host memory.

    Examples
    --------
    >>> import numpy as np
    >>> distances(np.asarray([0.1, 0.5])).round(2).tolist()
    [2.33, 0.95]
    """
    host = host_namespace()
    return 2.0 * erfinv(1.0 - host.clip(shares, 0.001, 0.999))


def laid_out(betas: Array, between: Array, acceptance: float) -> Array:
    """As many inverse temperatures as it takes for neighbours to exchange so often, between the same ends.

    Parameters
    ----------
    betas : array of shape (temperatures,)
        Rising, in host memory.
    between : array of shape (temperatures - 1,)
        How far apart neighbours are: see `distances`.
    acceptance : float
        The share of exchanges that is aimed at.

    Examples
    --------
    >>> import numpy as np
    >>> laid_out(np.asarray([0.0, 0.5, 1.0]), np.asarray([2.0, 4.0]), 0.3).tolist()
    [0.0, 0.375, 0.625, 0.8125, 1.0]
    """
    host = host_namespace()
    wanted = float(distances(host.asarray(float(acceptance))))
    along = host.concat([host.zeros((1,)), host.cumulative_sum(between)])
    count = max(1, round(float(along[-1]) / wanted))
    found = host.interp(host.linspace(0.0, along[-1], count + 1), along, betas)
    found[0], found[-1] = betas[0], betas[-1]
    return found
