"""Where windows lie: ranges of positions as slices, arrays brought to the range that the windows touch, and phases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from nbm_xp.namespace.dispatch import device_argument
from nbm_xp.namespace.kernels import kernel

__all__ = ["Lengths", "extended", "interleaved", "overlap", "residues", "spans", "taps", "window"]

Lengths: TypeAlias = tuple[int, ...]


def spans(sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int], lengths: Sequence[int]) -> Lengths:
    """How many positions all windows of an axis touch together, from the first to the last."""
    return tuple(
        (length - 1) * stride + (size - 1) * step + 1 if length > 0 and size > 0 else 0
        for size, stride, step, length in zip(sizes, strides, dilation, lengths, strict=True)
    )


def taps(sizes: Sequence[int]) -> Iterator[Lengths]:
    """Every place in a window, in row-major order."""
    return itertools.product(*map(range, sizes))


def window(tap: Sequence[int], strides: Sequence[int], dilation: Sequence[int], lengths: Sequence[int]) -> Any:
    """The index of what lies at one place of all windows, of which there are some; the first starts at 0."""
    firsts = [i * step for i, step in zip(tap, dilation, strict=True)]
    steps = zip(firsts, strides, lengths, strict=True)
    return (slice(None), *(slice(first, first + (n - 1) * stride + 1, stride) for first, stride, n in steps), ...)


def overlap(shape: Lengths, starts: Lengths, extents: Lengths) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """What the windows touch of an array, and where that lies in the range from the first window to the last."""
    inside, place = [], []
    for length, start, extent in zip(shape, starts, extents, strict=True):
        first, last = min(max(start, 0), length), min(max(start + extent, 0), length)
        last = max(first, last)
        inside.append(slice(first, last))
        place.append(slice(first - start, last - start) if last > first else slice(0, 0))
    return tuple(inside), tuple(place)


def extended(xp: Any, x: Any, starts: Sequence[int], extents: Sequence[int], value: Any = 0) -> Any:
    """The part of an array from `starts` on, as long as `extents`; `value` where there is nothing."""
    own = kernel("extended", xp)
    if own is not None:
        return own(x, starts, extents, value)
    for axis, (start, extent) in enumerate(zip(starts, extents, strict=True), 1):
        length = x.shape[axis]
        before = min(max(-start, 0), extent)
        after = min(max(start + extent - length, 0), extent - before)
        first = min(max(start, 0), length)
        inside = slice(first, first + extent - before - after)
        if inside != slice(0, length):
            x = x[(*(slice(None),) * axis, inside, ...)]
        if before or after:
            made = [
                xp.full((*x.shape[:axis], count, *x.shape[axis + 1 :]), value, dtype=x.dtype, device=device_argument(x))
                if count
                else None
                for count in (before, after)
            ]
            x = xp.concat([part for part in (made[0], x, made[1]) if part is not None], axis=axis)
    return x


def residues(
    sizes: Sequence[int], starts: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[list[tuple[slice, int, int]]]:
    """Which windows reach the positions of an axis, for each residue by the stride.

    For each axis a list over the residues: the taps that reach such positions, the window from which the last of these
    reaches the first position, and how far apart the windows of one tap and of the next are. The element at position q
    gathers from window o by tap i where ``start + o * stride + i * dilation`` is q; so the taps that can, for one
    residue, are evenly spaced, and so are the windows.
    """
    plans: list[list[tuple[slice, int, int]]] = []
    for size, start, stride, step in zip(sizes, starts, strides, dilation, strict=True):
        apart = stride // math.gcd(stride, step)
        firsts = {(i * step) % stride: i for i in reversed(range(min(apart, size)))}
        axis = []
        for offset in range(stride):
            ahead, residue = divmod(offset - start, stride)
            first = firsts.get(residue)
            if first is None:
                axis.append((slice(0, 0), 0, 1))
                continue
            last = first + (size - 1 - first) // apart * apart
            chosen = slice(first, last + 1, apart)
            axis.append((chosen, ahead - (last * step - residue) // stride, step * apart // stride))
        plans.append(axis)
    return plans


def interleaved(
    xp: Any,
    phase: Callable[..., Any],
    sizes: Sequence[int],
    starts: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    lengths: Sequence[int],
) -> Any:
    """An adjoint, made of one correlation without strides for each residue of the positions by the strides.

    Parameters
    ----------
    phase : callable
        ``phase(chosen, starts, dilation, lengths)`` correlates without strides over the taps that the slices `chosen`
        pick, the last one first.
    """
    counts = [-(-length // stride) for length, stride in zip(lengths, strides, strict=True)]
    plans = residues(sizes, starts, strides, dilation)

    def assembled(chosen: tuple[tuple[slice, int, int], ...]) -> Any:
        axis = len(chosen)
        if axis == len(plans):
            slices, firsts, apart = zip(*chosen, strict=True)
            return phase(slices, firsts, apart, tuple(counts))
        parts = [assembled((*chosen, plan)) for plan in plans[axis]]
        return parts[0] if len(parts) == 1 else xp.stack(parts, axis=axis + 2)

    whole = assembled(())
    if any(stride > 1 for stride in strides):
        together = [count * stride for count, stride in zip(counts, strides, strict=True)]
        whole = xp.reshape(whole, (whole.shape[0], *together, whole.shape[-1]))
        whole = whole[(slice(None), *(slice(0, length) for length in lengths), ...)]
    return whole
