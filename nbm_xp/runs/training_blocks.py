"""Blocks of training steps as tasks of workers: what travels, the rows that workers read, and lost workers."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbm_xp.boltzmann.blocks import Block, BlockMachine, Compute, Computed, Shared, compute_block, joined
from nbm_xp.machines import Array
from nbm_xp.machines.minibatches import RowsAt
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from .directory import RunDirectory, RunError
from .execution import TRIES
from .inputs import rows_of
from .job import cached_once, one_thread, reached
from .pools import TaskLostError, ThreadPool, WorkerLostError
from .workers import Pool


def stored_rows(run: RunDirectory, digest: str, count: int, library: str) -> RowsAt:
    """Return the rows that a run has stored, which each process reads a window at a time."""
    return RowsAt(functools.partial(_window, str(run.checkpoints), digest, library), count)


@cached_once(maxsize=1)  # all blocks of a minibatch are in one window
def _window(folder: str, digest: str, library: str, first: int, last: int) -> Array:
    with reached(folder):
        return asarray(rows_of(folder, first, last - first), get_namespace(library))


@dataclass(frozen=True)
class _Bits:
    """An array of zeros and ones, of which a bit travels for each."""

    shape: tuple[int, ...]
    dtype: str
    content: Any


def _packed(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return arrays in host memory, as bits where all values are 0 or 1."""
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        values = found[name] = to_numpy(array)
        if ((ones := values == 1) | (values == 0)).all():
            found[name] = _Bits(values.shape, values.dtype.name, np.packbits(ones))
    return found


def _unpacked(arrays: Mapping[str, Any], library: str) -> dict[str, Array]:
    xp, found = get_namespace(library), dict[str, Array]()
    for name, value in arrays.items():
        if isinstance(value, _Bits):
            bits = np.unpackbits(value.content, count=math.prod(value.shape))
            value = bits.reshape(value.shape).astype(value.dtype)
        found[name] = asarray(value, xp)
    return found


_machines = threading.local()  # a machine has the chains of one block at a time


def _compute(shared: Shared, block: Block) -> Computed:
    """Compute a block in a thread."""
    known: dict[Any, BlockMachine] = vars(_machines).setdefault("known", {})
    with one_thread():
        return compute_block(shared, block, known)


def _compute_one(step: tuple[Shared, Sequence[Block]], number: int) -> Computed:
    """Compute a block of a step in a thread of this process."""
    return _compute(step[0], step[1][number])


def _compute_group(step: tuple[str, Shared, Sequence[Sequence[Block]]], number: int) -> Computed:
    """Compute a group of blocks of a step in a worker of a cluster."""
    library, shared, groups = step
    here = replace(shared, arrays=_unpacked(shared.arrays, library))
    blocks = (replace(block, chains=_unpacked(block.chains, library)) for block in groups[number])
    found = joined(_compute(here, block) for block in blocks)
    return Computed([to_numpy(part) for part in found.sums], [_packed(chains) for chains in found.chains])


def group_size(blocks: int, workers: int) -> int:
    """Return the number of blocks in a task: a power of two, so that sums are added in the same order.

    Examples
    --------
    >>> group_size(4, 1), group_size(4, 2), group_size(20, 4)
    (4, 2, 1)
    """
    sizes = [1 << power for power in range(blocks.bit_length()) if 1 << power <= blocks]
    return min(reversed(sizes), key=lambda size: math.ceil(math.ceil(blocks / size) / workers) * size)


def computed_by(pool: Pool, run: RunDirectory, library: str) -> Compute:
    """Return a function that computes the blocks of a step by workers, again if one is lost."""

    def compute(shared: Shared, blocks: Sequence[Block]) -> Computed:
        if isinstance(pool, ThreadPool):
            return joined(pool.map(_compute_one, (shared, blocks), len(blocks), ""))
        size = group_size(len(blocks), pool.count)
        sent = replace(shared, arrays={name: to_numpy(array) for name, array in shared.arrays.items()})
        packed = [replace(block, chains=_packed(block.chains)) for block in blocks]
        groups = [packed[first : first + size] for first in range(0, len(packed), size)]
        tried, found = 0, None
        while found is None:
            try:
                found = pool.map(_compute_group, (library, sent, groups), len(groups), "train")
            except WorkerLostError as lost:
                tried += not isinstance(lost, TaskLostError)
                run.log(f"the {len(blocks)} blocks of a step are submitted again: {lost}")
                if tried == TRIES:
                    more = "perhaps it needs more memory than there is. Give workers more"
                    raise RunError(f"a training step lost a worker {TRIES} times in a row: {more}") from lost
        xp = get_namespace(library)
        return joined(
            Computed([asarray(part, xp) for part in each.sums], [_unpacked(chains, library) for chains in each.chains])
            for each in found
        )

    return compute
