"""Gradients of op-trees, as op-trees: `gradients`, and neon's `Autodiff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from nbm_xp import tape
from nbm_xp.functions import arithmetic, reductions

from .buffers import Buffer
from .optrees import OpTree, tree_of


def gradients(
    tree: OpTree, buffers: Sequence[Buffer], error: Any = None, *, disconnected: Literal["raise", "zero"] = "raise"
) -> list[OpTree]:
    """Differentiate an op-tree with respect to buffers that it depends on.

    Parameters
    ----------
    tree : OpTree
        The op-tree to differentiate.
    buffers : sequence of Buffer
        Buffers, or views of buffers, in the tree. The gradient of a buffer includes the contributions of its views.
    error : buffer, op-tree or array, optional
        Output gradient, broadcast to the tree's shape. Defaults to ones, which gives the gradient of the sum of the
        tree's elements.
    disconnected : {"raise", "zero"}
        Whether to raise an error, or to return zeros, for a buffer that the tree does not depend on.

    Returns
    -------
    list of OpTree
        The gradients, with the buffers' shapes and dtypes.

    Raises
    ------
    TypeError
        If `tree` is not an op-tree, or `buffers` has an element that is not a buffer.
    ValueError
        If the tree does not depend on a buffer, and `disconnected` is ``"raise"``.

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
    _check_buffers(buffers, "buffers")
    backend = tree.backend
    weighted = tree if error is None else arithmetic.multiply(tree, error)
    found = tape.gradients(reductions.sum(weighted), list(buffers), disconnected)
    return [tree_of(gradient, backend) for gradient in found]


def _check_buffers(buffers: Sequence[Any], name: str) -> None:
    for buffer in buffers:
        if not isinstance(buffer, Buffer):
            raise TypeError(f"{name} must hold Buffers, got {type(buffer).__name__}")


if TYPE_CHECKING:
    from .backend import Backend


class Autodiff:
    """Gradients of an op-tree.

    Parameters
    ----------
    op_tree : OpTree
        The op-tree to differentiate.
    be : Backend
        The backend of the tree's buffers.
    next_error : Buffer or OpTree, optional
        Output gradient, of the tree's shape. Defaults to ones.

    Raises
    ------
    TypeError
        If `op_tree` is not an op-tree.
    ValueError
        If `next_error` has another shape.

    Notes
    -----
    The gradient of a buffer that the tree does not depend on is 0. The gradient of a view includes the contributions of
    all views of the same elements.

    Examples
    --------
    >>> from nbm_xp.neon import Autodiff, Backend
    >>> be = Backend(library="cpu")
    >>> x, y = be.array([[1.0, 2.0]]), be.ones((1, 2))
    >>> [found.tolist() for found in Autodiff(be.square(x), be).get_grad_asnumpyarray([x, y])]
    [[[2.0, 4.0]], [[0.0, 0.0]]]
    """

    def __init__(self, op_tree: OpTree, be: Backend, next_error: Any = None) -> None:
        if not isinstance(op_tree, OpTree):
            raise TypeError(f"op_tree must be an op-tree, got {type(op_tree).__name__}")
        if next_error is not None and tuple(next_error.shape) != tuple(op_tree.shape):
            raise ValueError(f"next_error must have the op-tree's shape {op_tree.shape}, got {next_error.shape}")
        self.op_tree = op_tree
        self.be = be
        self.dtype = be.default_dtype
        self.next_error = next_error

    def get_grad_op_tree(self, tensors: Sequence[Buffer]) -> list[OpTree]:
        """Return the gradients with respect to buffers, as op-trees.

        Parameters
        ----------
        tensors : sequence of Buffer
            Buffers, or views of buffers.

        Returns
        -------
        list of OpTree
            Gradients of the buffers' shapes. They use the values of `next_error` at the time of computation.

        Raises
        ------
        TypeError
            If an element is not a buffer.
        """
        _check_buffers(tensors, "tensors")
        roots = list({id(tensor.root): tensor.root for tensor in tensors}.values())
        found = gradients(self.op_tree, roots, self.next_error, disconnected="zero")
        slopes = {id(root): slope for root, slope in zip(roots, found, strict=True)}
        return [tree_of(tensor.shown(slopes[id(tensor.root)]), self.be) for tensor in tensors]

    def get_grad_tensor(self, tensors: Sequence[Buffer]) -> list[Buffer]:
        """Return the gradients with respect to buffers, as new buffers of the default dtype.

        Parameters
        ----------
        tensors : sequence of Buffer
            See `get_grad_op_tree`.
        """
        return [self.be.array(tree) for tree in self.get_grad_op_tree(tensors)]

    def get_grad_asnumpyarray(self, tensors: Sequence[Buffer]) -> list[Any]:
        """Return the gradients with respect to buffers, as NumPy arrays of the default dtype.

        Parameters
        ----------
        tensors : sequence of Buffer
            See `get_grad_op_tree`.
        """
        return [buffer.get() for buffer in self.get_grad_tensor(tensors)]

    def back_prop_grad(self, tensors: Sequence[Buffer], gradients: Sequence[Buffer]) -> None:
        """Write the gradients with respect to buffers to other buffers.

        Parameters
        ----------
        tensors : sequence of Buffer
            See `get_grad_op_tree`.
        gradients : sequence of Buffer
            Destinations of the gradients. They may be buffers that the tree or the error depends on: all gradients are
            computed before the first is written.

        Raises
        ------
        TypeError, ValueError
            If an element is not a buffer, or the shapes do not fit. Nothing is written in that case.
        """
        _check_buffers(gradients, "gradients")
        trees = self.get_grad_op_tree(tensors)
        if len(trees) != len(gradients):
            raise ValueError(f"gradients must be one for each of {len(trees)} tensors, got {len(gradients)}")
        pairs = list(zip(trees, gradients, strict=True))
        for place, (tree, buffer) in enumerate(pairs):
            buffer.check_fits(tuple(map(int, tree.shape)), f"gradient {place}")
        computed = [self.be.array(tree, dtype=buffer.dtype) for tree, buffer in pairs]
        for buffer, value in zip(gradients, computed, strict=True):
            buffer.assign(value)

    def cleanup(self) -> None:
        """Do nothing: recorded nodes are freed with their last reference."""
