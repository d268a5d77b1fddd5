"""Results of diagnostics in training, the text of their warning, and the two sides of the data.

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

__all__ = ["Diagnostics", "Sides", "warning_text"]

_MIXED = 1.2  # the nested R-hat of chains that have forgotten where they began
_LARGE = 15.0  # weights of units of 0 and 1 that learn well do not come to it


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a machine in training after an epoch.

    Attributes
    ----------
    epoch : int
    log_likelihood : float
        The mean over rows of the training data, or a bound on it.
    standard_error : float
        That of `log_likelihood`, by the error of `log_z`.
    log_z : float
    effective : float
        Effective number of chains in the estimate of log Z.
    held_out : float, optional
        The mean log-likelihood of held-out rows.
    pseudo_likelihood : float, optional
        The mean over the same rows of the training data, of machines that have one.
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
        """From what a file says of one."""
        return cls(**{**told, "acceptance": tuple(told.get("acceptance", ()))})

    def __str__(self) -> str:
        """As `verbose` reports it."""
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
    """What a `TrainingWarning` says: what is seen, and what helps."""
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
        told += f", which may be off: {doubts}"
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
    """The two sides of some rows: where they are less and more along their first principal direction.

    The border lies halfway between the means of the two.
    """

    def __init__(self, rows: Array) -> None:
        xp = array_namespace(rows)
        self._rows, centre = rows, xp.mean(rows, axis=0)
        apart = rows - centre
        direction = apart[int(xp.argmax(xp.sum(apart * apart, axis=1))), :]
        for _ in range(20):  # of the power method
            direction = B.dot(B.dot(apart, direction), apart)
            direction = direction / max(float(xp.max(xp.abs(direction))), 1e-300)
        self._centre, self._direction = centre, direction
        self._places = places = self.along(rows)[:, None]
        low, high = float(xp.min(places)), float(xp.max(places))
        centres = KMeans(2, init=[[low], [high]], n_init=1).fit(places).cluster_centers_ if low < high else places
        self._border = float(xp.mean(centres))

    def along(self, states: Array) -> Array:
        """Where states lie."""
        return B.dot(asarray(to_numpy(states), host_namespace(), "float64") - self._centre, self._direction)

    def share(self, states: Array) -> float:
        """How many of some states are on the upper side."""
        return float(B.mean(self.above(states)))

    def weighted_share(self, states: Array, log_weights: Array) -> float:
        """The same, each state counting what its chain's weight says."""
        weights = B.exp(log_weights - B.max(log_weights))
        return float(B.sum(weights * self.above(states)) / B.sum(weights))

    def above(self, states: Array) -> Array:
        """1 for each state on the upper side, 0 for others."""
        places = self.along(states)
        return array_namespace(places).astype(places > self._border, places.dtype)

    def far_apart(self, count: int) -> Array:
        """So many of the rows, evenly from one end to the other."""
        xp = array_namespace(self._places)
        order = xp.argsort(self._places[:, 0])
        chosen = xp.astype(xp.linspace(0, order.shape[0] - 1, count), xp.int64)
        return xp.take(self._rows, xp.take(order, chosen), axis=0)
