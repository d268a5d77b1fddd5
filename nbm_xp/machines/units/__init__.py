"""Kinds of units of Boltzmann machines.

All code that depends on the kind of units is here; a topology has the kind of each layer, and other modules do not
distinguish kinds. A new kind is a class in `discrete` or `continuous` and an entry in `KINDS`.
"""

from __future__ import annotations

from typing import Any

from ..rows import Values
from .base import Units, interleaved, softplus
from .continuous import DRELU, GAUSSIAN, NORMAL, RECTIFIED, DReLU, Gaussian, Normal, Rectified
from .discrete import BINARY, SPIN, Binary, Categorical
from .mixed import Mixed

__all__ = [
    "BINARY", "DRELU", "GAUSSIAN", "KINDS", "MOST_STATES", "NORMAL", "RECTIFIED", "SPIN", "Binary", "Categorical",
    "DReLU", "Gaussian", "Mixed", "Normal", "Rectified", "Units", "Values", "interleaved", "kind_of", "softplus",
]  # fmt: skip

# Kinds of units by name, except categorical and mixed ones
KINDS: dict[str, Units] = {kind.name: kind for kind in (BINARY, GAUSSIAN, SPIN, RECTIFIED, DRELU, NORMAL)}

MOST_STATES = 65_536


def kind_of(name: Any, argument: str = "units", *, hidden: bool = True) -> Units:
    """Return the kind of units with a name.

    Parameters
    ----------
    name : str
        "binary", "spin", "gaussian", "normal", "relu", "drelu", or "categorical:" and a number of states; or several
        kinds side by side, each with its number of sites: "64*binary+1*categorical:10".
    argument : str, optional
        Name of the argument in messages.
    hidden : bool, optional
        Whether the units are hidden; only visible layers can have several kinds.

    Raises
    ------
    ValueError
        If no such kind exists.

    Examples
    --------
    >>> kind_of("categorical:21").n_states
    21
    >>> kind_of("ternary", "visible")
    Traceback (most recent call last):
    ...
    ValueError: visible must be one of binary, gaussian, spin, relu, drelu, categorical:Q with Q states, got 'ternary'
    """
    allowed = {known: kind for known, kind in KINDS.items() if (kind.can_be_hidden if hidden else kind.can_be_visible)}
    if isinstance(name, str):
        if name in allowed:
            return allowed[name]
        if not hidden and "*" in name:
            return Mixed([_part(part, name, argument) for part in name.split("+")])
        start, colon, count = name.partition(":")
        if start == "categorical" and colon and count.isascii() and count.isdigit() and len(count) < 6:
            states = int(count)
            if 2 <= states <= MOST_STATES:
                return Categorical(states)
    raise ValueError(f"{argument} must be one of {', '.join(allowed)}, categorical:Q with Q states, got {name!r}")


def _part(part: str, name: str, argument: str) -> tuple[Units, int]:
    """Return a kind and its number of sites."""
    count, star, kind = part.partition("*")
    if not star or not (count.isascii() and count.isdigit() and len(count) < 10 and int(count)):
        wanted = 'numbers of sites and kinds, as "64*binary+1*categorical:10"'
        raise ValueError(f"{argument} must be {wanted}, or one kind, got {name!r}")
    if "*" in kind:
        raise ValueError(f"{argument} must have one number before each kind, got {name!r}")
    return kind_of(kind, argument, hidden=False), int(count)
