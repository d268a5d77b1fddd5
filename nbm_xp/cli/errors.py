"""Errors of the command: one line on stderr, and exit code 2 for invalid input, 130 for interruptions, else 1."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from nbm_xp.files import Place
from nbm_xp.package import how_to_install
from nbm_xp.runs import RunError

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

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and exit with its code."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
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
