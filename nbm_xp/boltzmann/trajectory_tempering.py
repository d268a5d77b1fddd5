"""Parallel trajectory tempering as a negative phase: chains on a ladder of earlier states of the machine.

Stored from step to step: the machines of the ladder (``ladder.weights.I-J`` and ``ladder.biases.I``, stacked along a
first axis), the states of the chains of these machines and of the machine in training (``ladder.state.I``, of shape
(machines, units, chains)), moving averages of the acceptance rates of exchanges (``ladder.accepted``), whether even or
odd pairs exchange next (``ladder.turn``), and the free energies of the states of the machine in training when they were
drawn (``ladder.free``). A copy of the machine in training, with the states of its chains, is added to the ladder when
its acceptance rate with the last machine of the ladder falls below a quarter. If two machines of the ladder become too
far apart, the mean of their parameters is inserted between them.

Exchanges move states between modes, but too slowly for a machine that changes fast: its negative phase then has
outdated probabilities of the modes, and training oscillates. So the states of the machine in training are resampled
after each step, with weights equal to the ratios of their new and old probabilities. And steps are multiplied by a pace
(``ladder.pace``), which limits the changes of these log-weights on average, and in each step: when modes separate, the
changes grow exponentially, and a few steps that are too long leave one mode alone. The offsets of
`learning_step.Balance` reduce the changes further.

Neighbours with an acceptance rate of a quarter may still share no state of a mode that has few of their states. No
exchange leads to that mode then, and its share of the states is arbitrary. So machines are also inserted where some
states of a machine are very improbable in the machine below (``ladder.alone`` is their fraction).

References
----------
N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
machines", ICLR 2025.
D. Carbone, M. Hua, S. Coste and E. Vanden-Eijnden, "Efficient training of energy-based models using Jarzynski
equality", NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Streams, Updates
from nbm_xp.machines.randomness import next_seed
from nbm_xp.namespace import array_namespace, asarray, to_numpy
from nbm_xp.tape import Function

from . import storage
from .annealing import base_model
from .bridging import LadderEstimate
from .chains import Machine
from .energy import Parameters, encoded, free_energy
from .ladder import Ladder, LadderChains, estimate, moved
from .negative_phase import NegativePhase, tree_sums
from .partition import constant
from .recording import State, repeated
from .storage import LADDER

CHAINS = 100  # smallest number of chains of each machine: they estimate the probabilities of distant modes
_LEAST = 0.25  # smallest acceptance rate with the last machine of the ladder
_FAR = 0.15  # smallest acceptance rate of other neighbours
_ALONE, _LONELY = -5.0, 0.02  # log-ratio below which a state is improbable in the machine below; largest such fraction
_MEMORY = 0.1  # weight of a step in the moving averages of the pairs that are due
EVERY = 8  # steps between two checks of these averages
_REACH = 0.1  # nats²: mean square of the largest change of a log-weight in a step
_MOST = 3.0  # largest square of such a change, in terms of this mean
_PACING = 0.02  # rate of adaptation of the pace
_SLOWEST = 1e-8  # smallest pace


class TemperedChains(NegativePhase):
    """Persistent chains on a ladder; `n_gibbs` is the number of exchanges, each followed by a sweep, in a step."""

    @property
    def arrays(self) -> dict[str, Array]:
        """The stored Variables by name."""
        return self.state.variables

    @property
    def ladder(self) -> Ladder:
        """The machines of the ladder and the machine in training."""
        topology = self.parameters.topology
        named = (self.arrays[LADDER + name] for name in storage.names(topology))
        rungs = Parameters.of(topology, named, in_columns=True)
        return Ladder(rungs, replace(self.parameters, in_columns=True), int(rungs.biases[0].value.shape[0]))

    @property
    def chains(self) -> int:
        """Number of chains of each machine."""
        return int(self._states()[0].value.shape[2])

    @property
    def key(self) -> Hashable:
        """The key of compiled steps, which depend on the number of machines."""
        return "ptt", self.ladder.pairs

    def begin(self, count: int) -> None:
        """Create a ladder of the base-rate model alone, with chains of zeros, if there is none."""
        topology, like = self.parameters.topology, self.state.like
        xp = array_namespace(like)
        if f"{LADDER}turn" in self.arrays:
            return
        shapes = storage.ladder_shapes(topology, 2, max(count, CHAINS))
        made = {name: xp.zeros(shape, dtype=like.dtype) for name, shape in shapes.items()}
        made["biases.0"] = asarray(base_model(Machine.of(self.state)).bias, xp, like.dtype)[None, :]
        made |= {name: xp.ones((1,), dtype=like.dtype) for name in ("accepted", "pace")}
        self._keep(made)

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """Return states of the machine in training, and updates of the ladder."""
        topology, ladder, chains, rng = self.parameters.topology, self.ladder, self.chains, self.state.rng
        count, kept = len(topology.sizes), topology.retained
        states, updates = self._states() if self.is_block else self._resampled(rng), []
        names = [*(f"state.{layer}" for layer in kept), "turn", "accepted", "alone"]
        moving = [*kept, count, count + 1, count + 2]
        state: State = topology.with_retained(states)
        state += [self.arrays[LADDER + name] for name in names[len(kept) :]]

        def step(now: State) -> State:
            move = moved(ladder, now, now[count], chains, rng)
            measures = B.mean(move.chance, axis=1), B.mean(_unreachable(move.up, move.down), axis=1)
            averages = zip(now[count + 1 :], measures, strict=True)
            return [*move.state, move.turn, *(old + _MEMORY * move.due * (new - old) for old, new in averages)]

        state, moved_streams = repeated(step, state, moving, self.n_gibbs)
        updates += moved_streams
        updates += [(self.arrays[LADDER + name], state[place]) for name, place in zip(names, moving, strict=True)]
        return topology.with_retained(B.transpose(state[layer][-1, :, :]) for layer in kept), updates

    @property
    def chain_axes(self) -> dict[str, int]:
        """See `NegativePhase`."""
        return {f"{LADDER}state.{layer}": 2 for layer in self.parameters.topology.retained} | {f"{LADDER}free": 0}

    @property
    def changing(self) -> set[str]:
        """See `NegativePhase`."""
        return {*self.chain_axes, *(LADDER + name for name in ("turn", "accepted", "alone"))}

    def prepare(self) -> None:
        """Resample the states of the machine in training: their weights are relative to those of all its chains."""

        def build() -> Function:
            states = self._resampled(self.state.rng)
            return B.function([], [], updates=list(zip(self._states(), states, strict=True)), name="resample")

        self.state.function(("resample", self.key), build)()

    def join(self, blocks: Sequence[Mapping[str, Array]]) -> None:
        """Store the chains of all blocks, and the means of their acceptance rates."""
        super().join(blocks)
        shares = [block[f"{LADDER}free"].shape[0] / self.chains for block in blocks]
        names = f"{LADDER}accepted", f"{LADDER}alone"
        parts = ([share * block[name] for name in names] for share, block in zip(shares, blocks, strict=True))
        for name, mean in zip(names, tree_sums(parts), strict=True):
            self.arrays[name].set_value(mean)
        self.arrays[f"{LADDER}turn"].set_value(blocks[0][f"{LADDER}turn"])

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array]) -> Updates:
        """Update the stored free energies, from which `_resampled` computes changes; the chains have moved already."""
        return [(self.arrays[f"{LADDER}free"], free_energy(self.parameters, states)[: self.chains])]

    def paced(self, moved: Callable[[Array], Sequence[Array]]) -> tuple[Array, Updates]:
        """Return the pace of a step: see `NegativePhase`.

        The changes of the chains' log-weights grow with the numbers of units, and are largest for rare states far from
        the others: after a few steps that are too long, the number of such states oscillates between too many and none.
        The mean square of the largest change is kept at `_REACH` or below, and that of a step at `_MOST` times this:
        the pace falls immediately if it is larger, and recovers slowly.
        """
        pace = self.arrays[f"{LADDER}pace"]
        after = self.ladder.top.like(moved(B.reshape(pace, ())))
        gains = free_energy(self.ladder.top, self._tops()) - free_energy(after, self._tops())
        length = B.max(B.square(gains - B.mean(gains))) / _REACH
        factor = B.minimum(B.exp(_PACING * (1.0 - length)), B.sqrt(_MOST / B.maximum(length, 1e-6)))
        new = B.maximum(B.minimum(pace * factor, 1.0), _SLOWEST)
        return B.reshape(new, ()), [(pace, new)]

    def _tops(self) -> State:
        """Return the states of the machine in training."""
        return self.parameters.topology.with_retained(values[-1, :, :] for values in self._states())

    def _resampled(self, rng: Streams) -> State:
        """Return the states of all chains, after resampling those of the machine in training.

        The machine has changed since its states were drawn. Systematic resampling, with one uniform for all of them and
        weights equal to the ratios of new and old probabilities, gives distant modes their current probabilities
        without waiting for exchanges.
        """
        kept, chains, dtype = self.parameters.topology.retained, self.chains, self.parameters.dtype
        states, tops = self._states(), self._tops()
        gains = self.arrays[f"{LADDER}free"] - free_energy(self.ladder.top, tops)  # changes of log-weights
        weights = B.exp(gains - B.max(gains))
        bounds = B.cumsum(weights)[:-1] / B.sum(weights) * chains
        places = constant([float(place) for place in range(chains)], dtype)
        places = places + B.random_uniform((1,), dtype=dtype, rng=rng)
        passed = B.cast(B.less(bounds[None, :], places[:, None]), "int32")
        chosen = B.sum(passed, axis=1)  # the index of the state that each chain takes
        xp = array_namespace(chosen)
        return [
            B.concatenate([values[:-1, :, :], xp.take(tops[layer], chosen, axis=1)[None, :, :]], axis=0)
            for layer, values in zip(kept, states, strict=True)
        ]

    def count(self, rows: int) -> int:
        """Return the number of chains of the machine in training."""
        return self.chains

    def follow(self, number: int) -> bool:
        """Add the current machine to the ladder, or the mean of two neighbours that are too far apart."""
        if number % EVERY:
            return False
        accepted, alone = (to_numpy(self.arrays[LADDER + name].value).tolist() for name in ("accepted", "alone"))
        apart = [pair for pair, share in enumerate(accepted) if share < _FAR or alone[pair] > _LONELY]
        if accepted[-1] < _LEAST or alone[-1] > _LONELY:
            self._insert(len(accepted), 0.0)
        elif apart:
            self._insert(min(apart, key=lambda pair: (accepted[pair], pair)) + 1, 0.5)
        else:
            return False
        return True

    def _insert(self, place: int, below: float) -> None:
        """Insert a machine below the machine at index `place`: a mixture with weight `below` of the machine below it.

        It starts with the states of the machine at `place`, and with acceptance rates of 1.
        """
        topology = self.parameters.topology
        xp = array_namespace(self.parameters.biases[0].value)
        made = {}
        for name, top in zip(storage.names(topology), self.parameters, strict=True):
            rungs = self.arrays[LADDER + name].value
            above = top.value[None, ...] if place == rungs.shape[0] else rungs[place : place + 1, ...]
            mixed = below * rungs[place - 1 : place, ...] + (1.0 - below) * above if below else above
            made[name] = xp.concat([rungs[:place, ...], mixed, rungs[place:, ...]], axis=0)
        for layer in topology.retained:
            states = self.arrays[f"{LADDER}state.{layer}"].value
            made[f"state.{layer}"] = xp.concat(
                [states[:place, ...], states[place:, ...][:1, ...], states[place:, ...]], axis=0
            )
        # The pair below a copy keeps its averages; a mixture has two new pairs.
        first = place - 1 if below else place
        for name, value in (("accepted", 1.0), ("alone", 0.0)):
            old = self.arrays[LADDER + name].value
            fresh = xp.full((place - first + 1,), value, dtype=old.dtype)
            made[name] = xp.concat([old[:first], fresh, old[place:]], axis=0)
        self._keep(made)

    def _keep(self, made: dict[str, Array]) -> None:
        for name, value in made.items():
            self.state.stored(LADDER + name, value).replace_value(value)

    def estimate(self, steps: int) -> LadderEstimate:
        """Return log Z estimated by 100 to 200 more steps of the ladder with fixed machines.

        The first half of them is burn-in: the parameters are correlated with the states that they were trained on.
        """
        count, topology = 4 * min(max(steps // 20, 25), 50), self.parameters.topology
        machine, seed = Machine.of(self.state), next_seed(self.state.rng)
        chains = LadderChains(machine, seed, layers=(), purpose="chains on the ladder of a training")
        states, up, down = chains.measured(chains.start(0, self.chains), 0, 0, count)
        for layer, kept, values in zip(topology.retained, self._states(), states, strict=True):
            kept.set_value(asarray(encoded(self.ladder.top, layer, values), array_namespace(kept.value)))
        free = [(self.arrays[f"{LADDER}free"], free_energy(self.ladder.top, self._tops()))]
        self.state.function(("free", self.key), lambda: B.function([], [], updates=free, name="free"))()
        return estimate(machine, up, down)

    def _states(self) -> State:
        return [self.arrays[f"{LADDER}state.{layer}"] for layer in self.parameters.topology.retained]


def _unreachable(up: Array, down: Array) -> Array:
    """Return 1 for each state of the higher machine of a pair that is very improbable in the lower one, else 0."""
    lightest = B.min(up, axis=1, keepdims=True)
    rise = B.log(B.mean(B.exp(lightest - up), axis=1, keepdims=True)) - lightest  # of log Z
    return B.cast(B.less(rise - down, _ALONE), B.dtype(up))
