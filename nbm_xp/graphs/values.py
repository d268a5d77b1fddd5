"""What a unit can be: a spin, -1 or 1; binary, 0 or 1; or one of some values that are alike, as Potts's.

Contract: other chapters ask whether units have two values or more, and for these, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from nbm_xp.namespace import dtype_of, wide_dtypes

__all__ = ["Values", "values_of"]

CATEGORICAL: Final = "categorical:"


@dataclass(frozen=True)
class Values:
    """The values of a unit.

    Parameters
    ----------
    kind : {"spin", "binary", "potts"}
    count : int
        How many values there are; they are kept as int8.
    least : int
        The least of them; the others follow in steps of `step`.
    step : float
        The difference of two values.
    """

    kind: str
    count: int
    least: int
    step: float

    def of_bool(self, xp: Any, upper: Any) -> Any:
        """The upper one of two values where it is true, else the lower one."""
        return xp.astype(upper, dtype_of(xp, "int8")) * int(self.step) + self.least

    def at_random(self, xp: Any, uniforms: Any) -> Any:
        """Values of equal probability, by uniform numbers."""
        with wide_dtypes(xp):
            found = xp.astype(xp.floor(uniforms * float(self.count)), dtype_of(xp, "int8"))
        return found * int(self.step) + self.least

    @property
    def all(self) -> list[int]:
        """All of them."""
        return [self.least + k * int(self.step) for k in range(self.count)]


def values_of(units: Any) -> Values:
    """The values of units that are described as a machine is told.

    Raises
    ------
    ValueError
        If the description is none.

    Examples
    --------
    >>> values_of("spin").all, values_of("binary").all, values_of(3).all, values_of("categorical:3").all
    ([-1, 1], [0, 1], [0, 1, 2], [0, 1, 2])
    >>> values_of(1)
    Traceback (most recent call last):
        ...
    ValueError: units must be 'spin', 'binary', or of Potts units the number of values, from 2 to 127, got 1
    """
    if isinstance(units, str) and units == "spin":
        return Values("spin", 2, -1, 2.0)
    if isinstance(units, str) and units == "binary":
        return Values("binary", 2, 0, 1.0)
    count = units
    if isinstance(units, str) and units.startswith(CATEGORICAL) and units[len(CATEGORICAL) :].isdecimal():
        count = int(units[len(CATEGORICAL) :])
    if not isinstance(count, (bool, str)) and hasattr(count, "__index__") and 2 <= count.__index__() <= 127:
        return Values("potts", count.__index__(), 0, 1.0)
    raise ValueError(
        f"units must be 'spin', 'binary', or of Potts units the number of values, from 2 to 127, got {units!r}"
    )
