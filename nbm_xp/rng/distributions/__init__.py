"""The distributions: those whose elements are drawn each on its own, and how a block of them is made.

A new one is a sampler and its entry in a chapter's table here, and a method in a chapter of `nbm_xp.rng.generator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import Derivatives, array_namespace, dtype_name, is_array, promote_types, wide_dtypes

from ..parameters import LARGEST, as_scale_and_shift, known_integer, line_between, rounded, scaled_and_shifted
from ..rules import FINITE, NOT_NEGATIVE, require, require_held
from ..tasks import Draw
from ..uniforms import Shape
from .counts import COUNTS
from .gammas import GAMMAS
from .integers import multinomial, outcomes, random_order, successes
from .real_numbers import REAL_NUMBERS
from .sampling import Distribution, Sampler
from .vectors import dirichlet

__all__ = ["DISTRIBUTIONS", "LINES", "derivatives", "differentiated", "independent", "line_of"]

DISTRIBUTIONS: Final[dict[str, Distribution]] = REAL_NUMBERS | GAMMAS | COUNTS


def independent(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, name: str, differentiated_in: str = "") -> Any:
    """Make a block of numbers of a distribution in the table, or of their derivatives in one of its parameters."""
    distribution, xp = DISTRIBUTIONS[name], draw.xp
    if 0 in shape:
        return draw.zeros(shape)
    with wide_dtypes(xp):
        parameters = draw.columns(shape, blocks, "float64")
        _check_blocks(distribution, draw, parameters)
        sample = distribution.sample
        if differentiated_in:
            sample = partial(_bounded, distribution.derivative(differentiated_in), draw.dtype)
        elif distribution.kind == "count":
            sample = partial(_held, sample, draw.dtype)
        elif distribution.kind == "tail" and draw.dtype != "float64":
            sample = partial(_bounded, sample, draw.dtype)
        uniforms = draw.uniforms(offset, shape)
        at_once = distribution.at_once and draw.threads == 1
        x = sample(uniforms, *parameters) if at_once else draw.sampled(sample, uniforms, *parameters)
        return draw.finished(x, shape)


def _check_blocks(distribution: Distribution, draw: Draw, parameters: list[Any]) -> None:
    """Hold parameters to the rules, unless all are numbers, which were held to them before."""
    if None in draw.numbers:
        named = dict(zip(distribution.rules, parameters, strict=True))
        distribution.check(named, draw.dtype)
        if distribution.together is not None:
            distribution.together(named, draw.dtype)


def _held(sample: Sampler, dtype: str, *given: Any) -> Any:
    """Counts, which the dtype asked for must hold."""
    x = sample(*given)
    require_held(x, dtype)
    return x


def _bounded(sample: Sampler, dtype: str, *given: Any) -> Any:
    """Numbers that are infinite beyond the dtype asked for."""
    x, most = sample(*given), LARGEST[dtype]
    xp = array_namespace(x)
    return xp.where(x > most, xp.inf, xp.where(x < -most, -xp.inf, x))


def _require_width_and_bits(parameters: dict[str, Any], dtype: str, bits: Any = None) -> None:
    low, high = parameters.values()
    require(f"high - low in {dtype}", line_between(array_namespace(low, high), low, high, dtype)[1], NOT_NEGATIVE)
    if bits is None:
        return
    bits = known_integer(bits)
    if is_array(bits) or bits not in (31, 53) or (bits == 53 and dtype != "float64"):
        raise ValueError(f"bits must be 31, or 53 where dtype is float64; got {bits!r} and {dtype}")


def _uniforms(draw: Draw, offset: Shape, shape: Shape, *how: Any, bits: int | None) -> Any:
    kind = "wide" if draw.dtype == "float64" and bits != 31 else draw.dtype
    return draw.uniforms(offset, shape).drawn(kind, 0, *how)


def _normals(draw: Draw, offset: Shape, shape: Shape, *how: Any) -> Any:
    return draw.uniforms(offset, shape).normals(draw.dtype, *how)


def _rounded(xp: Any, loc: Any, scale: Any, dtype: str) -> tuple[Any, Any]:
    return rounded(xp, loc, dtype), rounded(xp, scale, dtype)


@dataclass(frozen=True)
class Line(Distribution):
    """Numbers on a line of standard ones, which `sample` makes for a block.

    ``through(xp, *parameters, dtype)`` gives what is added to them, and what they are multiplied by before.
    """

    through: Callable[..., tuple[Any, Any]] = _rounded


LINES: Final[dict[str, Line]] = {
    "uniform": Line(
        {"low": FINITE, "high": FINITE}, _uniforms, (-1.5, 2.25), together=_require_width_and_bits, through=line_between
    ),
    "normal": Line({"loc": FINITE, "scale": NOT_NEGATIVE}, _normals, (0.5, 1.5)),
}
"""Those that kernels make in one go."""


def line_of(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, name: str, out: Any = None, **how: Any) -> Any:
    """Make a block of standard numbers times a scale, plus a shift; `out` takes them where a kernel can fill it."""
    distribution, xp, parameters = LINES[name], draw.xp, draw.given(blocks)
    _check_blocks(distribution, draw, parameters)
    shift, scale = distribution.through(xp, *parameters, draw.dtype)
    line = as_scale_and_shift(shift, scale, draw.dtype)
    x = distribution.sample(draw, offset, shape, line or (), draw.threads, out if line is not None else None, **how)
    if x is out:
        return out
    x = xp.reshape(x, shape)
    if line is not None:
        return x
    return xp.reshape(scaled_and_shifted(xp, x, shift, scale, draw.dtype), shape)  # NumPy's may be a scalar


_WITHOUT: Final = {
    successes: ("the binomial distribution", ("p",)),
    multinomial: ("the multinomial distribution", ("n", "pvals")),
    outcomes: ("the categorical distribution", ("pvals",)),
    random_order: ("a choice without replacement", ("p",)),
}
"""What has no derivatives, and in which parameters."""


def _of_arrays(draw: Draw, names: Iterable[str]) -> tuple[str, ...]:
    """What the parameters of a draw are called that come as blocks."""
    return tuple(name for name, number in zip(names, draw.numbers, strict=True) if number is None)


def derivatives(draw: Draw) -> Derivatives | None:
    """The derivatives of a draw in the arrays among its parameters; None where a library finds them step by step."""

    def derivative(k: int, *arrays: Any) -> Any:
        return differentiated(draw, k, dtype_name(arrays[k]))((0,) * len(draw.whole), draw.whole, *arrays)

    if draw.make is independent:
        name = dict(draw.options)["name"]
        distribution, parameters = DISTRIBUTIONS[name], _of_arrays(draw, DISTRIBUTIONS[name].rules)
        own = derivative if set(parameters) <= {*distribution.derivatives, *distribution.linear} else None
        return Derivatives(f"the {name} distribution", parameters, own, set(parameters) <= set(distribution.linear))
    if draw.make is dirichlet:
        return Derivatives("Dirichlet's distribution", ("alpha",), derivative, simplex=True)
    if draw.make not in _WITHOUT:
        return None
    title, names = _WITHOUT[draw.make]
    named = names[sum(number is not None for number in draw.numbers) :]
    return Derivatives(title, (dict(draw.options)["name"],) if draw.make is outcomes else named)


def differentiated(draw: Draw, k: int, dtype: str) -> Draw:
    """What makes the derivatives in the k-th parameter that comes as blocks, in the wider of the two dtypes."""
    wider = promote_types(draw.dtype, dtype) if dtype in LARGEST else draw.dtype
    if draw.make is dirichlet:
        return draw.changed(wider, in_shapes=True)
    name = dict(draw.options)["name"]
    return draw.changed(wider, differentiated_in=_of_arrays(draw, DISTRIBUTIONS[name].rules)[k])
