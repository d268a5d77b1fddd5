"""The command check-bits: verify that random numbers equal the recorded ones bit for bit."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import inputs
from ..digests import DRAWS, LENGTHS, digests, recorded
from ..output import InputError, WorkBar, answer
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp check-bits[/bold]\n\n[bold]nbm-xp check-bits normal gamma --library cupy[/bold]\n\n"
    "[bold]nbm-xp check-bits --numbers 1e9 --threads 8[/bold]"
)


def check_bits(
    distribution: Annotated[
        list[str] | None, typer.Argument(help="Which ones, by the names in the answer; all by default.")
    ] = None,
    numbers: Annotated[float, typer.Option(help="How many numbers of each: 1e6, 1e7, 1e8 or 1e9.")] = 1e7,
    library: options.Library = None,
    threads: Annotated[int, typer.Option(min=1, help="How many threads draw, where the library is NumPy.")] = 1,
    as_json: options.Json = False,
) -> None:
    """Draw from every distribution in every dtype, and compare the digests with the recorded ones.

    The exit code is 1 if any differs.
    """
    names = distribution or list(DRAWS)
    for name in names:
        if name not in DRAWS:
            raise InputError(f"distribution must be one of {'; '.join(DRAWS)}; got {name}")
    if numbers not in LENGTHS:
        raise InputError(f"--numbers must be 1e6, 1e7, 1e8 or 1e9, got {numbers:g}")
    if library is not None:
        inputs.library(library)
    n, known, found = int(numbers), recorded(), dict[str, str]()
    rows = [(name, dtype) for name in names for dtype in DRAWS[name][-1]]
    with WorkBar("drawing", "rows") as bar, inputs.input_errors():
        for done, (name, dtype) in enumerate(rows, 1):
            row = f"{name}/{dtype}"
            found[row] = "not on record"
            if n in known.get(row, {}):
                ((_, digest),) = digests(name, dtype, (n,), library, threads)
                found[row] = "agrees" if digest == known[row][n] else "differs"
            bar.show(done, len(rows))
    count = {verdict: list(found.values()).count(verdict) for verdict in ("agrees", "differs", "not on record")}
    lines = [f"{row:<40}{verdict}" for row, verdict in found.items()]
    agree, differ, missing = count.values()
    lines.append(f"{n:,} numbers of each: {agree} agree, {differ} differ, {missing} not on record")
    answer({"numbers": n, "library": library, "count": count, "rows": found}, lines, as_json)
    if differ:
        raise typer.Exit(1)
