"""What goes along one axis: partial sums and products, and differences."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.dtypes import DType
from nbm_xp.tape.lengths import known
from nbm_xp.tape.node import Memory, Node, Operation
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .casting import cast
from .creation import zeros
from .declaring import along_axes
from .joining import concat
from .manipulation import flip
from .shapes import axis_of, kept_shape
from .sums import accumulator

__all__ = ["cumulative_prod", "cumulative_sum", "diff"]


def _accumulated(x: Node, *, axis: int, dtype: DType, include_initial: bool) -> Any:
    shape = tuple(n + 1 if include_initial and i == axis else n for i, n in enumerate(x.shape))
    return shape, dtype


def _along_axis(axis: int, part: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (part,)


def _without_first(g: Tensor, axis: int, include_initial: bool) -> Tensor:
    return g[_along_axis(axis, slice(1, None))] if include_initial else g


def _cumsum_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: int, dtype: Any, include_initial: bool) -> Tensor:
    g = _without_first(g, axis, include_initial)
    return flip(cumulative_sum(flip(g, axis=axis), axis=axis), axis=axis)


def _cumprod_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: int, dtype: Any, include_initial: bool) -> Tensor:
    """The product of what is before an element, times what follows from it; nothing is divided, so zeros do no harm."""
    g = _without_first(g, axis, include_initial)
    before = cumulative_prod(x, axis=axis, include_initial=True)[_along_axis(axis, slice(None, -1))]
    return before * _backwards(x, g, axis)


def _shifted(x: Tensor, axis: int) -> Tensor:
    """Each element one place later, after a zero."""
    first = zeros(kept_shape(x.node.shape, (axis,)), dtype=x.dtype)
    longer: Tensor = concat([first, x], axis=axis)
    return longer[_along_axis(axis, slice(None, -1))]


def _backwards(a: Tensor, g: Tensor, axis: int) -> Tensor:
    """The sums r of ``r[i] = g[i] + a[i + 1] * r[i + 1]``: the recurrence read from the end."""
    turned = record(_RECURRENCE, _shifted(flip(a, axis=axis), axis), flip(g, axis=axis), axis=axis)
    return flip(turned, axis=axis)


def _run_recurrence(xp: Any, a: Any, b: Any, *, axis: int) -> Any:
    """Sums s of ``s[i] = a[i] * s[i - 1] + b[i]``: after each round every element has taken in twice as many."""
    done = 1
    while done < a.shape[axis]:
        head, late, early = ((*_along_axis(axis, slice(*ends)), ...) for ends in ((done,), (done, None), (None, -done)))
        rest = b[late] + a[late] * b[early]
        b = xp.concat([b[head], rest], axis=axis)
        a = xp.concat([a[head], a[late] * a[early]], axis=axis)
        done *= 2
    return b


_RECURRENCE = along_axes(
    "linear_recurrence",
    lambda a, b, *, axis: (b.shape, b.dtype),
    (
        lambda g, out, a, b, *, axis: _backwards(a, g, axis) * _shifted(out, axis),
        lambda g, out, a, b, *, axis: _backwards(a, g, axis),
    ),
    run=_run_recurrence,
    memory=Memory.ANY,
)
_CUMSUM = along_axes("cumulative_sum", _accumulated, (_cumsum_rule,))
_CUMPROD = along_axes("cumulative_prod", _accumulated, (_cumprod_rule,))


def _partial(op: Operation, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> Tensor:
    x = as_tensor(x)
    wide = accumulator(x, dtype)
    if axis is None and x.ndim != 1:
        raise ValueError(f"axis must be given to {op.name} for an array of {x.ndim} axes")
    place = axis_of(0 if axis is None else axis, x.ndim)
    return record(op, cast(x, wide), axis=place, dtype=wide, include_initial=include_initial)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Partial sums along an axis."""
    return _partial(_CUMSUM, x, axis, dtype, include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Partial products along an axis."""
    return _partial(_CUMPROD, x, axis, dtype, include_initial)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """The n-th differences along an axis."""
    tensor = as_tensor(x)
    place = axis_of(axis, tensor.ndim)
    if n < 0:
        raise ValueError(f"n must be 0 or more for diff, got {n}")
    parts = [part for part in (prepend, tensor, append) if part is not None]
    if len(parts) > 1:
        tensor = concat(parts, axis=place)
    head = (slice(None),) * place
    for _ in range(n):
        if known(tensor.node.shape[place]) == 0:
            break
        tensor = tensor[(*head, slice(1, None))] - tensor[(*head, slice(None, -1))]
    return tensor
