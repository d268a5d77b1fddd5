"""Chains at equilibrium in blocks: those of a trained machine on the ladder that it learnt on.

Contract: what `chains` does. A chain here is one of each machine of the ladder: they exchange
their states with one another, and with no chain of another number, so a block of them is computed by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import asarray

from .chain_streams import ChainStreams
from .chains import Chains, in_order
from .energy import opened, told
from .equilibrium import first_columns
from .ladder import Ladder

__all__ = ["LadderChains"]


class LadderChains(Chains):
    """The chains of a model on the ladder that it learnt on, any block of them at any time.

    A sweep is a step on the ladder: exchanges, and a sweep of each machine. States that the next one needs have the
    shape (machines, chains, sites). Chains begin where those of the training ended.

    Parameters
    ----------
    model : model of this package
        One that was trained with ``training="ptt"``.
    seed : int
    layers : sequence of int, optional
        The layers asked for, of the model itself, the last machine.
    means : bool, optional
        As in `Chains`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rows = np.repeat(np.eye(2, 6, dtype="float32"), 50, axis=0)
    >>> chains = LadderChains(RBM(4, n_iter=3, training="ptt", random_state=0).fit(rows), seed=1)
    >>> whole = chains.advance(chains.start(0, 8), 0, 0, 10)
    >>> part = chains.advance(chains.start(5, 3), 5, 0, 4)
    >>> part = chains.advance(part, 5, 4, 6)
    >>> bool((part[0] == whole[0][:, 5:]).all())
    True
    """

    purpose = "chains on a ladder"

    def __init__(self, model: Any, seed: int, *, layers: Sequence[int] = (0,), means: bool = False) -> None:
        super().__init__(model, seed, layers=layers, means=means)
        if model.state_.ladder is None:
            raise ValueError('chains on a ladder are for models trained with training="ptt"')

    @property
    def ladder(self) -> Ladder:
        """The machines."""
        found: Ladder = self.model.state_.ladder
        return found

    def start(self, offset: int, rows: int) -> tuple[Any, ...]:
        """The states that a block of chains starts from, those of the training's chains, over and over."""
        columns = zip(self.topology.retained, first_columns(self.model, offset, rows), strict=True)
        states = [told(self.ladder.top, layer, values) for layer, values in columns]
        return in_order([asarray(values, self._xp, self.dtype) for values in states])

    @property
    def _shown_besides(self) -> tuple[int, ...]:
        return self.layers

    def _turn(self, number: int) -> list[Any]:
        """Whether even or odd pairs exchange."""
        return [asarray([float(number % 2)], self._xp, self.dtype)]

    def _compile_sweep(self, rows: int) -> tuple[ChainStreams, Any]:
        streams, ladder, kept = self._streams("steps"), self.ladder, self.topology.retained
        shapes = [(ladder.pairs + 1, rows, self.topology.sites(layer)) for layer in kept]
        carried = [B.placeholder(shape=shape, dtype=self.dtype) for shape in shapes]
        state = self.topology.with_retained(map(partial(opened, ladder.top), kept, carried))
        turn = B.placeholder(shape=(1,), dtype=self.dtype, name="turn")
        move = ladder.move(state, turn, rows, streams)
        after = [told(ladder.top, layer, part) for layer, part in enumerate(move.state)]
        shown = move.means if self.means else after
        tops = [B.transpose(shown[layer][-1, :, :]) for layer in self.layers]
        outputs = [*(after[layer] for layer in kept), *tops, move.up, move.down]
        return streams, streams.compiled([*carried, turn], outputs, name="step")
