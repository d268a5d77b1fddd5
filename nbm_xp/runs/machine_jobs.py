"""What tasks compute of a machine of layers: sweeps of chains in blocks, and free energies of rows.

All chains are those of `nbm_xp.boltzmann.chains`: a task takes a block of them through some sweeps, whatever a sweep
is, and writes what they show.
"""

from __future__ import annotations

import functools
import itertools
import pathlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nbm_xp.boltzmann.annealing import AnnealedChains, ReverseChains
from nbm_xp.boltzmann.chains import Chains, Draw, Machine
from nbm_xp.boltzmann.ladder import LadderChains, pairs_in_turn
from nbm_xp.machines import Array
from nbm_xp.namespace import asarray, get_namespace, host_namespace, to_numpy

from . import store
from .inputs import rows_of, saved_clamped
from .job import Arrays, Block, Job, StoppedError, Stopping, blocks_of, load_model, read_checkpoint
from .store import Stored

__all__ = [
    "LADDER_ARRAYS", "AnnealingJob", "FreeEnergyJob", "LadderJob", "MachineJob", "ReverseAnnealingJob", "SampleJob",
    "SweepsJob",
]  # fmt: skip

LADDER_ARRAYS = ("ladder_up", "ladder_down")
_ROWS_IN_A_BLOCK = 4096


class Sweeps(NamedTuple):
    """Sweeps that one task after the other does: the number of the first, how many, and how many in a segment."""

    first: int
    n_sweeps: int
    each: int


class Segment(NamedTuple):
    """Some sweeps of a stage of a job: the number of the stage, of the segment in it, and of the first sweep."""

    stage: int
    number: int
    first: int
    n_sweeps: int


@dataclass(frozen=True)
class MachineJob(Job):
    """A job with the model that the run began with."""

    model: str
    library: str

    @property
    def machine(self) -> Machine:
        """The arrays of the model."""
        return Machine.of(load_model(self.directory, self.library, self.model))

    def write(self, array: Stored, index: Sequence[int], values: Array) -> None:
        """Write a chunk of an array."""
        store.write_chunk(pathlib.Path(self.directory) / store.UNFINISHED, array, index, values)


@dataclass(frozen=True)
class SweepsJob(MachineJob):
    """Chains in blocks; for the fields see `sample` and `evaluate`."""

    n_chains: int
    chunks: int
    checkpoint_every: int

    @property
    def stages(self) -> Sequence[Sweeps]:
        """What chains go through, one stage after the other; the last one is shown."""
        raise NotImplementedError

    def chains(self, stage: int) -> Chains:
        """The chains of a stage."""
        raise NotImplementedError

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """What is kept of the last stage after a sweep of this number, an array of `stored` each."""
        return ()

    def write_shown(self, block: Block, segment: int, shown: list[list[Array]], states: Arrays) -> None:
        """Write what a segment of the last stage has shown; its number is among those of that stage."""
        raise NotImplementedError

    @property
    def blocks(self) -> list[Block]:
        """See `Job`."""
        return blocks_of(self.n_chains, self.chunks)

    @property
    def n_segments(self) -> int:
        """See `Job`."""
        return sum(-(-stage.n_sweeps // stage.each) for stage in self.stages)

    def segment(self, number: int) -> Segment:
        """One of the segments."""
        for place, (first, n_sweeps, each) in enumerate(self.stages):
            done, segments = number * each, -(-n_sweeps // each)
            if number < segments:
                return Segment(place, number, first + done, min(each, n_sweeps - done))
            number -= segments
        raise IndexError(number)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: sweeps times chains."""
        return self.segment(segment).n_sweeps * block.rows

    def begin(self, block: Block) -> Arrays:
        """The first states of a block of chains."""
        chains = _chains(self, self.segment(0).stage)
        return _packed(chains, chains.start(block.offset, block.rows))

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Do the sweeps of a segment."""
        stage, number, first, n_sweeps = self.segment(segment)
        chains, states, shown, last = _chains(self, stage), arrays, list[list[Array]](), stage == len(self.stages) - 1
        stored = self.stored if last else ()
        for sweep, now in enumerate(chains.walk(arrays, block.offset, first, n_sweeps), first + 1):
            if stopping():
                raise StoppedError
            states = now.states
            if last and (kept := self.shown(now, sweep)):
                shown.append([to_numpy(x).astype(array.dtype) for x, array in zip(kept, stored, strict=True)])
        packed = _packed(chains, states)
        if last:
            self.write_shown(block, number, shown, packed)
        return packed


@dataclass(frozen=True)
class SampleJob(SweepsJob):
    """Draws of chains: draw i is the state after ``burn_in + (i + 1) * thin`` sweeps; for the fields see `sample`."""

    burn_in: int
    n_draws: int
    thin: int
    layers: tuple[int, ...]
    probabilities: bool
    clamp: tuple[tuple[str, str], ...]
    ladder: str | None

    part = "chains"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """Burn-in, and the sweeps that are drawn from."""
        each = self.checkpoint_every * self.thin
        return Sweeps(0, self.burn_in, each), Sweeps(self.burn_in, self.n_draws * self.thin, each)

    @property
    def clamped(self) -> dict[int, Array]:
        """The states of clamped layers."""
        return saved_clamped(self.directory) if self.clamp else {}

    def chains(self, stage: int) -> Chains:
        """Those of the machine, or of the ladder that it learnt on."""
        if self.ladder:
            return LadderChains(self.machine, self.seed, layers=self.layers, means=self.probabilities)
        return Chains(self.machine, self.seed, layers=self.layers, means=self.probabilities, clamp=self.clamped)

    @property
    def stored(self) -> list[Stored]:
        """The array of each layer that is kept."""
        machine, found = _chains(self, 1).machine, []
        for layer in self.layers:
            name = "visible" if layer == 0 else f"hidden_{layer}"
            units = machine.topology.sizes[layer] if self.probabilities else machine.topology.sites(layer)
            about = {
                "layer": layer,
                "holds": "probabilities" if self.probabilities else "states",
                "coordinates": "sweep",  # as netCDF's conventions have it, and xarray reads them
            }
            dtype = "float32" if self.probabilities else machine.topology.units[layer].stored or machine.dtype
            axes = "chain", "draw", "unit" if layer == 0 else f"{name}_unit"
            shape, chunks = (self.n_chains, self.n_draws, units), (self.chunks, self.checkpoint_every, units)
            found.append(Stored(name, axes, shape, chunks, dtype, about))
        return found

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """The states of each layer, after every `thin` sweeps."""
        return () if (sweep - self.burn_in) % self.thin else now.shown

    def write_shown(self, block: Block, segment: int, shown: list[list[Array]], states: Arrays) -> None:
        """Write the draws of a segment."""
        for array, draws in zip(self.stored, zip(*shown, strict=True), strict=True):
            self.write(array, (block.number, segment, 0), np.stack(draws).transpose(2, 0, 1))


@dataclass(frozen=True)
class AnnealingJob(SweepsJob):
    """Annealed importance sampling: a sweep is a step from one of the temperatures to the next."""

    betas: tuple[float, ...]

    part, weights = "annealing", "log_weight"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The temperatures."""
        return (Sweeps(0, len(self.betas) - 1, self.checkpoint_every),)

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        return AnnealedChains(self.machine, self.seed, self.betas)

    @property
    def stored(self) -> list[Stored]:
        """The logarithms of the chains' weights."""
        return [Stored(self.weights, ("chain",), (self.n_chains,), (self.chunks,), "float64", {})]

    def write_shown(self, block: Block, segment: int, shown: list[list[Array]], states: Arrays) -> None:
        """Write the weights after the last temperature."""
        if segment == -(-(len(self.betas) - 1) // self.checkpoint_every) - 1:
            self.write(self.stored[0], (block.number,), states[-1])


@dataclass(frozen=True)
class ReverseAnnealingJob(AnnealingJob):
    """The same in reverse, from states of the model.

    They are drawn exactly or, where that cannot be, those that the chains on the ladder ended with; of a model without
    one, those that chains come to by sweeps.
    """

    reverse: str
    n_sweeps: int

    part, weights = "reverse", "reverse_log_weight"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """Sweeps to states of the model, and the temperatures."""
        return Sweeps(0, self.n_sweeps, self.checkpoint_every), *super().stages

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        chains = ReverseChains(self.machine, self.seed, self.betas[::-1], n_sweeps=0)
        return chains if stage else chains.mixing

    def begin(self, block: Block) -> Arrays:
        """See `SweepsJob`."""
        if self.reverse != "the ladder":
            return super().begin(block)
        ended = read_checkpoint(self.folder(LadderJob.part), self.run, block.number)
        if ended is None:
            raise ValueError(f"{self.directory} lacks the checkpoint of block {block.number} on the ladder")
        return tuple(states[-1].T for states in ended.arrays)

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Go through a segment; chains that come to the temperatures have weights of one."""
        chains = _chains(self, self.segment(segment).stage)
        if isinstance(chains, ReverseChains) and len(arrays) == len(chains.carried):
            arrays = chains.weighted(arrays)
        return super().advance(block, segment, arrays, stopping)


@dataclass(frozen=True)
class LadderJob(SweepsJob):
    """Chains on the ladder that the model learnt on: the first half of the steps does not count.

    In the other half each pair of neighbours is measured whenever it has its turn, once in two steps.
    """

    ladder_steps: int

    part = "ladder"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """Two halves."""
        half, each = self.ladder_steps // 4 * 2, max(2, self.checkpoint_every // 2 * 2)
        return Sweeps(0, half, each), Sweeps(half, half, each)

    def chains(self, stage: int) -> Chains:
        """See `SweepsJob`."""
        return LadderChains(self.machine, self.seed, layers=())

    @property
    def stored(self) -> list[Stored]:
        """What pairs have measured."""
        machine, (_, half, each) = _chains(self, 1).machine, self.stages[1]
        shape, chunks = (
            (half // 2, machine.n_pairs, self.n_chains),
            (min(each, half) // 2, machine.n_pairs, self.chunks),
        )
        return [Stored(name, ("step", "pair", "chain"), shape, chunks, machine.dtype, {}) for name in LADDER_ARRAYS]

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """What pairs measured in a step."""
        return now.measured

    def write_shown(self, block: Block, segment: int, shown: list[list[Array]], states: Arrays) -> None:
        """Write what pairs measured when they had their turn."""
        for array, steps in zip(self.stored, zip(*shown, strict=True), strict=True):
            in_turn = [pairs_in_turn(*steps[k : k + 2]) for k in range(0, len(steps), 2)]
            self.write(array, (segment, 0, block.number), np.stack(in_turn))


@dataclass(frozen=True)
class FreeEnergyJob(MachineJob):
    """Free energies of rows in blocks, or what mean field finds for them; a block is one segment."""

    n_rows: int

    part, n_segments = "rows", 1

    @property
    def blocks(self) -> list[Block]:
        """See `Job`."""
        return blocks_of(self.n_rows, _ROWS_IN_A_BLOCK)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: its rows."""
        return block.rows

    @property
    def stored(self) -> list[Stored]:
        """The free energies."""
        chunks = (min(self.n_rows, _ROWS_IN_A_BLOCK),)
        return [Stored("free_energy", ("row",), (self.n_rows,), chunks, self.machine.dtype, {})]

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Compute the free energies of a block."""
        model, (array,) = load_model(self.directory, self.library, self.model), self.stored
        rows = asarray(rows_of(self.directory, block.offset, block.rows), get_namespace(self.library), array.dtype)
        self.write(array, (block.number,), to_numpy(model.free_energy(rows)))
        return ()


def _packed(chains: Chains, states: Iterable[Array]) -> Arrays:
    """States in host memory, in the dtype that they lie in on disk; weights beside them as they are."""
    host = host_namespace()
    kinds = [chains.topology.units[layer].stored for layer in chains.carried]
    return tuple(asarray(to_numpy(x), host, kind) for x, kind in itertools.zip_longest(states, kinds))


_making = threading.Lock()


def _chains(job: SweepsJob, stage: int) -> Chains:
    """The chains of a stage of a job, made once in each process."""
    with _making:
        return _made_chains(job, stage)


@functools.lru_cache(maxsize=4)
def _made_chains(job: SweepsJob, stage: int) -> Chains:
    return job.chains(stage)
