"""Tensors, the handles of the nodes of a graph, and `record`, which creates them.

A `Tensor` has the operators, the indexing and the attributes of an array of the standard. It holds no data: its value
is computed when a plan runs. Recording evaluates nothing, except for conversions to Python and NumPy values (`bool`,
`float`, `int`, `__array__`), which raise if the value depends on a placeholder.
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

from . import hints
from .dtypes import DTYPE_CLASSES, DType, as_dtype
from .graph import CONSTANT, OUTPUT, PLACEHOLDER, Node, call_of, leaf, reachable, refuse_cut
from .lengths import KnownLength, Length, Size, axis_length, is_number, known, product, public_length
from .operations import Operation
from .printing import described

# Versions of the standard that Tensors support; the last is the default.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


@dataclass(slots=True)
class View:
    """A view: its base Tensor, the call that made it, the base's node at that time, and whether it may be a copy."""

    base: Tensor
    call: Node
    seen: Node
    may_be_copy: bool = False


Method: TypeAlias = "Callable[[Any, Any], Tensor]"


@cache
def _function(name: str) -> Callable[..., Any]:
    """Return a function of the recording namespace without the wrapper that adds argument names to errors."""
    return cast("Callable[..., Any]", inspect.unwrap(getattr(recording_namespace(), name)))


def _operators(name: str, operator: str) -> tuple[Method, Method, Method]:
    """Return the methods of ``x + y``, ``y + x`` and ``x += y`` for a function and its operator's name.

    Error messages skip functions whose names begin with an underscore.
    """

    def _operator(self: Any, other: Any) -> Any:
        return _function(name)(self, other) if _is_operand(other) else NotImplemented

    def _reflected(self: Any, other: Any) -> Any:
        return _function(name)(other, self) if _is_operand(other) else NotImplemented

    def _in_place(self: Any, other: Any) -> Any:
        is_statement = hints.is_operator(sys._getframe(1))
        if is_statement and (self.viewed is None or hints.looked_up_by_identity()):
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
    """The operators of a Tensor.

    The statement ``x += y`` is ``x = x + y``: it binds the name to a new Tensor with the shape and dtype of the sum.
    Other references to the old Tensor keep its value, as the standard allows for immutable arrays and as models written
    for symbolic tensors expect. Only a view is written to, together with its base: code that adds to a slice means to
    change the whole array.

    The method call ``x.__iadd__(y)``, made by array wrapper classes and by `operator.iadd`, assigns to all of `x`, as
    ``x[...] = x + y`` does, because its caller may discard the return value.
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
            if not hints.looked_up_by_identity():
                raise
            return cast("Tensor", NotImplemented)


class Tensor(Operators):
    """A symbolic array: the handle of a recorded value.

    Tensors are created by `Variable`, `placeholder` and the functions and operators applied to them.

    Examples
    --------
    >>> from nbm_xp.tape import placeholder
    >>> x = placeholder((None, 3), name="x")
    >>> (x @ x.T).dtype == "float32"
    True
    """

    __slots__ = ("__dict__", "__weakref__", "node", "viewed")  # users may set attributes
    __array_priority__ = 1000
    __array_ufunc__ = hints.ArrayUfunc()
    # Whether the Tensor is a variable, which holds an array.
    holds_array: ClassVar[bool] = False
    node: Node
    # The Tensor of which this one is a view, if any; assignments to a view change its base.
    viewed: View | None

    def __init__(self, node: Node) -> None:
        self.node = node
        self.viewed = None

    @property
    def shape(self) -> tuple[Size, ...]:
        """Lengths of the axes; a length known only at run time is a `Length`."""
        return tuple(map(public_length, self.node.shape))

    @property
    def dtype(self) -> DType:
        """Data type; compares equal to its name."""
        return self.node.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> Size | None:
        """Number of elements, or None if it is unknown, as the standard requires."""
        return known(product(self.node.shape))

    @property
    def device(self) -> str:
        """Always ``"recorded"``: a Tensor is on no device until it is computed."""
        return "recorded"

    @property
    def name(self) -> str | None:
        """Name given by the user, or None."""
        return self.node.name

    @name.setter
    def name(self, name: str | None) -> None:
        self.node.name = name

    @property
    def T(self) -> Tensor:
        """Transpose: the axes in reverse order."""
        return cast("Tensor", recording_namespace().permute_dims(self, tuple(range(self.ndim))[::-1]))

    @property
    def mT(self) -> Tensor:
        """Matrix transpose: the last two axes swapped."""
        return cast("Tensor", recording_namespace().matrix_transpose(self))

    def __getattr__(self, name: str) -> Any:
        raise hints.no_attribute(self, name)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        hints.refuse_torch_function(function, [*args, *(kwargs or {}).values()])

    @property
    def __jax_array__(self) -> Any:
        hints.refuse_jax_function(self)
        raise AttributeError

    def dot(self, other: Any) -> Tensor:
        """Return the dot product over the last axis and the last but one (or only) axis of `other`, as `numpy.dot`."""
        factor = as_tensor(other)
        if not self.ndim or not factor.ndim:
            return self * factor
        if self.ndim <= 2 and factor.ndim <= 2:
            return self @ factor
        axes = [self.ndim - 1], [max(0, factor.ndim - 2)]
        return cast("Tensor", recording_namespace().tensordot(self, factor, axes=axes))

    def eval(self, inputs: dict[Tensor, Any] | None = None) -> Any:
        """Compute the value; `inputs` maps placeholders to arrays. See `evaluate`."""
        return recording_namespace().evaluate(self, inputs)

    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor:
        """Return the Tensor itself; `device` must be ``"recorded"``."""
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
            array = array.copy()  # compiled code requires writable memory even if it only reads
        if dtype is not None and dtype != array.dtype:
            return array.astype(dtype)
        return array if copy else recording_namespace().share(self, value, array)

    def __bool__(self) -> bool:
        node = self.node
        if node.shape and node.op.name == "equal" and node.args[0] is node.args[1]:
            return True
        if node.op.name == "equal" and hints.looked_up_by_identity() and (node.shape or _is_open(node)):
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
        """Return the value; raise with a helpful message if it depends on placeholders."""
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
    """Copy the attributes set by users from `original` to `made`, and return `made`."""
    vars(made).update(vars(original))
    return made


def _is_open(node: Node) -> bool:
    """Return whether a value depends on a placeholder."""
    return any(needed.op is PLACEHOLDER for needed in reachable([node]))


def is_tensor(value: object) -> bool:
    """Return whether a value is a Tensor."""
    return isinstance(value, Tensor)


def as_tensor(value: Any) -> Tensor:
    """Convert an array, number, length or nested sequence to a Tensor; return a Tensor unchanged."""
    if isinstance(value, Tensor):
        return value
    if is_array(value):
        shape = tuple(None if isinstance(n, float) and math.isnan(n) else n for n in value.shape)
        return Tensor(leaf(CONSTANT, shape, len(shape), as_dtype(value), None, payload=value))
    return cast("Tensor", recording_namespace().asarray(value))


_AS_IT_IS = (bool, int, float, complex, Length, Node, str, slice)


def as_argument(value: Any) -> Any:
    """Convert an argument to its form in a node: Tensors and arrays to nodes, sequences to tuples."""
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
    """Add a call with one result to the graph, and return the result."""
    nodes = tuple([arg.node if isinstance(arg, Tensor) else as_argument(arg) for arg in args])
    shape, dtype = op.infer(*nodes, **attributes)
    tensor = Tensor(_with_short_lengths(Node(op, nodes, attributes, shape, dtype)))
    if op.is_view and isinstance(args[0], Tensor):
        tensor.viewed = View(args[0], tensor.node, args[0].node)
    return tensor


def record_several(op: Operation, *args: Any, **attributes: Any) -> tuple[Tensor, ...]:
    """Add a call with several results to the graph, and return the results."""
    nodes = tuple(map(as_argument, args))
    call = call_of(op, nodes, attributes)
    specs = op.infer(*nodes, **attributes)
    return tuple(Tensor(output(call, index, *spec)) for index, spec in enumerate(specs))


def result(call: Node, index: int) -> Tensor:
    """Return one result of a call with several results."""
    payload = call.payload
    spec = call.op.infer(*call.args, **call.attributes)[index] if payload is None else payload.spec(index)
    return Tensor(output(call, index, *spec))


def output(call: Node, index: int, shape: tuple[Size, ...], dtype: DType) -> Node:
    """Create the node of one result, with this shape and dtype, of a call with several results."""
    return _with_short_lengths(Node(OUTPUT, (call, index), {}, shape, dtype))


# Largest weight of a length in the shape of a recorded node.
_LONGEST = 32


def _with_short_lengths(node: Node) -> Node:
    """Replace the long length expressions in the shape of a node by symbols of its axes, and return the node."""
    for size in node.shape:
        if type(size) is Length and size.weight > _LONGEST:
            axis = node.shape.index(size)
            node.shape = (*node.shape[:axis], axis_length(node, axis), *node.shape[axis + 1 :])
    return node
