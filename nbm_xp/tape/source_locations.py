"""Where in the user's code a value was recorded, and how an error that it meets when it runs says so.

A location is found while recording, so it must cost next to nothing: a code object and the position in its bytecode,
from the first frame outside this package. The line, the function and the text are looked up only when they are shown.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, TypeAlias

from nbm_xp.namespace.errors import described, tell_lack

from .trees import leaves

__all__ = [
    "SourceLocation", "add_note", "current_location", "described_location", "explain", "gradient_location",
    "recorded_at", "recorded_in", "recording",
]  # fmt: skip

SourceLocation: TypeAlias = tuple[CodeType, int, str | None, str]
"""Code, position in it, of what a gradient rule recorded whose gradient it is, and what was called there."""

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir)) + os.sep
_USERS = tuple(os.path.join(_PACKAGE, part) for part in ("boltzmann", "cli"))
_LONGEST = 160


class _Recording(threading.local):
    """What the thread records just now; `source_location` stands in for the frame while a gradient rule runs."""

    source_location: SourceLocation | None = None


recording = _Recording()


def current_location() -> SourceLocation | None:
    """The location of the user's call that records just now; None if there is no code but this package's."""
    location = recording.source_location
    if location is not None:
        return location
    frame = inner = sys._getframe(2)
    while _is_ours(frame.f_code.co_filename):
        outer = frame.f_back
        if outer is None:
            return None
        inner, frame = frame, outer
    return frame.f_code, frame.f_lasti, None, inner.f_code.co_name


@lru_cache(maxsize=10_000)  # a notebook, whose every cell is a file, must not fill the memory
def _is_ours(filename: str) -> bool:
    """Whether a file is this package's, and not written as any user's code would be."""
    return filename.startswith(_PACKAGE) and not filename.startswith(_USERS)


def gradient_location(name: str, location: SourceLocation | None) -> SourceLocation | None:
    """The location for what the gradient rule of an operation records: that of the operation."""
    return None if location is None else (location[0], location[1], f"the gradient of {name}", location[3])


def described_location(location: SourceLocation) -> str:
    """A location in words: ``model.py:12 in energy: y = xp.matmul(x, w)``."""
    code, position, _, _ = location
    line = next(itertools.islice(code.co_positions(), position // 2, None), (None,))[0] or code.co_firstlineno
    text = linecache.getline(code.co_filename, line).strip()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    where = f"{_short(code.co_filename)}:{line}"
    if code.co_name != "<module>":
        where += f" in {code.co_qualname.rpartition('<locals>.')[2]}"
    return f"{where}: {text}" if text else where


def _short(filename: str) -> str:
    """A file's name from the current folder, where it lies in it."""
    here = os.getcwd() + os.sep
    return filename[len(here) :] if filename.startswith(here) else filename


def recorded_at(location: SourceLocation | None) -> str:
    """What is said behind a name, ``, recorded at model.py:12 in energy: …``; nothing for None."""
    return "" if location is None else f", recorded at {described_location(location)}"


def recorded_in(location: SourceLocation | str | None) -> str:
    """What an error note says of where a call was recorded: of which operation's gradient, and its line."""
    if location is None or isinstance(location, str):
        return location or ""
    return f"{(location[2] and f', in {location[2]}') or ''}{recorded_at(location)}"


def explain(error: Exception, name: str, args: Sequence[Any], location: SourceLocation | str | None) -> None:
    """Note on an error of a recorded call what failed: ``take of float64[3] and int64[1] in gather, recorded at …``."""
    operands = [described(value) for value in leaves(list(args)) if hasattr(value, "shape") and hasattr(value, "dtype")]
    listed = " and ".join(operands) if len(operands) < 3 else f"{', '.join(operands[:-1])} and {operands[-1]}"
    is_named = isinstance(location, tuple) and not location[3].startswith(("_", "<"))
    caller = location[3] if location and is_named else name
    call = (f"{name} of {listed}" if operands else name) + ("" if caller == name else f" in {caller}")
    add_note(error, f"{call}{recorded_in(location)}")
    tell_lack(error, caller)


def add_note(error: BaseException, note: str) -> None:
    """Attach a note to an error, once."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
