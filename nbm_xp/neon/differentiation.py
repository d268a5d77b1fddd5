"""Gradients of op-trees, as op-trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from nbm_xp import tape
from nbm_xp.functions import arithmetic, reductions

from .buffers import Buffer
from .optrees import OpTree, tree_of

__all__ = ["gradients"]


def gradients(
    tree: OpTree, buffers: Sequence[Buffer], error: Any = None, *, disconnected: Literal["raise", "zero"] = "raise"
) -> list[OpTree]:
    """Differentiate an op-tree with respect to buffers it was recorded from.

    Parameters
    ----------
    tree : OpTree
        What is differentiated.
    buffers : sequence of Buffer
        Buffers, or views of buffers, that occur in the tree. A buffer collects what reaches it through its views.
    error : buffer, op-tree or array, optional
        The gradient in the tree's elements, broadcast to their shape; by default 1 for each, which gives the gradient
        of their sum.
    disconnected : {"raise", "zero"}
        What to do for a buffer that the tree does not depend on.

    Returns
    -------
    list of OpTree
        The gradients, of the buffers' shapes and dtypes: to be assigned to buffers.

    Raises
    ------
    TypeError
        If `tree` is no op-tree, or one of the buffers no buffer.
    ValueError
        If the tree does not depend on one of them, and `disconnected` is ``"raise"``.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> x, dx = be.array([[1.0, 2.0, 3.0]]), be.zeros((1, 3))
    >>> (dx[:],) = gradients(be.square(x), [x])
    >>> dx.get()
    array([[2., 4., 6.]], dtype=float32)
    """
    if not isinstance(tree, OpTree):
        raise TypeError(f"tree must be an op-tree, got {type(tree).__name__}")
    if not isinstance(buffers, (list, tuple)):
        raise TypeError(f"buffers must be a list of Buffers, got {type(buffers).__name__}")
    for buffer in buffers:
        if not isinstance(buffer, Buffer):
            raise TypeError(f"buffers must hold Buffers, got {type(buffer).__name__}")
    backend = tree.backend
    weighted = tree if error is None else arithmetic.multiply(tree, error)
    found = tape.gradients(reductions.sum(weighted), list(buffers), disconnected)
    return [tree_of(gradient, backend) for gradient in found]
