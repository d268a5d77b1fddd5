"""What `function` accepts: updates of variables, Tensors in the place of others, inputs that something depends on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .node import Node
from .standard.casting import cast as as_kind
from .tensor import Tensor, as_tensor
from .traversal import reachable
from .variable import Variable

__all__ = ["checked_givens", "checked_updates", "new_value", "report_unused"]


def checked_givens(givens: Any) -> dict[Node, Node]:
    """What is to be put in the place of what, as nodes."""
    found = {key.node: _replacement(key, value).node for key, value in _pairs(givens, "givens")}
    _check_no_circle(found)
    return found


def _check_no_circle(givens: Mapping[Node, Node]) -> None:
    for key, value in givens.items():
        if value in reachable(value.inputs, (), givens):
            raise ValueError(f"givens must not define {key.name or key!r} by itself")


def _replacement(key: Tensor, value: Any) -> Tensor:
    tensor = as_tensor(value)
    if tensor.ndim != key.ndim:
        raise TypeError(f"givens must keep the number of axes: {key!r} has {key.ndim}, its replacement {tensor.ndim}")
    return as_kind(tensor, key.dtype)


def checked_updates(updates: Any) -> list[tuple[Variable, Tensor]]:
    """Variables and their new values, each variable once."""
    checked: dict[Variable, Tensor] = {}
    for variable, value in _pairs(updates, "updates"):
        if not isinstance(variable, Variable):
            raise TypeError(f"updates must be of Variables, got {variable!r}")
        if variable in checked:
            raise ValueError(f"updates must name a variable once, got {variable!r} twice")
        checked[variable] = new_value(variable, as_tensor(value))
    return list(checked.items())


def new_value(variable: Variable, value: Tensor) -> Tensor:
    """A new value in the dtype of its variable, of which it must have the number of axes."""
    if value.ndim != variable.ndim:
        raise TypeError(f"update of {variable!r} must have {variable.ndim} axes, got {value.ndim}")
    return as_kind(value, variable.dtype)


def _pairs(mapping: Any, label: str) -> list[tuple[Any, Any]]:
    if mapping is None:
        return []
    pairs = list(mapping.items()) if hasattr(mapping, "items") else [tuple(pair) for pair in mapping]
    for pair in pairs:
        if len(pair) != 2:
            raise TypeError(f"{label} must be a mapping or pairs, got an entry of {len(pair)} items")
        if not isinstance(pair[0], Tensor):
            raise TypeError(f"{label} must map Tensors, got {type(pair[0]).__name__}")
    return cast("list[tuple[Any, Any]]", pairs)


def report_unused(unused: Sequence[Node], action: str) -> None:
    """Warn of inputs that nothing depends on, or raise."""
    if not unused:
        return
    message = f"inputs that no output or update depends on: {', '.join(n.name or repr(n) for n in unused)}"
    if action == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=3)
