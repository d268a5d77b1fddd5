"""Whether chains have come to their distribution, and how much they tell: R-hat and effective sample sizes.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding, and localization: an
improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2021).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbm_xp.boltzmann.rows import positive_int
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from .directory import RunDirectory
from .needs import need
from .reading import open_samples
from .threads import one_thread

__all__ = ["diagnose"]

_UNITS = 16


def diagnose(
    directory: str | os.PathLike[str],
    units: int | Sequence[int] = _UNITS,
    *,
    free_energy: bool = True,
    warm_up: int = 0,
) -> Any:
    """R-hat and effective sample sizes of statistics of a sampling run, by ArviZ.

    Parameters
    ----------
    directory : path-like
        The run's; it must have kept the visible layer.
    units : int or sequence of int, optional
        Which visible units to look at: so many, evenly spread, or these.
    free_energy : bool, optional
        Whether to look at the free energy of the visible states too, the statistic that all units have a part in; for
        models with one hidden layer, of states, not of probabilities.
    warm_up : int, optional
        How many draws at the beginning to leave out.

    Returns
    -------
    pandas.DataFrame
        A row for each statistic, with the columns mean, sd, mcse_mean, ess_bulk, ess_tail and r_hat. Chains that have
        come to one distribution have an R-hat below 1.01; a unit that never changes has none.

    Raises
    ------
    ModuleNotFoundError
        If ArviZ is not installed.
    ValueError
        If an argument is not what it must be, or there are fewer than two chains or four draws.
    RunError
        If the run is not finished.
    """
    draws = open_samples(directory)
    first = positive_int(warm_up, "warm_up", 0)
    if draws.shape[0] < 2 or draws.shape[1] - first < 4:
        raise ValueError(
            f"R-hat needs at least two chains of four draws, got {draws.shape[0]} of {max(0, draws.shape[1] - first)}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ tells of its next major release when it is imported
        arviz = need("arviz")
    draws = draws[:, first:]
    looked_at = _units(units, draws.shape[2])
    statistics = {f"unit {unit}": draws[:, :, unit].compute().astype("float64") for unit in looked_at}
    if free_energy:
        statistics = {"free energy": _energies(RunDirectory.open(directory, "sample"), draws)} | statistics
    with np.errstate(divide="ignore", invalid="ignore"):
        return _summary(arviz, statistics)


def _summary(arviz: Any, statistics: dict[str, Any]) -> Any:
    columns: dict[str, Callable[[Any], float]] = {
        "mean": np.mean,
        "sd": lambda values: np.std(values, ddof=1),
        "mcse_mean": lambda values: arviz.mcse(values, method="mean"),
        "ess_bulk": lambda values: arviz.ess(values, method="bulk"),
        "ess_tail": lambda values: arviz.ess(values, method="tail"),
        "r_hat": lambda values: arviz.rhat(values),
    }
    table = {name: [float(np.squeeze(of(values))) for values in statistics.values()] for name, of in columns.items()}
    return need("pandas").DataFrame(table, index=list(statistics))


def _units(units: int | Sequence[int], count: int) -> list[int]:
    if isinstance(units, int):
        wanted = min(positive_int(units, "units", 0), count)
        return [place * count // wanted for place in range(wanted)]
    listed = [positive_int(unit, "units", 0) for unit in units]
    if listed and max(listed) >= count:
        raise ValueError(f"units must be visible units from 0 to {count - 1}, got {max(listed)}")
    return listed


def _energies(run: RunDirectory, draws: Any) -> Any:
    """The free energy of each draw, computed chunk by chunk."""
    asked = run.configuration
    model = run.load_model(asked["library"])
    if len(model._topology.sizes) > 2 or asked["probabilities"]:
        raise ValueError(
            "free_energy must be False for probabilities, and for models with more than one hidden layer: it is not "
            "known in closed form"
        )
    xp, dtype = get_namespace(asked["library"]), str(model._parameters.dtype)

    def of(block: Any) -> Any:
        rows = asarray(np.reshape(block, (-1, block.shape[2])), xp, dtype)
        return np.reshape(to_numpy(model.free_energy(rows)), (*block.shape[:2], 1))

    with one_thread():
        energies = draws.map_blocks(of, dtype=dtype, chunks=(*draws.chunks[:2], (1,)), meta=np.empty((0, 0, 0), dtype))
        return energies.compute(scheduler="threads")[:, :, 0].astype("float64")
