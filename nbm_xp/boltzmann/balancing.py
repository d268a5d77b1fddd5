"""Steps that do not upset how places far apart share the probability: offsets between them, and a direction held back.

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

Along one direction steps change odds still: that along which the data vary most. The pace of learning (`tempered`)
applies there in full, and its fourth root to all else.

References
----------
J. Melchior, A. Fischer and L. Wiskott, "How to center deep Boltzmann machines", JMLR 17 (2016).
S. Amari, "Natural gradient works efficiently in learning", Neural Computation 10 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace

from .centring import SLIDING
from .model import variable
from .storage import BALANCE, balance_shapes
from .topology import Topology

__all__ = ["Balance"]

_TINY = 1e-12


class Balance:
    """Offsets between places, and the direction along which they lie apart, both followed from step to step.

    Parameters
    ----------
    topology : Topology
    offsets : sequence of Variables, one for each layer
        What units are centred on.
    arrays : dict of str to Variable
        Where it keeps what it goes on with.
    """

    def __init__(self, topology: Topology, offsets: Sequence[Any], arrays: dict[str, Any]) -> None:
        self.topology, self.offsets, self.arrays = topology, offsets, arrays
        xp, dtype = array_namespace(offsets[0].value), offsets[0].value.dtype
        for name, shape in balance_shapes(topology).items():
            if name not in arrays:
                arrays[name] = variable(xp.ones(shape, dtype=dtype), name)
                if not name.startswith((f"{BALANCE}weight", f"{BALANCE}direction")):
                    arrays[name].set_value(offsets[int(name.rsplit(".", 1)[1])].value)

    def followed(self, states: Sequence[Any], counts: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """The offsets after these states of data, and updates of all that is kept.

        Parameters
        ----------
        states : sequence with a Tensor for each layer
            Where a layer is summed out, its means.
        counts : Tensor of shape (states,)
            What each state counts; 1 in all, or less.
        """
        moved = [self._slid(f"mean.{layer}", B.dot(counts, states[layer])) for layer in self.topology.layers]
        weights = [0.0 * counts for _ in states]
        for low, high in self.topology.connections:
            for layer, other in ((low, high), (high, low)):
                distance = (states[other] - self.offsets[other]) * (states[other] - self._kept(f"mean.{other}"))
                weights[layer] = weights[layer] + B.sum(distance, axis=1)
        offsets = []
        for layer, weight in enumerate(weights):
            weight = counts * B.maximum(weight, 0.0)
            moved.append(self._slid(f"sum.{layer}", B.dot(weight, states[layer])))
            moved.append(self._slid(f"weight.{layer}", B.reshape(B.sum(weight), (1,))))
            offsets.append(moved[-2][1] / B.maximum(moved[-1][1], _TINY))
        apart = states[0] - self._kept("mean.0")
        moved.append(self._slid("direction", B.dot(counts * B.dot(apart, self._direction), apart)))
        return offsets, [*moved, *zip(self.offsets, offsets, strict=True)]

    def held(self, steps: Sequence[Any], share: Any) -> list[Any]:
        """Steps of weights and biases, those along the direction being so much shorter."""
        held, direction, count = list(steps), self._direction, len(self.topology.connections)
        for place, (low, _) in enumerate(self.topology.connections):
            if low == 0:
                along = B.dot((1.0 - share) * direction, steps[place])
                held[place] = steps[place] - direction[:, None] * along[None, :]
        held[count] = steps[count] - direction * B.sum((1.0 - share) * direction * steps[count])
        return held

    @property
    def _direction(self) -> Any:
        """Of length 1: the power method, a step of it for each of learning."""
        kept = self._kept("direction")
        return kept / B.sqrt(B.maximum(B.sum(B.square(kept)), _TINY))

    def _kept(self, name: str) -> Any:
        return self.arrays[BALANCE + name]

    def _slid(self, name: str, towards: Any) -> tuple[Any, Any]:
        """What is kept, and what it becomes."""
        kept = self._kept(name)
        return kept, kept + SLIDING * (towards - kept)
