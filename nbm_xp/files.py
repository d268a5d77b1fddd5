"""Paths, and files that are written completely or not at all.

Files and folders are written under a temporary name, flushed to disk and renamed, so that readers always find complete
ones. Temporary files of interrupted writers are recognized by their names, and `sweep` removes them.

A `Place` is a path of this machine or an address of an object store, where a file is an object, made in a temporary
folder and written whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import tempfile
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import Any, TypeAlias

from .objects import ObjectPath

Place: TypeAlias = pathlib.Path | ObjectPath

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(/|:)")  # Windows drives have one letter


def local_path(path: str | os.PathLike[str], name: str = "path") -> pathlib.Path:
    """Return a path of the local file system.

    Parameters
    ----------
    path : path-like
    name : str, optional
        Name of the argument, for error messages.

    Raises
    ------
    TypeError
        If it is not path-like.
    ValueError
        If it is a URL (``https://…``, ``s3://…``), or not a valid file name. A local folder with such a name is
        written ``./https:``.

    Examples
    --------
    >>> local_path("runs/first").parts
    ('runs', 'first')
    >>> local_path("s3://bucket/model.zarr")
    Traceback (most recent call last):
    ...
    ValueError: path must be a path of this machine's files, not an address, got 's3://bucket/model.zarr'
    """
    given: object = path  # may be an int: a file descriptor for Python
    text = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a path, got {path!r}")
    if _ADDRESS.match(text):
        _check_secrets(text, name)
        raise ValueError(f"{name} must be a path of this machine's files, not an address, got {text!r}")
    if not text or "\0" in text:
        raise ValueError(f"{name} must be a path, got {text!r}")
    return pathlib.Path(path)


def place_of(path: str | os.PathLike[str], name: str = "path") -> Place:
    """Return a path of the local file system, or an address of an object store.

    Raises
    ------
    TypeError, ValueError
        As `local_path`, or if an address is of several file systems or holds a password.

    Examples
    --------
    >>> place_of("s3://bucket/model.zarr/").name, place_of("file:///data/rows.npy").name
    ('model.zarr', 'rows.npy')
    """
    if isinstance(path, ObjectPath):
        return path
    text = str(path)
    if isinstance(path, pathlib.Path) or not _ADDRESS.match(text):
        return local_path(path, name)
    _check_secrets(text, name)
    protocol, separator, rest = text.partition("://")
    if not separator or "::" in text or not rest.strip("/"):
        raise ValueError(f"{name} must be a path or an address as 's3://bucket/name', got {text!r}")
    if protocol in ("file", "local"):
        return pathlib.Path(urllib.parse.unquote(rest))
    return ObjectPath(text.rstrip("/"))


def _check_secrets(address: str, name: str) -> None:
    """Raise `ValueError` if an address holds a password, without printing it."""
    if re.search(r"//[^/@]*:[^/@]*@", address):
        raise ValueError(f"{name} must not hold a password: the package of a store finds it in its configuration")


_MARK = ".unfinished."


def leftover_name(name: str) -> str:
    """Return a new temporary name for an unfinished file or folder, with the same ending as its final `name`.

    Examples
    --------
    >>> leftover_name("run.json").endswith(".unfinished.run.json")
    True
    """
    return f".{uuid.uuid4().hex}{_MARK}{name}"


def leftovers(place: pathlib.Path) -> list[pathlib.Path]:
    """Return the unfinished files and folders of interrupted writers of a path."""
    return sorted(path for path in place.parent.glob(f".*{_MARK}*") if path.name.partition(_MARK)[2] == place.name)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """Context manager that replaces a file atomically.

    The body writes to the yielded temporary path, in the same folder and with the same suffix. At its end, the file is
    flushed to disk and renamed to `path` in one step; if it raises, the temporary file is removed and `path` is
    unchanged.

    Parameters
    ----------
    path : path-like
        Final path of the file. Its folder must exist.

    Yields
    ------
    pathlib.Path
        Temporary path to write to.

    Raises
    ------
    OSError
        Errors of the operating system, with the file name `path`.

    Examples
    --------
    >>> import tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note.txt") as part:
    ...     _ = part.write_text("whole")
    >>> [(file.name, file.read_text()) for file in folder.iterdir()]
    [('note.txt', 'whole')]
    """
    final = place_of(path)
    if isinstance(final, ObjectPath):
        with tempfile.TemporaryDirectory() as folder:
            yield (part := pathlib.Path(folder) / final.name)
            final.upload(part)
        return
    part = final.with_name(leftover_name(final.name))
    with _named(part, final):
        try:
            yield part
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, final)
        except BaseException:
            # Removing works even on a full disk.
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        flush_folder(final.parent)


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str], replace: bool = False) -> Iterator[pathlib.Path]:
    """Context manager that creates a folder atomically: it gets its name when all of its contents are on disk.

    Parameters
    ----------
    path : path-like
        Final path of the folder.
    replace : bool, optional
        Whether to replace an existing folder that is not empty.

    Yields
    ------
    pathlib.Path
        Temporary path at which to create the folder.

    Examples
    --------
    >>> import tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "numbers"
    >>> with replacing_folder(place) as part:
    ...     part.mkdir()
    ...     _ = (part / "one").write_text("1")
    >>> (place / "one").read_text()
    '1'
    """
    if isinstance(path, ObjectPath):  # the files of the folder itself are written last
        with tempfile.TemporaryDirectory() as above:
            yield (part := pathlib.Path(above) / path.name)
            for file in sorted(filter(pathlib.Path.is_file, part.rglob("*")), key=lambda file: file.parent == part):
                (path / file.relative_to(part).as_posix()).upload(file)
        return
    final = pathlib.Path(path)
    part = final.with_name(leftover_name(final.name))
    with _named(part, final):
        try:
            yield part
            _flush(part)
            before = final.with_name(leftover_name(final.name))
            if replace and final.exists():
                os.rename(final, before)
            os.rename(part, final)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        shutil.rmtree(before, ignore_errors=True)
        flush_folder(final.parent)


@contextlib.contextmanager
def _named(part: pathlib.Path, final: pathlib.Path) -> Iterator[None]:
    """Make errors of the operating system name the final path in place of the temporary one."""
    unfinished = os.path.abspath(part)
    try:
        yield
    except OSError as error:
        named = os.path.abspath(error.filename) if isinstance(error.filename, (str, os.PathLike)) else ""
        if named.startswith(unfinished):
            error.filename = os.fspath(final) + named[len(unfinished) :]
            with contextlib.suppress(AttributeError):  # set only if a renaming failed
                del error.filename2
        raise


def write_whole(path: Place, content: Any) -> None:
    """Write bytes, or any object with a buffer, to a file, completely or not at all.

    Examples
    --------
    >>> import tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "note"
    >>> write_whole(file, b"whole")
    >>> file.read_bytes(), len(list(file.parent.iterdir()))
    (b'whole', 1)
    """
    if isinstance(path, ObjectPath):
        path.write_bytes(bytes(content))
        return
    with replacing(path) as part:
        part.write_bytes(content)


def write_json(path: Place, content: Any) -> None:
    """Write numbers, strings, lists and dictionaries as indented JSON, completely or not at all."""
    write_whole(path, (json.dumps(content, indent=2, sort_keys=True) + "\n").encode())


def flush_folder(folder: pathlib.Path) -> None:
    """Flush the names in a folder to disk, on POSIX systems."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush(folder: pathlib.Path) -> None:
    """Flush all files of a folder and its subfolders to disk."""
    for path in folder.rglob("*"):
        if path.is_dir():
            flush_folder(path)
            continue
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    flush_folder(folder)


def sweep(folder: Place) -> int:
    """Remove unfinished files and folders of interrupted writers, recursively; return their number.

    Examples
    --------
    >>> import tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / leftover_name("draws")).write_text("ha")
    >>> sweep(folder), sweep(folder)
    (1, 0)
    """
    if isinstance(folder, ObjectPath):
        return 0
    found = [path for path in folder.rglob(f".*{_MARK}*") if path.exists()]
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return len(found)


def sizes_of(folder: Place) -> dict[str, int]:
    """Return the number of bytes of each file in a folder and its subfolders."""
    if isinstance(folder, ObjectPath):
        return folder.sizes()
    files = filter(pathlib.Path.is_file, folder.rglob("*"))
    return {file.relative_to(folder).as_posix(): file.stat().st_size for file in files}


def remove_folder(folder: Place) -> None:
    """Remove a folder if it is there, as far as possible."""
    if isinstance(folder, ObjectPath):
        with contextlib.suppress(OSError):
            folder.delete_all()
    else:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def local_copy(path: str | os.PathLike[str]) -> Iterator[str | os.PathLike[str]]:
    """Context manager that provides a file on this machine: the path itself, or a temporary copy of an object."""
    if not isinstance(place := place_of(path), ObjectPath):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / place.name
        with copy.open("wb") as file:
            file.writelines(place.pieces())
        yield copy
