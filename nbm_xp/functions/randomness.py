"""Random draws as recorded values: drawn anew whenever they are computed, the same everywhere for the same seed.

The streams are those of `nbm_xp.rng.RandomStreams`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

from nbm_xp import tape
from nbm_xp.namespace import dtype_name, dtype_of, floatx
from nbm_xp.rng import RandomStreams, elementary, hashed_seed
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, Shape, floats, sizes
from .shaping import cast

__all__ = [
    "dropout", "make_rng", "random_binomial", "random_normal", "random_uniform", "rng_from", "truncated_normal",
]  # fmt: skip


def make_rng(seed: Any = None, *, draw: Callable[[int, int], int] = random.randrange) -> RandomStreams:
    """A generator of random streams.

    Parameters
    ----------
    seed : int or list of six ints, optional
        Where it starts. By default a number that is drawn.
    draw : callable
        What draws it, given the smallest and the one after the largest. By default Python's ``random`` module, so that
        ``random.seed`` decides.

    Returns
    -------
    RandomStreams

    Raises
    ------
    TypeError
        If `seed` is neither one integer nor six.
    ValueError
        If it is out of range.

    Examples
    --------
    >>> make_rng(1234).uniform((2,), dtype="float32").eval()
    array([0.37257108, 0.65768576], dtype=float32)
    """
    return RandomStreams(seed=draw(1, 10**7) if seed is None else seed)


def rng_from(seed: int) -> RandomStreams:
    """A generator from any integer, which is hashed, so that near ones have nothing in common.

    Parameters
    ----------
    seed : int
        Where it starts: 0 and negative numbers too.

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
    """Numbers drawn evenly from an interval.

    Parameters
    ----------
    shape : sequence of int
        How many.
    minval, maxval : number or array
        The interval, bounds excluded; of integers, `minval` is included.
    dtype : str, optional
        Their dtype, ``floatx`` by default. Integers are the floating numbers rounded down.
    rng : RandomStreams, optional
        Where from, by default a new generator with a seed of its own.

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
    """Numbers drawn from a normal distribution.

    Parameters
    ----------
    shape : sequence of int
        How many.
    mean, stddev : number or array
        The distribution's mean and standard deviation.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    rng : RandomStreams, optional
        Where from, by default a new generator with a seed of its own.

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
    """Ones with a probability, else zeros.

    Parameters
    ----------
    shape : sequence of int
        How many.
    p : number or array
        The probability of a one, everywhere or element by element.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    rng : RandomStreams, optional
        Where from, by default a new generator with a seed of its own.

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
    """Numbers drawn from a normal distribution, less what lies beyond two standard deviations.

    Parameters
    ----------
    shape : sequence of int
        How many.
    mean, stddev : float
        The mean and standard deviation of the normal distribution.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    rng : RandomStreams, optional
        Where from, by default a new generator with a seed of its own.

    Returns
    -------
    Tensor
        Each number is made of one uniform by the inverse of the distribution, so nothing is drawn twice.

    Examples
    --------
    >>> drawn = truncated_normal((1000,), rng=make_rng(1)).eval()
    >>> bool((abs(drawn) <= 2).all())
    True
    """
    u = _rng(rng).uniform(sizes(shape), dtype=floatx() if dtype is None else dtype)
    if u.dtype != "float16":
        return elementary.truncated_normal(u) * stddev + mean
    drawn = elementary.truncated_normal(cast(u, "float32"))  # whose polynomials overflow at 65504
    return cast(drawn, "float16") * stddev + mean


def dropout(
    x: Array,
    level: float,
    noise_shape: Any = None,
    rng: RandomStreams | Callable[[], RandomStreams] | None = None,
    *,
    kept: Literal["high", "low"] = "high",
) -> Any:
    """Zeros in random places, with what is left scaled up so that the expectation stays.

    Parameters
    ----------
    x : array
        Integers become floating point.
    level : float
        The share of zeros, from 0 to less than 1.
    noise_shape : sequence of int or None, optional
        The shape in which zeros are drawn, which broadcasts to that of `x`; None for a length as in `x`.
    rng : RandomStreams, or callable that makes one, optional
        Where from, by default a new generator with a seed of its own. None is made where the arguments are refused.
    kept : {"high", "low"}
        Which draws keep an element: the high ones, as in TensorFlow, or the low ones, as in Theano.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Raises
    ------
    ValueError
        If `level` is not in that range, or `noise_shape` has another number of axes.

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
