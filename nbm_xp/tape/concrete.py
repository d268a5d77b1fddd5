"""Values that are looked at while recording, for functions whose result has a shape that depends on data.

Variables and constants may be looked at. Inputs have no value yet, arrays of a lazy library are computed only when the
user says so, and random draws are drawn anew at every run: where one of these is involved, an error is raised. A length
that is given as an integer Tensor is known while recording where numbers and constants alone decide it.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import (
    default_namespace,
    host_namespace,
    is_lazy,
    library_name,
    recording_namespace,
    running_namespace,
    to_numpy,
    use_backend,
)

from .graph import is_differentiated, walk
from .lengths import Length, Size, as_length, value_length
from .node import CONSTANT, PLACEHOLDER, VARIABLE, Node
from .tensor import Tensor

__all__ = ["concrete", "integer_length", "is_lasting", "lasting_number", "recorded_length"]


def _why_unknown(node: Node, *, for_good: bool) -> str | None:
    """Why a value is not known now, or not for good; None where it is."""
    arrays = []
    for needed in walk([node], lambda other: () if other.memo is not None else other.inputs):
        if needed.op is PLACEHOLDER:
            return f"it depends on the input {needed.name or repr(needed)}"
        if needed.op is VARIABLE:
            if needed.payload.is_state or needed.payload.default_update is not None:
                return "it depends on random draws, which are drawn anew at every run"
            if for_good:
                return f"it depends on {needed.payload!r}, which may be set"
            arrays.append(needed.payload.value)
        elif needed.memo is not None:
            arrays.append(needed.memo)
        elif needed.op is CONSTANT:
            arrays.append(needed.payload)
    if is_lazy(running_namespace(arrays, default_namespace())):
        return "it depends on lazy arrays, which are never computed unasked"
    return None


def concrete(x: Tensor, function: str) -> Any:
    """The array that a Tensor is, looked at now for a function whose result's length depends on it.

    Raises
    ------
    ValueError
        If the value is not known yet; the message names the function and says why.
    """
    reason = _why_unknown(x.node, for_good=False)
    if reason is not None:
        raise ValueError(
            f"the length of what {function} gives depends on data, which must be known while recording; {reason}"
        )
    return recording_namespace().look(x)


def is_lasting(x: Tensor) -> bool:
    """Whether constants alone decide a value, which is there for the asking: what is differentiated is none."""
    return not is_differentiated(x.node) and _why_unknown(x.node, for_good=True) is None


def lasting_number(node: Node) -> Any:
    """The value of a scalar that nothing can change; None where inputs, variables or lazy arrays decide it."""
    with use_backend(library_name(host_namespace())):  # for numbers alone, which are the same in every library
        if _why_unknown(node, for_good=True) is not None:
            return None
        return to_numpy(recording_namespace().look(Tensor(node))).item()


def integer_length(value: Any) -> Any:
    """A length from an int, a Length or an integer Tensor without axes; an int where nothing can change it."""
    length = recorded_length(value)
    if isinstance(value, Tensor) and isinstance(length, Length):
        lasting = lasting_number(value.node)
        return length if lasting is None else lasting
    return length


def recorded_length(value: Any) -> Any:
    """A length from an int, a Length or an integer Tensor without axes, as it was recorded: nothing is looked at."""
    if not isinstance(value, Tensor):
        return as_length(value)
    if value.ndim or value.dtype.kind not in "iu":
        raise TypeError(f"a length must be an integer Tensor without axes, got {value!r}")
    return _recorded_length(value.node)


def _recorded_length(node: Node) -> Size:
    """The length that a scalar was made of (``shape(x)[0]``), or the scalar's value."""
    if node.op.name == "getitem" and node.args[0].op.name == "concat" and type(node.args[1][0]) is int:
        parts = node.args[0].args[0]
        if all(part.op.name == "reshape" and part.shape == (1,) for part in parts):
            node = parts[node.args[1][0]].args[0]
    if node.op.name == "scalar" and isinstance(node.args[0], (int, Length)):
        return node.args[0]
    return value_length(node)
