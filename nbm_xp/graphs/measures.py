"""What series of measurements say: errors of means, times of autocorrelation, cumulants, histograms, diagnostics.

Contract: a series has sweeps along its last axis, and chains, if any, along those before. Of arrays that are not
computed yet, nothing is computed unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import effective_size, report
from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import host_namespace, is_array, to_numpy

__all__ = [
    "HELPS", "autocorrelation_time", "binder", "diagnose", "jackknife_error", "labels_of", "specific_heat",
]  # fmt: skip

HELPS = (
    'a longer burn_in, more sweeps, cluster moves (rule="swendsen_wang" or "wolff", where fields and couplings allow '
    "them) or parallel tempering (temper)"
)


def _series(values: Any, name: str, least: int = 2) -> Array:
    found = getattr(values, "values", values)
    array = numbers(to_numpy(found) if is_array(found) else found, name, host_namespace(), "float64")
    if not array.ndim or array.shape[-1] < least:
        raise ValueError(f"{name} must have {least} sweeps at least along its last axis, got shape {array.shape}")
    return array


def autocorrelation_time(series: Any) -> Array:
    """The integrated autocorrelation time of a series: so many sweeps are worth half an independent draw.

    Parameters
    ----------
    series : array of shape (…, sweeps)
        Four sweeps at least.

    Returns
    -------
    numpy.ndarray
        Of shape (…): 1/2 + the sum of the correlations of sweeps 1, 2, … apart, by Geyer's initial monotone sequence;
        1/2 for independent draws, and for a series that stays the same.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat(np.random.default_rng(0).normal(size=5000), 10)  # correlated as 1, 0.9, 0.8, …
    >>> round(float(autocorrelation_time(x)))
    5
    """
    host, x = host_namespace(), _series(series, "series", 4)
    size = effective_size(x[..., None, :], ranked=False)
    return host.where(host.isnan(size), 0.5, x.shape[-1] / (2.0 * size))


def jackknife_error(function: Callable[[Any], float], series: Any, blocks: int = 32) -> float:
    """The standard error of what a function makes of a series, by leaving out a part of the sweeps at a time.

    Parameters
    ----------
    function : callable
        Of an array like the series, with fewer sweeps.
    series : array of shape (…, sweeps)
    blocks : int, optional
        Into how many parts all chains together are divided; fewer where there are fewer sweeps. A part should be many
        autocorrelation times long.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=10000)
    >>> bool(abs(jackknife_error(np.mean, x) - 0.01) < 0.003)
    True
    """
    host = host_namespace()
    x = _series(series, "series")
    rows = host.reshape(x, (-1, x.shape[-1]))
    if rows.shape[0] * rows.shape[1] < 3:
        raise ValueError(f"series must have three numbers at least, of which one can be left out, got {x.size}")
    each = max(2, -(-positive_int(blocks, "blocks", 2) // rows.shape[0]))
    length = max(1, rows.shape[1] // each)
    parts = host.reshape(rows[:, : length * (rows.shape[1] // length)], (-1, length))
    whole = (-1,) if length == 1 else (-1, length)  # a series of one sweep is none
    found = [function(host.reshape(host.concat([parts[:k], parts[k + 1 :]]), whole)) for k in range(parts.shape[0])]
    return float(host.std(host.asarray(found)) * (len(found) - 1) ** 0.5)


def binder(magnetisation: Any) -> float:
    """Binder's cumulant of magnetisations, ``1 - <m^4> / (3 <m^2>^2)``: 2/3 in an ordered phase, 0 in a disordered one.

    Examples
    --------
    >>> round(binder([1.0, -1.0, 1.0]), 4)
    0.6667
    """
    host = host_namespace()
    m = _series(magnetisation, "magnetisation")
    square = host.mean(m**2)
    return float(1 - host.mean(m**4) / (3 * square**2)) if square else 0.0


def specific_heat(energy: Any, beta: float, units: int) -> float:
    """The specific heat a unit of energies a unit: ``β² units (<e²> - <e>²)``.

    Examples
    --------
    >>> specific_heat([-1.0, -2.0], beta=1.0, units=4)
    1.0
    """
    return float(beta**2 * units * host_namespace().var(_series(energy, "energy")))


def diagnose(draws: Any, *, stacklevel: int = 2) -> dict[str, Any]:
    """R-hat, effective sample size and Monte Carlo error of what chains observed.

    `GraphMachine.sample` and `temper` put them into the attributes of their datasets; where chains are in chunks or
    shards, their variables are computed later, and so are these, by this function.

    Parameters
    ----------
    draws : xarray.Dataset
        What `GraphMachine.sample`, `GraphMachine.temper` or `nbm_xp.runs.open_dataset` gave; lazy variables are
        computed.
    stacklevel : int, optional
        That of the warning.

    Returns
    -------
    dict
        Of each variable with a number for each chain and sweep, by ``NAME_r_hat``, ``NAME_ess`` and ``NAME_mcse``: the
        rank-normalised split R-hat (1 where all chains tell the same), how many independent draws its mean is worth,
        and the standard error of this mean. Lists where chains have several inverse temperatures, in rising order, for
        only chains of the same one are compared. What never changes, or has fewer than 20 sweeps, has none.

    Warns
    -----
    MixingWarning
        Where R-hat is above 1.05, and not by chance, or where the record still moves away from where the chains began.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding, and localization:
    an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021).

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> machine = GraphMachine(lattice((8, 8)))
    >>> draws = machine.sample(4, 500, burn_in=20, beta=0.2, chunks=4, random_state=1)
    >>> found = diagnose(draws.compute())
    >>> bool(found["energy_r_hat"] < 1.05), bool(0 < found["energy_mcse"] < 0.01)
    (True, True)
    """
    host = host_namespace()
    series: dict[str, tuple[Array, Array]] = {}
    betas = draws.variables["beta"].values if "beta" in draws.variables else None
    for name in draws.data_vars:
        variable = draws.variables[name]
        *along, last = variable.dims or ("",)
        if last not in ("sweep", "draw") or along not in (["chain"], ["pair"], ["chain", "beta"]):
            continue
        values = host.reshape(variable.values, (-1, variable.shape[-1]))
        own = betas if along != ["chain", "beta"] else host.tile(betas, variable.shape[0])
        series[str(name)] = values, labels_of(own, along[0])
    found = report(series)
    found.warn(HELPS, stacklevel)
    return found.attributes


def labels_of(betas: Any, along: str) -> list[Array] | None:
    """What tells chains, or pairs of them, at different inverse temperatures apart."""
    if betas is None:
        return None
    own = [float(beta) for beta in betas]
    return list(zip(own[::2], own[1::2], strict=True)) if along == "pair" else own
