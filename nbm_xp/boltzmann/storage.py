"""A model in a file: its arrays by name, and what tells about them, in the format safetensors, or in a folder, Zarr's.

The arrays of a model of any layers have these names: ``weights.I-J`` for a connection, of shape (units of layer I,
units of layer J), ``biases.I``, ``base_rate``; where there are any, ``chain.I``, the states of the persistent chains,
``velocity.weights.I-J`` and ``velocity.biases.I``, of Adam ``square.…`` likewise and ``adam.steps``, ``offset.I``, the
states to centre on, and ``streams.…``, the states that random draws have come to. The metadata are strings: ``format``,
``model``, ``library``, and as JSON ``topology``, ``params`` and ``progress``; ``run`` in the files of a training's
directory, which says of what run they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from nbm_xp.files import local_path, parsed
from nbm_xp.namespace import dtype_name
from nbm_xp.storage.arrays import load_tensors, save_tensors
from nbm_xp.storage.chunked import is_group, open_group, save_group

from .topology import Topology

__all__ = [
    "BALANCE",
    "FORMAT",
    "LADDER",
    "MEAN",
    "NEGATIVE",
    "STREAMS",
    "balance_shapes",
    "kind_of",
    "names",
    "read",
    "run_of",
    "shapes",
    "write",
]

FORMAT = "nbm_xp.boltzmann 1"
LADDER = "ladder."
"""What the names of the arrays of a training's ladder begin with."""

BALANCE = "balance."
"""What the names of `balancing` begin with."""

MEAN = "mean."
"""What the names of arrays begin with that are a mean of parameters along the last steps."""

NEGATIVE = ("chain.", LADDER, BALANCE, MEAN)
"""What the names of arrays begin with that learning goes on with, beside what optimisers keep."""

STREAMS = "streams."
"""What the names of the states begin with that random draws have come to."""

_OTHERS = (
    ".bin", ".ckpt", ".csv", ".dill", ".feather", ".h5", ".hdf5", ".joblib", ".json", ".keras", ".mat", ".nc", ".npy",
    ".npz", ".onnx", ".parquet", ".pb", ".pickle", ".pkl", ".pt", ".pth", ".txt", ".yaml", ".yml", ".zip",
)  # fmt: skip
"""Endings of names that say another format."""

_JSON = ("topology", "params", "progress")
_STRINGS = {"format", "model", "library", "run", *_JSON}


def names(topology: Topology) -> list[str]:
    """The names of the parameters: weights, then biases.

    Examples
    --------
    >>> names(Topology([3, 2]))
    ['weights.0-1', 'biases.0', 'biases.1']
    """
    weights = [f"weights.{low}-{high}" for low, high in topology.connections]
    return weights + [f"biases.{layer}" for layer in topology.layers]


def shapes(topology: Topology) -> dict[str, tuple[int, ...]]:
    """The shapes of what every model has, by name."""
    weights: list[tuple[int, ...]] = [topology.weights_shape(place) for place in range(len(topology.connections))]
    biases = [(size,) for size in topology.sizes]
    return dict(zip(names(topology), [*weights, *biases], strict=True)) | {"base_rate": (topology.sizes[0],)}


def balance_shapes(topology: Topology) -> dict[str, tuple[int, ...]]:
    """The shapes of what `balancing` keeps, by name: of each layer a mean, and how much rows count in its offsets."""
    means: dict[str, tuple[int, ...]] = {f"{BALANCE}mean.{layer}": (n,) for layer, n in enumerate(topology.sizes)}
    return means | {f"{BALANCE}weight.{layer}": (1,) for layer in topology.layers}


def write(
    path: str | os.PathLike[str],
    model: str,
    topology: Topology,
    arrays: Mapping[str, Any],
    about: Mapping[str, Any],
) -> None:
    """Write a model, whole or not at all.

    Parameters
    ----------
    path : path-like
    model : str
        The name of its class.
    topology : Topology
    arrays : mapping of names to arrays
    about : mapping
        Its ``library``, ``params`` and ``progress``, and ``run`` where it is of one.
    """
    if local_path(path).suffix.lower() in _OTHERS:
        raise ValueError(f"path must end in .safetensors, or in .zarr for a folder of tiles; got {os.fspath(path)!r}")
    layers = {name: getattr(topology, name) for name in ("sizes", "connections", "visible", "hidden")}
    parts = {name: json.dumps(value) for name, value in ({"topology": layers} | dict(about)).items() if name in _JSON}
    strings = {name: about[name] for name in ("library", "run") if name in about}
    save = save_group if is_group(path) else save_tensors
    save(path, arrays, {"format": FORMAT, "model": model, **strings, **parts})


def read(path: str | os.PathLike[str], model: str | None = None) -> tuple[Topology, dict[str, Any], dict[str, Any]]:
    """A model's layers, its arrays, in host memory or left in their folder, and what else is known about it.

    Parameters
    ----------
    path : path-like
    model : str, optional
        The name of the class that it must be of.

    Raises
    ------
    ValueError
        If the file holds no such model, or is damaged.
    """
    arrays, metadata = (open_group if is_group(path) else load_tensors)(path)
    _check_format(path, metadata)
    if unknown := sorted(set(metadata) - _STRINGS):
        raise ValueError(f"{os.fspath(path)} is damaged: it says {unknown[0]!r}, which no model has")
    if model is not None and metadata.get("model") != model:
        raise ValueError(f"{os.fspath(path)} holds a model of the kind {metadata.get('model')!r}, not {model!r}")
    try:
        about = dict(metadata) | {name: parsed(metadata[name], name) for name in _JSON}
        layers = about["topology"]
        topology = Topology(layers["sizes"], layers["connections"], layers["visible"], layers["hidden"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} tells nothing usable about its model: {error}") from error
    try:
        _check(topology, arrays)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} {error}") from None
    return topology, arrays, about


def kind_of(path: str | os.PathLike[str]) -> str:
    """The name of the class that a file holds a model of; its arrays are not read.

    Raises
    ------
    ValueError
        If the file holds no model, or is damaged.
    """
    return str(_metadata(path).get("model"))


def run_of(path: str | os.PathLike[str]) -> str | None:
    """The run that a model's file is of, where it is of one; its arrays are not read.

    Raises
    ------
    ValueError
        If the file holds no model, or is damaged.
    """
    return _metadata(path).get("run")


def _metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    metadata: dict[str, str] = (open_group(path) if is_group(path) else load_tensors(path, ()))[1]
    _check_format(path, metadata)
    return metadata


def _check_format(path: str | os.PathLike[str], metadata: Any) -> None:
    if not isinstance(metadata, Mapping) or not all(isinstance(text, str) for text in metadata.values()):
        raise ValueError(f"{os.fspath(path)} must say what it holds in strings, got {type(metadata).__name__}")
    found = metadata.get("format")
    if found != FORMAT:
        raise ValueError(f"{os.fspath(path)} holds {found!r}, not {FORMAT!r}")


def _check(topology: Topology, arrays: Mapping[str, Any]) -> None:
    """Refuse arrays that are missing, superfluous, or not of the model's shapes and one dtype."""
    wanted = shapes(topology)
    for name in wanted:
        if name not in arrays:
            raise ValueError(f"lacks {name}")
    wanted |= {f"offset.{layer}": (size,) for layer, size in enumerate(topology.sizes) if f"offset.{layer}" in arrays}
    if any(name.startswith("square.") for name in arrays):
        wanted |= {"adam.steps": (1,)}
        for name in (f"{kind}.{name}" for kind in ("square", "velocity") for name in names(topology)):
            if name not in arrays:
                raise ValueError(f"is damaged: it lacks {name}")
        if "adam.steps" not in arrays:
            raise ValueError("is damaged: it lacks adam.steps")
    if any(name.startswith(MEAN) for name in arrays):
        wanted |= {f"{MEAN}steps": (1,)} | {f"{MEAN}{name}": wanted[name] for name in names(topology)}
        for name in (f"{MEAN}{name}" for name in ("steps", *names(topology))):
            if name not in arrays:
                raise ValueError(f"is damaged: it lacks {name}")
    if any(name.startswith(BALANCE) for name in arrays):
        wanted |= balance_shapes(topology)
        for name in balance_shapes(topology):
            if name not in arrays:
                raise ValueError(f"is damaged: it lacks {name}")
    columns = {f"chain.{layer}": size for layer, size in enumerate(topology.sizes)}
    for name, array in arrays.items():
        shape, plain = tuple(array.shape), name.removeprefix("velocity.").removeprefix("square.")
        if name in columns:
            if len(shape) != 2 or shape[1] != columns[name]:
                raise ValueError(f"is damaged: {name} must have {columns[name]} columns, got shape {shape}")
        elif name.startswith(STREAMS):
            if len(shape) != 2 or shape[1] != 6 or dtype_name(array) != "int32":
                raise ValueError(f"is damaged: {name} must be int32 in 6 columns, got {dtype_name(array)} {shape}")
        elif name.startswith("ladder."):
            _check_rungs(topology, arrays, name)
        elif plain not in wanted:
            raise ValueError(f"holds an array {name!r}, which no model has")
        elif shape != wanted[plain]:
            raise ValueError(f"is damaged: {name} must have shape {wanted[plain]}, got {shape}")
    if any(name.startswith("ladder.") for name in arrays):
        for name in _rungs(topology, 1, 1):
            if name not in arrays:
                raise ValueError(f"is damaged: it lacks {name}")
    kinds = sorted({dtype_name(array) for name, array in arrays.items() if not name.startswith(STREAMS)})
    if len(kinds) > 1 or kinds[0] not in ("float32", "float64"):
        raise ValueError(f"must hold arrays of one floating dtype, got {', '.join(kinds)}")


def _rungs(topology: Topology, rungs: int, chains: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a ladder, by name."""
    known = shapes(topology)
    found: dict[str, tuple[int, ...]] = {f"ladder.{name}": (rungs, *known[name]) for name in names(topology)}
    found |= {f"ladder.state.{layer}": (rungs + 1, topology.sizes[layer], chains) for layer in topology.retained}
    found |= {"ladder.accepted": (rungs,), "ladder.alone": (rungs,), "ladder.free": (chains,)}
    return found | {"ladder.turn": (1,), "ladder.pace": (1,)}


def _check_rungs(topology: Topology, arrays: Mapping[str, Any], name: str) -> None:
    """Refuse an array of a ladder that does not go with the number of its rungs and chains."""
    first, shape = arrays.get(f"ladder.state.{topology.retained[0]}"), tuple(arrays[name].shape)
    rungs, chains = (1, 1) if first is None or first.ndim != 3 else (max(first.shape[0] - 1, 1), max(first.shape[2], 1))
    wanted = _rungs(topology, rungs, chains)
    if name not in wanted:
        raise ValueError(f"holds an array {name!r}, which no model has")
    if shape != wanted[name]:
        raise ValueError(f"is damaged: {name} must have shape {wanted[name]}, got {shape}")
