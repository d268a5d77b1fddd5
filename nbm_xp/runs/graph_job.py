"""What the tasks of a graph's run do: one colour of one part, in chains that run together, beside what others show.

Contract: all that a task goes on with can be read from disk: of its own units what was last drawn of each colour, of
those around what their parts have shown. A process keeps a few parts in memory, with their states, so that it need not.
"""

from __future__ import annotations

import math
import pathlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nbm_xp.graphs.lazily import OVERLAP
from nbm_xp.graphs.packed import packed, unpack
from nbm_xp.graphs.part_sweeps import Bundle, PartStates
from nbm_xp.graphs.parted import TOGETHER
from nbm_xp.graphs.partition import Part
from nbm_xp.machines.diagnostics import Report
from nbm_xp.rng import hashed_seed
from nbm_xp.storage.arrays import load_arrays

from . import store
from .chains_job import SHOWN, ChainsJob
from .job import Block, Checkpoint, read_checkpoint, write_checkpoint
from .store import Stored

__all__ = ["AT_HAND", "GRAPH", "GraphJob", "save_parts"]

GRAPH = "graph.zarr"
DIVISION = "division.npz"
AT_HAND = 8
"""So many parts, and states of parts, a process keeps in memory."""
UNITS_IN_A_CHUNK = 2**24


def save_parts(parts: Sequence[Part], order: Any, folder: pathlib.Path) -> None:
    """Write the parts of a graph, and how they lie to one another."""
    near = np.zeros((len(parts), len(parts)), bool)
    for number, part in enumerate(parts):
        near[number, part.near] = True
        np.savez(_part_file(folder, number), allow_pickle=False, **part.arrays())
    sizes = np.asarray([part.units for part in parts])
    units = np.concatenate([order[part.slots] for part in parts])
    np.savez(folder / DIVISION, allow_pickle=False, near=near, sizes=sizes, units=units)


def _part_file(folder: pathlib.Path, number: int) -> pathlib.Path:
    return folder / f"part-{number:06d}.npz"


@lru_cache(maxsize=AT_HAND)
def _part(folder: pathlib.Path, run: str, number: int) -> Part:
    return Part.of(load_arrays(_part_file(folder, number)))


@lru_cache(maxsize=2)
def _division(folder: pathlib.Path, run: str) -> tuple[list[list[int]], list[int], Any]:
    """Which parts are near each, how many units each has, and the units in the order of parts."""
    arrays = load_arrays(folder / DIVISION)
    return [np.flatnonzero(row).tolist() for row in arrays["near"]], arrays["sizes"].tolist(), arrays["units"]


class _AtHand:
    """States of parts that the last tasks of this process have left."""

    def __init__(self) -> None:
        self._held: OrderedDict[Any, PartStates] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Any) -> PartStates | None:
        with self._lock:
            return self._held.pop(key, None)

    def leave(self, key: Any, states: PartStates) -> None:
        with self._lock:
            self._held[key] = states
            while len(self._held) > AT_HAND:
                self._held.popitem(last=False)

    def forget(self, directory: str) -> None:
        with self._lock:
            for key in [key for key in self._held if key[0] == directory]:
                del self._held[key]


_at_hand = _AtHand()


@dataclass(frozen=True)
class GraphJob(ChainsJob):
    """What is to be sampled, and how it is divided; it can be sent to workers and is a key.

    Attributes
    ----------
    n_units_, colours, parts : int
        How many there are.
    """

    n_units_: int
    colours: int
    parts: int

    # How it is divided

    @property
    def keeps(self) -> int:  # type: ignore[override]
        """Checkpoints of two sweeps: of each colour the states there are, and those before."""
        return 2 * self.colours

    @property
    def n_units(self) -> int:
        """How many the graph has."""
        return self.n_units_

    @property
    def blocks(self) -> list[Block]:
        """Those of all chains that run together, one bundle after the other."""
        return [Block(number, number, 1) for number in range(self.parts * math.ceil(len(self.betas) / TOGETHER))]

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return (self.burn_in + self.sweeps) * self.colours

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: units times chains."""
        bundle, part = divmod(block.number, self.parts)
        return self._sizes[part] * min(TOGETHER, len(self.betas) - bundle * TOGETHER)

    def needs(self, block: Block) -> list[int]:
        """The blocks that must have come as far."""
        bundle, part = divmod(block.number, self.parts)
        return [bundle * self.parts + other for other in self._division[0][part]]

    @property
    def _division(self) -> tuple[list[list[int]], list[int], Any]:
        return _division(pathlib.Path(self.directory), self.run)

    @property
    def _sizes(self) -> list[int]:
        return self._division[1]

    def bundle(self, number: int) -> Bundle:
        """Chains that run together, as tasks know them."""
        first = number * TOGETHER
        return _bundle(
            self.n_units, self.units, self.rule, hashed_seed(self.seed), first, self.betas[first : first + TOGETHER],
            OVERLAP in self.observe,
        )  # fmt: skip

    # What the result is

    def state(self) -> Stored:
        """The last states."""
        chunks = (1, min(self.n_units, UNITS_IN_A_CHUNK))
        shape, about = (len(self.betas), self.n_units), {"long_name": "last states"}
        return Stored("state", ("chain", "unit"), shape, chunks, "int8", about)

    def totals(self) -> Any:
        """The sums over all units, of shape (chains, draws, sums), when all is done."""
        found = []
        for bundle, columns in self._columns():
            total = np.reshape(columns[:, : bundle.sums * bundle.chains], (len(self.seen), -1, bundle.chains))
            found.append(np.transpose(total, (2, 0, 1)))
        return np.concatenate(found)

    def totals_of_pairs(self) -> Any:
        """The sums of products of two chains each, of shape (pairs, draws), when all is done."""
        return np.concatenate([columns[:, bundle.sums * bundle.chains :].T for bundle, columns in self._columns()])

    def _columns(self) -> Iterator[tuple[Bundle, Any]]:
        """All that was measured of each bundle, of shape (draws, columns)."""
        for number in range(len(self.blocks) // self.parts):
            blocks = range(number * self.parts, (number + 1) * self.parts)
            yield self.bundle(number), sum(self.measured(block) for block in blocks)  # whole multiples: not rounded

    def finish(self, unfinished: pathlib.Path) -> Report:
        """Write states and what was measured, when all blocks are done."""
        _at_hand.forget(self.directory)
        units, state = self._division[2], self.state()
        for number in range(len(self.blocks) // self.parts):
            bundle = self.bundle(number)
            whole = np.empty((bundle.chains, self.n_units), np.int8)
            for part, end in enumerate(np.cumsum(self._sizes).tolist()):
                mine = self._own(number, part, self.n_segments)
                whole[:, units[end - self._sizes[part] : end]] = np.concatenate(mine).T
            for chain, states in enumerate(whole, number * TOGETHER):
                for place, first in enumerate(range(0, self.n_units, state.chunks[1])):
                    store.write_chunk(
                        unfinished, state, (chain, place), states[None, first : first + state.chunks[1]]
                    )  # fmt: skip
        return super().finish(unfinished)

    # What a task does

    def begin(self, block: Block) -> tuple[Any, ...]:
        """Nothing: a block's first segment makes its own states, and those around it, by their numbers."""
        return ()

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Draw a colour, show what neighbours need, and keep what was drawn and measured."""
        group, number = divmod(block.number, self.parts)
        bundle, part = self.bundle(group), _part(pathlib.Path(self.directory), self.run, number)
        sweep, colour = divmod(segment, self.colours)
        last = colour == self.colours - 1
        states = _at_hand.take((self.directory, self.run, block.number, segment))
        shown: dict[int, Any] = {}
        if states is None:
            states = self._read(group, number, part, segment)
        else:
            before = (segment - 1) % self.colours
            shown = {other: (before, self._rows(group, other, segment)) for other in part.near}
        seen = last and sweep + 1 in self.seen
        states, (_, border), totals = bundle.step(part, states, shown, sweep + 1, colour, seen)
        rim = Checkpoint(segment + 1, (packed(self.values, border), np.asarray(border.shape)))
        write_checkpoint(self.folder(SHOWN), self.run, block.number, rim, self.keeps)
        if last:
            if sweep:
                before_now = self._kept(block.number, segment + 1 - self.colours)
                totals = np.concatenate([before_now[2], totals])
            if segment + 1 == self.n_segments:
                self.keep_measured(block.number, totals)
        drawn = states.own[colour]
        _at_hand.leave((self.directory, self.run, block.number, segment + 1), states)
        kept = (packed(self.values, drawn), np.asarray(drawn.shape))
        return (*kept, totals) if last else kept

    def _kept(self, block: int, done: int) -> tuple[Any, ...]:
        """The arrays of one of a block's checkpoints."""
        held = read_checkpoint(self.folder(self.part), self.run, block, done=done)
        if held is None:
            raise ValueError(f"{self.folder(self.part)} is damaged: it lacks segment {done} of block {block}")
        return held.arrays

    def _unpacked(self, kept: Any, shape: Any) -> Any:
        states = np.empty(tuple(shape), np.int8)
        unpack(self.values, kept, states)
        return states

    def _rows(self, group: int, part: int, done: int) -> Any:
        """What a part has shown after so many segments."""
        return self._unpacked(*self.shown(group * self.parts + part, done))

    def _done_before(self, segment: int) -> list[int]:
        """After how many segments each colour was drawn last; none or less where it was not."""
        return [segment - (segment - 1 - colour) % self.colours for colour in range(self.colours)]

    def _own(self, group: int, part: int, segment: int) -> list[Any]:
        """A part's own states after at least a sweep, colour by colour, from disk."""
        block = group * self.parts + part
        return [self._unpacked(*self._kept(block, done)[:2]) for done in self._done_before(segment)]

    def _read(self, group: int, number: int, part: Part, segment: int) -> PartStates:
        """The states of a part and around it after so many segments, from disk, or made where nothing was drawn."""
        begun = self.bundle(group).begin(part) if segment < self.colours else None
        own, around = [], []
        for colour, done in enumerate(self._done_before(segment)):
            if done <= 0:
                assert begun is not None
                own.append(begun.own[colour])
                around.append(begun.around[colour])
                continue
            own.append(self._unpacked(*self._kept(group * self.parts + number, done)[:2]))
            here = part.around_of_colour(colour)
            rows = np.zeros((here.stop - here.start, own[-1].shape[1]), np.int8)
            # those of the colour that is drawn next see nothing of one another, and may be drawn there already
            for other in part.near if colour != segment % self.colours else ():
                from_rows, places = part.seen(other, colour)
                if places.size:
                    rows[places] = self._rows(group, other, done)[from_rows]
            around.append(rows)
        return PartStates(tuple(own), tuple(around))


@lru_cache(maxsize=AT_HAND)
def _bundle(*told: Any) -> Bundle:
    """One object for each, which keeps its streams."""
    return Bundle(*told)
