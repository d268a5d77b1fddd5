"""What layer operations are given: values of buffers and trees, buffers to write to, and numbers, checked first."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, TypeVar

from nbm_xp.functions.compound import scaled
from nbm_xp.namespace import array_namespace, is_bool
from nbm_xp.tape import Tensor

from .buffers import Buffer
from .engine import Engine

__all__ = ["Target", "also_by_place", "factors", "number", "operand", "value_of", "whole"]

F = TypeVar("F", bound=Callable[..., Any])


def also_by_place(method: F) -> F:
    """Let a method's keyword-only parameters be given by place as well, behind the documented ones.

    neon's own layers call the methods of its backends for the CPU and for the GPU so, beyond what its document of all
    backends says.
    """
    parameters = inspect.signature(method).parameters.values()
    places = sum(parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    further = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]

    @functools.wraps(method)
    def wrapper(*args: Any, **keywords: Any) -> Any:
        given = dict(zip(further, args[places:], strict=False))
        if len(args) - places > len(further) or given.keys() & keywords.keys():
            return method(*args, **keywords)  # Python's own complaint about the call
        return method(*args[:places], **given, **keywords)

    return wrapper  # type: ignore[return-value]


def value_of(engine: Engine, x: Any, name: str) -> Any:
    """The values of a buffer or tree of a backend.

    Raises
    ------
    TypeError
        If it is neither, or holds truth values.
    ValueError
        If it belongs to another library.
    """
    if not isinstance(x, Buffer):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a buffer or an op-tree of the backend, got {type(x).__name__}")
        x = engine.array(x, dtype=x.dtype)
    if x.backend.xp is not engine.xp:
        raise ValueError(f"{name} must be a buffer of {engine.library}, got one of {x.backend.library}")
    if is_bool(x):
        raise TypeError(f"{name} must hold numbers, got {x.dtype}")
    return x.array


def operand(engine: Engine, x: Any, name: str, shape: Sequence[int]) -> Any:
    """The values of a buffer or tree as a matrix of a given shape.

    Raises
    ------
    ValueError
        If there are more or fewer elements, or the last axis is another; where it is to be 1, any will do.
    """
    array = value_of(engine, x, name)
    _check(tuple(array.shape), name, shape)
    return array if array.shape == tuple(shape) else array_namespace(array).reshape(array, tuple(shape))


def _check(given: tuple[int, ...], name: str, shape: Sequence[int]) -> None:
    last = shape[-1]
    if math.prod(given) != math.prod(shape) or last not in (1, given[-1]):
        also = f" of which {last} along the last axis" if last != 1 else ""
        raise ValueError(f"{name} must have shape {tuple(shape)}, or as many elements{also}, got {given}")


class Target:
    """A buffer that a matrix of a given shape can be written to.

    Raises
    ------
    TypeError
        If it is no buffer.
    ValueError
        If it belongs to another library, or has another shape.
    """

    def __init__(self, engine: Engine, x: Any, name: str, shape: Sequence[int]) -> None:
        if not isinstance(x, Buffer):
            raise TypeError(f"{name} must be a buffer to write to, got {type(x).__name__}")
        if x.backend.xp is not engine.xp:
            raise ValueError(f"{name} must be a buffer of {engine.library}, got one of {x.backend.library}")
        _check(x.shape, name, shape)
        self.buffer = x.reshape(tuple(shape))

    def held(self, beta: float) -> Any:
        """What it holds, if that takes part in what is written."""
        return self.buffer.array if beta else None

    def write(self, value: Any, *, fresh: bool = False) -> None:
        """Set the values to an array of that shape; `fresh` if nobody else holds it."""
        self.buffer.write(value, fresh=fresh)

    def write_scaled(self, value: Any, alpha: float, beta: float, *, relu: bool = False, fresh: bool = False) -> Any:
        """Set the values to ``alpha * value``, rectified if wanted, plus ``beta`` times what they were; return them."""
        total = scaled(value, self.held(beta), alpha, beta, relu=relu)
        self.write(total, fresh=fresh)
        return total


def factors(alpha: Any, beta: Any) -> tuple[float, float]:
    """What a result is multiplied by, and what it is added to.

    Raises
    ------
    TypeError
        If one of them is no real number.
    """
    return number(alpha, "alpha"), number(beta, "beta")


def number(x: Any, name: str) -> float:
    """A factor.

    Raises
    ------
    TypeError
        If it is no real number.
    """
    if not isinstance(x, Real):
        raise TypeError(f"{name} must be a number, got {x!r}")
    return float(x)


def whole(x: Any, name: str, least: int = 1) -> int:
    """An integer that is not too small.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is less than `least`, or beyond any count.
    """
    if isinstance(x, bool):
        raise TypeError(f"{name} must be an integer, got {x!r}")
    try:
        found = operator.index(x)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {x!r}") from None
    if found < least:
        raise ValueError(f"{name} must be {least} or more, got {found}")
    if found.bit_length() > 63:
        raise ValueError(f"{name} must be below 2**63, got {found}")
    return found
