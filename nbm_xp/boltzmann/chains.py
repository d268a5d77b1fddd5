"""Markov chains in blocks: any block of chains, from any sweep on, computed by itself.

Contract: a chain is the same whichever block it is computed in and however its sweeps are dealt
out to calls, as `chain_streams` has its random numbers; and it can be sent to another process and used by many threads.

How a matrix product rounds depends on the shape of its factors and on how they lie in memory. So states lie in memory
in one way only: equal blocks give equal bits however their sweeps are dealt out; blocks of other lengths, and other
libraries, agree except where a uniform is as close to a probability as rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from nbm_xp import natural_bm as B
from nbm_xp.machines.randomness import stream
from nbm_xp.namespace import array_namespace, asarray, get_namespace, use_backend

from .chain_streams import ChainStreams
from .energy import Parameters, start_layer, sweep, told, variable
from .sampling import told_placeholders

__all__ = ["Chains", "Draw", "in_order"]


class Draw(NamedTuple):
    """Where chains are after some sweeps.

    Attributes
    ----------
    states : tuple of arrays of shape (sites, chains)
        Those that the next sweep needs, as data tell them.
    shown : tuple of arrays
        What was asked for: of some layers the states, or, of shape (units, chains), the means that they were drawn
        with.
    looks : tuple of arrays
        What else was seen on the way, of chains that look.
    """

    states: tuple[Any, ...]
    shown: tuple[Any, ...]
    looks: tuple[Any, ...] = ()


class Chains:
    """The chains of a model and a seed, any block of them at any time.

    Parameters
    ----------
    model : model of this package
        Its parameters as they are now.
    seed : int
    layers : sequence of int, optional
        The layers asked for, 0 being the visible one.
    means : bool, optional
        Whether to show the means that states were drawn with in place of the states.
    clamp : mapping of int to array, optional
        Layers that are held, and what at: an array of shape (chains, units), or (units,) for all chains.

    Attributes
    ----------
    carried : tuple of int
        The layers of a state, rising: those that a sweep needs to begin.

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

    purpose = "chains"
    """What the random numbers are for: others for another purpose."""

    _found_anew: ClassVar[tuple[str, ...]] = ("_xp", "_compiled", "_compiling")
    """What each process has of its own."""

    def __init__(
        self,
        model: Any,
        seed: int,
        *,
        layers: Sequence[int] = (0,),
        means: bool = False,
        clamp: Mapping[int, Any] | None = None,
    ) -> None:
        self.model = model
        self.seed = seed
        self.layers = tuple(layers)
        self.means = means
        self.clamp = dict(sorted((clamp or {}).items()))
        self.topology = model.state_.topology
        free = [layer for layer in self.topology.layers if layer not in self.clamp]
        self.carried = tuple(layer for layer in self.topology.retained if layer in free) or tuple(free)
        self._settle()

    def _settle(self) -> None:
        """Find the library in this process; nothing is compiled yet."""
        self._xp = get_namespace(self.model.state_.library)
        self._compiled: dict[tuple[str, int], tuple[ChainStreams, Any]] = {}
        self._compiling = threading.RLock()

    @property
    def dtype(self) -> str:
        """The dtype of the model."""
        return str(self.model.state_.parameters.dtype)

    def start(self, offset: int, rows: int) -> tuple[Any, ...]:
        """The states that a block of chains starts from: the model's base rate says how visible units are drawn.

        Other binary units are 1 half of the time; Gaussian ones are where the base rate is.

        Parameters
        ----------
        offset : int
            The number of the first chain.
        rows : int
            How many chains.

        Returns
        -------
        tuple of arrays of shape (sites, chains)
        """
        streams, begin = self._function("start", rows)
        return in_order(begin(*streams.states(offset, 0, self._xp))[: len(self.carried)])

    def advance(self, states: Sequence[Any], offset: int, first_sweep: int, n_sweeps: int) -> tuple[Any, ...]:
        """Move a block of chains on.

        Parameters
        ----------
        states : sequence of arrays of shape (sites, chains)
            What `start` or an earlier call gave.
        offset : int
            The number of the first chain.
        first_sweep : int
            How many sweeps were done before.
        n_sweeps : int

        Returns
        -------
        tuple of arrays of shape (sites, chains)
        """
        now = tuple(states)
        for drawn in self.walk(states, offset, first_sweep, n_sweeps):
            now = drawn.states
        return now

    def walk(self, states: Sequence[Any], offset: int, first_sweep: int, n_sweeps: int) -> Iterator[Draw]:
        """Move a block of chains on, sweep by sweep.

        Parameters
        ----------
        states, offset, first_sweep, n_sweeps
            As for `advance`.

        Yields
        ------
        Draw
            After each sweep.
        """
        rows = int(states[0].shape[1])
        now = tuple(asarray(state, self._xp, self.dtype) for state in states)
        streams, move = self._function("sweep", rows)
        random = streams.states(offset, first_sweep, self._xp)
        held = self._held(offset, rows)
        count = len(self.carried)
        end = count + len(self._shown_besides)
        for number in range(first_sweep, first_sweep + n_sweeps):
            found = move(*now, *held, *self._turn(number), *random)
            now, looks, random = in_order(found[:count]), found[end : -len(random)], found[-len(random) :]
            besides = dict(zip(self._shown_besides, found[count:end], strict=True))
            known = besides if self.means else dict(zip(self.carried, now, strict=True)) | besides
            yield Draw(now, tuple(known[layer] for layer in self.layers), tuple(looks))

    def _turn(self, number: int) -> list[Any]:
        """What a sweep of a number is told besides, of chains whose sweeps differ."""
        return []

    @property
    def _shown_besides(self) -> tuple[int, ...]:
        """The layers asked for, of which a state of `carried` does not tell already what is asked."""
        return tuple(layer for layer in self.layers if self.means or layer not in self.carried)

    def _held(self, offset: int, rows: int) -> list[Any]:
        """What the clamped layers of a block are held at, a column for each chain."""
        found = []
        for layer, values in self.clamp.items():
            whole = asarray(values, self._xp, self.dtype)
            block = whole[offset : offset + rows, :] if whole.ndim == 2 else whole
            shape = (rows, self.topology.sites(layer))
            found.append(in_order([self._xp.matrix_transpose(self._xp.broadcast_to(block, shape))])[0])
        return found

    def _function(self, what: str, rows: int) -> tuple[ChainStreams, Any]:
        """The compiled function of a name for so many chains, and the streams that it draws from."""
        with self._compiling:
            if (what, rows) not in self._compiled:
                with use_backend(self.model.state_.library):
                    self._compiled[what, rows] = getattr(self, f"_compile_{what}")(rows)
            return self._compiled[what, rows]

    def _streams(self, part: str) -> ChainStreams:
        return ChainStreams([int(word) for word in stream(self.seed, f"{part} of {self.purpose}").rstate])

    @property
    def _parameters(self) -> Parameters:
        """Those of the model, for states that lie in memory as random numbers are drawn: chain beside chain."""
        parameters: Parameters = self.model.state_.parameters
        return replace(parameters, in_columns=True)

    def _compile_start(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, parameters = self._streams("start"), self._parameters
        rate = asarray(self.model.base_rate_, self._xp, self.dtype)
        states = []
        for layer in self.carried:
            undecided = self.topology.units[layer].undecided
            first = parameters.for_each_state(variable(rate)) if layer == 0 else undecided
            mean = B.zeros((self.topology.sizes[layer], rows), dtype=self.dtype) + first
            states.append(told(parameters, layer, start_layer(parameters, layer, mean, rows, streams)))
        return streams, streams.compiled([], states, name="start")

    def _compile_sweep(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, parameters = self._streams("sweeps"), self._parameters
        inputs, carried = told_placeholders(parameters, self.carried, rows)
        others, given = told_placeholders(parameters, self.clamp, rows, "held")
        state = [held if now is None else now for now, held in zip(carried, given, strict=True)]
        moved, means = sweep(parameters, state, rows, streams, tuple(self.clamp))
        after = [None if part is None else told(parameters, layer, part) for layer, part in enumerate(moved)]
        shown = means if self.means else after
        outputs = [*(after[layer] for layer in self.carried), *(shown[layer] for layer in self._shown_besides)]
        return streams, streams.compiled([*inputs, *others], outputs, name="sweep")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._found_anew}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._settle()


def in_order(arrays: Collection[Any]) -> tuple[Any, ...]:
    """Arrays whose rows lie one after the other in memory, as those read from a file do."""
    return tuple(_flat_and_back(array) for array in arrays)


def _flat_and_back(array: Any) -> Any:
    xp = array_namespace(array)
    return xp.reshape(xp.reshape(array, (-1,)), array.shape)
