"""The derivative of recorded values as a linear map, pulled back from the results or pushed forward from the arguments.

The reverse pass is linear in the cotangents it starts from, so that a reverse pass over it pushes tangents forward:
what the first pass computed drops out of the plan, except for the factors that both need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import asarray, host_namespace, is_array

from ..backward import vjp
from ..lengths import product, same_length
from ..operators import is_number
from ..standard.casting import astype
from ..standard.creation import zeros_like
from ..standard.elementwise import cos
from ..standard.manipulation import reshape
from ..standard.sequences import arange
from ..tensor import Tensor, as_tensor, is_tensor
from .calls import argument

__all__ = ["as_like", "is_smooth", "pulled", "pushed"]


def is_smooth(tensor: Tensor) -> bool:
    """Whether a value has a derivative: it is floating."""
    return tensor.dtype[0] in "fc"


def pulled(outputs: Sequence[Tensor], cotangents: Sequence[Tensor], targets: Sequence[Tensor]) -> list[Tensor]:
    """What the targets get of cotangents of the outputs: vector times Jacobian."""
    found = vjp([t.node for t in outputs], list(cotangents), [t.node for t in targets])
    return [_or_zeros(gradient, target) for gradient, target in zip(found, targets, strict=True)]


def pushed(outputs: Sequence[Tensor], targets: Sequence[Tensor], tangents: Sequence[Tensor]) -> list[Tensor]:
    """What the outputs get of tangents of the targets: Jacobian times vector."""
    smooth = [output for output in outputs if is_smooth(output)]
    seeds = [argument(_any_cotangent(output)) for output in smooth]
    back = vjp([output.node for output in smooth], seeds, [target.node for target in targets])
    flowing = [(linear, tangent) for linear, tangent in zip(back, tangents, strict=True) if linear is not None]
    found = vjp([linear.node for linear, _ in flowing], [t for _, t in flowing], [seed.node for seed in seeds])
    given = iter(found)
    return [_or_zeros(next(given) if is_smooth(output) else None, output) for output in outputs]


def _any_cotangent(output: Tensor) -> Tensor:
    """A cotangent like no other: where a rule looks at its own for whether it has an answer, zero would say nothing."""
    wide = "float64" if str(output.dtype) in ("float64", "complex128") else "float32"
    places = arange(product(output.node.shape), dtype=wide)
    return astype(reshape(cos(places), output.node.shape), output.dtype)


def _or_zeros(derivative: Tensor | None, value: Tensor) -> Tensor:
    return zeros_like(value) if derivative is None else derivative


def as_like(value: Any, model: Tensor, name: str) -> Tensor:
    """A tangent or cotangent as a Tensor, which must have the shape of its value and gets its dtype.

    Raises
    ------
    TypeError
        If it is no array, or no number for a value without axes.
    ValueError
        If it has another shape.
    """
    if is_number(value) and not model.ndim:
        value = asarray(value, host_namespace(), dtype=str(model.dtype))
    if not (is_tensor(value) or is_array(value)):
        raise TypeError(f"{name} must hold an array of shape {model.shape} here, got {type(value).__name__}")
    tensor = as_tensor(value)
    pairs = zip(tensor.node.shape, model.node.shape, strict=False)
    if tensor.ndim != model.ndim or any(same_length(a, b) is False for a, b in pairs):
        raise ValueError(f"{name} must hold an array of shape {model.shape} here, got shape {tensor.shape}")
    if tensor.dtype[0] == "c" and model.dtype[0] != "c":
        raise TypeError(f"{name} must be real where the value is, got {tensor.dtype}")
    return tensor
