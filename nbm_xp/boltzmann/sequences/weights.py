"""How much each sequence of a family counts: those that are almost the same share a vote.

Databases have some branches of a family a hundredfold and others once; what counts is how different sequences are.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import array_namespace

from .counting import checked_states, one_hot

__all__ = ["sequence_weights"]


def sequence_weights(states: Any, identity: float = 0.8, *, n_states: int | None = None, block: int = 1024) -> Any:
    """One over the number of sequences that are the same at so many sites, each sequence itself included.

    Parameters
    ----------
    states : array of shape (sequences, sites)
        Whole numbers from 0.
    identity : float, optional
        The share of sites, gaps among them, at which two sequences must agree to count as one.
    n_states : int, optional
        How many states a site has; by default one more than the largest number.
    block : int, optional
        Sequences that are compared with as many others at a time: memory is in proportion to its square, and never to
        that of their number.

    Returns
    -------
    array of shape (sequences,), of float32
        Its sum is the effective number of sequences.

    Raises
    ------
    ValueError
        If an argument is not what it must be.

    References
    ----------
    F. Morcos et al., "Direct-coupling analysis of residue coevolution captures native contacts across many protein
    families", PNAS 108 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> sequence_weights(np.asarray([[0, 1, 2, 3, 4], [0, 1, 2, 3, 3], [4, 4, 4, 4, 4]]))
    array([0.5, 0.5, 1. ], dtype=float32)
    """
    states, count = checked_states(states, n_states)
    if isinstance(identity, bool) or not hasattr(identity, "__float__") or not 0 < identity <= 1:
        raise ValueError(f"identity must be a number above 0, at most 1, got {identity!r}")
    size = positive_int(block, "block")
    length, sites = states.shape
    least = math.ceil(identity * sites - 1e-9)
    starts = range(0, length, size)
    parts = [states[start : min(start + size, length), :] for start in starts]
    near: list[Any] = [0.0] * len(parts)
    for i, part in enumerate(parts):
        ours = one_hot(part, count)
        for j, other in itertools.islice(enumerate(parts), i, None):
            theirs = ours if i == j else one_hot(other, count)
            close = B.cast(ours @ theirs.T >= least, "float32")
            near[i] = near[i] + B.sum(close, axis=1)
            if i != j:
                near[j] = near[j] + B.sum(close, axis=0)
    return 1.0 / array_namespace(states).concat(near)
