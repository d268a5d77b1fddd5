"""The family of convolutions: three functions, each linear in both of its arrays, whose gradients are one another.

``correlate(x, k)`` slides a kernel over an array, `correlate_back` hands windows back to the array that they came from,
and `correlate_outer` gives the kernel whose windows an array and results have in common. They are the three ways of
leaving one array out of one sum over x, k and y, so that derivatives of every order stay in the family. Arrays are
(images, positions…, channels), kernels (sizes…, groups, channels, filters); see `nbm_xp.namespace.convolution`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import convolution as sliding
from nbm_xp.tape import Memory, composite

from ._arguments import Array

__all__ = ["correlate", "correlate_back", "correlate_outer"]


def _checked(lengths: tuple[int, ...]) -> tuple[int, ...]:
    if min(lengths) < 0:
        raise ValueError(f"kernel must not be larger than the padded array: there would be {lengths} windows")
    return lengths


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


@composite(arrays=2, infer=_infer, gradient=(_back_to_array, _back_to_kernel), memory=Memory.OWN)
def correlate(x: Array, kernel: Array, *, starts: Any, strides: Any, dilation: Any, lengths: Any) -> Array:
    """Every window of an array times a kernel."""
    return sliding.correlate(x, kernel, starts=starts, strides=strides, dilation=dilation, lengths=_checked(lengths))


def _again_to_results(g: Array, out: Array, y: Array, kernel: Array, *, lengths: Any, **how: Any) -> Array:
    return correlate(g, kernel, lengths=_spatial(y), **how)


def _again_to_kernel(g: Array, out: Array, y: Array, kernel: Array, *, lengths: Any, **how: Any) -> Array:
    return correlate_outer(g, y, lengths=kernel.node.shape[:-3], groups=_groups(kernel), **how)


@composite(
    arrays=2,
    infer=_infer_back,
    gradient=(_again_to_results, _again_to_kernel),
    memory=Memory.OWN,
)
def correlate_back(y: Array, kernel: Array, *, starts: Any, strides: Any, dilation: Any, lengths: Any) -> Array:
    """Results handed back to the array of spatial `lengths` that their windows lie in: a transposed convolution."""
    return sliding.correlate_back(y, kernel, starts=starts, strides=strides, dilation=dilation, lengths=lengths)


def _outer_to_array(g: Array, out: Array, x: Array, y: Array, *, lengths: Any, groups: Any, **how: Any) -> Array:
    return correlate_back(y, g, lengths=_spatial(x), **how)


def _outer_to_results(g: Array, out: Array, x: Array, y: Array, *, lengths: Any, groups: Any, **how: Any) -> Array:
    return correlate(x, g, lengths=_spatial(y), **how)


@composite(arrays=2, infer=_infer_outer, gradient=(_outer_to_array, _outer_to_results), memory=Memory.OWN)
def correlate_outer(
    x: Array, y: Array, *, starts: Any, strides: Any, dilation: Any, lengths: Any, groups: Any
) -> Array:
    """The products of windows and results, summed over all windows: a kernel of spatial `lengths`."""
    how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
    return sliding.correlate_outer(x, y, groups=groups, **how)
