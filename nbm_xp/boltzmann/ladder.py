"""Replica exchange between machines, and the ladder of a training: chains of several machines that exchange states.

All machines have the same number of chains. In a step, neighbours exchange the states of their chains, even and odd
pairs in alternate steps, with the Metropolis probability: for machines a and b with states x and y it is
min(1, exp(F_a(x) + F_b(y) - F_a(y) - F_b(x))), where F is the free energy of the layers that a sweep starts from. Then
each chain does a sweep of its machine. The first machine has no weights, so its sweep draws exact states that are
independent of the previous ones; exchanges move them up the ladder.

The machines of a ladder are earlier states of one machine during its training. The differences of free energies that
determine the exchanges also give log Z along the ladder: see `bridging`.

References
----------
N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
machines", ICLR 2025.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, Streams
from nbm_xp.machines.diagnostics import effective_size, r_hat
from nbm_xp.machines.exchanges import due, odd_pairs
from nbm_xp.machines.randomness import ChainFunction, ChainStreams
from nbm_xp.namespace import array_namespace, asarray, from_blocks, host_namespace, to_numpy

from .bridging import LadderEstimate, bennett, disagreement, overlap
from .chains import Chains, Machine, States, beside, in_order
from .energy import Parameters, decoded, encoded, free_energy, local_field, log_partition_without_weights, sweep
from .partition import constant
from .recording import Form, Recorded, State

STEPS = 400  # default number of steps on a ladder, for chains to reach equilibrium and for estimates of log Z

Compared: TypeAlias = tuple[Array, Array, Callable[[Array], dict[int, Array]]]


class Move(NamedTuple):
    """A step of replicas.

    Attributes
    ----------
    state : list
        The new states of each layer, of shape (machines, units, chains).
    means : list
        The means that they were drawn with.
    turn : Tensor of shape (1,)
        `turn` of the next step.
    due : Tensor of shape (pairs,)
        1 for the pairs of neighbours that attempted exchanges, else 0. `chance`, `up` and `down` of the other pairs are
        not meaningful.
    chance : Tensor of shape (pairs, chains)
        Probabilities of exchanges.
    swap : Tensor of shape (pairs, chains)
        1 where states were exchanged, else 0; 0 for pairs that attempted no exchange.
    up, down : Tensor of shape (pairs, chains)
        The free energy of the lower machine's state in the higher machine minus that in its own, and of the higher
        machine's state in the lower machine minus that in its own.
    """

    state: State
    means: State
    turn: Array
    due: Array
    chance: Array
    swap: Array
    up: Array
    down: Array


class Replicas(Protocol):
    """Machines whose neighbours can exchange states."""

    @property
    def top(self) -> Parameters:
        """Parameters of the last machine."""

    @property
    def pairs(self) -> int:
        """Number of pairs of neighbours."""

    def compared(self, own: State, offered: State, partners: Array) -> Compared:
        """Return `up` and `down` of a `Move`, and a function from exchanges to local fields of marginalised layers.

        `own` are the states of each machine, and `offered` those of its partner.
        """

    def local_field(self, layer: int, state: Sequence[Array]) -> Array:
        """Return the local field of a layer in each machine."""


def moved(replicas: Replicas, state: Sequence[Array], turn: Array, chains: int, rng: Streams) -> Move:
    """Do a step of replicas: exchanges, then a sweep.

    Parameters
    ----------
    replicas : Replicas
    state : sequence of Tensors of shape (machines, units, chains)
        States of the layers of ``topology.retained``; the other entries are not read.
    turn : Tensor of shape (1,)
        0 if even pairs exchange, 1 if odd pairs do.
    chains : int
        Number of chains of each machine.
    rng : RandomStreams
        Draws a uniform for each pair and chain; then each layer draws for all machines at once, in the order of
        `energy.sweep`.
    """
    topology, dtype, pairs = replicas.top.topology, replicas.top.dtype, replicas.pairs
    end, paired = constant([0.0], dtype), due(constant(odd_pairs(pairs), dtype), turn)
    lower, higher = B.concatenate([paired, end], axis=0), B.concatenate([end, paired], axis=0)  # by machine
    # The partner of each machine; the machine itself if it has none.
    partners = B.cast(constant([float(number) for number in range(pairs + 1)], dtype) + lower - higher, "int32")
    xp = array_namespace(partners)
    now = [state[layer] if layer in topology.retained else None for layer in topology.layers]

    def of_partner(layer: int, mine: Array) -> Array:
        """Copy states in the format of data, which is shorter for categorical units."""
        return encoded(replicas.top, layer, xp.take(decoded(replicas.top, layer, mine), partners, axis=0))

    offered = [None if mine is None else of_partner(layer, mine) for layer, mine in enumerate(now)]
    up, down, known_after = replicas.compared(now, offered, partners)
    chance = B.exp(B.minimum(-(up + down), 0.0))
    swap = B.cast(B.less(B.random_uniform((pairs, chains), dtype=dtype, rng=rng), chance), dtype) * paired[:, None]
    none = swap[:1, :] * 0
    swapped = (B.concatenate([swap, none], axis=0) + B.concatenate([none, swap], axis=0))[:, None, :] > 0
    now = [None if mine is None else xp.where(swapped, other, mine) for mine, other in zip(now, offered, strict=True)]
    known = known_after(swapped)

    def field(layer: int, states: Sequence[Array]) -> Array:
        return known[layer] if layer in known else replicas.local_field(layer, states)

    after, means = sweep(replicas.top, now, (pairs + 1, chains), rng, field=field)
    return Move(after, means, 1 - turn, paired, chance, swap, up, down)


@dataclass(frozen=True)
class Ladder:
    """Machines of one topology with parameters of their own.

    Attributes
    ----------
    rungs : Parameters
        Stacked parameters of the machines below the last one; the first is the base-rate model.
    top : Parameters
        Parameters of the last machine.
    pairs : int
        Number of machines below the last one.
    """

    rungs: Parameters
    top: Parameters
    pairs: int

    def compared(self, own: State, offered: State, partners: Array) -> Compared:
        """See `Replicas`."""
        layers, xp = self.top.topology.marginalised, array_namespace(partners)
        fields, foreign = ({layer: self.local_field(layer, states) for layer in layers} for states in (own, offered))
        here, there = self._free_energy(own, fields), self._free_energy(offered, foreign)

        def known_after(swapped: Array) -> dict[int, Array]:
            return {layer: xp.where(swapped, foreign[layer], fields[layer]) for layer in layers}

        return there[1:, :] - here[:-1, :], there[:-1, :] - here[1:, :], known_after

    def local_field(self, layer: int, state: Sequence[Array]) -> Array:
        """Return the local field of a layer in each machine."""
        below, above = _split(state)
        return _stacked(local_field(self.rungs, layer, below), local_field(self.top, layer, above))

    def _free_energy(self, state: State, inputs: Mapping[int, Array]) -> Array:
        """Return the free energy of each machine's states, given the local fields of the marginalised layers."""
        below, above = _split(state)
        return _stacked(
            free_energy(self.rungs, below, known={layer: part[:-1, :, :] for layer, part in inputs.items()}),
            free_energy(self.top, above, known={layer: part[-1, :, :] for layer, part in inputs.items()}),
        )


def _split(state: Sequence[Array]) -> tuple[State, State]:
    """Return the states of the machines below the last one, and of the last one."""
    below = [None if part is None else part[:-1, :, :] for part in state]
    return below, [None if part is None else part[-1, :, :] for part in state]


def _stacked(below: Array, above: Array) -> Array:
    return B.concatenate([below, above[None, ...]], axis=0)


class ReplicaChains(Chains):
    """Chains of several machines, which exchange states: a sweep is a step of `moved`.

    The carried states have the shape (machines, sites, chains). The shown states are those of the last machine.
    """

    def _schedule(self, number: int) -> Sequence[Array]:
        """Return `turn` of a step: 0 if even pairs exchange, 1 if odd pairs do."""
        return [asarray([float(number % 2)], self.xp, self.machine.dtype)]


class LadderChains(ReplicaChains):
    """The chains of a machine on the ladder of its training; each has a replica in each machine.

    They start from the last states of the training's chains, repeated if there are more chains. They measure `up` and
    `down` of a `Move`.

    Parameters
    ----------
    machine : Machine
        The machine of a model that was trained with ``training="ptt"``.
    seed, layers, means, purpose
        See `Chains`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rows = np.repeat(np.eye(2, 6, dtype="float32"), 50, axis=0)
    >>> machine = Machine.of(RBM(4, n_iter=3, training="ptt", random_state=0).fit(rows).state_)
    >>> chains = LadderChains(machine, seed=1)
    >>> whole = chains.advance(chains.start(0, 8), 0, 0, 10)
    >>> part = chains.advance(chains.start(5, 3), 5, 0, 4)
    >>> part = chains.advance(part, 5, 4, 6)
    >>> bool((part[0] == whole[0][..., 5:]).all())
    True
    """

    default_purpose = "chains on a ladder"

    def start(self, offset: int, rows: int) -> States:
        """Return the initial states of a block of chains: see `Chains.start`."""
        found, topology = [], self.topology
        columns = Parameters(topology, (), (), in_columns=True)
        for layer, states in zip(topology.retained, self.machine.ended, strict=True):
            shape = (int(states.shape[0]), topology.sites[layer], rows)
            split = {"chunks": (-1, -1, self.chunks)} if self.machine.is_lazy else {}
            given = to_numpy(decoded(columns, layer, states)), offset
            found.append(from_blocks(self.xp, _again, shape, self.machine.dtype, args=given, name="ladder", **split))
        return in_order(found)

    def measured(self, states: Sequence[Array], offset: int, first: int, n_sweeps: int) -> tuple[States, Array, Array]:
        """Return the states after `n_sweeps` sweeps, a multiple of 4, and `up` and `down` of the second half of them.

        `up` and `down` have the shape (measurements, pairs, chains): each pair is measured once in two sweeps, when it
        attempts exchanges.
        """
        half, up, down = n_sweeps // 2, [], []
        now = self.advance(states, offset, first, half)
        for draw in self.walk(now, offset, first + half, half):
            now = draw.states
            up.append(draw.measured[0])
            down.append(draw.measured[1])
        xp = self.xp
        in_turn = [[pairs_in_turn(*part[k : k + 2]) for k in range(0, half, 2)] for part in (up, down)]
        return now, xp.stack(in_turn[0], axis=0), xp.stack(in_turn[1], axis=0)

    def _step(self, rows: int) -> ChainFunction:
        return self._compiled(_record_ladder, rows, self.machine.n_pairs, self.layers, self.means)

    def _constants(self) -> Sequence[Array]:
        return (*self.machine.arrays, *self.machine.ladder)


def _again(offset: tuple[int, ...], shape: tuple[int, ...], states: Array, first: int) -> Array:
    """Return a block of chains from states that are repeated cyclically."""
    xp = array_namespace(states)
    return xp.take(states, (xp.arange(shape[2]) + first + offset[2]) % states.shape[2], axis=2)


def _record_ladder(form: Form, streams: ChainStreams, pairs: int, layers: tuple[int, ...], means: bool) -> Recorded:
    weights, top = form.parameters()
    below, rungs = form.parameters(pairs)
    inputs, state = form.states(top, form.topology.retained, pairs + 1)
    turn = B.placeholder(shape=(1,), dtype=form.dtype)
    move = moved(Ladder(rungs, top, pairs), state, turn, form.n_chains, streams)
    return [*inputs, *weights, *below, turn], [*shown_of_top(top, move, layers, means), move.up, move.down]


def shown_of_top(top: Parameters, move: Move, layers: Sequence[int], means: bool) -> State:
    """Return the carried states of all machines, and the shown states of the last machine."""
    after = [decoded(top, layer, part) for layer, part in enumerate(move.state)]
    shown = move.means if means else after
    return [*(after[layer] for layer in top.topology.retained), *(shown[layer][-1, :, :] for layer in layers)]


class LadderMeasures(LadderChains):
    """`LadderChains` whose `collect` returns the input of `estimate`: `up` and `down` of the second half of sweeps."""

    def log_partition(self, n_chains: int, n_sweeps: int, library: str | None, chunks: Chunks = None) -> LadderEstimate:
        """Return log Z estimated by `n_sweeps` sweeps, rounded down to a multiple of 4; see `Chains.last`."""
        host, sweeps = host_namespace(), n_sweeps - n_sweeps % 4
        shape = sweeps // 4, self.machine.n_pairs, n_chains
        up, down = (host.reshape(part.T, shape) for part in self.computed(n_chains, sweeps, library, chunks))
        return estimate(self.machine, up, down)

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [n_sweeps // 4 * self.machine.n_pairs] * 2

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """See `Chains`; `n_sweeps` must be a multiple of four."""
        xp, (_, *measured) = self.xp, self.measured(self.start(offset, rows), offset, 0, n_sweeps)
        return beside([xp.matrix_transpose(xp.reshape(part, (-1, rows))) for part in measured])


def pairs_in_turn(first: Array, second: Array) -> Array:
    """Return, from measurements of shape (pairs, chains) in two steps, those of the step in which each pair was due."""
    xp = array_namespace(first)
    even = asarray([[pair % 2 == 0] for pair in range(int(first.shape[0]))], xp)
    return xp.where(even, first, second)


def estimate(machine: Machine, up: Array, down: Array) -> LadderEstimate:
    """Estimate log Z of a machine from the measurements of all pairs of neighbours on its ladder.

    Parameters
    ----------
    machine : Machine
    up, down : array of shape (measurements, pairs, chains)
        See `Move`.
    """
    xp, count = host_namespace(), len(machine.topology.connections)
    up, down = (asarray(to_numpy(part), xp, "float64") for part in (up, down))
    biases = [constant(to_numpy(bias[0, :]), "float64") for bias in machine.ladder[count:]]
    base = float(B.eval(log_partition_without_weights(machine.topology, biases)))
    (rise, error), apart = bennett(up, down), disagreement(up, down)
    acceptance = xp.mean(xp.exp(xp.minimum(-(up + down), xp.zeros((), dtype=up.dtype))), axis=(0, 2))
    looks = down[:, -1, :].T
    enough = looks.shape[1] >= 4
    effective, found = (float(of(looks)) if enough else math.nan for of in (effective_size, r_hat))
    shares = tuple(float(share) for share in acceptance)
    return LadderEstimate(base + rise, math.hypot(error, apart), shares, effective, found, apart, overlap(up, down))
