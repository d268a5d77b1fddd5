"""What the tasks of an evaluation compute: annealing both ways, chains on the ladder, free energies of rows."""

from __future__ import annotations

import functools
import pathlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nbm_xp.boltzmann.annealing import AnnealedChains, ReverseChains
from nbm_xp.boltzmann.chains import Chains, Draw, Machine
from nbm_xp.boltzmann.ladder import LadderChains, pairs_in_turn
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from . import store
from .directory import RunDirectory
from .inputs import rows_of
from .job import Block, Job, StoppedError, blocks_of, load_model, read_checkpoint
from .store import Stored

__all__ = [
    "LADDER_LOOKS", "Annealing", "Climbing", "EvaluationJob", "ReverseAnnealing", "Likelihoods", "jobs_of",
]  # fmt: skip

LADDER_LOOKS = ("ladder_up", "ladder_down")
_ROWS_IN_A_BLOCK = 4096


@dataclass(frozen=True)
class EvaluationJob(Job):
    """What all parts of an evaluation have; for the fields see `evaluate`."""

    model: str
    library: str
    chunks: int
    checkpoint_every: int

    @property
    def rows(self) -> int:
        """How many chains, or rows of data, there are."""
        raise NotImplementedError

    @property
    def blocks(self) -> list[Block]:
        """The blocks of rows."""
        return blocks_of(self.rows, self.chunks)

    def arrays(self) -> list[Stored]:
        """What the blocks write."""
        raise NotImplementedError

    def machine(self) -> Machine:
        """The machine of the run."""
        return Machine.of(load_model(self.directory, self.library, self.model))

    def chains(self) -> Chains:
        """The chains of the job."""
        raise NotImplementedError

    def begin(self, block: Block) -> tuple[Any, ...]:
        """The first states of the chains."""
        return tuple(map(to_numpy, _chains(self).start(block.offset, block.rows)))

    def write(self, array: Stored, block: Block, values: Any, *before: int) -> None:
        """Write a chunk of a block, whose number is along the last axis."""
        store.write_chunk(pathlib.Path(self.directory) / store.UNFINISHED, array, (*before, block.number), values)


@dataclass(frozen=True)
class Annealing(EvaluationJob):
    """Annealed importance sampling of chains in blocks; a segment is a number of temperatures."""

    n_chains: int
    betas: tuple[float, ...]
    part = "annealing"
    weights = "log_weight"

    @property
    def rows(self) -> int:
        """How many chains are annealed: none where log Z is given."""
        return self.n_chains if self.betas else 0

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return -(-(len(self.betas) - 1) // self.checkpoint_every)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: temperatures times chains."""
        first = segment * self.checkpoint_every
        return block.rows * min(self.checkpoint_every, len(self.betas) - 1 - first)

    def arrays(self) -> list[Stored]:
        """What the blocks write."""
        return [Stored(self.weights, ("run",), (self.rows,), (self.chunks,), "float64", {})]

    def chains(self) -> AnnealedChains:
        """The chains of the job."""
        return AnnealedChains(self.machine(), self.seed, self.betas)

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Go through the temperatures of a segment; the last one writes the weights."""
        first, states = segment * self.checkpoint_every, arrays
        count = min(self.checkpoint_every, len(self.betas) - 1 - first)
        for now in _draws(_chains(self), arrays, block, first, count, stopping):
            states = now.states
        found = tuple(map(to_numpy, states))
        if first + count == len(self.betas) - 1:
            self.write(self.arrays()[0], block, found[-1])
        return found


@dataclass(frozen=True)
class ReverseAnnealing(Annealing):
    """The same in reverse, from states of the model.

    They are drawn exactly or, where that cannot be, those that the chains on the ladder ended with; of a model without
    one, first segments are of sweeps to them.
    """

    reverse: str | None
    n_sweeps: int
    part = "reverse"
    weights = "reverse_log_weight"

    @classmethod
    def of(cls, run: RunDirectory, **more: Any) -> Self:
        """The job of a run."""
        return super().of(run, betas=tuple(reversed(run.configuration["betas"])), **more)

    @property
    def rows(self) -> int:
        """How many chains are annealed in reverse."""
        return self.n_chains if self.reverse else 0

    @property
    def _sweeping(self) -> int:
        """How many segments are of sweeps."""
        return -(-self.n_sweeps // self.checkpoint_every)

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return self._sweeping + super().n_segments

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: sweeps or temperatures, times chains."""
        if segment >= self._sweeping:
            return super().steps(block, segment - self._sweeping)
        return block.rows * min(self.checkpoint_every, self.n_sweeps - segment * self.checkpoint_every)

    def chains(self) -> ReverseChains:
        """The chains of the job."""
        return ReverseChains(self.machine(), self.seed, self.betas, n_sweeps=0)

    def begin(self, block: Block) -> tuple[Any, ...]:
        """The first states of the chains, and weights of one."""
        if self.reverse != "the ladder":
            return super().begin(block)
        ended = read_checkpoint(self.folder(Climbing.part), self.run, block.number)
        if ended is None:
            raise ValueError(f"{self.directory} lacks the checkpoint of block {block.number} on the ladder")
        return tuple(map(to_numpy, _chains(self).weighted([states[-1].T for states in ended.arrays])))

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Do the sweeps of a segment, or go through its temperatures."""
        if segment >= self._sweeping:
            return super().advance(block, segment - self._sweeping, arrays, stopping)
        states, first = arrays[:-1], segment * self.checkpoint_every
        count = min(self.checkpoint_every, self.n_sweeps - first)
        for now in _draws(_chains(self).mixing, states, block, first, count, stopping):
            states = now.states
        return (*map(to_numpy, states), arrays[-1])


@dataclass(frozen=True)
class Climbing(EvaluationJob):
    """Chains on the ladder that the model learnt on; a segment is a number of steps.

    The first half of the steps does not count. In the other half each pair of neighbours is looked at whenever it has
    its turn, once in two steps.
    """

    n_chains: int
    ladder: str | None
    ladder_steps: int
    pairs: int
    dtype: str
    part = "ladder"

    @classmethod
    def of(cls, run: RunDirectory, **more: Any) -> Self:
        """The job of a run."""
        model = run.load_model()
        every = max(2, run.configuration["checkpoint_every"] // 2 * 2)
        pairs = 0 if model.state_.ladder is None else model.state_.ladder.pairs
        return super().of(run, checkpoint_every=every, pairs=pairs, dtype=str(model.state_.parameters.dtype), **more)

    @property
    def rows(self) -> int:
        """How many chains there are on the ladder: none where it is not used."""
        return self.n_chains if self.ladder else 0

    @property
    def _half(self) -> int:
        """How many steps a half of them are: an even number."""
        return self.ladder_steps // 4 * 2

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return 2 * -(-self._half // self.checkpoint_every)

    def _steps(self, segment: int) -> tuple[int, int, int]:
        """The first step of a segment, how many there are, and the number among those that look; -1 of others."""
        half = self.n_segments // 2
        place = segment % half * self.checkpoint_every
        first = place + self._half * (segment >= half)
        return first, min(self.checkpoint_every, self._half - place), segment - half if segment >= half else -1

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: steps times chains."""
        return self._steps(segment)[1] * block.rows

    def arrays(self) -> list[Stored]:
        """What the blocks write."""
        shape = (self._half // 2, self.pairs, self.rows)
        chunks = (min(self.checkpoint_every, self._half) // 2, self.pairs, self.chunks)
        return [Stored(name, ("look", "pair", "run"), shape, chunks, self.dtype, {}) for name in LADDER_LOOKS]

    def chains(self) -> LadderChains:
        """The chains of the job."""
        return LadderChains(self.machine(), self.seed, layers=())

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Do the steps of a segment; those of the second half write what they measured."""
        first, count, number = self._steps(segment)
        measured: list[Any] = []
        states = arrays
        for now in _draws(_chains(self), arrays, block, first, count, stopping):
            states = now.states
            if number >= 0:
                measured.append([to_numpy(part) for part in now.measured])
        for array, parts in zip(self.arrays(), zip(*measured, strict=True), strict=False):
            self.write(
                array, block, np.stack([pairs_in_turn(*parts[k : k + 2]) for k in range(0, count, 2)]), number, 0
            )
        return tuple(map(to_numpy, states))


@dataclass(frozen=True)
class Likelihoods(EvaluationJob):
    """Free energies of rows in blocks, or what mean field finds for them; a block is one segment."""

    n_rows: int
    dtype: str
    part = "rows"
    n_segments = 1

    @classmethod
    def of(cls, run: RunDirectory, **more: Any) -> Self:
        """The job of a run."""
        rows, dtype = run.configuration["n_rows"], str(run.load_model().state_.parameters.dtype)
        return super().of(run, chunks=min(max(rows, 1), _ROWS_IN_A_BLOCK), dtype=dtype, **more)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.n_rows

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: its rows."""
        return block.rows

    def arrays(self) -> list[Stored]:
        """What the blocks write."""
        return [Stored("free_energy", ("row",), (self.rows,), (self.chunks,), self.dtype, {})]

    def begin(self, block: Block) -> tuple[Any, ...]:
        """Nothing goes from block to block."""
        return ()

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Compute the free energies of a block."""
        model = load_model(self.directory, self.library, self.model)
        rows = rows_of(self.directory, block.offset, block.rows)
        given = asarray(rows, get_namespace(self.library), self.dtype)
        self.write(self.arrays()[0], block, to_numpy(model.free_energy(given)))
        return ()


def jobs_of(run: RunDirectory) -> list[EvaluationJob]:
    """What there is to do, in order."""
    jobs: list[EvaluationJob] = [kind.of(run) for kind in (Annealing, Climbing, ReverseAnnealing, Likelihoods)]
    return [job for job in jobs if job.blocks]


def _draws(
    chains: Chains, states: tuple[Any, ...], block: Block, first: int, count: int, stopping: Callable[[], bool]
) -> Iterator[Draw]:
    """Do some sweeps of a block of chains, unless it is to stop."""
    for now in chains.walk(states, block.offset, first, count):
        if stopping():
            raise StoppedError
        yield now


_making = threading.Lock()


def _chains(job: Any) -> Any:
    """The chains of a job, made once in each process."""
    with _making:
        return _made_chains(job)


@functools.lru_cache(maxsize=2)
def _made_chains(job: Annealing | Climbing) -> Chains:
    return job.chains()
