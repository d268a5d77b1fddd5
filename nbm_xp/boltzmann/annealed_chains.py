"""Annealed importance sampling in blocks of chains: any block, from any temperature on, computed by itself.

What this chapter must satisfy: what `chains` does, and that the weights are those of `partition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import asarray

from .annealing import Path
from .chain_streams import ChainStreams
from .chains import Chains, in_order
from .energy import draw_layer
from .model import variable

__all__ = ["AnnealedChains"]


class AnnealedChains(Chains):
    """The chains of annealed importance sampling of a model, any block of them at any time.

    Parameters
    ----------
    model : model of this package
    seed : int
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1.

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
        states : sequence of arrays of shape (units, chains)
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
        rows = int(states[0].shape[1])
        now = tuple(asarray(state, self._xp, self.dtype) for state in states)
        weights = asarray(log_weights, self._xp, "float64")
        streams, move = self._function("step", rows)
        random = streams.states(offset, first, self._xp)
        for warm, cold in zip(self.betas[first:], self.betas[first + 1 : first + n_steps + 1], strict=False):
            found = move(*now, weights, cold, warm, *random)
            now, weights, random = in_order(found[: len(now)]), found[len(now)], found[len(now) + 1 :]
        return now, weights

    def _compile_start(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, parameters = self._streams("start"), self.model._parameters
        base = variable(asarray(self.model._base_bias(), self._xp, self.dtype))
        states = []
        for layer in self.carried:
            inputs = B.zeros((rows, self.topology.sizes[layer]), dtype=self.dtype)
            inputs = inputs + base if layer == 0 else inputs
            mean = inputs if self.topology.is_gaussian(layer) else B.sigmoid(inputs)
            states.append(draw_layer(parameters, layer, mean, rows, streams))
        return streams, streams.compiled([], [B.transpose(state) for state in states], name="start")

    def _compile_step(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, parameters = self._streams("steps"), self.model._parameters
        columns, state = self._columns(rows)
        weights = B.placeholder(shape=(rows,), dtype="float64", name="log_weights")
        cold, warm = (B.placeholder(shape=(), dtype=self.dtype, name=name) for name in ("cold", "warm"))
        path = Path(parameters, variable(asarray(self.model._base_bias(), self._xp, self.dtype)))
        gain, moved = path.step(cold, warm, state, rows, streams)
        outputs = [*(B.transpose(moved[layer]) for layer in self.carried), weights + B.cast(gain, "float64")]
        return streams, streams.compiled([*columns, weights, cold, warm], outputs, name="anneal")
