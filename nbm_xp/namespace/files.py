"""Arrays in files, read without running code: .npz and .safetensors; files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from .conversion import to_numpy

__all__ = ["load_arrays", "load_tensors", "replacing", "save_arrays", "save_tensors"]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """A place to write a file that takes its name only when it is complete.

    The body writes to the path it is given, beside the final one and with the same suffix. When the body ends, the
    file is flushed to disk and renamed over `path` in one step; when it raises, whatever was written is removed and
    `path` stays as it was.

    Parameters
    ----------
    path : path-like
        The file's final name. Its folder must exist.

    Yields
    ------
    pathlib.Path
        The temporary name to write to.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note.txt") as part:
    ...     _ = part.write_text("whole")
    >>> [(file.name, file.read_text()) for file in folder.iterdir()]
    [('note.txt', 'whole')]
    """
    final = pathlib.Path(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{final.stem}-", suffix=final.suffix, dir=final.parent)
    os.close(descriptor)
    part = pathlib.Path(name)
    try:
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        _like_a_new_file(part)
        os.replace(part, final)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _like_a_new_file(path: pathlib.Path) -> None:
    """Give a temporary file, private by default, the permissions that the user's new files have."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def save_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write named arrays of any library, and strings, to an .npz file, whole or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "arrays.npz"
    >>> save_arrays(file, {"x": [1.0, 2.0], "note": "two numbers"})
    >>> loaded = load_arrays(file)
    >>> loaded["x"], loaded["note"]
    (array([1., 2.]), 'two numbers')
    """
    host = {name: np.asarray(value) if isinstance(value, str) else to_numpy(value) for name, value in arrays.items()}
    with replacing(path) as part, open(part, "wb") as file:
        np.savez(file, allow_pickle=False, **host)


def load_arrays(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The named arrays of an .npz file; strings come back as str.

    Nothing in the file is run: a file with Python objects in it is refused.

    Raises
    ------
    ValueError
        If the file is no .npz file, is damaged, or holds Python objects.
    """
    try:
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds one array without a name")
            with archive:
                loaded = {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is no whole .npz file of arrays: {error}") from error
    return {name: str(value) if value.dtype.kind == "U" and not value.ndim else value for name, value in loaded.items()}


def save_tensors(path: str | os.PathLike[str], arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> None:
    """Write named arrays of any library, and strings that tell about them, to a .safetensors file, whole or not at all.

    The same arrays and strings give the same bytes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "arrays.safetensors"
    >>> save_tensors(file, {"x": [1.0, 2.0]}, {"note": "two numbers"})
    >>> load_tensors(file)
    ({'x': array([1., 2.])}, {'note': 'two numbers'})
    """
    host = {name: np.ascontiguousarray(to_numpy(value)) for name, value in arrays.items()}
    with replacing(path) as part:
        try:
            safetensors.numpy.save_file(host, part, metadata=dict(metadata))
        except safetensors.SafetensorError as error:
            raise _system_error(error, path) from error
        _order_metadata(part)


def _system_error(error: Exception, path: str | os.PathLike[str]) -> Exception:
    """What the system said, where an error of safetensors passes it on in words."""
    said = re.search(r"\(os error (\d+)\)", str(error))
    return error if said is None else OSError(int(said[1]), os.strerror(int(said[1])), os.fspath(path))


def _order_metadata(path: pathlib.Path) -> None:
    """Put the strings of a .safetensors file in the order of their names; safetensors writes them in any order.

    The file begins with the length of its header, 8 bytes, and the header, JSON with spaces behind it.
    """
    with open(path, "rb+") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        if "__metadata__" in header:
            header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        ordered = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode().ljust(length)
        if len(ordered) != length:
            raise ValueError(f"{path}: the header came out {len(ordered)} bytes long, not {length}")
        file.seek(8)
        file.write(ordered)


def load_tensors(
    path: str | os.PathLike[str], names: Iterable[str] | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of some names, or all, of a .safetensors file, and the strings that tell about them.

    Nothing in the file is run, and no more of it read than is asked for.

    Raises
    ------
    ValueError
        If the file is no .safetensors file, or is not whole.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            wanted = list(file.keys() if names is None else names)
            return {name: file.get_tensor(name) for name in wanted}, dict(file.metadata() or {})
    except safetensors.SafetensorError as error:
        raise ValueError(f"{os.fspath(path)} is no whole .safetensors file: {error}") from error
