"""What a case of a documented function is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["INTEGERS", "FunctionCase", "case", "floating", "of"]

INTEGERS = ("int8", "int32", "int64", "uint8", "bool")


@dataclass(frozen=True)
class FunctionCase:
    """One call.

    Parameters
    ----------
    name
        The documented name.
    call
        ``call(B, *arrays)``.
    reference
        ``reference(*arrays)`` in NumPy.
    arrays
        NumPy arrays, the arguments.
    label
        What tells the case from others of the same function.
    rtol
        How close the values must be.
    order
        To which order the gradient is checked, where all floating arguments are in double precision.
    unknown
        Whether the lengths of the arguments may be unknown while recording.
    flat
        Whether the function is constant almost everywhere.
    recorded
        Whether the case is about Tensors too.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    label: str = ""
    rtol: float = 1e-12
    order: int = 2
    unknown: bool = True
    flat: bool = False
    recorded: bool = True

    def __str__(self) -> str:
        shapes = "-".join("x".join(map(str, a.shape)) or "0d" for a in self.arrays)
        dtypes = "-".join(dict.fromkeys(str(a.dtype) for a in self.arrays))
        return "-".join(filter(None, (self.name, self.label, shapes, dtypes)))

    @property
    def differentiable(self) -> bool:
        """Whether finite differences can be taken."""
        floating = {str(a.dtype) for a in self.arrays if a.dtype.kind == "f"}
        return floating == {"float64"} and self.order > 0 and not self.flat


def case(
    name: str, reference: Callable[..., Any], *arrays: np.ndarray, args: Sequence[Any] = (), **fields: Any
) -> FunctionCase:
    """A call of the documented function on all arrays and then `args`."""
    fields.setdefault("label", ",".join(map(str, args)))
    call = fields.pop("call", None) or (lambda B, *values: getattr(B, name)(*values, *args))
    return FunctionCase(name, call, reference, arrays, **fields)


def of(
    name: str, function: Callable[..., Any], reference: Callable[..., Any], *arrays: np.ndarray, **fields: Any
) -> FunctionCase:
    """A case of a shared function with `options`, which are the case's label where it has no other."""
    options = fields.pop("options", {})
    fields.setdefault("label", ",".join(f"{key}={value}" for key, value in options.items()).replace(" ", ""))
    fields.setdefault("rtol", 1e-11)
    return FunctionCase(name, lambda B, *given: function(*given, **options), reference, arrays, **fields)


def floating(x: np.ndarray) -> np.ndarray:
    """What integers become where floating point is needed."""
    return x if x.dtype.kind == "f" else x.astype(np.result_type(x.dtype, np.float32))
