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

import hashlib
import operator
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import asarray, dtype_name
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, STREAM_STEPS
from nbm_xp.rng import RandomStreams, after, check_seed, jump, substreams
from nbm_xp.rng.random_streams import operations as draws

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
    return B.make_rng(_words(entropy, purpose))


def _words(entropy: int, purpose: str) -> list[int]:
    """The six words that the streams of a purpose begin with."""
    digest = hashlib.sha256(f"nbm_xp {purpose} {entropy}".encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], "little") for start in range(0, 24, 4)]
    return [word % _LARGEST + 1 for word in words]


def next_seed(rng: Any) -> int:
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


class ChainStreams(RandomStreams):
    """Random streams whose draws have the shape (units, chains), each chain a stream.

    Recorded formulas draw from it as from any other generator. Draws of shape (machines, chains, units) are possible
    too: a chain's numbers are then those of its units of one machine after the other.

    Examples
    --------
    Chain 2 of a block of its own has the numbers that it has among others.

    >>> import numpy as np
    >>> def numbers(offset, rows, sweep):
    ...     streams = ChainStreams()
    ...     function = streams.compiled([], [streams.uniform((3, rows), dtype="float32")])
    ...     return function([], function.states(1, "test", offset, sweep, np))[0][0].round(3).T.tolist()
    >>> numbers(0, 3, 1)[2] == numbers(2, 1, 1)[0]
    True
    """

    def __init__(self) -> None:
        super().__init__([1] * 6)  # the states come with each call

    def uniform(
        self,
        size: Any,
        low: Any = 0.0,
        high: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
    ) -> Any:
        """Uniforms between 0 and 1, of shape (units, chains); the other arguments cannot be other than they are."""
        _only_defaults(low=(low, 0.0), high=(high, 1.0), ndim=(ndim, None), nstreams=(nstreams, None))
        units, chains = columns = _columns(size)
        state = self.take_streams(columns, chains)
        drawn, new = draws.uniform(state, size=(units, chains), dtype=dtype_name(dtype or B.floatx()))
        return _as_asked(self.pretty_return(state, new, drawn, size=columns, nstreams=chains), size)

    def binomial(
        self,
        size: Any = None,
        n: int = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
    ) -> Any:
        """Ones with probabilities `p`, an array of shape (units, chains), else zeros.

        The uniforms have the dtype of the answer, whatever the configuration says: a worker may have another.
        """
        _only_defaults(n=(n, 1), ndim=(ndim, None), nstreams=(nstreams, None))
        _, chains = columns = _columns(size)
        state = self.take_streams(columns, chains)
        name, chances = dtype_name(dtype), _in_columns(p, size)
        drawn, new = draws.binomial(state, chances, size=columns, n=1, dtype=name, precision=name)
        return _as_asked(self.pretty_return(state, new, drawn, size=columns, nstreams=chains), size)

    def normal(
        self,
        size: Any,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
    ) -> Any:
        """Normal numbers of shape (units, chains), by the method of Box and Muller.

        A chain takes an even number of uniforms, so that both of a pair are its own.
        """
        _only_defaults(ndim=(ndim, None), nstreams=(nstreams, None))
        units, chains = _columns(size)
        even = (units + units % 2, chains)
        state = self.take_streams(even, chains)
        drawn, new = draws.normal(state, size=even, dtype=dtype_name(dtype or B.floatx()))
        numbers = self.pretty_return(state, new, drawn, size=even, nstreams=chains)[:units, :]
        return _as_asked(numbers, size) * std + avg

    def compiled(self, inputs: Sequence[Any], outputs: Sequence[Any], name: str | None = None) -> ChainFunction:
        """Compile formulas that draw into a function that holds no state, so that threads can share it."""
        given = {state: B.placeholder(shape=tuple(state.shape), dtype="int32") for state, *_ in self.state_updates}
        after = [new for _, new, *_ in self.state_updates]
        function = B.function([*inputs, *given.values()], [*outputs, *after], givens=given, name=name)
        return ChainFunction(function, len(outputs), tuple(size for _, _, size, _ in self.state_updates))


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

    function: Any
    n_outputs: int
    draws: tuple[tuple[int, int], ...]

    def states(self, entropy: int, purpose: str, offset: int, sweep: int, xp: Any) -> list[Any]:
        """The states of the streams of all draws before a sweep, int32 of shape (chains, 6), from chain `offset` on."""
        seed, found = check_seed(_words(entropy, purpose)), []
        for draw, (units, chains) in enumerate(self.draws):
            first = jump(seed, draw * DRAW_STEPS + offset * STREAM_STEPS)
            found.append(asarray(after(substreams(first, chains), sweep * units * chains), xp))
        return found

    def __call__(self, inputs: Sequence[Any], states: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The outputs, and the states of the streams after the draws."""
        found = self.function(*inputs, *states)
        return found[: self.n_outputs], found[self.n_outputs :]

    def unchecked(self, inputs: Sequence[Any], states: Sequence[Any]) -> ChainFunction:
        """The same for a loop, whose arrays are of the dtypes and shapes of these: see `tape.Function.unchecked`."""
        return replace(self, function=self.function.unchecked(*inputs, *states))


def _columns(size: Any) -> tuple[int, int]:
    """How many numbers each chain takes, and how many chains there are."""
    if len(size) == 3:
        machines, chains, units = size
        return machines * units, chains
    units, chains = size
    return units, chains


def _in_columns(values: Any, size: Any) -> Any:
    """What is given of shape (machines, chains, units), a column for each chain."""
    if len(size) != 3:
        return values
    return B.reshape(B.permute_dimensions(values, (0, 2, 1)), _columns(size))


def _as_asked(drawn: Any, size: Any) -> Any:
    """Columns, of shape (machines, chains, units) where that was asked for."""
    if len(size) != 3:
        return drawn
    machines, chains, units = size
    return B.permute_dimensions(B.reshape(drawn, (machines, units, chains)), (0, 2, 1))


def _only_defaults(**arguments: tuple[Any, Any]) -> None:
    for name, (given, default) in arguments.items():
        if given != default:
            raise NotImplementedError(f"{name} must be {default!r} in draws of chains, got {given!r}")
