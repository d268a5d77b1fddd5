"""Results of the diagnostics of training, the text of their warning, and the division of the data into two sides.

References
----------
C. C. Margossian, M. D. Hoffman, P. Sountsov, L. Riou-Durand, A. Vehtari and A. Gelman, "Nested R-hat: assessing the
convergence of Markov chain Monte Carlo when running many short chains", Bayesian Analysis (2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.cluster import KMeans

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, asarray, host_namespace, to_numpy

_MIXED = 1.2  # largest nested R-hat of chains that have mixed
_LARGE = 15.0  # a larger weight between units of 0 and 1 indicates divergence


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a machine in training after an epoch.

    Attributes
    ----------
    epoch : int
    log_likelihood : float
        Mean log-likelihood of rows of the training data in nats, or a lower bound on it.
    standard_error : float
        Standard error of `log_likelihood`, from that of `log_z` and of rows with missing values.
    log_z : float
    effective : float
        Effective number of chains in the estimate of log Z.
    held_out : float, optional
        Mean log-likelihood of the held-out rows; if values are missing, of at most 200 of them.
    pseudo_likelihood : float, optional
        Mean log-pseudo-likelihood of the same rows of the training data, if the machine has one.
    r_hat : float, optional
        Nested R-hat of chains from distant rows after some sweeps, near 1 if they have mixed. With ``"ptt"``, R-hat of
        the chains of the current machine.
    share, data_share : float, optional
        Probability of one side of the data in the machine and in the data: the side of larger values along the first
        principal direction.
    chain_share : float, optional
        Share of the chains of the negative phase on that side.
    acceptance : tuple of float
        Acceptance rates of exchanges between neighbours on the ladder.
    """

    epoch: int
    log_likelihood: float
    standard_error: float
    log_z: float
    effective: float
    held_out: float | None = None
    pseudo_likelihood: float | None = None
    r_hat: float | None = None
    share: float | None = None
    data_share: float | None = None
    chain_share: float | None = None
    acceptance: tuple[float, ...] = ()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Diagnostics:
        """Return the diagnostics that a file stores as a mapping of attributes."""
        return cls(**{**told, "acceptance": tuple(told.get("acceptance", ()))})

    def __str__(self) -> str:
        """Return the text that `verbose` prints."""
        told = f"log-likelihood {self.log_likelihood:.2f} ± {self.standard_error:.2f}"
        if self.held_out is not None:
            told += f", held out {self.held_out:.2f}"
        if self.pseudo_likelihood is not None:
            told += f", pseudo-likelihood {self.pseudo_likelihood:.2f}"
        if self.r_hat is not None:
            told += f", R-hat {self.r_hat:.2f}"
        if self.share is not None and self.data_share is not None:
            told += f", {self.share:.0%} where {self.data_share:.0%} of the data is"
        return told


def warning_text(
    now: Diagnostics, better: float | None, impossible: bool, doubts: str | None, model: Any, by_ptt: bool
) -> str:
    """Return the text of a `TrainingWarning`: the findings and a remedy."""
    kind = type(model).__name__
    told = f"after epoch {now.epoch} this {kind} gives its rows a mean log-likelihood of {now.log_likelihood:.1f}"
    if now.pseudo_likelihood is not None:
        told += f", whatever their pseudo-likelihood of {now.pseudo_likelihood:.1f} promises"
    if better is not None:
        told += f"; it had {better:.1f} before, or would have it without weights"
    if now.share is not None and now.data_share is not None:
        told += f". It gives {now.share:.0%} of its probability to the side where {now.data_share:.0%} of the data lies"
    if impossible:
        told += ", and one of them a probability above 1: the chains that tell log Z miss places that the machine has"
    if doubts is not None:
        told += f", which may be wrong: {doubts}"
    if by_ptt:
        return f"{told}. It learns faster than its chains follow: a lower learning_rate helps, or more n_gibbs"
    if now.r_hat is not None and now.r_hat > _MIXED:
        return f'{told}. Its chains do not mix (R-hat {now.r_hat:.1f}): training="ptt" makes them'
    largest = max(float(B.max(B.abs(weights.value))) for weights in model.state_.parameters.weights)
    if largest > _LARGE:
        told += f". Its weights run away (the largest is {largest:.0f})"
        return f"{told}: a lower learning_rate or an optimizer with weight_decay helps"
    return f'{told}. It learns faster than its chains follow: a lower learning_rate helps, or training="ptt"'


class Sides:
    """Two sides of rows of data: two clusters along their first principal direction.

    The border lies halfway between the means of the clusters.
    """

    def __init__(self, rows: Array) -> None:
        xp = array_namespace(rows)
        self._rows, centre = rows, xp.mean(rows, axis=0)
        apart = rows - centre
        direction = apart[int(xp.argmax(xp.sum(apart * apart, axis=1))), :]
        for _ in range(20):  # iterations of the power method
            direction = B.dot(B.dot(apart, direction), apart)
            direction = direction / max(float(xp.max(xp.abs(direction))), 1e-300)
        self._centre, self._direction = centre, direction
        self._places = places = self.along(rows)[:, None]
        low, high = float(xp.min(places)), float(xp.max(places))
        centres = KMeans(2, init=[[low], [high]], n_init=1).fit(places).cluster_centers_ if low < high else places
        self._border = float(xp.mean(centres))

    def along(self, states: Array) -> Array:
        """Return the positions of states along the direction."""
        return B.dot(asarray(to_numpy(states), host_namespace(), "float64") - self._centre, self._direction)

    def share(self, states: Array) -> float:
        """Return the fraction of states on the upper side."""
        return float(B.mean(self.above(states)))

    def weighted_share(self, states: Array, log_weights: Array) -> float:
        """Return the fraction of states on the upper side, weighted by the chains' weights."""
        weights = B.exp(log_weights - B.max(log_weights))
        return float(B.sum(weights * self.above(states)) / B.sum(weights))

    def above(self, states: Array) -> Array:
        """Return 1 for each state on the upper side, 0 for the others."""
        places = self.along(states)
        return array_namespace(places).astype(places > self._border, places.dtype)

    def far_apart(self, count: int) -> Array:
        """Return `count` rows, evenly spaced by rank along the direction."""
        xp = array_namespace(self._places)
        order = xp.argsort(self._places[:, 0])
        chosen = xp.astype(xp.linspace(0, order.shape[0] - 1, count), xp.int64)
        return xp.take(self._rows, xp.take(order, chosen), axis=0)
