"""Real part, imaginary part, conjugate: what tells a complex number from a pair of real ones.

Of real numbers, `real` and `conj` are the number itself and `imag` is zero, so that code and gradient rules need not
ask which they have.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.node import ELEMENTWISE_TAG, Memory, Node, same_as_first
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .creation import zeros_like
from .promotion import real_of
from .shapes import not_written

__all__ = ["conj", "imag", "real"]

_ELEMENTWISE = frozenset({ELEMENTWISE_TAG})


def _to_real(x: Node) -> Any:
    return x.shape, real_of(x.dtype)


# The gradient of a real loss u of x + iy is du/dx - i du/dy: hence the sign of the imaginary part's.
_REAL = declare("real", _to_real, (lambda g, out, x: g,), tags=_ELEMENTWISE, memory=Memory.FIRST, written=not_written)
_IMAG = declare(
    "imag", _to_real, (lambda g, out, x: g * -1j,), tags=_ELEMENTWISE, memory=Memory.FIRST, written=not_written
)
_CONJ = declare("conj", same_as_first, (lambda g, out, x: conj(g),), tags=_ELEMENTWISE, memory=Memory.FIRST)


def real(x: Any, /) -> Tensor:
    """The real part."""
    x = as_tensor(x)
    return record(_REAL, x) if x.dtype[0] == "c" else x


def imag(x: Any, /) -> Tensor:
    """The imaginary part."""
    x = as_tensor(x)
    return record(_IMAG, x) if x.dtype[0] == "c" else zeros_like(x)


def conj(x: Any, /) -> Tensor:
    """The complex conjugate."""
    x = as_tensor(x)
    return record(_CONJ, x) if x.dtype[0] == "c" else x
