"""What a run was asked for, as JSON tells it: written down, and compared years later with what is asked for then.

Contract: what is compared is alike; what differs is said, a name and a phrase for each.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterator, Mapping
from typing import Any

from .failing import Parameter

__all__ = ["as_json", "differences", "plain"]

_LONGEST = 80


def as_json(value: Any, name: str = "configuration") -> Any:
    """A value as JSON gives it back, so that what is compared later is alike.

    Raises
    ------
    TypeError
        If JSON has no such value; the message names it.
    """
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(item, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # an array's, or one of its numbers
        return as_json(value.tolist(), name)
    if hasattr(value, "__index__"):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"{name} must be a number, a string, a list or a mapping of such, got {value!r}")


def differences(
    there: Mapping[str, Any], asked: Mapping[str, Any], within: str = ""
) -> Iterator[tuple[Parameter, str]]:
    """What differs between two configurations: each parameter, and what is to be said of it."""
    for name in sorted(there.keys() | asked.keys()):
        full = f"{within}{name}"
        if name in there and name in asked and there[name] == asked[name]:
            continue
        if isinstance(there.get(name), dict) and isinstance(asked.get(name), dict):
            yield from differences(there[name], asked[name], f"{full}.")
            continue
        was = f"is {_short(there[name])} there" if name in there else "is not said there"
        now = f"{_short(asked[name])} was asked for" if name in asked else "was not asked for"
        yield Parameter(full), f"{was}, and {now}"


def _short(value: Any) -> str:
    """A value in a line; of a long list, its ends and its length."""
    text = repr(value)
    if isinstance(value, list) and len(text) > _LONGEST:
        return f"[{value[0]!r}, …, {value[-1]!r}] ({len(value):,} of them)"
    return text


def plain(value: Any) -> Any:
    """A value as strict JSON has it: numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
