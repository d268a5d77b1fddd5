"""What the command finds in folders: a run to go on with, a place for a new one, the model that a path leads to."""

from __future__ import annotations

import pathlib
from typing import Any

from nbm_xp import boltzmann
from nbm_xp.machines.units import Values
from nbm_xp.namespace import is_lazy, to_numpy
from nbm_xp.runs import RunDirectory
from nbm_xp.runs.learner import model_file

from .failing import InputError
from .reading import library, saying

__all__ = [
    "checked_new",
    "model_of",
    "read_model",
    "run_at",
    "trained",
    "weights_of",
    "within",
]


def run_at(path: pathlib.Path) -> RunDirectory | None:
    """The run whose directory a path is; None for the path of a file."""
    if path.is_file() or (path / "zarr.json").is_file():  # a model, also one whose weights stay in a folder
        return None
    if not path.exists():
        raise InputError(f"{path}: no such file or directory; `nbm-xp train` makes a model")
    with saying():
        return RunDirectory.open(path)


def checked_new(path: pathlib.Path) -> None:
    """Refuse a place that is taken for a new run."""
    checked_place(path)
    if path.is_dir() and any(path.iterdir()):
        hint = f"`nbm-xp resume {path}` goes on with the run in it; else " if (path / "run.json").is_file() else ""
        raise InputError(f"--out: {path} is not empty: {hint}name another folder")


def checked_place(path: pathlib.Path) -> None:
    """Refuse what cannot be a run's directory."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--out: {path} is a file, and a run needs a folder")
    if not path.parent.is_dir():
        raise InputError(f"--out: there is no folder {path.parent}")


def model_of(path: pathlib.Path) -> pathlib.Path:
    """The file of the model that a path leads to: a model's own, or the one in a run's directory."""
    run = run_at(path)
    if run is None:
        return path
    found = trained(run)
    if found is not None:
        return found
    if run.kind == "train":
        raise InputError(f"{path}: the training in it has kept no model yet")
    if not run.has_model:
        raise InputError(f"{path}: a run of kind {run.kind} has no model")
    return run.model_path


def trained(run: RunDirectory) -> pathlib.Path | None:
    """The model that a training ended with or, before its end, the one of its last checkpoint."""
    with saying():
        return model_file(run) if run.kind == "train" else None


def read_model(path: pathlib.Path, name: str | None = None) -> Any:
    """The model that a path leads to, with its arrays in a library."""
    file = model_of(path)
    home = None if name is None or is_lazy(library(name)) else name
    with saying():
        return boltzmann.load(file, library=home)


def within(model: Any) -> Values | None:
    """The values that data can have for a model."""
    within: Values | None = model.state_.topology.units[0].within
    return within


def weights_of(model: Any) -> Any:
    """The weights of the first hidden layer, in host memory, of shape (hidden units, visible units)."""
    return to_numpy(model.components_) if hasattr(model, "components_") else to_numpy(model.coefs_[0]).T
