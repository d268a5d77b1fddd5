"""Training on a ladder of the machines met so far: parallel trajectory tempering as a negative phase.

What is kept from step to step: the machines of the ladder (``ladder.weights.I-J`` and ``ladder.biases.I``, stacked
along a first axis), the states of the chains of all of them and of the machine that learns (``ladder.state.I``, of
shape (machines, units, chains)), how often neighbours exchange states, averaged over the last steps
(``ladder.accepted``), whose turn it is (``ladder.turn``), and what free energy the states of the machine that learns
had when they were drawn (``ladder.free``). The machine that learns becomes a further rung, and its chains' states those
of the rung, as soon as it exchanges fewer than a quarter of its states with the last one. Where two rungs turn out to
be too far apart, the machine halfway between them comes in.

Exchanges bring states from place to place, but a machine that moves fast would be far away before they come; then it
learns from yesterday's shares of the places, and swings. So its own states are chosen anew after each step, in
proportion to what their probability has gained by it. And it goes no faster than they can follow: what the last steps
changed of the log-weights of its states sets the pace (``ladder.pace``) of learning. Offsets that let weights change
little of them besides are the matter of `balancing`.

Neighbours that accept a quarter of their exchanges may still share nothing of a place that few of their states lie in.
No exchange leads there then, and what share of the states is there is left to chance. So rungs come in, too, where the
machine below hardly ever has some of a machine's states (``ladder.alone`` is their share).

References
----------
N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
machines", ICLR 2025.
D. Carbone, M. Hua, S. Coste and E. Vanden-Eijnden, "Efficient training of energy-based models using Jarzynski
equality", NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Shape, Streams, Updates
from nbm_xp.machines.randomness import next_seed
from nbm_xp.namespace import array_namespace, asarray, to_numpy

from . import storage
from .annealing import base_model
from .bridging import LadderEstimate
from .chains import Machine
from .energy import encoded, free_energy, shape_of, variable
from .ladder import Ladder, LadderChains, estimate, ladder_of_arrays, moved
from .negative_phase import NegativePhase
from .partition import constant
from .recording import State, repeated
from .storage import LADDER
from .topology import Topology

__all__ = ["TemperedChains"]

_CHAINS = 100  # of each machine, at least: the balance between places far apart is known by how many are where
_LEAST = 0.25  # of the exchanges with the last rung
_FAR = 0.15  # of those between two others
_ALONE, _LONELY = -5.0, 0.02  # how much less, in logarithms, the machine below may make of a state; of how many states
_MEMORY = 0.1  # how much a step with a turn counts in the average acceptance
_EVERY = 8  # steps between two looks at it
_REACH = 0.1  # nats, squared: what a step may on average change of the log-weight of the state that it changes most
_PACING = 0.02  # how fast the pace follows
_SLOWEST = 1e-8


class TemperedChains(NegativePhase):
    """Chains on a ladder, which go on from step to step; `n_gibbs` counts exchanges, each followed by a sweep."""

    @property
    def arrays(self) -> dict[str, Array]:
        """What is kept, Variables by name."""
        return self.state.variables

    @property
    def ladder(self) -> Ladder:
        """The machines."""
        return ladder_of_arrays(self.parameters, self.arrays)

    @property
    def chains(self) -> int:
        """How many chains each machine has."""
        return shape_of(self.arrays[f"{LADDER}state.{self.parameters.topology.retained[0]}"])[2]

    @property
    def key(self) -> Hashable:
        """A step is compiled for so many machines."""
        return "ptt", self.ladder.pairs

    def begin(self, count: int) -> None:
        """A ladder of the base-rate machine alone, chains of zeros."""
        topology, like = self.parameters.topology, self.state.like
        xp = array_namespace(like)
        if f"{LADDER}turn" in self.arrays:
            return
        made = {name: xp.zeros((1, *shape), dtype=like.dtype) for name, shape in _shapes(topology).items()}
        made["biases.0"] = asarray(base_model(Machine.of_state(self.state)).bias, xp, like.dtype)[None, :]
        for layer in topology.retained:
            made[f"state.{layer}"] = xp.zeros((2, topology.sizes[layer], max(count, _CHAINS)), dtype=like.dtype)
        made |= {"alone": xp.zeros((1,), dtype=like.dtype), "pace": xp.ones((1,), dtype=like.dtype)}
        made |= {"accepted": xp.ones((1,), dtype=like.dtype), "turn": xp.zeros((1,), dtype=like.dtype)}
        made["free"] = xp.zeros((max(count, _CHAINS),), dtype=like.dtype)
        self._keep(made)

    def draw(self, given: Sequence[Array], rows: int | None) -> tuple[State, Updates]:
        """States of the machine that learns, and whatever becomes of the ladder."""
        topology, ladder, chains, rng = self.parameters.topology, self.ladder, self.chains, self.state.rng
        count, kept = len(topology.sizes), topology.retained
        gains = self._gains()
        names = [*(f"state.{layer}" for layer in kept), "turn", "accepted", "alone"]
        moving = [*kept, count, count + 1, count + 2]
        state: State = topology.with_retained(self._followed(gains, rng))
        state += [self.arrays[LADDER + name] for name in names[len(kept) :]]

        def step(now: State) -> State:
            move = moved(ladder, now, now[count], chains, rng)
            measures = B.mean(move.chance, axis=1), B.mean(_unreachable(move.up, move.down), axis=1)
            averages = zip(now[count + 1 :], measures, strict=True)
            return [*move.state, move.turn, *(old + _MEMORY * move.due * (new - old) for old, new in averages)]

        state, updates = repeated(step, state, moving, self.n_gibbs)
        updates += [(self.arrays[LADDER + name], state[place]) for name, place in zip(names, moving, strict=True)]
        updates.append((self.arrays[f"{LADDER}pace"], self._paced(gains)))
        return topology.with_retained(B.transpose(state[layer][-1, :, :]) for layer in kept), updates

    def go_on(self, drawn: Sequence[Array], states: Sequence[Array]) -> Updates:
        """The chains have moved already: what energy they have now, for `_followed` to compare."""
        return [(self.arrays[f"{LADDER}free"], free_energy(self.parameters, states)[: self.chains])]

    @property
    def pace(self) -> Array:
        """What the learning rate is multiplied by."""
        return B.reshape(self.arrays[f"{LADDER}pace"], ())

    def _paced(self, gains: Array) -> Array:
        """The pace after a step that gave the chains so much, in logarithms.

        What a step changes of log-weights grows with the numbers of units, and is largest for rare states far from the
        others: a few steps that are too long for them, and the machine swings between having too many and none. The
        square of the largest change is to be `_REACH` at most, on average; the rate falls at once where it is more, and
        recovers slowly.
        """
        length = B.max(B.square(gains - B.mean(gains))) / _REACH
        pace = self.arrays[f"{LADDER}pace"] * B.exp(B.maximum(_PACING * (1.0 - length), -1.0))
        return B.maximum(B.minimum(pace, 1.0), _SLOWEST)

    def _tops(self) -> State:
        """The states of the machine that learns."""
        return self.parameters.topology.with_retained(values[-1, :, :] for values in self._states())

    def _gains(self) -> Array:
        """What the logarithm of the weight of each of its states has gained by the last step."""
        return self.arrays[f"{LADDER}free"] - free_energy(self.ladder.top, self._tops())

    def _followed(self, gains: Array, rng: Streams) -> State:
        """The states of all chains, those of the machine that learns being chosen anew among themselves.

        Since they were drawn, the machine has moved: each is worth what its probability has gained. They are chosen in
        proportion to that (systematically: one uniform serves all), so that places far apart have the shares that the
        machine gives them now, and need not wait for exchanges.
        """
        kept, chains, dtype = self.parameters.topology.retained, self.chains, self.parameters.dtype
        states, tops = self._states(), self._tops()
        weights = B.exp(gains - B.max(gains))
        bounds = B.cumsum(weights)[:-1] / B.sum(weights) * chains
        places = constant([float(place) for place in range(chains)], dtype)
        places = places + B.random_uniform((1,), dtype=dtype, rng=rng)
        passed = B.cast(B.less(bounds[None, :], places[:, None]), "int32")
        chosen = B.sum(passed, axis=1)  # whose state each chain takes
        xp = array_namespace(chosen)
        return [
            B.concatenate([values[:-1, :, :], xp.take(tops[layer], chosen, axis=1)[None, :, :]], axis=0)
            for layer, values in zip(kept, states, strict=True)
        ]

    def count(self, rows: int) -> int:
        """The chains of the machine that learns."""
        return self.chains

    def follow(self, number: int) -> bool:
        """Make the machine as it is a further rung, or one halfway between two that lost touch with one another."""
        if number % _EVERY:
            return False
        accepted = [float(share) for share in to_numpy(self.arrays[f"{LADDER}accepted"].value)]
        alone = [float(share) for share in to_numpy(self.arrays[f"{LADDER}alone"].value)]
        apart = [pair for pair, share in enumerate(accepted) if share < _FAR or alone[pair] > _LONELY]
        if accepted[-1] < _LEAST or alone[-1] > _LONELY:
            self._insert(len(accepted), 0.0)
        elif apart:
            self._insert(min(apart, key=lambda pair: (accepted[pair], pair)) + 1, 0.5)
        else:
            return False
        return True

    def _insert(self, place: int, below: float) -> None:
        """A rung before the machine at a place: that machine, mixed with so much of the one below it.

        It begins with that machine's states, and with the hope that its neighbours exchange all of theirs with it.
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
        # The pair below the new rung is as far apart as it was, unless the rung is between the two.
        first = place - 1 if below else place
        for name, value in (("accepted", 1.0), ("alone", 0.0)):
            old = self.arrays[LADDER + name].value
            fresh = xp.full((place - first + 1,), value, dtype=old.dtype)
            made[name] = xp.concat([old[:first], fresh, old[place:]], axis=0)
        self._keep(made)

    def _keep(self, made: dict[str, Array]) -> None:
        for name, value in made.items():
            self.arrays[LADDER + name] = variable(value, LADDER + name)

    def estimate(self, steps: int) -> LadderEstimate:
        """Log Z, by 100 to 200 more steps of the ladder, which hold the machine as it is.

        The first half of them does not count: the machine was made to agree with the states that it had then.
        """
        count, topology = 4 * min(max(steps // 20, 25), 50), self.parameters.topology
        machine, seed = Machine.of_state(self.state), next_seed(self.state.rng)
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
    """1 for each state of the higher machine of a pair that the lower one hardly ever has, else 0."""
    lightest = B.min(up, axis=1, keepdims=True)
    rise = B.log(B.mean(B.exp(lightest - up), axis=1, keepdims=True)) - lightest  # of log Z
    return B.cast(B.less(rise - down, _ALONE), B.dtype(up))


def _shapes(topology: Topology) -> dict[str, Shape]:
    shapes = storage.shapes(topology)
    return {name: shapes[name] for name in storage.names(topology)}
