"""What weights and frequencies share: states that have been checked, and a 1 at each site's state."""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import array_namespace, host_namespace, is_array, is_bool, is_integer, is_lazy

__all__ = ["checked_states", "one_hot"]


def checked_states(states: Any, n_states: int | None = None, name: str = "states") -> tuple[Any, int]:
    """Rows of whole numbers as an array, and how many states a site has.

    Raises
    ------
    ValueError
        If they are something else, or beyond the number of states.
    """
    states = numbers(states, name, array_namespace(states) if is_array(states) else host_namespace())
    if states.ndim != 2 or 0 in states.shape:
        raise ValueError(f"{name} must have two axes, (sequences, sites), got an array of shape {tuple(states.shape)}")
    if is_lazy(array_namespace(states)):
        if n_states is None:
            raise ValueError(f"n_states must be given where {name} are computed later")
        return states, positive_int(n_states, "n_states")
    low, high = float(B.min(states)), float(B.max(states))
    whole = is_integer(states) or is_bool(states) or bool(B.all(B.equal(states, B.round(states))))
    count = int(high) + 1 if n_states is None else positive_int(n_states, "n_states")
    if not (whole and low >= 0 and high < count):
        raise ValueError(f"{name} must be whole numbers from 0 to {count - 1}, got values from {low:g} to {high:g}")
    return states, count


def one_hot(states: Any, count: int, dtype: str = "float32") -> Any:
    """A column for each state of each site, site by site: 1 at the state that the site is in, else 0."""
    xp = array_namespace(states)
    places = xp.arange(count, dtype=states.dtype)
    found = B.cast(states[:, :, None] == places[None, None, :], dtype)
    return xp.reshape(found, (states.shape[0], states.shape[1] * count))
