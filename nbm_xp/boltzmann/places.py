"""Places in the data that lie apart, and whether chains get from one to another.

References
----------
C. C. Margossian, M. D. Hoffman, P. Sountsov, L. Riou-Durand, A. Vehtari and A. Gelman, "Nested R-hat: assessing the
convergence of Markov chain Monte Carlo when running many short chains", Bayesian Analysis (2024).
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace, asarray, host_namespace, to_numpy

from .partition import AISEstimate

__all__ = ["Sides", "nested_r_hat"]


class Sides:
    """The two sides of some rows: where they are less and more along their first principal direction.

    The border lies halfway between the means of the two.
    """

    def __init__(self, rows: Any) -> None:
        xp = array_namespace(rows)
        self._rows, centre = rows, xp.mean(rows, axis=0)
        apart = rows - centre
        direction = apart[int(xp.argmax(xp.sum(apart * apart, axis=1))), :]
        for _ in range(20):  # of the power method
            direction = B.dot(B.dot(apart, direction), apart)
            direction = direction / max(float(xp.max(xp.abs(direction))), 1e-300)
        self._centre, self._direction = centre, direction
        places = self._along(rows)
        border = 0.5 * float(xp.min(places) + xp.max(places))
        for _ in range(10):
            above = xp.astype(places > border, places.dtype)
            many = float(xp.sum(above))
            if not 0 < many < places.shape[0]:
                break
            high, low = float(xp.sum(places * above)) / many, float(xp.sum(places * (1 - above)))
            border = 0.5 * (high + low / (places.shape[0] - many))
        self._border, self._places = border, places

    def _along(self, rows: Any) -> Any:
        return B.dot(rows - self._centre, self._direction)

    def along(self, states: Any) -> Any:
        """Where states lie."""
        return self._along(asarray(to_numpy(states), host_namespace(), "float64"))

    def share(self, states: Any) -> float:
        """How many of some states are on the upper side."""
        return float(B.mean(self.above(states)))

    def weighed_share(self, states: Any, found: AISEstimate) -> float:
        """The same, each state counting what its chain's weight says."""
        weights = B.exp(found.log_weights - B.max(found.log_weights))
        return float(B.sum(weights * self.above(states)) / B.sum(weights))

    def above(self, states: Any) -> Any:
        """1 for each state on the upper side, 0 for others."""
        places = self.along(states)
        return array_namespace(places).astype(places > self._border, places.dtype)

    def far_apart(self, count: int) -> Any:
        """So many of the rows, evenly from one end to the other."""
        xp = array_namespace(self._places)
        order = xp.argsort(self._places)
        last = order.shape[0] - 1
        chosen = [int(order[round(last * place / (count - 1))]) for place in range(count)]
        return xp.take(self._rows, asarray(chosen, xp), axis=0)


def nested_r_hat(values: Any, groups: int) -> float:
    """Nested R-hat of chains, of which those of a group began at the same place: after one draw of each.

    Parameters
    ----------
    values : array of shape (chains,)
        Group by group.
    groups : int

    Examples
    --------
    >>> import numpy as np
    >>> nested_r_hat(np.array([1.0, 2.0, 1.0, 2.0]), 2), nested_r_hat(np.array([1.0, 2.0, 7.0, 8.0]), 2)
    (1.0, 6.082762530298219)
    """
    xp = array_namespace(values)
    table = xp.reshape(values, (groups, -1))
    within = float(xp.mean(xp.var(table, axis=1, correction=1)))
    between = float(xp.var(xp.mean(table, axis=1), correction=1))
    if between == 0.0:
        return 1.0
    return math.sqrt(1.0 + between / within) if within > 1e-12 * between else math.inf
