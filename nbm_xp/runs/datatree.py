"""Results of runs of every kind as xarray DataTrees, with coordinates and units; arrays of Zarr groups stay lazy."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nbm_xp.boltzmann import Diagnostics
from nbm_xp.package import __version__, need
from nbm_xp.storage.chunked import open_array

from .execution import Kind, finished, kind_of
from .reading import lazy_free_energies, zarr_dataset
from .training import trained_model
from .transitions import SPINS

_NATS = re.compile("log_|likelihood|free_energy|thermal|ladder|held_out|standard_error")
# All other variables are dimensionless; energies of graphs are in the unit of their couplings.
_UNITS = {"seconds": "s", "sweep": "sweeps", "time": "sweeps", "epoch": "epochs", "epochs": "epochs"}
_SCALARS = ("epochs", "seconds", "n_rows", "n_features", "lower_bound", "standard_error")


def open_datatree(directory: str | os.PathLike[str]) -> Any:
    """Return the results of a finished run of any kind as an xarray DataTree.

    Parameters
    ----------
    directory : path-like
        The run's directory.

    Returns
    -------
    xarray.DataTree
        Draws are in the group ``posterior``, as ArviZ expects, with the dimensions chain and draw: the layers of
        `sample`, the observables of `sample_graph`. ``sample_stats`` has the free energy of each visible state of
        `sample`, or its mean-field bound. The other results are in a group with the name of the kind of run. Arrays of
        Zarr groups, and what is computed from them, are Dask arrays.

        All dimensions have coordinates, and numbers have units in ``attrs["units"]``: nats, sweeps, epochs, s
        (seconds), or 1 if they are dimensionless. Attributes of the root describe the run; its configuration is JSON.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If the results are damaged. A damaged chunk raises when it is computed.
    ModuleNotFoundError
        If xarray is not installed.

    Notes
    -----
    The groups are those of the InferenceData schema of ArviZ, whose functions take arrays in memory: select variables
    and units, and call ``compute()``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import open_datatree, sample
    >>> rbm = RBM.from_parameters(np.eye(3), np.zeros(3), np.zeros(3))
    >>> tree = open_datatree(sample(rbm, pathlib.Path(tempfile.mkdtemp()) / "run", 4, 5, random_state=1).path)
    >>> sorted(tree.children), tree["posterior/visible"].shape, tree["sample_stats/free_energy"].attrs["units"]
    (['posterior', 'sample_stats'], (4, 5, 3), 'nats')
    """
    run, xarray = finished(directory), need("xarray")
    kind = kind_of(run.kind)(run)
    stored = zarr_dataset(run) if kind.stored else xarray.Dataset()
    draws = [name for name, array in stored.items() if array.dims[:2] == ("chain", "draw")]
    others, coordinates = _OTHERS[run.kind](kind) if run.kind in _OTHERS else ({}, {})
    found = {"posterior": stored[draws], run.kind: stored.drop_vars(draws).assign(others)}
    if run.kind == "sample" and "visible" in stored and not run.configuration["probabilities"]:
        energies = lazy_free_energies(run.load_model(run.configuration["library"]), stored["visible"].data)
        found["sample_stats"] = stored.assign(free_energy=(("chain", "draw"), energies))[["free_energy"]]
    by = {"created_at": run.created, "inference_library": "nbm_xp", "inference_library_version": __version__}
    groups = {name: _labelled(data, coordinates, by) for name, data in found.items() if data.data_vars}
    about = by | {"kind": run.kind, "seed": str(run.seed), "configuration": json.dumps(run.configuration)}
    return xarray.DataTree.from_dict({"/": xarray.Dataset(attrs=about)} | groups)


def _labelled(data: Any, coordinates: Mapping[str, Any], attributes: Mapping[str, str]) -> Any:
    """Return a dataset with coordinates for all dimensions, units of all numbers, and further attributes."""
    data = data[list(data.data_vars)]  # without the coordinates of other groups
    counts = {name: need("pandas").RangeIndex(length) for name, length in data.sizes.items() if name not in data.coords}
    known = {name: array for name, array in coordinates.items() if array[0] in data.dims}
    data = data.assign_coords(counts | known).assign_attrs(attributes)
    for name, variable in data.variables.items():
        if variable.dtype.kind in "biuf":
            unit = "nats" if _NATS.search(str(name)) else _UNITS.get(str(name), "1")
            variable.attrs = {"units": unit} | variable.attrs
    return data


def _columns(rows: Sequence[Mapping[str, Any]], dimension: str, names: Sequence[str]) -> dict[str, Any]:
    """Return series of numbers, NaN where one is unknown, without those that are unknown everywhere."""
    found = {name: np.asarray([row.get(name) for row in rows], "float64") for name in names}
    return {name: ((dimension,), values) for name, values in found.items() if np.isfinite(values).any()}


def _scalars(document: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in document if name in _SCALARS or name.startswith("mean_log_likelihood")]
    return {name: ((), document[name]) for name in names if document[name] is not None}


_Found = tuple[dict[str, Any], dict[str, Any]]  # variables and coordinates


def _of_graph(kind: Kind) -> _Found:
    return {}, {"beta": ("chain", np.asarray(kind.run.configuration["betas"]))}


def _of_evaluation(kind: Kind) -> _Found:
    """Return the estimates of log Z, the best one and each by itself, and the log-likelihood."""
    document, betas = kind.read_document(), kind.run.configuration["betas"]
    rows = {"best": document} | {name: document[name] for name in ("ais", "reverse", "ladder") if document[name]}
    rows |= {name: {"log_z": document[name]} for name in ("exact", "given") if document[name] is not None}
    variables = _columns(list(rows.values()), "estimate", ("log_z", "log_z_low", "log_z_high")) | _scalars(document)
    if compared := document["adversarial_accuracy"]:
        variables["adversarial_accuracy"] = ((), compared["accuracy"])
    return variables, {"estimate": ("estimate", list(rows)), "beta": ("beta", np.asarray(betas))}


def _of_training(kind: Kind) -> _Found:
    """Return the diagnostics of each diagnosed epoch, and the figures of the whole training."""
    lines = [dataclasses.asdict(at) for at in trained_model(kind.run.path).diagnostics_]
    names = [field.name for field in dataclasses.fields(Diagnostics) if field.name not in ("epoch", "acceptance")]
    variables = _columns(lines, "epoch", names) | _scalars(kind.read_document())
    if pairs := max((len(line["acceptance"]) for line in lines), default=0):
        padded = [list(line["acceptance"]) + [np.nan] * (pairs - len(line["acceptance"])) for line in lines]
        variables["acceptance"] = (("epoch", "pair"), np.asarray(padded))
    return variables, {"epoch": ("epoch", [line["epoch"] for line in lines])}


def _of_transition(kind: Kind) -> _Found:
    """Return the measurements at each temperature, and the last spins of the first chain."""
    measured, spins = kind.read_document()["measured"], open_array(kind.run.path / SPINS)
    temperatures = np.asarray([at["temperature"] for at in measured])
    variables = _columns(measured, "temperature", [name for name in measured[0] if name != "temperature"])
    variables["spins"] = (("temperature", *(f"axis_{axis}" for axis in range(spins.ndim - 1))), spins)
    return variables, {"temperature": ("temperature", temperatures), "beta": ("temperature", 1 / temperatures)}


_OTHERS = {"graph": _of_graph, "evaluate": _of_evaluation, "train": _of_training, "transition": _of_transition}
