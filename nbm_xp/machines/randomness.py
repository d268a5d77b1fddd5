"""Random numbers of models and Markov chains, from scikit-learn's `random_state`.

Any non-negative int is a seed, of any size; from generators of other libraries a seed is drawn; for None it comes from
the operating system. Different seeds give independent streams, and so do different purposes with one seed.

Random numbers of chains: the numbers of a chain in a sweep depend on the seed, the purpose, the sweep, the draw and the
chain, and on nothing else. So chains can be divided into blocks and sweeps into tasks, and resumed after any sweep.
Draw d of a sweep starts ``d * 2**134`` steps after the seed's state, like the draws of a `RandomStreams`; within it
chain c has the stream that starts ``c * 2**72`` steps later, from which it takes a number for each unit, sweep after
sweep.
"""

from __future__ import annotations

import functools
import hashlib
import math
import operator
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, DType, Namespace, Shape, Streams
from nbm_xp.namespace import asarray, dtype_name, use_backend
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, STREAM_STEPS
from nbm_xp.rng import RandomStreams, jump, substreams
from nbm_xp.rng import recorded as draws
from nbm_xp.tape import Function

_LARGEST = 2147462578  # the six words of a state are from 1 to this number, less than the smaller modulus of MRG31k3p


def entropy_of(random_state: Any) -> int:
    """Return the seed, an int, of a `random_state`.

    Parameters
    ----------
    random_state : int, None, or generator
        An int is the seed itself. From a generator with a method ``integers`` or ``randint``, like NumPy's, the next
        number is drawn. None takes 128 random bits from the operating system.

    Raises
    ------
    ValueError
        If it is a negative int.
    TypeError
        If it is of another type.

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
    """Return the random streams of a seed for one purpose.

    Parameters
    ----------
    entropy : int
        The seed, from `entropy_of`.
    purpose : str, optional
        Streams for different purposes are independent.

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
    """Return the six words of the initial state of a purpose's streams."""
    digest = hashlib.sha256(f"nbm_xp {purpose} {entropy}".encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 24, 4)]
    return [word % _LARGEST + 1 for word in words]


def next_seed(rng: Streams) -> int:
    """Return a seed from the state of random streams, and advance them: each call returns another seed.

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
    """Random streams for draws of shape (units, chains), with a stream for each chain.

    Recorded formulas draw from it as from any other generator. Draws can also have the shape (machines, units, chains):
    a chain's numbers are then for the units of one machine after the other.

    Examples
    --------
    Chain 2 has the same numbers in a block of its own as in a block with other chains.

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
        """Draw uniform numbers."""
        drawn = self._drawn(draws.uniform, size, _columns(size), dtype=dtype_name(dtype or B.floatx()))
        return drawn if (low, high) == (0.0, 1.0) else low + (high - low) * drawn

    def binomial(self, size: Shape, p: Array = 0.5, dtype: DType = "int64") -> Array:
        """Draw ones with probabilities `p`, an array of the shape of the draw, and zeros.

        The uniforms have the dtype of the result, not that of the configuration, which may differ between workers.
        """
        name, columns = dtype_name(dtype), _columns(size)
        draw = functools.partial(_ones_and_zeros, p if len(size) == 2 else B.reshape(p, columns))
        return self._drawn(draw, size, columns, dtype=name, precision=name)

    def normal(self, size: Shape, avg: Array = 0.0, std: Array = 1.0, dtype: DType = None) -> Array:
        """Draw normal numbers by the Box–Muller method.

        A chain uses an even number of uniforms, so that chains share no pair.
        """
        units, chains = _columns(size)
        even = units + units % 2, chains
        return self._drawn(draws.normal, size, even, dtype=dtype_name(dtype or B.floatx())) * std + avg

    def _drawn(self, draw: Callable[..., Any], size: Shape, columns: tuple[int, int], **options: Any) -> Array:
        """Record a draw of `columns`, (numbers per chain, chains), and return its first rows in the shape `size`."""
        state = B.placeholder(shape=(columns[1], 6), dtype="int32")
        drawn, after = draw(state, size=columns, **options)
        self._draws.append((state, after, columns))
        units = _columns(size)[0]
        drawn = drawn if units == columns[0] else drawn[:units, :]
        return drawn if len(size) == 2 else B.reshape(drawn, size)

    def compiled(self, inputs: Sequence[Array], outputs: Sequence[Array], name: str | None = None) -> ChainFunction:
        """Compile formulas with draws as a stateless function, which threads can share."""
        before, after, sizes = zip(*self._draws, strict=True) if self._draws else ((), (), ())
        return ChainFunction(B.function([*inputs, *before], [*outputs, *after], name=name), len(outputs), tuple(sizes))


@dataclass(frozen=True)
class ChainFunction:
    """A compiled function of chains, the result of `ChainStreams.compiled`.

    Attributes
    ----------
    function : Function
    n_outputs : int
        Number of outputs, without the states of streams.
    draws : tuple of pairs of int
        For each draw the number of random numbers of a chain, and the number of chains.
    """

    function: Function
    n_outputs: int
    draws: tuple[tuple[int, int], ...]

    def states(self, entropy: int, purpose: str, offset: int, sweep: int, xp: Namespace) -> list[Array]:
        """Return the states of the streams of all draws before a sweep, int32, (chains, 6), from chain `offset` on."""
        a, b, c, d, e, f = _words(entropy, purpose)
        found = []
        for draw, (units, chains) in enumerate(self.draws):
            first = jump((a, b, c, d, e, f), draw * DRAW_STEPS + offset * STREAM_STEPS)
            found.append(asarray(substreams(jump(first, sweep * units), chains), xp))
        return found

    def __call__(self, inputs: Sequence[Array], states: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """Return the outputs, and the states of the streams after the draws."""
        found = self.function(*inputs, *states)
        return found[: self.n_outputs], found[self.n_outputs :]


_compiling = threading.RLock()


def compiled(library: str, record: Callable[..., Any], *options: Any) -> ChainFunction:
    """Return the compiled function of chains of a recorded formula; it is compiled once, in whichever thread.

    Parameters
    ----------
    library : str
        The library to compile for.
    record : callable
        Function of the first of the options, of a `ChainStreams` and of the other options, which returns the inputs and
        the outputs of the formula.
    *options : hashable
    """
    with _compiling:
        return _compile(library, record, *options)


@functools.lru_cache(maxsize=256)
def _compile(library: str, record: Callable[..., Any], form: Any, *options: Any) -> ChainFunction:
    streams = ChainStreams()
    with use_backend(library):
        inputs, outputs = record(form, streams, *options)
        return streams.compiled(inputs, outputs, name=record.__name__)


def _ones_and_zeros(chances: Array, state: Array, **options: Any) -> Array:
    return draws.binomial(state, chances, n=1, **options)


def _columns(size: Shape) -> tuple[int, int]:
    """Return the number of random numbers of each chain, and the number of chains."""
    *units, chains = size
    return math.prod(units), chains
