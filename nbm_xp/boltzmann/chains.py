"""Markov chains in blocks: any block of chains, from any sweep on, computed by itself.

What this chapter must satisfy: a chain is the same whichever block it is computed in and however its sweeps are dealt
out to calls, as `chain_streams` has its random numbers; and it can be sent to another process and used by many threads.

How a matrix product rounds depends on the shape of its factors and on how they lie in memory. So states lie in memory
in one way only: equal blocks give equal bits however their sweeps are dealt out; blocks of other lengths, and other
libraries, agree except where a uniform is as close to a probability as rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace, asarray, get_namespace, use_backend

from .chain_streams import ChainStreams
from .energy import draw, hidden_probability, shape_of, visible_probability
from .randomness import stream

__all__ = ["Chains", "Draw"]


class Draw(NamedTuple):
    """Where chains are after some sweeps.

    Attributes
    ----------
    states : tuple of arrays of shape (units, chains)
        Those that the next sweep needs.
    shown : tuple of arrays of shape (units, chains)
        The states of the layers asked for.
    means : tuple of arrays of shape (units, chains)
        What those were drawn with.
    """

    states: tuple[Any, ...]
    shown: tuple[Any, ...]
    means: tuple[Any, ...]


class Chains:
    """The chains of a model and a seed, any block of them at any time.

    Parameters
    ----------
    model : model of this package
        Its parameters as they are now.
    seed : int
    layers : sequence of int, optional
        The layers asked for, 0 being the visible one.
    clamped : mapping of int to array, optional
        Layers that are held, and what at: an array of shape (chains, units), or (units,) for all chains.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rbm = RBM.from_parameters(np.eye(3), np.zeros(3), np.zeros(3))
    >>> chains = Chains(rbm, seed=1)
    >>> whole = chains.advance(chains.start(0, 8), 0, 0, 10)
    >>> part = chains.advance(chains.start(5, 3), 5, 0, 4)
    >>> part = chains.advance(part, 5, 4, 6)
    >>> bool((part[0] == whole[0][:, 5:]).all())
    True
    """

    def __init__(
        self, model: Any, seed: int, *, layers: Sequence[int] = (0,), clamped: Mapping[int, Any] | None = None
    ) -> None:
        self.model = model
        self.seed = seed
        self.layers = tuple(layers)
        self.clamped = dict(clamped or {})
        self._compiled: dict[tuple[str, int], tuple[ChainStreams, Any]] = {}
        self._compiling = threading.RLock()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many units each layer has."""
        return shape_of(self.model._parameters.weights)

    @property
    def carried(self) -> tuple[int, ...]:
        """The layers of a state, rising."""
        return (0,)

    @property
    def dtype(self) -> str:
        """The dtype of the model."""
        return str(B.dtype(self.model._parameters.weights))

    def is_binary(self, layer: int) -> bool:
        """Whether a layer's units are 0 or 1."""
        return True

    def start(self, offset: int, rows: int) -> tuple[Any, ...]:
        """The states that a block of chains starts from, drawn with the model's base rate.

        Parameters
        ----------
        offset : int
            The number of the first chain.
        rows : int
            How many chains.

        Returns
        -------
        tuple of arrays of shape (units, chains)
        """
        streams, begin = self._function("start", rows)
        return _in_order(begin(*streams.states(offset, 0, self._xp))[: len(self.carried)])

    def advance(self, states: Sequence[Any], offset: int, first_sweep: int, n_sweeps: int) -> tuple[Any, ...]:
        """Move a block of chains on.

        Parameters
        ----------
        states : sequence of arrays of shape (units, chains)
            What `start` or an earlier call gave.
        offset : int
            The number of the first chain.
        first_sweep : int
            How many sweeps were done before.
        n_sweeps : int

        Returns
        -------
        tuple of arrays of shape (units, chains)
        """
        now = tuple(states)
        for drawn in self.walk(states, offset, first_sweep, 1 if n_sweeps else 0, n_sweeps):
            now = drawn.states
        return now

    def walk(self, states: Sequence[Any], offset: int, first_sweep: int, n_draws: int, every: int) -> Iterator[Draw]:
        """Move a block of chains on, and look at them on the way.

        Parameters
        ----------
        states, offset, first_sweep
            As for `advance`.
        n_draws : int
            How often to look.
        every : int
            How many sweeps go before each look, at least 1.

        Yields
        ------
        Draw
        """
        xp = self._xp
        now = tuple(asarray(state, xp, self.dtype) for state in states)
        streams, sweep = self._function("sweep", int(now[0].shape[1]))
        random = streams.states(offset, first_sweep, xp)
        held = self._held(offset, int(now[0].shape[1]))
        count, shown = len(self.carried), len(self.layers)
        for _ in range(n_draws):
            for _ in range(every):
                found = sweep(*now, *held, *random)
                now, random = _in_order(found[:count]), found[count + 2 * shown :]
            yield Draw(now, tuple(found[count : count + shown]), tuple(found[count + shown : count + 2 * shown]))

    @property
    def _xp(self) -> Any:
        return get_namespace(self.model._home)

    def _held(self, offset: int, rows: int) -> list[Any]:
        """What the clamped layers of a block are held at."""
        return []

    def _function(self, what: str, rows: int) -> tuple[ChainStreams, Any]:
        """The compiled function of a name for so many chains, and the streams that it draws from."""
        with self._compiling:
            if (what, rows) not in self._compiled:
                with use_backend(self.model._home):
                    build = {"start": self._compile_start, "sweep": self._compile_sweep}[what]
                    self._compiled[what, rows] = build(rows)
            return self._compiled[what, rows]

    def _streams(self, purpose: str) -> ChainStreams:
        return ChainStreams([int(word) for word in stream(self.seed, purpose).rstate])

    def _compile_start(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, rate = self._streams("start of chains"), self.model.base_rate_
        n_visible = self.sizes[0]
        mean = B.variable(asarray(rate, array_namespace(rate)), dtype=B.dtype(self.model._parameters.weights))
        spread = B.zeros((rows, n_visible), dtype=B.dtype(mean)) + mean
        drawn = B.random_binomial((rows, n_visible), p=spread, dtype=B.dtype(mean), rng=streams)
        return streams, streams.compiled([], [B.transpose(drawn)], name="start")

    def _compile_sweep(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, parameters = self._streams("sweeps of chains"), self.model._parameters
        n_visible, n_hidden = self.sizes
        visible = B.placeholder(shape=(n_visible, rows), dtype=B.dtype(parameters.weights), name="visible")
        means = [None, hidden_probability(parameters, B.transpose(visible))]
        hidden = draw(means[1], (rows, n_hidden), streams)
        means[0] = visible_probability(parameters, hidden)
        states = [draw(means[0], (rows, n_visible), streams), hidden]
        shown = [B.transpose(found[layer]) for found in (states, means) for layer in self.layers]
        return streams, streams.compiled([visible], [B.transpose(states[0]), *shown], name="sweep")

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "seed": self.seed, "layers": self.layers, "clamped": self.clamped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model"], state["seed"], layers=state["layers"], clamped=state["clamped"])  # type: ignore[misc]


def _in_order(arrays: Collection[Any]) -> tuple[Any, ...]:
    """Arrays whose rows lie one after the other in memory, as those read from a file do."""
    return tuple(_flat_and_back(array) for array in arrays)


def _flat_and_back(array: Any) -> Any:
    xp = array_namespace(array)
    return xp.reshape(xp.reshape(array, (-1,)), array.shape)
