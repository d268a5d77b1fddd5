"""Values at the edges of a function's domain, where its formula does not serve."""

from __future__ import annotations

from typing import Any

__all__ = ["first_of"]


def first_of(xp: Any, like: Any, *cases: tuple[Any, Any], otherwise: float) -> Any:
    """For each element the value of the first case that holds, each a condition and a number or an array.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([-1.0, 0.0, 2.0])
    >>> first_of(np, x, (x < 0, -5.0), (x == 0, 7.0), otherwise=1.0).tolist()
    [-5.0, 7.0, 1.0]
    """
    value = xp.full_like(like, otherwise)
    for condition, chosen in reversed(cases):
        value = xp.where(condition, chosen, value)
    return value
