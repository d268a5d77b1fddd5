"""Reading of the results of runs, lazily if they are arrays, and diagnostics of the chains of sampling runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dask.array
import numpy as np

from nbm_xp.boltzmann.model import Model
from nbm_xp.machines.diagnostics import effective_size, monte_carlo_error, r_hat, tail_size
from nbm_xp.namespace import array_namespace, asarray, to_numpy
from nbm_xp.namespace.errors import positive_int
from nbm_xp.package import need

from . import store
from .directory import RunDirectory
from .execution import finished, kind_of
from .job import one_thread
from .sampling import SAMPLES

_UNITS = 16


def read_result(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the results of a finished run of any kind, except arrays.

    Parameters
    ----------
    directory : path-like
        The run's directory.

    Returns
    -------
    dict
        ``run`` (the directory), ``kind`` and ``seed``, and the results of the kind of run: for a training, the
        diagnostics of the last epoch; for an evaluation, the fields of `Evaluation`; for a transition, its measurements
        at each temperature.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If its results are damaged.
    """
    run = finished(directory)
    return {"run": str(run.path), "kind": run.kind, "seed": run.seed, **kind_of(run.kind)(run).result()}


def open_samples(directory: str | os.PathLike[str], name: str = "visible") -> Any:
    """Return the draws of a sampling run as a lazy Dask array.

    Parameters
    ----------
    directory : path-like
        The run's directory.
    name : str, optional
        Layer: ``"visible"``, ``"hidden_1"``, …

    Returns
    -------
    dask.array.Array of shape (chains, draws, units)

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If the layer was not stored, or a chunk is missing. A damaged chunk raises when it is computed.
    """
    run = finished(directory, "sample")
    arrays = store.open_arrays(run.path / SAMPLES, run.result_identity)
    if name not in arrays:
        raise ValueError(f"name must be one of {sorted(arrays)}, got {name!r}: the run kept no other layers")
    array = arrays[name]
    return dask.array.from_array(array, chunks=array.chunks, name=False)  # type: ignore[no-untyped-call]


def open_dataset(directory: str | os.PathLike[str]) -> Any:
    """Return the results of a run of `sample` or `sample_graph` as a lazy xarray Dataset.

    Parameters
    ----------
    directory : path-like
        The run's directory.

    Returns
    -------
    xarray.Dataset
        A variable for each layer, with the dimensions chain, draw and unit; for a graph, ``state`` and the observables.
        ``xarray.open_zarr`` on ``samples.zarr`` or ``graph.zarr`` gives the same, but reads missing chunks as zeros.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If the results are damaged. A damaged chunk raises when it is computed.
    ModuleNotFoundError
        If xarray is not installed.
    """
    return zarr_dataset(finished(directory, "sample", "graph"))


def zarr_dataset(run: RunDirectory) -> Any:
    """Return the Zarr group of a finished run as a lazy xarray Dataset."""
    xarray, place = need("xarray"), run.path / kind_of(run.kind).stored
    opened = store.checked_store(place, run.result_identity)
    return xarray.open_zarr(opened, consolidated=False, zarr_format=3)


def diagnose(
    directory: str | os.PathLike[str],
    units: int | Sequence[int] = _UNITS,
    *,
    free_energy: bool = True,
    burn_in: int = 0,
) -> Any:
    """Compute R-hat and effective sample sizes of statistics of a sampling run.

    Parameters
    ----------
    directory : path-like
        The run's directory; the visible layer must have been stored.
    units : int or sequence of int, optional
        Visible units to diagnose: their number, for evenly spaced units, or their indices.
    free_energy : bool, optional
        Whether to diagnose the free energy of the visible states too, which depends on all units. For deep machines,
        its mean-field bound, at a cost of up to 100 sweeps per draw. Must be False if probabilities were stored.
    burn_in : int, optional
        Number of draws to discard at the beginning of each chain.

    Returns
    -------
    pandas.DataFrame
        A row for each statistic, with the columns mean, sd, mcse_mean, ess_bulk, ess_tail and r_hat. R-hat is below
        1.01 if the chains have converged to one distribution, and NaN for a unit that never changes.

    Raises
    ------
    ModuleNotFoundError
        If pandas is not installed.
    ValueError
        If an argument is invalid, or there are fewer than two chains or four draws.
    RunError
        If the run is not finished.
    """
    draws = open_samples(directory)
    first = positive_int(burn_in, "burn_in", 0)
    if draws.shape[0] < 2 or draws.shape[1] - first < 4:
        raise ValueError(
            f"R-hat needs at least two chains of four draws, got {draws.shape[0]} of {max(0, draws.shape[1] - first)}"
        )
    draws = draws[:, first:]
    looked_at = _units(units, draws.shape[2])
    series = np.ascontiguousarray(np.moveaxis(draws[:, :, looked_at].compute(), 2, 0), "float64")  # reads chunks once
    statistics = {f"unit {unit}": values for unit, values in zip(looked_at, series, strict=True)}
    if free_energy:
        asked = (run := RunDirectory.open(directory, "sample")).configuration
        if asked["probabilities"]:
            raise ValueError("free_energy must be False for probabilities, which are no states")
        model = run.load_model(asked["library"])
        name = "free energy" if model.state_.topology.is_factorial else "free energy bound"
        with one_thread():
            energies = lazy_free_energies(model, draws).compute(scheduler="threads")
        statistics = {name: energies.astype("float64")} | statistics
    return _summary(statistics)


def _summary(statistics: dict[str, Any]) -> Any:
    columns: dict[str, Callable[[Any], float]] = {
        "mean": np.mean,
        "sd": lambda values: np.std(values, ddof=1),
        "mcse_mean": monte_carlo_error,
        "ess_bulk": effective_size,
        "ess_tail": tail_size,
        "r_hat": r_hat,
    }
    table = {name: [float(of(values)) for values in statistics.values()] for name, of in columns.items()}
    return need("pandas").DataFrame(table, index=list(statistics))


def _units(units: Any, count: int) -> list[int]:
    if isinstance(units, str) or not (hasattr(units, "__index__") or isinstance(units, Iterable)):
        raise ValueError(f"units must be a number of visible units, or which of them, got {units!r}")
    if not isinstance(units, Iterable):
        wanted = min(positive_int(units, "units", 0), count)
        return [place * count // wanted for place in range(wanted)]
    listed = [positive_int(unit, "units", 0) for unit in units]
    if listed and max(listed) >= count:
        raise ValueError(f"units must be visible units from 0 to {count - 1}, got {max(listed)}")
    return listed


def lazy_free_energies(model: Model, draws: Any) -> Any:
    """Return the free energy of each draw, or its bound, as a Dask array with the chunks of the draws."""
    xp, dtype = array_namespace(model.state_.like), str(model.state_.parameters.dtype)

    def of_block(block: Any) -> Any:
        rows = asarray(np.reshape(block, (-1, block.shape[2])), xp, dtype)
        return np.reshape(to_numpy(model.free_energy(rows)), block.shape[:2])

    return draws.map_blocks(of_block, drop_axis=2, dtype=dtype, meta=np.empty((0, 0), dtype))
