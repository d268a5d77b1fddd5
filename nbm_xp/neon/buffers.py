"""Buffers: memory of at least two axes, features by batch, and views that write to it.

A buffer is a Tensor of the tape, so expressions of buffers are recorded and can be differentiated. A buffer with memory
of its own is a leaf of the graph; a view is recorded as operations on that leaf.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from nbm_xp.functions.shaping import flatten
from nbm_xp.namespace import address, can_be_owned, dtype_name, host_namespace, is_array, is_complex, to_numpy
from nbm_xp.tape import Tensor, namespace
from nbm_xp.tape.dtypes import DType, as_dtype
from nbm_xp.tape.graph import VARIABLE, leaf

from .memory import Step, Storage, holding, indexed, lengths_of, list_in, reshaped
from .optrees import OpTree, is_node, transposed

_ALL = slice(None)
_PLACES = frozenset({int, slice, type(Ellipsis)})
_NUMBERS = (bool, int, float)


class Buffer(OpTree):
    """A writable array of at least two axes, created by a `Backend`.

    Attributes
    ----------
    backend : Backend
        The backend that created the buffer; the values are arrays of its library.
    shape, dtype, size, ndim, name
        As given at creation; at least two axes.
    persist_values, parallel, distributed : bool
        As given at creation; no effect on a single device.
    base : Buffer or None
        The buffer that this is a view of, or None.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> x = be.zeros((3, 2))
    >>> x[1:][:] = 4
    >>> x.T[0, :] = 7
    >>> x.get()
    array([[7., 0.],
           [7., 4.],
           [7., 4.]], dtype=float32)
    """

    __slots__ = ("_dtype", "_memory", "_root", "_shape", "_steps", "_storage", "base", "distributed", "label",
                 "parallel", "persist_values")  # fmt: skip

    is_buffer: ClassVar[bool] = True
    _shape: tuple[int, ...]
    _steps: tuple[Step, ...]
    _memory: Any
    _dtype: DType
    _storage: Storage
    _root: Buffer
    base: Buffer | None
    label: str | None
    persist_values: bool
    parallel: bool
    distributed: bool

    def __init__(
        self, backend: Any, storage: Storage, name: str | None = None, persist_values: bool = True,
        parallel: bool = False, distributed: bool = False,
    ) -> None:  # fmt: skip
        self.backend = backend
        self.target = None
        self._storage = storage
        storage.owner = storage.owner or weakref.ref(self)
        self._steps = ()
        self._memory = None
        self._shape = storage.shape
        self._dtype = as_dtype(storage.dtype)
        self._root = self
        self.base = None
        self.label = name
        self.persist_values = persist_values
        self.parallel = parallel
        self.distributed = distributed

    def _view(self, steps: Sequence[Step], shape: tuple[int, ...]) -> Buffer:
        """Return a view of this buffer after further steps."""
        if not steps:
            return self
        view = type(self)(self.backend, self._storage, *self._options())
        view._steps = (*self._steps, *steps)
        view._memory = self._storage.view(self._memory if self._steps else self._storage.value, steps)
        view._shape = shape
        view._root = self._root
        view.base = self
        return view

    def _options(self) -> tuple[Any, ...]:
        """Attributes that views and copies inherit: the name, and options without effect on a single device."""
        return self.label, self.persist_values, self.parallel, self.distributed

    def __getattr__(self, name: str) -> Any:
        if name != "node":
            return super().__getattr__(name)
        if self._root is self:
            self.node = leaf(VARIABLE, self._shape, len(self._shape), self._dtype, self.label, payload=self._storage)
        else:  # recorded at the first use in an expression
            self.node = self.shown(self._root).node
            self.node.reader = partial(self._storage.read, self._steps, self._memory)
        return self.node

    @property
    def root(self) -> Buffer:
        """The buffer that owns the memory: itself unless it is a view."""
        return self._root

    def shown(self, whole: Tensor) -> Tensor:
        """Apply this view's steps to a Tensor of the root's shape."""
        value = Tensor(whole.node)
        for step in self._steps:
            value = step.read(namespace, value)
        return value

    @property
    def array(self) -> Any:
        """Return the values, an array of the backend's library; a view of the memory if the library has views."""
        return self._storage.read(self._steps, self._memory)

    def write(self, value: Any, *, fresh: bool = False) -> None:
        """Set the values.

        Parameters
        ----------
        value : array or number
            Array of the backend's library or NumPy array; cast to the dtype and broadcast to the shape. Values outside
            the range of an integer dtype become the nearest bound, and NaN 0. A vector lists all elements in C order.
        fresh : bool
            Whether nothing else refers to the array, so that it may be used as the buffer's memory.

        Raises
        ------
        TypeError
            If the values are complex.
        ValueError
            If the shapes do not fit.
        """
        shape, array = self._shape, is_array(value)
        if array:
            check_real(value)
        value = self._storage.converted(value)
        if array:
            given = tuple(value.shape)
            if given != shape:
                self.check_fits(given)
                if len(given) == 1:
                    value = self._storage.xp.reshape(value, shape if given[0] == self.size else (1, 1))
        self._storage.write(self._steps, self._memory, shape, value, fresh=fresh)

    def check_fits(self, given: tuple[int, ...], name: str = "value") -> None:
        """Raise an error if a shape cannot be broadcast to this one; a vector of all elements is accepted."""
        shape = self._shape
        if given == shape or (len(given) == 1 and given[0] in (1, self.size)):
            return
        pairs = zip(reversed(given), reversed(shape), strict=False)
        if len(given) == 1 or len(given) > len(shape) or any(length not in (1, wanted) for length, wanted in pairs):
            raise ValueError(f"{name} must fit the shape {shape}, got {given}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes, at least two."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype; it compares equal to its name, such as ``'float32'``."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self._shape)

    @property
    def is_contiguous(self) -> bool:
        """Return whether the elements are contiguous in memory in C order.

        The result is that of a NumPy array, whatever the library.
        """
        host = host_namespace()
        memory = host.empty(self._storage.shape, dtype=host.bool)  # never read or written
        for step in self._steps:
            memory = step.memory(host, memory)
            if memory is None:
                return False
        return can_be_owned(memory, self._shape, "bool")

    @property
    def name(self) -> str | None:
        """The buffer's name, or None."""
        return self.label

    @name.setter
    def name(self, name: str | None) -> None:
        self.label = name

    def __len__(self) -> int:
        return self._shape[0]

    def __iter__(self) -> Any:
        return (self[position] for position in range(len(self)))

    def __getitem__(self, key: Any, /) -> Buffer:
        if isinstance(key, slice) and key == _ALL:
            return self
        items = key if isinstance(key, tuple) else (key,)
        if not _PLACES.issuperset(map(type, items)) and (listed := list_in(self._shape, items)):
            axis, places, others = listed
            return self.take(flatten(places) if isinstance(places, Tensor) else places, axis)[others]
        return self._view(*indexed(self._shape, items))

    def __setitem__(self, key: Any, value: Any, /) -> None:
        view = self[key]
        if view._root is not self._root:
            raise TypeError("what is written to must be named by integers and slices: a list names a copy")
        view.assign(value)

    def assign(self, value: Any) -> Buffer:
        """Set the values to an op-tree, buffer, array or number, cast to the dtype; return the buffer.

        `set`, `copy` and `copy_from` are aliases.
        """
        if isinstance(value, Buffer):
            if value is not self:
                self.write(value.array)
        elif isinstance(value, Tensor) or is_node(value):
            self.backend.assign_tree(self, self.backend.operand(value))
        elif is_array(value) or isinstance(value, _NUMBERS):
            self.write(value)
        else:
            raise TypeError(f"value must be an op-tree, a buffer, an array or a number, got {_kind(value)}")
        return self

    set = copy = copy_from = assign
    _assign = assign  # the name that models for neon's own buffers call

    def get(self) -> Any:
        """Return a copy of the values as a NumPy array."""
        return to_numpy(self.array, copy=True)

    def asnumpyarray(self) -> Any:
        """Return the values as a NumPy array: a read-only view if the values are NumPy's."""
        return to_numpy(self.array)

    def astensor(self) -> Buffer:
        """Return the buffer itself."""
        return self

    def fill(self, value: Any) -> Buffer:
        """Set every element to a number; return the buffer."""
        if not isinstance(value, _NUMBERS) and not (is_array(value) and not value.shape):
            raise TypeError(f"value must be a number, got {_kind(value)}")
        self.write(value)
        return self

    def reshape(self, *shape: Any) -> Buffer:
        """Return a view with another shape of at least two axes; one length may be -1."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        new = reshaped(self._shape, given)
        return self if new == self._shape else self._view([Step("reshape", new)], new)

    @property
    def T(self) -> Buffer:
        """View with the two axes exchanged; with three or more axes, the second and the third."""
        axes = transposed(self.ndim)
        return self._view([Step("permute_dims", axes)], tuple(self._shape[axis] for axis in axes))

    def share(self, shape: Any, dtype: Any = None, name: str | None = None) -> Buffer:
        """Return a view of the first elements with another shape.

        Parameters
        ----------
        shape : int or sequence of int
            The view's shape, with at most as many elements as the buffer.
        dtype
            Ignored: a view has the buffer's dtype.
        name : str, optional
            The view's name.

        Raises
        ------
        TypeError, ValueError
            If `shape` is not a shape, or the buffer has too few elements.
        """
        lengths = lengths_of(shape)
        count = math.prod(lengths)
        if count > self.size:
            raise ValueError(f"shape must have at most the {self.size} elements that are shared, got {lengths}")
        first = slice(0, count, 1)
        steps = [Step("reshape", (self.size,)), Step("getitem", (first,)), Step("reshape", lengths)]
        view = self._view(steps, lengths)
        view.label = name
        return view

    def dimension_reorder(self, new_order: Sequence[int]) -> Buffer:
        """Return a view of the same elements in the same order, with the lengths of its shape permuted.

        Parameters
        ----------
        new_order : sequence of int
            For each axis of the view, the axis of the buffer with its length.

        Raises
        ------
        ValueError
            If `new_order` is not a permutation of the axes.
        """
        if sorted(new_order) != list(range(self.ndim)):
            raise ValueError(f"new_order must name each of {self.ndim} axes once, got {new_order}")
        return self.reshape(tuple(self._shape[axis] for axis in new_order))

    def raw(self) -> int:
        """Return the address of the first element, for code that accesses memory directly.

        Raises
        ------
        TypeError
            If the library has no memory addresses.
        """
        return address(self.array)

    def hist(self, tag: str) -> Buffer:
        """Count the magnitudes into the histogram `tag` of `Backend.dump_hist_data`; return the buffer."""
        counted: Buffer = self.backend.count_magnitudes(self, tag)
        return counted

    def take(self, indices: Any, axis: int | None = None, out: Buffer | None = None) -> Buffer:
        """Return the elements at indices along an axis (None: flattened), in a new buffer or in `out`."""
        if out is None:
            taken: Buffer = self.backend.array(self.backend.take(self, indices, axis), dtype=self._dtype)
            return taken
        self.backend.take(self, indices, axis, out)
        return out

    def __copy__(self) -> Buffer:
        return type(self)(self.backend, holding(self.array, str(self._dtype), self._storage.xp), *self._options())

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        return self.__copy__()

    def __repr__(self) -> str:
        named = f" {self.label!r}" if self.label else ""
        return f"<Buffer{named} {self._dtype}{list(self._shape)} of {self.backend.library}>"

    __str__ = __repr__  # before that of neon's Tensor, see `compute_on`


def check_real(value: Any) -> None:
    """Raise an error for complex numbers, whose imaginary parts would be lost."""
    if is_complex(value):
        raise TypeError(f"value must have real numbers, got {dtype_name(value)}")


def _kind(value: Any) -> str:
    return type(value).__name__
