"""From scikit-learn's `random_state` to the random numbers of models and of Markov chains.

Any int is a seed, 0 and large ones too; generators of other libraries give one; None asks the operating system. Two
seeds give unrelated streams, and one seed gives several, each for a purpose.

Random numbers of chains: what a chain draws in a sweep follows from the seed, the number of the sweep, the draw and the
number of the chain, and from nothing else. So chains can be split into blocks, and sweeps into tasks, at will, and any
of them begun anew in the middle. Draw d of a sweep begins ``d * 2**134`` steps after the seed's state, as the draws of
a `RandomStreams` do; within it chain c has the stream that begins ``c * 2**72`` steps later, of which it takes a number
for each unit, sweep after sweep.
"""

from __future__ import annotations

import functools
import hashlib
import math
import operator
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, DType, Namespace, Shape, Streams
from nbm_xp.namespace import asarray, dtype_name
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, STREAM_STEPS
from nbm_xp.rng import RandomStreams, jump, substreams
from nbm_xp.rng import recorded as draws
from nbm_xp.tape import Function

__all__ = ["ChainFunction", "ChainStreams", "entropy_of", "next_seed", "stream"]

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


def stream(entropy: int, purpose: str = "model") -> RandomStreams:
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
    return B.make_rng(_words(entropy, purpose))


def _words(entropy: int, purpose: str) -> list[int]:
    """The six words that the streams of a purpose begin with."""
    digest = hashlib.sha256(f"nbm_xp {purpose} {entropy}".encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 24, 4)]
    return [word % _LARGEST + 1 for word in words]


def next_seed(rng: Streams) -> int:
    """A seed that follows from where random streams are, which move on: another one at each call.

    Examples
    --------
    >>> rng = stream(1)
    >>> next_seed(rng) == next_seed(stream(1)), next_seed(rng) == next_seed(stream(1))
    (True, False)
    """
    words = [int(word) for word in rng.rstate]
    rng.inc_rstate()
    return int.from_bytes(hashlib.sha256(f"nbm_xp {words}".encode()).digest()[:16], "little")


class ChainStreams:
    """Random streams whose draws have the shape (units, chains), each chain a stream.

    Recorded formulas draw from it as from any other generator. Draws of shape (machines, units, chains) are possible
    too: a chain's numbers are then those of its units of one machine after the other.

    Examples
    --------
    Chain 2 of a block of its own has the numbers that it has among others.

    >>> import numpy as np
    >>> def numbers(offset, n_chains, sweep):
    ...     streams = ChainStreams()
    ...     function = streams.compiled([], [streams.uniform((3, n_chains), dtype="float32")])
    ...     return function([], function.states(1, "test", offset, sweep, np))[0][0].round(3).T.tolist()
    >>> numbers(0, 3, 1)[2] == numbers(2, 1, 1)[0]
    True
    """

    def __init__(self) -> None:
        self._draws: list[tuple[Array, Array, tuple[int, int]]] = []  # states before and after, numbers and chains

    def uniform(self, size: Shape, low: float = 0.0, high: float = 1.0, dtype: DType = None) -> Array:
        """Uniform numbers."""
        drawn = self._drawn(draws.uniform, size, _columns(size), dtype=dtype_name(dtype or B.floatx()))
        return drawn if (low, high) == (0.0, 1.0) else low + (high - low) * drawn

    def binomial(self, size: Shape, p: Array = 0.5, dtype: DType = "int64") -> Array:
        """Ones with probabilities `p`, an array of the shape of the draw, else zeros.

        The uniforms have the dtype of the answer, whatever the configuration says: a worker may have another.
        """
        name, columns = dtype_name(dtype), _columns(size)
        draw = functools.partial(_ones_and_zeros, p if len(size) == 2 else B.reshape(p, columns))
        return self._drawn(draw, size, columns, dtype=name, precision=name)

    def normal(self, size: Shape, avg: Array = 0.0, std: Array = 1.0, dtype: DType = None) -> Array:
        """Normal numbers, by the method of Box and Muller.

        A chain takes an even number of uniforms, so that both of a pair are its own.
        """
        units, chains = _columns(size)
        even = units + units % 2, chains
        return self._drawn(draws.normal, size, even, dtype=dtype_name(dtype or B.floatx())) * std + avg

    def _drawn(self, draw: Callable[..., Any], size: Shape, columns: tuple[int, int], **options: Any) -> Array:
        """Record a draw of so many numbers for each of so many chains, and give as many of them as there are units."""
        state = B.placeholder(shape=(columns[1], 6), dtype="int32")
        drawn, after = draw(state, size=columns, **options)
        self._draws.append((state, after, columns))
        units = _columns(size)[0]
        drawn = drawn if units == columns[0] else drawn[:units, :]
        return drawn if len(size) == 2 else B.reshape(drawn, size)

    def compiled(self, inputs: Sequence[Array], outputs: Sequence[Array], name: str | None = None) -> ChainFunction:
        """Compile formulas that draw into a function that holds no state, so that threads can share it."""
        before, after, sizes = zip(*self._draws, strict=True) if self._draws else ((), (), ())
        return ChainFunction(B.function([*inputs, *before], [*outputs, *after], name=name), len(outputs), tuple(sizes))


@dataclass(frozen=True)
class ChainFunction:
    """What `ChainStreams.compiled` gives.

    Attributes
    ----------
    function : Function
    n_outputs : int
    draws : tuple of pairs of int
        For each draw, how many numbers a chain takes, and how many chains there are.
    """

    function: Function
    n_outputs: int
    draws: tuple[tuple[int, int], ...]

    def states(self, entropy: int, purpose: str, offset: int, sweep: int, xp: Namespace) -> list[Array]:
        """The states of the streams of all draws before a sweep, int32 of shape (chains, 6), from chain `offset` on."""
        a, b, c, d, e, f = _words(entropy, purpose)
        found = []
        for draw, (units, chains) in enumerate(self.draws):
            first = jump((a, b, c, d, e, f), draw * DRAW_STEPS + offset * STREAM_STEPS)
            found.append(asarray(substreams(jump(first, sweep * units), chains), xp))
        return found

    def __call__(self, inputs: Sequence[Array], states: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """The outputs, and the states of the streams after the draws."""
        found = self.function(*inputs, *states)
        return found[: self.n_outputs], found[self.n_outputs :]


def _ones_and_zeros(chances: Array, state: Array, **options: Any) -> Array:
    return draws.binomial(state, chances, n=1, **options)


def _columns(size: Shape) -> tuple[int, int]:
    """How many numbers each chain takes, and how many chains there are."""
    *units, chains = size
    return math.prod(units), chains
