"""Notes on errors raised when a plan runs: the failed call, its arguments, and the line that recorded it.

Source lines are looked up only when a note is created.
"""

from __future__ import annotations

import itertools
import linecache
import os
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, cast

from nbm_xp.namespace.errors import NOTED, described, say_lack

from .graph import SourceLocation
from .trees import leaves

__all__ = ["Call", "LineTable", "add_note", "described_location", "recorded_at"]

_LONGEST = 160


def described_location(location: SourceLocation) -> str:
    """Format a location: ``model.py:12 in energy: y = xp.matmul(x, w)``."""
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
    """Return a file name relative to the current directory if the file is in it."""
    here = os.getcwd() + os.sep
    return filename[len(here) :] if filename.startswith(here) else filename


def recorded_at(location: SourceLocation | None) -> str:
    """Return the suffix ``, recorded at model.py:12 in energy: …``; an empty string for None."""
    return "" if location is None else f", recorded at {described_location(location)}"


def recorded_in(location: SourceLocation | str | None) -> str:
    """Return the part of a note about a location: the operation whose gradient it is, if any, and the line."""
    if location is None or isinstance(location, str):
        return location or ""
    return f"{(location[2] and f', in {location[2]}') or ''}{recorded_at(location)}"


def explain(error: Exception, name: str, args: Sequence[Any], location: SourceLocation | str | None) -> None:
    """Add a note about the failed call to an error: ``take of float64[3] and int64[1] in gather, recorded at …``."""
    operands = [described(value) for value in leaves(list(args)) if hasattr(value, "shape") and hasattr(value, "dtype")]
    listed = " and ".join(operands) if len(operands) < 3 else f"{', '.join(operands[:-1])} and {operands[-1]}"
    is_named = isinstance(location, tuple) and not location[3].startswith(("_", "<"))
    caller = location[3] if location and is_named else name
    call = (f"{name} of {listed}" if operands else name) + ("" if caller == name else f" in {caller}")
    add_note(error, f"{call}{recorded_in(location)}")
    if location:
        setattr(error, NOTED, True)
    say_lack(error, caller)


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error unless it has it already."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


class Call(NamedTuple):
    """One call of a plan: its name, its location, its source and the sources of its arguments."""

    name: str
    location: SourceLocation | str | None
    source: str
    args: tuple[str, ...]


class LineTable:
    """The calls on each line of a plan (lines start at 1), arguments before the calls that use them."""

    __slots__ = ("lines",)

    def __init__(self, lines: Sequence[Sequence[Call]]) -> None:
        self.lines = lines

    def explain(self, error: Exception) -> None:
        """Add a note to an error of the plan: the failed call, its arguments and its location."""
        traceback = cast("TracebackType", error.__traceback__)
        calls = self.lines[traceback.tb_lineno]
        scope = traceback.tb_frame.f_globals, traceback.tb_frame.f_locals
        if calls:
            failed = next((one for one in calls[:-1] if not _values([one.source], *scope)), calls[-1])
            explain(error, failed.name, _values(failed.args, *scope), failed.location)

    def __reduce__(self) -> tuple[Any, ...]:
        named = [[call._replace(location=recorded_in(call.location)) for call in line] for line in self.lines]
        return LineTable, (named,)


def _values(sources: Sequence[str], *scope: Any) -> list[Any]:
    """Evaluate expressions; skip those that raise."""
    found: list[Any] = []
    for source in sources:
        with suppress(Exception):
            found.append(eval(source, *scope))
    return found
