"""What the command prints: results on stdout, as lines or as one JSON document; progress bars on stderr.

Bars are drawn where stderr is a terminal; elsewhere there is silence.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from nbm_xp.runs.directory import finite_json

__all__ = ["answer", "console", "signed", "steps_bar", "threads_for", "work_bar"]

_WORTH_THREADS = 10_000_000


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


@contextlib.contextmanager
def work_bar(label: str, unit: str = "sweeps", scale: int = 1) -> Iterator[Callable[..., None]]:
    """A bar over an amount of work, with its throughput: in `unit`, of which there are `scale` in a step.

    Yields
    ------
    callable
        ``advance(done, total, note)``: so much of so much is done, and what to say about it; an empty note keeps the
        last.
    """
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn() if scale > 1 else TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("[cyan]{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    console, began, first = Console(stderr=True), time.perf_counter(), -1
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=None, rate="", note="")

        def advance(done: int, total: int, note: str = "") -> None:
            nonlocal first
            first = done if first < 0 else first  # done in an earlier process
            speed = scale * (done - first) / max(time.perf_counter() - began, 1e-9)
            progress.update(task, completed=done, total=total, rate=f"{speed:,.0f} {unit}/s")
            if note:
                progress.update(task, note=note)

        yield advance


@contextlib.contextmanager
def steps_bar(label: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar over a number of steps, which yields what is called after each."""
    with work_bar(label, "steps") as advance:
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            advance(done, total)

        yield step


@contextlib.contextmanager
def threads_for(multiplications: int) -> Iterator[None]:
    """Run with one thread of linear algebra where matrix products are too small for more.

    A small product is over before a second thread has begun; where other work runs on the machine, waiting for that
    thread takes many times as long as the product.

    Parameters
    ----------
    multiplications : int
        How many there are in one product.
    """
    if multiplications >= _WORTH_THREADS:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield
