"""Op-trees: the tape's Tensors, with what neon's users rely on.

A tree records; it is computed when it is assigned to a buffer, or asked for as an array or a new buffer, from what the
buffers in it hold then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from nbm_xp.functions import arithmetic
from nbm_xp.namespace import array_namespace, host_namespace, is_array
from nbm_xp.tape import Tensor, namespace
from nbm_xp.tape.dtypes import DType
from nbm_xp.tape.operators import Operators

from .views import indexed

__all__ = ["OpTree", "Owner", "tree_of", "weak"]

_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})


class Owner(Protocol):
    """What trees and buffers ask of the backend that they belong to."""

    xp: Any
    library: str
    dtype: DType
    array: Callable[..., Any]
    take: Callable[..., Any]
    count_magnitudes: Callable[..., Any]

    def operand(self, x: Any) -> Tensor:
        """A Tensor of what is none."""
        ...

    def assign_tree(self, out: Any, tree: Tensor, name: str = "value") -> None:
        """Compute a tree into a buffer."""
        ...

    def execute(self, node: Any) -> Any:
        """Compute an op-tree that assigns, and give what is assigned to."""
        ...


class OpTree(Tensor):
    """An expression of buffers that will be computed.

    Trees come from a `Backend`'s methods without `out`, and from operators.

    Parameters
    ----------
    op : dict
        ``{"op": "assign"}``: the tree that assigns `value` to `out` when it is executed.
    out : Buffer
        What is assigned to.
    value : OpTree, Buffer, array or number
        What is assigned.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> x = be.array([[1.0, 2.0]])
    >>> tree = be.add(x, 1) * 2
    >>> x[:] = 5
    >>> tree.asnumpyarray()
    array([[12., 12.]], dtype=float32)
    >>> out = be.zeros((1, 2))
    >>> be.execute(OpTree({"op": "assign"}, out, tree)).get()
    array([[12., 12.]], dtype=float32)
    """

    __slots__ = ("backend", "target")
    viewed = None  # buffers have views of their own, and trees are never written to
    is_buffer: ClassVar[bool] = False
    backend: Owner
    target: OpTree | None

    def __init__(self, op: Any, out: Any, value: Any) -> None:
        if not isinstance(op, dict) or op.get("op") != "assign":
            raise ValueError(
                f"op must be {{'op': 'assign'}}, got {op!r}: other trees come from a Backend's methods and operators"
            )
        if not isinstance(out, OpTree) or not out.is_buffer:
            raise TypeError(f"out must be a Buffer, got {type(out).__name__}")
        tree = value.for_shape(tuple(map(int, out.shape))) if isinstance(value, OpTree) else out.backend.operand(value)
        super().__init__(tree.node)
        self.backend = out.backend
        self.target = out

    @property
    def T(self) -> OpTree:
        """The two axes of a matrix exchanged; of more axes, the second and the third."""
        return tree_of(namespace.permute_dims(self, transposed(self.ndim)), self.backend)

    def transpose(self, out: OpTree | None = None) -> OpTree:
        """The same as `T`, or that assigned to `out`."""
        if out is None:
            return self.T
        assigned: OpTree = self.backend.execute(OpTree({"op": "assign"}, out, self.T))
        return assigned

    def for_shape(self, shape: tuple[int, ...]) -> OpTree:
        """What is computed when the tree is assigned to a buffer of a shape."""
        return self

    def astensor(self) -> OpTree:
        """Compute the tree into a new buffer of the backend's default dtype."""
        made: OpTree = self.backend.array(self)
        return made

    def asnumpyarray(self) -> Any:
        """Compute the tree into a NumPy array of the backend's default dtype."""
        return self.backend.array(self).get()

    def get(self) -> Any:
        """The same as `asnumpyarray`."""
        return self.asnumpyarray()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.asnumpyarray().__array__(*(() if dtype is None else (dtype,)))

    def __getitem__(self, key: Any, /) -> OpTree:
        part = Tensor(self.node)
        for step in indexed(tuple(map(int, self.shape)), key)[0]:
            part = step.read(namespace, part)
        return tree_of(part, self.backend)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        raise TypeError("an op-tree cannot be assigned to: assign it to a buffer, and to a part of that")

    def __bool__(self) -> bool:
        return True  # code for op-trees asks `if tree:` to see whether there is one

    def __copy__(self) -> OpTree:
        return tree_of(self, self.backend)


def transposed(ndim: int) -> tuple[int, ...]:
    """The order of the axes of a transposed array: the first of three or more stays."""
    return (1, 0) if ndim == 2 else (0, 2, 1, *range(3, ndim))


def tree_of(value: Tensor, backend: Owner) -> OpTree:
    """A Tensor as the op-tree of a backend."""
    tree = OpTree.__new__(OpTree)
    tree.node = value.node
    tree.backend = backend
    tree.target = None
    return tree


def weak(x: Any) -> Any:
    """A scalar of NumPy's as Python's number, which does not widen what it is combined with; anything else as it is."""
    if type(x) in _AS_THEY_ARE or not is_array(x) or x.shape != () or array_namespace(x) is not host_namespace():
        return x
    return x.item()


_AS_THEY_ARE = frozenset((float, int, bool))
_QUOTIENTS = {
    "__truediv__": arithmetic.divide,
    "__rtruediv__": lambda divisor, dividend: arithmetic.divide(dividend, divisor),
}
"""The standard leaves it open what the quotient of two integers is; here it depends on no setting."""


def _operator(name: str) -> Callable[..., Any]:
    """One of Python's operators, giving an op-tree; comparisons give numbers, as they would be stored."""
    record = _QUOTIENTS.get(name) or getattr(Operators, name)

    @functools.wraps(getattr(Operators, name))
    def operate(self: OpTree, *others: Any) -> Any:
        result = record(self, *map(weak, others))
        if result is NotImplemented:
            return result
        if name in _COMPARISONS:
            result = namespace.astype(result, self.backend.dtype)
        return tree_of(result, self.backend)

    return operate


for _name, _value in vars(Operators).items():
    if callable(_value) and _name.startswith("__") and _name != "__hash__":
        setattr(OpTree, _name, _operator(_name))
