"""How much work something is, in numbers that no machine's speed changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["calls_of"]


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
