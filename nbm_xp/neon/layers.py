"""Arguments of layer operations, which are validated before any work: buffers, numbers, and layers.

A layer has the shapes and steps of a convolution, a deconvolution or a pooling, worked out once. It is what a
`Backend`'s ``conv_layer``, ``deconv_layer`` and ``pool_layer`` return, and its operations take. The attributes have
neon's names: inputs I are (C · D · H · W, N), filters F (C · T · R · S, K), outputs O (K · M · P · Q, N).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

from nbm_xp.functions.compound import scaled
from nbm_xp.functions.convolution_windows import pool_count, spread_length, window_count
from nbm_xp.namespace import array_namespace, dtype_name, is_bool, is_complex
from nbm_xp.namespace.errors import arranged
from nbm_xp.tape import Tensor
from nbm_xp.tape.dtypes import as_dtype

from .buffers import Buffer
from .engine import Engine

__all__ = [
    "ConvLayer", "DeconvLayer", "Layer", "PoolLayer", "Target", "also_by_place", "factors", "number", "operand",
    "value_of", "whole",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def also_by_place(
    names: str, when: Callable[[dict[str, Any]], bool] = lambda given: True, **defaults: Any
) -> Callable[[F], F]:
    """Let a method be called by place as neon's own layers call it, beyond what the document of all backends says.

    Parameters
    ----------
    names : str
        The parameters in the order of such a call.
    when : callable
        Whether a call is such a one, from its arguments by these names; each is by default.
    **defaults
        Of parameters that such a call leaves out, though the document has no default for them.
    """

    def decorate(method: F) -> F:
        def arrange(args: Sequence[Any], keywords: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
            given = dict(zip(names.split(", "), args[1:], strict=False))
            if len(given) < len(args) - 1 or not when(given):
                return args, keywords
            for name in given.keys() & keywords.keys():
                raise TypeError(f"{method.__name__}() got multiple values for argument {name!r}")
            return args[:1], defaults | given | keywords

        return arranged(arrange, method)

    return decorate


def value_of(engine: Engine, x: Any, name: str) -> Any:
    """The values of a buffer or tree of a backend.

    Raises
    ------
    TypeError
        If it is neither, or of bool dtype.
    ValueError
        If it belongs to another library.
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
    """The values of a buffer or tree as a matrix of a given shape.

    Raises
    ------
    ValueError
        If there are more or fewer elements, or the last axis is another; where it is to be 1, any will do.
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
    """A buffer that a matrix of a given shape can be written to.

    Raises
    ------
    TypeError
        If it is no buffer.
    ValueError
        If it belongs to another library, or has another shape.
    """

    def __init__(self, engine: Engine, x: Any, name: str, shape: Sequence[int]) -> None:
        if not isinstance(x, Buffer):
            raise TypeError(f"{name} must be a buffer to write to, got {type(x).__name__}")
        if x.backend.xp is not engine.xp:
            raise ValueError(f"{name} must be a buffer of {engine.library}, got one of {x.backend.library}")
        _check(x.shape, name, shape)
        self.buffer = x.reshape(tuple(shape))

    def present(self, beta: float) -> Any:
        """The values now, if they take part in what is written."""
        return self.buffer.array if beta else None

    def write(self, value: Any, *, fresh: bool = False) -> None:
        """Set the values to an array of that shape; `fresh` if nothing else refers to it."""
        self.buffer.write(value, fresh=fresh)

    def write_scaled(self, value: Any, alpha: float, beta: float, *, relu: bool = False, fresh: bool = False) -> Any:
        """Set the values to ``alpha * value``, rectified if wanted, plus ``beta`` times what they were; return them."""
        total = scaled(value, self.present(beta), alpha, beta, relu=relu)
        self.write(total, fresh=fresh)
        return total


def factors(alpha: Any, beta: Any) -> tuple[float, float]:
    """What a result is multiplied by, and what it is added to.

    Raises
    ------
    TypeError
        If one of them is no real number.
    """
    return number(alpha, "alpha"), number(beta, "beta")


def number(x: Any, name: str) -> float:
    """A factor.

    Raises
    ------
    TypeError
        If it is no real number.
    """
    if not isinstance(x, Real):
        raise TypeError(f"{name} must be a number, got {x!r}")
    return float(x)


def whole(x: Any, name: str, least: int = 1) -> int:
    """An integer that is not too small.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is less than `least`, or beyond any count.
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
    """Inputs and outputs of a layer, C and K feature maps of some lengths, for N images.

    Attributes
    ----------
    dtype : DType
        Of the elements.
    N, C, K : int
        Images, and maps of the inputs and outputs.
    DHW, MPQ : tuple of int
        Depth, height and width of the inputs and of the outputs; each is also an attribute of its own.
    dimI, dimO, dimI2, dimO2 : tuple of int
        The shapes of inputs and outputs, of five axes and of two.
    sizeI, sizeO, nOut : int
        Numbers of elements; `nOut` is that of the layer's result for one image.
    padding, strides : tuple of int
        Zeros on each side, and steps from window to window.
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
        """The number of elements of the layer's result for one image."""
        return self.dimO2[0]

    @classmethod
    def checked(cls, layer: Any) -> Self:
        """The layer argument of an operation, validated.

        Raises
        ------
        TypeError
            If it is no layer of this kind.
        """
        if not isinstance(layer, cls):
            raise TypeError(f"layer must be what {cls.made_by} returns, got {type(layer).__name__}")
        return layer

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype} {self.dimI} to {self.dimO}>"


class ConvLayer(Layer):
    """A convolution of K filters.

    Attributes
    ----------
    TRS : tuple of int
        Depth, height and width of a filter.
    NCK, dilation : tuple of int
        The three numbers together; steps from place to place in a window.
    dimF, dimF2 : tuple of int
        The shapes of the filters, of five axes and of two.
    dimS : tuple of int
        The shape of the sums of the maps, (K, 1).
    sizeF : int
        The number of the filters' elements.
    relu, bsum : bool
        Whether what is written is rectified, and whether its maps are summed up.
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
        """The lengths of inputs and outputs, from those of the inputs."""
        lengths = _named("DHW", DHW, 1)
        return lengths, _along("DHW", _convolved_count, lengths, *geometry)

    @property
    def windows(self) -> dict[str, Any]:
        """Where the windows are, as the functions of `nbm_xp.functions.feature_maps` take it."""
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
    """The number of windows along each axis, or an error that names the axis."""
    found = []
    for axis, *numbers in zip(axes, *geometry, strict=True):
        try:
            found.append(count(*numbers, **how))
        except ValueError as error:
            raise ValueError(f"windows must fit along {axis}: {error}") from None
    return tuple(found)


class DeconvLayer(ConvLayer):
    """A deconvolution: the convolution that leads from its outputs, dimI, to its inputs, dimO.

    The attributes are those of that convolution; `nOut` is the number of elements of dimI for one image.
    """

    @staticmethod
    def _lengths(MPQ: Sequence[int], *geometry: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        counts = _named("MPQ", MPQ, 1)
        return _along("MPQ", spread_length, counts, *geometry), counts

    @property
    def nOut(self) -> int:
        """The number of elements of the deconvolution's result, dimI, for one image."""
        return self.dimI2[0]


class PoolLayer(Layer):
    """Pooling in windows of J feature maps, depth T, height R and width S.

    Attributes
    ----------
    op : {"max", "avg", "l2"}
        What becomes of a window.
    JTRS : tuple of int
        Its sizes; `padding` and `strides` have four entries too.
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
        """How many elements a window has."""
        return math.prod(self.JTRS)

    @property
    def windows(self) -> dict[str, Any]:
        """Where the windows are, as the functions of `nbm_xp.functions.feature_maps` take it."""
        return {
            "lengths": (self.C, *self.DHW),
            "sizes": self.JTRS,
            "strides": self.strides,
            "padding": self.padding,
            "cover": self.cover,
        }
