"""Validation of the headers of Zarr folders, read as plain JSON before Zarr opens them.

Zarr finds codecs and dtypes by name among all installed ones, some of which, in older releases, run code that they
decode. Therefore only Zarr version 3 and the codecs and dtypes listed here are accepted, and sizes are limited.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.files import Place, place_of
from nbm_xp.objects import ObjectPath
from nbm_xp.records import DIGEST, digest_of_file, digest_of_record, read_record

HEADER, BEGUN = "zarr.json", "begun.json"
# The codecs of Zarr's specification, which only convert between bytes and numbers
CODECS = frozenset({"bytes", "transpose", "blosc", "gzip", "zstd", "crc32c", "sharding_indexed"})

DTYPES = frozenset(
    {"bool", "float16", "float32", "float64", "complex64", "complex128"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
MOST_TILES = 10**7
MOST_BYTES_IN_A_TILE = 2**34
MOST_BYTES = 2**50
MOST_AXES = 32


@dataclass(frozen=True)
class Header:
    """Header of an array.

    Attributes
    ----------
    shape, tile : tuple of int
        Lengths of the array and of a chunk along each axis.
    dtype : str
    codecs : tuple of str
        Names of the codecs, in the order of encoding.
    """

    shape: tuple[int, ...]
    tile: tuple[int, ...]
    dtype: str
    codecs: tuple[str, ...]

    @property
    def n_tiles_along(self) -> list[int]:
        """Number of tiles along each axis."""
        return [-(-length // size) for length, size in zip(self.shape, self.tile, strict=True)]

    @property
    def bytes_in_a_tile(self) -> int:
        """Size of a decoded tile, in bytes."""
        return math.prod(self.tile) * np.dtype(self.dtype).itemsize


def group_header(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a group.

    Raises
    ------
    ValueError
        If the folder is not a group of Zarr version 3.
    """
    return _header(group_file(place_of(folder)), "group")


def array_header(folder: str | os.PathLike[str], codecs: Collection[str] = CODECS) -> Header:
    """Read and validate the header of an array.

    Parameters
    ----------
    folder : path-like
        Folder of the array.
    codecs : collection of str, optional
        Names of accepted codecs.

    Raises
    ------
    ValueError
        If the folder is not an array of Zarr version 3, or has unaccepted codecs, dtypes, features or sizes.
    """
    place = place_of(folder)
    said = _header(place / HEADER, "array")
    try:
        grid, keys = said["chunk_grid"], said["chunk_key_encoding"]
        found = Header(
            tuple(said["shape"]),
            tuple(grid["configuration"]["chunk_shape"]),
            _known(said["data_type"], DTYPES, "data_type"),
            tuple(_names(said["codecs"], codecs)),
        )
        _known(grid["name"], {"regular"}, "chunk_grid")
        _known(keys["name"], {"default", "v2"}, "chunk_key_encoding")
        if said.get("storage_transformers"):
            raise ValueError(f"storage_transformers must be none, got {said['storage_transformers']!r}")
        _check_sizes(found)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{place / HEADER} is damaged: {error!r}") from error
    except ValueError as error:
        raise ValueError(f"{place / HEADER}: {error}") from None
    return found


def group_file(place: Place) -> Place:
    """Return the file of a group's header, which is `BEGUN` until a group in an object store is complete."""
    whole = place / HEADER
    return place / BEGUN if isinstance(place, ObjectPath) and not whole.exists() else whole


def arrays_in(place: Place) -> list[str]:
    """Return the names of the arrays of a group, in order."""
    return sorted(path.name for path in place.iterdir() if (path / HEADER).is_file())


def _header(file: Place, kind: str) -> dict[str, Any]:
    try:
        said = read_record(file)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{file.parent} is no Zarr {kind} of version 3: it has no {HEADER}") from None
    if not isinstance(said, dict) or said.get("zarr_format") != 3 or said.get("node_type") != kind:
        raise ValueError(f"{file.parent} is no Zarr {kind} of version 3")
    return said


def _known(found: Any, known: Collection[str], what: str) -> str:
    if not isinstance(found, str) or found not in known:
        raise ValueError(f"{what} must be one of {sorted(known)}, got {found!r}")
    return found


def _names(listed: Any, known: Collection[str]) -> list[str]:
    """Return the names of codecs; those within shards are validated too."""
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"codecs must be a list, got {listed!r}")
    names = []
    for codec in listed:
        plain = codec if isinstance(codec, dict) else {"name": codec}
        names.append(_known(plain["name"], known, "codecs"))
        if names[-1] == "sharding_indexed":
            within = plain["configuration"]
            shard = [size for size in within["chunk_shape"] if type(size) is int and size > 0]
            if len(shard) != len(within["chunk_shape"]):
                raise ValueError(f"chunk_shape must be whole numbers above 0, got {within['chunk_shape']!r}")
            for inner in ("codecs", "index_codecs"):
                _names(within[inner], set(known) - {"sharding_indexed"})
    return names


def _check_sizes(header: Header) -> None:
    if len(header.shape) > MOST_AXES or len(header.shape) != len(header.tile):
        raise ValueError(f"shape and chunk_shape must go along the same axes, got {header.shape} and {header.tile}")
    for size, least in (*((size, 0) for size in header.shape), *((size, 1) for size in header.tile)):
        if type(size) is not int or size < least:
            raise ValueError(f"shape and chunk_shape must be whole numbers, got {header.shape} and {header.tile}")
    whole = math.prod(header.shape) * np.dtype(header.dtype).itemsize
    for claimed, most, what in (
        (whole, MOST_BYTES, "bytes"),
        (header.bytes_in_a_tile, MOST_BYTES_IN_A_TILE, "bytes in a tile"),
        (math.prod(header.n_tiles_along), MOST_TILES, "tiles"),
    ):
        if claimed > most:
            raise ValueError(f"it claims {claimed:,} {what}, and at most {most:,} are read")


def seal_of(folder: str | os.PathLike[str], header: dict[str, Any] | None = None) -> str:
    """Compute a digest of the headers of a group and its arrays; `header` replaces the group's header if given."""
    place = place_of(folder)
    said = group_header(place) if header is None else header
    attributes = {name: value for name, value in said.get("attributes", {}).items() if name != DIGEST}
    within = {name: digest_of_file(place / name / HEADER) for name in arrays_in(place)}
    return digest_of_record(said | {"attributes": attributes, "arrays": within})


def checked_seal(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the attributes of a group after verifying the digest of its headers.

    Raises
    ------
    ValueError
        If the headers have changed.
    """
    place = place_of(folder)
    try:
        attributes, seal = group_header(place).get("attributes"), seal_of(place)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{place} is damaged: {error}") from error
    if not isinstance(attributes, dict) or attributes.get(DIGEST) != seal:
        raise ValueError(f"{place} is damaged: what its {HEADER} say is not what was written")
    return attributes


def check_chunks(folder: Place, header: Header) -> None:
    """Raise `ValueError` if a chunk of an array is missing or is not a file."""
    there = files_of(folder)
    for index in itertools.product(*map(range, header.n_tiles_along)):
        name = ".".join(["c", *map(str, index)])
        if name not in there:
            raise ValueError(f"{folder} is damaged: it lacks the chunk {name}")


def files_of(folder: Place) -> set[str]:
    """Return the names of the files in an array's folder; raise `ValueError` if it contains anything else."""
    try:
        if isinstance(folder, ObjectPath):
            found = folder.entries()
        else:
            with os.scandir(folder) as entries:
                found = {entry.name: entry.is_file() for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{folder} is damaged: it is not there") from None
    for name, is_file in found.items():
        if not is_file:
            raise ValueError(f"{folder} is damaged: {name} is no file")
    return set(found)
