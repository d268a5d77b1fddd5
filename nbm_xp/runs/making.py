"""How a run's directory comes about: beside its place, locked, and renamed when all that it begins with is on disk."""

from __future__ import annotations

import contextlib
import errno
import pathlib
import shutil
import time
from collections.abc import Callable
from typing import Any

from nbm_xp.files import digest_of_file, leftovers, replacing_folder, sealed, write_json

from .failing import RunError

__all__ = ["ABOUT", "locked", "make"]

ABOUT = "run.json"
_LOCK = "run.lock"
_NEW = 60.0  # seconds


def locked(folder: pathlib.Path, mode: str = "a") -> Any:
    """The file that a run is locked by as long as it is open; OSError where another process has it.

    Where the system has no such locks, nothing is locked.
    """
    file = open(folder / _LOCK, mode)  # noqa: SIM115  (it stays open as long as the lock is to hold)
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ModuleNotFoundError:
        pass
    except OSError:
        file.close()
        raise
    return file


def make(place: pathlib.Path, about: dict[str, Any], model: Any, also: Callable[[pathlib.Path], object] | None) -> Any:
    """Make a directory beside its place, and rename it when all that it begins with is on disk; its lock is held."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep_beside(place)
    held: Any = None
    try:
        with replacing_folder(place) as part:
            part.mkdir()
            held = locked(part)
            if model is not None:
                model.save(part / about["model"]["file"])
            if also is not None:
                also(part)
            files = sorted(file for file in part.iterdir() if file.is_file() and file.name != _LOCK)
            about["files"] = {file.name: digest_of_file(file) for file in files}
            write_json(part / ABOUT, sealed(about))
            with contextlib.suppress(FileNotFoundError):
                place.rmdir()  # an empty one
    except BaseException as error:
        if held is not None:
            held.close()
        if not isinstance(error, OSError) or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise RunError(f"another process has just begun a run in {place}: wait for it, or name another") from error
    return held


def _sweep_beside(place: pathlib.Path) -> None:
    """Remove what is left of directories that were being made here when their processes died: nobody locks them."""
    for part in leftovers(place):
        with contextlib.suppress(OSError):
            # One without a lock is so new that its process has not come to it, or it died right then.
            if (part / _LOCK).exists():
                locked(part, "r+").close()
            elif time.time() - part.stat().st_mtime < _NEW:
                continue
            shutil.rmtree(part)
