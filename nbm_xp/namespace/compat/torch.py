"""PyTorch: sums into unsigned integers, and a kernel for sums along an axis that an index names.

PyTorch cannot compute with uint16, uint32 and uint64: sums and products into them are made as int64, which has the
same bits, and cast. Not to be corrected from a namespace: other arithmetic of these dtypes; sums of unsigned integers
are int64 unless a dtype is given (the standard says uint64), since uint64 would be of no use afterwards; and
slices with negative steps are refused (use `flip`).

float64 becomes float16 by way of float32, rounded twice; here once, unless PyTorch itself is to differentiate it.

Missing in array-api-compat: `std` with a correction that is no whole number, and `unique_all`, since
PyTorch does not say where an element is first. It is found by a stable sort. Wrong there: `take_along_axis` of places
beyond the axis, which PyTorch counts round and round; `var` and `std` over no axes, which are 0 there even of NaN.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from nbm_xp.namespace.compiling import Derivatives
from nbm_xp.namespace.convolution.portable import Lengths, spans
from nbm_xp.namespace.dtypes import dtype_name
from nbm_xp.namespace.overlay import UniqueAll, overlay

from . import to_odd

__all__ = [
    "add_along", "address", "build", "correlate", "correlate_back", "correlate_outer", "from_numpy", "is_plain",
    "may_overlap", "require_eager", "reshaped_view", "to_numpy", "transforms", "with_derivatives",
]  # fmt: skip

_ONLY_STORED = frozenset({"uint16", "uint32", "uint64"})


def to_numpy(x: Any) -> Any:
    """See `nbm_xp.namespace.to_numpy`."""
    return x.detach().resolve_conj().resolve_neg().cpu().numpy()


def from_numpy(value: Any) -> Any:
    """A NumPy array as a tensor with memory of its own, on the default device."""
    torch: Any = importlib.import_module("torch")
    return torch.from_numpy(np.array(value, order="C")).to(torch.get_default_device())


def _through_int64(function: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    """The sum or product, computed as int64 where PyTorch cannot compute in that dtype."""

    @functools.wraps(function)
    def corrected(x: Any, /, *, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None and dtype_name(dtype) in _ONLY_STORED:
            return function(xp.astype(x, xp.int64), dtype=xp.int64, **options).to(dtype)
        return function(x, dtype=dtype, **options)

    return corrected


def _spreads(xp: Any) -> dict[str, Callable[..., Any]]:
    @functools.wraps(xp.var)
    def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        if axis == ():  # each number is the mean of itself
            return xp.abs(x - x) / max(1 - correction, 0)
        return xp.var(x, axis=axis, correction=correction, keepdims=keepdims)

    @functools.wraps(xp.std)
    def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        if correction != int(correction) or axis == ():
            return xp.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))
        return xp.std(x, axis=axis, correction=int(correction), keepdims=keepdims)

    return {"std": std, "var": var}


def _take_along_axis(xp: Any) -> Callable[..., Any]:
    def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
        """The standard's `take_along_axis`, by PyTorch's `gather`, which rejects indices beyond the axis."""
        place = axis % x.ndim
        length, chosen = x.shape[place], indices.shape[place]
        ones = ((*t.shape[:place], 1, *t.shape[place + 1 :]) for t in (x, indices))
        common = xp.broadcast_shapes(*ones)
        x, indices = (
            xp.broadcast_to(t, (*common[:place], n, *common[place + 1 :])) for t, n in ((x, length), (indices, chosen))
        )
        return x.gather(place, xp.where(indices < 0, indices + length, indices).to(xp.int64))

    return take_along_axis


def _astype(xp: Any) -> Callable[..., Any]:
    @functools.wraps(xp.astype)
    def astype(x: Any, dtype: Any, /, **options: Any) -> Any:
        if dtype == xp.float16 and x.dtype == xp.float64 and not x.requires_grad:
            x = to_odd(x.view(xp.int64)).view(xp.float64)
        return xp.astype(x, dtype, **options)

    return astype


def _roll(xp: Any) -> Callable[..., Any]:
    def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
        """Roll; one shift may be that of several axes."""
        several = isinstance(axis, tuple) and isinstance(shift, int)
        return xp.roll(x, (shift,) * len(axis) if several else shift, axis=axis)

    return roll


def _unique_all(xp: Any) -> Callable[..., UniqueAll[Any]]:
    def unique_all(x: Any, /) -> UniqueAll[Any]:
        flat = xp.reshape(x, (-1,))
        order = xp.argsort(flat, stable=True)
        ordered = flat[order]
        starts = xp.ones_like(flat, dtype=xp.bool)
        starts[1:] = ordered[1:] != ordered[:-1]
        (first,) = xp.nonzero(starts)
        group = xp.cumulative_sum(starts, axis=0) - 1
        inverse = xp.empty_like(order)
        inverse[order] = group
        ends = xp.concat([first[1:], xp.asarray([flat.shape[0]], device=first.device)])
        counts = ends[: first.shape[0]] - first
        return UniqueAll(ordered[first], order[first], xp.reshape(inverse, x.shape), counts)

    return unique_all


def build() -> Any:
    """The namespace for PyTorch tensors."""
    original: Any = importlib.import_module("array_api_compat.torch")
    names = ("cumulative_prod", "cumulative_sum", "prod", "sum")
    replacements: dict[str, Any] = {name: _through_int64(getattr(original, name), original) for name in names}
    replacements |= {"astype": _astype(original), **_spreads(original)}
    replacements["roll"] = _roll(original)
    replacements["take_along_axis"] = _take_along_axis(original)
    replacements["unique_all"] = _unique_all(original)
    return overlay(original, "torch", replacements, fft=transforms(original))


def add_along(x: Any, axis: int, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.indexing.add_along`."""
    length = x.shape[axis]
    if index.numel() and bool(((index < -length) | (index >= length)).any()):
        raise IndexError(f"an index is out of bounds for an axis of length {length}")
    return x.index_add(axis, index % length if length else index, values)


_ONE_AXIS = ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
_SEVERAL_AXES = ("fftn", "ifftn", "irfftn", "rfftn")


def _with_nothing(function: Callable[..., Any], several: bool, xp: Any) -> Callable[..., Any]:
    """The transform, of nothing too where the axes to transform have a length."""

    @functools.wraps(function)
    def corrected(x: Any, /, **options: Any) -> Any:
        if x.numel():
            return function(x, **options)
        empty = [axis for axis, length in enumerate(x.shape) if length == 0]
        if set(empty) & set(_axes(x.ndim, several, options)):
            return function(x, **options)
        # one row in the place of none shows the shape, and what is wrong with the arguments
        filled = xp.zeros(tuple(max(length, 1) for length in x.shape), dtype=x.dtype, device=x.device)
        return function(filled, **options)[
            tuple(slice(0, 0) if axis in empty else slice(None) for axis in range(x.ndim))
        ]

    return corrected


def _axes(ndim: int, several: bool, options: dict[str, Any]) -> list[int]:
    """The axes to transform, as the arguments name them."""
    if several:
        axes = options.get("axes")
        count = ndim if options.get("s") is None else len(options["s"])
        return [axis % ndim for axis in (range(ndim - count, ndim) if axes is None else axes)]
    return [options.get("axis", -1) % ndim]


def transforms(xp: Any) -> dict[str, Callable[..., Any]]:
    """Replacements of PyTorch's transforms, by name."""
    corrected = {name: _with_nothing(getattr(xp.fft, name), False, xp) for name in _ONE_AXIS}
    return corrected | {name: _with_nothing(getattr(xp.fft, name), True, xp) for name in _SEVERAL_AXES}


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """See `nbm_xp.namespace.memory.reshaped_view`."""
    try:
        return x.view(shape)
    except RuntimeError:
        return None


def may_overlap(x: Any, y: Any) -> bool:
    """Whether two tensors may overlap: they do not, in two storages."""
    return bool(x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())


def is_plain(x: Any) -> bool:
    """Whether the elements of a tensor lie one after another, and no graph of PyTorch's own is built from it."""
    return bool(x.is_contiguous()) and not x.requires_grad


def address(x: Any) -> int:
    """Where the first element of an array lies."""
    return int(x.data_ptr())


torch: Any = importlib.import_module("torch")


class _Once(torch.autograd.Function):  # type: ignore[misc]
    """A first derivative, which cannot be differentiated again."""

    generate_vmap_rule = True

    @staticmethod
    def forward(derivatives: Derivatives, k: int, *arrays: Any) -> Any:
        assert derivatives.in_argument is not None
        return derivatives.in_argument(k, *arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.derivatives = inputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise ctx.derivatives.none_of_second_order()

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise ctx.derivatives.none_of_second_order()


def _derivative(derivatives: Derivatives, k: int, arrays: tuple[Any, ...]) -> Any:
    if derivatives.in_argument is None:
        raise derivatives.none_in(k)
    if derivatives.constant:
        return derivatives.in_argument(k, *(array.detach() for array in arrays))
    return _Once.apply(derivatives, k, *arrays)


class _WithDerivatives(torch.autograd.Function):  # type: ignore[misc]
    generate_vmap_rule = True

    @staticmethod
    def forward(draw: Callable[..., Any], derivatives: Derivatives, *arrays: Any) -> Any:
        return draw(*arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, ctx.derivatives, *arrays = inputs
        ctx.save_for_backward(*arrays, output)
        ctx.save_for_forward(*arrays, output)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        *arrays, out = ctx.saved_tensors
        cotangent = ctx.derivatives.before_simplex(out, cotangent)
        gradients: list[Any] = [None, None]
        for k, array in enumerate(arrays):
            if not ctx.needs_input_grad[2 + k]:
                gradients.append(None)
                continue
            change = cotangent * _derivative(ctx.derivatives, k, tuple(arrays))
            gradients.append(change.sum_to_size(array.shape).to(array.dtype))
        return tuple(gradients)

    @staticmethod
    def jvp(ctx: Any, _draw: None, _derivatives: None, *tangents: Any) -> Any:
        *arrays, out = ctx.saved_tensors
        change = torch.zeros_like(out)
        for k, tangent in enumerate(tangents):
            if tangent is not None:
                change = change + tangent * _derivative(ctx.derivatives, k, tuple(arrays))
        return ctx.derivatives.along_simplex(out, change).to(out.dtype)


def with_derivatives(draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Derivatives) -> Any:
    """See `nbm_xp.namespace.compiling.with_derivatives`; the rule is there already."""
    if derivatives.in_argument is not None:
        return _WithDerivatives.apply(draw, derivatives, *arrays)
    for k, array in enumerate(arrays):
        has_tangent = torch.autograd.forward_ad.unpack_dual(array).tangent is not None
        if has_tangent or (array.requires_grad and torch.is_grad_enabled()):
            raise derivatives.none_in(k)
    return draw(*arrays)


def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    *sizes, groups, _, _ = kernel.shape
    if not _suits_convolution(x, kernel, lengths):
        return NotImplemented
    given = _windowed(x, starts, spans(sizes, strides, dilation, lengths))
    convolve = getattr(torch.nn.functional, f"conv{len(sizes)}d")
    return convolve(given, _weights(kernel), None, strides, 0, dilation, groups).movedim(1, -1)


def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`."""
    *sizes, groups, _, _ = kernel.shape
    if not _suits_convolution(y, kernel, lengths):
        return NotImplemented
    convolve = getattr(torch.nn.functional, f"conv_transpose{len(sizes)}d")
    whole = convolve(y.movedim(-1, 1), _weights(kernel), None, strides, 0, 0, groups, dilation)
    return _windowed(whole.movedim(1, -1), [-start for start in starts], lengths).movedim(1, -1)


def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`."""
    if not _suits_convolution(x, y, lengths):
        return NotImplemented
    count, channels, filters = len(lengths), x.shape[-1] // groups, y.shape[-1] // groups
    derive = getattr(importlib.import_module("torch.nn.grad"), f"conv{count}d_weight")
    given = _windowed(x, starts, spans(lengths, strides, dilation, y.shape[1:-1]))
    weights = derive(given, (groups * filters, channels, *lengths), y.movedim(-1, 1), strides, 0, dilation, groups)
    return weights.reshape(groups, filters, channels, *lengths).permute(*range(3, count + 3), 0, 2, 1)


def _suits_convolution(x: Any, other: Any, lengths: Lengths) -> bool:
    """Whether PyTorch convolves these: floating-point numbers, on at most three axes, none of them empty."""
    return (
        x.dtype in (torch.float32, torch.float64) and len(lengths) <= 3 and 0 not in (*x.shape, *other.shape, *lengths)
    )


def _weights(kernel: Any) -> Any:
    """The kernel as PyTorch has it: (groups * filters, channels, sizes…)."""
    *sizes, groups, channels, filters = kernel.shape
    count = len(sizes)
    return kernel.permute(count, count + 2, count + 1, *range(count)).reshape(groups * filters, channels, *sizes)


def _windowed(x: Any, starts: Sequence[int], extents: Sequence[int]) -> Any:
    """The part that windows touch, zeros around it, with channels first; PyTorch cuts where padding is negative."""
    sides = [(-s, s + e - n) for s, e, n in zip(starts, extents, x.shape[1:-1], strict=True)]
    return torch.nn.functional.pad(x.movedim(-1, 1), [side for pair in reversed(sides) for side in pair])


def require_eager(what: str, values: Iterable[Any]) -> None:
    """See `nbm_xp.namespace.compiling.require_eager`."""
    frames = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", lambda: None)
    if torch.compiler.is_compiling() or frames():
        raise RuntimeError(f"{what} cannot be compiled by torch.compile: call it through torch.compiler.disable")
    for value in values:
        inside = value
        while isinstance(inside, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(inside):
            if torch._C._functorch.is_batchedtensor(inside):
                raise RuntimeError(
                    f"{what} must not have a parameter over which torch.func.vmap maps: give it all values at once, "
                    "and a size for them"
                )
            inside = torch._C._functorch.get_unwrapped(inside)
