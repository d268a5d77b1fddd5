"""Functions that a library lacks or has wrong: one module for each library, with a function ``build()``.

Nothing above `nbm_xp.namespace` knows of these gaps. Each replacement states what is wrong and is tested to be needed.
Here is what several libraries need: float64 to float16 in one rounding, where a library goes by way of float32 and
rounds twice. The lower 29 bits of a float64, which a float32 has no room for, are cleared, and where one was set, so
is the lowest that is kept [1]_. That number is a float32 without rounding, and float16 rounds it as it would have
rounded the whole: it has digits enough to lie on the same side of every tie.

References
----------
.. [1] S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
   odd", IEEE Transactions on Computers 57 (2008), 462-471.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["TWICE_ROUNDED", "ranked", "to_odd"]

_BITS: Final = 29
_LOWER: Final = (1 << _BITS) - 1

# A number that becomes 1 when it is rounded twice, and the next float16 when it is rounded once.
TWICE_ROUNDED: Final = 1.0 + 2.0**-11 + 2.0**-40


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


def ranked(xp: Any, svdvals: Callable[[Any], Any]) -> Callable[..., Any]:
    """The standard's `matrix_rank`, for libraries that have no empty matrices, or another `rtol`."""

    def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
        if 0 in x.shape[-2:]:
            return xp.zeros(x.shape[:-2], dtype=xp.sum(xp.ones(0, dtype=xp.bool)).dtype)
        values = svdvals(x)
        rtol = max(x.shape[-2:]) * xp.finfo(values.dtype).eps if rtol is None else xp.asarray(rtol)[..., None]
        return xp.sum(values > xp.max(values, axis=-1, keepdims=True) * rtol, axis=-1)

    return matrix_rank
