"""Kinds of units by name, as hyperparameters, files and commands tell them."""

from __future__ import annotations

from typing import Any

from .binary import BINARY
from .categorical import Categorical
from .gaussian import GAUSSIAN
from .kind import Units
from .rectified import RECTIFIED
from .spin import SPIN

__all__ = ["KINDS", "MOST_STATES", "kind_of"]

KINDS: dict[str, Units] = {kind.name: kind for kind in (BINARY, GAUSSIAN, SPIN, RECTIFIED)}
"""The kinds of units by name, but for categorical ones, which have a number of states."""

MOST_STATES = 65_536


def kind_of(name: Any, argument: str = "units", *, hidden: bool = True) -> Units:
    """The kind of units of a name.

    Parameters
    ----------
    name : str
        "binary", "spin", "gaussian", "relu", or "categorical:" and a number of states.
    argument : str, optional
        How messages call it.
    hidden : bool, optional
        Whether it is for hidden units; only those can be rectified linear.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> kind_of("categorical:21").n_states
    21
    >>> kind_of("ternary", "visible")
    Traceback (most recent call last):
    ...
    ValueError: visible must be one of binary, gaussian, spin, relu, categorical:Q with Q states, got 'ternary'
    """
    allowed = {known: kind for known, kind in KINDS.items() if hidden or kind is not RECTIFIED}
    if isinstance(name, str):
        if name in allowed:
            return allowed[name]
        start, colon, count = name.partition(":")
        if start == "categorical" and colon and count.isascii() and count.isdigit() and len(count) < 6:
            states = int(count)
            if 2 <= states <= MOST_STATES:
                return Categorical(states)
    raise ValueError(f"{argument} must be one of {', '.join(allowed)}, categorical:Q with Q states, got {name!r}")
