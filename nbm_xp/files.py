"""Paths, files that are written completely or not at all, and records with digests.

Files and folders are written under a temporary name, flushed to disk and renamed, so that readers always find complete
ones. Temporary files of interrupted writers are recognized by their names, and `sweep` removes them. Digests and
checksums protect against accidental damage, not against deliberate changes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import math
import os
import pathlib
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
        raise ValueError(f"{name} must be a path of this machine's files, not an address, got {text!r}")
    if not text or "\0" in text:
        raise ValueError(f"{name} must be a path, got {text!r}")
    return pathlib.Path(path)


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
    final = pathlib.Path(path)
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


def write_whole(path: pathlib.Path, content: Any) -> None:
    """Write bytes, or any object with a buffer, to a file, completely or not at all.

    Examples
    --------
    >>> import tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "note"
    >>> write_whole(file, b"whole")
    >>> file.read_bytes(), len(list(file.parent.iterdir()))
    (b'whole', 1)
    """
    with replacing(path) as part:
        part.write_bytes(content)


def write_json(path: pathlib.Path, content: Any) -> None:
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


def sweep(folder: pathlib.Path) -> int:
    """Remove unfinished files and folders of interrupted writers, recursively; return their number.

    Examples
    --------
    >>> import tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / leftover_name("draws")).write_text("ha")
    >>> sweep(folder), sweep(folder)
    (1, 0)
    """
    found = [path for path in folder.rglob(f".*{_MARK}*") if path.exists()]
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return len(found)


# Name of the entry of a record that holds its digest.
DIGEST = "digest"

_MOST_TEXT = 2**28


def crc32c(content: Any) -> int:
    """Compute the CRC-32C checksum of bytes, with the package that Zarr's codec ``crc32c`` uses."""
    return int(_crc32c()(content))


@functools.cache
def _crc32c() -> Callable[[Any], int]:
    try:
        return importlib.import_module("google_crc32c").value  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return importlib.import_module("crc32c").crc32c  # type: ignore[no-any-return]


def digest_of_file(path: str | os.PathLike[str]) -> str:
    """Compute a digest of a file's content.

    Raises
    ------
    ValueError
        If the file does not exist, or is a folder.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except FileNotFoundError:
        raise ValueError(f"{os.fspath(path)} is not there") from None
    except IsADirectoryError:
        raise ValueError(f"{os.fspath(path)} is a folder, where a file was written") from None


def digest_of_record(record: Mapping[str, Any]) -> str:
    """Compute a digest of a record: a mapping from names to JSON values.

    Examples
    --------
    >>> digest_of_record({"a": 1, "b": 2}) == digest_of_record({"b": 2, "a": 1})
    True
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def finite_json(value: Any) -> Any:
    """Convert a value to strict JSON: non-finite numbers become null."""
    if isinstance(value, Mapping):
        return {str(name): finite_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as strict JSON, with its digest as an additional entry.

    Examples
    --------
    >>> unsealed(sealed({"seed": 3}), "run.json")
    {'seed': 3}
    >>> unsealed(sealed({"seed": 3}) | {"seed": 4}, "run.json")
    Traceback (most recent call last):
    ...
    ValueError: run.json is damaged: it is not what was written
    """
    content: dict[str, Any] = finite_json(record)
    return content | {DIGEST: digest_of_record(content)}


def unsealed(record: Any, name: str | os.PathLike[str]) -> dict[str, Any]:
    """Verify the digest of a sealed record, and return the record without it.

    Parameters
    ----------
    record : object
        Record as read from a file.
    name : path-like
        Name of the file, for error messages.

    Raises
    ------
    ValueError
        If the record has changed, or has no digest.
    """
    if not isinstance(record, Mapping) or DIGEST not in record:
        raise ValueError(f"{os.fspath(name)} is damaged: it lacks its digest")
    content = {key: value for key, value in record.items() if key != DIGEST}
    if record[DIGEST] != digest_of_record(content):
        raise ValueError(f"{os.fspath(name)} is damaged: it is not what was written")
    return content


def parsed(text: str | bytes, name: str | os.PathLike[str]) -> Any:
    """Parse JSON.

    Raises
    ------
    ValueError
        If the text is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{os.fspath(name)} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(name)} is not JSON: {error}") from error


def read_record(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Raises
    ------
    FileNotFoundError
        If it does not exist.
    ValueError
        If it is not JSON, or larger than 256 MiB.
    """
    place = pathlib.Path(path)
    try:
        with open(place, "rb") as file:
            text = file.read(_MOST_TEXT + 1)
    except IsADirectoryError:
        raise ValueError(f"{place} is a folder, where a file was written") from None
    if len(text) > _MOST_TEXT:
        raise ValueError(f"{place} is not JSON that can be read: it is longer than {_MOST_TEXT:,} bytes")
    return parsed(text, place)
