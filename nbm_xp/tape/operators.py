"""Python's operators on Tensors, each a function of the tape's namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from nbm_xp.namespace import is_array

from .lengths import Length

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = [
    "FUNCTIONS", "Operators", "is_number", "kind_of_number", "look_up_by_identity", "looked_up_by_identity",
]  # fmt: skip

_NUMBERS = frozenset({bool, int, float, complex})

FUNCTIONS: dict[str, Callable[..., Tensor]] = {}
"""The functions of the tape's namespace by name: what operators and gradient rules call."""

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


def is_number(value: object) -> bool:
    """Whether a value is a Python number or a length, whose dtype is weak (that of a library's own scalars is not)."""
    return type(value) in _NUMBERS or (isinstance(value, (int, float, complex, Length)) and not is_array(value))


def kind_of_number(number: Any) -> type:
    """The one of Python's types of numbers that a number counts as; lengths are integers."""
    return next((kind for kind in (bool, int, float, complex) if isinstance(number, kind)), int)


def _apply(name: str, left: Any, right: Any, other: Any) -> Tensor:
    """Call a function of two operands, unless the other one is nothing to calculate with."""
    if isinstance(other, Operators) or is_number(other) or is_array(other):
        return FUNCTIONS[name](left, right)
    return cast("Tensor", NotImplemented)


def _apply_one(name: str, operand: Any) -> Tensor:
    return FUNCTIONS[name](operand)


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        if self.viewed is None or looked_up_by_identity():
            return NotImplemented
        result = getattr(self, name)(other)
        return result if result is NotImplemented else FUNCTIONS["updated"](self, result)

    return operate


class Operators:
    """What makes a Tensor work in an expression.

    Python takes ``x += y`` as ``x = x + y``, which gives the name to a new Tensor, of whatever shape and dtype the sum
    has. Others who hold the old one keep it as it was, as the standard has it for arrays that are not written to; and
    models written for symbolic tensors go on to use what they added to. A view alone is written to, with what it shows:
    code that takes a part in order to add to it means the whole.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Tensor:
        return _apply("add", self, other, other)

    def __radd__(self, other: Any) -> Tensor:
        return _apply("add", other, self, other)

    def __sub__(self, other: Any) -> Tensor:
        return _apply("subtract", self, other, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _apply("subtract", other, self, other)

    def __mul__(self, other: Any) -> Tensor:
        return _apply("multiply", self, other, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _apply("multiply", other, self, other)

    def __truediv__(self, other: Any) -> Tensor:
        return _apply("divide", self, other, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _apply("divide", other, self, other)

    def __floordiv__(self, other: Any) -> Tensor:
        return _apply("floor_divide", self, other, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _apply("floor_divide", other, self, other)

    def __mod__(self, other: Any) -> Tensor:
        return _apply("remainder", self, other, other)

    def __rmod__(self, other: Any) -> Tensor:
        return _apply("remainder", other, self, other)

    def __pow__(self, other: Any) -> Tensor:
        return _apply("pow", self, other, other)

    def __rpow__(self, other: Any) -> Tensor:
        return _apply("pow", other, self, other)

    def __matmul__(self, other: Any) -> Tensor:
        return _apply("matmul", self, other, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _apply("matmul", other, self, other)

    def __and__(self, other: Any) -> Tensor:
        return _apply("bitwise_and", self, other, other)

    def __rand__(self, other: Any) -> Tensor:
        return _apply("bitwise_and", other, self, other)

    def __or__(self, other: Any) -> Tensor:
        return _apply("bitwise_or", self, other, other)

    def __ror__(self, other: Any) -> Tensor:
        return _apply("bitwise_or", other, self, other)

    def __xor__(self, other: Any) -> Tensor:
        return _apply("bitwise_xor", self, other, other)

    def __rxor__(self, other: Any) -> Tensor:
        return _apply("bitwise_xor", other, self, other)

    def __lshift__(self, other: Any) -> Tensor:
        return _apply("bitwise_left_shift", self, other, other)

    def __rlshift__(self, other: Any) -> Tensor:
        return _apply("bitwise_left_shift", other, self, other)

    def __rshift__(self, other: Any) -> Tensor:
        return _apply("bitwise_right_shift", self, other, other)

    def __rrshift__(self, other: Any) -> Tensor:
        return _apply("bitwise_right_shift", other, self, other)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        try:
            return _apply("equal", self, other, other)
        except ValueError:
            if not _listed["by identity"]:
                raise
            return cast("Tensor", NotImplemented)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return _apply("not_equal", self, other, other)

    def __lt__(self, other: Any) -> Tensor:
        return _apply("less", self, other, other)

    def __le__(self, other: Any) -> Tensor:
        return _apply("less_equal", self, other, other)

    def __gt__(self, other: Any) -> Tensor:
        return _apply("greater", self, other, other)

    def __ge__(self, other: Any) -> Tensor:
        return _apply("greater_equal", self, other, other)

    __iadd__, __isub__, __imul__ = map(_in_place, ("__add__", "__sub__", "__mul__"))
    __itruediv__, __ifloordiv__, __imod__ = map(_in_place, ("__truediv__", "__floordiv__", "__mod__"))
    __ipow__, __imatmul__, __iand__ = map(_in_place, ("__pow__", "__matmul__", "__and__"))
    __ior__, __ixor__ = map(_in_place, ("__or__", "__xor__"))
    __ilshift__, __irshift__ = map(_in_place, ("__lshift__", "__rshift__"))

    def __neg__(self) -> Tensor:
        return _apply_one("negative", self)

    def __pos__(self) -> Tensor:
        return _apply_one("positive", self)

    def __abs__(self) -> Tensor:
        return _apply_one("abs", self)

    def __invert__(self) -> Tensor:
        return _apply_one("bitwise_invert", self)
