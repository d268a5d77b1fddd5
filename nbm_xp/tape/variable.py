"""The leaves of graphs: `Variable`, which holds an array that can be read, set and updated, and `placeholder`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar, cast

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    default_namespace,
    dtype_name,
    dtype_of,
    floatx,
    host_namespace,
    is_array,
    to_numpy,
)

from .dtypes import as_dtype
from .graph import PLACEHOLDER, VARIABLE, Node, leaf
from .operations import SUBGRAPH_TAG
from .standard.data_types import cast as cast_to
from .tensor import Tensor, as_tensor, with_attributes


class Variable(Tensor):
    """A Tensor that holds an array; it can be read, set, and updated by a compiled function.

    Parameters
    ----------
    value : array, nested sequence or number
        Initial value; copied. A NumPy array is converted to the default library.
    dtype : str, optional
        Data type. Defaults to the dtype of `value` if it is an array, else ``floatx``.
    name : str, optional
        Name, used in messages and in saved weights.
    is_state : bool
        Whether the value is the state of a random generator, which is never converted to another library.

    Examples
    --------
    >>> from nbm_xp.tape import Variable
    >>> w = Variable([[1.0, 2.0]], name="w")
    >>> w.set_value([[3.0, 4.0]])
    >>> w.get_value().tolist()
    [[3.0, 4.0]]
    """

    __slots__ = ("_value", "default_update", "is_state")
    holds_array: ClassVar[bool] = True

    def __init__(self, value: Any, dtype: Any = None, name: str | None = None, *, is_state: bool = False) -> None:
        if isinstance(value, Tensor):
            value = value.eval()
        array = is_array(value)
        xp = array_namespace(value) if array else default_namespace()
        if xp is host_namespace() and not is_state:
            xp = default_namespace()
        kind = dtype_name(value) if array and dtype is None else dtype_name(floatx() if dtype is None else dtype)
        self._value = _own_array(value, xp, kind)
        self.default_update: Tensor | None = None
        self.is_state = is_state
        shape = self._value.shape
        super().__init__(leaf(VARIABLE, None, len(shape), as_dtype(self._value.dtype), name, payload=self))

    @property
    def value(self) -> Any:
        """The array, in the variable's library; not a copy."""
        return self._value

    @property
    def library(self) -> ModuleType:
        """Namespace of the library of the value."""
        return cast("ModuleType", array_namespace(self._value))

    def get_value(self, borrow: bool = False) -> Any:
        """Return the value as a NumPy array: a copy, or possibly a view if `borrow` is True."""
        value = to_numpy(self._value)
        return value if borrow else value.copy()

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Replace the value, cast to the variable's dtype; the number of axes must stay the same.

        Raises
        ------
        TypeError
            If `value` has another number of axes, or is not numeric.
        """
        self.replace_value(self.fitting(value))

    def fitting(self, value: Any, *, same_shape: bool = False) -> Any:
        """Copy `value` to a new array of the variable's library, dtype and number of axes.

        Raises
        ------
        TypeError
            If `value` has another number of axes, or is not numeric.
        ValueError
            If `same_shape` is True and `value` has another shape.
        """
        if isinstance(value, Tensor):
            value = value.eval()
        array = _own_array(value, self.library, str(self.dtype))
        wanted, shape = tuple(self._value.shape), tuple(array.shape)
        if same_shape and shape != wanted:
            raise ValueError(f"value must have shape {wanted}, as {self.name or 'the variable'} has, got {shape}")
        if array.ndim != self.ndim:
            raise TypeError(f"value must have {self.ndim} axes as {self!r} has, got shape {shape}")
        return array

    def replace_value(self, array: Any) -> None:
        """Set the value to an array of the right library, dtype and number of axes, without checks or a copy."""
        self._value = array

    def __copy__(self) -> Variable:
        if self.is_state:
            raise TypeError("the state of a random draw cannot be copied: copy the generator and draw from that")
        return cast("Variable", with_attributes(Variable(self._value, name=self.name), self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return self.__copy__()

    def __reduce__(self) -> Any:
        if self.is_state:
            raise TypeError("the state of a random draw cannot be pickled: pickle the generator")
        return Variable, (self._value, None, self.name)

    def __bool__(self) -> bool:
        # code written for shared variables tests `if data:` for None
        return True if self.ndim else super().__bool__()


def placeholder(
    shape: Sequence[int | None] | None = None,
    ndim: int | None = None,
    dtype: Any = None,
    name: str | None = None,
    *,
    checked: bool = True,
) -> Tensor:
    """Create an input of a graph, replaced by an array when the graph runs.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Lengths of the axes; None for an unknown length.
    ndim : int, optional
        Number of axes, all of unknown length; used if `shape` is None.
    dtype : str, optional
        Data type. Defaults to ``floatx``.
    name : str, optional
        Name, used in messages.
    checked : bool
        Whether arrays must have the lengths in `shape`. If False, only the number of axes is checked.

    Returns
    -------
    Tensor
        The input.

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


def new_value(variable: Variable, value: Tensor) -> Tensor:
    """Cast a new value to the dtype of its variable; the number of axes must be equal."""
    if value.ndim != variable.ndim:
        raise TypeError(f"update of {variable!r} must have {variable.ndim} axes, got {value.ndim}")
    return cast_to(value, variable.dtype)


def checked_updates(updates: Any) -> list[tuple[Variable, Tensor]]:
    """Return variables and their new values; raise if a variable occurs twice."""
    checked: dict[Variable, Tensor] = {}
    for variable, value in pairs_of(updates, "updates"):
        if not isinstance(variable, Variable):
            raise TypeError(f"updates must be of Variables, got {variable!r}")
        if variable in checked:
            raise ValueError(f"updates must name a variable once, got {variable!r} twice")
        checked[variable] = new_value(variable, as_tensor(value))
    return list(checked.items())


def automatic_updates(nodes: Sequence[Node]) -> dict[Variable, Tensor]:
    """Return the new states of the random generators among these nodes: after one draw, or after a call with draws."""
    updates: dict[Variable, Tensor] = {}
    for node in nodes:
        if node.op is VARIABLE and node.payload.default_update is not None:
            updates.setdefault(node.payload, node.payload.default_update)
        elif SUBGRAPH_TAG in node.op.tags:
            updates |= node.payload.state_updates(node)
    return updates


def pairs_of(mapping: Any, label: str) -> list[tuple[Any, Any]]:
    """Return the pairs of a mapping or of an iterable of pairs; the first entries must be Tensors."""
    if mapping is None:
        return []
    pairs = list(mapping.items()) if hasattr(mapping, "items") else [tuple(pair) for pair in mapping]
    for pair in pairs:
        if len(pair) != 2:
            raise TypeError(f"{label} must be a mapping or pairs, got an entry of {len(pair)} items")
        if not isinstance(pair[0], Tensor):
            raise TypeError(f"{label} must map Tensors, got {type(pair[0]).__name__}")
    return cast("list[tuple[Any, Any]]", pairs)


def _own_array(value: Any, xp: ModuleType, dtype: str) -> Any:
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"value must be an array, a number or a nested list of numbers, got {value!r}")
    if not is_array(value):
        try:
            return asarray(value, xp, dtype=dtype)
        except (TypeError, ValueError) as error:
            what = f"{type(value).__name__} of which NumPy makes no array of {dtype}"
            raise type(error)(
                f"value must be an array, a number or a nested list of numbers, got {what}: {error}"
            ) from error
    if array_namespace(value) is not xp:
        value = asarray(value, xp, dtype=dtype)
    return xp.astype(value, dtype_of(xp, dtype), copy=True)
