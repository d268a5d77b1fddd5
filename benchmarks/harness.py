"""How things are timed.

A benchmark is a list of rows; a row is our call and its peers, all doing the same work. They are timed in turn, round
after round, so that whatever the machine does besides falls on all of them alike. A ratio is the median over the rounds
of ours over the peer's time in that same round; beside it stands the bar it must stay under, where there is one.
"""

import gc
import importlib.metadata
import os
import platform
import statistics
import timeit
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nbm_xp.namespace import core

QUANTUM = 0.02  # seconds that one sample takes at least: far above the clock's own grain


@dataclass(frozen=True)
class Contender:
    """One call to time; `missing` says why it cannot be made here."""

    name: str
    call: Callable[..., object] | None = None
    arguments: tuple[Any, ...] = ()
    missing: str = ""
    at_most: float | None = None  # for a peer: ours over the peer's time, the bar
    at_most_more: float | None = None  # for a peer: ours less the peer's time in seconds, the bar


@dataclass(frozen=True)
class Row:
    """Our call and its peers; the first is ours."""

    name: str
    ours: Contender
    peers: Sequence[Contender] = ()
    per: float = 1.0  # what one call does, in units of `unit`
    unit: str = "call"


@dataclass(frozen=True)
class Timing:
    """What one contender took, in seconds a call, and how ours compares."""

    benchmark: str
    row: str
    contender: str
    seconds: float | None
    spread: float | None  # interquartile range
    unit: str
    per: float
    ratio: float | None = None
    more: float | None = None
    bar: str = ""
    holds: bool | None = None
    missing: str = ""
    samples: list[float] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class Peak:
    """The most memory that one contender held at once, in bytes, and whether that is within its bar."""

    benchmark: str
    row: str
    contender: str
    size: int | None = None
    at_most: float | None = None
    missing: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether it is within the bar; None without one."""
        return None if self.at_most is None or self.size is None else self.size <= self.at_most


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Median and interquartile range."""
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return middle, high - low


class Clock:
    """Times one contender: a plain loop around the call, long enough for the clock, the device waited for."""

    def __init__(self, contender: Contender, wait: Callable[[], None]) -> None:
        names = {f"a{i}": argument for i, argument in enumerate(contender.arguments)}
        self.timer = timeit.Timer(f"call({', '.join(names)})", globals={"call": contender.call, **names})
        self.wait = wait
        self.loops = 1
        self.sample()  # the first call compiles, fills caches and touches memory
        while (taken := self._least()) < QUANTUM:
            self.loops = max(self.loops + 1, round(self.loops * min(10.0, 1.2 * QUANTUM / max(taken, 1e-9))))

    def _least(self) -> float:
        """Seconds of a sample; the least of three short ones, since the first calls may make what others use."""
        taken = self.sample() * self.loops
        return taken if taken > 10 * QUANTUM else min(taken, *(self.sample() * self.loops for _ in range(2)))

    def sample(self) -> float:
        """Seconds a call."""
        self.wait()
        start = timeit.default_timer()
        self.timer.timeit(self.loops)
        self.wait()
        return (timeit.default_timer() - start) / self.loops


def measure(benchmark: str, row: Row, rounds: int, wait: Callable[[], None]) -> Iterator[Timing]:
    """Time a row's contenders in turn; the order turns too, so that none always follows the same one."""
    contenders = [row.ours, *row.peers]
    present = [contender for contender in contenders if contender.call is not None]
    clocks = [Clock(contender, wait) for contender in present]
    samples: list[list[float]] = [[] for _ in present]
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            for i in range(len(clocks)):
                at = (turn + i) % len(clocks)
                samples[at].append(clocks[at].sample())
    finally:
        if collecting:
            gc.enable()
    taken = {contender.name: times for contender, times in zip(present, samples, strict=True)}
    yield from (timing(benchmark, row, contender, taken) for contender in contenders)


def timing(benchmark: str, row: Row, contender: Contender, taken: dict[str, list[float]]) -> Timing:
    """One line of the table."""
    times, ours = taken.get(contender.name), taken.get(row.ours.name)
    if times is None:
        return Timing(benchmark, row.name, contender.name, None, None, row.unit, row.per, missing=contender.missing)
    median, spread = quartiles(times)
    ratio = more = holds = None
    bar = ""
    if contender is not row.ours and ours is not None:
        ratio = statistics.median(a / b for a, b in zip(ours, times, strict=True))
        more = statistics.median(a - b for a, b in zip(ours, times, strict=True))
        if contender.at_most is not None:
            bar, holds = f"at most {contender.at_most:.2f}", ratio <= contender.at_most
        elif contender.at_most_more is not None:
            bar, holds = f"at most +{duration(contender.at_most_more)}", more <= contender.at_most_more
    return Timing(
        benchmark, row.name, contender.name, median, spread, row.unit, row.per, ratio, more, bar, holds, samples=times
    )


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best, three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


HEADER = ("", "median", "spread", "each", "ours / peer", "ours - peer", "bar", "")
WIDTHS = (42, 9, 11, 15, 11, 11, 17, 11)  # fixed, so that a line can be printed before the next one is known

VERDICT = {True: "holds", False: "falls short", None: ""}


def line(timing: Timing | Peak) -> tuple[str, ...]:
    """A timing, or a peak of memory, as the cells of the table."""
    if isinstance(timing, Peak):
        size = "-" if timing.size is None else f"{timing.size / 1e6:.1f} MB"
        bar = "" if timing.at_most is None else f"at most {timing.at_most / 1e6:.0f} MB"
        return (f"  {timing.contender}", size, "", "", "", "", bar, VERDICT[timing.holds] or timing.missing)
    if timing.seconds is None or timing.spread is None:
        return (f"  {timing.contender}", "-", "", "", "", "", "", timing.missing)
    return (
        f"  {timing.contender}",
        duration(timing.seconds),
        f"± {duration(timing.spread / 2)}",
        f"{duration(timing.seconds / timing.per)}/{timing.unit}" if timing.per != 1 else "",
        f"{timing.ratio:.3f}" if timing.ratio is not None else "",
        f"{'+' if timing.more >= 0 else ''}{duration(timing.more)}" if timing.more is not None else "",
        timing.bar,
        VERDICT[timing.holds],
    )


def lines(timings: Iterable[Timing | Peak]) -> Iterator[str]:
    """The lines of the table, as the timings come, grouped by row."""
    yield in_columns(HEADER)
    before = None
    for timing in timings:
        if (timing.benchmark, timing.row) != before:
            before = (timing.benchmark, timing.row)
            yield f"{timing.benchmark}: {timing.row}"
        yield in_columns(line(timing))


def in_columns(cells: Sequence[str]) -> str:
    """The cells of one line."""
    pairs = zip(cells, WIDTHS, strict=True)
    return "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(pairs)).rstrip()


def power(size: int) -> str:
    """A power of ten, as ``1e8``."""
    return f"{size:.0e}".replace("e+0", "e")


def refuse_without_core() -> None:
    """Raise an error where the compiled core is not in use: figures would be of the portable forms."""
    if core.level() == "none":
        reason = core.missing() or f"{core.VARIABLE} is {os.environ.get(core.VARIABLE)}"
        raise RuntimeError(
            f"nbm_xp's compiled core is not in use ({reason}); --without-core measures the portable forms"
        )


def machine(threads: int) -> str:
    """The processor and the releases that the figures belong to, on one line."""
    cpu = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            cpu = next((text.split(":", 1)[1].strip() for text in lines if text.startswith("model name")), cpu)
    releases = []
    for name in ("nbm_xp", "numpy", "dask", "scikit-learn", "autograd", "torch", "jax", "cupy-cuda12x"):
        try:
            releases.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    counted = f"{os.cpu_count()} cores, {threads} thread{'s' if threads > 1 else ''} used"
    loops = f"compiled core {core.level()}"
    return f"{cpu}, {counted}; Python {platform.python_version()}, {loops}, {', '.join(releases)}"


def record(timings: Sequence[Timing | Peak], about: str) -> dict[str, Any]:
    """Everything as plain values, for a file."""
    return {"machine": about, "timings": [asdict(timing) for timing in timings]}
