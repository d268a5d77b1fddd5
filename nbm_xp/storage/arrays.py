"""Arrays in .npz and .safetensors files, written completely or not at all, and read without running code.

Headers that claim more data than the file can hold are rejected; .safetensors files written here carry a digest.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import threading
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import IO, Any

import numpy as np
import safetensors

from nbm_xp.files import local_copy, place_of, replacing
from nbm_xp.namespace.conversion import to_numpy
from nbm_xp.objects import ObjectPath
from nbm_xp.records import DIGEST

# Limits of the uncompressed size, in bytes and as a multiple of the file's size; files may exceed one, not both
_UNPACKED, _RATIO = 2**28, 100

_HEADER = 2**17  # bytes; the header of an .npy file is shorter

# NumPy reads headers by `ast.literal_eval`; two calls at once may fail on Python 3.11, with a SystemError
_ONE_READER = threading.Lock()

_TENSORS = {"bool": "BOOL", **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)}}
_TENSORS |= {f"{sign}int{bits}": f"{sign or 'i'}{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""The names of dtypes in .safetensors files."""


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write named arrays of any library, and strings, to an .npz file, completely or not at all.

    Raises
    ------
    ValueError
        If an array contains Python objects.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "arrays.npz"
    >>> save_arrays(file, {"x": [1.0, 2.0], "note": "two numbers"})
    >>> loaded = load_arrays(file)
    >>> loaded["x"], loaded["note"]
    (array([1., 2.]), 'two numbers')
    """
    host: dict[str, Any] = {
        name: np.asarray(value) if isinstance(value, str) else to_numpy(value) for name, value in arrays.items()
    }
    if objects := [name for name, value in host.items() if value.dtype.hasobject]:
        raise ValueError(f"{objects[0]} must be an array of numbers or a string, got Python objects")
    with replacing(path) as part, open(part, "wb") as file:
        np.savez(file, **host)  # its parameter allow_pickle is of NumPy 2.3


def load_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the named arrays of an .npz file; strings are returned as str.

    No code in the file is run.

    Raises
    ------
    ValueError
        If the file is not an .npz file, is damaged, or contains Python objects.
    """
    try:
        with local_copy(path) as copy, open(copy, "rb") as file:
            check_claims(file)
            with _ONE_READER:
                archive = np.load(file, allow_pickle=False)
                if isinstance(archive, np.ndarray):
                    raise ValueError("it holds one array without a name")
                with archive:
                    loaded = {name: archive[name] for name in archive.files}
    except (IsADirectoryError, *_NO_ARCHIVE) as error:
        raise ValueError(f"{os.fspath(path)} is no whole .npz file of arrays: {error}") from error
    return {name: str(value) if value.dtype.kind == "U" and not value.ndim else value for name, value in loaded.items()}


def map_array(path: str | os.PathLike[str]) -> Any:
    """Map the array of an .npy file into memory, read-only; of an object, rows are read when they are indexed.

    Raises
    ------
    ValueError, EOFError, OverflowError, RecursionError, MemoryError
        NumPy's errors if the file is not an .npy file, is damaged, or contains Python objects.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(file, np.arange(3.0))
    >>> map_array(file)[1:].tolist()
    [1.0, 2.0]
    """
    if isinstance(place := place_of(path), ObjectPath):
        return _ObjectArray(place)
    with _ONE_READER:
        return np.lib.format.open_memmap(path, mode="r")


class _ObjectArray:
    """The array of an .npy file in an object store."""

    def __init__(self, place: ObjectPath) -> None:
        head, size = io.BytesIO(place.read_bytes(0, _HEADER)), place.size
        self.shape, self._fortran, self.dtype = _check_header(head, size)
        if self.dtype.hasobject:
            raise ValueError("it holds Python objects")
        self.ndim, self._place, self._begin = len(self.shape), place, head.tell()

    def __getitem__(self, index: Any) -> Any:
        rows, *others = index if isinstance(index, tuple) else (index,)
        low, high, step = (rows if isinstance(rows, slice) else slice(None)).indices(self.shape[0] if self.shape else 1)
        if step < 1 or self._fortran or not isinstance(rows, slice):
            low, high = 0, self.shape[0] if self.shape else 1
        else:
            high, rows = max(low, high), slice(None, None, step)
        bytes_in_a_row = math.prod(self.shape[1:]) * self.dtype.itemsize
        first, last = (self._begin + row * bytes_in_a_row for row in (low, high))
        content = self._place.read_bytes(first, last) if first < last else b""
        shape = (high - low, *self.shape[1:]) if self.shape else ()
        return np.frombuffer(content, self.dtype).reshape(shape, order="F" if self._fortran else "C")[(rows, *others)]


# Errors of reading an .npz file that is damaged, encrypted, or compressed by an unknown method
_NO_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


def check_claims(file: IO[bytes]) -> None:
    """Check that the headers of an .npy or .npz file do not claim more data than it holds, before reading the data.

    Parameters
    ----------
    file : binary file
        File positioned at its start, and left there. Files of other formats are not checked.

    Raises
    ------
    ValueError
        If the file is damaged, or a header claims too much.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros(1000))
    >>> check_claims(io.BytesIO(file.getvalue()[:200]))
    Traceback (most recent call last):
    ...
    ValueError: its header claims 8,000 bytes of numbers, and it holds 72
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    begins = file.read(6)
    file.seek(0)
    if begins == np.lib.format.MAGIC_PREFIX:
        _check_header(file, size)
    elif begins[:2] == b"PK":
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                unpacked = sum(member.file_size for member in members)
                if unpacked > max(_UNPACKED, _RATIO * size):
                    raise ValueError(f"it claims {unpacked:,} bytes, {unpacked // size:,} times as many as it holds")
                for member in members:
                    if member.filename.endswith(".npy"):
                        with archive.open(member) as packed:
                            _check_header(packed, member.file_size)
        except _NO_ARCHIVE as error:
            raise ValueError(str(error)) from error
    file.seek(0)


def _check_header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, Any]:
    """Read the header of an .npy file; raise `ValueError` if it claims more data than there are bytes."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"its header is of version {version}, which is not known")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with _ONE_READER:
            shape, fortran, dtype = read(file)
    except (RecursionError, MemoryError, OverflowError) as error:  # deeply nested or very long text
        raise ValueError("its header cannot be read") from error
    claimed, held = math.prod(shape) * dtype.itemsize, size - file.tell()
    if min(shape, default=0) < 0 or (claimed > held and not dtype.hasobject):
        raise ValueError(f"its header claims {claimed:,} bytes of numbers, and it holds {held:,}")
    return shape, fortran, dtype


def save_tensors(path: str | os.PathLike[str], arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Write named arrays of any library, and metadata, to a .safetensors file, completely or not at all.

    The same arrays and metadata give the same bytes. A digest of both is added to the metadata, which `load_tensors`
    verifies.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "arrays.safetensors"
    >>> save_tensors(file, {"x": [1.0, 2.0]}, {"note": "two numbers"})
    >>> load_tensors(file)
    ({'x': array([1., 2.])}, {'note': 'two numbers'})
    """
    host = {name: np.ascontiguousarray(to_numpy(value)) for name, value in arrays.items()}
    strings = dict(metadata) | {DIGEST: _digest(host, metadata)}
    header: dict[str, Any] = {"__metadata__": dict(sorted(strings.items()))}
    # In order of falling item size, so that each array is aligned to its item size.
    ordered, end = sorted(host.items(), key=lambda item: (-item[1].itemsize, item[0])), 0
    for name, array in ordered:
        place = {"shape": array.shape, "data_offsets": (end, end := end + array.nbytes)}
        header[name] = {"dtype": _TENSORS[array.dtype.name], **place}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as part, open(part, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(array.data)


def _digest(arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    """Compute a digest of named arrays and metadata."""
    found = hashlib.blake2b(json.dumps(dict(metadata), sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(json.dumps([name, array.dtype.name, arrays[name].shape]).encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def load_tensors(
    path: str | os.PathLike[str], names: Iterable[str] | None = None, *, sealed: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """Read the arrays of some names, or all, of a .safetensors file, and its metadata.

    No code in the file is run, and only the requested arrays are read. If all are requested, the file's digest is
    verified if it has one; `sealed` requires a digest, which files written by other programs lack.

    Raises
    ------
    ValueError
        If the file is not a .safetensors file of numbers, is incomplete, or its content has changed.
    """
    if os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)} is a folder, where a file was written")
    try:
        with local_copy(path) as copy, safetensors.safe_open(copy, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118  (not a dictionary)
                if (kind := file.get_slice(name).get_dtype()) not in _TENSORS.values():
                    raise ValueError(f"{os.fspath(path)} must hold numbers that NumPy has, got {name} of {kind}")
            wanted = list(file.keys() if names is None else names)
            arrays, strings = {name: file.get_tensor(name) for name in wanted}, dict(file.metadata() or {})
    except safetensors.SafetensorError as error:
        raise ValueError(f"{os.fspath(path)} is no whole .safetensors file: {error}") from error
    digest = strings.pop(DIGEST, None)
    if names is None and (sealed or digest is not None) and digest != _digest(arrays, strings):
        raise ValueError(f"{os.fspath(path)} is damaged: it is not what was written")
    return arrays, strings
