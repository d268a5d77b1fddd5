"""What the tasks of a lattice's run do: sweeps of one block, beside what its neighbours have shown.

Contract: a block may be a segment ahead of its neighbours, never more, so it keeps what it showed after the last two.
States are read from disk and written there, and no task hands any on: what is in memory is the blocks at work.
"""

from __future__ import annotations

import functools
import itertools
import math
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.graphs.brick_sweeps import Couplings, LatticeChain
from nbm_xp.graphs.division import Division, Index, Rim, divided
from nbm_xp.graphs.lattice_graph import Lattice
from nbm_xp.rng import hashed_seed
from nbm_xp.storage.arrays import load_arrays, map_array

from . import store
from .chains_job import SHOWN, ChainsJob
from .job import Block, Checkpoint, write_checkpoint
from .store import Stored

__all__ = ["HELD", "LATTICE", "MULTIPLES", "OWN_FIELDS", "LatticeJob"]

LATTICE = "lattice.zarr"
MULTIPLES, OWN_FIELDS, HELD = "multiples.npy", "fields.npy", "held.npz"


@functools.lru_cache(maxsize=8)
def _division(shape: tuple[int, ...], periodic: tuple[bool, ...], chunks: tuple[int, ...]) -> Division:
    return divided(shape, periodic, chunks)


@dataclass(frozen=True)
class LatticeJob(ChainsJob):
    """What is to be sampled, and how it is divided; it can be sent to workers and is a key.

    Attributes
    ----------
    shape, periodic
        See `LatticeChain`.
    chunks : tuple of int
        How long blocks are along each axis.
    checkpoint_every : int
        How many sweeps there are in a segment.
    unit, largest, odd, field
        See `Couplings`; `field` is None where each unit has its own.
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    chunks: tuple[int, ...]
    checkpoint_every: int
    unit: float
    largest: int
    odd: bool
    field: float | None

    # How it is divided

    @property
    def division(self) -> Division:
        """The blocks of the lattice."""
        return _division(self.shape, self.periodic, self.chunks)

    @property
    def blocks(self) -> list[Block]:
        """Those of all chains, one chain after the other."""
        return [Block(number, number, 1) for number in range(self._parts * len(self.betas))]

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return math.ceil((self.burn_in + self.sweeps) / self.checkpoint_every)

    def segment(self, number: int) -> tuple[int, int, tuple[int, ...]]:
        """How many sweeps come before a segment, how many it has, and which are measured."""
        first = number * self.checkpoint_every
        count = min(self.checkpoint_every, self.burn_in + self.sweeps - first)
        return first, count, tuple(t for t in range(first + 1, first + count + 1) if t in self.seen)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: sweeps times units."""
        _, place = self._place(block.number)
        return self.segment(segment)[1] * math.prod(self.division.size(place))

    def needs(self, block: Block) -> list[int]:
        """The blocks that must have come as far."""
        division = self.division
        chain, place = self._place(block.number)
        near = division.neighbours(place, self._reach * self.checkpoint_every)
        return [self._number(chain, other) for other in near]

    @property
    def _reach(self) -> int:
        """How many layers around a block a sweep needs."""
        return Lattice(self.shape, self.periodic).reach

    @property
    def _parts(self) -> int:
        """How many blocks a chain has."""
        return math.prod(map(len, self.division.chunks))

    def _place(self, number: int) -> tuple[int, Index]:
        """The chain and the place of a block."""
        chain, rest = divmod(number, self._parts)
        return chain, tuple(map(int, np.unravel_index(rest, [len(sizes) for sizes in self.division.chunks])))

    def _number(self, chain: int, place: Index) -> int:
        number = np.ravel_multi_index(place, [len(sizes) for sizes in self.division.chunks])
        return chain * self._parts + int(number)

    def chain(self, number: int) -> LatticeChain:
        """A chain, as tasks know it."""
        seed = hashed_seed(self.seed)
        return LatticeChain(self.shape, self.periodic, self.units, self.rule, seed, number, self.betas[number])

    # What the result is

    @property
    def n_units(self) -> int:
        """How many the lattice has."""
        return math.prod(self.shape)

    def state(self) -> Stored:
        """The last states."""
        axes = tuple(f"axis_{k}" for k in range(len(self.shape)))
        shape, chunks = (len(self.betas), *self.shape), (1, *self.chunks)
        return Stored("state", ("chain", *axes), shape, chunks, "int8", {"long_name": "last states"})

    def totals(self) -> Any:
        """The sums over all units, of shape (chains, draws, sums), when all is done."""
        per_chain, found = self._parts, []
        for chain in range(len(self.betas)):
            blocks = range(chain * per_chain, (chain + 1) * per_chain)
            found.append(sum(self.measured(block) for block in blocks))  # whole multiples: no sum is rounded
        return np.stack(found)

    # What a task does

    def begin(self, block: Block) -> tuple[Any, ...]:
        """Nothing: a block's first segment makes its own states, and those around it, by their numbers."""
        return ()

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Do the sweeps of a segment, show what neighbours need, and keep what was measured."""
        number, place = self._place(block.number)
        chain, division = self.chain(number), self.division
        offset, size = division.offset(place), division.size(place)
        sweep, count, seen = self.segment(segment)
        depth = self._reach * count
        if segment:
            before, totals = arrays
            rims = {other: self._shown(number, other, segment) for other in division.neighbours(place, depth)}
            padded = division.padded(place, before, rims, depth, chain.nothing)
        else:
            totals = np.zeros((0, chain.sums))
            padded = chain.begin(tuple(o - depth for o in offset), tuple(n + 2 * depth for n in size))
        couplings = self._couplings().of(chain.brick(offset, size, depth), Lattice(self.shape, self.periodic))
        states, measured = chain.advance(padded, offset, size, couplings, sweep, count, seen)
        totals = np.concatenate([totals, measured])
        if segment + 1 < self.n_segments:
            rim = division.show(states, self._reach * self.checkpoint_every)
            shown = tuple(layers for layers in rim if layers is not None)
            write_checkpoint(self.folder(SHOWN), self.run, block.number, Checkpoint(segment + 1, shown), keeps=2)
            return states, totals
        self.keep_measured(block.number, totals)
        store.write_chunk(pathlib.Path(self.directory) / store.UNFINISHED, self.state(), (number, *place), states[None])
        return ()

    def _shown(self, chain: int, place: Index, segment: int) -> Rim:
        """What a block has shown after so many segments."""
        layers = iter(self.shown(self._number(chain, place), segment))
        divides = itertools.chain.from_iterable((len(sizes) > 1,) * 2 for sizes in self.division.chunks)
        return tuple(next(layers) if divide else None for divide in divides)

    def _couplings(self) -> Couplings:
        """Those of the lattice, of which each block reads its own from disk."""
        place = pathlib.Path(self.directory)
        multiples, fields = (
            map_array(place / name) if (place / name).exists() else None for name in (MULTIPLES, OWN_FIELDS)
        )
        own, held = self.field if self.field is not None else fields, None
        if (place / HELD).exists():
            arrays = load_arrays(place / HELD)
            held = arrays["units"], arrays["values"]
        return Couplings(self.unit, multiples, own, self.largest, self.odd, held)
