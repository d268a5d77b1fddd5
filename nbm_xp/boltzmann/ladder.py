"""A ladder of machines: those met while one learns, up to the one that it is now, whose chains exchange their states.

Each machine has as many chains as the others. In a step, neighbours on the ladder exchange the states of their chains,
every other pair in turn, with the probability of Metropolis: that of machines a and b with states x and y is
min(1, exp(F_a(x) + F_b(y) - F_a(y) - F_b(x))), where F is the free energy of the layers that a sweep begins with. Then
each chain makes a sweep of its own machine. The first machine has no weights, so that its sweep draws new states of it,
exactly and independent of the last ones; step by step they are handed up.

The differences of free energies that decide on exchanges tell log Z along the ladder besides: see `bridging`.

References
----------
N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
machines", ICLR 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nbm_xp import natural_bm as B
from nbm_xp.machines.exchanges import due, odd_pairs
from nbm_xp.namespace import array_namespace

from . import storage
from .energy import Parameters, free_energy, local_field, shape_of, sweep
from .partition import constant

__all__ = ["LADDER", "Ladder", "Move", "ladder_of_arrays"]

LADDER = "ladder."
"""What the names of a ladder's arrays begin with."""

State = list[Any]


class Move(NamedTuple):
    """A step on the ladder.

    Attributes
    ----------
    state : list
        Of each layer the new states, of shape (machines, chains, units).
    means : list
        What they were drawn with.
    turn : Tensor of shape (1,)
        For the next step.
    due : Tensor of shape (pairs,)
        1 for the pairs of neighbours that had their turn, else 0. What the others have below means nothing.
    chance : Tensor of shape (pairs, chains)
        The probability of an exchange.
    up, down : Tensor of shape (pairs, chains)
        How much more free energy the lower machine's state has in the higher machine, and the higher one's in the
        lower machine.
    """

    state: State
    means: State
    turn: Any
    due: Any
    chance: Any
    up: Any
    down: Any


@dataclass(frozen=True)
class Ladder:
    """Machines of one topology.

    Attributes
    ----------
    rungs : Parameters
        Those that are kept, stacked, the one without weights first.
    top : Parameters
        The last one.
    """

    rungs: Parameters
    top: Parameters

    @property
    def pairs(self) -> int:
        """How many pairs of neighbours there are: as many as machines that are kept."""
        return shape_of(self.rungs.biases[0])[0]

    def move(self, state: Sequence[Any], turn: Any, chains: int, rng: Any) -> Move:
        """Exchange, then sweep.

        Parameters
        ----------
        state : sequence of Tensors of shape (machines, chains, units)
            In the layers of ``topology.retained``; others are not looked at.
        turn : Tensor of shape (1,)
            0 or 1: whether even or odd pairs have their turn.
        chains : int
        rng : RandomStreams
            It draws a uniform for each pair and chain; then each layer draws for all machines at once, in the order of
            `energy.sweep`.
        """
        topology, dtype = self.top.topology, self.top.dtype
        end, paired = constant([0.0], dtype), due(constant(odd_pairs(self.pairs), dtype), turn)
        lower, higher = B.concatenate([paired, end], axis=0), B.concatenate([end, paired], axis=0)  # of machines
        # The machine next to each, with which it makes a pair; itself where it makes none.
        partners = B.cast(constant([float(rung) for rung in range(self.pairs + 1)], dtype) + lower - higher, "int32")
        xp = array_namespace(partners)
        now = [state[layer] if layer in topology.retained else None for layer in topology.layers]
        other = [None if part is None else xp.take(part, partners, axis=0) for part in now]
        both = [_beside(mine, theirs) for mine, theirs in zip(now, other, strict=True)]
        inputs = {layer: self._local_field(layer, both) for layer in topology.marginalised}
        weighed = self._free_energy(both, inputs)
        own, foreign = weighed[:, :chains], weighed[:, chains:]
        up, down = foreign[1:, :] - own[:-1, :], foreign[:-1, :] - own[1:, :]
        chance = B.exp(B.minimum(-(up + down), 0.0))
        drawn = B.random_uniform((self.pairs, chains), dtype=dtype, rng=rng)
        swap = B.cast(B.less(drawn, chance), dtype) * paired[:, None]
        none = swap[:1, :] * 0
        swapped = (B.concatenate([swap, none], axis=0) + B.concatenate([none, swap], axis=0))[:, :, None] > 0
        now = [
            None if mine is None else xp.where(swapped, theirs, mine) for mine, theirs in zip(now, other, strict=True)
        ]
        known = {layer: xp.where(swapped, part[:, chains:, :], part[:, :chains, :]) for layer, part in inputs.items()}

        def known_field(layer: int, states: Sequence[Any]) -> Any:
            return known[layer] if layer in known else self._local_field(layer, states)

        moved, means = sweep(self.top, now, (self.pairs + 1, chains), rng, field=known_field)
        return Move(moved, means, 1 - turn, paired, chance, up, down)

    def _local_field(self, layer: int, state: Sequence[Any]) -> Any:
        """What a layer of each machine receives."""
        below, above = _split(state)
        return _stacked(local_field(self.rungs, layer, below), local_field(self.top, layer, above))

    def _free_energy(self, state: State, inputs: Mapping[int, Any]) -> Any:
        """The free energy of each machine's states, of which it is known what the summed layers receive."""
        below, above = _split(state)
        return _stacked(
            free_energy(self.rungs, below, known={layer: part[:-1, :, :] for layer, part in inputs.items()}),
            free_energy(self.top, above, known={layer: part[-1, :, :] for layer, part in inputs.items()}),
        )


def ladder_of_arrays(parameters: Parameters, arrays: Mapping[str, Any]) -> Ladder:
    """The ladder below a machine, from what is kept of it."""
    rungs = (arrays[LADDER + name] for name in storage.names(parameters.topology))
    return Ladder(Parameters.of(parameters.topology, rungs, stacked=True), parameters)


def _beside(mine: Any, theirs: Any) -> Any:
    return None if mine is None else B.concatenate([mine, theirs], axis=1)


def _split(state: Sequence[Any]) -> tuple[State, State]:
    """The states of the machines that are kept, and of the top."""
    below = [None if part is None else part[:-1, :, :] for part in state]
    return below, [None if part is None else part[-1, :, :] for part in state]


def _stacked(below: Any, above: Any) -> Any:
    return B.concatenate([below, above[None, ...]], axis=0)
