"""Random draws as recorded values: drawn anew whenever they are computed, the same everywhere for the same seed.

The streams are those of `nbm_xp.rng.RandomStreams`.
"""

from __future__ import annotations

import random
from typing import Any

from nbm_xp.namespace import floatx
from nbm_xp.rng import RandomStreams

from ._arguments import Array, Shape, sizes

__all__ = ["make_rng", "random_binomial", "random_normal", "random_uniform"]


def make_rng(seed: Any = None) -> RandomStreams:
    """A generator of random streams.

    Parameters
    ----------
    seed : int or list of six ints, optional
        Where it starts. By default a number from Python's ``random`` module, so that ``random.seed`` decides.

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
    return RandomStreams(seed=random.randint(1, 10**7) if seed is None else seed)


def random_uniform(
    shape: Shape, minval: Array = 0.0, maxval: Array = 1.0, dtype: Any = None, rng: RandomStreams | None = None
) -> Any:
    """Numbers drawn evenly from an interval.

    Parameters
    ----------
    shape : sequence of int
        How many.
    minval, maxval : number or array
        The interval, bounds excluded.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
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
    return _rng(rng).uniform(sizes(shape), low=minval, high=maxval, dtype=dtype or floatx())


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
    return _rng(rng).normal(sizes(shape), avg=mean, std=stddev, dtype=dtype or floatx())


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
    return _rng(rng).binomial(sizes(shape), p=p, dtype=dtype or floatx())


def _rng(rng: RandomStreams | None) -> RandomStreams:
    return make_rng() if rng is None else rng
