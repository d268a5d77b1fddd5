"""Seeds from NumPy's global state, from which models of the time before generators draw them."""

from __future__ import annotations

import numpy as np

__all__ = ["global_integer"]


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
