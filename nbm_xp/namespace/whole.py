"""Files and folders that are whole or not there: written beside their place, flushed to disk, renamed.

Contract: whoever opens one under its name finds all of it, whatever happened to the one who wrote
it; one that was reported written is still there after the machine lost its power; what a broken-off writer left behind
has a name of its own kind, and can be swept away; errors name the place that was asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import uuid
from collections.abc import Iterator
from typing import Any

__all__ = [
    "flush_folder",
    "leftover_name",
    "leftovers",
    "replacing",
    "replacing_folder",
    "sweep",
    "write_json",
    "write_whole",
]

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
    # The second kind of names is that of earlier releases.
    found = [path for kind in (f".*{_MARK}*", ".*.unfinished") for path in folder.rglob(kind) if path.exists()]
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return len(found)
