"""MRG31k3p in exact integers: its constants and its jumps.

Contract: every number here is a Python integer, so nothing can overflow, no array library is
needed, and the jumps of 2**72 and 2**134 steps are exact. The generator is two linear recurrences of order three,

    x[n] = (2**22 x[n-2] + (2**7 + 1) x[n-3])          mod M1 = 2**31 - 1
    y[n] = (2**15 y[n-1] + (2**15 + 1) y[n-3])         mod M2 = 2**31 - 21069
    z[n] = (x[n] - y[n]) mod M1, with M1 in place of 0

so its state is six integers ``(x[n-1], x[n-2], x[n-3], y[n-1], y[n-2], y[n-3])``, one step is a 3 by 3 matrix for each
half, and ``k`` steps are that matrix to the power ``k``.

References
----------
.. [1] P. L'Ecuyer and R. Touzin, "Fast combined multiple recursive generators with multipliers of the form
   a = ±2^q ± 2^r", Proceedings of the 2000 Winter Simulation Conference, 683-689.
.. [2] Theano documentation, ``theano.sandbox.rng_mrg``, for the layout of the streams.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

M1: Final = 2**31 - 1
M2: Final = 2**31 - 21069

# Six ints.
State: TypeAlias = tuple[int, ...]
# A state of six ints, or of six arrays without axes whose values a compiler follows.
Followed: TypeAlias = tuple[Any, ...]

Matrix: TypeAlias = tuple[tuple[int, ...], ...]
Transition: TypeAlias = tuple[Matrix, Matrix]

ONE_STEP: Final[Transition] = (
    ((0, 2**22, 2**7 + 1), (1, 0, 0), (0, 1, 0)),
    ((2**15, 0, 2**15 + 1), (1, 0, 0), (0, 1, 0)),
)

# Steps from the start of one stream to the start of the next.
STREAM_STEPS: Final = 2**72

# Steps from one output of an element of a `Generator`'s draw to its next output, in the same stream.
OUTPUT_STEPS: Final = 2**56

# Steps from the first stream of one draw of `RandomStreams` to the first stream of its next draw.
DRAW_STEPS: Final = 2**134

# The largest number of streams that a draw takes by default.
MAX_STREAMS: Final = 60 * 256


def _product(a: Matrix, b: Matrix, modulus: int) -> Matrix:
    """Multiply two 3 by 3 matrices modulo `modulus`."""
    columns = tuple(zip(*b, strict=True))
    return tuple(tuple((p * x + q * y + r * z) % modulus for x, y, z in columns) for p, q, r in a)


def _power(matrix: Matrix, exponent: int, modulus: int) -> Matrix:
    """Raise a 3 by 3 matrix to a power modulo `modulus`, by squaring."""
    result: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    while exponent:
        if exponent & 1:
            result = _product(result, matrix, modulus)
        matrix = _product(matrix, matrix, modulus)
        exponent >>= 1
    return result


@lru_cache(maxsize=1024)
def transition(steps: int) -> Transition:
    """Return the two matrices that advance a state by `steps` steps.

    Parameters
    ----------
    steps : int
        Number of steps, 0 or more, of any size.

    Returns
    -------
    tuple of two matrices
        For the first and for the second half of a state, with entries in ``[0, M1)`` and ``[0, M2)``.

    Examples
    --------
    >>> transition(1) == ONE_STEP
    True
    >>> transition(0)[0]
    ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    """
    if steps < 0:
        raise ValueError(f"steps must be zero or more, got {steps}")
    return _power(ONE_STEP[0], steps, M1), _power(ONE_STEP[1], steps, M2)


def row_of(steps: int, output: int = 0) -> tuple[int, ...]:
    """Return the first rows of both matrices of ``steps + output * OUTPUT_STEPS`` steps, six numbers.

    Examples
    --------
    >>> row_of(1)
    (0, 4194304, 129, 32768, 0, 32769)
    """
    halves = zip(transition(steps), transition(output * OUTPUT_STEPS), (M1, M2), strict=True)
    first, second = (_product(near[:1], far, modulus)[0] for near, far, modulus in halves)
    return (*first, *second)


def centred(matrices: Transition, *, transpose: bool = False) -> Transition:
    """Write the entries of two transition matrices as residues nearest to zero.

    Such an entry is below 2**30 in size, so a row of three times a state, 3 * 2**30 * 2**31 at most, fits a signed
    64-bit integer and needs one remainder instead of three.

    Parameters
    ----------
    matrices : tuple of two matrices
        Matrices of `transition`.
    transpose : bool
        Whether to transpose both, for applying them to row vectors.

    Returns
    -------
    tuple of two matrices

    Examples
    --------
    >>> centred((((M1 - 1, 0, 0), (1, 0, 0), (0, 1, 0)), ONE_STEP[1]))[0][0]
    (-1, 0, 0)
    """

    def nearest(matrix: Matrix, modulus: int) -> Matrix:
        rows = tuple(tuple(v - modulus if 2 * v > modulus else v for v in row) for row in matrix)
        return tuple(zip(*rows, strict=True)) if transpose else rows

    return nearest(matrices[0], M1), nearest(matrices[1], M2)


def jump(state: State, steps: int) -> State:
    """Return the state `steps` steps after `state`, without computing the steps one by one.

    Parameters
    ----------
    state : tuple of six ints
        Initial state.
    steps : int
        Number of steps, 0 or more.

    Returns
    -------
    tuple of six ints

    Examples
    --------
    >>> jump((1, 1, 1, 1, 1, 1), 1)
    (4194433, 1, 1, 65537, 1, 1)
    >>> jump(jump((1, 2, 3, 4, 5, 6), 10), 5) == jump((1, 2, 3, 4, 5, 6), 15)
    True
    """
    first, second = transition(steps)
    x1, x2, x3, y1, y2, y3 = state
    x = [(p * x1 + q * x2 + r * x3) % M1 for p, q, r in first]
    return (*x, *[(p * y1 + q * y2 + r * y3) % M2 for p, q, r in second])
