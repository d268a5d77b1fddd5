"""Statistical, searching, sorting and set functions: reductions over axes and functions along an axis.

The lengths of sets depend on data, which is evaluated while recording; the values are taken from the array at positions
found then, so that the gradient flows to the first of equal elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.namespace import array_namespace, recording_namespace, running_dtype
from nbm_xp.namespace.overlay import UniqueAll, UniqueCounts, UniqueInverse

from ..dtypes import DType, int64
from ..dtypes import bool as boolean
from ..graph import Node
from ..lengths import Size, known, product
from ..operations import Rule, Spec, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .creation import full, imag, real, zeros
from .data_types import both_tensors, cast, floating, is_complex, together
from .elementwise import sqrt, square, where
from .indexing import take, take_along_axis
from .manipulation import concat, flip, permute_dims, reshape
from .shapes import along_axes, axes_of, axis_of, index_along, kept_shape, published, reduced_shape
from .sums import accumulated, accumulator, along_reduced, reduced_spec
from .sums import sum as sum_

__all__ = [
    "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "isin",
    "max", "mean", "min", "nonzero", "prod", "searchsorted", "sort", "std", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "var",
]  # fmt: skip


def _cumsum_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: int, dtype: Any) -> Tensor:
    return flip(cumulative_sum(flip(g, axis=axis), axis=axis), axis=axis)


def _cumprod_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: int, dtype: Any) -> Tensor:
    """Return the product of the preceding elements times a recurrence over the following, correct at zeros."""
    return _products_before(x, axis) * _backwards(x, g, axis)


def _products_before(x: Tensor, axis: int) -> Tensor:
    return cumulative_prod(x, axis=axis, include_initial=True)[index_along(axis, slice(None, -1))]


def _shifted(x: Tensor, axis: int) -> Tensor:
    """Shift the elements by one position along an axis, with a leading zero."""
    first = zeros(kept_shape(x.node.shape, (axis,)), dtype=x.dtype)
    longer: Tensor = concat([first, x], axis=axis)
    return longer[index_along(axis, slice(None, -1))]


def _backwards(a: Tensor, g: Tensor, axis: int) -> Tensor:
    """Return the solution r of ``r[i] = g[i] + a[i + 1] * r[i + 1]``, a recurrence from the end."""
    turned = record(_RECURRENCE, _shifted(flip(a, axis=axis), axis), flip(g, axis=axis), axis=axis)
    return flip(turned, axis=axis)


def _run_recurrence(xp: Any, a: Any, b: Any, *, axis: int) -> Any:
    """Return the solution s of ``s[i] = a[i] * s[i - 1] + b[i]`` by recursive doubling."""
    done = 1
    while done < a.shape[axis]:
        head, late, early = ((*index_along(axis, slice(*ends)), ...) for ends in ((done,), (done, None), (None, -done)))
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
    may_overlap=True,
)


def _cumulative(name: str, rule: Rule, start: int, doc: str) -> Callable[..., Tensor]:
    op = along_axes(name, lambda x, *, axis, dtype: (x.shape, dtype), (rule,))

    def function(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
        x = as_tensor(x)
        wide = accumulator(x, dtype)
        if axis is None and x.ndim != 1:
            raise ValueError(f"axis must be given to {name} for an array of {x.ndim} axes")
        place = axis_of(0 if axis is None else axis, x.ndim)
        found = record(op, cast(x, wide), axis=place, dtype=wide)
        first = full(kept_shape(x.node.shape, (place,)), start, dtype=wide)
        return concat([first, found], axis=place) if include_initial else found

    return published(name, function, doc)


cumulative_sum = _cumulative("cumulative_sum", _cumsum_rule, 0, "Partial sums along an axis.")
cumulative_prod = _cumulative("cumulative_prod", _cumprod_rule, 1, "Partial products along an axis.")


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    """Return the n-th differences along an axis."""
    tensor = as_tensor(x)
    place = axis_of(axis, tensor.ndim)
    if n < 0:
        raise ValueError(f"n must be 0 or more for diff, got {n}")
    parts = [part for part in (prepend, tensor, append) if part is not None]
    if len(parts) > 1:
        tensor = concat(parts, axis=place)
    for _ in range(n):
        if known(tensor.node.shape[place]) == 0:
            break
        tensor = tensor[index_along(place, slice(1, None))] - tensor[index_along(place, slice(None, -1))]
    return tensor


def _prod_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    """Return g times the product of the other elements: of the preceding times of the following ones."""
    order = [i for i in range(x.ndim) if i not in axis] + list(axis)
    moved = permute_dims(x, order)
    kept = moved.node.shape[: x.ndim - len(axis)]
    rows = reshape(moved, (*kept, product(moved.node.shape[len(kept) :])))
    after = flip(_products_before(flip(rows, axis=-1), len(kept)), axis=-1)
    others = reshape(_products_before(rows, len(kept)) * after, moved.node.shape)
    back = [order.index(i) for i in range(x.ndim)]
    return along_reduced(g, x, axis, keepdims) * permute_dims(others, back)


_PROD = along_axes("prod", reduced_spec, (_prod_rule,))


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the product over axes; its gradient is correct at zeros."""
    return accumulated(_PROD, x, axis, dtype, keepdims)


def _count(x: Tensor, axis: tuple[int, ...]) -> Size:
    return product(x.node.shape[i] for i in axis)


def _reduction(
    name: str, rule: Rule, doc: str, *, dtype: DType = None, of_none: bool = True, floats: bool = False, **facts: Any
) -> Callable[..., Tensor]:
    """Declare a reduction over axes; `facts` are further parameters of its `Operation`.

    Parameters
    ----------
    dtype
        Data type of the result. Defaults to the argument's.
    of_none
        Whether the reduction is defined for no elements.
    floats
        Whether the argument is converted to a floating dtype.
    """

    def infer(x: Node, *, axis: tuple[int, ...], keepdims: bool) -> Spec:
        return reduced_shape(x.shape, axis, keepdims), x.dtype if dtype is None else dtype

    op = along_axes(name, infer, (rule,), **facts)

    def function(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
        x = floating(x) if floats else as_tensor(x)
        axes = axes_of(axis, x.ndim)
        if not of_none:
            check_some(x, axes, name)
        return record(op, x, axis=axes, keepdims=keepdims)

    return published(name, function, doc)


def check_some(x: Tensor, axes: Sequence[int], name: str) -> None:
    """Raise if one of the axes is known to have length 0."""
    if 0 in [known(x.node.shape[axis]) for axis in axes]:
        raise ValueError(f"{name} of no elements is not defined: x has shape {x.shape}")


def _run_mean(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    """Return the mean; NaN for no elements, without a warning."""
    if 0 in x.shape:
        return xp.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype) + xp.nan
    return xp.mean(x, axis=axis, keepdims=keepdims)


mean = _reduction(
    "mean",
    lambda g, out, x, *, axis, keepdims: along_reduced(g / _count(x, axis), x, axis, keepdims),
    "The arithmetic mean over axes.",
    floats=True,
    run=_run_mean,
    adds_up=True,
)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the variance over axes; of complex numbers, the sum of the variances of real and imaginary parts."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    spread: Tensor = mean(squared_size(x - mean(x, axis=axes, keepdims=True)), axis=axes, keepdims=keepdims)
    if correction == 0:
        return spread
    count = _count(x, axes)
    degrees = count - (int(correction) if correction == int(correction) else correction)
    if isinstance(count, int):
        return spread * (count / degrees if degrees > 0 else math.inf)
    return spread * count / degrees


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation over axes; the gradient is 0 where it is 0."""
    return root(var(x, axis=axis, correction=correction, keepdims=keepdims), 2)


def squared_size(x: Tensor) -> Tensor:
    """Return the squared absolute values."""
    return real(x) * real(x) + imag(x) * imag(x) if is_complex(x) else square(x)


def root(powers: Tensor, order: float) -> Tensor:
    """Return a root of non-negative numbers; the gradient is 0 at 0."""
    none = powers == 0
    safe = where(none, 1.0, powers)
    return where(none, 0.0, sqrt(safe) if order == 2 else safe ** (1 / order))


def _extremum_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: Any, keepdims: bool) -> Tensor:
    """Divide the gradient equally among the extreme elements."""
    winners = cast(x == along_reduced(out, x, axis, keepdims), x.dtype)
    return winners * (along_reduced(g, x, axis, keepdims) / sum_(winners, axis=axis, keepdims=True))


_OF_EXTREMUM = "element over axes; at a tie the gradient is shared equally."
max = _reduction("max", _extremum_rule, f"The largest {_OF_EXTREMUM}", of_none=False)
min = _reduction("min", _extremum_rule, f"The smallest {_OF_EXTREMUM}", of_none=False)
# a reduction over no axes returns the argument itself
all = _reduction("all", None, "Whether all elements over axes are true.", dtype=boolean, may_overlap=True)
any = _reduction("any", None, "Whether any elements over axes are true.", dtype=boolean, may_overlap=True)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the number of non-zero elements over axes."""
    x = as_tensor(x)
    return sum_(x if x.dtype == boolean else x != 0, axis=axis, keepdims=keepdims)


def _position(name: str, which: str) -> Callable[..., Tensor]:
    op = along_axes(
        name,
        lambda x, *, axis, keepdims: (reduced_shape(x.shape, (axis,), keepdims), int64),
        (None,),
        run=lambda xp, x, *, axis, keepdims: xp.astype(
            getattr(xp, name)(x, axis=axis, keepdims=keepdims), running_dtype(xp, "int64")
        ),
    )

    def function(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
        x = as_tensor(x)
        if axis is None:
            flat: Tensor = function(reshape(x, (-1,)), axis=0)
            return reshape(flat, (1,) * x.ndim) if keepdims else flat
        place = axis_of(axis, x.ndim)
        check_some(x, [place], name)
        return record(op, x, axis=place, keepdims=keepdims)

    return published(name, function, f"The position of the {which} element along an axis; the first at a tie.")


argmax = _position("argmax", "largest")
argmin = _position("argmin", "smallest")


def _unsorted(g: Tensor, out: Tensor, x: Tensor, *, axis: int, descending: bool, stable: bool) -> Tensor:
    order = argsort(x, axis=axis, descending=descending)
    return take_along_axis(g, argsort(order, axis=axis), axis=axis)


_SORT = along_axes("sort", same_as_first, (_unsorted,))
_ARGSORT = along_axes("argsort", lambda x, **attributes: (x.shape, int64), (None,))


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Sort the elements along an axis."""
    x = as_tensor(x)
    return record(_SORT, x, axis=axis_of(axis, x.ndim), descending=descending, stable=stable)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the positions that sort an array along an axis."""
    x = as_tensor(x)
    return record(_ARGSORT, x, axis=axis_of(axis, x.ndim), descending=descending, stable=stable)


_SEARCHSORTED = declare("searchsorted", lambda x1, x2, *, side: (x2.shape, int64), (None, None))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """Return the insertion positions of values in a sorted array, or in an array that `sorter` sorts."""
    x1, x2 = both_tensors(*together(as_tensor(x1), x2))
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got {side!r}")
    if x1.ndim != 1:
        raise ValueError(f"x1 must have one axis for searchsorted, got shape {x1.shape}")
    if sorter is not None:
        x1 = take(x1, sorter)
    return record(_SEARCHSORTED, x1, x2, side=side)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """Return the positions of non-zero elements, one array for each axis; `x` is evaluated while recording."""
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError("x must have one axis or more for nonzero, got an array without axes")
    array = recording_namespace().concrete(x, "nonzero")
    return tuple(cast(as_tensor(places), int64) for places in array_namespace(array).nonzero(array))


def unique_all(x: Any, /) -> UniqueAll[Tensor]:
    """Return the distinct elements, their first positions, the inverse indices and the counts."""
    return _distinct(x, "unique_all")


def _distinct(x: Any, name: str) -> UniqueAll[Tensor]:
    x = as_tensor(x)
    array = recording_namespace().concrete(x, name)
    places = array_namespace(array).unique_all(array)[1:]
    indices, inverse, counts = (cast(as_tensor(part), int64) for part in places)
    return UniqueAll(take(reshape(x, (-1,)), indices), indices, inverse, counts)


def unique_counts(x: Any, /) -> UniqueCounts[Tensor]:
    """Return the distinct elements and their counts."""
    found = _distinct(x, "unique_counts")
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverse[Tensor]:
    """Return the distinct elements and, for each element of `x`, its index among them."""
    found = _distinct(x, "unique_inverse")
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Tensor:
    """Return the distinct elements; all NaNs are distinct."""
    return _distinct(x, "unique_values").values


def _run_isin(xp: Any, x1: Any, x2: Any, *, invert: bool) -> Any:
    inside = xp.isin(x1, x2)  # not every library supports invert
    return xp.logical_not(inside) if invert else inside


_ISIN = declare("isin", lambda x1, x2, *, invert: (x1.shape, boolean), (None, None), run=_run_isin)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Return whether each element of the first array is in the second."""
    return record(_ISIN, *both_tensors(*together(x1, x2)), invert=invert)
