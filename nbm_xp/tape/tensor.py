"""Tensor and placeholder: handles on the nodes of the graph, and `record`, which makes them.

A `Tensor` has the operators, the indexing and the attributes of an array of the standard. It holds no data: its value
is what its node computes when a plan runs. Nothing is evaluated while recording, except where Python itself asks for a
number (`bool`, `float`, `int`, `__array__`) and nothing unknown is involved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar, cast

from nbm_xp.namespace import array_namespace, floatx, is_array, to_numpy

from .dtypes import DTYPE_CLASSES, DType, as_dtype
from .graph import reachable, refuse_cut
from .lengths import KnownLength, Length, Size, known, product, public_length
from .node import CONSTANT, OUTPUT, PLACEHOLDER, Node, Operation, call_of, leaf, with_short_lengths
from .operators import (
    LATE,
    ArrayUfunc,
    Operators,
    looked_up_by_identity,
    no_attribute,
    refuse_jax_function,
    refuse_torch_function,
)
from .printing import described

__all__ = [
    "API_VERSIONS", "Tensor", "View", "as_tensor", "is_tensor", "placeholder", "public_shape", "record",
    "record_several", "with_attributes",
]  # fmt: skip

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard that Tensors serve, the last being their own."""


class View:
    """How one Tensor shows another: by which call, of which node then, and whether a library might have copied it."""

    __slots__ = ("base", "call", "may_be_copy", "seen")

    def __init__(self, base: Tensor, call: Node) -> None:
        self.base = base
        self.call = call
        self.seen = base.node
        self.may_be_copy = False


class Tensor(Operators["Tensor"]):
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
        return cast("Tensor", LATE["permute_dims"](self, tuple(range(self.ndim))[::-1]))

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return cast("Tensor", LATE["matrix_transpose"](self))

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
        return cast("Tensor", LATE["tensordot"](self, factor, axes=axes))

    def eval(self, inputs: dict[Tensor, Any] | None = None) -> Any:
        """Compute the value, with arrays for the placeholders it needs."""
        return LATE["evaluate"](self, inputs)

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
        return array if copy else LATE["share"](self, value, array)

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
        return to_numpy(self._looked_at(kind, lambda: LATE["look"](self))).item()

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
        part: Tensor = LATE["getitem"](self, key)
        return part

    def __setitem__(self, key: Any, value: Any, /) -> None:
        LATE["assign"](self, key, value)

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


def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: Any = None,
    name: str | None = None,
    *,
    checked: bool = True,
) -> Tensor:
    """An input of a graph, to be given an array when it runs.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Lengths of the axes, None for an unknown one.
    ndim : int, optional
        The number of axes, all unknown, where no `shape` is given.
    dtype : str, optional
        By default ``floatx``.
    name : str, optional
        A name for people.
    checked : bool
        Whether the lengths in `shape` are promises. If not, only their number is kept.

    Raises
    ------
    ValueError
        If neither `shape` nor `ndim` is given, or a length is negative.
    """
    if shape is None and ndim is None:
        raise ValueError("shape or ndim must be given to placeholder")
    lengths = None if shape is None else tuple(None if length is None else int(length) for length in shape)
    if lengths is not None and any(length is not None and length < 0 for length in lengths):
        raise ValueError(f"shape must hold lengths of 0 or more, or None, got {shape!r}")
    count = len(lengths) if lengths is not None else int(cast("int", ndim))
    kind = as_dtype(floatx() if dtype is None else dtype)
    return Tensor(leaf(PLACEHOLDER, lengths if checked else None, count, kind, name))


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
    return cast("Tensor", LATE["asarray"](value))


_AS_IT_IS = (bool, int, float, complex, Length, Node, str, slice, *DTYPE_CLASSES)


def as_argument(value: Any) -> Any:
    """An argument as a node keeps it: nodes for Tensors and arrays, tuples for sequences, the rest as it is."""
    if isinstance(value, Tensor):
        return value.node
    if type(value) is KnownLength:
        return value.length
    if value is None or value is Ellipsis or isinstance(value, _AS_IT_IS):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(as_argument(item) for item in value)
    return as_tensor(value).node


def record(op: Operation, *args: Any, **attributes: Any) -> Tensor:
    """Add a call to the graph that has one result."""
    nodes = tuple(map(as_argument, args))
    tensor = Tensor(with_short_lengths(Node(op, nodes, attributes, *op.infer(*nodes, **attributes))))
    if op.written is not None and isinstance(args[0], Tensor):
        tensor.viewed = View(args[0], tensor.node)
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
