"""Op-trees: the tape's Tensors, with what neon's users rely on.

A tree records; it is computed when it is assigned to a buffer, or converted to an array or a new buffer, from the
values of its buffers at that time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from nbm_xp.functions import arithmetic
from nbm_xp.namespace import array_namespace, host_namespace, is_array
from nbm_xp.tape import Tensor, namespace
from nbm_xp.tape.graph import LEAVES, Node
from nbm_xp.tape.plans.plan import structural_key
from nbm_xp.tape.printing import expression
from nbm_xp.tape.tensor import Operators

from .memory import indexed

__all__ = ["OpTree", "is_node", "tree_of", "weak"]

_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})


class OpTree(Tensor):
    """An expression of buffers that will be computed.

    Trees come from a `Backend`'s methods without `out`, and from operators.

    Parameters
    ----------
    op : dict
        ``{"op": name}``: neon's name of an operation, such as ``"add"``, ``"sqr"`` or ``"transpose"``, with its
        options, as in ``{"op": "sum", "axis": 0}``. ``"assign"`` assigns `b` to the buffer `a` when the tree is
        executed.
    a, b : OpTree, Buffer, array, number or None
        The operands; one is a tree or a buffer. Nodes of neon's own, tuples of three, are taken as well.

    Raises
    ------
    TypeError
        If neither operand is a tree, or what is assigned to is no buffer.
    ValueError
        If there is no such operation.

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
    backend: Any
    target: OpTree | None

    def __init__(self, op: dict[str, Any], a: Any, b: Any = None) -> None:
        self.target = None
        if op.get("op") == "assign":
            if not isinstance(a, OpTree) or not a.is_buffer:
                raise TypeError(f"a must be a Buffer to assign to, got {type(a).__name__}")
            self.target = a
            tree = a.backend.operand(b)
            if isinstance(tree, OpTree):
                tree = tree.for_shape(tuple(map(int, a.shape)))
        else:
            tree = _backend_of(a, b).operation(op, a, b)
        super().__init__(tree.node)
        self.backend = _backend_of(a, b)

    @staticmethod
    def build(op: str, a: Any, b: Any, out: Any = None, **options: Any) -> Any:
        """Record an operation by neon's name, or compute it.

        Parameters
        ----------
        op : str
            See `OpTree`. ``"assign"`` assigns at once, and returns the buffer.
        a, b : OpTree, Buffer, array, number or None
            The operands.
        out : Buffer, optional
            Where the result goes, which is computed then.
        **options
            Of the operation, such as ``axis``.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend, OpTree
        >>> x = Backend(library="cpu").array([[1.0, 2.0]])
        >>> OpTree.build("sum", x, None, axis=1).get()
        array([[3.]], dtype=float32)
        """
        tree = OpTree({"op": op, **options}, a, b)
        if op == "assign":
            return tree.execute()
        return tree if out is None else out.assign(tree)

    def execute(self) -> Any:
        """Compute a tree that assigns, see `Backend.execute`."""
        return self.backend.execute(self)

    def traverse(self, stack: list[Any]) -> list[Any]:
        """Append the tree to a list, operands before operations.

        Parameters
        ----------
        stack : list
            What is appended to: buffers, numbers, and for each operation a dict of its name on the tape (``"op"``), its
            ``"shape"`` and its options.

        Returns
        -------
        list
            The same.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> x = Backend(library="cpu").ones((1, 2), name="x")
        >>> (x * 2).traverse([])[1:]
        [2, {'op': 'multiply', 'shape': (1, 2)}]
        """

        def append(value: Any) -> None:
            if not isinstance(value, Node):
                stack.append(value)
            elif value.op in LEAVES:
                owner = getattr(value.payload, "owner", None)
                stack.append((owner and owner()) or Tensor(value))
            else:
                for operand in value.args:
                    append(operand)
                stack.append({"op": value.op.name, "shape": value.shape, **value.attributes})

        append(self.node)
        return stack

    def key(self) -> Any:
        """What is equal for trees of the same operations on the same buffers; it can be hashed."""
        found = structural_key([self.node], [])
        return self.node if found is None else (found[0], tuple(found[1]))

    def pp(self) -> str:
        """The tree in one line, with the names of buffers that have one.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> x = Backend(library="cpu").ones((1, 2), name="x")
        >>> (x * 2 + 1).pp()
        '((x * 2) + 1)'
        """
        return f"({expression(self.node)})"

    @property
    def T(self) -> OpTree:
        """The two axes of a matrix exchanged; of more axes, the second and the third."""
        return tree_of(namespace.permute_dims(self, transposed(self.ndim)), self.backend)

    def transpose(self, out: OpTree | None = None) -> OpTree:
        """The same as `T`, or that assigned to `out`."""
        if out is None:
            return self.T
        assigned: OpTree = OpTree.build("assign", out, self.T)
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
        return True  # code for op-trees tests `if tree:` to see whether there is one

    def __copy__(self) -> OpTree:
        return tree_of(self, self.backend)


def transposed(ndim: int) -> tuple[int, ...]:
    """The order of the axes of a transposed array: the first of three or more stays."""
    return (1, 0) if ndim == 2 else (0, 2, 1, *range(3, ndim))


def tree_of(value: Tensor, backend: Any) -> OpTree:
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
        result = record(self, *[self.backend.operand(other) if is_node(other) else weak(other) for other in others])
        if result is NotImplemented:
            return result
        if name in _COMPARISONS:
            result = namespace.astype(result, self.backend.dtype)
        return tree_of(result, self.backend)

    return operate


def is_node(x: Any) -> bool:
    """Whether something is a node of neon's own op-trees: a tuple of an operation and two operands."""
    return isinstance(x, tuple) and len(x) == 3 and isinstance(x[0], dict)


def _backend_of(*operands: Any) -> Any:
    """The backend of the first tree among operands, or within nodes among them."""
    for operand in operands:
        if isinstance(operand, OpTree):
            return operand.backend
    for operand in filter(is_node, operands):
        return _backend_of(*operand[1:])
    raise TypeError(f"a or b must be a Buffer or an op-tree, got {' and '.join(type(x).__name__ for x in operands)}")


for _name, _value in vars(Operators).items():
    # In place, a statement falls back on the operator, and a method assigns.
    _is_in_place = _name[2] == "i" and f"__{_name[3:]}" in vars(Operators)
    if callable(_value) and _name.startswith("__") and _name != "__hash__" and not _is_in_place:
        setattr(OpTree, _name, _operator(_name))
