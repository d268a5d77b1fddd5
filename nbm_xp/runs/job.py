"""How a run is divided: chains into blocks, each block's sweeps into segments.

Contract: what is divided how depends on what was asked for alone, never on the machine or the
number of workers, for the blocks and segments are also the files of the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nbm_xp.machines.rows import positive_int

__all__ = ["Alone", "Block", "SampleJob", "Segment", "blocks_of", "chunk_of", "usual_segment"]

CHAINS_IN_A_BLOCK = 128
"""By default: enough for matrix products to be fast, few enough to stay in a core's cache."""

BYTES_IN_A_CHUNK = 2**23
SWEEPS_IN_A_SEGMENT = 1000


@dataclass(frozen=True)
class Block:
    """Some rows of many: chains, or rows of data."""

    number: int
    offset: int
    rows: int


class Alone:
    """A job whose blocks need nothing of one another, and hand what they go on with from segment to segment."""

    hands_on = True
    keeps = 1

    def needs(self, block: Block) -> list[int]:
        """The blocks that must have come as far: none."""
        return []


@dataclass(frozen=True)
class Segment:
    """What one task does for a block: sweeps, and looks at the chains, none while they burn in."""

    first_sweep: int
    n_sweeps: int
    first_draw: int
    n_draws: int


def blocks_of(rows: int, chunk: int) -> list[Block]:
    """All rows in blocks of one length, of which the last may be shorter.

    Examples
    --------
    >>> [(block.offset, block.rows) for block in blocks_of(5, 2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    return [Block(i, first, min(chunk, rows - first)) for i, first in enumerate(range(0, rows, chunk))]


def chunk_of(chunks: Any, rows: int, default: int = CHAINS_IN_A_BLOCK) -> int:
    """How many rows there are in a block."""
    return min(rows, default) if chunks is None else min(rows, positive_int(chunks, "chunks"))


@dataclass(frozen=True)
class SampleJob(Alone):
    """What is to be sampled, and how it is divided; it can be sent to workers and is a key.

    Attributes
    ----------
    directory : str
        The run's.
    seed : int
    n_chains, burn_in, n_draws, thin : int
        Draw i is the state after ``burn_in + (i + 1) * thin`` sweeps.
    layers : tuple of int
        Which layers to keep.
    probabilities : bool
        Whether to keep what states were drawn with instead of the states.
    chunks : int
        How many chains there are in a block.
    checkpoint_every : int
        How many draws there are in a segment.
    library : str
    model : str
        The hash of its parameters.
    run, result : str
        What tells the run, and what it results in, from all others.
    clamped : tuple of int
        Layers that are held.
    ladder : bool
        Whether chains are those on the ladder that the model learnt on, and a sweep a step of theirs.
    """

    directory: str
    seed: int
    n_chains: int
    burn_in: int
    n_draws: int
    thin: int
    layers: tuple[int, ...]
    probabilities: bool
    chunks: int
    checkpoint_every: int
    library: str
    model: str
    run: str
    result: str
    clamped: tuple[int, ...] = ()
    ladder: bool = False

    @property
    def blocks(self) -> list[Block]:
        """The blocks of chains."""
        return blocks_of(self.n_chains, self.chunks)

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return self._burning + math.ceil(self.n_draws / self.checkpoint_every)

    @property
    def n_sweeps(self) -> int:
        """How many sweeps each chain makes."""
        return self.burn_in + self.n_draws * self.thin

    def segment(self, number: int) -> Segment:
        """One of the segments."""
        longest = self.checkpoint_every * self.thin
        if number < self._burning:
            first = number * longest
            return Segment(first, min(longest, self.burn_in - first), 0, 0)
        draw = (number - self._burning) * self.checkpoint_every
        draws = min(self.checkpoint_every, self.n_draws - draw)
        return Segment(self.burn_in + draw * self.thin, draws * self.thin, draw, draws)

    def steps(self, block: Block, number: int) -> int:
        """How much work a segment is: sweeps times chains."""
        return self.segment(number).n_sweeps * block.rows

    @property
    def _burning(self) -> int:
        return math.ceil(self.burn_in / (self.checkpoint_every * self.thin))


def usual_segment(n_draws: int, thin: int, bytes_of_a_draw: int) -> int:
    """How many draws a segment has unless one is told: a chunk of 8 MB, or a thousand sweeps, if that is less.

    Examples
    --------
    >>> usual_segment(1000, 1, 128 * 784), usual_segment(1000, 100, 128 * 784)
    (83, 10)
    """
    return max(1, min(n_draws, BYTES_IN_A_CHUNK // max(bytes_of_a_draw, 1), SWEEPS_IN_A_SEGMENT // thin))
