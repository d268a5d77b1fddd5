"""Gradients as a user asks for them, and `stop_gradient`.

Gradients are Tensors, recorded by a pass over the graph in reverse, so gradients of gradients come the same way.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, Literal, cast, overload

from nbm_xp.namespace import floatx

from .backward import differentiable, vjp
from .differentiated import STOP
from .node import IFELSE_NAME, Node
from .standard.creation import asarray, zeros_like
from .standard.manipulation import reshape
from .tensor import Tensor, as_tensor, is_tensor, record
from .traversal import reachable

__all__ = ["gradients", "stop_gradient"]

Disconnected = Literal["raise", "zero", "none"]


@overload
def gradients(
    loss: Tensor, variables: Tensor, disconnected: Disconnected = ..., *, keep_dtype: builtins.bool = ...
) -> Tensor: ...
@overload
def gradients(
    loss: Tensor, variables: Sequence[Tensor], disconnected: Disconnected = ..., *, keep_dtype: builtins.bool = ...
) -> list[Tensor]: ...
def gradients(
    loss: Tensor,
    variables: Tensor | Sequence[Tensor],
    disconnected: Disconnected = "raise",
    *,
    keep_dtype: builtins.bool = True,
) -> Tensor | list[Tensor]:
    """Differentiate a scalar with respect to Tensors it was computed from.

    Parameters
    ----------
    loss : Tensor
        A Tensor without axes, or with axes of length 1 alone.
    variables : Tensor or sequence of Tensor
        Variables, placeholders or any recorded values.
    disconnected : {"raise", "zero", "none"}
        What to do for one that the loss does not depend on.
    keep_dtype : bool
        Whether a gradient is cast to the dtype of its variable. If not, it stays in the wider dtype in which it was
        computed, where the expression mixed dtypes.

    Returns
    -------
    Tensor or list of Tensor
        Gradients with the shapes and dtypes of `variables`; one for one.

    Raises
    ------
    TypeError
        If `loss` is no Tensor, has several elements, or is complex.
    ValueError
        If the loss does not depend on a variable, and `disconnected` is ``"raise"``.
    NotImplementedError
        If an operation on the way has no gradient rule; the message names it.

    Notes
    -----
    The gradient of a real loss u in a complex variable z = x + iy is du/dx - i du/dy, which is the convention of JAX:
    a small step dz changes the loss by the real part of the gradient times dz, and a rule multiplies by the derivative
    of a holomorphic function without conjugating it. The direction of steepest descent is minus its conjugate. What
    reaches a real variable by way of complex values is the real part.

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients
    >>> x = Variable(3.0)
    >>> float(gradients(x * x, x))
    6.0
    """
    if is_tensor(loss) and loss.ndim and loss.size == 1:
        loss = reshape(loss, ())
    if not is_tensor(loss) or loss.ndim:
        raise TypeError(f"loss must be a Tensor without axes, or of one element, got {loss!r}")
    if loss.dtype[0] == "c":
        raise TypeError(
            f"loss must be real, got {loss.dtype}: differentiate its real part, its imaginary part or its size"
        )
    single = isinstance(variables, Tensor)
    targets = [variables] if isinstance(variables, Tensor) else list(variables)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"variables must be Tensors, got {type(target).__name__}")
    found = vjp(
        [loss.node], [asarray(1.0, dtype=_real(loss))], [target.node for target in targets], keep_dtype=keep_dtype
    )
    results = []
    for target, gradient in zip(targets, found, strict=True):
        if gradient is None and disconnected == "raise" and not _depends(loss.node, target.node):
            raise ValueError(f"loss does not depend on {target.name or target!r}, so it has no gradient there")
        if gradient is None and disconnected != "none":
            gradient = zeros_like(target, dtype=target.dtype if differentiable(target.node) else floatx())
        results.append(gradient)
    return cast("Tensor", results[0]) if single else cast("list[Tensor]", results)


def _real(loss: Tensor) -> Any:
    return loss.dtype if loss.dtype[0] in "fc" else floatx()


def _depends(loss: Node, target: Node) -> bool:
    """Whether a path leads from target to loss that no `stop_gradient` cuts."""
    reached = {target}
    for node in reachable([loss]):
        if (node.op is not STOP and any(parent in reached for parent in node.array_args())) or (
            node.op.name == IFELSE_NAME and any(parent in reached for parent in node.inputs)
        ):
            reached.add(node)
    return loss in reached


def stop_gradient(x: Any) -> Any:
    """The same value, through which no gradient flows.

    Parameters
    ----------
    x : Tensor, or list or tuple of Tensors
        What to hold constant.

    Returns
    -------
    Tensor, or list of Tensor

    Examples
    --------
    >>> from nbm_xp.tape import Variable, gradients, stop_gradient
    >>> x = Variable(3.0)
    >>> float(gradients(x * stop_gradient(x), x))
    3.0
    """
    if isinstance(x, (list, tuple)):
        return [stop_gradient(item) for item in x]
    return record(STOP, as_tensor(x))
