"""Arrays larger than memory in files, opened as lazy arrays of tiles and written tile by tile.

Opening reads headers only. A tile is read by the worker that computes with it, so that all workers of a cluster need
access to the files. A folder of named arrays is a Zarr group without compression, which hardly reduces data such as
weights; every tile has a checksum and the headers a digest. A folder gets its name when it is complete.

Headers are validated (`zarr_headers`) before Zarr opens anything, so that no code in a folder is run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from nbm_xp.files import Place, local_path, place_of, replacing_folder
from nbm_xp.namespace import dispatch
from nbm_xp.namespace.conversion import to_numpy
from nbm_xp.objects import ObjectPath
from nbm_xp.package import need
from nbm_xp.records import DIGEST, parsed

from .arrays import map_array
from .zarr_headers import HEADER, array_header, arrays_in, checked_seal, group_header, seal_of

_ABOUT = "nbm_xp"  # the attribute that describes the arrays
Shape: TypeAlias = tuple[int, ...]
_CODECS = ("bytes", "crc32c")  # of folders written here
_TILE = "64MiB"  # tile size of arrays in memory


class NpyFile:
    """An array in an .npy file, of which only the requested parts are read.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    ValueError
        If the file is not an .npy file, or contains values other than numbers.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = place_of(path).resolve()
        there = self._there()
        if there.dtype.kind not in "biufc":
            raise ValueError(f"it holds {there.dtype}")
        self.shape, self.dtype, self.ndim = there.shape, there.dtype, there.ndim

    def _there(self) -> Any:
        return map_array(self.path)

    def __getitem__(self, index: Any) -> Any:
        return np.array(self._there()[index])  # a copy, so that the mapped pages are released

    def __dask_tokenize__(self) -> Any:
        if isinstance(self.path, ObjectPath):
            return type(self).__name__, self.path.address, self.path.version
        status = os.stat(self.path)
        return type(self).__name__, os.fspath(self.path), status.st_mtime_ns, status.st_size


def open_array(path: str | os.PathLike[str], chunks: Any = None) -> Any:
    """Open an .npy file or a Zarr array as a lazy array, without reading its data.

    Parameters
    ----------
    path : path-like
        The file, or the folder of the Zarr array.
    chunks : optional
        Chunks of the result, in any form that Dask accepts. Defaults to those of the Zarr array, or Dask's choice.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    FileNotFoundError
        If the path does not exist.
    ValueError
        If it is neither an .npy file nor a Zarr array of version 3, has codecs or a dtype outside Zarr's
        specification, or its header claims an impossible size.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "matrix.npy"
    >>> np.save(file, np.ones((4, 6)))
    >>> open_array(file, chunks=2).numblocks
    (2, 3)
    """
    place = place_of(path)
    if place.is_dir():
        zarr, _ = need("zarr"), array_header(place)
        from .zarr_chunks import store_of  # imports Zarr

        try:
            held = zarr.open_array(store_of(place), mode="r", zarr_format=3)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{place} is no Zarr array that can be read: {error}") from error
        return _lazy(held, held.chunks if chunks is None else chunks)
    try:
        return _lazy(NpyFile(place), "auto" if chunks is None else chunks)
    except (ValueError, EOFError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(f"{place} is no .npy file of numbers: {error}") from error


def is_group(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder or ends in ``.zarr``, and is therefore meant for `save_group`."""
    place = place_of(path)
    return place.suffix == ".zarr" or place.is_dir()


def save_group(path: str | os.PathLike[str], arrays: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write named arrays to a folder, tile by tile, completely or not at all.

    Parameters
    ----------
    path : path-like
        The folder. A folder written by `save_group` is replaced.
    arrays : mapping of str to array
        Arrays of any library. Lazy arrays are computed one tile per thread at a time, and keep their tiles.
    about : mapping
        Metadata, representable in JSON.

    Raises
    ------
    FileExistsError
        If the path exists and was not written by `save_group`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "numbers.zarr"
    >>> save_group(folder, {"x": np.arange(3.0)}, {"unit": "m"})
    >>> opened, about = open_group(folder)
    >>> opened["x"].compute(), about
    (array([0., 1., 2.]), {'unit': 'm'})
    """
    final, zarr = local_path(path), need("zarr")
    if final.exists() and not _is_ours(final):
        raise FileExistsError(f"{final} is there and holds something else")
    with replacing_folder(final, replace=True) as part:
        store = zarr.storage.LocalStore(part)
        group = zarr.create_group(store, overwrite=False, zarr_format=3)
        for name, array in arrays.items():
            _save(group, name, array)
        group.attrs[_ABOUT] = json.dumps(dict(about))
        group.attrs[DIGEST] = seal_of(part)


def open_group(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Any]:
    """Open the named arrays written by `save_group` as lazy arrays, and read their metadata.

    No code in the folder is run, and no data of the arrays is read.

    Raises
    ------
    ValueError
        If the folder was not completed by `save_group`, or tiles are missing.
    """
    place = place_of(path)
    if not _is_ours(place):
        raise ValueError(f"{place} is no folder of arrays that was written whole")
    need("zarr")
    from .zarr_chunks import open_whole  # imports Zarr

    about = parsed(checked_seal(place)[_ABOUT], place / HEADER)
    headers = {name: array_header(place / name, _CODECS) for name in arrays_in(place)}
    return {name: _lazy(held, held.chunks) for name, held in open_whole(place, headers).items()}, about


def _lazy(held: Any, chunks: Any) -> Any:
    return _dask().from_array(held, chunks=chunks)


def _dask() -> Any:
    from nbm_xp.namespace.compat.dask_names import da  # takes half a second; not needed for models in memory

    return da


def _is_ours(place: Place) -> bool:
    """Return whether a folder was completed by `save_group`."""
    try:
        return _ABOUT in group_header(place).get("attributes", {})
    except (TypeError, ValueError):
        return False


def _save(group: Any, name: str, array: Any) -> None:
    """Write one array to a group."""
    lazy = dispatch.library_of(array) == "dask"
    array = _even(array) if lazy else to_numpy(array)
    chunks = (
        array.chunks if lazy else _dask().core.normalize_chunks("auto", array.shape, limit=_TILE, dtype=array.dtype)
    )
    held = create_array(group, name, array.shape, tuple(max(1, parts[0]) for parts in chunks), array.dtype)
    if lazy:
        _dask().store(array, held, lock=False)
    else:
        held[...] = array


def create_array(
    group: Any, name: str, shape: Shape, chunks: Shape, dtype: Any, compressors: Sequence[Any] = (), **more: Any
) -> Any:
    """Create an array in a Zarr group; its chunks end with checksums and are written even if all values are zero."""
    return group.create_array(
        name,
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        compressors=[*compressors, need("zarr").codecs.Crc32cCodec()],
        chunk_key_encoding={"name": "default", "separator": "."},
        config={"write_empty_chunks": True},
        **more,
    )


def _even(lazy: Any) -> Any:
    """Rechunk an array to tiles of equal size except the last along each axis, as Zarr requires."""
    uneven = any(len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0] for sizes in lazy.chunks)
    return lazy.rechunk(tuple(map(max, lazy.chunks))) if uneven else lazy
