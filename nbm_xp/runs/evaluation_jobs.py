"""What the tasks of an evaluation do: chains annealed, there and in reverse, and rows weighed, block by block."""

from __future__ import annotations

import functools
import os
import pathlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nbm_xp.boltzmann.annealed_chains import AnnealedChains, ReverseChains
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from . import store
from .copies import rows_of
from .directory import RunDirectory
from .job import Block, blocks_of
from .store import Stored
from .tasks import StoppedError, load_model

__all__ = ["UNFINISHED", "Annealing", "ReverseAnnealing", "Weighing", "jobs_of"]

UNFINISHED = "unfinished.zarr"
_ROWS_IN_A_BLOCK = 4096


@dataclass(frozen=True)
class _Blocks:
    """What all parts of an evaluation tell their tasks."""

    directory: str
    run: str
    model: str
    library: str
    seed: int
    rows: int
    chunks: int

    @property
    def blocks(self) -> list[Block]:
        return blocks_of(self.rows, self.chunks)

    def write(self, array: Stored, block: Block, values: Any) -> None:
        store.write_chunk(pathlib.Path(self.directory) / UNFINISHED, array, (block.number,), values)

    @staticmethod
    def common(run: RunDirectory) -> dict[str, Any]:
        asked = run.configuration
        return {
            "directory": os.fspath(run.path.resolve()),
            "run": run.identity,
            "model": asked["model"],
            "library": asked["library"],
            "seed": run.seed,
        }


@dataclass(frozen=True)
class Annealing(_Blocks):
    """Annealed importance sampling of chains in blocks; a segment is a number of temperatures."""

    betas: tuple[float, ...]
    checkpoint_every: int
    part = "annealing"
    weights = "log_weight"

    @classmethod
    def of(cls, run: RunDirectory) -> Self:
        """The job of a run's directory."""
        asked = run.configuration
        return cls(
            **cls.common(run),
            rows=asked["n_runs"],
            chunks=asked["chunks"],
            betas=tuple(asked["betas"]),
            checkpoint_every=asked["checkpoint_every"],
        )

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return -(-(len(self.betas) - 1) // self.checkpoint_every)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: temperatures times chains."""
        first = segment * self.checkpoint_every
        return block.rows * min(self.checkpoint_every, len(self.betas) - 1 - first)

    def array(self) -> Stored:
        """What the blocks write."""
        return Stored(self.weights, ("run",), (self.rows,), (self.chunks,), "float64", {})

    def chains(self) -> AnnealedChains:
        """The chains of the job."""
        return AnnealedChains(load_model(self.directory, self.library, self.model), self.seed, self.betas)

    def begin(self, block: Block) -> tuple[Any, ...]:
        """The chains' first states, and weights of one."""
        states = _chains(self).start(block.offset, block.rows)
        return (*map(to_numpy, states), np.zeros(block.rows))

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Go through the temperatures of a segment; the last one writes the weights."""
        chains, states, weights = _chains(self), arrays[:-1], arrays[-1]
        first = segment * self.checkpoint_every
        for now in chains.anneal_stepwise(states, weights, block.offset, first, self.checkpoint_every):
            if stopping():
                raise StoppedError
            states, weights = now
        weights = to_numpy(weights)
        if first + self.checkpoint_every >= len(self.betas) - 1:
            self.write(self.array(), block, weights)
        return (*map(to_numpy, states), weights)


@dataclass(frozen=True)
class ReverseAnnealing(Annealing):
    """The same in reverse; where states of the model cannot be drawn exactly, first segments are of sweeps to them."""

    n_sweeps: int = 0
    part = "reverse"
    weights = "reverse_log_weight"

    @classmethod
    def of(cls, run: RunDirectory) -> Self:
        """The job of a run's directory; it has no chains where nothing was to be annealed in reverse."""
        asked = run.configuration
        return cls(
            **cls.common(run),
            rows=asked["n_runs"] if "reverse" in asked else 0,
            chunks=asked["chunks"],
            betas=tuple(reversed(asked["betas"])),
            checkpoint_every=asked["checkpoint_every"],
            n_sweeps=asked.get("reverse", {}).get("n_steps", 0),
        )

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
        return ReverseChains(load_model(self.directory, self.library, self.model), self.seed, self.betas)

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Do the sweeps of a segment, or go through its temperatures."""
        if segment >= self._sweeping:
            return super().advance(block, segment - self._sweeping, arrays, stopping)
        states, first = arrays[:-1], segment * self.checkpoint_every
        count = min(self.checkpoint_every, self.n_sweeps - first)
        for now in _chains(self).walk(states, block.offset, first, count):
            if stopping():
                raise StoppedError
            states = now.states
        return (*map(to_numpy, states), arrays[-1])


@dataclass(frozen=True)
class Weighing(_Blocks):
    """Free energies of rows in blocks, or what mean field finds for them; a block is one segment."""

    dtype: str
    part = "weighing"
    n_segments = 1

    @classmethod
    def of(cls, run: RunDirectory) -> Weighing:
        """The job of a run's directory."""
        rows = run.configuration["n_rows"]
        dtype = str(run.load_model()._parameters.dtype)
        return cls(**cls.common(run), rows=rows, chunks=min(max(rows, 1), _ROWS_IN_A_BLOCK), dtype=dtype)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: its rows."""
        return block.rows

    def array(self) -> Stored:
        """What the blocks write."""
        return Stored("free_energy", ("row",), (self.rows,), (self.chunks,), self.dtype, {})

    def begin(self, block: Block) -> tuple[Any, ...]:
        """Nothing goes from block to block."""
        return ()

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Weigh the rows of a block."""
        model = load_model(self.directory, self.library, self.model)
        rows = rows_of(self.directory, block.offset, block.rows)
        given = asarray(rows, get_namespace(self.library), self.dtype)
        self.write(self.array(), block, to_numpy(model.free_energy(given)))
        return ()


def jobs_of(run: RunDirectory) -> list[Annealing | Weighing]:
    """What there is to do, in order."""
    jobs: list[Annealing | Weighing] = [Annealing.of(run), ReverseAnnealing.of(run), Weighing.of(run)]
    return [job for job in jobs if job.blocks]


_making = threading.Lock()


def _chains(job: Any) -> Any:
    """The chains of a job, made once in each process."""
    with _making:
        return _made_chains(job)


@functools.lru_cache(maxsize=2)
def _made_chains(job: Annealing) -> AnnealedChains:
    return job.chains()
