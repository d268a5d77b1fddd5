"""Random numbers of chains: each chain has streams of its own, wherever it is computed and whatever with.

Contract: what a chain draws in a sweep follows from the seed, the number of the sweep, the layer
and the number of the chain, and from nothing else; so chains can be split into blocks, and sweeps into tasks, at will,
and any of them begun anew in the middle.

Chains of several machines at once, of shape (machines, chains, units), draw alike: a chain's numbers are those of its
units of one machine after the other.

Draw d of a sweep begins ``d * 2**134`` steps after the seed's state, as the draws of a `RandomStreams` do; within it
chain c has the stream that begins ``c * 2**72`` steps later. A chain takes a number for each unit, sweep after sweep,
from its stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import asarray, dtype_name
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, STREAM_STEPS
from nbm_xp.rng import RandomStreams, after, check_seed, jump, substreams
from nbm_xp.rng.random_streams import operations as draws

__all__ = ["ChainStreams"]


class ChainStreams(RandomStreams):
    """Random streams whose draws have the shape (units, chains), each chain a stream.

    Recorded formulas draw from it as from any other generator. What they compile to takes the states of the streams
    and gives those after the draws, for which `states` and `after` are there.

    Parameters
    ----------
    state : six ints
        Where the streams of the first draw begin.

    Examples
    --------
    Chain 2 of a block of its own has the numbers that it has among others.

    >>> import numpy as np
    >>> def numbers(offset, rows, sweep):
    ...     streams = ChainStreams([234] * 6)
    ...     drawn = streams.uniform((3, rows), dtype="float32")
    ...     function = streams.compiled([], [drawn])
    ...     return function(*streams.states(offset, sweep, np))[0].round(3).T.tolist()
    >>> numbers(0, 3, 1)[2] == numbers(2, 1, 1)[0]
    True
    """

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

    def states(self, offset: int, sweep: int, xp: Any) -> list[Any]:
        """The states of the streams of all draws made so far.

        Parameters
        ----------
        offset : int
            The number of the first chain.
        sweep : int
            How often each draw was made before.
        xp : namespace
            The library of the states.

        Returns
        -------
        list of arrays
            int32, of shape (chains, 6).
        """
        found = []
        for draw, (_, _, (units, chains), _) in enumerate(self.state_updates):
            first = jump(check_seed(self.default_instance_seed), draw * DRAW_STEPS + offset * STREAM_STEPS)
            found.append(asarray(after(substreams(first, chains), sweep * units * chains), xp))
        return found

    def compiled(self, inputs: Sequence[Any], outputs: Sequence[Any], name: str | None = None) -> Any:
        """Compile formulas that draw: the function also takes the states of the streams, and gives those after it.

        It holds nothing that changes, so threads can share it.
        """
        given = {state: B.placeholder(shape=tuple(state.shape), dtype="int32") for state, *_ in self.state_updates}
        after = [new for _, new, *_ in self.state_updates]
        return B.function([*inputs, *given.values()], [*outputs, *after], givens=given, name=name)


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
