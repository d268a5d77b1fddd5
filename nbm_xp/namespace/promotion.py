"""NumPy's promotion of several arrays and numbers: open casts to the dtype that they have in common."""

from __future__ import annotations

from typing import Any

from .dispatch import settled
from .dtypes import INEXACT, KINDS, SCALAR_KINDS, WEAK_REALS, cast, dtype_name, promote_types, weak_dtype
from .mixing import in_one_library

__all__ = ["promote"]


def promote(*values: Any) -> tuple[Any, ...]:
    """Arrays cast to one dtype by NumPy's promotion; Python scalars are weak and stay as they are.

    The host's arrays beside those of a lazy library that takes none itself are brought to that library.

    What scalars make of arrays `nbm_xp.namespace.dtypes.weak_dtype` says. A Python bool that meets numbers becomes an
    int.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = promote(np.ones(2, dtype=np.int8), np.ones(2, dtype=np.float32), 1)
    >>> a.dtype, b.dtype, c
    (dtype('float32'), dtype('float32'), 1)
    """
    if len(values) == 2:
        a, b = values
        try:
            if type(b) in WEAK_REALS:
                if type(a.dtype) in INEXACT or KINDS[dtype_name(a)] in "fc":
                    return values
            elif type(a) in WEAK_REALS:
                if type(b.dtype) in INEXACT or KINDS[dtype_name(b)] in "fc":
                    return values
            elif a.dtype is b.dtype and (type(a) is type(b) or (type(a) in settled and type(b) in settled)):
                return values
        except AttributeError:
            pass
    if not all(type(value) in settled for value in values):
        values = tuple(in_one_library(values))
    kinds = [type(value) for value in values]
    names = [dtype_name(value) for value in values if value is not None and type(value) not in SCALAR_KINDS]
    if not names:
        return values
    name = weak_dtype(promote_types(*names), *kinds)
    out = []
    for value in values:
        if type(value) is bool:
            out.append(value if name == "bool" else int(value))
        elif value is None or type(value) in SCALAR_KINDS or dtype_name(value) == name:
            out.append(value)
        else:
            out.append(cast(value, name))
    return tuple(out)
