"""Tensor and placeholder: handles on the nodes of the graph, and `record`, which makes them.

A `Tensor` has the operators, the indexing and the attributes of an array of the standard. It holds no data: its value
is what its node computes when a plan runs. Nothing is evaluated while recording, except where Python itself asks for a
number (`bool`, `float`, `int`, `__array__`) and nothing unknown is involved.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, TypeAlias, cast

from nbm_xp.namespace import array_namespace, is_array, recording_namespace, to_numpy

from .dtypes import DTYPE_CLASSES, DType, as_dtype
from .graph import CONSTANT, OUTPUT, PLACEHOLDER, Node, call_of, leaf, reachable, refuse_cut, with_short_lengths
from .hints import ArrayUfunc, is_operator, no_attribute, refuse_jax_function, refuse_torch_function
from .lengths import KnownLength, Length, Size, is_number, known, product, public_length
from .operations import Operation
from .printing import described

__all__ = [
    "API_VERSIONS", "Tensor", "View", "as_tensor", "is_tensor", "look_up_by_identity", "looked_up_by_identity",
    "public_shape", "record", "record_several", "with_attributes",
]  # fmt: skip

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard that Tensors serve, the last being their own."""


@dataclass(slots=True)
class View:
    """How one Tensor shows another: by which call, of which node then, and whether a library might have copied it."""

    base: Tensor
    call: Node
    seen: Node
    may_be_copy: bool = False


_listed = {"by identity": False}


def look_up_by_identity(yes: bool = True) -> None:
    """Say what ``x in tensors`` means where no number decides whether two Tensors are equal.

    Parameters
    ----------
    yes : bool
        True: the Tensor itself must be among them, as in libraries whose Tensors are compared as Python objects. In
        these, ``x += y`` never writes to what `x` shows a part of, and does not here either. False, as at first: to ask
        is an error, and a view is written to.

    Examples
    --------
    >>> from nbm_xp.tape import placeholder
    >>> x, y = placeholder((None, 2)), placeholder((None, 3))
    >>> look_up_by_identity()
    >>> y in [x], y in [x, y]
    (False, True)
    >>> look_up_by_identity(False)
    """
    _listed["by identity"] = bool(yes)


def looked_up_by_identity() -> bool:
    """Whether `look_up_by_identity` was asked for."""
    return _listed["by identity"]


Method: TypeAlias = "Callable[[Any, Any], Tensor]"


@cache
def _function(name: str) -> Callable[..., Any]:
    """A function of the recorded standard, as operators call it: they have no names of arguments to put into errors."""
    return cast("Callable[..., Any]", inspect.unwrap(getattr(recording_namespace(), name)))


def _operators(name: str, operator: str) -> tuple[Method, Method, Method]:
    """``x + y``, ``y + x`` and ``x += y`` for a function of the namespace, and what Python calls its operator.

    Names that begin with an underscore are passed over where an error names what was called.
    """

    def _operator(self: Any, other: Any) -> Any:
        return _function(name)(self, other) if _is_operand(other) else NotImplemented

    def _reflected(self: Any, other: Any) -> Any:
        return _function(name)(other, self) if _is_operand(other) else NotImplemented

    def _in_place(self: Any, other: Any) -> Any:
        is_statement = is_operator(sys._getframe(1))
        if is_statement and (self.viewed is None or looked_up_by_identity()):
            return NotImplemented
        result = _operator(self, other)
        if result is NotImplemented:
            return result
        if is_statement:
            return recording_namespace().updated(self, result)
        self[...] = result
        return self

    for function, form in ((_operator, "__{}__"), (_reflected, "__r{}__"), (_in_place, "__i{}__")):
        function.__name__ = function.__qualname__ = form.format(operator)
    return _operator, _reflected, _in_place


def _is_operand(other: Any) -> bool:
    return isinstance(other, Operators) or is_number(other) or is_array(other)


def _unary(name: str) -> Callable[[Any], Tensor]:
    return lambda self: cast("Tensor", _function(name)(self))


class Operators:
    """What makes a Tensor work in an expression.

    Python takes ``x += y`` as ``x = x + y``, which gives the name to a new Tensor, of whatever shape and dtype the sum
    has. Others who hold the old one keep it as it was, as the standard has it for arrays that are not written to; and
    models written for symbolic tensors go on to use what they added to. A view alone is written to, with what it shows:
    code that takes a part in order to add to it means the whole.

    The method itself, called as ``x.__iadd__(y)`` by classes that hold arrays and by `operator.iadd`, assigns to all of
    `x`, as ``x[...] = x + y`` does, for its caller may drop what it returns.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    __add__, __radd__, __iadd__ = _operators("add", "add")
    __sub__, __rsub__, __isub__ = _operators("subtract", "sub")
    __mul__, __rmul__, __imul__ = _operators("multiply", "mul")
    __truediv__, __rtruediv__, __itruediv__ = _operators("divide", "truediv")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators("floor_divide", "floordiv")
    __mod__, __rmod__, __imod__ = _operators("remainder", "mod")
    __pow__, __rpow__, __ipow__ = _operators("pow", "pow")
    __matmul__, __rmatmul__, __imatmul__ = _operators("matmul", "matmul")
    __and__, __rand__, __iand__ = _operators("bitwise_and", "and")
    __or__, __ror__, __ior__ = _operators("bitwise_or", "or")
    __xor__, __rxor__, __ixor__ = _operators("bitwise_xor", "xor")
    __lshift__, __rlshift__, __ilshift__ = _operators("bitwise_left_shift", "lshift")
    __rshift__, __rrshift__, __irshift__ = _operators("bitwise_right_shift", "rshift")
    __ne__ = _operators("not_equal", "ne")[0]  # type: ignore[assignment]
    __lt__ = _operators("less", "lt")[0]
    __le__, __gt__ = _operators("less_equal", "le")[0], _operators("greater", "gt")[0]
    __ge__ = _operators("greater_equal", "ge")[0]
    __neg__, __pos__, __abs__, __invert__ = map(_unary, ("negative", "positive", "abs", "bitwise_invert"))

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        try:
            return cast("Tensor", _function("equal")(self, other) if _is_operand(other) else NotImplemented)
        except ValueError:
            if not looked_up_by_identity():
                raise
            return cast("Tensor", NotImplemented)


class Tensor(Operators):
    """An array that will be computed: a handle on a recorded value.

    Tensors come from `Variable`, `placeholder` and the functions and operators applied to them.

    Examples
    --------
    >>> from nbm_xp.tape import placeholder
    >>> x = placeholder((None, 3), name="x")
    >>> (x @ x.T).dtype == "float32"
    True
    """

    __slots__ = ("__dict__", "__weakref__", "node", "viewed")  # a user may set attributes of his own
    __array_priority__ = 1000
    __array_ufunc__ = ArrayUfunc()
    holds_array: ClassVar[bool] = False
    """Whether it is a variable, whose value is set and not recorded."""
    node: Node
    viewed: View | None
    """Of which other Tensor it shows a part, or all in another shape: what is written to it is written there."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.viewed = None

    @property
    def shape(self) -> tuple[Size, ...]:
        """Lengths of the axes; one that is known only at run time is a `Length`."""
        return public_shape(self.node)

    @property
    def dtype(self) -> DType:
        """The dtype, equal to its name."""
        return self.node.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> Size | None:
        """The number of elements; None where it is unknown, as the standard asks."""
        return known(product(self.node.shape))

    @property
    def device(self) -> str:
        """Tensors live on no device until they run."""
        return "recorded"

    @property
    def name(self) -> str | None:
        """The name given by the user."""
        return self.node.name

    @name.setter
    def name(self, name: str | None) -> None:
        self.node.name = name

    @property
    def T(self) -> Tensor:
        """All axes in reverse order."""
        return cast("Tensor", recording_namespace().permute_dims(self, tuple(range(self.ndim))[::-1]))

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return cast("Tensor", recording_namespace().matrix_transpose(self))

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self, name)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        refuse_torch_function(function, [*args, *(kwargs or {}).values()])

    @property
    def __jax_array__(self) -> Any:
        refuse_jax_function(self)
        raise AttributeError

    def dot(self, other: Any) -> Tensor:
        """The product over the last axis and, of `other`, the last but one (or only) axis, as `numpy.dot` has it."""
        factor = as_tensor(other)
        if not self.ndim or not factor.ndim:
            return self * factor
        if self.ndim <= 2 and factor.ndim <= 2:
            return self @ factor
        axes = [self.ndim - 1], [max(0, factor.ndim - 2)]
        return cast("Tensor", recording_namespace().tensordot(self, factor, axes=axes))

    def eval(self, inputs: dict[Tensor, Any] | None = None) -> Any:
        """Compute the value, with arrays for the placeholders it needs."""
        return recording_namespace().evaluate(self, inputs)

    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor:
        """Return self: a Tensor is on no device."""
        if device != self.device:
            raise ValueError(f"device must be {self.device!r} for a Tensor, got {device!r}")
        if stream is not None:
            raise ValueError(f"stream must be None for a Tensor, got {stream!r}")
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version not in (None, *API_VERSIONS):
            raise ValueError(f"api_version must be one of {', '.join(API_VERSIONS)}, got {api_version!r}")
        return cast("ModuleType", array_namespace(self))

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return self._exported().__dlpack__(**{key: value for key, value in asked.items() if value is not None})

    def __dlpack_device__(self) -> tuple[Any, int]:
        return cast("tuple[Any, int]", self._exported().__dlpack_device__())

    def _exported(self) -> Any:
        array = self.eval()
        if not hasattr(array, "__dlpack__"):
            raise BufferError(f"{type(array).__module__} has no DLPack; compute the Tensor first")
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("copy=False is not possible for a Tensor, whose value is computed")
        value = self._looked_at("an array", self.eval)
        array = to_numpy(value)
        if not array.flags.writeable:
            array = array.copy()  # compiled code asks for memory to write to though it only reads
        if dtype is not None and dtype != array.dtype:
            return array.astype(dtype)
        return array if copy else recording_namespace().share(self, value, array)

    def __bool__(self) -> bool:
        node = self.node
        if node.shape and node.op.name == "equal" and node.args[0] is node.args[1]:
            return True
        if node.op.name == "equal" and looked_up_by_identity() and (node.shape or _is_open(node)):
            return node.args[0] is node.args[1]
        return bool(self._number("bool"))

    def __float__(self) -> float:
        refuse_cut(self.node, repr(self))
        return float(self._number("float"))

    def __int__(self) -> int:
        return int(self._number("int"))

    def __complex__(self) -> complex:
        refuse_cut(self.node, repr(self))
        return complex(self._number("complex"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"only an integer Tensor can be an index, this one is {self.dtype}")
        return int(self._number("int"))

    def _number(self, kind: str) -> Any:
        if self.ndim:
            raise TypeError(
                f"only a Tensor without axes converts to {kind}, this one has shape {self.shape}: "
                "call xp.sum(x), say, first, where xp = x.__array_namespace__()"
            )
        return to_numpy(self._looked_at(kind, lambda: recording_namespace().look(self))).item()

    def _looked_at(self, kind: str, look: Callable[[], Any]) -> Any:
        """The value, which there is none of while something is missing."""
        try:
            return look()
        except ValueError:
            open_leaves = [node for node in reachable([self.node]) if node.op is PLACEHOLDER]
            if not open_leaves:
                raise
        names = ", ".join(described(node, "Tensor") for node in open_leaves)
        raise ValueError(
            f"{self!r} has no value that could become {kind} while it is recorded, for it depends on the placeholder "
            f"{names}: go on with functions of xp = x.__array_namespace__(), such as xp.sum(x), or evaluate(x, "
            "{placeholder: array})"
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a Tensor without axes has no len()")
        return int(cast("int", self.shape[0]))

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any, /) -> Tensor:
        part: Tensor = recording_namespace().getitem(self, key)
        return part

    def __setitem__(self, key: Any, value: Any, /) -> None:
        recording_namespace().assign(self, key, value)

    def __repr__(self) -> str:
        return described(self.node, type(self).__name__)

    def __copy__(self) -> Tensor:
        return cast("Tensor", with_attributes(Tensor(self.node), self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.__copy__()  # nodes never change

    def __format__(self, form: str) -> str:
        return format(self._number("a formatted number"), form) if form else str(self)


def with_attributes(made: Tensor, original: Tensor) -> Any:
    """A copy with what users have set on the original."""
    vars(made).update(vars(original))
    return made


def _is_open(node: Node) -> bool:
    """Whether a value needs a placeholder."""
    return any(needed.op is PLACEHOLDER for needed in reachable([node]))


def is_tensor(value: object) -> bool:
    """Whether a value is recorded rather than an array."""
    return isinstance(value, Tensor)


def public_shape(node: Node) -> tuple[Size, ...]:
    """The shape of a node with integers wherever they are known."""
    return tuple(map(public_length, node.shape))


def as_tensor(value: Any) -> Tensor:
    """A Tensor for an array, number, length or nested sequence; a Tensor as it is."""
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        shape = tuple(None if isinstance(n, float) and math.isnan(n) else n for n in value.shape)
        return Tensor(leaf(CONSTANT, shape, len(shape), as_dtype(value), None, payload=value))
    return cast("Tensor", recording_namespace().asarray(value))


_AS_IT_IS = (bool, int, float, complex, Length, Node, str, slice)


def as_argument(value: Any) -> Any:
    """An argument as a node keeps it: nodes for Tensors and arrays, tuples for sequences, the rest as it is."""
    if isinstance(value, Tensor):
        return value.node
    if type(value) is KnownLength:
        return value.length
    if value is None or value is Ellipsis or type(value) in DTYPE_CLASSES or isinstance(value, _AS_IT_IS):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(as_argument(item) for item in value)
    return as_tensor(value).node


def record(op: Operation, *args: Any, **attributes: Any) -> Tensor:
    """Add a call to the graph that has one result."""
    nodes = tuple(map(as_argument, args))
    tensor = Tensor(with_short_lengths(Node(op, nodes, attributes, *op.infer(*nodes, **attributes))))
    if op.is_view and isinstance(args[0], Tensor):
        tensor.viewed = View(args[0], tensor.node, args[0].node)
    return tensor


def record_several(op: Operation, *args: Any, **attributes: Any) -> tuple[Tensor, ...]:
    """Add a call to the graph that has several results."""
    nodes = tuple(map(as_argument, args))
    call = call_of(op, nodes, attributes)
    specs = op.infer(*nodes, **attributes)
    return tuple(Tensor(output(call, index, *spec)) for index, spec in enumerate(specs))


def result(call: Node, index: int) -> Tensor:
    """One result of a call that has several."""
    if call.payload is not None:
        return Tensor(output(call, index, *call.payload.spec(index)))
    return Tensor(output(call, index, *call.op.infer(*call.args, **call.attributes)[index]))


def output(call: Node, index: int, shape: tuple[Size, ...], dtype: DType) -> Node:
    """One result of a call that has several, of a shape and dtype."""
    return with_short_lengths(Node(OUTPUT, (call, index), {}, shape, dtype))
