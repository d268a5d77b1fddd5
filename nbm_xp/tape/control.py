"""Control flow by value: `ifelse` computes only the branch that is taken."""

from __future__ import annotations

from typing import Any

from .dtypes import common_dtype
from .lengths import Size, axis_length, same_length
from .node import IFELSE_NAME, Node, call_of, declare
from .standard.data_types import astype
from .tensor import Tensor, as_tensor, output

__all__ = ["ifelse"]


def _run_both(xp: Any, condition: Any, taken: tuple[Any, ...], otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where a value cannot be looked at, both branches are computed and one is selected."""
    return tuple(xp.where(condition, a, b) for a, b in zip(taken, otherwise, strict=True))


_IFELSE = declare(IFELSE_NAME, lambda *args: [], run=_run_both, may_overlap=True)


def ifelse(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two values, by a condition that is known when the graph runs.

    Parameters
    ----------
    condition : Tensor
        A scalar; 0 is false.
    then_expression, else_expression : Tensor, or list or tuple of Tensors
        The values; equal in number, dtype and number of axes. Only what the chosen one needs is computed (on a lazy
        library both are).

    Returns
    -------
    Tensor, or list of Tensor

    Raises
    ------
    TypeError
        If the condition is no scalar, or the values differ in their number of axes.
    ValueError
        If the branches differ in their number of values.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, ifelse
    >>> x = Variable(2.0)
    >>> float(ifelse(x > 1.0, x * 10.0, x))
    20.0
    """
    single = not isinstance(then_expression, (list, tuple)) and not isinstance(else_expression, (list, tuple))
    taken = [as_tensor(v) for v in ([then_expression] if single else then_expression)]
    otherwise = [as_tensor(v) for v in ([else_expression] if single else else_expression)]
    if len(taken) != len(otherwise):
        raise ValueError(f"both branches must have as many values, got {len(taken)} and {len(otherwise)}")
    chosen = as_tensor(condition)
    if chosen.ndim:
        raise TypeError(f"condition must be a scalar, with 0 for false, got shape {chosen.shape}")
    if chosen.dtype != "bool":
        chosen = chosen != 0
    pairs = [_alike(a, b) for a, b in zip(taken, otherwise, strict=True)]
    args = (chosen.node, tuple(a.node for a, _ in pairs), tuple(b.node for _, b in pairs))
    call = call_of(_IFELSE, args)
    results = [Tensor(_merged(call, index, a.node, b.node)) for index, (a, b) in enumerate(pairs)]
    return results[0] if single else results


def _alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    if a.ndim != b.ndim:
        raise TypeError(f"both branches must have as many axes, got shapes {a.shape} and {b.shape}")
    dtype = common_dtype(a.dtype, b.dtype)
    first, second = (t if t.dtype == dtype else astype(t, dtype) for t in (a, b))
    return first, second


def _merged(call: Node, index: int, a: Node, b: Node) -> Node:
    """The result of a branch; a length in which the branches differ is a symbol of its own."""
    node = output(call, index, (), a.dtype)
    lengths: list[Size] = []
    for axis, (left, right) in enumerate(zip(a.shape, b.shape, strict=True)):
        lengths.append(left if same_length(left, right) else axis_length(node, axis))
    node.shape = tuple(lengths)
    return node
