"""Log Z along a ladder of machines, by Bennett's acceptance ratio.

For two neighbours a and b, C = log Z_a - log Z_b solves Σ f(u - C) = Σ f(d + C), where f(x) = 1 / (1 + exp(x)), u is
the free energy in b minus that in a of states of a, d the free energy in a minus that in b of states of b, and the
numbers of states are equal. This estimate has the least variance. The standard error is computed from the spread
between chains, which are independent of each other.

The estimate is wrong if chains miss modes of a machine. Two checks detect this. First, the states of either machine
alone also estimate the ratio: as the mean of exp(-u) over states of the lower machine, or as the inverse mean of
exp(-d) over states of the higher one. The two estimates differ significantly if the chains of a pair are in different
modes, and estimates from earlier and later steps differ if chains are not at equilibrium; both differences are added to
the standard error. Second, states of the higher machine that are very improbable in the lower one were not exchanged,
so that their share depends on the history of the training.

References
----------
C. H. Bennett, "Efficient estimation of free energy differences from Monte Carlo data", Journal of Computational
Physics 22 (1976).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace

_HALVINGS = 60
_IMPROBABLE = -10.0  # nats: states of a lower log-ratio are very improbable in the lower machine of a pair
_LEAST_OVERLAP = 0.98  # smallest acceptable fraction of the other states
_MOST_DISAGREEMENT = 0.5  # nats: largest acceptable difference of the estimates


class LadderWarning(RuntimeWarning):
    """The error of log Z along a ladder may exceed its standard error."""


@dataclass(frozen=True)
class LadderEstimate:
    """An estimate of log Z along a ladder of machines.

    Attributes
    ----------
    log_z : float
    standard_error : float
        Standard error of `log_z`; infinite for one chain.
    acceptance : tuple of float
        Acceptance rates of exchanges of each pair of neighbours, from the base-rate model upwards.
    effective : float
        Effective sample size of the last machine's chains, by the difference of free energies to the machine below.
    r_hat : float
        R-hat of the same differences.
    disagreement : float
        Difference in nats, beyond chance, between the estimates of log Z by the lower and by the higher machines, and
        by earlier and by later steps. `standard_error` includes it.
    overlap : float
        Smallest share of a machine's states that are not very improbable in the machine below: exchanges do not
        determine the probability of the others.
    """

    log_z: float
    standard_error: float
    acceptance: tuple[float, ...]
    effective: float = math.nan
    r_hat: float = math.nan
    disagreement: float = 0.0
    overlap: float = 1.0

    @property
    def overlaps(self) -> bool:
        """Whether at most a few states of a machine are very improbable in the machine below."""
        return self.overlap >= _LEAST_OVERLAP

    @property
    def doubts(self) -> str | None:
        """The reason why the estimate may be wrong, if there is one."""
        if not self.overlaps:
            return f"{1 - self.overlap:.0%} of a machine's states are very improbable in the machine below it"
        if self.disagreement > max(_MOST_DISAGREEMENT, self.standard_error / 2):
            estimates = "estimates from lower and higher machines of the ladder, or from earlier and later steps,"
            return f"{estimates} differ by {self.disagreement:.1f} nats beyond chance"
        return None

    def warn(self, stacklevel: int = 2) -> None:
        """Warn if the error of the estimate may exceed its standard error."""
        if self.doubts is not None:
            advice = "ais() and reverse_ais() bracket it; a lower learning_rate leads to a ladder with more overlap"
            warnings.warn(f"log Z may be wrong: {self.doubts}. {advice}", LadderWarning, stacklevel=stacklevel + 1)

    @property
    def log_z_low(self) -> float:
        """`log_z` minus three standard errors."""
        return self.log_z - 3 * self.standard_error

    @property
    def log_z_high(self) -> float:
        """`log_z` plus three standard errors."""
        return self.log_z + 3 * self.standard_error

    def __str__(self) -> str:
        """Return the estimate and its bounds as text."""
        return f"log Z = {self.log_z:.2f} (3 s.e.: {self.log_z_low:.2f} to {self.log_z_high:.2f})"


def bennett(up: Array, down: Array) -> tuple[float, float]:
    """Return log Z of the last machine minus that of the first, and the standard error.

    Parameters
    ----------
    up, down : array of shape (measurements, pairs, chains)
        Differences of free energies, see `ladder.Move`, float64 in host memory.

    Examples
    --------
    A machine whose free energy is lower by 2 everywhere has a Z that is exp(2) times as large.

    >>> import numpy as np
    >>> bennett(np.full((3, 1, 4), -2.0), np.full((3, 1, 4), 2.0))
    (2.0, 0.0)
    """
    xp, axes = array_namespace(up), (0, 2)
    low, high = xp.min(xp.minimum(up, -down), axis=axes), xp.max(xp.maximum(up, -down), axis=axes)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        forth, back = _forces(up, down, middle)
        below = xp.sum(forth - back, axis=axes) < 0
        low, high = xp.where(below, middle, low), xp.where(below, high, middle)
    constants = 0.5 * (low + high)
    chains = up.shape[2]
    total = -float(xp.sum(constants))
    if chains < 2:
        return total, math.inf
    forth, back = _forces(up, down, constants)
    slopes = xp.sum(forth * (1 - forth) + back * (1 - back), axis=axes)
    if float(xp.min(slopes)) <= 0.0:
        return total, math.inf
    pulls = xp.sum(xp.sum(forth - back, axis=0) / slopes[:, None], axis=0)
    spread = float(xp.sum((pulls - xp.mean(pulls)) ** 2)) / (chains - 1)
    return total, math.sqrt(chains * spread)


def disagreement(up: Array, down: Array) -> float:
    """Return the differences, beyond three standard errors, of estimates that should agree, summed over all pairs.

    Parameters
    ----------
    up, down : array of shape (measurements, pairs, chains)
        Differences of free energies, see `ladder.Move`, float64 in host memory.

    Examples
    --------
    Half of the higher machine's chains are in states improbable in the lower one: log 2, minus three standard errors.

    >>> import numpy as np
    >>> from nbm_xp.boltzmann.bridging import disagreement
    >>> down = np.concatenate([np.zeros((4, 1, 50)), np.full((4, 1, 50), 30.0)], axis=2)
    >>> bool(0.3 < disagreement(np.zeros((4, 1, 100)), down) < np.log(2))
    True
    """
    xp = array_namespace(up)
    if up.shape[2] < 2:
        return 0.0
    (forth, forth_error), (back, back_error) = _alone(-up), _alone(-down)
    excess = xp.abs(forth + back) - 3 * xp.sqrt(forth_error + back_error)
    found = float(xp.sum(xp.where(excess > 0, excess, xp.zeros_like(excess))))
    half = up.shape[0] // 2
    if half:
        (early, early_error), (late, late_error) = bennett(up[:half], down[:half]), bennett(up[half:], down[half:])
        found += max(abs(late - early) - 3 * math.hypot(early_error, late_error), 0.0)
    return found


def _alone(exponents: Array) -> tuple[Array, Array]:
    """Return for each pair the logarithm of the mean of the exponentials, and the square of its standard error."""
    xp = array_namespace(exponents)
    top = xp.max(exponents, axis=(0, 2))
    chains = xp.mean(xp.exp(exponents - top[:, None]), axis=0)
    mean, spread = xp.mean(chains, axis=1), xp.var(chains, axis=1, correction=1) / chains.shape[1]
    return top + xp.log(mean), spread / mean**2


def overlap(up: Array, down: Array) -> float:
    """Return the smallest share, over pairs, of the higher machine's states that are not improbable in the lower one.

    Parameters
    ----------
    up, down : array of shape (measurements, pairs, chains)
        Differences of free energies, see `ladder.Move`, float64 in host memory.
    """
    xp = array_namespace(down)
    rises, _ = _alone(-up)
    probable = xp.astype(rises[:, None] - down >= _IMPROBABLE, down.dtype)
    return float(xp.min(xp.mean(probable, axis=(0, 2))))


def _forces(up: Array, down: Array, constants: Array) -> tuple[Array, Array]:
    """Return both sides of Bennett's equation for each measurement; their sums are equal at the solution."""
    return B.sigmoid(constants[:, None] - up), B.sigmoid(-constants[:, None] - down)
