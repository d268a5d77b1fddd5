"""Random numbers as recorded values, drawn anew whenever they are computed; a seed gives the same numbers everywhere.

The generators are `nbm_xp.rng.RandomStreams`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

from nbm_xp import tape
from nbm_xp.namespace import dtype_name, dtype_of, elementary, floatx
from nbm_xp.rng import RandomStreams, hashed_seed
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, Shape, floats, sizes
from .shaping import cast

__all__ = [
    "dropout", "make_rng", "random_binomial", "random_normal", "random_uniform", "rng_from", "truncated_normal",
]  # fmt: skip


def make_rng(seed: Any = None, *, draw: Callable[[int, int], int] = random.randrange) -> RandomStreams:
    """Create a generator of random streams.

    Parameters
    ----------
    seed : int or list of six ints, optional
        Seed. Defaults to a random number from `draw`.
    draw : callable
        Function ``draw(start, stop)`` for the default seed. Defaults to Python's ``random.randrange``, so that
        ``random.seed`` determines the seed.

    Returns
    -------
    RandomStreams

    Raises
    ------
    TypeError
        If `seed` is neither one integer nor six integers.
    ValueError
        If `seed` is out of range.

    Examples
    --------
    >>> make_rng(1234).uniform((2,), dtype="float32").eval()
    array([0.37257108, 0.65768576], dtype=float32)
    """
    return RandomStreams(seed=draw(1, 10**7) if seed is None else seed)


def rng_from(seed: int) -> RandomStreams:
    """Create a generator from the hash of any integer, so that similar seeds give unrelated streams.

    Parameters
    ----------
    seed : int
        Seed; may be 0 or negative.

    Returns
    -------
    RandomStreams

    Examples
    --------
    >>> from nbm_xp.rng import Generator
    >>> rng_from(1).rstate.tolist() == list(Generator(1).state[:6])
    True
    """
    return make_rng(hashed_seed(int(seed) % 2**64))


def random_uniform(
    shape: Shape, minval: Array = 0.0, maxval: Array = 1.0, dtype: Any = None, rng: RandomStreams | None = None
) -> Any:
    """Draw numbers from a uniform distribution.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    minval, maxval : number or array
        Bounds of the interval, both excluded; for integers, `minval` is included.
    dtype : str, optional
        Dtype. Defaults to ``floatx``. Integers are floating-point draws rounded down.
    rng : RandomStreams, optional
        Generator. Defaults to a new one with a random seed.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_uniform((3,), rng=make_rng(1)).shape
    (3,)
    """
    name = dtype_name(floatx() if dtype is None else dtype)
    if name[0] == "f":
        return _rng(rng).uniform(sizes(shape), low=minval, high=maxval, dtype=name)
    drawn = _rng(rng).uniform(sizes(shape), low=minval, high=maxval, dtype="float64")
    return recorded.astype(recorded.floor(drawn), dtype_of(recorded, name))


def random_normal(
    shape: Shape, mean: Array = 0.0, stddev: Array = 1.0, dtype: Any = None, rng: RandomStreams | None = None
) -> Any:
    """Draw numbers from a normal distribution.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    mean, stddev : number or array
        Mean and standard deviation.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    rng : RandomStreams, optional
        Generator. Defaults to a new one with a random seed.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_normal((3,), rng=make_rng(1)).shape
    (3,)
    """
    return _rng(rng).normal(sizes(shape), avg=mean, std=stddev, dtype=floatx() if dtype is None else dtype)


def random_binomial(shape: Shape, p: Array = 0.0, dtype: Any = None, rng: RandomStreams | None = None) -> Any:
    """Draw ones with a given probability, else zeros.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    p : number or array
        Probability of a one: one for all elements, or one for each.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    rng : RandomStreams, optional
        Generator. Defaults to a new one with a random seed.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_binomial((3,), p=0.5, rng=make_rng(1)).shape
    (3,)
    """
    return _rng(rng).binomial(sizes(shape), p=p, dtype=floatx() if dtype is None else dtype)


def truncated_normal(
    shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, rng: RandomStreams | None = None
) -> Any:
    """Draw numbers from a normal distribution truncated at two standard deviations.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    mean, stddev : float
        Mean and standard deviation before truncation.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    rng : RandomStreams, optional
        Generator. Defaults to a new one with a random seed.

    Returns
    -------
    Tensor
        Each number is the inverse distribution function of one uniform number; there is no rejection.

    Examples
    --------
    >>> drawn = truncated_normal((1000,), rng=make_rng(1)).eval()
    >>> bool((abs(drawn) <= 2).all())
    True
    """
    u = _rng(rng).uniform(sizes(shape), dtype=floatx() if dtype is None else dtype)
    if u.dtype != "float16":
        return elementary.truncated_normal(u) * stddev + mean
    drawn = elementary.truncated_normal(cast(u, "float32"))  # float16 overflows at 65504 in the polynomials
    return cast(drawn, "float16") * stddev + mean


def dropout(
    x: Array,
    level: float,
    noise_shape: Any = None,
    rng: RandomStreams | Callable[[], RandomStreams] | None = None,
    *,
    kept: Literal["high", "low"] = "high",
) -> Any:
    """Set random elements to 0, and scale the others up so that the expectation is kept.

    Parameters
    ----------
    x : array
        Integers become floating point.
    level : float
        Fraction of elements to set to 0, from 0 to less than 1.
    noise_shape : sequence of int or None, optional
        Shape of the random mask, which broadcasts to the shape of `x`; None for a length as in `x`.
    rng : RandomStreams, or callable that makes one, optional
        Generator. Defaults to a new one with a random seed. A callable is called only if the other arguments are valid.
    kept : {"high", "low"}
        Whether uniform draws of at least `level` keep an element, as in TensorFlow, or draws below ``1 - level``, as in
        Theano.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Raises
    ------
    ValueError
        If `level` is out of range, or `noise_shape` has another number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(set(dropout(np.ones(100), 0.75, rng=make_rng(1)).eval().tolist()))
    [0.0, 4.0]
    """
    if not 0 <= level < 1:
        raise ValueError(f"level must be from 0 to less than 1, got {level}")
    x = tape.as_tensor(floats(x)[1])
    lengths = x.shape if noise_shape is None else tuple(noise_shape)
    if len(lengths) != x.ndim:
        raise ValueError(f"noise_shape must have {x.ndim} lengths, as x has, got {noise_shape}")
    rng = rng() if callable(rng) else _rng(rng)
    if not level:
        return x
    shape = tuple(own if length is None else length for length, own in zip(lengths, x.shape, strict=True))
    drawn = rng.uniform(sizes(shape), dtype="float32")
    keeps = drawn >= level if kept == "high" else drawn < 1.0 - level
    return recorded.where(keeps, x / (1.0 - level), 0.0)


def _rng(rng: RandomStreams | None) -> RandomStreams:
    return make_rng() if rng is None else rng
