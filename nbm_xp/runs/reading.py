"""What runs have written, read lazily."""

from __future__ import annotations

import os
from typing import Any

import dask.array

from nbm_xp.package import need

from . import store
from .execution import finished
from .graph_job import GRAPH, LATTICE
from .sampling import SAMPLES

__all__ = ["open_dataset", "open_samples"]

_RESULTS = {"sample": SAMPLES, "lattice": LATTICE, "graph": GRAPH}


def open_samples(directory: str | os.PathLike[str], name: str = "visible") -> Any:
    """The draws of a sampling run as a Dask array, which reads what is asked of it.

    Parameters
    ----------
    directory : path-like
        The run's.
    name : str, optional
        Which layer: ``"visible"``, ``"hidden_1"``, …

    Returns
    -------
    dask.array.Array of shape (chains, draws, units)

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If it holds no such layer, or lacks draws that were written; if some are damaged, when they are computed.
    """
    run = finished(directory, "sample")
    arrays = store.open_arrays(run.path / SAMPLES, run.result_identity)
    if name not in arrays:
        raise ValueError(f"name must be one of {sorted(arrays)}, got {name!r}: the run kept no other layers")
    array = arrays[name]
    return dask.array.from_array(array, chunks=array.chunks, name=False)  # type: ignore[no-untyped-call]


def open_dataset(directory: str | os.PathLike[str]) -> Any:
    """What a sampling run, a lattice's or a graph's has drawn, as an xarray Dataset, which reads what is asked of it.

    Parameters
    ----------
    directory : path-like
        The run's.

    Returns
    -------
    xarray.Dataset
        A variable for each layer, with the dimensions chain, draw and unit; of a lattice or a graph ``state``,
        ``energy`` and ``magnetisation``. ``xarray.open_zarr`` on ``samples.zarr``, ``lattice.zarr`` or ``graph.zarr``
        gives the same, but takes a chunk that is gone for zeros.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If it is damaged; where draws are, when they are computed.
    ModuleNotFoundError
        If xarray is not installed.
    """
    run, xarray = finished(directory, *_RESULTS), need("xarray")
    opened = store.checked_store(run.path / _RESULTS[run.kind], run.result_identity)
    return xarray.open_zarr(opened, consolidated=False, zarr_format=3)
