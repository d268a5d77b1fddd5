"""The functions of the standard through which no gradient flows, in one list.

A function that is in none of the lists has a gradient rule, or to ask for its gradient is an error.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CREATED", "FLAT", "LOOKED_AT"]

FLAT: Final = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "count_nonzero", "equal", "floor", "floor_divide", "greater",
    "greater_equal", "isfinite", "isin", "isinf", "isnan", "less", "less_equal", "linalg.matrix_rank", "logical_and",
    "logical_not", "logical_or", "logical_xor", "not_equal", "round", "searchsorted", "sign", "signbit", "trunc",
})  # fmt: skip
"""Constant almost everywhere, or not floating. (`sign` of complex numbers is not, and has a rule.)"""

CREATED: Final = frozenset({
    "arange", "empty", "empty_like", "eye", "fft.fftfreq", "fft.rfftfreq", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like",
})  # fmt: skip
"""Made of no array, or of its shape alone."""

LOOKED_AT: Final = frozenset({"nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"})
"""Evaluated while recording, because the lengths of their results depend on data."""
