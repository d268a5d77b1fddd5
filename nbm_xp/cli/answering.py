"""What the command answers on stdout: lines for people, or one JSON document for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from nbm_xp.runs.directory import finite_json

__all__ = ["answer", "console", "signed"]


def console() -> Console:
    """Where results are written; made anew, so that it follows redirections."""
    return Console(highlight=False, soft_wrap=True)


def answer(document: Mapping[str, Any], lines: Sequence[Any], as_json: bool) -> None:
    """Print what was found.

    Parameters
    ----------
    document : mapping
        All of it, in numbers, strings, lists and mappings.
    lines : sequence of str or rich renderables
        The same in words, for people.
    as_json : bool
        Whether to print the document, not the lines.
    """
    if as_json:
        # Plain print of the library's own: no wrapping, no colours, whatever the terminal.
        console().out(json.dumps(finite_json(document), indent=2, default=str), highlight=False)
        return
    for line in lines:
        console().print(line, markup=False)


def signed(value: float | None, decimals: int = 1, minus: str = "−") -> str:
    """A number with a minus sign as wide as it should be; None is what JSON has in the place of one that is not finite.

    Examples
    --------
    >>> signed(-12.34), signed(None)
    ('−12.3', 'not finite')
    """
    if value is None or math.isnan(value):
        return "not finite"
    return f"{value:.{decimals}f}".replace("-", minus)
