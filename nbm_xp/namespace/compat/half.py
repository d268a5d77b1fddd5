"""float64 to float16 in one rounding, for libraries that go by way of float32 and so round twice.

Contract: the bits that NumPy gives. The lower 29 bits of a float64, which a float32 has no room
for, are cleared, and where one of them was set, so is the lowest that is kept. That number is a float32 without
rounding, and float16 rounds it as it would have rounded the whole: it has digits enough to lie on the same side of
every tie.

References
----------
.. [1] S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
   odd", IEEE Transactions on Computers 57 (2008), 462-471, for rounding to odd, and why it does no harm.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["TWICE_ROUNDED", "to_odd"]

_BITS: Final = 29
_LOWER: Final = (1 << _BITS) - 1

TWICE_ROUNDED: Final = 1.0 + 2.0**-11 + 2.0**-40
"""A number that becomes 1 when it is rounded twice, and the next float16 when it is rounded once."""


def to_odd(bits: Any) -> Any:
    """Round to float32's digits, half-way cases and all others to the odd neighbour.

    Parameters
    ----------
    bits : array
        int64: those of float64 numbers.

    Returns
    -------
    array
        int64: those of float64 numbers that float32 has too, unless they are too large or too small for it.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([1.5, 1 + 2.0**-30])
    >>> (to_odd(x.view("int64")).view("float64") - 1).tolist() == [0.5, 2.0**-23]
    True
    """
    return (bits & ~_LOWER) | (((bits & _LOWER) + _LOWER) & (1 << _BITS))
