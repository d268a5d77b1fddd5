"""array_api_strict: the standard and nothing else, taken as it is, since it is here to refuse what is not standard."""

from __future__ import annotations

from typing import Any

__all__ = ["build"]


def build() -> Any:
    """The namespace for arrays of array_api_strict."""
    import array_api_strict

    return array_api_strict
