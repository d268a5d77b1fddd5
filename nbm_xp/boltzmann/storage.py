"""Files of models: named arrays and metadata, in the safetensors format, or in a Zarr folder.

The arrays of a model have these names: ``weights.I-J`` for a connection, of shape (units of layer I, units of layer J),
``biases.I``, ``base_rate``; and, depending on the training, ``chain.I``, the states of the persistent chains;
``velocity.weights.I-J`` and ``velocity.biases.I``; for Adam also ``square.…`` and ``adam.steps``; ``offset.I``, the
offsets of centred gradients; and ``streams.…``, the states of random streams. The metadata are strings: ``format``,
``model``, ``library``, and as JSON ``topology``, ``params`` and ``progress``; and ``run``, the identity of the run, in
files of a run's directory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from nbm_xp.files import place_of
from nbm_xp.machines import Array, Shape
from nbm_xp.namespace import dtype_name
from nbm_xp.records import parsed
from nbm_xp.storage.arrays import load_tensors, save_tensors
from nbm_xp.storage.chunked import is_group, open_group, save_group

from .topology import Topology

FORMAT = "nbm_xp.boltzmann 1"
LADDER = "ladder."  # prefix of the arrays of a training's ladder

BALANCE = "balance."  # prefix of the arrays of `learning_step.Balance`

MEAN = "mean."  # prefix of the arrays of the mean of the parameters over the last steps

STREAMS = "streams."  # prefix of the states of random streams

# Suffixes of other file formats
_OTHERS = (
    ".bin", ".ckpt", ".csv", ".dill", ".feather", ".h5", ".hdf5", ".joblib", ".json", ".keras", ".mat", ".nc", ".npy",
    ".npz", ".onnx", ".parquet", ".pb", ".pickle", ".pkl", ".pt", ".pth", ".txt", ".yaml", ".yml", ".zip",
)  # fmt: skip

_Lengths: TypeAlias = tuple[int | None, ...]  # A shape, with None for any length

_JSON = ("topology", "params", "progress")
_STRINGS = {"format", "model", "library", "run", *_JSON}


def names(topology: Topology) -> list[str]:
    """Return the names of the parameters: weights, then biases.

    Examples
    --------
    >>> names(Topology([3, 2]))
    ['weights.0-1', 'biases.0', 'biases.1']
    """
    return list(parameter_shapes(topology))


def parameter_shapes(topology: Topology) -> dict[str, Shape]:
    """Return the shapes of the parameters by name: of weights (units of the lower layer, units of the higher layer)."""
    sizes, pairs = topology.sizes, topology.connections
    weights: dict[str, Shape] = {f"weights.{low}-{high}": (sizes[low], sizes[high]) for low, high in pairs}
    return weights | {f"biases.{layer}": (size,) for layer, size in enumerate(sizes)}


def shapes(topology: Topology) -> dict[str, Shape]:
    """Return the shapes of the arrays that every model has, by name."""
    return parameter_shapes(topology) | {"base_rate": (topology.sizes[0],)}


def ladder_shapes(topology: Topology, machines: int, chains: int) -> dict[str, Shape]:
    """Return the shapes of the arrays of a ladder, by names without `LADDER`; the last machine is in training."""
    pairs = max(machines - 1, 1)
    found: dict[str, Shape] = {name: (pairs, *shape) for name, shape in parameter_shapes(topology).items()}
    found |= {f"state.{layer}": (machines, topology.sizes[layer], chains) for layer in topology.retained}
    return found | {"accepted": (pairs,), "alone": (pairs,), "free": (chains,), "turn": (1,), "pace": (1,)}


def write(
    path: str | os.PathLike[str], model: str, topology: Topology, arrays: Mapping[str, Array], about: Mapping[str, Any]
) -> None:
    """Write a model, completely or not at all.

    Parameters
    ----------
    path : path-like
    model : str
        Name of its class.
    topology : Topology
    arrays : mapping of names to arrays
    about : mapping
        ``library``, ``params`` and ``progress``, and ``run`` in files of a run.
    """
    if place_of(path).suffix.lower() in _OTHERS:
        raise ValueError(f"path must end in .safetensors, or in .zarr for a folder of tiles; got {os.fspath(path)!r}")
    layers = {name: getattr(topology, name) for name in ("sizes", "connections", "visible", "hidden")}
    parts = {name: json.dumps(value) for name, value in ({"topology": layers} | dict(about)).items() if name in _JSON}
    strings = {name: about[name] for name in ("library", "run") if name in about}
    save = save_group if is_group(path) else save_tensors
    save(path, arrays, {"format": FORMAT, "model": model, **strings, **parts})


def read(path: str | os.PathLike[str], model: str | None = None) -> tuple[Topology, dict[str, Array], dict[str, Any]]:
    """Return a model's topology, its arrays, in host memory or lazily from their folder, and its metadata.

    Parameters
    ----------
    path : path-like
    model : str, optional
        Name of the class that it must have.

    Raises
    ------
    ValueError
        If the file contains no such model, or is damaged.
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


def metadata_of(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the metadata of a model's file, such as ``model`` and ``run``, without reading its arrays.

    Raises
    ------
    ValueError
        If the file contains no model, or is damaged.
    """
    metadata: dict[str, str] = (open_group(path) if is_group(path) else load_tensors(path, ()))[1]
    _check_format(path, metadata)
    return metadata


def _check_format(path: str | os.PathLike[str], metadata: object) -> None:
    if not isinstance(metadata, Mapping) or not all(isinstance(text, str) for text in metadata.values()):
        raise ValueError(f"{os.fspath(path)} must say what it holds in strings, got {type(metadata).__name__}")
    found = metadata.get("format")
    if found != FORMAT:
        raise ValueError(f"{os.fspath(path)} holds {found!r}, not {FORMAT!r}")


def _check(topology: Topology, arrays: Mapping[str, Array]) -> None:
    """Raise `ValueError` for missing or unknown arrays, wrong shapes, or different dtypes."""
    wanted: dict[str, _Lengths] = {**shapes(topology)}
    for prefix, group in _training_shapes(topology, arrays).items():
        if any(name.startswith(prefix) for name in arrays):
            wanted |= group
    for name, array in arrays.items():
        shape, dtype = tuple(array.shape), dtype_name(array)
        if name.startswith(STREAMS):
            if len(shape) != 2 or shape[1] != 6 or dtype != "int32":
                raise ValueError(f"is damaged: {name} must be int32 in 6 columns, got {dtype} {shape}")
        elif name not in wanted:
            raise ValueError(f"holds an array {name!r}, which no model has")
        elif not _fits(shape, wanted[name]):
            raise ValueError(f"is damaged: {name} must have shape {wanted[name]}, got {shape}")
    for name in wanted:
        if name not in arrays:
            raise ValueError(f"is damaged: it lacks {name}")
    kinds = sorted({dtype_name(array) for name, array in arrays.items() if not name.startswith(STREAMS)})
    if len(kinds) > 1 or kinds[0] not in ("float32", "float64"):
        raise ValueError(f"must hold arrays of one floating dtype, got {', '.join(kinds)}")


def _fits(shape: Shape, wanted: _Lengths) -> bool:
    return len(shape) == len(wanted) and all(k in (n, None) for n, k in zip(shape, wanted, strict=True))


def _training_shapes(topology: Topology, arrays: Mapping[str, Array]) -> dict[str, dict[str, _Lengths]]:
    """Return the shapes of the arrays of training, by prefix and name: a file has all arrays of a prefix, or none."""
    own, layers = parameter_shapes(topology), list(enumerate(topology.sizes))

    def beside(prefix: str) -> dict[str, _Lengths]:
        return {prefix + name: shape for name, shape in own.items()}

    adam: dict[str, _Lengths] = beside("velocity.") | beside("square.") | {"adam.steps": (1,)}
    balance: dict[str, _Lengths] = {f"{BALANCE}mean.{layer}": (size,) for layer, size in layers}
    states = arrays.get(f"{LADDER}state.{topology.retained[0]}")
    machines, _, chains = (2, 0, 1) if states is None or states.ndim != 3 else states.shape
    return {
        "chain.": {f"chain.{layer}": (None, size) for layer, size in layers if f"chain.{layer}" in arrays},
        "velocity.": beside("velocity."),
        "square.": adam,
        "adam.": adam,
        "offset.": {f"offset.{layer}": (size,) for layer, size in layers},
        MEAN: beside(MEAN) | {f"{MEAN}steps": (1,)},
        BALANCE: balance | {f"{BALANCE}weight.{layer}": (1,) for layer, _ in layers},
        LADDER: {LADDER + name: shape for name, shape in ladder_shapes(topology, machines, chains).items()},
    }
