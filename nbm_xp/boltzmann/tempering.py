"""Parallel tempering: each chain has replicas at several inverse temperatures, and neighbours exchange their states.

A replica at inverse temperature β samples the model between the base-rate model, β = 0, which mixes at once, and the
model itself, β = 1. Neighbouring replicas exchange their states as those of a ladder do (`ladder.moved`). So the
replica at β = 1 gets states from places that its own sweeps would hardly reach.

References
----------
G. Desjardins, A. Courville, Y. Bengio, P. Vincent and O. Delalleau, "Parallel tempering for training of restricted
Boltzmann machines", AISTATS 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.exchanges import distances, laid_out
from nbm_xp.machines.randomness import ChainFunction, ChainStreams
from nbm_xp.namespace import array_namespace, asarray, host_namespace, library_name, to_numpy

from .annealing import STAGE, Path, adaptive_temperatures
from .chains import States, beside
from .energy import Parameters
from .ladder import Compared, ReplicaChains, moved, shown_of_top
from .recording import Form, Recorded, State
from .state import Machine

__all__ = ["TemperingChains", "adaptive_replicas"]

_REPLICAS = 20  # of each temperature, in the pilot that places them
_SETTLING, _COUNTED, _ROUNDS = 40, 60, 3  # steps of it before its exchanges count, and after; how often it is run
_ACCEPTANCE = 0.3


@dataclass(frozen=True)
class Tempered:
    """The models of a path at inverse temperatures, a Tensor of shape (replicas, 1, 1), as `ladder.Replicas`."""

    path: Path
    betas: Array

    @property
    def top(self) -> Parameters:
        """The model at the end of the path, whose layers all of them have."""
        return self.path.last

    @property
    def pairs(self) -> int:
        """One less than there are temperatures."""
        return int(self.betas.shape[0]) - 1

    def compared(self, state: State, partners: Array, chains: int) -> Compared:
        """See `Replicas`: what units receive differs by the temperature alone, and moves with the states."""
        xp = array_namespace(partners)
        there = xp.take(self.betas, partners, axis=0)
        gain, fields = self.path.log_ratio(there, self.betas, state)

        def known_after(swapped: Array) -> dict[int, Array]:
            def own(part: Array) -> Array:
                return None if part is None else xp.where(swapped, xp.take(part, partners, axis=0), part)

            return {layer: self.path.mixed(self.betas, (own(low), own(high))) for layer, (low, high) in fields.items()}

        return -gain[:-1, :], -gain[1:, :], known_after

    def local_field(self, layer: int, state: Sequence[Array]) -> Array:
        """What a layer of each replica receives."""
        return self.path.mixed(self.betas, self.path.local_fields(layer, state))


class TemperingChains(ReplicaChains):
    """The chains of parallel tempering, one at each temperature, which exchange states.

    They begin with states of the model without weights, and measure which pairs exchanged their states; `collect`
    gives, after what is shown of the model itself, the share of its turns in which each pair did.

    Parameters
    ----------
    machine, seed, layers, means, purpose
        See `Chains`.
    betas : sequence of float
        Inverse temperatures, rising from 0 to 1.
    """

    default_purpose = "parallel tempering"

    def __init__(
        self,
        machine: Machine,
        seed: int,
        betas: Sequence[float],
        *,
        layers: Sequence[int] = (0,),
        means: bool = False,
        purpose: str | None = None,
    ) -> None:
        super().__init__(machine.bounded, seed, layers=layers, means=means, purpose=purpose)
        self.betas = tuple(float(beta) for beta in betas)
        self.n_machines = len(self.betas)

    def _step(self, rows: int) -> ChainFunction:
        return self._compiled(_record_tempering, rows, len(self.betas), self.layers, self.means)

    def _constants(self) -> Sequence[Array]:
        xp, dtype = self.xp, self.machine.dtype
        return (*self.machine.arrays, asarray(self.machine.base_bias, xp, dtype), asarray(self.betas, xp, dtype))

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [*super().widths(n_sweeps), len(self.betas) - 1]

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """See `Chains`."""
        shown, shares = self.counted(self.start(offset, rows), offset, 0, n_sweeps)
        return beside([self.xp.matrix_transpose(part) for part in (*shown, shares)])

    def counted(self, states: Sequence[Array], offset: int, first: int, n_sweeps: int) -> tuple[States, Array]:
        """What is shown after some sweeps, and each pair's share of exchanges, of shape (pairs, chains)."""
        made: Array = 0
        for draw in self.walk(states, offset, first, n_sweeps):
            made, shown = made + draw.measured[0], draw.shown
        turns = [max((n_sweeps + (pair + first + 1) % 2) // 2, 1) for pair in range(len(self.betas) - 1)]
        return shown, made / asarray([[float(turn)] for turn in turns], self.xp, self.machine.dtype)


def _record_tempering(
    form: Form, streams: ChainStreams, replicas: int, layers: tuple[int, ...], means: bool
) -> Recorded:
    weights, parameters = form.parameters()
    base = B.placeholder(shape=(form.topology.sizes[0],), dtype=form.dtype)
    betas = B.placeholder(shape=(replicas,), dtype=form.dtype)
    inputs, state = form.states(parameters, form.topology.retained, replicas)
    turn = B.placeholder(shape=(1,), dtype=form.dtype)
    tempered = Tempered(Path(base, parameters), B.reshape(betas, (replicas, 1, 1)))
    move = moved(tempered, state, turn, form.n_chains, streams)
    return [*inputs, *weights, base, betas, turn], [*shown_of_top(parameters, move, layers, means), move.swap]


def adaptive_replicas(machine: Machine) -> list[float]:
    """Inverse temperatures of replicas, of which all neighbours exchange states equally often, found by a pilot run.

    The pilot begins with the stages of annealing, and counts how often neighbours exchange states.
    """
    host = host_namespace()
    machine = machine.to(library_name(host))
    betas = adaptive_temperatures(machine)[::STAGE]
    for number in range(_ROUNDS):
        chains = TemperingChains(machine, 0, betas, layers=(), purpose=f"pilot {number} of temperatures")
        states = chains.advance(chains.start(0, _REPLICAS), 0, 0, _SETTLING)
        shares = chains.counted(states, 0, _SETTLING, _COUNTED)[1]
        shares = host.mean(asarray(to_numpy(shares), host, "float64"), axis=1)
        betas = laid_out(host.asarray(betas), distances(shares), _ACCEPTANCE).tolist()
    return list(betas)
