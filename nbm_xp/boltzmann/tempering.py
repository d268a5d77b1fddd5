"""Parallel tempering, and adaptive inverse temperatures from pilot runs.

In parallel tempering each chain has replicas at several inverse temperatures, and neighbours exchange their states. A
replica at inverse temperature β samples the interpolation between the base-rate model, β = 0, which mixes at once, and
the model itself, β = 1. Neighbouring replicas exchange states as those of a ladder do (`ladder.moved`), so the replica
at β = 1 receives states of modes that its own sweeps hardly reach.

Adaptive temperatures are close where the distribution changes fast, and far apart elsewhere. A pilot run of a few
chains passes from β = 0 to 1 in stages, each of which reduces the effective sample size of the chains to a fixed
fraction; each stage is then divided into equal steps. The chains of the estimate itself draw from other streams, so the
estimate remains unbiased. The pilot run is in host memory and depends on the machine alone: the temperatures are the
same whatever the library of the machine is.

References
----------
G. Desjardins, A. Courville, Y. Bengio, P. Vincent and O. Delalleau, "Parallel tempering for training of restricted
Boltzmann machines", AISTATS 2010.
Y. Zhou, A. M. Johansen and J. A. D. Aston, "Toward automatic model comparison: an adaptive sequential Monte Carlo
approach", Journal of Computational and Graphical Statistics 25 (2016).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.exchanges import distances, laid_out
from nbm_xp.machines.randomness import ChainFunction, ChainStreams
from nbm_xp.namespace import array_namespace, asarray, host_namespace, library_name, to_numpy

from .annealing import AnnealedChains, FromBaseModel, Path, path_of
from .chains import Machine, States, beside
from .energy import Parameters
from .ladder import Compared, ReplicaChains, moved, shown_of_top
from .recording import Form, Recorded, State

_STAGE = 10  # steps of a stage of adaptive temperatures
_CHAINS, _LEFT = 100, 0.9  # chains of the pilot run; effective sample size after a stage, as a fraction of the chains
_SWEEPS = 3  # sweeps of the pilot run in each stage
_HALVINGS, _LEAST = 20, 1e-4  # bisections of an interval of inverse temperatures; smallest length of a stage
_REPLICAS = 20  # chains at each temperature in the pilot run of parallel tempering
_SETTLING, _COUNTED, _ROUNDS = 40, 60, 3  # its burn-in and its counted steps; number of pilot runs
_ACCEPTANCE = 0.3  # target acceptance rate


@dataclass(frozen=True)
class Tempered:
    """The models of a path at inverse temperatures `betas` of shape (replicas, 1, 1), as `ladder.Replicas`."""

    path: Path
    betas: Array

    @property
    def top(self) -> Parameters:
        """The model at the end of the path, which has the layers of all models."""
        return self.path.last

    @property
    def pairs(self) -> int:
        """Number of temperatures minus 1."""
        return int(self.betas.shape[0]) - 1

    def compared(self, own: State, offered: State, partners: Array) -> Compared:
        """See `Replicas`: local fields at two temperatures are combinations of the same parts, which are exchanged."""
        xp = array_namespace(partners)
        there = xp.take(self.betas, partners, axis=0)
        gain, fields = self.path.log_ratio(there, self.betas, own)

        def known_after(swapped: Array) -> dict[int, Array]:
            def after(part: Array) -> Array:
                return None if part is None else xp.where(swapped, xp.take(part, partners, axis=0), part)

            return {layer: self.path.mixed(self.betas, tuple(map(after, parts))) for layer, parts in fields.items()}

        return -gain[:-1, :], -gain[1:, :], known_after

    def local_field(self, layer: int, state: Sequence[Array]) -> Array:
        """Return the local field of a layer in each replica."""
        return self.path.mixed(self.betas, self.path.local_fields(layer, state))


class TemperingChains(FromBaseModel, ReplicaChains):
    """The chains of parallel tempering, with a replica at each temperature.

    They start from states of the base-rate model, and measure the exchanges of each pair; `collect` returns the shown
    states of the model at β = 1, then the acceptance rate of each pair.

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
        super().__init__(machine, seed, layers=layers, means=means, purpose=purpose)
        self.betas = tuple(float(beta) for beta in betas)
        self.n_machines = len(self.betas)

    def _step(self, rows: int) -> ChainFunction:
        return self._compiled(_record_tempering, rows, len(self.betas), self.layers, self.means)

    def _constants(self) -> Sequence[Array]:
        xp, dtype = self.xp, self.machine.dtype
        return (*self.machine.arrays, asarray(self.base.bias, xp, dtype), asarray(self.betas, xp, dtype))

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [*super().widths(n_sweeps), len(self.betas) - 1]

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """See `Chains`."""
        shown, shares = self.counted(self.start(offset, rows), offset, 0, n_sweeps)
        return beside([self.xp.matrix_transpose(part) for part in (*shown, shares)])

    def counted(self, states: Sequence[Array], offset: int, first: int, n_sweeps: int) -> tuple[States, Array]:
        """Return the shown states after `n_sweeps` sweeps, and the acceptance rates, of shape (pairs, chains)."""
        made: Array = 0
        for draw in self.walk(states, offset, first, n_sweeps):
            made, shown = made + draw.measured[0], draw.shown
        turns = [max((n_sweeps + (pair + first + 1) % 2) // 2, 1) for pair in range(len(self.betas) - 1)]
        return shown, made / asarray([[float(turn)] for turn in turns], self.xp, self.machine.dtype)


def _record_tempering(
    form: Form, streams: ChainStreams, replicas: int, layers: tuple[int, ...], means: bool
) -> Recorded:
    machine, path = path_of(form)
    betas = B.placeholder(shape=(replicas,), dtype=form.dtype)
    inputs, state = form.states(path.last, form.topology.retained, replicas)
    turn = B.placeholder(shape=(1,), dtype=form.dtype)
    move = moved(Tempered(path, B.reshape(betas, (replicas, 1, 1))), state, turn, form.n_chains, streams)
    return [*inputs, *machine, betas, turn], [*shown_of_top(path.last, move, layers, means), move.swap]


def adaptive_temperatures(machine: Machine) -> list[float]:
    """Return inverse temperatures from 0 to 1, placed by a pilot run such that weights vary equally between them.

    Examples
    --------
    A model like its base-rate model needs few temperatures, strong weights many.

    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> def count(strength):
    ...     rbm = RBM.from_parameters(strength * np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
    ...     return rbm.ais(10, "adaptive").n_temperatures
    >>> count(0.01), count(1.0) < count(4.0)
    (11, True)
    """
    pilot = AnnealedChains(machine.to(library_name(host_namespace())), 0, [0.0], purpose="pilot")
    states, stages = pilot.start(0, _CHAINS), [0.0]
    while stages[-1] < 1.0:
        here, low, high = stages[-1], stages[-1], 1.0
        if _left(pilot.ratio(states, high, here)) >= _LEFT:
            low = 1.0
        else:
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if _left(pilot.ratio(states, middle, here)) >= _LEFT else (low, middle)
        stages.append(min(max(low, here + _LEAST), 1.0))
        first = len(pilot.betas) - 1
        pilot.betas = (*pilot.betas, *[stages[-1]] * _SWEEPS)
        states = pilot.advance(states, 0, first, _SWEEPS)
    found = [0.0]
    for here, there in itertools.pairwise(stages):
        found += [here + (there - here) * step / _STAGE for step in range(1, _STAGE)] + [there]
    return found


def _left(log_weights: Array) -> float:
    """Return the effective sample size of chains with these log-weights, as a fraction of the number of chains."""
    xp = array_namespace(log_weights)
    weights = B.exp(asarray(log_weights - xp.max(log_weights), xp, "float64"))
    return float(B.mean(weights)) ** 2 / float(B.mean(B.square(weights)))


def adaptive_replicas(machine: Machine) -> list[float]:
    """Return inverse temperatures of replicas, placed by pilot runs such that all acceptance rates are about equal.

    The first pilot run is at the stages of `adaptive_temperatures`; each of them measures the acceptance rates.
    """
    host = host_namespace()
    machine = machine.to(library_name(host))
    betas = adaptive_temperatures(machine)[::_STAGE]
    for number in range(_ROUNDS):
        chains = TemperingChains(machine, 0, betas, layers=(), purpose=f"pilot {number} of temperatures")
        states = chains.advance(chains.start(0, _REPLICAS), 0, 0, _SETTLING)
        shares = chains.counted(states, 0, _SETTLING, _COUNTED)[1]
        shares = host.mean(asarray(to_numpy(shares), host, "float64"), axis=1)
        betas = laid_out(host.asarray(betas), distances(shares), _ACCEPTANCE).tolist()
    return betas
