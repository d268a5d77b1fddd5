"""Elements repeated: `tile` and `repeat`, whose rules add up what was repeated."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, device_argument
from nbm_xp.tape.concrete import concrete
from nbm_xp.tape.lengths import Length, Size, same_length
from nbm_xp.tape.node import Memory, Node
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .declaring import along_axes
from .indexing import take
from .manipulation import reshape
from .shapes import axis_of, sizes_of
from .sums import sum as sum_

__all__ = ["repeat", "tile"]


def _tiled(x: Node, repetitions: tuple[Size, ...]) -> Any:
    return tuple(n * r for n, r in zip(x.shape, repetitions, strict=True)), x.dtype


def _untile(g: Tensor, out: Tensor, x: Tensor, repetitions: tuple[Size, ...]) -> Tensor:
    paired: list[Size] = []
    for n, r in zip(x.node.shape, repetitions, strict=True):
        paired += [r, n]
    return sum_(reshape(g, tuple(paired)), axis=tuple(range(0, 2 * len(repetitions), 2)), dtype=g.dtype)


_TILE = declare("tile", _tiled, (_untile,), memory=Memory.FIRST)


def tile(x: Any, repetitions: Any, /) -> Tensor:
    """The array laid out again and again along each axis."""
    x = as_tensor(x)
    counts = sizes_of(repetitions, "repetitions")
    ndim = max(x.ndim, len(counts))
    x = reshape(x, (1,) * (ndim - x.ndim) + x.node.shape)
    return record(_TILE, x, (1,) * (ndim - len(counts)) + counts)


def _infer_repeat(x: Node, repeats: Size, *, axis: int) -> Any:
    return tuple(n * repeats if i == axis else n for i, n in enumerate(x.shape)), x.dtype


def _unrepeat(g: Tensor, out: Tensor, x: Tensor, repeats: Size, *, axis: int) -> Tensor:
    shape = x.node.shape
    apart = reshape(g, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    return sum_(apart, axis=axis + 1, dtype=g.dtype)


_REPEAT = along_axes("repeat", _infer_repeat, (_unrepeat,), memory=Memory.FIRST)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated in place, all as often, or each as often as an array says; which is looked at now.

    Raises
    ------
    ValueError
        If an array of counts is not known while recording, or is not as long as the axis.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    place = axis_of(axis, x.ndim)
    if not isinstance(repeats, (int, Length)):
        repeats = as_tensor(repeats)
        if repeats.dtype[0] not in "iu":
            raise TypeError(f"repeats must be integers, got {repeats.dtype}")
        if repeats.ndim > 1:
            raise ValueError(f"repeats must have one axis at most, got shape {repeats.shape}")
        if repeats.ndim and same_length(repeats.node.shape[0], 1) is not True:
            return _repeated_each(x, repeats, place)
        repeats = reshape(repeats, ())
    (count,) = sizes_of(repeats, "repeats")
    return record(_REPEAT, x, count, axis=place)


def _repeated_each(x: Tensor, repeats: Tensor, axis: int) -> Tensor:
    length = x.node.shape[axis]
    if same_length(length, repeats.node.shape[0]) is False:
        raise ValueError(f"repeats must be one count for each of {x.shape[axis]} elements, got {repeats.shape[0]}")
    counts = concrete(repeats, "repeat with an array of counts")
    xp = array_namespace(counts)
    if bool(xp.any(counts < 0)):
        raise ValueError("repeats must be 0 or more")
    places = xp.repeat(xp.arange(counts.shape[0], device=device_argument(counts)), counts)
    return take(x, as_tensor(places), axis=axis)
