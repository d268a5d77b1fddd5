"""The maximum of a smooth concave function by its gradients: L-BFGS.

References
----------
J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35 (1980), 773-782.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import host_namespace

__all__ = ["Climb", "climbed"]

REMEMBERED = 12
"""Steps whose changes of the gradient are remembered."""
SLOPE = 1e-4
HALVINGS = 40


@dataclass(frozen=True)
class Climb:
    """Where a climb ended.

    Parameters
    ----------
    place : array
    value : float
    steps : int
        How many there were.
    arrived : bool
        Whether the gradient was small enough, or no step led higher.
    """

    place: Any
    value: float
    steps: int
    arrived: bool


def climbed(value_and_gradient: Callable[[Any], tuple[float, Any]], start: Any, most: int, tolerance: float) -> Climb:
    """Climb from a place.

    Parameters
    ----------
    value_and_gradient : callable
        Of a place, an array of float64 in the host's memory.
    start : array
    most : int
        How many steps are made at most.
    tolerance : float
        The size of the gradient's largest part at which it ends.

    Examples
    --------
    >>> xp = host_namespace()
    >>> wanted = xp.asarray([1.0, -2.0, 3.0])
    >>> found = climbed(lambda x: (-float(xp.sum((x - wanted) ** 4)), -4 * (x - wanted) ** 3), xp.zeros(3), 200, 1e-9)
    >>> found.arrived, bool(xp.max(xp.abs(found.place - wanted)) < 0.01)
    (True, True)
    """
    host = host_namespace()
    place, (value, slope) = start, value_and_gradient(start)
    past: list[tuple[Any, Any, float]] = []
    for step in range(most):
        size = float(host.max(host.abs(slope)))
        if size <= tolerance:
            return Climb(place, value, step, True)
        direction = _direction(slope, past) if past else slope / max(1.0, float(host.sum(host.abs(slope))))
        rise, length = float(host.vecdot(direction, slope)), 1.0
        for _ in range(HALVINGS):
            there = place + length * direction
            new, further = value_and_gradient(there)
            if new >= value + SLOPE * length * rise:
                break
            length /= 2
        else:
            return Climb(place, value, step, True)  # as high as rounding lets one tell
        moved, bent = there - place, slope - further
        curvature = float(host.vecdot(moved, bent))
        if curvature > 0:
            past = [*past[1 - REMEMBERED :], (moved, bent, curvature)]
        place, value, slope = there, new, further
    return Climb(place, value, most, float(host.max(host.abs(slope))) <= tolerance)


def _direction(slope: Any, past: list[tuple[Any, Any, float]]) -> Any:
    """The slope times an estimate of the inverse curvature."""
    host, found, shares = host_namespace(), slope, []
    for moved, bent, curvature in reversed(past):
        share = float(host.vecdot(moved, found)) / curvature
        shares.append(share)
        found = found - share * bent
    moved, bent, curvature = past[-1]
    found = found * (curvature / float(host.vecdot(bent, bent)))
    for (moved, bent, curvature), share in zip(past, reversed(shares), strict=True):
        found = found + (share - float(host.vecdot(bent, found)) / curvature) * moved
    return found
