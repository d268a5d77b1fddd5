"""How much work something is, in numbers that no machine's speed changes: calls, operations that run, memory."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

from nbm_xp.tape import operation

__all__ = ["RUNS", "calls_of", "counted", "memory_of", "runs_of"]


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, those of Python and those of C."""
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


RUNS: Counter[str] = Counter()


def _run(namespace: Any, x: Any, *, label: str) -> Any:
    RUNS[label] += 1
    return x * 1.0


counted = operation(
    "test_counted", infer=lambda x, label: (x.shape, x.dtype), run=_run, gradient=lambda g, out, x, label: g * 1.0
)
"""The same value; how often it is computed is counted under its label."""


def runs_of(work: Callable[..., object], *arguments: Any) -> dict[str, int]:
    """How often a call computes each of the operations `counted`."""
    RUNS.clear()
    work(*arguments)
    return dict(RUNS)


def memory_of(work: Callable[..., object], *arguments: Any) -> int:
    """The bytes that a call holds at most, its result included: the least of four calls after a first one.

    Other threads of the process allocate too, by different amounts each time.
    """

    def allocated() -> int:
        tracemalloc.start()  # earlier allocations, which may be freed meanwhile, do not count
        try:
            work(*arguments)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    work(*arguments)
    return min(allocated() for _ in range(4))
