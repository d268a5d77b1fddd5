"""Equally probable integers, outcomes with given probabilities, random orders, sums of ones and zeros.

Contract: draws are exact. Integers come from whole outputs of the recurrence, with the remaining ones rejected;
probabilities are rounded once to multiples of 2**-52 and added as integers, whose sums do not depend on the order of
addition; orders come from 62-bit keys, sorted stably.

References
----------
.. [1] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997, section 3.4.1, for the methods of
   rejection and of inversion, and 3.4.2 for random orders.
.. [2] P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters
   97 (2006), 181-185, for an order by exponential numbers over probabilities.
"""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import Any, Final

from nbm_xp.namespace import array_namespace, asarray, dtype_of, is_array
from nbm_xp.namespace.elementary import log
from nbm_xp.namespace.kernels import kernel
from nbm_xp.namespace.mrg31k3p.integers import M1

from ..draws import by_kernel, less
from ..rules import PROBABILITY, TRIALS, Rule, interval, require, require_enough, require_held, require_weights
from ..tasks import Draw, ElementUniforms, of_block
from ..uniforms import Shape
from .counts import binomial
from .sampling import any_of, either, until_accepted

_ONE: Final = 2**52  # probability 1 as an integer
_LEAST: Final = 2.0**-1000  # smallest probability used, to keep exponential keys finite

_FEW: Final = 1000  # keys, whose stable order takes less time than looking for equal ones

# Number of values of two outputs of the recurrence.
SPAN_OF_TWO: Final = M1 * M1


def _integer(xp: Any, u: Any) -> Any:
    """Return the output of the recurrence that gave a uniform, less 1."""
    return xp.astype(u * 2.0**31, dtype_of(xp, "int64")) - 1


def integers(uniforms: ElementUniforms, low: Any, span: Any) -> Any:
    """Return equally probable integers from `low` to ``low + span - 1``."""
    xp = array_namespace(low, span)
    short = span <= M1
    return either(
        xp,
        short,
        lambda: _digits(uniforms, 1, low, xp.where(short, span, 1)),
        lambda: _digits(uniforms, 2, low, xp.where(short, 1, span)),
    )


def _hardly_rejected(span: int, n: int) -> bool:
    """Whether among `n` outputs hardly any is expected to be rejected.

    Examples
    --------
    >>> _hardly_rejected(6, 10**7), _hardly_rejected(10**6, 10**7)
    (True, False)
    """
    return span <= M1 and 20 * n * (M1 % span) <= M1


def _digits(uniforms: ElementUniforms, outputs: int, low: Any, span: Any) -> Any:
    """Return integers from `low` on, each made of `outputs` outputs of the recurrence."""
    xp = uniforms.xp

    def attempt(*u_low_and_span: Any) -> tuple[Any, Any]:
        *u, low, span = u_low_and_span
        z = reduce(lambda z, v: z * M1 + _integer(xp, v), u[1:], _integer(xp, u[0]))
        return _digit(z, low, span, M1**outputs)

    own = "digits" if outputs == 1 else "digits_of_two"
    return until_accepted(uniforms, outputs, attempt, low, span, own=own)


def _digit(z: Any, low: Any, span: Any, values: int) -> tuple[Any, Any]:
    return low + z % span, z < values - values % span


def _wide_integers(uniforms: ElementUniforms, low: int, span: int) -> Any:
    """Return integers as `integers` does, for one span over `SPAN_OF_TWO` and up to 2**64."""
    xp = uniforms.xp
    start = (low + 2**63 + 2**63) % 2**64 - 2**63  # of the smallest value, -2**63, and wrapped around

    def attempt(u: Any, v: Any, w: Any, start: Any, last: Any) -> tuple[Any, Any]:
        value, fits = xp.zeros_like(u, dtype=dtype_of(xp, "int64")), u > 0.0
        for uniform, bits in ((u, 22), (v, 21), (w, 21)):
            value, right = _digit(_integer(xp, uniform), value << bits, 2**bits, M1)
            fits = fits & right
        return value + start, fits & (value <= last)

    bounds = (asarray([bound], xp, "int64") for bound in (start, span - 2**63 - 1))
    return until_accepted(uniforms, 3, attempt, *bounds, own="wide_integers")


def _levels(p: Any) -> Any:
    """Return the cumulative sums of probabilities along the last axis, in units of 2**-52.

    Examples
    --------
    >>> import numpy as np
    >>> (_levels(np.asarray([0.25, 0.75])) / _ONE).tolist()
    [0.25, 1.0]
    """
    xp = array_namespace(p)
    return xp.cumulative_sum(xp.astype(xp.round(p * float(_ONE)), dtype_of(xp, "int64")), axis=-1)


def _outcome(uniforms: ElementUniforms, sums: Any) -> Any:
    """Return outcomes for cumulative sums of probabilities."""
    xp = array_namespace(sums)
    u = uniforms.fine(0)
    total = sums[..., -1]
    level = xp.astype(u * xp.astype(total, u.dtype), sums.dtype)
    level = xp.minimum(level, total - 1)
    if sums.ndim == 1:
        return xp.astype(xp.searchsorted(sums, level, side="right"), sums.dtype)
    return xp.sum(xp.astype(sums <= level[:, None], sums.dtype), axis=-1)


def _order_keys(uniforms: ElementUniforms) -> Any:
    """Return int64 keys of 62 bits, whose sorting gives a random order."""
    return _integer(uniforms.xp, uniforms.uniform(0)) * M1 + _integer(uniforms.xp, uniforms.uniform(1))


def _order_of(uniforms: ElementUniforms, p: Any = None) -> Any:
    """Return the elements in random order, weighted by `p` if given."""
    xp = uniforms.xp
    if p is None:
        key = _order_keys(uniforms)
    else:
        some = p > 0.0
        waiting = -log(uniforms.fine(0))
        key = xp.where(some, waiting / xp.where(some, xp.maximum(p, _LEAST), 1.0), xp.inf)
    return xp.astype(_stable_order(xp, key), dtype_of(xp, "int64"))


def _stable_order(xp: Any, key: Any) -> Any:
    """Return the stable order of keys that are almost all different: of many, unstably first, which is much faster."""
    if key.shape[0] <= _FEW:
        return xp.argsort(key, stable=True)
    order = xp.argsort(key, stable=False)
    ascending = xp.take(key, order, axis=0)
    return xp.argsort(key, stable=True) if any_of(xp, ascending[1:] == ascending[:-1]) else order


_SPAN: Final = interval("more than 0 and at most (2**31 - 1)**2 where a bound is an array", 1, SPAN_OF_TWO)


def require_bounds(low: Any, span: Any, bounds: Rule) -> None:
    """Raise an error for bounds of integers, at least one of them an array, with an empty or too large range."""
    require("low", low, bounds)
    require("high - low", span, _SPAN)


def integers_of_draw(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, bounds: Rule | None) -> Any:
    """Compute a block of integers from the lower bound, which is included, and the number of values."""
    uniforms, (low, span) = draw.uniforms(offset, shape), draw.numbers
    sample, columns = integers, []
    if span is not None and span > SPAN_OF_TWO:
        sample = partial(_wide_integers, low=low, span=span)
    else:
        own = kernel("rng.whole_digits", draw.library)
        if own is not None and not blocks and uniforms.is_whole and _hardly_rejected(span, uniforms.n):
            drawn = own(uniforms.states(), uniforms.n, low, span, draw.dtype, draw.threads)
            if drawn is not None:
                return draw.xp.reshape(drawn, shape)
        low, span = columns = draw.columns(shape, blocks, "int64")
        if bounds is not None:
            require_bounds(low, span, bounds)
    at_once = draw.dtype == "int64" and draw.threads == 1
    return draw.finished(sample(uniforms, *columns) if at_once else draw.sampled(sample, uniforms, *columns), shape)


def outcomes(draw: Draw, offset: Shape, shape: Shape, p: Any, *, name: str) -> Any:
    """Compute a block of outcomes with probabilities `p`, a whole array of one row, or of a row for each element."""
    xp = draw.xp
    require_weights(name, p)
    p = xp.astype(p, dtype_of(xp, "float64"))
    if p.ndim > 1:
        p = xp.broadcast_to(p, (*draw.whole, p.shape[-1]))[(*_spans(offset, shape), slice(None))]
        p = xp.reshape(p, (-1, p.shape[-1]))
    return draw.finished(_outcome(draw.uniforms(offset, shape), _levels(p)), shape)


def _spans(offset: Shape, shape: Shape) -> tuple[slice, ...]:
    """Return the index of a block in the whole array."""
    return tuple(slice(begin, begin + length) for begin, length in zip(offset, shape, strict=True))


def multinomial(draw: Draw, offset: Shape, shape: Shape, *blocks: Any) -> Any:
    """Compute a block with all outcomes along the last axis: each count is binomial, given the counts before it."""
    xp, rows, count, (n, p) = draw.xp, shape[:-1], shape[-1], draw.given(blocks)
    require_weights("pvals", p)
    uniforms, double = draw.uniforms(offset, shape, 1), dtype_of(xp, "float64")
    left = n[..., 0] if is_array(n) else asarray(n, xp, "float64")
    if is_array(n):
        require("n", left, TRIALS)
    left = xp.reshape(xp.broadcast_to(xp.astype(left, double), rows), (-1,))
    p = xp.reshape(xp.broadcast_to(xp.astype(p, double), shape), (-1, count))
    sums = xp.astype(_levels(p), double)
    counts, over = [], sums[:, -1]
    for k in range(count - 1):
        own = sums[:, k] - (sums[:, k - 1] if k else 0.0)
        share = xp.where(over > 0.0, own / xp.where(over > 0.0, over, 1.0), 0.0)
        counts.append(binomial(uniforms.every(k, count), left, xp.minimum(share, 1.0)))
        left, over = left - counts[-1], over - own
    together = xp.stack([*counts, left], axis=-1)
    require_held(together, draw.dtype)
    return draw.finished(together, shape)


def random_order(
    draw: Draw, offset: Shape, shape: Shape, *arrays: Any, population: int, axis: int | None = None
) -> Any:
    """Compute a block of a random order of a population, or of its beginning; or of an array's entries in that order.

    `axis` is the axis of the array along which the entries lie. If None, the result consists of integers from 0 on, and
    an array holds their probabilities.
    """
    xp = draw.xp
    assert draw.state is not None
    uniforms, p = of_block(draw.state, (population,), (0,), (population,), draw.library), None
    if axis is not None:
        found = _order_of(uniforms)[offset[axis] : offset[axis] + shape[axis]]
        return xp.take(arrays[0], found, axis=axis)
    if arrays:
        require_weights("p", arrays[0])
        require_enough(population, math.prod(draw.whole), arrays[0])
        p = xp.astype(arrays[0], dtype_of(xp, "float64"))
    found = xp.reshape(_order_of(uniforms, p)[: math.prod(draw.whole)], draw.whole)
    return xp.astype(found[_spans(offset, shape)] if shape else found, dtype_of(xp, draw.dtype))


def order_of_rows(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, axis: int) -> Any:
    """Compute a block, whole along `axis`, of entries in random order along it, or of the order itself."""
    xp = draw.xp
    keys = xp.reshape(_order_keys(draw.uniforms(offset, shape)), shape)
    found = xp.astype(xp.argsort(keys, axis=axis, stable=True), dtype_of(xp, "int64"))
    return xp.take_along_axis(blocks[0], found, axis=axis) if blocks else found


def successes(draw: Draw, offset: Shape, shape: Shape, *blocks: Any, count: int, precision: str) -> Any:
    """Compute a block of the numbers of uniforms of each element, of `count`, below a probability in `precision`."""
    xp, (p,) = draw.xp, draw.given(blocks)
    kind = "int64" if draw.dtype == "bool" and count > 1 else draw.dtype
    uniforms, total = draw.uniforms(offset, shape), xp.zeros(shape, dtype=dtype_of(xp, kind))
    for output in range(count):
        found = None
        if uniforms.is_whole:
            found = by_kernel(xp, uniforms.states_at(output), p, shape, kind, precision, draw.threads)
        if found is not None:
            sample, _, wrong = found
        else:
            sample, wrong = less(xp, xp.reshape(uniforms.drawn(precision, output), shape), p, kind), None
        if not output and is_array(p) and wrong != 0:  # a kernel found invalid values, or did not check
            require("p", p, PROBABILITY)
        total = xp.asarray(total + sample) if output else sample  # NumPy's sum of arrays without axes is a scalar
    return xp.asarray(total, dtype=dtype_of(xp, draw.dtype))
