"""`einsum`: sums of products over named axes, implemented with functions of the array API standard.

Arrays are contracted in pairs, the pair with the smallest result first; a pair is a matrix product, or an element-wise
product if no axis is summed. `einsum` is therefore recorded, differentiable to any order, and lazy on Dask.
"""

from __future__ import annotations

import math
import string
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from nbm_xp.namespace import array_namespace, dtype_name, promote

from .dtypes import common_dtype
from .lengths import Size, known, product
from .standard.data_types import cast
from .tensor import as_tensor, is_tensor

Label: TypeAlias = Hashable
Labels: TypeAlias = tuple[Label, ...]
Part: TypeAlias = tuple[Any, Labels]

_LETTERS = frozenset(string.ascii_letters)


def einsum(subscripts: str, /, *arrays: Any) -> Any:
    """Compute sums of products of arrays by the Einstein summation convention.

    Parameters
    ----------
    subscripts : str
        Letters of the axes of each array and, after an arrow, of the result, as in ``"ij,jk->ik"``; without an arrow
        the result has the axes whose letters occur once, in alphabetical order. An ellipsis denotes unnamed axes, which
        broadcast and come first in a result without an arrow. A letter that occurs twice in one array selects the
        diagonal; axes of length 1 broadcast.
    *arrays : array
        One array for each comma-separated part of `subscripts`.

    Returns
    -------
    array
        Result, with the dtype of NumPy's promotion.

    Raises
    ------
    TypeError
        If `subscripts` is not a string.
    ValueError
        If the subscripts are malformed or do not match the arrays, or axes with the same letter differ in length.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.asarray([[1.0, 2.0], [3.0, 4.0]]), np.asarray([1.0, 10.0])
    >>> einsum("ij,j->i", a, b).tolist(), float(einsum("ii", a)), einsum("...i->...", a).tolist()
    ([21.0, 43.0], 5.0, [3.0, 7.0])
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum needs subscripts before the arrays, a string, got {type(subscripts).__name__}")
    left, arrow, right = "".join(subscripts.split()).partition("->")
    inputs = [_letters(term, subscripts) for term in left.split(",")]
    if len(inputs) != len(arrays):
        raise ValueError(f"subscripts {subscripts!r} name {len(inputs)} arrays, but {len(arrays)} were given")
    alike = _alike(arrays)
    parts: list[Part] = [
        (array, _named(labels, array, place)) for place, (array, labels) in enumerate(zip(alike, inputs, strict=True))
    ]
    unnamed = max(sum(isinstance(label, tuple) for label in labels) for _, labels in parts)
    every = {label for _, labels in parts for label in labels}
    wanted = _result_labels(_letters(right, subscripts) if arrow else None, inputs, unnamed)
    for label in wanted:
        if label not in every:
            raise ValueError(f"subscripts name {label!r} in the result, which no array has")
    return _contracted(array_namespace(*alike), parts, wanted)


def _alike(arrays: Sequence[Any]) -> list[Any]:
    """Convert the arrays to their common dtype."""
    if any(map(is_tensor, arrays)):
        tensors = list(map(as_tensor, arrays))
        dtype = common_dtype(*(tensor.dtype for tensor in tensors))
        return [cast(tensor, dtype) for tensor in tensors]
    found = promote(*arrays)
    xp = array_namespace(*found)
    return [x if hasattr(x, "ndim") else xp.asarray(x) for x in found]


def _letters(term: str, subscripts: str) -> Labels:
    before, dots, after = term.partition("...")
    if not _LETTERS.issuperset(before + after):
        raise ValueError(f"subscripts may hold letters, commas, one arrow and ellipses, got {subscripts!r}")
    return (*before, *([...] if dots else []), *after)


def _named(labels: Labels, array: Any, place: int) -> Labels:
    """Return the labels of an array's axes; unnamed axes are ``(-1,)``, ``(-2,)``, … from the right."""
    count = array.ndim - (len(labels) - (... in labels))
    if count < 0 or (count and ... not in labels) or labels.count(...) > 1:
        raise ValueError(f"subscripts name {len(labels)} axes of array {place}, which has {array.ndim}")
    if ... not in labels:
        return labels
    at = labels.index(...)
    return (*labels[:at], *((-n,) for n in range(count, 0, -1)), *labels[at + 1 :])


def _result_labels(result: Labels | None, inputs: Sequence[Labels], unnamed: int) -> Labels:
    """Return the distinct labels of the result's axes."""
    rest = tuple((-n,) for n in range(unnamed, 0, -1))
    if result is None:
        every = [label for labels in inputs for label in labels if label is not ...]
        return (*rest, *sorted((label for label in set(every) if every.count(label) == 1), key=str))
    if len(set(result)) != len(result):
        raise ValueError(f"subscripts name an axis of the result twice, got {''.join(map(str, result))}")
    if ... not in result:
        if rest:
            raise ValueError("subscripts must have an ellipsis in the result where one of an array stands for axes")
        return result
    at = result.index(...)
    return (*result[:at], *rest, *result[at + 1 :])


def _contracted(xp: Any, parts: list[Part], wanted: Labels) -> Any:
    lengths = _lengths(parts)
    counted = dtype_name(parts[0][0]) == "bool"
    if counted:  # a sum of booleans is True if any is
        parts = [(xp.astype(array, xp.int64), labels) for array, labels in parts]
    parts = [_diagonals(xp, _without_ones(xp, part, lengths)) for part in parts]
    parts = [_summed(xp, part, _needed(parts, [place], wanted)) for place, part in enumerate(parts)]
    while len(parts) > 1:
        i, j = _cheapest(parts, wanted, lengths)
        rest = [part for place, part in enumerate(parts) if place not in (i, j)]
        parts = [*rest, _pair(xp, parts[i], parts[j], _needed(parts, [i, j], wanted))]
    array, labels = parts[0]
    missing = [label for label in wanted if label not in labels]  # axes of length 1 in all arrays
    for _ in missing:
        array = xp.expand_dims(array, axis=-1)
    labels = (*labels, *missing)
    order = tuple(labels.index(label) for label in wanted)
    array = _permuted(xp, array, order)
    return array != 0 if counted else array


def _permuted(xp: Any, array: Any, order: tuple[int, ...]) -> Any:
    return array if order == tuple(range(len(order))) else xp.permute_dims(array, order)


def _shape(array: Any) -> tuple[Size, ...]:
    return tuple(array.node.shape) if is_tensor(array) else tuple(array.shape)


def _lengths(parts: Sequence[Part]) -> dict[Label, Size]:
    """Return the length of each named axis after broadcasting."""
    found: dict[Label, Size] = {}
    for array, labels in parts:
        for label, length in zip(labels, _shape(array), strict=True):
            before = found.get(label, 1)
            one, two = known(before), known(length)
            if one == 1:
                found[label] = length
            elif two not in (1, None) and one is not None and one != two:
                raise ValueError(f"subscripts give one name to axes of lengths {one} and {two}: {label}")
    return found


def _without_ones(xp: Any, part: Part, lengths: dict[Label, Size]) -> Part:
    """Remove axes of length 1 that broadcast against longer ones."""
    array, labels = part
    gone = tuple(
        axis
        for axis, (label, length) in enumerate(zip(labels, _shape(array), strict=True))
        if known(length) == 1 and known(lengths[label]) != 1
    )
    if not gone:
        return part
    return xp.squeeze(array, axis=gone), tuple(label for axis, label in enumerate(labels) if axis not in gone)


def _diagonals(xp: Any, part: Part) -> Part:
    """Replace axes with the same label by their diagonal."""
    array, labels = part
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            others = [axis for axis in range(len(labels)) if axis not in (first, second)]
            array = xp.linalg.diagonal(xp.permute_dims(array, (*others, first, second)))
            labels = (*(labels[axis] for axis in others), label)
    return array, labels


def _needed(parts: Sequence[Part], places: Sequence[int], wanted: Labels) -> set[Label]:
    """Return the labels of the result and of all arrays except those at `places`."""
    others = {label for other, (_, labels) in enumerate(parts) if other not in places for label in labels}
    return others | set(wanted)


def _summed(xp: Any, part: Part, kept: set[Label]) -> Part:
    """Sum an array over the axes that are not in `kept`."""
    array, labels = part
    gone = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    if not gone:
        return part
    return xp.sum(array, axis=gone, dtype=array.dtype), tuple(label for label in labels if label in kept)


def _cheapest(parts: Sequence[Part], wanted: Labels, lengths: dict[Label, Size]) -> tuple[int, int]:
    """Return the first pair of arrays with the smallest product."""

    def size(pair: tuple[int, int]) -> float:
        kept = {*parts[pair[0]][1], *parts[pair[1]][1]} & _needed(parts, pair, wanted)
        return math.prod(known(lengths[label]) or 1000.0 for label in kept)

    return min(combinations(range(len(parts)), 2), key=size)


def _pair(xp: Any, one: Part, two: Part, kept: set[Label]) -> Part:
    (a, left), (b, right) = one, two
    both = [label for label in left if label in right and label in kept]
    inner = [label for label in left if label in right and label not in kept]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    if not inner:
        return _product(xp, one, two, [*both, *rows, *columns])
    first = _arranged(xp, a, left, [*both, *rows, *inner], (len(both), len(rows), len(inner)))
    second = _arranged(xp, b, right, [*both, *inner, *columns], (len(both), len(inner), len(columns)))
    found = xp.matmul(first, second)
    names: list[Label] = [*both, *rows, *columns]
    if len(rows) != 1 or len(columns) != 1:
        shape = (*_shape(first)[:-2], *(_shape(a)[left.index(x)] for x in rows))
        found = xp.reshape(found, (*shape, *(_shape(b)[right.index(x)] for x in columns)))
    return found, tuple(names)


def _arranged(xp: Any, array: Any, labels: Labels, order: Sequence[Label], groups: tuple[int, int, int]) -> Any:
    """Reshape an array to a stack of matrices: permute its axes and merge each of the last two groups into one axis."""
    array = _permuted(xp, array, tuple(labels.index(label) for label in order))
    stacked, one, two = groups
    if one == two == 1:
        return array
    end = stacked + one
    shape = _shape(array)
    return xp.reshape(array, (*shape[:stacked], product(shape[stacked:end]), product(shape[end:])))


def _product(xp: Any, one: Part, two: Part, names: Sequence[Label]) -> Part:
    """Multiply arrays element-wise after aligning their axes."""

    def in_line(part: Part) -> Any:
        array, labels = part
        array = _permuted(xp, array, tuple(labels.index(label) for label in names if label in labels))
        for axis, label in enumerate(names):
            if label not in labels:
                array = xp.expand_dims(array, axis=axis)
        return array

    return in_line(one) * in_line(two), tuple(names)
