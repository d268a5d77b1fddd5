"""Jobs of evaluation runs: annealing, also in reverse and with energies, chains on the ladder, rows, draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from nbm_xp.boltzmann.annealing import AnnealedChains, ReverseChains
from nbm_xp.boltzmann.chains import Chains, Draw
from nbm_xp.boltzmann.ladder import LadderChains, pairs_in_turn
from nbm_xp.boltzmann.quality import ThermalChains
from nbm_xp.files import place_of
from nbm_xp.machines import Array
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from .chain_job import MachineJob, Sweeps, SweepsJob, chains_of
from .checkpoints import Arrays, last_checkpoint
from .inputs import rows_of, save_rows
from .job import Block, Demand, Stopping, blocks_of
from .sampling import SampleJob
from .store import Stored

LADDER_ARRAYS = ("ladder_up", "ladder_down")
THERMAL_ARRAYS = ("thermal_log_weight", "thermal_energy")
_ROWS_IN_A_BLOCK = 4096


@dataclass(frozen=True)
class AnnealingJob(SweepsJob):
    """Annealed importance sampling: a sweep is a step from one temperature to the next."""

    betas: tuple[float, ...]

    part, asked_by, weights, task, unit = "annealing", "betas", "log_weight", "evaluate-annealing", "steps"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The steps between temperatures."""
        return (Sweeps(0, len(self.betas) - 1, self.checkpoint_every),)

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        return AnnealedChains(self.machine, self.seed, self.betas)

    @property
    def stored(self) -> list[Stored]:
        """The log weights of the chains."""
        return [Stored(self.weights, ("chain",), (self.n_chains,), (self.chunks,), "float64", {})]

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """Return the log weights after the last temperature, else nothing."""
        return now.states[-1:] if sweep == len(self.betas) - 1 else ()

    def write_shown(self, array: Stored, block: Block, segment: int, shown: Sequence[Array]) -> None:
        """Write the log weights."""
        self.write(array, (block.number,), shown[0])


@dataclass(frozen=True)
class ReverseAnnealingJob(AnnealingJob):
    """Annealed importance sampling in reverse, from states of the model.

    These are the last states of the chains on the ladder; without a ladder, states after burn-in sweeps.
    """

    reverse: str
    n_sweeps: int

    part, asked_by, weights, task = "reverse", "reverse", "reverse_log_weight", "evaluate-reverse"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The burn-in sweeps, and the steps between temperatures."""
        return Sweeps(0, self.n_sweeps, self.checkpoint_every), *super().stages

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        chains = ReverseChains(self.machine, self.seed, self.betas[::-1], n_sweeps=0)
        return chains if stage else chains.mixing

    def with_steps(self, count: int) -> Self:
        """See `Job`; the chains of a trial do not come from the ladder."""
        return dataclasses.replace(super().with_steps(count), reverse="chains", n_sweeps=1)

    def begin(self, block: Block) -> Arrays:
        """See `SweepsJob`."""
        if self.reverse != "the ladder":
            return super().begin(block)
        ended = last_checkpoint(self.folder(LadderJob.part), self.run, block.number)
        if ended is None:
            raise ValueError(f"{self.directory} lacks the checkpoint of block {block.number} on the ladder")
        return tuple(states[-1] for states in ended.arrays)

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Compute a segment; the chains' weights are initialized where annealing begins."""
        chains = chains_of(self, self.segment(segment).stage)
        if isinstance(chains, ReverseChains) and len(arrays) == len(chains.carried):
            arrays = chains.weighted(arrays)
        return super().advance(block, segment, arrays, stopping)


@dataclass(frozen=True)
class ThermalJob(AnnealingJob):
    """Annealed importance sampling from equally probable states, with the energy at each inverse temperature."""

    part = asked_by = "thermodynamics"
    task = "evaluate-thermodynamics"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The steps between temperatures, and one before at β = 0."""
        return (Sweeps(0, len(self.betas), self.checkpoint_every),)

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        return ThermalChains(self.machine, self.seed, self.betas)

    @property
    def stored(self) -> list[Stored]:
        """The log weights and the energies of the chains at each temperature."""
        count = len(self.betas)
        shape, chunks = (self.n_chains, count), (self.chunks, min(self.checkpoint_every, count))
        return [Stored(name, ("chain", "beta"), shape, chunks, "float64", {}) for name in THERMAL_ARRAYS]

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """Return the log weights and the energies after a sweep."""
        return now.states[-1], *now.measured

    def write_shown(self, array: Stored, block: Block, segment: int, shown: Sequence[Array]) -> None:
        """Write the log weights or the energies of a segment."""
        self.write(array, (block.number, segment), np.stack(shown, axis=1))


class DrawsJob(SampleJob):
    """Draws of the model that are compared with rows, one for each chain."""

    asked_by, task = "n_draws", "evaluate-draws"


@dataclass(frozen=True)
class LadderJob(SweepsJob):
    """Chains on the ladder of the training: the first half of the steps is burn-in.

    In the second half, each pair of neighbours is measured once in two steps, when it attempts an exchange.
    """

    ladder_steps: int

    part = asked_by = "ladder"
    task = "evaluate-ladder"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The two halves of the steps."""
        half, each = self.ladder_steps // 4 * 2, max(2, self.checkpoint_every // 2 * 2)
        return Sweeps(0, half, each), Sweeps(half, half, each)

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        return LadderChains(self.machine, self.seed, layers=())

    @property
    def stored(self) -> list[Stored]:
        """The measurements of the pairs of neighbours."""
        machine, (_, half, each) = self.machine, self.stages[1]
        axes, pairs = ("step", "pair", "chain"), machine.n_pairs
        shape, chunks = (half // 2, pairs, self.n_chains), (min(each, half) // 2, pairs, self.chunks)
        return [Stored(name, axes, shape, chunks, machine.dtype, {}) for name in LADDER_ARRAYS]

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """Return the measurements of the pairs in a step."""
        return now.measured

    def write_shown(self, array: Stored, block: Block, segment: int, shown: Sequence[Array]) -> None:
        """Write the measurements of each pair from the steps in which it attempted an exchange."""
        in_turn = [pairs_in_turn(*shown[k : k + 2]) for k in range(0, len(shown), 2)]
        self.write(array, (segment, 0, block.number), np.stack(in_turn))


@dataclass(frozen=True)
class FreeEnergyJob(MachineJob):
    """Free energies of rows, or their mean-field bounds, in blocks of one segment."""

    n_rows: int

    part, asked_by, n_segments, task, unit = "rows", "n_rows", 1, "evaluate-rows", "passes"

    @property
    def blocks(self) -> list[Block]:
        """See `Job`."""
        return blocks_of(self.n_rows, _ROWS_IN_A_BLOCK)

    @property
    def stored(self) -> list[Stored]:
        """The free energies."""
        chunks = (min(self.n_rows, _ROWS_IN_A_BLOCK),)
        return [Stored("free_energy", ("row",), (self.n_rows,), chunks, self.machine.dtype, {})]

    @property
    def demand(self) -> Demand:
        """See `Job`: rows, fields and probabilities. The header, the size and the rows of a block are requests."""
        sizes, itemsize = self.machine.topology.sizes, np.dtype(self.machine.dtype).itemsize
        return Demand(task=3 * self.blocks[0].rows * sum(sizes) * itemsize, reads=3 * len(self.blocks))

    @property
    def trial_steps(self) -> int:
        """See `Job`: the rows of a block."""
        return self.blocks[0].rows

    def with_steps(self, count: int) -> Self:
        """See `Job`."""
        return dataclasses.replace(self, n_rows=count)

    def prepare(self, block: Block) -> int:
        """See `Job`; the rows are draws of the base rate."""
        save_rows(to_numpy(Chains(self.machine, self.seed).collect(0, block.rows, 0)), place_of(self.directory))
        return 0

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Compute the free energies of a block."""
        (array,) = self.stored
        rows = asarray(rows_of(self.directory, block.offset, block.rows), get_namespace(self.library), array.dtype)
        model = self.loaded
        rows = model.state_.checked_rows(rows, missing=True)
        self.write(array, (block.number,), to_numpy(model._free_energies(rows, first=block.offset)[0]))
        return ()


JOBS = AnnealingJob, LadderJob, ReverseAnnealingJob, FreeEnergyJob, ThermalJob, DrawsJob  # in order of execution
