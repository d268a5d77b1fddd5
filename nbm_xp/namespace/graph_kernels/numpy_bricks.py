"""Draws and sums of a lattice's bricks, by the compiled core.

Contract: the bits of `nbm_xp.graphs.brick_sweeps.PortableBrick`; its memory is a few numbers for each stretch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions
from nbm_xp.namespace.mrg31k3p.integers import transition
from nbm_xp.namespace.mrg31k3p.numpy_draws import number_by_number, substreams

from .numpy_graphs import MOST_SUM, RULES, table_of

__all__ = ["brick"]

_LANES = 64
_NO_MULTIPLES, _NO_COUPLINGS, _NO_LEVELS = np.empty(0, np.int8), np.empty(0), np.empty(0, np.int32)
_ONE_FIELD = np.zeros(1)


def brick(chain: Any, brick: Any, couplings: Any) -> Any:
    """What draws a brick's units; None for what there is no loop for."""
    return None if chain.values.kind == "potts" else _Brick(chain, brick, couplings)


@lru_cache(maxsize=256)
def _lanes(first: tuple[int, ...]) -> Any:
    """The states that the streams of a chain start in, number by number."""
    return np.array(number_by_number(substreams(first, _LANES), _LANES))  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _jump(steps: int) -> Any:
    return np.asarray(transition(steps), np.uint32).reshape(-1)


class _Brick:
    def __init__(self, chain: Any, brick: Any, couplings: Any) -> None:
        values, multiples = chain.values, couplings.multiples
        self.chain, self.brick, self.values = chain, brick, values
        self.lanes, self.steps = _lanes(chain.first_stream), brick.steps.reshape(-1)
        self.unit, self.field = couplings.unit, couplings.fields if isinstance(couplings.fields, float) else 0.0
        self.fields = _ONE_FIELD if isinstance(couplings.fields, float) else couplings.fields.reshape(-1)
        self.multiples, self.couplings = _NO_MULTIPLES, _NO_COUPLINGS
        self.levels = self.table = _NO_LEVELS
        beta = np.asarray([[chain.beta]])
        self.scale = beta[0] * values.step
        axes = len(chain.shape)
        most = 2 * axes * couplings.largest
        if 0 < most <= MOST_SUM and isinstance(couplings.fields, float):
            self.multiples = _NO_MULTIPLES if multiples is None else multiples.reshape(-1)
            # as many odd terms everywhere: every second sum is never there
            stride = 2 if couplings.odd and values.least == -1 and all(chain.periodic) else 1
            metropolis = chain.rule == "metropolis"
            self.levels, self.table = table_of(most, stride, self.unit, self.field, values, metropolis, beta)
            return
        if isinstance(couplings.fields, float):
            self.fields = np.full(1, self.field)
        # sums in double precision
        if multiples is None:
            self.couplings = np.full(axes * brick.units, self.unit)
        else:
            self.couplings = multiples.reshape(-1) if self.unit == 1.0 else multiples.reshape(-1) * self.unit
        self.couplings, self.unit = self.couplings.astype(np.float64, copy=False), 1.0

    def draw(self, flat: Any, stretches: Any, sweep: int) -> None:
        """Draw units anew."""
        if not stretches.places.size:
            return
        begins = self.chain.begins(stretches, sweep)
        rows = begins // _LANES
        apart, which = np.unique(np.diff(rows, prepend=rows[0]), return_inverse=True)
        jumps = np.concatenate([_jump(int(steps)) for steps in apart])
        first, second = transition(int(rows[0]) + 1)
        functions["graph_brick"](
            stretches.places,
            stretches.counts,
            begins,
            stretches.odd,
            which.astype(np.int64, copy=False),
            jumps,
            np.asarray((*first[0], *second[0]), np.uint32),
            self.lanes.reshape(-1),
            self.steps,
            self.multiples,
            self.couplings,
            self.fields,
            self.scale,
            self.levels,
            self.table,
            flat,
            RULES[self.chain.rule],
            self.values.least,
            int(self.values.step),
        )

    def measure(self, flat: Any, stretches: Any) -> list[float]:
        """The energy of the units of both colours, and the sum of all values."""
        sums = np.zeros((2, 3))
        for colour, found in enumerate(stretches):
            functions["graph_brick_sums"](
                found.places, found.counts, found.odd, self.steps, self.multiples, self.couplings,
                self.fields, flat, sums[colour],
            )  # fmt: skip
        pairs, total = sums[1, 0] * self.unit, float(sums[:, 2].sum())
        alone = float(sums[:, 1].sum()) if self.fields.size > 1 else self.field * total
        return [-float(pairs + alone), total]
