"""What a folder of Zarr's says of itself, read as plain JSON and held to what is known, before Zarr itself opens it.

Zarr takes codecs and dtypes by their names from whatever is installed, and older releases among them ones that run
what they decode. So only Zarr's version 3 is read, only codecs and dtypes that are listed here, and no header may claim
more than there can be.
"""

from __future__ import annotations

import itertools
import math
import os
import pathlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.files import DIGEST, digest_of_file, digest_of_record, read_record

__all__ = [
    "CODECS", "HEADER", "Header", "array_header", "check_chunks", "checked_seal", "files_of", "group_header", "seal_of",
]  # fmt: skip

HEADER = "zarr.json"
CODECS = frozenset({"bytes", "transpose", "blosc", "gzip", "zstd", "crc32c", "sharding_indexed"})
"""The codecs of Zarr's own specification: they turn bytes into numbers, and do nothing else."""

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
    """What an array's header says.

    Attributes
    ----------
    shape, tile : tuple of int
    dtype : str
    codecs : tuple of str
        Their names, in the order in which they encode.
    """

    shape: tuple[int, ...]
    tile: tuple[int, ...]
    dtype: str
    codecs: tuple[str, ...]

    @property
    def n_tiles_along(self) -> list[int]:
        """How many tiles there are along each axis."""
        return [-(-length // size) for length, size in zip(self.shape, self.tile, strict=True)]

    @property
    def bytes_in_a_tile(self) -> int:
        """How many bytes a tile's numbers take."""
        return math.prod(self.tile) * np.dtype(self.dtype).itemsize


def group_header(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What the header of a group says.

    Raises
    ------
    ValueError
        If there is none of Zarr's version 3.
    """
    return _header(pathlib.Path(folder), "group")


def array_header(folder: str | os.PathLike[str], codecs: Collection[str] = CODECS) -> Header:
    """What the header of an array says, if it may be read.

    Parameters
    ----------
    folder : path-like
        The array's.
    codecs : collection of str, optional
        The names of the codecs that it may have.

    Raises
    ------
    ValueError
        If there is none of Zarr's version 3, or it claims or asks for something that is not read.
    """
    place = pathlib.Path(folder)
    said = _header(place, "array")
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


def _header(place: pathlib.Path, kind: str) -> dict[str, Any]:
    try:
        said = read_record(place / HEADER)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{place} is no Zarr {kind} of version 3: it has no {HEADER}") from None
    if not isinstance(said, dict) or said.get("zarr_format") != 3 or said.get("node_type") != kind:
        raise ValueError(f"{place} is no Zarr {kind} of version 3")
    return said


def _known(found: Any, known: Collection[str], what: str) -> str:
    if not isinstance(found, str) or found not in known:
        raise ValueError(f"{what} must be one of {sorted(known)}, got {found!r}")
    return found


def _names(listed: Any, known: Collection[str]) -> list[str]:
    """The names of codecs, those within shards looked at as well."""
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
    """What tells the headers of a group, or one that it is to have, and of its arrays from all others."""
    place = pathlib.Path(folder)
    said = group_header(place) if header is None else header
    attributes = {name: value for name, value in said.get("attributes", {}).items() if name != DIGEST}
    arrays = sorted(path.parent.name for path in place.glob(f"*/{HEADER}"))
    within = {name: digest_of_file(place / name / HEADER) for name in arrays}
    return digest_of_record(said | {"attributes": attributes, "arrays": within})


def checked_seal(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The attributes of a group, if its headers are those that were written.

    Raises
    ------
    ValueError
        If they are not.
    """
    place = pathlib.Path(folder)
    try:
        attributes, seal = group_header(place).get("attributes"), seal_of(place)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{place} is damaged: {error}") from error
    if not isinstance(attributes, dict) or attributes.get(DIGEST) != seal:
        raise ValueError(f"{place} is damaged: what its {HEADER} say is not what was written")
    return attributes


def check_chunks(folder: pathlib.Path, header: Header) -> None:
    """Raise `ValueError` for an array of which a chunk is not there, or is no file."""
    there = files_of(folder)
    for index in itertools.product(*map(range, header.n_tiles_along)):
        name = ".".join(["c", *map(str, index)])
        if name not in there:
            raise ValueError(f"{folder} is damaged: it lacks the chunk {name}")


def files_of(folder: pathlib.Path) -> set[str]:
    """The names of the files in an array's folder; there is nothing else in it."""
    found = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_file():
                    raise ValueError(f"{folder} is damaged: {entry.name} is no file")
                found.add(entry.name)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{folder} is damaged: it is not there") from None
    return found
