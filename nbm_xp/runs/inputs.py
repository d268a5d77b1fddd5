"""Array inputs of runs, with their digests and files: models, clamped layers, rows of data."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nbm_xp.boltzmann.model import Model
from nbm_xp.boltzmann.storage import LADDER
from nbm_xp.boltzmann.topology import Topology
from nbm_xp.files import Place, place_of, replacing
from nbm_xp.machines.rows import checked_rows, numbers
from nbm_xp.namespace import (
    array_namespace,
    dtype_name,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    to_numpy,
)
from nbm_xp.storage.arrays import load_arrays, map_array, save_arrays

_CLAMPED = "clamped.npz"
ROWS = "rows.npy"
ROWS_AT_ONCE = 16_384


def digest_of_model(model: Any) -> str:
    """Return a digest of a model's parameters."""
    arrays = [*(parameter.value for parameter in model.state_.parameters), model.base_rate_]
    return _digest(to_numpy(array, copy=True) for array in arrays)


def digest_of_ladder(model: Any) -> str:
    """Return a digest of the ladder of a model's training, including its chains."""
    names = sorted(name for name in model.state_.variables if name.startswith(LADDER))
    return _digest(to_numpy(model.state_.variables[name].value, copy=True) for name in names)


def digest_of(array: Any) -> str:
    """Return a digest of an array's values, computed block by block for a Dask array.

    Examples
    --------
    >>> digest_of(np.zeros(3)) == digest_of(np.zeros(3)), digest_of(np.zeros(3)) == digest_of(np.ones(3))
    (True, False)
    """
    return _digest(_pieces(array))


def _digest(arrays: Any) -> str:
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(f"{dtype_name(array)} {tuple(array.shape)} ".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _pieces(array: Any) -> Iterator[Any]:
    """Yield the rows of an array in host memory, `ROWS_AT_ONCE` at a time."""
    lazy = is_lazy(array_namespace(array))
    for first in range(0, array.shape[0], ROWS_AT_ONCE):
        piece = array[first : first + ROWS_AT_ONCE, ...]
        yield to_numpy(piece.compute() if lazy else piece, copy=True)


def library_for(model: Any, library: str | None) -> str:
    """Return the name of the library to compute in, which must not be lazy."""
    chosen = library_name(model.state_.like) if library is None else library
    if not is_lazy(get_namespace(chosen)):
        return chosen
    if library is not None:
        raise ValueError(f"library must be one that computes at once, got {library!r}: blocks are tasks already")
    return library_name(host_namespace())


def fitted_model(model: Any) -> Any:
    """Return a model of `nbm_xp.boltzmann`; raise an error if it is of another type or not fitted."""
    if not isinstance(model, Model):
        raise TypeError(f"model must be a model of nbm_xp.boltzmann, got {type(model).__name__}")
    check_is_fitted(model)
    return model


def clamped_arrays(clamp: Mapping[int, Any] | None, rows: int, topology: Topology) -> dict[int, Any]:
    """Return the values of clamped layers, validated and in host memory."""

    def checked(layer: int, values: Any) -> Any:
        name, size = f"clamp[{layer}]", topology.sites[layer]
        host = numbers(to_numpy(values, copy=True) if is_array(values) else values, name, host_namespace())
        if tuple(host.shape) not in ((size,), (rows, size)):
            wanted = f"an array of shape ({size},) or ({rows}, {size}), got {tuple(host.shape)}"
            raise ValueError(f"clamp must hold, for layer {layer}, {wanted}")
        checked_rows(host.reshape(-1, size), name=name, within=topology.units[layer].within, clip=False)
        return host

    return topology.checked_clamp(clamp, checked)


def save_clamped(clamp: Mapping[int, Any], folder: Place) -> None:
    """Write the values of clamped layers into a run's directory."""
    save_arrays(folder / _CLAMPED, {f"layer_{layer}": values for layer, values in clamp.items()})


def saved_clamped(folder: str | os.PathLike[str]) -> dict[int, Any]:
    """Read the values of clamped layers from a run's directory."""
    loaded = load_arrays(place_of(folder) / _CLAMPED)
    return {int(name.removeprefix("layer_")): value for name, value in loaded.items()}


def save_rows(rows: Any, folder: Place, name: str = ROWS) -> None:
    """Write rows of data into a run's directory, `ROWS_AT_ONCE` at a time."""
    pieces = _pieces(rows)
    first = next(pieces)
    with replacing(folder / name) as part, open(part, "wb") as file:
        header = {"descr": first.dtype.str, "fortran_order": False, "shape": tuple(map(int, rows.shape))}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in itertools.chain([first], pieces):
            file.write(np.ascontiguousarray(piece).data)


def rows_of(folder: str | os.PathLike[str], first: int = 0, count: int | None = None, name: str = ROWS) -> Any:
    """Read `count` rows of data from a run's directory, or all, starting at `first`.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    path = place_of(folder) / name
    try:
        return np.array(map_array(path)[first : None if count is None else first + count])
    except (ValueError, EOFError, OverflowError, RecursionError, MemoryError, IsADirectoryError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
