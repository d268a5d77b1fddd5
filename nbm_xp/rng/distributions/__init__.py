"""Distributions whose elements are drawn independently, and the computation of their blocks.

To add one, declare a sampler in a module of this package, and add a method in a module of `nbm_xp.rng.generator`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from nbm_xp.namespace import Derivatives, array_namespace, dtype_name, is_array, promote_types

from ..parameters import LARGEST, as_scale_and_shift, known_integer, line_between, rounded, scaled_and_shifted
from ..rules import FINITE, NOT_NEGATIVE, require, require_held
from ..tasks import Draw
from ..uniforms import Shape
from . import counts, gammas, real_numbers  # noqa: F401 - they declare theirs
from .integers import multinomial, outcomes, random_order, successes
from .sampling import DISTRIBUTIONS, Distribution, Sampler, distribution
from .vectors import dirichlet

__all__ = ["DISTRIBUTIONS", "derivatives", "differentiated", "independent", "line_of"]


def _between(xp: Any, low: Any, high: Any, dtype: str, bits: Any = None) -> tuple[Any, Any]:
    shift, scale = line_between(xp, low, high, dtype)
    require(f"high - low in {dtype}", scale, NOT_NEGATIVE)
    bits = known_integer(bits)
    if bits is not None and (is_array(bits) or bits not in (31, 53) or (bits == 53 and dtype != "float64")):
        raise ValueError(f"bits must be 31, or 53 where dtype is float64; got {bits!r} and {dtype}")
    return shift, scale


def _rounded(xp: Any, loc: Any, scale: Any, dtype: str) -> tuple[Any, Any]:
    return rounded(xp, loc, dtype), rounded(xp, scale, dtype)


@distribution((-1.5, 2.25), line=_between, low=FINITE, high=FINITE)
def uniform(draw: Draw, offset: Shape, shape: Shape, *how: Any, bits: int | None) -> Any:
    """Compute a block of uniforms."""
    kind = "wide" if draw.dtype == "float64" and bits != 31 else draw.dtype
    return draw.uniforms(offset, shape).drawn(kind, 0, *how)


@distribution((0.5, 1.5), line=_rounded, loc=FINITE, scale=NOT_NEGATIVE)
def normal(draw: Draw, offset: Shape, shape: Shape, *how: Any) -> Any:
    """Compute a block of standard normal numbers."""
    return draw.uniforms(offset, shape).normals(draw.dtype, *how)


def line_of(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, name: str, out: Any = None, **how: Any) -> Any:
    """Compute a block of standard numbers times a scale, plus a shift, in `out` if a kernel can fill it."""
    distribution, xp, parameters = DISTRIBUTIONS[name], draw.xp, draw.given(blocks)
    assert distribution.line is not None
    if None in draw.numbers:
        distribution.check(parameters, draw.dtype)
    shift, scale = distribution.line(xp, *parameters, draw.dtype)
    line = as_scale_and_shift(shift, scale, draw.dtype)
    x = distribution.sample(draw, offset, shape, line or (), draw.threads, out if line is not None else None, **how)
    if x is out:
        return out
    if line is None:  # with at least one axis: NumPy's product of arrays without axes is a scalar
        x = scaled_and_shifted(xp, xp.reshape(x, shape or (1,)), shift, scale, draw.dtype)
    return xp.reshape(x, shape)


def independent(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, name: str, differentiated_in: str = "") -> Any:
    """Compute a block of numbers of a distribution, or of their derivatives with respect to one of its parameters."""
    distribution, parameters = DISTRIBUTIONS[name], draw.columns(shape, blocks, "float64")
    if None in draw.numbers:
        distribution.check(parameters, draw.dtype)
    sample = distribution.sample
    if differentiated_in:
        sample = partial(_bounded, distribution.derivatives[differentiated_in], draw.dtype)
    elif distribution.kind == "count":
        sample = partial(_held, sample, draw.dtype)
    elif distribution.kind == "tail" and draw.dtype != "float64":
        sample = partial(_bounded, sample, draw.dtype)
    return draw.finished(draw.sampled(sample, draw.uniforms(offset, shape), *parameters), shape)


def _held(sample: Sampler, dtype: str, *given: Any) -> Any:
    """Return counts; raise an error if the dtype of the draw cannot hold them."""
    x = sample(*given)
    require_held(x, dtype)
    return x


def _bounded(sample: Sampler, dtype: str, *given: Any) -> Any:
    """Return numbers, with those beyond the range of the dtype of the draw replaced by infinity."""
    x, most = sample(*given), LARGEST[dtype]
    xp = array_namespace(x)
    return xp.where(x > most, xp.inf, xp.where(x < -most, -xp.inf, x))


# Draws without derivatives: the distribution and its parameters.
_WITHOUT: Final = {
    successes: ("the binomial distribution", ("p",)),
    multinomial: ("the multinomial distribution", ("n", "pvals")),
    outcomes: ("the categorical distribution", ("pvals",)),
    random_order: ("a choice without replacement", ("p",)),
}


def _of_arrays(draw: Draw) -> tuple[Distribution, tuple[str, ...]]:
    """Return the distribution of a draw and the names of the parameters passed as blocks."""
    found = DISTRIBUTIONS[dict(draw.options)["name"]]
    return found, tuple(name for name, number in zip(found.rules, draw.numbers, strict=True) if number is None)


def derivatives(draw: Draw) -> Derivatives | None:
    """Return the derivatives of a draw in its array parameters; None if the library differentiates step by step."""

    def derivative(k: int, *arrays: Any) -> Any:
        return differentiated(draw, k, dtype_name(arrays[k]))((0,) * len(draw.whole), draw.whole, *arrays)

    if draw.make is independent:
        found, parameters = _of_arrays(draw)
        own = derivative if found.derivatives.keys() >= set(parameters) else None
        return Derivatives(f"the {found.name} distribution", parameters, own, set(parameters) <= set(found.linear))
    if draw.make is dirichlet:
        return Derivatives("Dirichlet's distribution", ("alpha",), derivative, simplex=True)
    if draw.make not in _WITHOUT:
        return None
    title, names = _WITHOUT[draw.make]
    named = names[sum(number is not None for number in draw.numbers) :]
    return Derivatives(title, (dict(draw.options)["name"],) if draw.make is outcomes else named)


def differentiated(draw: Draw, k: int, dtype: str) -> Draw:
    """Return the draw of the derivatives in the k-th parameter passed as a block, in the wider of the two dtypes."""
    wider = promote_types(draw.dtype, dtype) if dtype in LARGEST else draw.dtype
    if draw.make is dirichlet:
        return draw.changed(wider, in_shapes=True)
    return draw.changed(wider, differentiated_in=_of_arrays(draw)[1][k])
