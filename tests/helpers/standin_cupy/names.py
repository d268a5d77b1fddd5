"""What CuPy has, read from the record: its names, what its functions take, the types that its ufuncs are defined on."""

from __future__ import annotations

import functools
import inspect
import json
from typing import Any

from .record import FILE

__all__ = ["RECORD", "checked", "loops"]

RECORD: dict[str, Any] = json.loads(FILE.read_text())


@functools.cache
def checked(entry: str) -> inspect.Signature | None:
    """The parameters that an entry names; None where it names none."""
    if not entry.startswith("("):
        return None
    place: dict[str, Any] = {}
    exec(f"def function{entry}: ...", place)
    return inspect.signature(place["function"])


def loops(entry: str) -> list[tuple[str, str]]:
    """The loops of a ufunc: the types it takes and those it gives; without bfloat16, which NumPy has not."""
    pairs = (kind.split("->") for kind in entry.split()[1:])
    return [(taken, given) for taken, given in pairs if "E" not in taken + given]
