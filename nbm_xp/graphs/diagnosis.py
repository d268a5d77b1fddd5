"""What a dataset of chains tells of how well they have mixed.

Contract: nothing is computed of arrays that are not computed yet, unless somebody asks for it.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines.diagnostics import report
from nbm_xp.namespace import host_namespace

__all__ = ["HELPS", "diagnose", "labels_of"]

HELPS = (
    'a longer burn_in, more sweeps, cluster moves (rule="swendsen_wang" or "wolff", where fields and couplings allow '
    "them) or parallel tempering (temper)"
)


def diagnose(draws: Any, *, stacklevel: int = 2) -> dict[str, Any]:
    """R-hat, effective sample size and Monte Carlo error of what chains observed.

    `GraphMachine.sample` and `temper` put them into the attributes of their datasets; where chains are in chunks or
    parts, their variables are computed later, and so are these, by this function.

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
    >>> draws = machine.sample(chains=4, sweeps=500, burn_in=20, beta=0.2, chunks=4, random_state=1)
    >>> found = diagnose(draws.compute())
    >>> bool(found["energy_r_hat"] < 1.05), bool(0 < found["energy_mcse"] < 0.01)
    (True, True)
    """
    host = host_namespace()
    series: dict[str, tuple[Any, Any]] = {}
    betas = draws.variables["beta"].values if "beta" in draws.variables else None
    for name in draws.data_vars:
        variable = draws.variables[name]
        *along, last = variable.dims or ("",)
        if last not in ("sweep", "draw") or along not in (["chain"], ["pair"], ["set", "beta"]):
            continue
        values = host.reshape(variable.values, (-1, variable.shape[-1]))
        own = betas if along != ["set", "beta"] else host.tile(betas, variable.shape[0])
        series[str(name)] = values, labels_of(own, along[0])
    found = report(series)
    found.warn(HELPS, stacklevel)
    return found.attributes


def labels_of(betas: Any, along: str) -> list[Any] | None:
    """What tells chains, or pairs of them, at different inverse temperatures apart."""
    if betas is None:
        return None
    own = [float(beta) for beta in betas]
    return list(zip(own[::2], own[1::2], strict=True)) if along == "pair" else own
