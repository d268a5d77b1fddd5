"""Functions of exponentials that must not overflow: sigmoid, softplus, logarithms of sums and differences.

Each has a defined answer, without warnings, at any finite element whose differences are finite, at both infinities and
for no elements, in value and gradient. Where the parts would be differentiated into an overflow or into many steps, the
gradient is a rule of its own, itself made of such functions, so that second derivatives are as good.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, dtype_name, has_blocks, kept_by_type
from nbm_xp.namespace.errors import FAILURES, reraise
from nbm_xp.namespace.exponentials import kernel, sigmoid_for
from nbm_xp.tape import Memory, composite, is_tensor

from ._arguments import Array, Axis, axes, floats, of_floats, spread

__all__ = ["logdiffexp", "logsumexp", "sigmoid", "softplus"]


def sigmoid(x: Array) -> Array:
    """Logistic sigmoid, ``1 / (1 + exp(-x))``.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        Values from 0 to 1, with a small relative error in the whole range: exactly 0 only where ``exp(x)`` is.

    Notes
    -----
    Computed as ``e / (1 + e)`` with ``e = exp(min(x, 40))``: one exponential, no overflow, no branch. Half of
    ``1 + tanh(x / 2)`` is a little faster, but all of its digits cancel below -17 in float32, and with them the
    logarithm of the result and the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.asarray([-np.inf, 0.0, 1e4]))
    array([0. , 0.5, 1. ])
    """
    try:
        try:
            of = _sigmoids[type(x)][x.dtype]
        except KeyError:
            xp, x = floats(x)
            of = tape.sigmoid if is_tensor(x) else sigmoid_for(xp, dtype_name(x))
            if not has_blocks(x):
                _sigmoids.setdefault(type(x), {})[x.dtype] = of
        return of(x)
    except FAILURES as error:
        reraise(error)


_sigmoids: dict[type, dict[Any, Callable[[Array], Array]]] = kept_by_type()
"""By type of array and dtype object: another call to find the namespace would cost as much as the sigmoid does."""


def softplus(x: Array) -> Array:
    """Smooth rectifier, ``log(1 + exp(x))``.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        0 at -inf, `x` itself where it is large; the gradient is `sigmoid`.

    Examples
    --------
    >>> import numpy as np
    >>> softplus(np.asarray([-1e4, 1e4, np.inf]))
    array([    0., 10000.,    inf])
    """
    try:
        return tape.softplus(x if of_floats(x) else floats(x)[1])
    except FAILURES as error:
        reraise(error)


def logsumexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Logarithm of the sum of exponentials, without computing exponentials that overflow.

    Parameters
    ----------
    x : array
        Logarithms of what to add up; integers become floating point.
    axis : int or sequence of int, optional
        The axes to reduce, by default all.
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Returns
    -------
    array
        -inf for nothing but -inf, or no elements; inf if there is an inf. The gradient is the softmax; infinite
        elements that decide the result share it equally.

    Examples
    --------
    >>> import numpy as np
    >>> logsumexp(np.asarray([[1000.0, 1000.0], [-np.inf, -np.inf]]), axis=1)
    array([1000.69314718,          -inf])
    """
    return _logsumexp(x if of_floats(x) else floats(x)[1], axis=axes(axis), keepdims=keepdims)


def _softmax_of_sum(g: Array, out: Array, x: Array, *, axis: Axis, keepdims: bool) -> Array:
    xp = array_namespace(g)
    out, g = spread(out, x, axis, keepdims), spread(g, x, axis, keepdims)
    same = x == out  # both may be infinite, and then have no difference
    weights = xp.exp(xp.where(same, 0.0, x - xp.where(same, 0.0, out)))
    total = xp.sum(weights, axis=axis, keepdims=True)
    return weights * (g / xp.where(total > 0, total, 1.0))


@composite(gradient=_softmax_of_sum, along_axes=True, name="logsumexp", memory=Memory.OWN)
def _logsumexp(x: Array, *, axis: Axis, keepdims: bool) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return xp.sum(x, axis=axis, keepdims=keepdims) - math.inf
    own = None if keepdims else kernel("exponentials.logsumexp", xp)
    made = None if own is None else own(x, axis)
    if made is not None:
        return made
    largest = xp.max(x, axis=axis, keepdims=True)
    finite = xp.isfinite(largest)
    below = xp.minimum(x - xp.where(finite, largest, 0.0), 0.0)
    total = xp.where(finite, xp.sum(xp.exp(below), axis=axis, keepdims=True), 1.0)
    out = largest + xp.log(total)
    return out if keepdims else xp.squeeze(out, axis=_each(axis, x.ndim))


def _each(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(axis) if isinstance(axis, Sequence) else (axis,)


def logdiffexp(x: Array, axis: int = -1) -> Array:
    """Logarithm of the difference of the exponentials of neighbours, without computing exponentials that overflow.

    Parameters
    ----------
    x : array
        Logarithms; integers become floating point.
    axis : int
        The axis whose neighbours are subtracted, the earlier from the later.

    Returns
    -------
    array
        One shorter along `axis`: -inf between equal neighbours, nan where the earlier is larger; the gradient of these
        is 0.

    Examples
    --------
    >>> import numpy as np
    >>> logdiffexp(np.asarray([1000.0, 1001.0, 1001.0]))
    array([1000.54132485,          -inf])
    """
    xp, x = floats(x)
    place = operator.index(axis)
    if not -x.ndim <= place < x.ndim:
        raise ValueError(f"axis must be from {-x.ndim} to {x.ndim - 1} for an array of {x.ndim} axes, got {axis}")
    head = (slice(None),) * (place % x.ndim)
    earlier, later = x[(*head, slice(None, -1))], x[(*head, slice(1, None))]
    same = earlier == later  # both may be infinite, and then have no difference
    step = xp.where(same, 0.0, earlier) - xp.where(same, 0.0, later)
    rises = step < 0
    value = later + xp.log(-xp.expm1(xp.where(rises, step, -1.0)))
    other = xp.where(same & (later < math.inf), -math.inf, xp.full_like(later, math.nan))
    return xp.where(rises, value, other)
