"""Positions of windows, and the family of convolutions over them.

`strides`, `padding`, `dilation_rate` and `data_format` are converted to starts and counts of windows, by arithmetic on
lengths, which may be unknown while recording. ``correlate(x, k)`` slides a kernel over an array, `correlate_back` is
its gradient with respect to the array, and `correlate_outer` its gradient with respect to the kernel. The three are the
derivatives of one trilinear sum over x, k and y, so derivatives of every order stay in the family. Arrays are
(images, positions…, channels), kernels (sizes…, groups, channels, filters); see `nbm_xp.namespace.convolution`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nbm_xp.namespace import array_namespace, image_data_format
from nbm_xp.namespace import convolution as sliding
from nbm_xp.tape import composite
from nbm_xp.tape.lengths import as_length, known, maximum_length

from ._arguments import Array

__all__ = [
    "Adjoint", "DataFormat", "Padding", "Windows", "adjoint_pair", "channels_first", "channels_kept", "checked",
    "correlate", "correlate_back", "correlate_outer", "counts", "moved", "pool_count", "restored", "spatial",
    "spread_length", "window_count", "windows",
]  # fmt: skip

Padding: TypeAlias = "str | int | Sequence[int | tuple[int, int]]"

# ``"channels_last"``, ``"channels_first"``, or None for the configured one.
DataFormat: TypeAlias = "str | None"

_NAMED = ("valid", "same", "half", "leading", "full", "causal")


class Windows(NamedTuple):
    """Start of the first window, number of windows, strides and dilations along each spatial axis."""

    starts: tuple[Any, ...]
    lengths: tuple[Any, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]


def channels_first(data_format: DataFormat) -> bool:
    """Whether channels come before the positions. Defaults to `image_data_format()`.

    Raises
    ------
    ValueError
        If `data_format` is unknown.
    """
    chosen = image_data_format() if data_format is None else data_format
    if chosen not in ("channels_last", "channels_first"):
        raise ValueError(f"data_format must be 'channels_last', 'channels_first' or None, got {data_format!r}")
    return chosen == "channels_first"


def counts(value: Any, name: str, axes: int) -> tuple[int, ...]:
    """Return a positive integer for each axis, from one for all axes or from a sequence."""
    several = isinstance(value, (tuple, list))
    items = tuple(value) if several else (value,) * axes
    if len(items) != axes:
        raise ValueError(f"{name} must be an integer or {axes} integers, one for each spatial axis, got {value!r}")
    try:
        found = tuple(operator.index(item) for item in items)
    except TypeError:
        raise TypeError(f"{name} must be an integer or {axes} integers, got {value!r}") from None
    if min(found, default=1) < 1:
        raise ValueError(f"{name} must be 1 or more, got {value!r}")
    return found


def moved(x: Array, first: bool) -> Array:
    """Move the channels of an array to its last axis."""
    return array_namespace(x).permute_dims(x, (0, *range(2, x.ndim), 1)) if first else x


def restored(x: Array, first: bool) -> Array:
    """Move the channels of an array back; the inverse of `moved`."""
    return array_namespace(x).permute_dims(x, (0, x.ndim - 1, *range(1, x.ndim - 1))) if first else x


def spatial(x: Array) -> tuple[Any, ...]:
    """Lengths of the spatial axes of an array with its channels last; symbols for lengths that may change."""
    return tuple(map(as_length, x.shape[1:-1]))


def windows(
    lengths: Sequence[Any],
    sizes: Sequence[Any],
    strides: Any,
    padding: Padding,
    dilation: Any = 1,
    *,
    size_name: str = "kernel",
) -> Windows:
    """Compute the windows for a padding.

    Parameters
    ----------
    lengths, sizes
        Lengths of the array and of a window, along each spatial axis.
    strides, dilation
        An integer for all axes, or one for each.
    padding
        ``"valid"``: windows lie inside the array. ``"same"``: one window for each stride of the array, with padding
        shared by both ends, one more element at the end if it is odd. ``"half"``: as many windows, with half a
        window of padding before the array. ``"leading"``: as many windows, with a window less one element (less two if
        its length is odd) of padding before the array. ``"full"``: every window that overlaps the array. ``"causal"``:
        each window ends at its position. Otherwise the padding: a number, or a number or a pair for each axis.

    Raises
    ------
    ValueError
        If `padding` is invalid, or a window is larger than the array and its padding.
    """
    axes = len(lengths)
    steps, spread = counts(strides, "strides", axes), counts(dilation, "dilation_rate", axes)
    pairs = _explicit(padding, axes)
    starts, found = [], []
    for axis, (length, size, stride, step) in enumerate(zip(lengths, sizes, steps, spread, strict=True)):
        length, size = as_length(length), as_length(size)
        extent = (size - 1) * step + 1
        if pairs is not None:
            before, after = pairs[axis]
        else:
            before, after = _named(padding, length, size, extent, stride)
        starts.append(-before)
        free = length + before + after - extent + stride
        enough = known(free)
        if enough is not None and enough < 0:
            raise ValueError(
                f"{size_name} must not be larger than the array: a window of {known(extent)} does not fit into "
                f"{known(length)} elements with padding {padding!r}"
            )
        found.append(free // stride)
    return Windows(tuple(starts), tuple(found), steps, spread)


def window_count(
    length: int, size: int, padding: int, stride: int, *, pooling: bool = False, dilation: int = 1, cover: bool = False
) -> int:
    """Number of windows along an axis with the same padding at both ends.

    Parameters
    ----------
    length, size : int
        Lengths of the axis and of a window.
    padding : int
        Number of zeros at each end.
    stride, dilation : int
        Distance between windows, and between neighbouring elements of a window.
    pooling : bool
        Whether the windows are for pooling: `padding` must then be less than a window's extent.
    cover : bool
        Whether pooling's last window may extend beyond the padding, so that every element is in a window, as in Caffe.
        If there is padding, a window that contains only padding is left out.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the padding is too large for pooling, or no window fits.

    Examples
    --------
    >>> window_count(6, 3, 0, 2), window_count(6, 3, 0, 2, pooling=True, cover=True)
    (2, 3)
    """
    extent = dilation * (size - 1) + 1
    if pooling and padding >= extent:
        raise ValueError(f"padding must be less than the window's size of {extent}, got {padding}")
    free = length + 2 * padding - extent
    if free < 0:
        raise ValueError(
            f"size must fit: a window of {extent} is larger than {length} elements and {padding} zeros a side"
        )
    if not (pooling and cover):
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if padding and (count - 1) * stride >= length + padding else count


def pool_count(length: int, size: int, padding: int, stride: int, *, cover: bool = False) -> int:
    """Number of pooling windows along an axis, each with at least one element; see `window_count`.

    Raises
    ------
    ValueError
        If the last window would start after the last element, which is possible with `cover` and large strides.

    Examples
    --------
    >>> pool_count(7, 3, 1, 2)
    4
    """
    count = window_count(length, size, padding, stride, pooling=True, cover=cover)
    if (count - 1) * stride >= length + padding:
        raise ValueError(
            f"stride must lead to a window that holds an element: the last of {count} windows of {size} would begin "
            f"behind {length} elements with stride {stride}"
        )
    return count


def spread_length(count: int, size: int, padding: int, stride: int, dilation: int = 1) -> int:
    """Length of the axis that `count` windows cover exactly: the result's length in a transposed convolution.

    Raises
    ------
    ValueError
        If the length would be less than 1.

    Examples
    --------
    >>> spread_length(4, 3, 1, 2), window_count(7, 3, 1, 2)
    (7, 4)
    """
    length = (count - 1) * stride + dilation * (size - 1) + 1 - 2 * padding
    if length < 1:
        raise ValueError(f"padding must leave an element: {count} windows of {size} with {padding} at each end do not")
    return length


def _named(padding: Any, length: Any, size: Any, extent: Any, stride: int) -> tuple[Any, Any]:
    """Padding before and after the elements of an axis; a negative one is a remainder that no window reaches."""
    if padding == "valid":
        return 0, 0
    if padding == "full":
        return extent - 1, extent - 1
    if padding == "causal":
        return extent - 1, 0
    windows_wanted = (length + stride - 1) // stride
    reached = (windows_wanted - 1) * stride + extent
    if padding == "same":
        added = maximum_length((reached - length, 0))
        before = added // 2
    elif padding == "half":
        before = size // 2
    else:
        before = maximum_length((size - 1 - size % 2, 0))
    return before, reached - length - before


def _explicit(padding: Padding, axes: int) -> list[tuple[int, int]] | None:
    """The padding as pairs of numbers; None for a named padding."""
    if isinstance(padding, str):
        allowed = _NAMED if axes == 1 else _NAMED[:-1]
        if padding not in allowed:
            raise ValueError(f"padding must be one of {', '.join(map(repr, allowed))}, or numbers, got {padding!r}")
        return None
    items = [padding] * axes if not isinstance(padding, (tuple, list)) else list(padding)
    if len(items) != axes:
        raise ValueError(f"padding must be a number or pair for each of {axes} spatial axes, got {padding!r}")
    pairs = []
    for item in items:
        pair = tuple(item) if isinstance(item, (tuple, list)) else (item, item)
        if len(pair) != 2 or not all(isinstance(side, int) and not isinstance(side, bool) for side in pair):
            raise ValueError(f"padding must hold integers or pairs of integers, got {padding!r}")
        if min(pair) < 0:
            raise ValueError(f"padding must be 0 or more, got {padding!r}")
        pairs.append((int(pair[0]), int(pair[1])))
    return pairs


def checked(run: Callable[..., Array], name: str) -> Callable[..., Array]:
    """A function of windows that checks, when a graph runs, that the numbers of windows are not negative."""

    @functools.wraps(run)
    def function(*arrays: Array, lengths: tuple[int, ...], **how: Any) -> Array:
        if min(lengths) < 0:
            raise ValueError(f"{name} must not be larger than the padded array: there would be {lengths} windows")
        return run(*arrays, lengths=lengths, **how)

    return function


def channels_kept(x: Any, *, lengths: Any, **how: Any) -> Any:
    """Shape and dtype of a result with spatial `lengths` and the images and channels of `x`."""
    return (x.shape[0], *lengths, x.shape[-1]), x.dtype


class Adjoint(NamedTuple):
    """A linear operation on windows: its name, function and shape rule, and the spatial axes of its array."""

    name: str
    run: Callable[..., Array]
    infer: Callable[..., Any] = channels_kept
    positions: slice = slice(1, -1)


def adjoint_pair(*pair: Adjoint, may_overlap: bool = True) -> list[Callable[..., Array]]:
    """Two linear operations, each the gradient of the other; `lengths` are the spatial lengths of a result."""
    made: list[Callable[..., Array]] = []

    def rule_by(other: int, positions: slice) -> Callable[..., Array]:
        return lambda g, out, x, *, lengths, **how: made[other](g, lengths=x.node.shape[positions], **how)

    for other, own in zip((1, 0), pair, strict=True):
        rule = rule_by(other, own.positions)
        made.append(composite(infer=own.infer, gradient=rule, name=own.name, may_overlap=may_overlap)(own.run))
    return made


def _infer(x: Any, kernel: Any, *, starts: Any, strides: Any, dilation: Any, lengths: Any) -> Any:
    return (x.shape[0], *lengths, kernel.shape[-3] * kernel.shape[-1]), x.dtype


def _infer_back(y: Any, kernel: Any, *, starts: Any, strides: Any, dilation: Any, lengths: Any) -> Any:
    return (y.shape[0], *lengths, kernel.shape[-3] * kernel.shape[-2]), y.dtype


def _infer_outer(x: Any, y: Any, *, starts: Any, strides: Any, dilation: Any, lengths: Any, groups: Any) -> Any:
    return (*lengths, groups, x.shape[-1] // groups, y.shape[-1] // groups), x.dtype


def _spatial(x: Array) -> Any:
    return x.node.shape[1:-1]


def _groups(kernel: Array) -> Any:
    return kernel.node.shape[-3]


def _back_to_array(g: Array, out: Array, x: Array, kernel: Array, *, lengths: Any, **how: Any) -> Array:
    return correlate_back(g, kernel, lengths=_spatial(x), **how)


def _back_to_kernel(g: Array, out: Array, x: Array, kernel: Array, *, lengths: Any, **how: Any) -> Array:
    return correlate_outer(x, g, lengths=kernel.node.shape[:-3], groups=_groups(kernel), **how)


# Every window of an array times a kernel.
correlate = composite(arrays=2, infer=_infer, gradient=(_back_to_array, _back_to_kernel), may_overlap=False)(
    checked(sliding.correlate, "kernel")
)


def _again_to_results(g: Array, out: Array, y: Array, kernel: Array, *, lengths: Any, **how: Any) -> Array:
    return correlate(g, kernel, lengths=_spatial(y), **how)


def _again_to_kernel(g: Array, out: Array, y: Array, kernel: Array, *, lengths: Any, **how: Any) -> Array:
    return correlate_outer(g, y, lengths=kernel.node.shape[:-3], groups=_groups(kernel), **how)


# Results handed back to the array of spatial `lengths` that their windows lie in: a transposed convolution.
correlate_back = composite(
    arrays=2, infer=_infer_back, gradient=(_again_to_results, _again_to_kernel), may_overlap=False
)(sliding.correlate_back)


def _outer_to_array(g: Array, out: Array, x: Array, y: Array, *, lengths: Any, groups: Any, **how: Any) -> Array:
    return correlate_back(y, g, lengths=_spatial(x), **how)


def _outer_to_results(g: Array, out: Array, x: Array, y: Array, *, lengths: Any, groups: Any, **how: Any) -> Array:
    return correlate(x, g, lengths=_spatial(y), **how)


# The products of windows and results, summed over all windows: a kernel of spatial `lengths`.
correlate_outer = composite(
    arrays=2, infer=_infer_outer, gradient=(_outer_to_array, _outer_to_results), may_overlap=False
)(sliding.correlate_outer)
