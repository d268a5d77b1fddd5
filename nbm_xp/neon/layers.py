"""Layer descriptions, and validation of the arguments of layer operations: buffers, numbers and layers.

A layer has the shapes and strides of a convolution, a deconvolution or a pooling. A `Backend`'s ``conv_layer``,
``deconv_layer`` and ``pool_layer`` return layers, and its operations take them. The attributes have neon's names:
inputs I are (C · D · H · W, N), filters F (C · T · R · S, K), outputs O (K · M · P · Q, N).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

from nbm_xp.functions.compound import scaled
from nbm_xp.functions.convolution_windows import pool_count, spread_length, window_count
from nbm_xp.namespace import array_namespace, dtype_name, is_bool, is_complex
from nbm_xp.namespace.errors import naming
from nbm_xp.tape import Tensor
from nbm_xp.tape.dtypes import as_dtype

from .buffers import Buffer
from .engine import Engine

F = TypeVar("F", bound=Callable[..., Any])


def also_by_place(
    names: str, when: Callable[[dict[str, Any]], bool] = lambda given: True, **defaults: Any
) -> Callable[[F], F]:
    """Decorate a method to accept the positional calls of neon's own layers beside its documented signature.

    Parameters
    ----------
    names : str
        Names of the parameters in the order of such a call.
    when : callable
        Predicate on the arguments by these names: whether a call has this form. By default every call has.
    **defaults
        Values of parameters that such a call omits although the documented signature has no default.
    """

    def decorate(method: F) -> F:
        inner = naming(method)

        @functools.wraps(method)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            given = dict(zip(names.split(", "), args[1:], strict=False))
            if len(given) < len(args) - 1 or not when(given):
                return inner(*args, **keywords)
            for name in given.keys() & keywords.keys():
                raise TypeError(f"{method.__name__}() got multiple values for argument {name!r}")
            return inner(*args[:1], **defaults | given | keywords)

        wrapper.arranged = True  # type: ignore[attr-defined]
        return wrapper  # type: ignore[return-value]

    return decorate


def value_of(engine: Engine, x: Any, name: str) -> Any:
    """Return the values of a buffer or op-tree of a backend.

    Raises
    ------
    TypeError
        If `x` is neither, or of bool dtype.
    ValueError
        If `x` belongs to another library.
    """
    if not isinstance(x, Buffer):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a buffer or an op-tree of the backend, got {type(x).__name__}")
        x = engine.array(x, dtype=x.dtype)
    if x.backend.xp is not engine.xp:
        raise ValueError(f"{name} must be a buffer of {engine.library}, got one of {x.backend.library}")
    if is_bool(x):
        raise TypeError(f"{name} must hold numbers, got {x.dtype}")
    return x.array


def operand(engine: Engine, x: Any, name: str, shape: Sequence[int]) -> Any:
    """Return the values of a buffer or op-tree as a matrix of a given shape.

    Raises
    ------
    ValueError
        If the number of elements or the length of the last axis differs; a required length of 1 accepts any length.
    """
    array = value_of(engine, x, name)
    _check(tuple(array.shape), name, shape)
    return array if array.shape == tuple(shape) else array_namespace(array).reshape(array, tuple(shape))


def _check(given: tuple[int, ...], name: str, shape: Sequence[int]) -> None:
    last = shape[-1]
    if math.prod(given) != math.prod(shape) or last not in (1, given[-1]):
        also = f" of which {last} along the last axis" if last != 1 else ""
        raise ValueError(f"{name} must have shape {tuple(shape)}, or as many elements{also}, got {given}")


class Target:
    """A buffer as the destination of a matrix of a given shape.

    Raises
    ------
    TypeError
        If `x` is not a buffer.
    ValueError
        If `x` belongs to another library, or has another shape.
    """

    def __init__(self, engine: Engine, x: Any, name: str, shape: Sequence[int]) -> None:
        if not isinstance(x, Buffer):
            raise TypeError(f"{name} must be a buffer to write to, got {type(x).__name__}")
        if x.backend.xp is not engine.xp:
            raise ValueError(f"{name} must be a buffer of {engine.library}, got one of {x.backend.library}")
        _check(x.shape, name, shape)
        self.buffer = x.reshape(tuple(shape))

    def present(self, beta: float) -> Any:
        """Return the current values if `beta` is not 0, else None."""
        return self.buffer.array if beta else None

    def write(self, value: Any, *, fresh: bool = False) -> None:
        """Set the values to an array of the matrix's shape; `fresh`: nothing else refers to the array."""
        self.buffer.write(value, fresh=fresh)

    def write_scaled(self, value: Any, alpha: float, beta: float, *, relu: bool = False, fresh: bool = False) -> Any:
        """Set the values to ``alpha * value``, rectified if `relu`, plus ``beta`` times the old values; return them."""
        total = scaled(value, self.present(beta), alpha, beta, relu=relu)
        self.write(total, fresh=fresh)
        return total


def factors(alpha: Any, beta: Any) -> tuple[float, float]:
    """Validate the factors of the new result and of the previous values.

    Raises
    ------
    TypeError
        If a factor is not a real number.
    """
    return number(alpha, "alpha"), number(beta, "beta")


def number(x: Any, name: str) -> float:
    """Validate a factor.

    Raises
    ------
    TypeError
        If `x` is not a real number.
    """
    if not isinstance(x, Real):
        raise TypeError(f"{name} must be a number, got {x!r}")
    return float(x)


def whole(x: Any, name: str, least: int = 1) -> int:
    """Validate an integer with a lower bound.

    Raises
    ------
    TypeError
        If `x` is not an integer.
    ValueError
        If `x` is less than `least`, or too large for a length.
    """
    if isinstance(x, bool):
        raise TypeError(f"{name} must be an integer, got {x!r}")
    try:
        found = operator.index(x)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {x!r}") from None
    if found < least:
        raise ValueError(f"{name} must be {least} or more, got {found}")
    if found.bit_length() > 63:
        raise ValueError(f"{name} must be below 2**63, got {found}")
    return found


_POOLINGS = ("max", "avg", "l2")


def _named(names: Sequence[str], values: Sequence[Any], least: int) -> tuple[int, ...]:
    return tuple(whole(value, name, least) for name, value in zip(names, values, strict=True))


class Layer:
    """Shapes of a layer: C input and K output feature maps for N images.

    Attributes
    ----------
    dtype : DType
        Dtype of the elements.
    N, C, K : int
        Number of images, of input feature maps, and of output feature maps.
    DHW, MPQ : tuple of int
        Depth, height and width of the inputs and of the outputs; each is also an attribute.
    dimI, dimO, dimI2, dimO2 : tuple of int
        Shapes of inputs and outputs, with five axes and with two.
    sizeI, sizeO, nOut : int
        Numbers of elements; `nOut` counts the elements of the layer's result for one image.
    padding, strides : tuple of int
        Zero padding on each side, and strides.
    """

    made_by: ClassVar[str]

    def __init__(
        self, dtype: Any, N: int, C: int, K: int, DHW: tuple[int, ...], MPQ: tuple[int, ...],
        padding: tuple[int, ...], strides: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.dtype = as_dtype(dtype_name(dtype))
        if is_complex(self.dtype):
            raise TypeError(f"dtype must be one of real numbers, got {self.dtype}")
        self.N, self.C, self.K = N, C, K
        self.DHW, self.MPQ, self.padding, self.strides = DHW, MPQ, padding, strides
        self.D, self.H, self.W = DHW
        self.M, self.P, self.Q = MPQ
        self.dimI, self.dimO = (C, *DHW, N), (K, *MPQ, N)
        self.dimI2, self.dimO2 = (math.prod(self.dimI[:-1]), N), (math.prod(self.dimO[:-1]), N)
        self.sizeI, self.sizeO = math.prod(self.dimI), math.prod(self.dimO)

    @property
    def nOut(self) -> int:
        """Number of elements of the layer's result for one image."""
        return self.dimO2[0]

    @classmethod
    def checked(cls, layer: Any) -> Self:
        """Validate the layer argument of an operation.

        Raises
        ------
        TypeError
            If `layer` is not of this class.
        """
        if not isinstance(layer, cls):
            raise TypeError(f"layer must be what {cls.made_by} returns, got {type(layer).__name__}")
        return layer

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype} {self.dimI} to {self.dimO}>"


class ConvLayer(Layer):
    """A convolution with K filters.

    Attributes
    ----------
    TRS : tuple of int
        Depth, height and width of a filter.
    NCK, dilation : tuple of int
        The tuple (N, C, K); the dilations.
    dimF, dimF2 : tuple of int
        Shapes of the filters, with five axes and with two.
    dimS : tuple of int
        Shape of the sums of the feature maps, (K, 1).
    sizeF : int
        Number of elements of the filters.
    relu, bsum : bool
        Whether results are rectified, and whether the sums of the feature maps are returned.
    """

    made_by = "conv_layer or deconv_layer"

    def __init__(
        self, dtype: Any, N: int, C: int, K: int, ends: Sequence[int], TRS: Sequence[int], padding: Sequence[int],
        strides: Sequence[int], dilation: Sequence[int], *, relu: bool = False, bsum: bool = False,
    ) -> None:  # fmt: skip
        self.NCK = images, channels, filters = _named("NCK", (N, C, K), 1)
        self.TRS = _named("TRS", TRS, 1)
        pads = _named(("pad_d", "pad_h", "pad_w"), padding, 0)
        steps = _named(("str_d", "str_h", "str_w"), strides, 1)
        self.dilation = _named(("dil_d", "dil_h", "dil_w"), dilation, 1)
        self.dimF = (channels, *self.TRS, filters)
        self.dimF2 = (math.prod(self.dimF[:-1]), filters)
        self.dimS = (filters, 1)
        self.sizeF = math.prod(self.dimF)
        self.relu, self.bsum = bool(relu), bool(bsum)
        lengths, counts = self._lengths(ends, self.TRS, pads, steps, self.dilation)
        super().__init__(dtype, images, channels, filters, lengths, counts, pads, steps)

    @staticmethod
    def _lengths(DHW: Sequence[int], *geometry: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Compute the lengths of inputs and outputs from the lengths of the inputs."""
        lengths = _named("DHW", DHW, 1)
        return lengths, _along("DHW", _convolved_count, lengths, *geometry)

    @property
    def windows(self) -> dict[str, Any]:
        """Return the geometry of the windows as arguments of `nbm_xp.functions.feature_maps`."""
        return {
            "lengths": self.DHW,
            "sizes": self.TRS,
            "strides": self.strides,
            "padding": self.padding,
            "dilation_rate": self.dilation,
        }


def _convolved_count(length: int, size: int, padding: int, stride: int, dilation: int) -> int:
    return window_count(length, size, padding, stride, dilation=dilation)


def _along(axes: str, count: Callable[..., int], *geometry: Sequence[int], **how: Any) -> tuple[int, ...]:
    """Count the windows along each axis; errors name the axis."""
    found = []
    for axis, *numbers in zip(axes, *geometry, strict=True):
        try:
            found.append(count(*numbers, **how))
        except ValueError as error:
            raise ValueError(f"windows must fit along {axis}: {error}") from None
    return tuple(found)


class DeconvLayer(ConvLayer):
    """A deconvolution, described by the convolution from its outputs, dimI, to its inputs, dimO.

    The attributes describe that convolution; `nOut` is the number of elements of dimI for one image.
    """

    @staticmethod
    def _lengths(MPQ: Sequence[int], *geometry: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        counts = _named("MPQ", MPQ, 1)
        return _along("MPQ", spread_length, counts, *geometry), counts

    @property
    def nOut(self) -> int:
        """Number of elements of the deconvolution's result, dimI, for one image."""
        return self.dimI2[0]


class PoolLayer(Layer):
    """Pooling in windows of J feature maps, depth T, height R and width S.

    Attributes
    ----------
    op : {"max", "avg", "l2"}
        Reduction of each window.
    JTRS : tuple of int
        Sizes of a window; `padding` and `strides` also have four entries.
    """

    made_by = "pool_layer"

    def __init__(
        self, dtype: Any, op: str, N: int, C: int, DHW: Sequence[int], JTRS: Sequence[int], padding: Sequence[int],
        strides: Sequence[int | None], *, cover: bool = False,
    ) -> None:  # fmt: skip
        if op not in _POOLINGS:
            raise ValueError(f"op must be one of {', '.join(map(repr, _POOLINGS))}, got {op!r}")
        self.op = op
        self.JTRS = _named("JTRS", JTRS, 1)
        images, maps = _named("NC", (N, C), 1)
        lengths = _named("DHW", DHW, 1)
        pads = _named(("pad_j", "pad_d", "pad_h", "pad_w"), padding, 0)
        given = [size if stride is None else stride for size, stride in zip(self.JTRS, strides, strict=True)]
        steps = _named(("str_j", "str_d", "str_h", "str_w"), given, 1)
        self.cover = cover
        count, *counts = _along("CDHW", pool_count, (maps, *lengths), self.JTRS, pads, steps, cover=cover)
        super().__init__(dtype, images, maps, count, lengths, tuple(counts), pads, steps)

    @property
    def window_size(self) -> int:
        """Number of elements of a window."""
        return math.prod(self.JTRS)

    @property
    def windows(self) -> dict[str, Any]:
        """Return the geometry of the windows as arguments of `nbm_xp.functions.feature_maps`."""
        return {
            "lengths": (self.C, *self.DHW),
            "sizes": self.JTRS,
            "strides": self.strides,
            "padding": self.padding,
            "cover": self.cover,
        }
