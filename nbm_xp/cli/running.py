"""How long work runs: progress bars where stderr is a terminal, silence elsewhere; as many threads as help."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

__all__ = ["amount", "bar", "steps", "threads_for"]

_WORTH_THREADS = 10_000_000


@contextlib.contextmanager
def bar(label: str, total: int, rows: int) -> Iterator[Callable[..., None]]:
    """A bar over the passes of a training, with its throughput.

    Parameters
    ----------
    label : str
    total : int
        How many passes there will be.
    rows : int
        Rows in a pass, for the throughput.

    Yields
    ------
    callable
        ``advance(done, total, note)``: so many passes of so many are done, and what to say about them; an empty note
        keeps the last.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("[cyan]{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    began = time.perf_counter()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total, rate="", note="")

        def advance(done: int, total: int, note: str = "") -> None:
            speed = rows * done / max(time.perf_counter() - began, 1e-9)
            progress.update(task, completed=done, total=total, rate=f"{speed:,.0f} rows/s")
            if note:
                progress.update(task, note=note)

        yield advance


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


@contextlib.contextmanager
def steps(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar over steps of different lengths.

    Yields
    ------
    callable
        ``advance(length)``: a step of this length is done.
    """
    console = Console(stderr=True)
    columns = (TextColumn("[bold]{task.description}"), BarColumn(bar_width=28), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda length: progress.advance(task, length)


@contextlib.contextmanager
def amount(label: str, unit: str = "sweeps") -> Iterator[Callable[[int, int], None]]:
    """A bar over an amount of work that is told as it is done.

    Yields
    ------
    callable
        ``advance(done, total)``: so much of so much is done.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    began, first = time.perf_counter(), -1
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=None, rate="")

        def advance(done: int, total: int) -> None:
            nonlocal first
            first = done if first < 0 else first  # done in an earlier process
            speed = (done - first) / max(time.perf_counter() - began, 1e-9)
            progress.update(task, completed=done, total=total, rate=f"{speed:,.0f} {unit}/s")

        yield advance
