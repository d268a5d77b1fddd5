"""Errors of runs whose reason lies outside the program, with what to do about them."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

__all__ = ["RunError", "disk_errors", "unfinished_error"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunError(RuntimeError):
    """A run that cannot begin or go on, for a reason outside the program: the message says which, and what to do."""


def resuming(folder: str | os.PathLike[str]) -> str:
    """How a run is resumed, for messages."""
    return f"runs.resume({os.fspath(folder)!r}) or `nbm-xp resume {os.fspath(folder)}`"


def unfinished_error(folder: str | os.PathLike[str]) -> RunError:
    """The error for reading the result of a run that is not finished."""
    return RunError(f"the run in {os.fspath(folder)} is not finished: resume it by {resuming(folder)}")


@contextlib.contextmanager
def disk_errors(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Raise `RunError` in place of the system's error for a full disk.

    Raises
    ------
    RunError
        If there is no room, or a file would be longer than is allowed.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise RunError(
            f"the disk of {os.fspath(folder)} is full, or the file would be longer than is allowed ({error}): what was "
            f"reported done is whole. Make room, and resume the run by {resuming(folder)}"
        ) from error
