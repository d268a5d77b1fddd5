"""The extension `fft` of the array API standard.

A transform is linear, y = F x, and the matrix F is symmetric: the gradient in x is the same transform of the cotangent.
For real input only half of the spectrum is returned; its inner frequencies count twice, by which the cotangent is
weighted, and the rules of `rfft` and `hfft`, `irfft` and `ihfft` use each other. If an argument is truncated or padded
to the length of the transform, its gradient is padded or truncated to its own length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.namespace import floatx
from nbm_xp.namespace.errors import check_choice
from nbm_xp.tape.dtypes import as_dtype
from nbm_xp.tape.graph import Node
from nbm_xp.tape.lengths import Size, known, maximum_length, minimum_length, same_length
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .creation import arange, conj, zeros
from .data_types import cast, complex_of, floating, real_of, refuse_complex
from .elementwise import where
from .manipulation import concat, reshape, roll
from .shapes import along_axes, axes_in_order, axes_of, axis_of, index_along, published, sizes_of

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

# Normalization of the transform with the opposite sign in the exponent.
_CONJUGATE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _to_length(x: Tensor, axis: int, length: Size) -> Tensor:
    """Truncate an array along an axis, or pad it with zeros, to a length."""
    own = x.node.shape[axis]
    if same_length(own, length) is True:
        return x
    kept = minimum_length((own, length))
    if same_length(own, kept) is not True:
        x = x[index_along(axis, slice(None, kept))]
    missing = maximum_length((length - kept, 0))
    if same_length(missing, 0) is True:
        return x
    return concat([x, zeros(_with_lengths(x.node.shape, [axis], [missing]), dtype=x.dtype)], axis=axis)


def _weighted(x: Tensor, axis: int, n: Size, weight: float) -> Tensor:
    """Multiply half a spectrum by `weight`, except for the lowest frequency and, if n is even, the highest."""
    places = arange(x.node.shape[axis])
    outer = (places == 0) | (places * 2 == n)
    column = reshape(outer, (x.node.shape[axis],) + (1,) * (x.ndim - 1 - axis))
    return where(column, x, x * weight)


def _with_lengths(shape: Sequence[Size], axes: Sequence[int], lengths: Sequence[Size]) -> tuple[Size, ...]:
    changed = dict(zip(axes, lengths, strict=True))
    return tuple(changed.get(axis, length) for axis, length in enumerate(shape))


def _infer_many(x: Node, *, s: tuple[Size, ...], axes: tuple[int, ...], norm: str) -> Any:
    return _with_lengths(x.shape, axes, s), complex_of(x.dtype)


def _back_to(x: Tensor, g: Tensor, axes: Sequence[int]) -> Tensor:
    for axis in axes:
        g = _to_length(g, axis, x.node.shape[axis])
    return g


def _rfft_rule(g: Tensor, out: Tensor, x: Tensor, *, n: Any, axis: int, norm: str) -> Tensor:
    return _back_to(x, hfft(_weighted(g, axis, n, 0.5), n=n, axis=axis, norm=norm), [axis])


def _irfft_rule(g: Tensor, out: Tensor, x: Tensor, *, n: Any, axis: int, norm: str) -> Tensor:
    return _back_to(x, _weighted(ihfft(g, n=n, axis=axis, norm=norm), axis, n, 2.0), [axis])


_RFFT = along_axes(
    "fft.rfft",
    lambda x, *, n, axis, norm: (_with_lengths(x.shape, [axis], [n // 2 + 1]), complex_of(x.dtype)),
    (_rfft_rule,),
)
_IRFFT = along_axes(
    "fft.irfft", lambda x, *, n, axis, norm: (_with_lengths(x.shape, [axis], [n]), real_of(x.dtype)), (_irfft_rule,)
)


def _number(n: Any, name: str) -> Size:
    """Return the length of a transform; it must not be 0."""
    (size,) = sizes_of(n, f"the length of {name}")
    if known(size) == 0:
        raise ValueError(f"{name} needs at least 1 element to transform, got 0")
    return size


def _numbers(x: Any, name: str, *, is_real: bool, norm: str) -> Tensor:
    """Convert the input to a real or complex floating Tensor, because array-api-strict accepts no other dtypes."""
    check_choice("norm", norm, tuple(_CONJUGATE))
    tensor = floating(x)
    if is_real:
        refuse_complex(name, x=tensor)
        return tensor
    return cast(tensor, complex_of(tensor.dtype))


def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the non-negative frequencies of the discrete Fourier transform of a real array."""
    x = _numbers(x, "rfft", is_real=True, norm=norm)
    place = axis_of(axis, x.ndim)
    return record(_RFFT, x, n=_number(x.node.shape[place] if n is None else n, "rfft"), axis=place, norm=norm)


def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `rfft`."""
    x = _numbers(x, "irfft", is_real=False, norm=norm)
    place = axis_of(axis, x.ndim)
    length = _number(2 * (x.node.shape[place] - 1) if n is None else n, "irfft")
    return record(_IRFFT, x, n=length, axis=place, norm=norm)


def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform, which is real, of a Hermitian signal given by its first half."""
    return irfft(conj(_numbers(x, "hfft", is_real=False, norm=norm)), n=n, axis=axis, norm=_CONJUGATE[norm])


def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the inverse of `hfft`."""
    return conj(rfft(_numbers(x, "ihfft", is_real=True, norm=norm), n=n, axis=axis, norm=_CONJUGATE[norm]))


def _places(x: Tensor, s: Any, axes: Any, name: str) -> tuple[tuple[int, ...], list[Any]]:
    """Return the axes to transform, in the given order, and the lengths; None and -1 are the array's length."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise ValueError(f"s must name at most {x.ndim} lengths for this array, got {tuple(s)}")
        axes = range(x.ndim - count, x.ndim)
    places = axes_in_order(axes, x.ndim, "axes")
    if s is not None and len(s) != len(places):
        raise ValueError(f"s and axes must be as long as each other, got {tuple(s)} and {tuple(axes)}")
    if not places:
        raise ValueError(f"{name} needs at least one axis to transform, got axes {axes} of shape {x.shape}")
    own = [x.node.shape[place] for place in places]
    return places, own if s is None else [one if _is_open(n) else n for n, one in zip(s, own, strict=True)]


def _is_open(n: Any) -> bool:
    return n is None or (type(n) is int and n == -1)


def _transforms(name: str, doc: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Declare a complex transform along one axis and along several axes."""
    several = f"{name}n"
    op = along_axes(
        f"fft.{several}", _infer_many, (lambda g, out, x, **options: _back_to(x, many(g, **options), options["axes"]),)
    )

    def many(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        x = _numbers(x, several, is_real=False, norm=norm)
        places, lengths = _places(x, s, axes, several)
        return record(op, x, s=tuple(_number(n, several) for n in lengths), axes=places, norm=norm)

    def one(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return many(x, s=None if n is None else (n,), axes=(axis,), norm=norm)

    return published(name, one, f"{doc} along an axis."), published(several, many, f"{doc} along several axes.")


fft, fftn = _transforms("fft", "The discrete Fourier transform")
ifft, ifftn = _transforms("ifft", "The inverse discrete Fourier transform")


def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Return the discrete Fourier transform of a real array along several axes; the last keeps frequencies from 0."""
    x = _numbers(x, "rfftn", is_real=True, norm=norm)
    (*others, last), (*lengths, n) = _places(x, s, axes, "rfftn")
    half = rfft(x, n=n, axis=last, norm=norm)
    return fftn(half, s=lengths, axes=others, norm=norm) if others else half


def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
    """Return the inverse of `rfftn`."""
    x = _numbers(x, "irfftn", is_real=False, norm=norm)
    (*others, last), (*lengths, n) = _places(x, s, axes, "irfftn")
    whole = None if s is None or _is_open(s[-1]) else n
    return irfft(ifftn(x, s=lengths, axes=others, norm=norm) if others else x, n=whole, axis=last, norm=norm)


def fftfreq(n: Any, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the frequencies of `fft` for the sample spacing `d`."""
    size = _number(n, "fftfreq")
    kind = as_dtype(floatx() if dtype is None else dtype)
    places = arange(size, dtype=kind, device=device)
    return (places - cast(2 * places >= size, kind) * size) / size / d


def rfftfreq(n: Any, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the frequencies of `rfft` for the sample spacing `d`."""
    size = _number(n, "rfftfreq")
    return arange(size // 2 + 1, dtype=as_dtype(floatx() if dtype is None else dtype), device=device) / size / d


def fftshift(x: Any, /, *, axes: Any = None) -> Tensor:
    """Shift the zero frequency to the centre of the spectrum."""
    return _shifted(x, axes, "fftshift", 1)


def ifftshift(x: Any, /, *, axes: Any = None) -> Tensor:
    """Return the inverse of `fftshift`."""
    return _shifted(x, axes, "ifftshift", -1)


def _shifted(x: Any, axes: Any, name: str, sign: int) -> Tensor:
    """Roll an array by half its length, to the right or the left."""
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError(f"x must have an axis for {name}, got a number")
    places = axes_of(axes, x.ndim, "axes")
    shifts = tuple(sign * (x.node.shape[place] // 2) for place in places)
    return roll(x, shifts, axis=places) if places else x
