"""Output of the command: results on stdout, as lines or as one JSON document; progress bars and errors on stderr.

Progress bars are shown only if stderr is a terminal. An error is one line; the exit code is 2 for invalid input, 130
for interruptions, else 1.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits
from typer.core import TyperCommand, TyperGroup

from nbm_xp.files import Place
from nbm_xp.package import how_to_install
from nbm_xp.records import finite_json
from nbm_xp.runs import RunError

_WORTH_THREADS = 10_000_000


def console() -> Console:
    """Return a new console for results, which follows redirections of stdout."""
    return Console(highlight=False, soft_wrap=True)


def answer(document: Mapping[str, object], lines: Sequence[RenderableType], as_json: bool) -> None:
    """Print results.

    Parameters
    ----------
    document : mapping
        Results as numbers, strings, lists and mappings.
    lines : sequence of str or rich renderables
        Human-readable form.
    as_json : bool
        Whether to print the document as JSON in place of the lines.
    """
    if as_json:
        # Plain output: no wrapping and no colours on any terminal.
        console().out(json.dumps(finite_json(document), indent=2, default=str), highlight=False)
        return
    for line in lines:
        console().print(line, markup=False)


def signed(value: float | None, decimals: int = 1, minus: str = "−") -> str:
    """Format a number with a typographic minus sign; None stands for a non-finite number, as in JSON.

    Examples
    --------
    >>> signed(-12.34), signed(None)
    ('−12.3', 'not finite')
    """
    if value is None or math.isnan(value):
        return "not finite"
    return f"{value:.{decimals}f}".replace("-", minus)


class WorkBar(Progress):
    """A progress bar with the throughput in `unit`; a step of progress is `scale` units."""

    def __init__(self, label: str, unit: str = "sweeps", scale: int = 1) -> None:
        terminal = Console(stderr=True)
        super().__init__(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn() if scale > 1 else TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[rate]}"),
            TextColumn("[cyan]{task.fields[note]}"),
            TimeRemainingColumn(),
            console=terminal,
            disable=not terminal.is_terminal,
        )
        self._unit, self._scale = unit, scale
        self._task = self.add_task(label, total=None, rate="", note="")
        self._began, self._first = time.perf_counter(), -1

    def show(self, done: int, total: int) -> None:
        """Show progress and throughput: `done` of `total`."""
        self._first = done if self._first < 0 else self._first  # done in an earlier process
        speed = self._scale * (done - self._first) / max(time.perf_counter() - self._began, 1e-9)
        self.update(self._task, completed=done, total=total, rate=f"{speed:,.0f} {self._unit}/s")

    def note(self, text: str) -> None:
        """Show a text beside the bar."""
        self.update(self._task, note=text)


def threads_for(multiplications: int) -> threadpool_limits:
    """Limit linear algebra to one thread, in a ``with`` statement, if matrix products are small.

    A small product is finished before a second thread has started; on a busy machine, waiting for that thread takes
    many times as long as the product.

    Parameters
    ----------
    multiplications : int
        Number of multiplications in one product.
    """
    return threadpool_limits(limits=None if multiplications >= _WORTH_THREADS else 1, user_api="blas")


# Base class of typer's own errors (a missing option, a value that is not a number), independent of its parser.
_UsageError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")
_INTERRUPTED = "interrupted; nothing half-written is left"


class InputError(Exception):
    """Raised for invalid user input; the message is the line to show."""


class BrokenOffError(Exception):
    """Raised if the user interrupts a resumable run; the message says how to resume it."""


@contextlib.contextmanager
def resumable(out: Place) -> Iterator[None]:
    """Turn a keyboard interrupt into `BrokenOffError`, which says how to resume the run."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise BrokenOffError(f"resume it by: nbm-xp resume {out}") from error


class Command(TyperCommand):
    """A command whose error messages name parameters by their options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            name, _, rest = str(error).partition(" ")
            if name in ctx.params and name != "path":
                raise InputError(f"--{name.replace('_', '-')} {rest}") from error
            raise


class Group(TyperGroup):
    """A group of commands that reports failures in one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command, and exit with its code."""
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
        except InputError as error:
            _end(str(error), 2)
        except _UsageError as error:
            _end(error.format_message(), 2)  # empty if the help was shown for lack of arguments
        except BrokenOffError as error:
            _end(f"{_INTERRUPTED}; {error}", 130)
        except (typer.Abort, KeyboardInterrupt):
            code = 130
        except RunError as error:
            _end(str(error), 1)
        except ModuleNotFoundError as error:
            message = how_to_install(error)
            if message is None:
                raise
            _end(message, 1)
        except MemoryError as error:
            _end(f"not enough memory: {error}", 1)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _end(f"{where}{error.strerror or error}", 1)
        if code == 130:
            _end(_INTERRUPTED, 130)
        sys.exit(code if isinstance(code, int) else 0)


def _end(message: str, code: int) -> None:
    if message:
        sys.stderr.write(f"nbm-xp: {' '.join(message.split())}\n")
    sys.exit(code)
