"""Convergence diagnostics of Markov chains: R-hat, effective sample size, Monte Carlo standard error, drift.

Contract: an array holds one value of an observable for each chain and draw, float64 in host memory, of shape
(…, chains, draws). The results for several observables at once equal those for each alone. No random numbers are used.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021).
C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992).
J. Geweke, "Evaluating the accuracy of sampling-based approaches to the calculation of posterior moments", in Bayesian
Statistics 4 (1992).
H. Flyvbjerg and H. G. Petersen, "Error estimates on averages of correlated data", The Journal of Chemical Physics 91
(1989).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace
from nbm_xp.package import need
from nbm_xp.special import ndtri

# Inverse temperature of each chain
Labels: TypeAlias = Sequence[float]

_R_HAT = 1.05  # largest R-hat of chains that agree
_SIGMAS = 4.0  # normal quantile for the limit of R-hat of few independent draws
_DRIFT = 4.0  # largest difference between the beginning and the end of a record, in standard errors
_CHAINS, _BLOCKS = 64, 20  # largest number of chains that are diagnosed, and smallest number of draws and blocks


class TrainingWarning(RuntimeWarning):
    """Training diverges, or stopped before the maximum of the likelihood: the machine does not fit its data."""


class MixingWarning(RuntimeWarning):
    """Chains disagree, or still drift from their initial states: means over them may differ from the machine's."""


def r_hat(values: Array) -> Array:
    """Compute the rank-normalised split R-hat of chains: the larger of the values for location and for spread.

    Parameters
    ----------
    values : array of shape (…, chains, draws)
        At least four draws.

    Returns
    -------
    array of shape (…)
        About 1 if all halves of chains agree, inf if all halves are constant and differ, NaN if all values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> same = rng.normal(size=(4, 500))
    >>> apart = same + np.asarray([[0.0], [0.0], [0.0], [1.0]])
    >>> bool(r_hat(same) < 1.01), bool(r_hat(apart) > 1.05)
    (True, True)
    """
    host, halves = host_namespace(), _halves(values)
    spreads = host.abs(halves - host.median(halves, axis=(-2, -1), keepdims=True))
    return host.fmax.reduce(scale_reduction(_normal_scores(host.stack([halves, spreads]))), axis=0)


def scale_reduction(chains: Array) -> Array:
    """Compute the R-hat of chains, neither split nor rank-normalised; the draws can have any order.

    Examples
    --------
    >>> import numpy as np
    >>> scale_reduction(np.array([[1.0, 2.0], [7.0, 8.0]])).round(2)
    np.float64(6.04)
    """
    host, draws = host_namespace(), chains.shape[-1]
    within = host.mean(host.var(chains, axis=-1, correction=1), axis=-1)
    between = host.var(host.mean(chains, axis=-1), axis=-1, correction=1)
    within = host.where(within > 1e-20 * between, within, 0.0)  # 0 up to rounding
    with host.errstate(divide="ignore", invalid="ignore"):
        return host.sqrt((draws - 1) / draws + between / within)


def effective_size(values: Array, *, ranked: bool = True) -> Array:
    """Compute the effective sample size of chains.

    Parameters
    ----------
    values : array of shape (…, chains, draws)
        At least four draws.
    ranked : bool, optional
        Whether to compute it for rank-normalised draws (bulk ESS), or for the draws themselves, which determine the
        error of their mean.

    Returns
    -------
    array of shape (…)
        NaN if all values are equal.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat(np.random.default_rng(0).normal(size=(4, 500)), 5, axis=1)
    >>> bool(1800 < effective_size(x) < 2200)
    True
    """
    halves = _halves(values)
    return _effective(_normal_scores(halves) if ranked else halves)


def tail_size(values: Array) -> Array:
    """Compute the tail ESS: the smaller effective sample size of the indicators of the 5 % and 95 % quantiles."""
    host = host_namespace()
    ends = host.quantile(values, host.asarray([0.05, 0.95]), axis=(-2, -1))[..., None, None]
    return host.fmin.reduce(_effective(_halves(host.astype(values <= ends, host.float64))), axis=0)


def monte_carlo_error(values: Array) -> Array:
    """Compute the Monte Carlo standard error of the mean over all chains and draws, of shape (…).

    Examples
    --------
    >>> import numpy as np
    >>> bool(abs(monte_carlo_error(np.random.default_rng(0).normal(size=(4, 2500))) - 0.01) < 0.001)
    True
    """
    return _error(values, _halves(values))


@dataclass(frozen=True)
class Mixing:
    """Diagnostics of records of observables.

    Attributes
    ----------
    r_hat, ess, mcse, drift : array of shape (…)
        `ess` is the effective sample size for the mean, `mcse` the standard error of the mean. `drift` is the
        difference between the first tenth of a record and its second half in standard errors, or 0 if the first draws
        are typical of the second half.
    limit : float
        Largest R-hat of chains that agree.
    """

    r_hat: Array
    ess: Array
    mcse: Array
    drift: Array
    limit: float

    @property
    def disagree(self) -> Array:
        """Whether chains, or their halves, disagree."""
        return self.r_hat > self.limit

    @property
    def drifts(self) -> Array:
        """Whether chains still drift from their initial states."""
        return self.drift > _DRIFT


def mixing(values: Array) -> Mixing:
    """Diagnose records at a bounded cost.

    Parameters
    ----------
    values : array of shape (…, chains, draws)

    Notes
    -----
    R-hat of few independent draws can exceed 1.05 by chance. Chains disagree if it is also above `limit`, which
    independent draws exceed with a probability below 1/1000: the square of R-hat of m halves of n draws is
    ``(n - 1 + f) / n``, where f is distributed as chi-squared divided by its m - 1 degrees of freedom (with Wilson and
    Hilferty's approximation of the quantile). For records of fewer than 20 draws, `r_hat`, `ess` and `mcse` are NaN.

    For long records R-hat uses equally spaced draws, just enough for a `limit` of 1.05, and the errors use the means of
    as many blocks and their autocorrelations; of more than 64 chains, only every second, third, … one is used. So the
    cost is that of at most about 1,300 numbers, whatever the length of the record.

    A record drifts if its first tenth differs from its second half by more than four standard errors, which are
    estimated from the second half, and its first draws likewise. Then the error of the mean over the record is more
    than 1.3 standard errors.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> found = mixing(x)
    >>> bool(found.disagree), bool(found.drifts), bool(abs(found.mcse - 500**-0.5 / 2) < 0.002)
    (False, False, True)
    >>> x[:, :20] += 5.0
    >>> bool(mixing(x).drifts)
    True
    """
    host = host_namespace()
    all_chains, draws = values.shape[-2:]
    chosen = values[..., :: -(-all_chains // _CHAINS), :]
    chains = chosen.shape[-2]
    if draws < _BLOCKS:
        none = host.full(values.shape[:-2], math.nan)
        return Mixing(none, none, none, host.zeros(values.shape[:-2]), math.inf)
    chance = _chance(2 * chains - 1)
    length = max(1, draws // max(_BLOCKS, math.ceil(2 * (chance - 1) / (_R_HAT**2 - 1))))
    count = draws // length
    kept = chosen[..., : count * length]  # the last few draws are left out, not the first, which may drift
    blocks = kept if length == 1 else host.mean(host.reshape(kept, (*kept.shape[:-1], count, length)), axis=-1)
    kept, error = kept[..., length - 1 :: length], _error(blocks, blocks)
    with host.errstate(divide="ignore", invalid="ignore"):
        size = host.var(kept, axis=(-2, -1), correction=1) / error**2 * (all_chains / chains)
    half = count // 2
    limit = max(_R_HAT, math.sqrt((half - 1 + chance) / half))
    drift = _drift(chosen[..., 0], kept, blocks)
    return Mixing(r_hat(kept), size, error * math.sqrt(chains / all_chains), drift, limit)


class Report(NamedTuple):
    """Convergence diagnostics of all observables of a dataset.

    Attributes
    ----------
    attributes : dict
        For each observable ``NAME_r_hat``, ``NAME_ess`` and ``NAME_mcse``: numbers, or for several labels lists in
        rising order of the labels. Values that are NaN for all labels, of constant or short records, are left out.
    doubts : str or None
        Reason why means may be wrong, if there is one.
    """

    attributes: dict[str, Any]
    doubts: str | None

    def warn(self, helps: str, stacklevel: int = 2) -> None:
        """Warn with `MixingWarning` if chains have not mixed; `helps` is a remedy."""
        if self.doubts is not None:
            text = f"{self.doubts}: means and errors may not be those of the machine. What helps: {helps}"
            warnings.warn(text, MixingWarning, stacklevel=stacklevel + 1)


def report(series: Mapping[str, tuple[Array, Labels | None]]) -> Report:
    """Diagnose the records of observables.

    Parameters
    ----------
    series : mapping of str to (array of shape (chains, draws), sequence or None)
        For each observable its record, and the labels of the chains, their inverse temperatures: only chains with equal
        labels are compared. None for equal labels.
    """
    found: dict[str, Any] = {}
    apart, moving = [], []
    same_chains: dict[tuple[Any, ...], list[str]] = {}  # observables of the same chains are diagnosed together
    for name, (values, labels) in series.items():
        same_chains.setdefault((values.shape, tuple(labels or (0.0,) * values.shape[0])), []).append(name)
    for (_, labels), names in same_chains.items():
        for name, own in zip(names, _by_label([series[name][0] for name in names], labels), strict=True):
            for what in ("r_hat", "ess", "mcse"):
                if any(value == value for value in own[what]):
                    found[f"{name}_{what}"] = own[what][0] if len(own[what]) == 1 else own[what]
            count, groups = sum(own["disagree"]), len(own["disagree"])
            if count:
                worst = max(value for value in own["r_hat"] if value == value)
                where = f" at {count} of {groups} inverse temperatures" if groups > 1 else ""
                apart.append(f"{name} (R-hat {worst:.3f}{where})")
            if any(own["drifts"]):
                moving.append(name)
    reasons = [f"chains disagree on {', '.join(apart)}, or were observed too briefly to agree"] if apart else []
    reasons += [f"{', '.join(moving)} moved away from where the chains began"] if moving else []
    return Report(found, "; ".join(reasons) or None)


def _by_label(records: Sequence[Array], labels: Labels) -> list[dict[str, list[Any]]]:
    """Return for each record the diagnostics of the chains of each label, in rising order."""
    host = host_namespace()
    values = host.stack([host.asarray(record, dtype=host.float64) for record in records])
    members: dict[float, list[int]] = {}
    for chain, label in sorted(enumerate(labels), key=lambda place: place[1]):
        members.setdefault(label, []).append(chain)
    groups = [values[:, None, chains, :] for chains in members.values()]
    even = len({group.shape for group in groups}) == 1
    mixed = [mixing(group) for group in ([host.concat(groups, axis=1)] if even else groups)]
    fields = {
        what: host.concat([getattr(part, what) for part in mixed], axis=1)
        for what in ("r_hat", "ess", "mcse", "disagree", "drifts")
    }
    return [{what: rows[place, :].tolist() for what, rows in fields.items()} for place in range(len(records))]


def _chance(degrees: int) -> float:
    """Return a high quantile (four sigmas) of chi-squared divided by its degrees of freedom."""
    share = 2.0 / (9.0 * degrees)
    return (1.0 - share + _SIGMAS * math.sqrt(share)) ** 3


def _drift(start: Array, kept: Array, blocks: Array) -> Array:
    """Return the differences between the beginnings and the ends of records, in standard errors.

    Parameters
    ----------
    start : array of shape (…, chains)
        The first draws.
    kept, blocks : array of shape (…, chains, blocks)
        The last draw of each block, and the mean of the block.
    """
    host = host_namespace()
    *_, chains, count = blocks.shape
    early, late = blocks[..., : count // 10], blocks[..., count - count // 2 :]
    middle = host.mean(late, axis=(-2, -1))
    began, moved = host.mean(start, axis=-1) - middle, host.mean(early, axis=(-2, -1)) - middle
    typical = host.std(kept[..., count - count // 2 :], axis=(-2, -1)) / math.sqrt(chains)
    odd = (moved * began > 0) & (host.abs(began) > _DRIFT * typical)
    if not host.any(odd):
        return host.zeros(blocks.shape[:-2])
    error = _error(late, late) * math.sqrt(1.0 + late.shape[-1] / early.shape[-1])
    with host.errstate(divide="ignore", invalid="ignore"):
        return host.where(odd, host.nan_to_num(host.abs(moved) / error, nan=math.inf, posinf=math.inf), 0.0)


def _error(values: Array, chains: Array) -> Array:
    """Return the standard error of the mean of values, with the effective sample size of `chains`."""
    host = host_namespace()
    return host.sqrt(host.var(values, axis=(-2, -1), correction=1) / _effective(chains))


def _halves(values: Array) -> Array:
    """Return the halves of all chains as chains, without the middle draw if the number of draws is odd."""
    host, half = host_namespace(), values.shape[-1] // 2
    found = host.concat([values[..., :half], values[..., -half:]], axis=-2)
    return host.astype(found, host.float64, copy=False)


def _normal_scores(values: Array) -> Array:
    """Return the normal scores of the ranks among all chains and draws; equal values have the mean of their ranks."""
    flat = host_namespace().reshape(values, (*values.shape[:-2], -1))
    ranks = need("scipy.stats").rankdata(flat, axis=-1)
    return host_namespace().reshape(ndtri((ranks - 0.375) / (flat.shape[-1] + 0.25)), values.shape)


def _effective(chains: Array) -> Array:
    """Return the effective sample size of unsplit chains, by Geyer's initial monotone sequence."""
    host = host_namespace()
    count, draws = chains.shape[-2:]
    means = host.mean(chains, axis=-1)
    length = 1 << (2 * draws - 1).bit_length()
    waves = host.fft.rfft(chains - means[..., None], n=length, axis=-1)
    power = host.mean(host.real(waves) ** 2 + host.imag(waves) ** 2, axis=-2)
    covariances = host.fft.irfft(power, n=length, axis=-1)[..., : max(2, draws - 2 + draws % 2)] / draws
    between = host.var(means, axis=-1, correction=1)[..., None] if count > 1 else 0.0
    whole = covariances[..., :1] + between
    within = covariances[..., :1] * draws / (draws - 1)
    with host.errstate(divide="ignore", invalid="ignore"):
        correlations = 1.0 - (within - covariances) / whole
    correlations[..., 0] = 1.0
    even, odd = correlations[..., ::2], correlations[..., 1::2]
    pairs = even + odd
    going = host.logical_and.accumulate(pairs > 0, axis=-1)
    going[..., -1] = False  # too few draws have the largest lags
    sums = host.minimum.accumulate(pairs, axis=-1)
    # of the first pair that is not positive, the even correlation is added once if it is positive
    after = host.concat([host.ones_like(going[..., :1]), going[..., :-1]], axis=-1) & ~going
    times = 2.0 * host.sum(host.where(going, sums, 0.0), axis=-1) - 1.0
    times = times + host.sum(host.where(after & (even > 0), even, 0.0), axis=-1)
    size = count * draws
    return host.where(whole[..., 0] > 0, size / host.maximum(times, 1.0 / math.log10(size)), math.nan)
