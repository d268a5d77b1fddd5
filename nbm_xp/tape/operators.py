"""Python's operators on Tensors, each a function of the tape's namespace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dis import opmap
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from nbm_xp.namespace import is_array

from .lengths import Length

__all__ = [
    "LATE", "Operators", "is_number", "is_operator", "kind_of_number", "look_up_by_identity",
    "looked_up_by_identity",
]  # fmt: skip

T = TypeVar("T")

_NUMBERS = frozenset({bool, int, float, complex})

LATE: dict[str, Callable[..., Any]] = {}
"""What operators and methods of Tensors call, by name: functions of Tensors, entered as they come to be.

All else imports the functions that it calls.
"""

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


_BINARY_OP = opmap["BINARY_OP"]


def is_operator(caller: FrameType) -> bool:
    """Whether Python evaluates an operator or ``x += y``, whose name takes what comes of it, and calls no function."""
    return caller.f_code.co_code[caller.f_lasti] == _BINARY_OP


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        is_statement = is_operator(sys._getframe(1))
        if is_statement and (self.viewed is None or looked_up_by_identity()):
            return NotImplemented
        result = getattr(self, name)(other)
        if result is NotImplemented:
            return result
        if is_statement:
            return LATE["updated"](self, result)
        self[...] = result
        return self

    return operate


class Operators(Generic[T]):
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

    def _alone(self, name: str) -> T:
        result: T = LATE[name](self)
        return result

    def _with(self, name: str, other: Any) -> T:
        if isinstance(other, Operators) or is_number(other) or is_array(other):  # else nothing to calculate with
            result: T = LATE[name](self, other)
            return result
        return cast("T", NotImplemented)

    def _after(self, name: str, other: Any) -> T:
        if isinstance(other, Operators) or is_number(other) or is_array(other):
            result: T = LATE[name](other, self)
            return result
        return cast("T", NotImplemented)

    def __add__(self, other: Any) -> T:
        return self._with("add", other)

    def __radd__(self, other: Any) -> T:
        return self._after("add", other)

    def __sub__(self, other: Any) -> T:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> T:
        return self._after("subtract", other)

    def __mul__(self, other: Any) -> T:
        return self._with("multiply", other)

    def __rmul__(self, other: Any) -> T:
        return self._after("multiply", other)

    def __truediv__(self, other: Any) -> T:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> T:
        return self._after("divide", other)

    def __floordiv__(self, other: Any) -> T:
        return self._with("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> T:
        return self._after("floor_divide", other)

    def __mod__(self, other: Any) -> T:
        return self._with("remainder", other)

    def __rmod__(self, other: Any) -> T:
        return self._after("remainder", other)

    def __pow__(self, other: Any) -> T:
        return self._with("pow", other)

    def __rpow__(self, other: Any) -> T:
        return self._after("pow", other)

    def __matmul__(self, other: Any) -> T:
        return self._with("matmul", other)

    def __rmatmul__(self, other: Any) -> T:
        return self._after("matmul", other)

    def __and__(self, other: Any) -> T:
        return self._with("bitwise_and", other)

    def __rand__(self, other: Any) -> T:
        return self._after("bitwise_and", other)

    def __or__(self, other: Any) -> T:
        return self._with("bitwise_or", other)

    def __ror__(self, other: Any) -> T:
        return self._after("bitwise_or", other)

    def __xor__(self, other: Any) -> T:
        return self._with("bitwise_xor", other)

    def __rxor__(self, other: Any) -> T:
        return self._after("bitwise_xor", other)

    def __lshift__(self, other: Any) -> T:
        return self._with("bitwise_left_shift", other)

    def __rlshift__(self, other: Any) -> T:
        return self._after("bitwise_left_shift", other)

    def __rshift__(self, other: Any) -> T:
        return self._with("bitwise_right_shift", other)

    def __rrshift__(self, other: Any) -> T:
        return self._after("bitwise_right_shift", other)

    def __eq__(self, other: object) -> T:  # type: ignore[override]
        try:
            return self._with("equal", other)
        except ValueError:
            if not _listed["by identity"]:
                raise
            return cast("T", NotImplemented)

    def __ne__(self, other: object) -> T:  # type: ignore[override]
        return self._with("not_equal", other)

    def __lt__(self, other: Any) -> T:
        return self._with("less", other)

    def __le__(self, other: Any) -> T:
        return self._with("less_equal", other)

    def __gt__(self, other: Any) -> T:
        return self._with("greater", other)

    def __ge__(self, other: Any) -> T:
        return self._with("greater_equal", other)

    __iadd__, __isub__, __imul__ = map(_in_place, ("__add__", "__sub__", "__mul__"))
    __itruediv__, __ifloordiv__, __imod__ = map(_in_place, ("__truediv__", "__floordiv__", "__mod__"))
    __ipow__, __imatmul__, __iand__ = map(_in_place, ("__pow__", "__matmul__", "__and__"))
    __ior__, __ixor__ = map(_in_place, ("__or__", "__xor__"))
    __ilshift__, __irshift__ = map(_in_place, ("__lshift__", "__rshift__"))

    def __neg__(self) -> T:
        return self._alone("negative")

    def __pos__(self) -> T:
        return self._alone("positive")

    def __abs__(self) -> T:
        return self._alone("abs")

    def __invert__(self) -> T:
        return self._alone("bitwise_invert")
