"""Draws on disk: a Zarr group of arrays with the axes (chain, draw, unit), written chunk by chunk.

Contract: a chunk is complete or missing. A missing or changed chunk raises an error; it is never read as zeros. A
store gets its final name only when all of it is on disk, and a store of another run is detected.

Every chunk ends with Zarr's checksum; the group's attributes hold a digest of all headers and the identity of the run.

The format is Zarr version 3, and Zarr writes the metadata. The chunks are written here, because Zarr's own store
renames files without flushing files and names to disk: after a power failure they may be empty or missing.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.files import Place, flush_folder, replacing_folder, sweep, write_whole
from nbm_xp.objects import ObjectPath
from nbm_xp.package import need
from nbm_xp.records import DIGEST, crc32c
from nbm_xp.storage import zarr_headers
from nbm_xp.storage.chunked import create_array
from nbm_xp.storage.zarr_headers import (
    BEGUN,
    HEADER,
    Header,
    array_header,
    arrays_in,
    check_chunks,
    files_of,
    group_file,
    group_header,
)

_DRAWS = ("bytes", "blosc", "crc32c")


@dataclass(frozen=True)
class Stored:
    """Description of an array of a store.

    Attributes
    ----------
    name : str
    dimensions : tuple of str
        Names of the axes.
    shape, chunks : tuple of int
        Lengths of the array and of a chunk along each axis.
    dtype : str
    about : mapping
        Attributes of the array.
    """

    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str
    about: Mapping[str, Any]

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return math.prod(-(-length // size) for length, size in zip(self.shape, self.chunks, strict=True))

    @property
    def nbytes(self) -> int:
        """Size of the array, in bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def bytes_in_a_chunk(self) -> int:
        """Size of a chunk before it is compressed."""
        return math.prod(self.chunks) * np.dtype(self.dtype).itemsize


UNFINISHED = "unfinished.zarr"  # name of a store until its run is finished


def unfinished(place: Place) -> Place:
    """Return the path of a store until its run is finished; at an address the same, with another name of its header."""
    return place if isinstance(place, ObjectPath) else place.with_name(UNFINISHED)


def is_whole(place: Place) -> bool:
    """Return whether a store is there and has its final name or header."""
    return (place / HEADER if isinstance(place, ObjectPath) else place).exists()


def is_begun(place: Place) -> bool:
    """Return whether a store is there that is not finished."""
    return (group_file(place) if isinstance(place, ObjectPath) else place).exists()


def create(
    place: Place, arrays: Sequence[Stored], coordinates: Mapping[str, Sequence[int]], about: Mapping[str, Any]
) -> None:
    """Create a store with its metadata and coordinates and without chunks of the arrays, completely or not at all."""
    zarr = need("zarr")
    with replacing_folder(place) as part:
        group = zarr.create_group(part, zarr_format=3, attributes=dict(about))
        for name, values in coordinates.items():
            axis, shape = "draw" if name == "sweep" else name, (len(values),)  # sweeps count draws
            create_array(group, name, shape, shape, "int64", dimension_names=(axis,))[:] = np.asarray(values)
        for array in arrays:
            blosc = zarr.codecs.BloscCodec(
                cname="zstd", clevel=1, shuffle="bitshuffle", typesize=np.dtype(array.dtype).itemsize
            )
            create_array(
                group, array.name, array.shape, array.chunks, array.dtype, [blosc],
                dimension_names=array.dimensions, attributes=dict(array.about),
            )  # fmt: skip
        with warnings.catch_warnings():
            # Zarr warns that version 3 does not yet specify consolidated metadata; readers that know it are faster.
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(part)
        annotate(part, {})
        if isinstance(place, ObjectPath):
            (part / HEADER).rename(part / BEGUN)


def annotate(place: Place, attributes: Mapping[str, Any]) -> None:
    """Add attributes to a store, and update the digest of all headers."""
    said = group_header(place)
    said["attributes"] |= attributes
    said["attributes"][DIGEST] = zarr_headers.seal_of(place, said)
    write_whole(group_file(place), json.dumps(said, indent=2).encode())


def write_chunk(place: Place, array: Stored, index: Sequence[int], values: Any) -> None:
    """Write one chunk of an array, and flush it to disk.

    Parameters
    ----------
    place : Path
        Path of the store.
    array : Stored
    index : sequence of int
        Index of the chunk along each axis.
    values : array in host memory
        Values of the chunk; chunks at the ends of axes may be shorter.
    """
    blosc = need("numcodecs.blosc")
    if values.shape != array.chunks:
        whole = np.zeros(array.chunks, dtype=array.dtype)
        whole[tuple(slice(length) for length in values.shape)] = values
        values = whole
    coder = blosc.Blosc(cname="zstd", clevel=1, shuffle=blosc.BITSHUFFLE)
    content = coder.encode(np.ascontiguousarray(values, dtype=array.dtype))
    path = place / array.name / ".".join(["c", *map(str, index)])
    write_whole(path, content + crc32c(content).to_bytes(4, "little"))


def finish(place: Place, arrays: Sequence[Stored]) -> None:
    """Remove unfinished files of killed workers, and give a store, or its header, its final name.

    Raises
    ------
    ValueError
        If a chunk is missing.
    """
    sweep(begun := unfinished(place))
    for array in arrays:
        check_chunks(begun / array.name, Header(array.shape, array.chunks, array.dtype, _DRAWS))
    if isinstance(place, ObjectPath):
        write_whole(place / HEADER, (place / BEGUN).read_bytes())
    else:
        os.rename(begun, place)
        flush_folder(place.parent)


def check(unfinished: Place, arrays: Sequence[Stored], run: str) -> None:
    """Check that a store belongs to a run, and that its headers are unchanged.

    Raises
    ------
    ValueError
        If either is not the case.
    """
    headers = _headers(unfinished, run)
    for array in arrays:
        found = headers.get(array.name)
        if found is None or (found.shape, found.tile) != (array.shape, array.chunks):
            raise ValueError(f"{unfinished} is damaged: it lacks the array {array.name}, as it was begun")
        files_of(unfinished / array.name)


def _headers(place: Place, run: str | None) -> dict[str, Header]:
    """Return the headers of a store's arrays, by name."""
    if (found := zarr_headers.checked_seal(place).get("run")) != run and run is not None:
        raise ValueError(f"{place} is of another run: {found!r}, not {run!r}")
    return {name: array_header(place / name, _DRAWS) for name in arrays_in(place)}


def open_arrays(place: Place, run: str | None = None) -> dict[str, Any]:
    """Open the arrays of a finished store by name, without coordinates; reading a damaged chunk raises `ValueError`.

    Parameters
    ----------
    place : Path
        Path of the store.
    run : str, optional
        Identity of the run that the store must belong to. By default any.

    Raises
    ------
    ValueError
        If the store is damaged, lacks a chunk, or belongs to another run.
    """
    headers = _headers(place, run)
    need("zarr")
    from nbm_xp.storage.zarr_chunks import open_whole

    return open_whole(place, {name: found for name, found in headers.items() if found.codecs == _DRAWS})


def checked_store(place: Place, run: str) -> Any:
    """Return a finished store, with its coordinates, as a Zarr store."""
    headers = _headers(place, run)
    need("zarr")
    from nbm_xp.storage.zarr_chunks import whole_store

    return whole_store(place, headers)
