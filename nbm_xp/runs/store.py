"""Draws on disk: a Zarr group of arrays with the axes (chain, draw, unit), written chunk by chunk.

What this chapter must satisfy: a chunk is whole or not there; a chunk that is not there is an error, never zeros; and
nobody takes a store for whole before all of it is on disk.

The format is Zarr's version 3, its metadata are written by Zarr itself. The chunks are not: Zarr's own store writes a
file beside its place and renames it, but neither the file nor its name is flushed to disk, so after a power failure
both may be gone or empty. Here they are.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .needs import need
from .whole import flush_folder, leftover_name, sweep, write_whole

__all__ = ["Opened", "Stored", "create", "finish", "open_arrays", "write_chunk"]


@dataclass(frozen=True)
class Stored:
    """One array of a store.

    Attributes
    ----------
    name : str
    dimensions : tuple of str
    shape, chunks : tuple of int
    dtype : str
    about : mapping, optional
        Attributes of the array.
    """

    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str
    about: Mapping[str, Any]


def create(
    place: pathlib.Path, arrays: Sequence[Stored], coordinates: Mapping[str, Sequence[int]], about: Mapping[str, Any]
) -> None:
    """Make a store with its metadata and coordinates, and no chunk of the arrays; whole or not at all."""
    zarr = need("zarr")
    part = place.with_name(leftover_name(place.name))
    try:
        group = zarr.create_group(part, zarr_format=3, attributes=dict(about))
        for name, values in coordinates.items():
            given = np.asarray(values, dtype="int64")
            made = group.create_array(
                name,
                shape=given.shape,
                chunks=given.shape,
                dtype="int64",
                dimension_names=_along(name),
                compressors=None,
            )
            made[:] = given
        for array in arrays:
            group.create_array(
                array.name,
                shape=array.shape,
                chunks=array.chunks,
                dtype=array.dtype,
                dimension_names=array.dimensions,
                attributes=dict(array.about),
                compressors=zarr.codecs.BloscCodec(
                    cname="zstd", clevel=1, shuffle="bitshuffle", typesize=np.dtype(array.dtype).itemsize
                ),
                chunk_key_encoding={"name": "default", "separator": "."},
            )
        with warnings.catch_warnings():
            # Zarr warns that version 3 does not say yet where these are written; readers that know them are faster.
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(part)
        _flush(part)
        os.rename(part, place)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    flush_folder(place.parent)


def _along(name: str) -> tuple[str]:
    """The axis that a coordinate goes along: its own, but for the sweeps, which count draws."""
    return ("draw",) if name == "sweep" else (name,)


def _flush(folder: pathlib.Path) -> None:
    """Have all files of a folder, and of those in it, on disk."""
    for path in [folder, *folder.rglob("*")]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_chunk(place: pathlib.Path, array: Stored, index: Sequence[int], values: Any) -> None:
    """Write one chunk of an array: when this returns, it is on disk.

    Parameters
    ----------
    place : Path
        The store's.
    array : Stored
    index : sequence of int
        Which chunk, along each axis.
    values : array in host memory
        As many values as there are in the chunk; at the ends of the axes there may be fewer.
    """
    blosc = need("numcodecs.blosc")
    if values.shape != array.chunks:
        whole = np.zeros(array.chunks, dtype=array.dtype)
        whole[tuple(slice(length) for length in values.shape)] = values
        values = whole
    coder = blosc.Blosc(cname="zstd", clevel=1, shuffle=blosc.BITSHUFFLE)
    write_whole(chunk_path(place, array, index), coder.encode(np.ascontiguousarray(values, dtype=array.dtype)))


def chunk_path(place: pathlib.Path, array: Stored, index: Sequence[int]) -> pathlib.Path:
    """The file of a chunk."""
    return place / array.name / ".".join(["c", *map(str, index)])


def finish(unfinished: pathlib.Path, place: pathlib.Path, arrays: Sequence[Stored]) -> None:
    """Give a store its final name, if all of its chunks are there; what killed workers left behind is removed.

    Raises
    ------
    ValueError
        If one is missing.
    """
    sweep(unfinished)
    for array in arrays:
        grid = (range(-(-length // chunk)) for length, chunk in zip(array.shape, array.chunks, strict=True))
        there = set(os.listdir(unfinished / array.name))
        wanted = {".".join(["c", *map(str, index)]) for index in itertools.product(*grid)}
        if missing := sorted(wanted - there):
            raise ValueError(f"{unfinished / array.name} lacks {len(missing)} chunks, {missing[0]} among them")
    os.rename(unfinished, place)
    flush_folder(place.parent)
    flush_folder(unfinished.parent)


class Opened:
    """An array of a finished store, of which parts are read.

    Attributes
    ----------
    shape, chunks : tuple of int
    dtype : dtype
    ndim : int
    """

    def __init__(self, place: pathlib.Path, array: Any) -> None:
        self._place = place
        self._array = array
        self.shape, self.chunks, self.dtype, self.ndim = array.shape, array.chunks, array.dtype, array.ndim

    def __getitem__(self, index: Any) -> Any:
        """Some of its values.

        Raises
        ------
        ValueError
            If one of their chunks is damaged.
        """
        try:
            return self._array[index]
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"{self._place} is damaged: {error}") from error


def open_arrays(place: pathlib.Path) -> dict[str, Opened]:
    """The arrays of a finished store by name, without its coordinates.

    Raises
    ------
    ValueError
        If the store is damaged. Zarr would take a chunk that is not there for zeros.
    """
    try:
        group = need("zarr").open_group(place, mode="r", zarr_format=3)
        found = {name: array for name, array in group.arrays() if "/" not in _key(array, (0,) * array.ndim)}
    except (ValueError, KeyError, FileNotFoundError) as error:
        raise ValueError(f"{place} is damaged: {error}") from error
    for name, array in found.items():
        there = set(os.listdir(place / name))
        for index in itertools.product(*map(range, array.cdata_shape)):
            if _key(array, index) not in there:
                raise ValueError(f"{place / name} is damaged: it lacks the chunk {_key(array, index)}")
    return {name: Opened(place / name, array) for name, array in found.items()}


def _key(array: Any, index: tuple[int, ...]) -> str:
    """The file of a chunk of a Zarr array: names of `write_chunk` lie in one folder, coordinates' in folders."""
    return str(array.metadata.encode_chunk_key(index))
