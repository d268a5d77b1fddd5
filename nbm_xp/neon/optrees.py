"""Op-trees: Tensors of the tape with the interface of neon's op-trees.

An op-tree records operations. It is computed, from the current values of its buffers, when it is assigned to a buffer
or converted to an array or a new buffer.
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

_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})


class OpTree(Tensor):
    """A recorded expression of buffers.

    A `Backend`'s methods without `out`, and operators, return op-trees.

    Parameters
    ----------
    op : dict
        ``{"op": name}``: an operation by neon's name, such as ``"add"``, ``"sqr"`` or ``"transpose"``, with its
        options, as in ``{"op": "sum", "axis": 0}``. ``"assign"`` assigns `b` to the buffer `a` when the tree is
        executed.
    a, b : OpTree, Buffer, array, number or None
        The operands, of which at least one is a tree or a buffer. Nodes of neon's own, tuples of three, are accepted.

    Raises
    ------
    TypeError
        If neither operand is a tree, or the target of an assignment is not a buffer.
    ValueError
        If the operation is unknown.

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
    viewed = None  # buffers implement views themselves, and trees are never written to
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
        """Record an operation by neon's name, or compute it into `out`.

        Parameters
        ----------
        op : str
            See `OpTree`. ``"assign"`` assigns immediately and returns the buffer.
        a, b : OpTree, Buffer, array, number or None
            The operands.
        out : Buffer, optional
            Destination of the result, which is computed immediately.
        **options
            Options of the operation, such as ``axis``.

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
        """Execute a tree whose root is an assignment, see `Backend.execute`."""
        return self.backend.execute(self)

    def traverse(self, stack: list[Any]) -> list[Any]:
        """Append the tree to a list in postfix order: operands before operations.

        Parameters
        ----------
        stack : list
            The list to extend: by buffers, numbers, and for each operation a dict of its name on the tape (``"op"``),
            its ``"shape"`` and its options.

        Returns
        -------
        list
            `stack`.

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
        """Return a hashable key, equal for trees of the same operations on the same buffers."""
        found = structural_key([self.node], [])
        return self.node if found is None else (found[0], tuple(found[1]))

    def pp(self) -> str:
        """Return the tree as one line of text, with the names of named buffers.

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
        """The tree with the two axes exchanged; with three or more axes, the second and the third."""
        return tree_of(namespace.permute_dims(self, transposed(self.ndim)), self.backend)

    def transpose(self, out: OpTree | None = None) -> OpTree:
        """Return `T`, or assign it to `out`."""
        if out is None:
            return self.T
        assigned: OpTree = OpTree.build("assign", out, self.T)
        return assigned

    def for_shape(self, shape: tuple[int, ...]) -> OpTree:
        """Return the tree to compute when this tree is assigned to a buffer of a given shape."""
        return self

    def astensor(self) -> OpTree:
        """Compute the tree into a new buffer of the backend's default dtype."""
        made: OpTree = self.backend.array(self)
        return made

    def asnumpyarray(self) -> Any:
        """Compute the tree into a NumPy array of the backend's default dtype."""
        return self.backend.array(self).get()

    def get(self) -> Any:
        """Alias of `asnumpyarray`."""
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
        return True  # code for op-trees tests `if tree:` for None

    def __copy__(self) -> OpTree:
        return tree_of(self, self.backend)


def transposed(ndim: int) -> tuple[int, ...]:
    """Return the axes of the transposed array: with three or more axes the first stays in place."""
    return (1, 0) if ndim == 2 else (0, 2, 1, *range(3, ndim))


def tree_of(value: Tensor, backend: Any) -> OpTree:
    """Convert a Tensor to an op-tree of a backend."""
    tree = OpTree.__new__(OpTree)
    tree.node = value.node
    tree.backend = backend
    tree.target = None
    return tree


def weak(x: Any) -> Any:
    """Convert a NumPy scalar to a Python number, which does not promote other operands; return others unchanged."""
    if type(x) in _AS_THEY_ARE or not is_array(x) or x.shape != () or array_namespace(x) is not host_namespace():
        return x
    return x.item()


_AS_THEY_ARE = frozenset((float, int, bool))
_QUOTIENTS = {
    "__truediv__": arithmetic.divide,
    "__rtruediv__": lambda divisor, dividend: arithmetic.divide(dividend, divisor),
}
"""The array API standard leaves the quotient of two integers undefined; here it depends on no setting."""


def _operator(name: str) -> Callable[..., Any]:
    """Make an operator that returns an op-tree; comparisons return numbers, as they would be stored."""
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
    """Return whether `x` is a node of neon's own op-trees: a tuple of an operation and two operands."""
    return isinstance(x, tuple) and len(x) == 3 and isinstance(x[0], dict)


def _backend_of(*operands: Any) -> Any:
    """Return the backend of the first tree among the operands, or within nodes among them."""
    for operand in operands:
        if isinstance(operand, OpTree):
            return operand.backend
    for operand in filter(is_node, operands):
        return _backend_of(*operand[1:])
    raise TypeError(f"a or b must be a Buffer or an op-tree, got {' and '.join(type(x).__name__ for x in operands)}")


for _name, _value in vars(Operators).items():
    # In-place statements use the operator and rebind the name; the in-place methods assign.
    _is_in_place = _name[2] == "i" and f"__{_name[3:]}" in vars(Operators)
    if callable(_value) and _name.startswith("__") and _name != "__hash__" and not _is_in_place:
        setattr(OpTree, _name, _operator(_name))
