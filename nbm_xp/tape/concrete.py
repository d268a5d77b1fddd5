"""Values that are looked at while recording, for functions whose result has a shape that depends on data.

Variables and constants may be looked at. Inputs have no value yet, arrays of a lazy library are computed only when the
user says so, and random draws are drawn anew at every run: where one of these is involved, the function is refused.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import default_namespace, is_lazy, running_namespace

from .node import CONSTANT, PLACEHOLDER, VARIABLE
from .operators import FUNCTIONS
from .tensor import Tensor
from .traversal import reachable

__all__ = ["concrete", "what_is_unknown"]


def what_is_unknown(x: Tensor) -> str | None:
    """Why a Tensor has no value yet, in words; None if it has one."""
    arrays = []
    for node in reachable([x.node]):
        if node.op is PLACEHOLDER:
            return f"it depends on the input {node.name or repr(node)}"
        if node.op is CONSTANT:
            arrays.append(node.payload)
        elif node.op is VARIABLE:
            if node.payload.is_state or node.payload.default_update is not None:
                return "it depends on random draws, which are drawn anew at every run"
            arrays.append(node.payload.value)
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
    reason = what_is_unknown(x)
    if reason is not None:
        raise ValueError(
            f"the length of what {function} gives depends on data, which must be known while recording; {reason}"
        )
    return FUNCTIONS["evaluate"](x)
