"""Creation of buffers, and selection of elements by index."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.functions import joining
from nbm_xp.functions.shaping import flatten, transpose
from nbm_xp.namespace import asarray, dtype_name, host_namespace, is_array, is_complex, is_integer
from nbm_xp.tape import Tensor, as_tensor
from nbm_xp.tape.dtypes import DType, as_dtype

from .buffers import Buffer
from .engine import Engine
from .memory import Step, filled, holding, lengths_of
from .optrees import OpTree, tree_of


class OneHot(OpTree):
    """One-hot columns or rows of indices; the buffer that it is assigned to determines the number of classes.

    Returned by `Backend.onehot`.
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
        """Return the tree for a buffer of a given shape."""
        if not shape[self.axis]:
            raise ValueError(f"out must have the classes along axis {self.axis}, got shape {shape}")
        rows = joining.one_hot(flatten(self.indices), shape[self.axis])
        return tree_of(rows if self.axis == 1 else transpose(rows), self.backend)


def _shape_of(other_ary: Any) -> tuple[int, ...]:
    if not hasattr(other_ary, "shape"):
        raise TypeError(f"other_ary must have a shape, got {type(other_ary).__name__}")
    return tuple(map(int, other_ary.shape))


class Creation(Engine):
    """A Backend's methods that create buffers and select elements by index."""

    def empty(
        self, shape: Any, dtype: Any = None, name: str | None = None, persist_values: bool = True,
        parallel: bool = False, distributed: bool = False,
    ) -> Buffer:  # fmt: skip
        """Create a buffer whose values are not set.

        Parameters
        ----------
        shape : int or sequence of int
            Lengths of the axes. Missing ones are appended, so that there are two.
        dtype : optional
            By name or as any library has it; without it, the backend's default.
        name : str, optional
            A name, shown in its representation.
        persist_values, parallel, distributed : bool
            Stored as attributes; without effect on one device.

        Returns
        -------
        Buffer

        Raises
        ------
        TypeError
            If the library has no such dtype, or it is complex.
        ValueError
            If a length is negative.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.empty(3).shape
        (3, 1)
        """
        return self._filled("empty", shape, dtype, name, persist_values, parallel, distributed)

    def zeros(
        self, shape: Any, dtype: Any = None, name: str | None = None, persist_values: bool = True,
        parallel: bool = False, distributed: bool = False,
    ) -> Buffer:  # fmt: skip
        """Create a buffer of zeros.

        Parameters
        ----------
        shape, dtype, name, persist_values, parallel, distributed
            See `empty`.

        Returns
        -------
        Buffer

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.zeros((1, 2)).get()
        array([[0., 0.]], dtype=float32)
        """
        return self._filled("zeros", shape, dtype, name, persist_values, parallel, distributed)

    def ones(
        self, shape: Any, dtype: Any = None, name: str | None = None, persist_values: bool = True,
        parallel: bool = False, distributed: bool = False,
    ) -> Buffer:  # fmt: skip
        """Create a buffer of ones.

        Parameters
        ----------
        shape, dtype, name, persist_values, parallel, distributed
            See `empty`.

        Returns
        -------
        Buffer

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.ones((1, 2), dtype="int8").get()
        array([[1, 1]], dtype=int8)
        """
        return self._filled("ones", shape, dtype, name, persist_values, parallel, distributed)

    def empty_like(self, other_ary: Any, name: str | None = None, persist_values: bool = True) -> Buffer:
        """Create a buffer whose values are not set, of another one's shape and the default dtype.

        Parameters
        ----------
        other_ary : buffer, op-tree or array
            What has the shape.
        name, persist_values
            See `empty`.

        Returns
        -------
        Buffer

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.empty_like(be.zeros((2, 3))).shape
        (2, 3)
        """
        return self._filled("empty", _shape_of(other_ary), None, name, persist_values)

    def zeros_like(self, other_ary: Any, name: str | None = None, persist_values: bool = True) -> Buffer:
        """Create a buffer of zeros, of another one's shape and the default dtype.

        Parameters
        ----------
        other_ary : buffer, op-tree or array
            What has the shape.
        name, persist_values
            See `zeros`.

        Returns
        -------
        Buffer

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.zeros_like(be.ones((1, 2))).get()
        array([[0., 0.]], dtype=float32)
        """
        return self._filled("zeros", _shape_of(other_ary), None, name, persist_values)

    def array(
        self, ary: Any, dtype: Any = None, name: str | None = None, persist_values: bool = True,
        parallel: bool = False, distributed: bool = False,
    ) -> Buffer:  # fmt: skip
        """Create a buffer from values.

        Parameters
        ----------
        ary : array, buffer, op-tree, number or nested list
            The values; copied. A vector becomes a column, a number an array of shape (1, 1).
        dtype, name, persist_values, parallel, distributed
            See `empty`. `dtype` defaults to the backend's default dtype, whatever the dtype of `ary`.

        Returns
        -------
        Buffer

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").array([1, 2]).get()
        array([[1.],
               [2.]], dtype=float32)
        """
        kind = self._real_dtype(dtype)
        options = (name, persist_values, parallel, distributed)
        if isinstance(ary, Buffer):
            ary = ary.array
        elif isinstance(ary, Tensor):
            made = self._filled("empty", tuple(map(int, ary.shape)), kind, *options)
            return made.assign(ary)
        return Buffer(self, holding(ary, str(kind), self.xp), *options)

    def iobuf(
        self, dim0: Any, x: Buffer | None = None, dtype: Any = None, name: str | None = None,
        persist_values: bool = True, shared: Buffer | None = None, parallelism: str | None = None,
    ) -> Buffer:  # fmt: skip
        """Create a buffer of zeros for the input or output of a layer, for batches of ``bsz`` examples.

        Parameters
        ----------
        dim0 : int or tuple of int
            The number of features, for one column per example; a pair (features, time steps), for one column per step
            and example; or three or more lengths, whose product is the number of features.
        x : Buffer, optional
            Returned unchanged if given.
        dtype, name, persist_values
            See `empty`.
        shared : Buffer, optional
            Buffer whose first elements are reused and set to zero; the result has its dtype.
        parallelism : str, optional
            Stored as an attribute; no effect on a single device.

        Returns
        -------
        Buffer

        Raises
        ------
        TypeError
            If `shared` is not a buffer.
        ValueError
            If ``bsz`` is not set, or `shared` has too few elements.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.bsz = 32
        >>> be.iobuf(10).shape, be.iobuf((10, 5)).shape, be.iobuf((3, 8, 8)).shape
        ((10, 32), (10, 160), (192, 32))
        """
        if x is not None:
            return x
        lengths = lengths_of(dim0)
        if self.bsz is None:
            raise ValueError("iobuf makes buffers for batches: set the backend's bsz to the number of examples first")
        if len(lengths) == 2:
            shape = lengths[0], lengths[1] * self.bsz
        else:
            shape = math.prod(lengths), self.bsz
        if shared is not None and not isinstance(shared, Buffer):
            raise TypeError(f"shared must be a Buffer, got {type(shared).__name__}")
        if shared is None:
            made = self.zeros(shape, dtype, name, persist_values)
        else:
            made = shared.share(shape, dtype, name).fill(0)
            made.persist_values = persist_values
        made.parallelism = parallelism  # type: ignore[attr-defined]
        return made

    def shared_iobuf_size(self, shape: Any, parallelism: str | None) -> int:
        """Return the number of elements that a shared `iobuf` needs.

        Parameters
        ----------
        shape : int or tuple of int
            The shape of the buffer.
        parallelism : str or None
            No effect on a single device.

        Returns
        -------
        int

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").shared_iobuf_size((3, 4), None)
        12
        """
        return math.prod(lengths_of(shape))

    def _filled(self, kind: str, shape: Any, dtype: Any, *options: Any) -> Buffer:
        storage = filled(kind, lengths_of(shape), str(self._real_dtype(dtype)), self.xp)
        return Buffer(self, storage, *options)

    def _real_dtype(self, dtype: Any) -> DType:
        if dtype is None:
            return self.dtype
        kind = as_dtype(dtype_name(dtype))
        if is_complex(kind):
            raise TypeError(f"dtype must be one of real numbers, got {kind}")
        return kind

    def places(self, indices: Any) -> Tensor:
        """Convert indices to a Tensor of integers."""
        if isinstance(indices, Tensor):
            return indices
        if not is_array(indices) and not isinstance(indices, (int, list, tuple, range)):
            raise TypeError(f"indices must be integers, got {indices!r}")
        nothing = isinstance(indices, (list, tuple, range)) and not indices  # empty: no element determines the dtype
        array = indices if is_array(indices) else asarray(indices, host_namespace(), "int32" if nothing else None)
        if not is_integer(array):
            raise TypeError(f"indices must be integers, got {array.dtype}")
        return as_tensor(asarray(array, self.xp, "int32"))

    def take(self, a: Any, indices: Any, axis: int | None, out: Buffer | None = None) -> Any:
        """Take elements at indices along an axis.

        Parameters
        ----------
        a, out
            See `dot`.
        indices : buffer, op-tree, array or list of int
            Indices, in any shape; repeated indices are allowed.
        axis : int or None
            The axis; None flattens `a` first.

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
        return self.record(joining.take, out, a, self.places(indices), axis=axis)

    def onehot(self, indices: Any, axis: int, out: Buffer | None = None) -> Any:
        """Return one-hot columns or rows of class indices.

        Parameters
        ----------
        indices : buffer, op-tree, array or list of int
            The class of each example, in any shape.
        axis : {0, 1}
            The axis of the classes: 0 for a column for each example, 1 for a row.
        out : Buffer, optional
            Destination of the result; its length along `axis` is the number of classes.

        Returns
        -------
        OpTree or Buffer
            The tree, which has no shape until it is assigned to a buffer, or `out`.

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
        classes = self.places(indices)
        if not is_integer(classes):
            raise TypeError(f"indices must be integers, got {classes.dtype}")
        tree = OneHot(classes, axis, self)
        if out is None:
            return tree
        if not isinstance(out, Buffer):
            raise TypeError(f"out must be a Buffer, got {type(out).__name__}")
        self.assign_tree(out, tree, "what goes to out")
        return out

    def copy_transpose(self, a: Buffer, out: Buffer, axes: Any = None, repeat: int = 1) -> None:
        """Copy a buffer with its axes permuted.

        Parameters
        ----------
        a, out : Buffer
            Source and destination.
        axes : sequence of int, optional
            The permutation; the axes are reversed by default.
        repeat : int
            Ignored.

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
        out.write(Step("permute_dims", order).read(self.xp, a.array))
