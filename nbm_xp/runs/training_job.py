"""The steps of a training as a job, which is projected: its memory, tasks and requests, and trials that are timed."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import clone

from nbm_xp.boltzmann.blocks import block_count, bounds
from nbm_xp.boltzmann.trainer import Trainer, TrainingSize
from nbm_xp.machines import Array
from nbm_xp.machines.minibatches import WINDOW, in_memory
from nbm_xp.namespace import array_namespace, is_lazy, size_in_bytes

from .checkpoints import Arrays
from .job import Block, Demand, Job, Stopping


@dataclass(frozen=True, eq=False)
class TrainingInput:
    """What a training that is projected begins with: the model, rows, held-out rows, and the number of epochs."""

    model: Any
    rows: Array
    held_out: Array
    n_epochs: int

    @property
    def held(self) -> int:
        """Memory of the rows that are in memory, in bytes."""
        return sum(
            size_in_bytes(x) for x in (self.rows, self.held_out) if not (x is None or is_lazy(array_namespace(x)))
        )

    @functools.cached_property
    def trainer(self) -> Trainer:
        """A trainer for trials, with a model of its own."""
        return Trainer(clone(self.model).set_params(n_iter=0, diagnostics=False, verbose=False))

    def size(self, batch: int) -> TrainingSize:
        """Return the memory of the training's arrays."""
        return self.trainer.size(self.rows, self.n_epochs, batch)


@dataclass(frozen=True)
class TrainingJob(Job):
    """The steps of a training as a job that is projected: its tasks are blocks of minibatches, without checkpoints."""

    batch_size: int
    trial: int | None = None  # number of minibatches of a trial, which are undivided

    part, task, unit, in_files, trial_steps = "steps", "train", "rows", False, 1000

    @property
    def blocks(self) -> list[Block]:
        """The blocks of a minibatch."""
        limits = bounds(self.batch_size, 1 if self.trial else block_count(self.batch_size))
        return [Block(number, first, last - first) for number, (first, last) in enumerate(limits)]

    @property
    def n_segments(self) -> int:
        """Number of steps."""
        return int(self.known.n_epochs * -(-self.known.rows.shape[0] // self.batch_size))

    def n_steps(self, segment: int) -> int:
        """See `Job`; several steps of a trial are one segment."""
        return self.trial or 1

    def with_steps(self, count: int) -> Self:
        """See `Job`."""
        return dataclasses.replace(self, trial=count)

    @property
    def demand(self) -> Demand:
        """See `Job`."""
        size: TrainingSize = self.known.size(self.batch_size)
        kept = sum(size_in_bytes(x) for x in (self.known.rows, self.known.held_out) if x is not None)
        windows, divided = -(-self.known.rows.shape[0] // WINDOW), len(self.blocks) > 1
        reads = 6 + 3 * divided * windows * (self.known.n_epochs if windows > 1 else 1)
        return Demand(size.window * divided, size.block, size.stored + kept, reads)

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Do the steps of a trial, an epoch of the first rows; their compiled functions are those of later trials."""
        trainer, count = self.known.trainer, (self.trial or 1) * self.batch_size
        rows = in_memory(self.known.rows[: min(count, self.known.rows.shape[0]), :])
        again = array_namespace(rows).concat([rows] * -(-count // rows.shape[0]), axis=0)[:count, :]
        trainer.model.n_iter += 1
        trainer.fit(again, None, resume=trainer.model.n_iter > 1)
        return ()
