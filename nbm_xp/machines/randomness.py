"""From scikit-learn's `random_state` to the streams of random numbers that a model draws from.

Any int is a seed, 0 and large ones too; generators of other libraries give one; None asks the operating system. Two
seeds give unrelated streams, and one seed gives several: one to train and sample with, one to score with, so that
looking at a model in training does not change what it becomes.
"""

from __future__ import annotations

import hashlib
import operator
import secrets
from typing import Any

import nbm_xp.natural_bm as B
from nbm_xp.tape import Length

__all__ = ["RowStreams", "entropy_of", "stream"]

_LARGEST = 2147462578  # the six words of a seed lie below the smaller modulus of MRG31k3p, and none is zero here


def entropy_of(random_state: Any) -> int:
    """A number that stands for a `random_state`.

    Parameters
    ----------
    random_state : int, None, or generator
        An int stands for itself. A generator, one with a method ``integers`` or ``randint`` as NumPy's have, is asked
        for a number, and so gives another one each time. None gives a number that nobody can foresee.

    Raises
    ------
    ValueError
        If it is a negative int.
    TypeError
        If it is something else.

    Examples
    --------
    >>> entropy_of(7)
    7
    """
    if random_state is None:
        return secrets.randbits(128)
    for method, bound in (("integers", 2**63 - 1), ("randint", 2**31 - 1)):
        if hasattr(random_state, method):
            return int(getattr(random_state, method)(bound))
    if isinstance(random_state, bool) or not hasattr(random_state, "__index__"):
        raise TypeError(f"random_state must be an int, None or a generator, got {type(random_state).__name__}")
    entropy = operator.index(random_state)
    if entropy < 0:
        raise ValueError(f"random_state must not be negative, got {entropy}")
    return entropy


def stream(entropy: int, purpose: str = "model") -> Any:
    """Random streams for one purpose, determined by a number.

    Parameters
    ----------
    entropy : int
        What `entropy_of` gave.
    purpose : str, optional
        Streams for different purposes have nothing to do with one another.

    Returns
    -------
    RandomStreams

    Examples
    --------
    >>> bool(stream(1).rstate[0] == stream(1).rstate[0])
    True
    >>> bool(stream(1).rstate[0] == stream(1, "score").rstate[0])
    False
    """
    digest = hashlib.sha256(f"nbm_xp {purpose} {entropy}".encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 24, 4)]
    return B.make_rng([word % _LARGEST + 1 for word in words])


class RowStreams:
    """Draws for as many rows as there are when they are made, of the numbers that draws for a known number have.

    How many streams a draw takes follows from its size. So formulas can be recorded for any number of rows, as plans
    that run block by block need them, and draw what those for `rows` of them do.

    Parameters
    ----------
    rng : RandomStreams
        Whose streams they are.
    rows : int
        How many rows there will be.

    Examples
    --------
    >>> import numpy as np
    >>> given = B.placeholder(shape=(None, 2), dtype="float64")
    >>> counted = RowStreams(stream(1), 20).uniform((given.shape[0], 2), dtype="float64")
    >>> known = stream(1).uniform((20, 2), dtype="float64")
    >>> bool((B.function([given], counted)(np.zeros((20, 2))) == known.eval()).all())
    True
    """

    def __init__(self, rng: Any, rows: int) -> None:
        self._rng, self._rows = rng, rows

    def uniform(self, size: Any, **options: Any) -> Any:
        """See `RandomStreams.uniform`."""
        return self._rng.uniform(size, nstreams=self._streams(size), **options)

    def binomial(self, size: Any, **options: Any) -> Any:
        """See `RandomStreams.binomial`."""
        return self._rng.binomial(size, nstreams=self._streams(size), **options)

    def normal(self, size: Any, **options: Any) -> Any:
        """See `RandomStreams.normal`, whose draws take the same number of streams whatever their size."""
        return self._rng.normal(size, **options)

    def _streams(self, size: Any) -> int:
        return int(self._rng.n_streams(tuple(self._rows if isinstance(each, Length) else each for each in size)))
