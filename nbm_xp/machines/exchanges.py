"""Replica exchange: which pairs exchange in a step, and the placement of temperatures.

Contract: `due` gives bit-identical results for arrays and for recorded Tensors.

Temperatures are placed such that all pairs of neighbours have the same acceptance rate. At a temperature, energies are
approximately normal with variance σ²; then the acceptance rate of neighbours at a distance Δβ is erfc(Δβ σ / 2). So σ,
or a measured acceptance rate, gives the distance of two temperatures, and the temperatures are placed at equal
distances.

References
----------
K. Hukushima and K. Nemoto, "Exchange Monte Carlo method and application to spin glass simulations", Journal of the
Physical Society of Japan 65 (1996), 1604-1608.
"""

from __future__ import annotations

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace
from nbm_xp.special import erfinv


def odd_pairs(count: int) -> list[float]:
    """Return 1 for pairs with odd indices, 0 for the others."""
    return [float(pair % 2) for pair in range(count)]


def due(odd: Array, turn: Array) -> Array:
    """Return 1 for the pairs that exchange in a step, else 0.

    Parameters
    ----------
    odd : array of shape (pairs,)
        The result of `odd_pairs`.
    turn : array of the same library, or int
        0 if even pairs exchange, 1 if odd pairs do.

    Examples
    --------
    >>> import numpy as np
    >>> due(np.asarray(odd_pairs(4)), 0).tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
    return odd * turn + (1 - odd) * (1 - turn)


def distances(shares: Array) -> Array:
    """Return the distances Δβ σ of temperatures with these acceptance rates, in host memory.

    Examples
    --------
    >>> import numpy as np
    >>> distances(np.asarray([0.1, 0.5])).round(2).tolist()
    [2.33, 0.95]
    """
    host = host_namespace()
    return 2.0 * erfinv(1.0 - host.clip(shares, 0.001, 0.999))


def laid_out(betas: Array, between: Array, acceptance: float) -> Array:
    """Return inverse temperatures between the same ends, as many as give neighbours this acceptance rate.

    Parameters
    ----------
    betas : array of shape (temperatures,)
        Inverse temperatures, rising, in host memory.
    between : array of shape (temperatures - 1,)
        Distances of neighbours: see `distances`.
    acceptance : float
        Target acceptance rate.

    Examples
    --------
    >>> import numpy as np
    >>> laid_out(np.asarray([0.0, 0.5, 1.0]), np.asarray([2.0, 4.0]), 0.3).tolist()
    [0.0, 0.375, 0.625, 0.8125, 1.0]
    """
    host = host_namespace()
    wanted = float(distances(host.asarray(float(acceptance))))
    along = host.cumulative_sum(between, include_initial=True)
    count = max(1, round(float(along[-1]) / wanted))
    found = host.interp(host.linspace(0.0, along[-1], count + 1), along, betas)
    found[0], found[-1] = betas[0], betas[-1]
    return found
