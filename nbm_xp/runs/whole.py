"""Files that are whole or not there: written beside their place, flushed to disk, renamed.

Contract: whoever opens a file under its name finds all of it, whatever happened to the one who
wrote it; a file that was reported written is still there after the machine lost its power; what a broken-off writer
left behind has a name of its own kind, and can be swept away.
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

__all__ = ["flush_folder", "leftover_name", "sweep", "write_json", "write_whole", "written_whole"]

_MARK = ".unfinished"


def leftover_name(name: str) -> str:
    """A name for something unfinished that is to be called `name`; each call gives another one.

    Examples
    --------
    >>> leftover_name("run.json").startswith(".run.json.")
    True
    """
    return f".{name}.{uuid.uuid4().hex}{_MARK}"


@contextlib.contextmanager
def written_whole(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A place to write a file that takes its name when it is complete and on disk.

    Parameters
    ----------
    path : Path
        The file's name; one that exists is replaced in one step.

    Yields
    ------
    Path
        Where to write it.
    """
    part = path.with_name(leftover_name(path.name))
    try:
        yield part
        with open(part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        # On a full disk nothing may be left to write, but removing always works.
        part.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


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
    with written_whole(path) as part:
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
    found = [path for path in folder.rglob(f".*{_MARK}") if path.exists()]
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return len(found)
