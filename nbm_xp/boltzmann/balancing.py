"""Offsets between places far apart: weights that learn what a place looks like leave its share of the probability be.

A step that makes the machine truer of the rows in a rare place changes how probable the whole place is, as a rule by
far more. The gradient of weights adds up products of centred units, (v - a)(h - b). With a and b the means, these are
about 0 where most rows lie and large in a rare place: weights that learn what rare rows look like move their odds by
nats. Steps must be short, then, and little is learnt of rare rows.

Any offsets will do for centring (`centring`). These let the products vary least: what varies as the units themselves do
is left to the biases, and these tell how places share the probability. That is a regression of vh on v and h, with one
number for each unit,

    a = E[q v] / E[q],   q = Σ_j (h_j - b_j)(h_j - E[h_j])

and likewise b: means of the data, in which rows count the more, the farther off their other layers lie. Of two places
that are equally probable these are the plain means; of others they lie between the two.

References
----------
J. Melchior, A. Fischer and L. Wiskott, "How to center deep Boltzmann machines", JMLR 17 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace

from .centring import SLIDING
from .energy import variable
from .storage import BALANCE
from .topology import Topology

__all__ = ["Balance"]

_TINY = 1e-12


class Balance:
    """Offsets between places, followed from step to step.

    Parameters
    ----------
    topology : Topology
    offsets : sequence of Variables, one for each layer
        What units are centred on.
    arrays : dict of str to Variable
        Where it keeps what it goes on with: of each layer the mean, and how much all rows count in its offsets.
    """

    def __init__(self, topology: Topology, offsets: Sequence[Any], arrays: dict[str, Any]) -> None:
        self.topology, self.offsets, self.arrays = topology, offsets, arrays
        xp = array_namespace(offsets[0].value)
        for layer, offset in enumerate(offsets):
            one = xp.ones((1,), dtype=offset.value.dtype)
            for name, value in ((f"{BALANCE}mean.{layer}", offset.value), (f"{BALANCE}weight.{layer}", one)):
                if name not in arrays:
                    arrays[name] = variable(value, name)

    def followed(self, states: Sequence[Any], counts: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """The offsets after these states of data, and updates of all that is kept.

        Parameters
        ----------
        states : sequence with a Tensor for each layer
            Where a layer is summed out, its means.
        counts : Tensor of shape (states,)
            What each state counts; 1 in all, or less.
        """
        distances = [
            B.sum((state - offset) * (state - self._kept("mean", layer)), axis=1)
            for layer, (state, offset) in enumerate(zip(states, self.offsets, strict=True))
        ]
        offsets, moved = [], []
        for layer, (state, offset) in enumerate(zip(states, self.offsets, strict=True)):
            mean, weight = self._kept("mean", layer), self._kept("weight", layer)
            others = [low if high == layer else high for low, high in self.topology.connections if layer in (low, high)]
            part = counts * B.maximum(sum(distances[other] for other in others), 0.0)
            total = B.reshape(B.sum(part), (1,))
            added = weight + SLIDING * (total - weight)
            # Both sums, of q v and of q, slide alike; this is what their ratio becomes.
            step = SLIDING * (B.dot(part, state) - total * offset) / B.maximum(added, _TINY)
            offsets.append(offset + step)
            moved += [(mean, mean + SLIDING * (B.dot(counts, state) - mean)), (weight, added)]
        return offsets, [*moved, *zip(self.offsets, offsets, strict=True)]

    def _kept(self, name: str, layer: int) -> Any:
        return self.arrays[f"{BALANCE}{name}.{layer}"]
