"""What a run is given besides numbers, as it is told apart and kept: models, and states of clamped layers."""

from __future__ import annotations

import hashlib
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from nbm_xp.namespace import dtype_name, get_namespace, host_namespace, is_lazy, library_name, to_numpy
from nbm_xp.namespace.files import load_arrays, save_arrays

__all__ = ["clamped_arrays", "digest_of", "library_for", "save_clamped"]

_CLAMPED = "clamped.npz"


def digest_of(thing: Any) -> str:
    """What tells a model's parameters, or an array, from all others: a hash of their values.

    Examples
    --------
    >>> import numpy as np
    >>> digest_of(np.zeros(3)) == digest_of(np.zeros(3)), digest_of(np.zeros(3)) == digest_of(np.ones(3))
    (True, False)
    """
    values = (
        [thing]
        if not hasattr(thing, "base_rate_")
        else [*(parameter.value for parameter in thing._parameters), thing.base_rate_]
    )
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        host = to_numpy(value, copy=True)
        found.update(f"{dtype_name(host)} {tuple(host.shape)} ".encode())
        found.update(host.tobytes())
    return found.hexdigest()


def library_for(model: Any, library: str | None) -> str:
    """The name of the library to compute in, one that computes at once."""
    name = library_name(model._like) if library is None else library
    xp = get_namespace(name)
    if is_lazy(xp):
        if library is not None:
            raise ValueError(f"library must be one that computes at once, got {library!r}: blocks are tasks already")
        return library_name(host_namespace())
    return library_name(xp)


def clamped_arrays(clamped: Mapping[int, Any] | pathlib.Path | None, rows: int, sizes: Sequence[int]) -> dict[int, Any]:
    """The states of clamped layers, in host memory: those given, checked, or those that a run's directory holds."""
    if isinstance(clamped, pathlib.Path):
        return {int(name.removeprefix("layer_")): value for name, value in load_arrays(clamped / _CLAMPED).items()}
    found = {}
    for layer, values in (clamped or {}).items():
        if isinstance(layer, bool) or not hasattr(layer, "__index__") or not 0 <= layer < len(sizes):
            raise ValueError(f"clamp must name layers from 0 to {len(sizes) - 1}, got {layer!r}")
        host = to_numpy(values, copy=True)
        if tuple(host.shape) not in ((sizes[layer],), (rows, sizes[layer])):
            raise ValueError(
                f"clamp must hold, for layer {layer}, an array of shape ({sizes[layer]},) or ({rows}, "
                f"{sizes[layer]}), got {tuple(host.shape)}"
            )
        found[int(layer)] = host
    if len(found) == len(sizes) and found:
        raise ValueError("clamp must leave a layer to sample, got all of them")
    return found


def save_clamped(clamped: Mapping[int, Any], folder: str | os.PathLike[str]) -> None:
    """Write the states of clamped layers into a run's directory."""
    save_arrays(pathlib.Path(folder) / _CLAMPED, {f"layer_{layer}": values for layer, values in clamped.items()})
