"""Annealed importance sampling in blocks of chains, and in reverse: any block, from any temperature on, by itself.

Contract: what `chains` does, and that the weights are those of `partition`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import asarray, to_numpy, use_backend

from .annealing import Path, path_to
from .chain_streams import ChainStreams
from .chains import Chains, in_order
from .energy import told
from .partition import Enumerated, is_enumerable
from .sampling import told_placeholders

__all__ = ["AnnealedChains", "ReverseChains"]


class AnnealedChains(Chains):
    """The chains of annealed importance sampling of a model, any block of them at any time.

    Parameters
    ----------
    model : model of this package
    seed : int
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1; of `ReverseChains`, falling from 1 to 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.ones(3))
    >>> chains = AnnealedChains(rbm, 1, [0.0, 0.5, 1.0])
    >>> _, log_weights = chains.anneal(chains.start(0, 4), np.zeros(4), 0, 0, 2)
    >>> log_weights.shape, bool(np.all(log_weights > 0))
    ((4,), True)
    """

    purpose = "annealing"

    def __init__(self, model: Any, seed: int, betas: Sequence[float]) -> None:
        super().__init__(model, seed)
        self.betas = tuple(betas)

    def anneal(
        self, states: Sequence[Any], log_weights: Any, offset: int, first: int, n_steps: int
    ) -> tuple[tuple[Any, ...], Any]:
        """Move a block of chains on, from temperature to temperature.

        Parameters
        ----------
        states : sequence of arrays of shape (sites, chains)
            What `start` or an earlier call gave.
        log_weights : array of shape (chains,)
            float64: zeros, or what an earlier call gave.
        offset : int
            The number of the first chain.
        first : int
            How many steps were done before.
        n_steps : int
            How many to do; there is one less than there are temperatures.

        Returns
        -------
        states, log_weights
        """
        now = tuple(states), log_weights
        for after in self.anneal_stepwise(states, log_weights, offset, first, n_steps):
            now = after
        return now

    def anneal_stepwise(
        self, states: Sequence[Any], log_weights: Any, offset: int, first: int, n_steps: int
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Move a block of chains on, from temperature to temperature.

        Parameters
        ----------
        states, log_weights, offset, first, n_steps
            As for `anneal`.

        Yields
        ------
        states, log_weights
            After each step.
        """
        rows = int(states[0].shape[1])
        now = tuple(asarray(state, self._xp, self.dtype) for state in states)
        weights = asarray(log_weights, self._xp, "float64")
        streams, move = self._function("step", rows)
        random = streams.states(offset, first, self._xp)
        for warm, cold in zip(self.betas[first:], self.betas[first + 1 : first + n_steps + 1], strict=False):
            found = move(*now, weights, cold, warm, *random)
            now, weights, random = in_order(found[: len(now)]), found[len(now)], found[len(now) + 1 :]
            yield now, weights

    @property
    def _path(self) -> Path:
        return path_to(self.model, in_columns=True)

    def _compile_start(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, path = self._streams("start"), self._path
        state = path.start(B.zeros((1, rows), dtype=self.dtype), rows, streams)
        return streams, streams.compiled([], [told(path.last, layer, state[layer]) for layer in self.carried], "start")

    def _compile_step(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, path = self._streams("steps"), self._path
        given, state = told_placeholders(path.last, self.carried, rows)
        weights = B.placeholder(shape=(rows,), dtype="float64", name="log_weights")
        cold, warm = (B.placeholder(shape=(), dtype=self.dtype, name=name) for name in ("cold", "warm"))
        *moved, weighed = path.step(cold, warm, [*(state[layer] for layer in self.carried), weights], rows, streams)
        after = [told(path.last, layer, part) for layer, part in zip(self.carried, moved, strict=True)]
        return streams, streams.compiled([*given, weights, cold, warm], [*after, weighed], name="anneal")


class ReverseChains(AnnealedChains):
    """The chains of annealed importance sampling in reverse, from states of the model itself.

    Where the model is small enough, `start` draws its states exactly. Else they are those of the base rate, and
    `advance` moves them to the model's before they are annealed.

    Parameters
    ----------
    model, seed, betas
        See `AnnealedChains`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.ones(3))
    >>> chains = ReverseChains(rbm, 1, [1.0, 0.5, 0.0])
    >>> _, log_weights = chains.anneal(chains.start(0, 4), np.zeros(4), 0, 0, 2)
    >>> chains.is_exact, bool(np.all(log_weights < 0))
    (True, True)
    """

    purpose = "reverse annealing"
    _found_anew = (*AnnealedChains._found_anew, "_enumerated")

    def _settle(self) -> None:
        super()._settle()
        self._enumerated: Enumerated | None = None

    @property
    def is_exact(self) -> bool:
        """Whether `start` gives states of the model."""
        return is_enumerable(self.topology)

    def start(self, offset: int, rows: int) -> tuple[Any, ...]:
        """The states that a block of chains starts from, drawn exactly where `is_exact`; see `Chains.start`."""
        if not self.is_exact:
            return super().start(offset, rows)
        choices, choose = self._function("choices", rows)
        uniforms = to_numpy(choose(*choices.states(offset, 0, self._xp))[0])
        numbers = asarray(self._all_states().chosen(uniforms[0, :]), self._xp, self.dtype)
        streams, draw = self._function("exact", rows)
        return in_order(draw(numbers, *streams.states(offset, 0, self._xp))[: len(self.carried)])

    def _all_states(self) -> Enumerated:
        """The states of the model, enumerated once."""
        with self._compiling:
            if self._enumerated is None:
                with use_backend(self.model.state_.library):
                    self._enumerated = Enumerated.of(self._parameters)
            return self._enumerated

    def _compile_start(self, rows: int) -> tuple[ChainStreams, Any]:
        return Chains._compile_start(self, rows)

    def _compile_choices(self, rows: int) -> tuple[ChainStreams, Any]:
        streams = self._streams("choices")
        return streams, streams.compiled([], [streams.uniform((1, rows), dtype="float64")], name="choices")

    def _compile_exact(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, states = self._streams("start"), self._all_states()
        numbers = B.placeholder(shape=(rows, states.n_sites), dtype=self.dtype, name="numbers")
        state = states.drawn(numbers, rows, streams)
        after = [told(self._parameters, layer, state[layer]) for layer in self.carried]
        return streams, streams.compiled([numbers], after, name="exact")
