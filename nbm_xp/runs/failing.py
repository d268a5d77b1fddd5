"""How a run fails for a reason outside the program, in words that say what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["GOING_ON", "OtherRunError", "Parameter", "RunError", "needing_room"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class Parameter:
    """A parameter that an error speaks of: its name and, where one is to be given, its value."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


GOING_ON = Parameter("resume", True)


class _SpokenError(Exception):
    """An error whose message is made of texts and of parameters, so that the command can call these by its options."""

    def __init__(self, *parts: str | Parameter) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return self.said(str)

    def said(self, called: Callable[[Parameter], str]) -> str:
        """The message, in which each parameter is called as `called` has it.

        Examples
        --------
        >>> RunError("the run is not finished: go on with", GOING_ON).said(lambda parameter: f"--{parameter.name}")
        'the run is not finished: go on with --resume'
        """
        return " ".join(called(part) if isinstance(part, Parameter) else part for part in self.args)


class RunError(_SpokenError, RuntimeError):
    """A run that cannot begin or go on, for a reason outside the program: its message says which, and what to do."""


class OtherRunError(_SpokenError, ValueError):
    """A directory whose run is another one than was asked for: its message says what differs."""


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
            "reported done is whole. Make room, and go on with",
            GOING_ON,
        ) from error
