"""array_api_strict: the standard and nothing else, taken as it is, since it is here to refuse what is not standard.

It assigns by no integer array, which the standard leaves open: `put` looks every place up.
"""

from __future__ import annotations

from typing import Any

from ..assignment import looked_up

__all__ = ["build", "put"]


def build() -> Any:
    """The namespace for arrays of array_api_strict."""
    import array_api_strict

    return array_api_strict


def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """See `nbm_xp.namespace.assignment.put`."""
    import array_api_strict

    return looked_up(array_api_strict, x, places, values, axis)
