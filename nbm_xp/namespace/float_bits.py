"""Bits of float32 numbers as integers and back, inside loops that numba compiles."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["bits_as_float", "float_as_bits"]


def _same_bits(given: Any, wanted: Any) -> Any:
    """A function from one type of 32 bits to another that leaves the bits as they are."""

    def typed(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(wanted))

        return wanted(given), generate

    return intrinsic(typed)


bits_as_float = _same_bits(types.int32, types.float32)
float_as_bits = _same_bits(types.float32, types.int32)
