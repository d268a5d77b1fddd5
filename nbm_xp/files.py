"""Paths, files that are complete or not there, and records with digests.

Files and folders are written beside their place, flushed to disk and renamed, so that whoever opens one under its name
finds all of it. What an interrupted writer leaves behind has a name of its own kind, and `sweep` removes it. Digests
and checksums guard against accidents, not against those who write a file anew on purpose.
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

__all__ = [
    "DIGEST", "crc32c", "digest_of_file", "digest_of_record", "finite_json", "flush_folder", "leftover_name",
    "leftovers", "local_path", "parsed", "read_record", "replacing", "replacing_folder", "sealed", "sweep", "unsealed",
    "write_json", "write_whole",
]  # fmt: skip

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(/|:)")  # a drive of Windows has one letter


def local_path(path: str | os.PathLike[str], name: str = "path") -> pathlib.Path:
    """A path of this machine's files.

    Parameters
    ----------
    path : path-like
    name : str, optional
        The argument's name, for messages.

    Raises
    ------
    TypeError
        If it is no path.
    ValueError
        If it is the address of something elsewhere (``https://…``, ``s3://…``), or can be no file's name. A folder
        that is called so all the same has the path ``./https:``.

    Examples
    --------
    >>> local_path("runs/first").parts
    ('runs', 'first')
    >>> local_path("s3://bucket/model.zarr")
    Traceback (most recent call last):
    ...
    ValueError: path must be a path of this machine's files, not an address, got 's3://bucket/model.zarr'
    """
    given: object = path  # which may be a number, a file's descriptor to Python
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
    """A name for something unfinished that is to be called `name`, with the same ending; each call gives another one.

    Examples
    --------
    >>> leftover_name("run.json").endswith(".unfinished.run.json")
    True
    """
    return f".{uuid.uuid4().hex}{_MARK}{name}"


def leftovers(place: pathlib.Path) -> list[pathlib.Path]:
    """What was left behind by those who were to write something in a place."""
    return sorted(path for path in place.parent.glob(f".*{_MARK}*") if path.name.partition(_MARK)[2] == place.name)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """A place to write a file that takes its name when it is complete and on disk.

    The body writes to the path it is given, beside the final one and with the same suffix. When it ends, the file is
    flushed to disk and renamed over `path` in one step; when it raises, whatever was written is removed and `path`
    stays as it was.

    Parameters
    ----------
    path : path-like
        The file's final name. Its folder must exist.

    Yields
    ------
    pathlib.Path
        Where to write it.

    Raises
    ------
    OSError
        What the system says, of `path`.

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
            # On a full disk nothing may be left to write, but removing always works.
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise
        flush_folder(final.parent)


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str], replace: bool = False) -> Iterator[pathlib.Path]:
    """A place to make a folder that takes its name when all that is in it is on disk.

    Parameters
    ----------
    path : path-like
    replace : bool, optional
        Whether it takes the place of a folder that has things in it, which goes then.

    Yields
    ------
    pathlib.Path
        Where to make it.

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
    """Have the system's errors name the place that was asked for, and no hidden one."""
    unfinished = os.path.abspath(part)
    try:
        yield
    except OSError as error:
        told = os.path.abspath(error.filename) if isinstance(error.filename, (str, os.PathLike)) else ""
        if told.startswith(unfinished):
            error.filename = os.fspath(final) + told[len(unfinished) :]
            with contextlib.suppress(AttributeError):  # it has none, unless a renaming failed
                del error.filename2
        raise


def write_whole(path: pathlib.Path, content: Any) -> None:
    """Write bytes, or anything with a buffer, to a file: whole, or not at all.

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
    """Write numbers, strings, lists and dictionaries as JSON that people can read, whole or not at all."""
    write_whole(path, (json.dumps(content, indent=2, sort_keys=True) + "\n").encode())


def flush_folder(folder: pathlib.Path) -> None:
    """Have the names in a folder on disk, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush(folder: pathlib.Path) -> None:
    """Have all files of a folder, and of those in it, on disk."""
    for path in folder.rglob("*"):
        if path.is_dir():
            flush_folder(path)
            continue
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    flush_folder(folder)


def sweep(folder: pathlib.Path) -> int:
    """Remove what broken-off writers left behind, in all folders below; say how many things that were.

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


DIGEST = "digest"
"""The name under which a record holds its own digest."""

_MOST_TEXT = 2**28


def crc32c(content: Any) -> int:
    """The checksum CRC-32C of bytes, as Zarr's codec of that name has it, by the package that Zarr takes for it."""
    return int(_crc32c()(content))


@functools.cache
def _crc32c() -> Callable[[Any], int]:
    try:
        return importlib.import_module("google_crc32c").value  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return importlib.import_module("crc32c").crc32c  # type: ignore[no-any-return]


def digest_of_file(path: str | os.PathLike[str]) -> str:
    """What tells a file's content from all others.

    Raises
    ------
    ValueError
        If it is not there, or is no file.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except FileNotFoundError:
        raise ValueError(f"{os.fspath(path)} is not there") from None
    except IsADirectoryError:
        raise ValueError(f"{os.fspath(path)} is a folder, where a file was written") from None


def digest_of_record(record: Mapping[str, Any]) -> str:
    """What tells a record, values that JSON has by name, from all others.

    Examples
    --------
    >>> digest_of_record({"a": 1, "b": 2}) == digest_of_record({"b": 2, "a": 1})
    True
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def finite_json(value: Any) -> Any:
    """A value as strict JSON has it: numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(name): finite_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record, as strict JSON has it, that holds its own digest.

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
    """A sealed record without its digest.

    Parameters
    ----------
    record : object
        As read from a file.
    name : path-like
        The file's, for messages.

    Raises
    ------
    ValueError
        If it is not what was written.
    """
    if not isinstance(record, Mapping) or DIGEST not in record:
        raise ValueError(f"{os.fspath(name)} is damaged: it lacks its digest")
    content = {key: value for key, value in record.items() if key != DIGEST}
    if record[DIGEST] != digest_of_record(content):
        raise ValueError(f"{os.fspath(name)} is damaged: it is not what was written")
    return content


def parsed(text: str | bytes, name: str | os.PathLike[str]) -> Any:
    """What JSON says.

    Raises
    ------
    ValueError
        If it is not JSON, or nested deeper than anything that is written here.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{os.fspath(name)} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(name)} is not JSON: {error}") from error


def read_record(path: str | os.PathLike[str]) -> Any:
    """What a file of JSON holds.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    ValueError
        If it is not JSON, or larger than any that is written here.
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
