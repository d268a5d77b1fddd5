"""The command nbm-xp: training, evaluation, sampling and further tools at the command line.

It needs the extra ``app`` (typer, rich, matplotlib). This module can be imported without it; the error message then
names what to install.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["app", "main"]

_NEEDED = "nbm-xp needs what the extra 'app' installs: pip install 'nbm_xp[app]'"


def __getattr__(name: str) -> Any:
    """Import `app`, the typer application, on first access."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from .commands import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("nbm_xp"):
            raise
        raise ImportError(f"{_NEEDED} ({error.name} is missing)") from error
    return app


def main() -> None:
    """Run the command with the process's arguments, and exit."""
    try:
        command = __getattr__("app")
    except ImportError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    command(prog_name="nbm-xp")
