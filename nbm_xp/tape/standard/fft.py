"""The extension `fft` of the array API standard.

A transform is linear, y = F x, and the matrix F is symmetric: the gradient in x is the same transform of the cotangent.
Of real numbers only half of the spectrum is kept; its inner frequencies stand for two, which the cotangent is weighed
by, and the gradients of `rfft` and `hfft`, `irfft` and `ihfft` are each other. An argument that is cut or filled up to
the length of a transform has its gradient filled up or cut to its own length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.namespace import floatx
from nbm_xp.namespace.errors import check_choice
from nbm_xp.tape.concrete import integer_length
from nbm_xp.tape.dtypes import as_dtype
from nbm_xp.tape.lengths import Length, Size, known, maximum_length, minimum_length, same_length
from nbm_xp.tape.node import Node, declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .creation import arange, zeros
from .data_types import astype, complex_of, floating, real_of, refuse_complex
from .elementwise import where
from .manipulation import concat, reshape, roll
from .shapes import LONGEST, along_axes, axes_of, axis_of, published

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

_NORMS = ("backward", "ortho", "forward")


def _to_length(x: Tensor, axis: int, length: Size) -> Tensor:
    """The array cut or filled up with zeros along an axis."""
    own = x.node.shape[axis]
    if same_length(own, length) is True:
        return x
    kept = minimum_length((own, length))
    if same_length(own, kept) is not True:
        x = x[(slice(None),) * axis + (slice(None, kept),)]
    missing = maximum_length((length - kept, 0))
    if same_length(missing, 0) is True:
        return x
    shape = tuple(missing if i == axis else n for i, n in enumerate(x.node.shape))
    result: Tensor = concat([x, zeros(shape, dtype=x.dtype)], axis=axis)
    return result


def _half(n: Size) -> Size:
    """How many frequencies of n real numbers are kept."""
    return n // 2 + 1


def _weighed(x: Tensor, axis: int, n: Size, weight: float) -> Tensor:
    """Half a spectrum of n numbers, `weight` times but for the lowest frequency and, if n is even, the highest."""
    places = arange(x.node.shape[axis])
    outer = (places == 0) | (places * 2 == n)
    column = reshape(outer, (x.node.shape[axis],) + (1,) * (x.ndim - 1 - axis))
    return where(column, x, x * weight)


def _with_length(shape: Sequence[Size], axis: int, length: Size) -> tuple[Size, ...]:
    return tuple(length if i == axis else size for i, size in enumerate(shape))


def _rule_full(name: str) -> Callable[..., Tensor]:
    def rule(g: Tensor, out: Tensor, x: Tensor, *, n: Size, axis: int, norm: str) -> Tensor:
        return _to_length(ONE[name](g, n=n, axis=axis, norm=norm), axis, x.node.shape[axis])

    return rule


def _rule_from_real(name: str) -> Callable[..., Tensor]:
    """Of `rfft` and `ihfft`, whose cotangent is half a spectrum: the way back is `name`."""

    def rule(g: Tensor, out: Tensor, x: Tensor, *, n: Size, axis: int, norm: str) -> Tensor:
        back = ONE[name](_weighed(g, axis, n, 0.5), n=n, axis=axis, norm=norm)
        return _to_length(back, axis, x.node.shape[axis])

    return rule


def _rule_to_real(name: str) -> Callable[..., Tensor]:
    """Of `hfft` and `irfft`, whose argument is half a spectrum."""

    def rule(g: Tensor, out: Tensor, x: Tensor, *, n: Size, axis: int, norm: str) -> Tensor:
        back = _weighed(ONE[name](g, n=n, axis=axis, norm=norm), axis, n, 2.0)
        return _to_length(back, axis, x.node.shape[axis])

    return rule


def _infer_full(x: Node, *, n: Size, axis: int, norm: str) -> Any:
    return _with_length(x.shape, axis, n), complex_of(x.dtype)


def _infer_half(x: Node, *, n: Size, axis: int, norm: str) -> Any:
    return _with_length(x.shape, axis, _half(n)), complex_of(x.dtype)


def _infer_real(x: Node, *, n: Size, axis: int, norm: str) -> Any:
    return _with_length(x.shape, axis, n), real_of(x.dtype)


def _length_of(n: Any, own: Size, *, from_half: bool) -> Size:
    """The length of a transform: as asked, or that of the array, or of the numbers that it is half the spectrum of."""
    if n is None:
        return 2 * (own - 1) if from_half else own
    size = integer_length(n)
    if not isinstance(size, Length):
        size = size.__index__()
    return size  # type: ignore[no-any-return]


def _check_length(name: str, n: Size) -> None:
    value = known(n)
    if value is not None and value < 1:
        raise ValueError(f"{name} needs at least 1 element to transform, got {value}")
    if value is not None and value >= LONGEST:
        raise ValueError(f"{name} transforms lengths below 2**63, got {value}")


def _check_norm(norm: str) -> None:
    check_choice("norm", norm, _NORMS)


def _one_axis(name: str, infer: Callable[..., Any], rule: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    """Declare a transform along one axis."""
    op = along_axes(f"fft.{name}", infer, (rule,))
    of_real, from_half = name in ("rfft", "ihfft"), name in ("irfft", "hfft")

    def function(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        x = floating(x)
        if of_real:
            refuse_complex(name, x=x)
        elif x.dtype.kind != "c":  # the strict library takes no real numbers here
            x = astype(x, complex_of(x.dtype))
        _check_norm(norm)
        place = axis_of(axis, x.ndim)
        length = _length_of(n, x.node.shape[place], from_half=from_half)
        _check_length(name, length)
        return record(op, x, n=length, axis=place, norm=norm)

    return published(name, function, doc)


fft = _one_axis("fft", _infer_full, _rule_full("fft"), "The discrete Fourier transform along an axis.")
ifft = _one_axis("ifft", _infer_full, _rule_full("ifft"), "The inverse of `fft`.")
rfft = _one_axis("rfft", _infer_half, _rule_from_real("hfft"), "The Fourier transform of real numbers, half of it.")
irfft = _one_axis("irfft", _infer_real, _rule_to_real("ihfft"), "The inverse of `rfft`.")
hfft = _one_axis("hfft", _infer_real, _rule_to_real("rfft"), "The Fourier transform, real, of half a Hermitian signal.")
ihfft = _one_axis("ihfft", _infer_half, _rule_from_real("irfft"), "The inverse of `hfft`.")
ONE: dict[str, Callable[..., Tensor]] = {
    "fft": fft, "ifft": ifft, "rfft": rfft, "irfft": irfft, "hfft": hfft, "ihfft": ihfft,
}  # fmt: skip


def _infer_many(x: Node, *, s: tuple[Size, ...], axes: tuple[int, ...], norm: str) -> Any:
    shape: tuple[Size, ...] = x.shape
    for axis, length in zip(axes, s, strict=True):
        shape = _with_length(shape, axis, length)
    return shape, complex_of(x.dtype)


def _many_rule(name: str) -> Callable[..., Tensor]:
    def rule(g: Tensor, out: Tensor, x: Tensor, *, s: Any, axes: Any, norm: str) -> Tensor:
        result = MANY[name](g, s=s, axes=axes, norm=norm)
        for axis in axes:
            result = _to_length(result, axis, x.node.shape[axis])
        return result

    return rule


def _many_axes(name: str, doc: str) -> Callable[..., Tensor]:
    """A transform along several axes; where one side of it is real, the last axis is gone through apart."""
    full = along_axes(f"fft.{name}", _infer_many, (_many_rule(name),)) if name in ("fftn", "ifftn") else None

    def function(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        x = floating(x)
        if name == "rfftn":
            refuse_complex(name, x=x)
        elif x.dtype.kind != "c":
            x = astype(x, complex_of(x.dtype))
        _check_norm(norm)
        places = _places(x, s, axes)
        if not places:
            raise ValueError(f"{name} needs at least one axis to transform, got axes {axes} of shape {x.shape}")
        lengths = [
            _length_of(None if n is None or _is_whole(n) else n, x.node.shape[axis], from_half=False)
            for n, axis in zip([None] * len(places) if s is None else s, places, strict=True)
        ]
        if name == "irfftn" and (s is None or s[-1] is None or _is_whole(s[-1])):
            lengths[-1] = 2 * (lengths[-1] - 1)
        for length in lengths:
            _check_length(name, length)
        if full is not None:
            return record(full, x, s=tuple(lengths), axes=places, norm=norm)
        (*sizes, n), (*others, last) = lengths, places
        if name == "rfftn":
            half = rfft(x, n=n, axis=last, norm=norm)
            return fftn(half, s=sizes, axes=others, norm=norm) if others else half
        return irfft(ifftn(x, s=sizes, axes=others, norm=norm) if others else x, n=n, axis=last, norm=norm)

    return published(name, function, doc)


def _is_whole(n: Any) -> bool:
    """Whether a length is -1, which asks for that of the array."""
    return type(n) is int and n == -1


def _places(x: Tensor, s: Any, axes: Any) -> tuple[int, ...]:
    """The axes to transform, in the order given."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise ValueError(f"s must name at most {x.ndim} lengths for this array, got {tuple(s)}")
        return tuple(range(x.ndim - count, x.ndim))
    places = tuple(axis_of(axis, x.ndim, "axes") for axis in axes)
    if len(set(places)) != len(places):
        raise ValueError(f"axes must name each axis once, got {tuple(axes)}")
    if s is not None and len(s) != len(places):
        raise ValueError(f"s and axes must be as long as each other, got {tuple(s)} and {tuple(axes)}")
    return places


fftn = _many_axes("fftn", "The discrete Fourier transform along several axes.")
ifftn = _many_axes("ifftn", "The inverse of `fftn`.")
rfftn = _many_axes("rfftn", "The Fourier transform of real numbers along several axes, half of it along the last.")
irfftn = _many_axes("irfftn", "The inverse of `rfftn`.")
MANY: dict[str, Callable[..., Tensor]] = {"fftn": fftn, "ifftn": ifftn}


def _frequencies(name: str, length: Callable[[Size], Size], doc: str) -> Callable[..., Tensor]:
    """Declare the frequencies that belong to a transform."""

    def run(xp: Any, n: int, *, d: float, dtype: Any) -> Any:
        places = xp.arange(length(n), dtype=dtype)
        if name == "fftfreq":
            places = places - xp.astype(2 * places >= n, dtype) * n
        return places / (n * d)

    op = declare(f"fft.{name}", lambda n, *, d, dtype: ((length(n),), dtype), (), run=run)

    def function(n: Any, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
        zeros((), device=device)  # refuses a device that Tensors have not
        size = _length_of(n, 0, from_half=False)
        _check_length(name, size)
        return record(op, size, d=d, dtype=as_dtype(floatx() if dtype is None else dtype))

    return published(name, function, doc)


fftfreq = _frequencies("fftfreq", lambda n: n, "The frequencies of `fft`, for samples `d` apart.")
rfftfreq = _frequencies("rfftfreq", _half, "The frequencies of `rfft`, for samples `d` apart.")


def fftshift(x: Any, /, *, axes: Any = None) -> Tensor:
    """The spectrum with the frequency zero in the middle."""
    return _shifted(x, axes, "fftshift", 1)


def ifftshift(x: Any, /, *, axes: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, "ifftshift", -1)


def _shifted(x: Any, axes: Any, name: str, sign: int) -> Tensor:
    """A rotation of half the length, to the right or the left."""
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError(f"x must have an axis for {name}, got a number")
    places = axes_of(axes, x.ndim, "axes")
    shifts = tuple(sign * (x.node.shape[place] // 2) for place in places)
    return roll(x, shifts, axis=places) if places else x
