"""The distributions: those whose elements are drawn each on its own, and how a block of them is made.

A new one is a sampler and its entry in a chapter's table here, and a method in a chapter of `nbm_xp.rng.generator`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from nbm_xp.namespace import Derivatives, array_namespace, dtype_name, is_array, promote_types, wide_dtypes

from ..parameters import LARGEST, as_scale_and_shift, line_between, rounded, scaled_and_shifted
from ..rules import FINITE, NOT_NEGATIVE, Rule, finite_in, require, require_held, require_together
from ..tasks import Draw
from ..uniforms import Shape
from .counts import COUNTS
from .gammas import GAMMAS
from .real_numbers import REAL_NUMBERS
from .sampling import Distribution, Sampler
from .vectors import dirichlet

__all__ = [
    "DISTRIBUTIONS", "derivatives", "differentiated", "independent", "normal", "uniform",
]  # fmt: skip

DISTRIBUTIONS: Final[dict[str, Distribution]] = REAL_NUMBERS | GAMMAS | COUNTS


def independent(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, name: str, differentiated_in: str = "") -> Any:
    """Make a block of numbers of a distribution in the table, or of their derivatives in one of its parameters."""
    distribution, xp = DISTRIBUTIONS[name], draw.xp
    if 0 in shape:
        return draw.zeros(shape)
    with wide_dtypes(xp):
        parameters = draw.columns(shape, blocks, "float64")
        for (own, rule), number, parameter in zip(distribution.rules.items(), draw.numbers, parameters, strict=True):
            if number is None:
                require(own, parameter, rule)
                if distribution.kind == "real":
                    require(f"{own} in {draw.dtype}", parameter, finite_in(draw.dtype))
        if distribution.together is not None:
            require_together(dict(zip(distribution.rules, parameters, strict=True)), distribution.together)
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


def _of_arrays(draw: Draw) -> tuple[str, ...]:
    """What the parameters of an independent draw are called that come as blocks."""
    named = zip(DISTRIBUTIONS[dict(draw.options)["name"]].rules, draw.numbers, strict=True)
    return tuple(name for name, number in named if number is None)


def derivatives(draw: Draw) -> Derivatives:
    """The derivatives of an independent draw, or of one of Dirichlet's distribution, in what comes as blocks."""

    def derivative(k: int, *arrays: Any) -> Any:
        return differentiated(draw, k, dtype_name(arrays[k]))((0,) * len(draw.whole), draw.whole, *arrays)

    if draw.make is dirichlet:
        return Derivatives("Dirichlet's distribution", ("alpha",), derivative, simplex=True)
    name, parameters = dict(draw.options)["name"], _of_arrays(draw)
    distribution = DISTRIBUTIONS[name]
    own = derivative if set(parameters) <= {*distribution.derivatives, *distribution.linear} else None
    return Derivatives(f"the {name} distribution", parameters, own, set(parameters) <= set(distribution.linear))


def differentiated(draw: Draw, k: int, dtype: str) -> Draw:
    """What makes the derivatives in the k-th parameter that comes as blocks, in the wider of the two dtypes."""
    wider = promote_types(draw.dtype, dtype) if dtype in LARGEST else draw.dtype
    if draw.make is dirichlet:
        return draw.changed(wider, in_shapes=True)
    return draw.changed(wider, differentiated_in=_of_arrays(draw)[k])


def uniform(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, bits: int, out: Any = None) -> Any:
    """Make a block of uniforms between two bounds, of two outputs each where `bits` is 53."""
    low, high = (
        _checked(draw, name, value, FINITE) for name, value in zip(("low", "high"), draw.given(blocks), strict=True)
    )
    shift, scale = line_between(draw.xp, low, high, draw.dtype)
    require(f"high - low in {draw.dtype}", scale, NOT_NEGATIVE)
    standard = partial(draw.uniforms(offset, shape).drawn, "wide" if bits == 53 else draw.dtype, 0)
    return _on_line(draw, shape, standard, shift, scale, out)


def normal(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, out: Any = None) -> Any:
    """Make a block of normal numbers of some mean and standard deviation."""
    loc, scale = draw.given(blocks)
    loc, scale = _checked(draw, "loc", loc, FINITE), _checked(draw, "scale", scale, NOT_NEGATIVE)
    loc, scale = (rounded(draw.xp, value, draw.dtype) for value in (loc, scale))
    return _on_line(draw, shape, partial(draw.uniforms(offset, shape).normals, draw.dtype), loc, scale, out)


def _checked(draw: Draw, name: str, value: Any, rule: Rule) -> Any:
    """A parameter; a block of one is held to a rule, and to be finite in the dtype."""
    if is_array(value):
        require(name, value, rule)
        if promote_types(dtype_name(value), draw.dtype) != draw.dtype:
            require(f"{name} in {draw.dtype}", value, finite_in(draw.dtype))
    return value


def _on_line(draw: Draw, shape: Shape, standard: Sampler, shift: Any, scale: Any, out: Any) -> Any:
    """Standard numbers times a scale, plus a shift; `out` takes them where a kernel can fill it."""
    line, xp = as_scale_and_shift(shift, scale, draw.dtype), draw.xp
    x = standard(line or (), draw.threads, out if line is not None else None)
    if x is out:
        return out
    x = xp.reshape(x, shape)
    if line is not None:
        return x
    return xp.reshape(scaled_and_shifted(xp, x, shift, scale, draw.dtype), shape)  # NumPy's may be a scalar
