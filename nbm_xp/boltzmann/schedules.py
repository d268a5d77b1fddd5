"""How the learning rate changes while a model learns.

Persistent chains follow a model the better, the less it moves: a rate that falls towards the end comes closer to the
maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["SCHEDULES", "Schedule", "check_schedule", "rate_after"]

Schedule = Callable[[int, int], float]

SCHEDULES: dict[str, Schedule] = {
    "constant": lambda done, total: 1.0,
    "linear": lambda done, total: 1.0 - done / total,
    "quadratic": lambda done, total: (1.0 - done / total) ** 2,
    "exponential": lambda done, total: 0.01 ** (done / total),
    "step": lambda done, total: 0.1 ** ((2 * done >= total) + (4 * done >= 3 * total)),
}
"""The factor of the learning rate after so many passes of a total: the same; down to 0, evenly or ever more slowly;
down to a hundredth, by one factor in each pass; a tenth after half of the passes, a hundredth after three quarters."""


def check_schedule(schedule: Any) -> None:
    """Refuse what is neither the name of a schedule nor callable; what "auto" means is settled before.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if not callable(schedule) and not (isinstance(schedule, str) and schedule in SCHEDULES):
        raise ValueError(f"schedule must be one of {['auto', *SCHEDULES]} or a callable, got {schedule!r}")


def rate_after(schedule: str | Schedule, rate: float, done: int, total: int) -> float:
    """The learning rate of the pass that comes after so many of a total.

    Parameters
    ----------
    schedule : str or callable
        A name of `SCHEDULES`, or a function of `done` and `total` that gives the factor of the rate.
    rate : float
        What the factor applies to.
    done, total : int

    Raises
    ------
    ValueError
        If a schedule of the user's gives no finite number of at least 0.

    Examples
    --------
    >>> [rate_after("linear", 0.5, done, 4) for done in range(4)]
    [0.5, 0.375, 0.25, 0.125]
    >>> rate_after(lambda done, total: 1 / (1 + done), 0.5, 1, 4)
    0.25
    """
    factor: Any = (SCHEDULES[schedule] if isinstance(schedule, str) else schedule)(done, total)
    if not hasattr(factor, "__float__") or not math.isfinite(factor) or factor < 0:
        raise ValueError(f"schedule must give a finite factor of at least 0, got {factor!r} after {done} of {total}")
    return rate * float(factor)
