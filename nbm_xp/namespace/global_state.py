"""What NumPy's own random numbers are asked for: seeds from its global state, and seeds hashed.

Models of the time before generators draw their seeds from the global state; generators of today hash theirs.
"""

from __future__ import annotations

import numpy as np

__all__ = ["global_integer", "hashed_words"]


def global_integer(low: int, high: int) -> int:
    """Draw an integer from NumPy's global state, so that `numpy.random.seed` decides.

    Parameters
    ----------
    low, high : int
        The smallest one, and the one after the largest.

    Returns
    -------
    int

    Notes
    -----
    NumPy keeps what this state draws from a seed the same in all its releases.

    Examples
    --------
    >>> np.random.seed(1)
    >>> global_integer(1, 10**7)
    4686060
    """
    return int(np.random.randint(low, high))  # noqa: NPY002 - the old state is what it is about


def hashed_words(entropy: int, count: int) -> list[int]:
    """Hash an integer as NumPy's generators hash their seeds, so that near ones have nothing in common.

    Parameters
    ----------
    entropy : int
        0 or more, of any size.
    count : int
        How many words.

    Returns
    -------
    list of ints
        Each of 64 bits: what ``numpy.random.SeedSequence(entropy)`` generates.

    Notes
    -----
    NumPy keeps what this hash gives the same in all its releases.

    Examples
    --------
    >>> hashed_words(0, 1), hashed_words(1, 1)
    ([15793235383387715774], [7434755675892716031])
    """
    words: list[int] = np.random.SeedSequence(entropy).generate_state(count, np.uint64).tolist()
    return words
