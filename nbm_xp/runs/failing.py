"""How a run fails for a reason outside the program, in words that say what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

__all__ = ["RunError", "needing_room"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunError(RuntimeError):
    """A run that cannot begin or go on, for a reason outside the program: its message says which, and what to do."""


@contextlib.contextmanager
def needing_room(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Have a full disk say what to do.

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
            "reported done is whole. Make room, and go on with resume=True"
        ) from error
