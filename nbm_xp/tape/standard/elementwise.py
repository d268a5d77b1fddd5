"""Element-wise functions, whose results have the broadcast shape, with their gradient rules.

A rule multiplies by the derivative, not by its conjugate: for a real loss u of z = x + iy the gradient is du/dx - i
du/dy. The functions of complex numbers are holomorphic, except for `abs` and `sign`. Rules take square roots of factors
separately where this determines the branch.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from ..composite import sigmoid, softplus
from ..dtypes import bool as boolean
from ..dtypes import common_dtype
from ..graph import Node
from ..lengths import Length, is_number
from ..operations import ELEMENTWISE_TAG, LINEAR_TAG, OPERATIONS, Rule, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .creation import asarray, conj, zeros_like
from .data_types import (
    both_tensors,
    cast,
    divisible,
    floating,
    is_complex,
    plain_number,
    refuse_complex,
    scalar,
    to_real,
    together,
)
from .shapes import broadcast, published

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "copysign", "cos", "cosh",
    "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot", "isfinite",
    "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive",
    "pow", "reciprocal", "remainder", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan",
    "tanh", "trunc", "where",
]  # fmt: skip

_WHERE = declare(
    "where",
    lambda condition, x, y: (broadcast(condition.shape, x.shape, y.shape), x.dtype),
    (
        None,
        lambda g, out, condition, x, y: where(condition, g, zeros_like(g)),
        lambda g, out, condition, x, y: where(condition, zeros_like(g), g),
    ),
)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """``where(condition, x1, x2)`` of the array API standard, recorded."""
    condition = cast(as_tensor(condition), boolean)
    x1, x2 = both_tensors(*together(x1, x2))
    return record(_WHERE, condition, x1, x2)


def _clip_infer(x: Node, lower: Any, upper: Any) -> Any:
    shapes = [bound.shape for bound in (x, lower, upper) if isinstance(bound, Node)]
    return broadcast(*shapes), x.dtype


def _inside(out: Tensor, x: Any) -> Tensor:
    return cast(as_tensor(out == x), out.dtype)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """``clip(x, min, max)`` of the array API standard, recorded; the gradient passes at the bounds."""
    x = as_tensor(x)
    refuse_complex("clip", x=x, min=min, max=max)
    if min is None and max is None:
        return asarray(x, copy=True)
    return record(_CLIP, x, _bound(min, x), _bound(max, x))


def _bound(bound: Any, x: Tensor) -> Any:
    return bound if bound is None or is_number(bound) else cast(as_tensor(bound), x.dtype)


def _run_clip(xp: Any, x: Any, lower: Any, upper: Any) -> Any:
    if lower is not None:
        x = xp.maximum(x, xp.asarray(lower, dtype=x.dtype) if is_number(lower) else lower)
    if upper is not None:
        x = xp.minimum(x, xp.asarray(upper, dtype=x.dtype) if is_number(upper) else upper)
    return x


_CLIP = declare(
    "clip",
    _clip_infer,
    (
        lambda g, out, x, lower, upper: g * _inside(out, x),
        lambda g, out, x, lower, upper: g * _clipped_by(out, x, lower, upper),
        lambda g, out, x, lower, upper: g * _clipped_by(out, x, upper, lower),
    ),
    run=_run_clip,
)


def _clipped_by(out: Tensor, x: Tensor, bound: Any, other: Any) -> Tensor:
    return (1 - _inside(out, x)) * _inside(out, bound)


Unary: TypeAlias = Callable[[Any], Tensor]

_ELEMENTWISE = frozenset({ELEMENTWISE_TAG})
_LINEAR = _ELEMENTWISE | {LINEAR_TAG}
_LN2 = math.log(2.0)
_LN10 = math.log(10.0)


def _folded(operate: Callable[[Any, Any], Any], x1: Any, x2: Any) -> Tensor | None:
    """Return the result for two numbers, at least one of them a recorded scalar, computed while recording, or None."""
    a, b = plain_number(x1), plain_number(x2)
    if a is None or b is None or (operate is operator.truediv and b == 0):
        return None
    tensors = [x for x in (x1, x2) if isinstance(x, Tensor)]
    if not tensors:
        return None
    return scalar(float(operate(a, b)), common_dtype(*(t.dtype for t in tensors)))


_WEAK = frozenset((int, float))


def _as_they_are(x1: Any, x2: Any) -> tuple[Any, Any] | None:
    """Return two operands that need no cast, a recorded scalar as its number; None if they may need one.

    They are Tensors of one floating dtype, or such a Tensor and a number, and not both of them numbers.
    """
    if not (isinstance(x1, Tensor) and isinstance(x2, Tensor)):
        tensor, number = (x1, x2) if isinstance(x1, Tensor) else (x2, x1)
        is_plain = type(number) in _WEAK and isinstance(tensor, Tensor) and tensor.node.dtype.kind == "f"
        return (x1, x2) if is_plain and tensor.node.op.name != "scalar" else None
    first, second = x1.node, x2.node
    if first.dtype is not second.dtype or first.dtype.kind != "f":
        return None
    if first.op.name == "scalar":
        return None if second.op.name == "scalar" or type(first.args[0]) not in _WEAK else (first.args[0], x2)
    return (x1, second.args[0]) if second.op.name == "scalar" and type(second.args[0]) in _WEAK else (x1, x2)


def _scaled(g: Tensor, factor: Any) -> Any:
    """Multiply a cotangent by a factor; the factor alone if the cotangent is 1, as that of a loss is."""
    is_one = plain_number(g) == 1.0 and isinstance(factor, Tensor) and factor.dtype == g.dtype
    return factor if is_one else g * factor


def _unary_to_bool(x: Node) -> Any:
    return x.shape, boolean


def _pair_spec(x: Any, y: Any) -> Any:
    if not isinstance(x, Node):
        return y.shape, y.dtype
    return (broadcast(x.shape, y.shape) if isinstance(y, Node) else x.shape), x.dtype


def _pair_to_bool(x: Any, y: Any) -> Any:
    return _pair_spec(x, y)[0], boolean


def unary(
    name: str,
    rule: Rule,
    *,
    to_float: bool = False,
    real_only: bool = False,
    infer: Callable[..., Any] = same_as_first,
    tags: frozenset[str] = _ELEMENTWISE,
    **facts: Any,
) -> Unary:
    """Declare a function of one array; `facts` are further parameters of its `Operation`."""
    op = declare(name, infer, (rule,), tags=tags, **facts)

    def function(x: Any, /) -> Tensor:
        tensor = floating(x) if to_float else as_tensor(x)
        if real_only and tensor.node.dtype.kind == "c":
            refuse_complex(name, x=tensor)
        return record(op, tensor)

    return published(name, function, f"``{name}(x)`` of the array API standard, recorded.")


def binary(
    name: str,
    first: Rule,
    second: Rule,
    symbol: str | None = None,
    *,
    fold: Callable[[Any, Any], Any] | None = None,
    to_float: bool = False,
    to_bool: bool = False,
    real_only: bool = False,
) -> Callable[[Any, Any], Tensor]:
    """Declare a function of two arrays; `symbol` is its Python operator, `fold` the function of two numbers."""
    infer = _pair_to_bool if to_bool else _pair_spec
    emit = None if symbol is None else lambda x, y: f"({x} {symbol} {y})"
    op = declare(name, infer, (first, second), emit=emit, tags=_ELEMENTWISE, symbol=symbol)

    def function(x1: Any, x2: Any, /) -> Tensor:
        operands = None if symbol is None else _as_they_are(x1, x2)
        if operands is not None:
            return record(op, *operands)
        if fold is not None:
            folded = _folded(fold, x1, x2)
            if folded is not None:
                return folded
        x1, x2 = together(x1, x2)
        if real_only and (x1 if isinstance(x1, Tensor) else x2).dtype.kind == "c":
            refuse_complex(name, x1=x1, x2=x2)
        if to_float:
            x1, x2 = (divisible(x) if isinstance(x, Tensor) else x for x in (x1, x2))
        if symbol is None:  # operators accept Python scalars in all libraries, functions do not
            x1, x2 = both_tensors(x1, x2)
        return record(op, x1, x2)

    return published(name, function, f"``{name}(x1, x2)`` of the array API standard, recorded.")


def _share(g: Tensor, chosen: Any, other: Any) -> Tensor:
    """Return the gradient where `chosen` equals the result; half of it at ties."""
    wins = cast(as_tensor(chosen == other), g.dtype)
    return g * (1 - 0.5 * wins)


def _pow_base(g: Tensor, out: Tensor, x: Any, y: Any) -> Tensor:
    if is_number(y):
        lower: Tensor = g * (y * x ** (y - 1)) if y != 0 else zeros_like(g)
        return lower
    # 0**0 is constant in its base; 0**-1 must not be computed there
    slope: Tensor = y * x ** where((x == 0) & (y == 0), 1.0, y - 1)
    return g * slope


def _pow_exponent(g: Tensor, out: Tensor, x: Any, y: Any) -> Tensor:
    # x**y is constant in y for x = 0 < y, and has no derivative for x < 0: no logarithm there
    if is_number(x) and (isinstance(x, complex) or is_complex(y)):
        return g * out * cmath.log(x) if x else zeros_like(g)
    if is_number(x):
        return g * out * math.log(x) if x > 0 else g * where(y > 0, 0.0, math.nan)
    if is_complex(x):
        return g * where(x == 0, 0.0, out * log(where(x == 0, 1.0, x)))
    slope: Tensor = where(x < 0, math.nan, out * log(where(x > 0, x, 1.0)))
    return g * slope


def _sign_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of ``x / |x|`` of a complex number, which depends on its phase only; zero at 0."""
    none = x == 0
    size = where(none, 1.0, abs(x))
    return where(none, 0.0, (g - conj(g * out * out)) / (2.0 * size))


abs = unary("abs", lambda g, out, x: g * conj(sign(x)), infer=to_real)
acos = unary("acos", lambda g, out, x: -g / sqrt(1 - x * x), to_float=True)
acosh = unary("acosh", lambda g, out, x: g / (sqrt(x - 1) * sqrt(x + 1)), to_float=True)
asin = unary("asin", lambda g, out, x: g / sqrt(1 - x * x), to_float=True)
asinh = unary("asinh", lambda g, out, x: g / sqrt(x * x + 1), to_float=True)
atan = unary("atan", lambda g, out, x: g / (1 + x * x), to_float=True)
atanh = unary("atanh", lambda g, out, x: g / (1 - x * x), to_float=True)
ceil = unary("ceil", None, real_only=True)
cos = unary("cos", lambda g, out, x: -g * sin(x), to_float=True)
cosh = unary("cosh", lambda g, out, x: g * sinh(x), to_float=True)
exp = unary("exp", lambda g, out, x: g * out, to_float=True)
expm1 = unary("expm1", lambda g, out, x: g * (out + 1), to_float=True)
floor = unary("floor", None, real_only=True)
isfinite = unary("isfinite", None, infer=_unary_to_bool)
isinf = unary("isinf", None, infer=_unary_to_bool)
isnan = unary("isnan", None, infer=_unary_to_bool)
log1p = unary("log1p", lambda g, out, x: g / (1 + x), to_float=True)
log2 = unary("log2", lambda g, out, x: g / (x * _LN2), to_float=True)
log10 = unary("log10", lambda g, out, x: g / (x * _LN10), to_float=True)
logical_not = unary("logical_not", None, infer=_unary_to_bool)
_negative = unary("negative", lambda g, out, x: -g, symbol="-", tags=_LINEAR, emit=lambda x: f"(-{x})")
positive = unary("positive", lambda g, out, x: g, tags=_LINEAR, may_overlap=True)
reciprocal = unary("reciprocal", lambda g, out, x: -g * out * out, to_float=True)
round = unary("round", None, may_overlap=True)  # NumPy 2.1 returns whole numbers themselves
sign: Unary = unary("sign", lambda g, out, x: _sign_rule(g, out, x) if is_complex(x) else None)
signbit = unary("signbit", None, infer=_unary_to_bool, real_only=True)
sin: Unary = unary("sin", lambda g, out, x: g * cos(x), to_float=True)
sinh: Unary = unary("sinh", lambda g, out, x: g * cosh(x), to_float=True)
sqrt: Unary = unary("sqrt", lambda g, out, x: g * 0.5 / out, to_float=True)
square = unary("square", lambda g, out, x: _scaled(g, 2 * x))
tan = unary("tan", lambda g, out, x: g * (1 + out * out), to_float=True)
tanh = unary("tanh", lambda g, out, x: g * (1 - out * out), to_float=True)
trunc = unary("trunc", None, real_only=True)
bitwise_invert = unary("bitwise_invert", None, symbol="~")

add = binary("add", lambda g, out, x, y: g, lambda g, out, x, y: g, "+", fold=operator.add)
subtract = binary("subtract", lambda g, out, x, y: g, lambda g, out, x, y: -g, "-", fold=operator.sub)
multiply = binary(
    "multiply", lambda g, out, x, y: _scaled(g, y), lambda g, out, x, y: _scaled(g, x), "*", fold=operator.mul
)
divide = binary(
    "divide", lambda g, out, x, y: g / y, lambda g, out, x, y: -g * out / y, "/", fold=operator.truediv, to_float=True
)
floor_divide = binary("floor_divide", None, None, "//", real_only=True)
remainder = binary(
    "remainder", lambda g, out, x, y: g, lambda g, out, x, y: -g * floor_divide(x, y), "%", real_only=True
)
pow = binary("pow", _pow_base, _pow_exponent, "**")
_REAL_FLOATS: dict[str, Any] = {"to_float": True, "real_only": True}
atan2 = binary(
    "atan2",
    lambda g, out, x, y: g * _per(y, x * x + y * y),
    lambda g, out, x, y: -g * _per(x, x * x + y * y),
    **_REAL_FLOATS,
)
hypot = binary("hypot", lambda g, out, x, y: g * _per(x, out), lambda g, out, x, y: g * _per(y, out), **_REAL_FLOATS)
copysign = binary("copysign", lambda g, out, x, y: g * sign(x) * sign(out), None, **_REAL_FLOATS)
nextafter = binary("nextafter", lambda g, out, x, y: g, None, real_only=True)
logaddexp = binary(
    "logaddexp", lambda g, out, x, y: g * _weight(x, y), lambda g, out, x, y: g * _weight(y, x), **_REAL_FLOATS
)
maximum = binary(
    "maximum",
    lambda g, out, x, y: where(x >= y, _share(g, x, y), 0.0),
    lambda g, out, x, y: where(y >= x, _share(g, x, y), 0.0),
    real_only=True,
)
minimum = binary(
    "minimum",
    lambda g, out, x, y: where(x <= y, _share(g, x, y), 0.0),
    lambda g, out, x, y: where(y <= x, _share(g, x, y), 0.0),
    real_only=True,
)
equal = binary("equal", None, None, "==", to_bool=True)
not_equal = binary("not_equal", None, None, "!=", to_bool=True)
less = binary("less", None, None, "<", to_bool=True, real_only=True)
less_equal = binary("less_equal", None, None, "<=", to_bool=True, real_only=True)
greater = binary("greater", None, None, ">", to_bool=True, real_only=True)
greater_equal = binary("greater_equal", None, None, ">=", to_bool=True, real_only=True)
logical_and = binary("logical_and", None, None, to_bool=True)
logical_or = binary("logical_or", None, None, to_bool=True)
logical_xor = binary("logical_xor", None, None, to_bool=True)
bitwise_and = binary("bitwise_and", None, None, "&")
bitwise_or = binary("bitwise_or", None, None, "|")
bitwise_xor = binary("bitwise_xor", None, None, "^")
bitwise_left_shift = binary("bitwise_left_shift", None, None, "<<")
bitwise_right_shift = binary("bitwise_right_shift", None, None, ">>")


def _per(x: Tensor, size: Tensor) -> Tensor:
    """Divide a coordinate by the norm of the point; 0 at the origin."""
    none = size == 0
    return where(none, 0.0, x / where(none, 1.0, size))


def _weight(x: Tensor, other: Tensor) -> Tensor:
    """Return ``exp(x) / (exp(x) + exp(other))``; one half if both are the same infinity."""
    same = (x == other) & isinf(x)
    share: Tensor = sigmoid(where(same, 0.0, x) - where(same, 0.0, other))
    return share


def negative(x: Any, /) -> Tensor:
    """``negative(x)`` of the array API standard, recorded."""
    number = plain_number(x) if isinstance(x, Tensor) else None
    return _negative(x) if number is None else scalar(-number, x.dtype)


_LOG = declare("log", same_as_first, (lambda g, out, x: g / x,), tags=_ELEMENTWISE)


def log(x: Any, /) -> Tensor:
    """``log(x)`` of the array API standard, recorded; ``log(1 + exp(x))`` is recorded as the stable softplus."""
    x = floating(x)
    inner = _exponent_of_log1p_exp(x.node)
    return record(_LOG, x) if inner is None else softplus(Tensor(inner))


def _exponent_of_log1p_exp(node: Node) -> Node | None:
    """Return the node x of ``1 + exp(x)``, or None for other nodes."""
    if node.op is not OPERATIONS["add"] or node.dtype.kind == "c":
        return None
    left, right = node.args
    one, term = (left, right) if is_number(left) else (right, left)
    if is_number(one) and not isinstance(one, Length) and one == 1 and term.op is OPERATIONS["exp"]:
        inner: Node = term.args[0]
        return inner
    return None
