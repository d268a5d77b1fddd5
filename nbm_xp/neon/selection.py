"""A Backend's selections: elements by number, and numbers as columns or rows with a one."""

from __future__ import annotations

from typing import Any

from nbm_xp.functions import joining
from nbm_xp.functions.shaping import flatten, transpose
from nbm_xp.namespace import asarray, host_namespace, is_array, is_integer
from nbm_xp.tape import Tensor, as_tensor

from .buffers import Buffer
from .engine import Engine
from .optrees import OpTree, tree_of
from .views import Permuted

__all__ = ["OneHot", "copy_transpose", "onehot", "places", "take"]


class OneHot(OpTree):
    """Numbers as columns, or rows, with a one: a tree whose number of classes is that of the buffer it is assigned to.

    Made by `Backend.onehot`.
    """

    __slots__ = ("axis", "indices")

    def __init__(self, indices: Tensor, axis: int, backend: Any) -> None:
        self.indices = indices
        self.axis = axis
        self.backend = backend
        self.target = None

    def __getattr__(self, name: str) -> Any:
        if name == "node":
            raise ValueError("onehot takes its number of classes from a buffer: assign it to one before it is used")
        return super().__getattr__(name)

    def for_shape(self, shape: tuple[int, ...]) -> OpTree:
        """The tree for a buffer of a shape."""
        if not shape[self.axis]:
            raise ValueError(f"out must have the classes along axis {self.axis}, got shape {shape}")
        rows = joining.one_hot(flatten(self.indices), shape[self.axis])
        return tree_of(rows if self.axis == 1 else transpose(rows), self.backend)


def places(self: Engine, indices: Any) -> Tensor:
    """Indices as a Tensor of integers."""
    if isinstance(indices, Tensor):
        return indices
    if not is_array(indices) and not isinstance(indices, (int, list, tuple, range)):
        raise TypeError(f"indices must be integers, got {indices!r}")
    nothing = isinstance(indices, (list, tuple, range)) and not indices  # whose dtype no element decides
    array = indices if is_array(indices) else asarray(indices, host_namespace(), "int32" if nothing else None)
    if not is_integer(array):
        raise TypeError(f"indices must be integers, got {array.dtype}")
    return as_tensor(asarray(array, self.xp, "int32"))


def take(self: Engine, a: Any, indices: Any, axis: int | None, out: Buffer | None = None) -> Any:
    """Elements at some places along an axis.

    Parameters
    ----------
    a, out
        See `dot`.
    indices : buffer, op-tree, array or list of int
        The places, in any shape; one that is named twice is taken twice.
    axis : int or None
        The axis; None means all elements in a row.

    Returns
    -------
    OpTree or Buffer
        The tree, or `out`.

    Raises
    ------
    TypeError
        If `indices` are not integers.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.take(be.array([[1.0, 2.0, 3.0]]), [2, 0], axis=1).get()
    array([[3., 1.]], dtype=float32)
    """
    return self.record(joining.take, out, a, places(self, indices), axis=axis)


def onehot(self: Engine, indices: Any, axis: int, out: Buffer | None = None) -> Any:
    """Numbers of classes as columns or rows of zeros with a one.

    Parameters
    ----------
    indices : buffer, op-tree, array or list of int
        The classes, in any shape; one for each example.
    axis : {0, 1}
        The axis of the classes: 0 gives a column for each example, 1 a row.
    out : Buffer, optional
        Where the result goes; it says how many classes there are.

    Returns
    -------
    OpTree or Buffer
        The tree, which is to be assigned to a buffer and has no shape before, or `out`.

    Raises
    ------
    TypeError
        If `indices` are not integers.
    ValueError
        If `axis` is neither 0 nor 1.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> out = be.zeros((3, 2))
    >>> out[:] = be.onehot([2, 0], axis=0)
    >>> out.get()
    array([[0., 1.],
           [0., 0.],
           [1., 0.]], dtype=float32)
    """
    if isinstance(axis, bool) or axis not in (0, 1):
        raise ValueError(f"axis must be 0 or 1, got {axis!r}")
    classes = places(self, indices)
    if not is_integer(classes):
        raise TypeError(f"indices must be integers, got {classes.dtype}")
    tree = OneHot(classes, axis, self)
    if out is None:
        return tree
    if not isinstance(out, Buffer):
        raise TypeError(f"out must be a Buffer, got {type(out).__name__}")
    self.assign_tree(out, tree, "what goes to out")
    return out


def copy_transpose(self: Engine, a: Buffer, out: Buffer, axes: Any = None, repeat: int = 1) -> None:
    """Copy with the axes in another order.

    Parameters
    ----------
    a, out : Buffer
        From where, and where to.
    axes : sequence of int, optional
        The order; by default the reverse.
    repeat : int
        Taken and not used.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> out = be.zeros((2, 1))
    >>> be.copy_transpose(be.array([[1.0, 2.0]]), out)
    >>> out.get()
    array([[1.],
           [2.]], dtype=float32)
    """
    order = tuple(axes) if axes is not None else tuple(reversed(range(a.ndim)))
    out.write(Permuted(order).read(self.xp, a.array))
