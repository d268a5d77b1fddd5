"""Statistics of series of measurements: standard errors, autocorrelation times, cumulants, diagnostics.

Contract: the last axis of a series is sweeps; the axes before it, if any, are chains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import effective_size, report
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.errors import positive_int

from .graph import on_host

HELPS = (
    'a longer burn_in, more sweeps, cluster moves (rule="swendsen_wang" or "wolff", where fields and couplings allow '
    "them) or parallel tempering (temper)"
)


def _series(values: Any, name: str, least: int = 2) -> Array:
    array = on_host(getattr(values, "values", values), name, "float64")
    if not array.ndim or array.shape[-1] < least:
        raise ValueError(f"{name} must have {least} sweeps at least along its last axis, got shape {array.shape}")
    return array


def autocorrelation_time(series: Any) -> Array:
    """Estimate the integrated autocorrelation time of a series, in sweeps.

    Parameters
    ----------
    series : array of shape (…, sweeps)
        At least four sweeps.

    Returns
    -------
    numpy.ndarray
        float64, of shape (…): 1/2 plus the sum of the autocorrelations at lags 1, 2, …, truncated by Geyer's initial
        monotone sequence. 1/2 for independent draws and for a constant series. The effective sample size is the number
        of sweeps divided by twice this time.

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
    """Estimate the standard error of a statistic of a series by the block jackknife.

    Parameters
    ----------
    function : callable
        Statistic: a function of an array of shape (sweeps,) or (blocks, sweeps) that returns a number.
    series : array of shape (…, sweeps)
    blocks : int, optional
        Approximate number of blocks of all chains together; fewer if there are fewer sweeps. A block should be many
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
    whole = (-1,) if length == 1 else (-1, length)  # blocks of one sweep become one series
    found = [function(host.reshape(host.concat([parts[:k], parts[k + 1 :]]), whole)) for k in range(parts.shape[0])]
    return float(host.std(host.asarray(found)) * (len(found) - 1) ** 0.5)


def binder(magnetisation: Any) -> float:
    """Compute Binder's cumulant, ``1 - <m^4> / (3 <m^2>^2)``: 2/3 in an ordered phase, 0 in a disordered one.

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
    """Compute the specific heat per unit from energies per unit: ``β² units (<e²> - <e>²)``.

    Examples
    --------
    >>> specific_heat([-1.0, -2.0], beta=1.0, units=4)
    1.0
    """
    return float(beta**2 * units * host_namespace().var(_series(energy, "energy")))


def diagnose(draws: Any, *, stacklevel: int = 2) -> dict[str, Any]:
    """Compute R-hat, the effective sample size and the Monte Carlo standard error of observables.

    `GraphMachine.sample` and `temper` store them in the attributes of their datasets, except where `chunks` or `shards`
    make the variables lazy; call this function on such a dataset.

    Parameters
    ----------
    draws : xarray.Dataset
        Result of `GraphMachine.sample`, `GraphMachine.temper` or `nbm_xp.runs.open_dataset`; lazy variables are
        computed.
    stacklevel : int, optional
        Stack level of the warning.

    Returns
    -------
    dict
        For each variable with the dimensions chain (or pair) and sweep, ``NAME_r_hat``, ``NAME_ess`` and ``NAME_mcse``:
        the rank-normalised split R-hat, the effective sample size and the standard error of the mean. If chains have
        several inverse temperatures, chains of equal inverse temperature are compared, and the values are lists in the
        order of increasing inverse temperature. Constant variables and those with fewer than 20 sweeps are left out.

    Warns
    -----
    MixingWarning
        If R-hat is above 1.05 by more than chance, or a series still drifts from its start.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding, and localization:
    an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021).

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> machine = GraphMachine(lattice((8, 8)))
    >>> draws = machine.sample(4, 150, burn_in=20, beta=0.2, random_state=1)
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
    """Return the inverse temperatures of chains, or of pairs of chains, as labels."""
    if betas is None:
        return None
    own = [float(beta) for beta in betas]
    return list(zip(own[::2], own[1::2], strict=True)) if along == "pair" else own
