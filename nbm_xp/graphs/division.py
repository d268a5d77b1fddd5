"""A lattice divided into blocks, each of which sees as much of the others as some sweeps need.

Contract: what a block shows of itself is what any other may need of it, and no more: two layers along each axis that is
divided, which are few beside the block.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import host_namespace

__all__ = ["Division", "Index", "divided"]

Index = tuple[int, ...]
Rim = tuple[Any, ...]
"""What a block shows: along each axis its first layers and its last ones; two None where the axis is not divided."""
Slices = tuple[slice, ...]

MOST_AT_ONCE = 16
WORTH_IT = 128
"""A task makes so many times fewer sweeps than its block is long: then a few hundredths are drawn around the block."""


@dataclass(frozen=True)
class Division:
    """How a lattice is divided.

    Parameters
    ----------
    chunks : tuple of tuples of ints
        Along each axis, the lengths of blocks.
    periodic : tuple of bool
    """

    chunks: tuple[tuple[int, ...], ...]
    periodic: tuple[bool, ...]

    @property
    def blocks(self) -> list[Index]:
        """All blocks, in C order."""
        return list(itertools.product(*(range(len(sizes)) for sizes in self.chunks)))

    def size(self, block: Index) -> tuple[int, ...]:
        """How long a block is along each axis."""
        return tuple(sizes[i] for sizes, i in zip(self.chunks, block, strict=True))

    def offset(self, block: Index) -> tuple[int, ...]:
        """Where a block begins."""
        return tuple(sum(sizes[:i]) for sizes, i in zip(self.chunks, block, strict=True))

    @property
    def sweeps_at_once(self) -> int:
        """How many sweeps a task makes: so few that what is drawn around a block is little beside it.

        Examples
        --------
        >>> Division(((512, 512), (1024,)), (True, True)).sweeps_at_once
        4
        """
        shortest = min(min(sizes) for sizes in self.chunks)
        return max(1, min(MOST_AT_ONCE, shortest // WORTH_IT))

    def neighbours(self, block: Index, depth: int) -> list[Index]:
        """The other blocks of which a block needs something."""
        near = [sorted({i for i, *_ in self._reach(axis, block[axis], depth)}) for axis in range(len(block))]
        return [other for other in itertools.product(*near) if other != block]

    def show(self, block: Any, depth: int) -> Rim:
        """What others may need of a block."""
        host = host_namespace()
        return tuple(
            None if layers is None else host.asarray(block[layers], copy=True)
            for layers in self.layers(block.shape, depth)
        )

    def layers(self, size: tuple[int, ...], depth: int) -> list[Slices | None]:
        """Which layers of a block others may need: along each axis its first and its last ones."""
        found: list[Slices | None] = []
        for axis, sizes in enumerate(self.chunks):
            d = min(depth, size[axis])
            for some in (slice(0, d), slice(size[axis] - d, size[axis])):
                whole = [slice(0, n) for n in size]
                found.append(None if len(sizes) == 1 else (*whole[:axis], some, *whole[axis + 1 :]))
        return found

    def padded(self, block: Index, own: Any, rims: Mapping[Index, Rim], depth: int, nothing: int) -> Any:
        """A block with so many layers around it, which the others show; `nothing` beyond open ends."""
        host = host_namespace()
        out = host.full(tuple(n + 2 * depth for n in own.shape), nothing, dtype=own.dtype)
        for other, taken, place in self.pieces(block, depth):
            out[place] = own[taken] if other == block else self.part(other, rims[other], taken)
        return out

    def pieces(self, block: Index, depth: int) -> Iterator[tuple[Index, Slices, Slices]]:
        """What makes up a block with so many layers around it: of which block, what of it, and where it comes."""
        for pieces in itertools.product(*(self._reach(axis, block[axis], depth) for axis in range(len(block)))):
            yield (
                tuple(piece[0] for piece in pieces),
                tuple(slice(begin, end) for _, begin, end, _ in pieces),
                tuple(slice(at, at + end - begin) for _, begin, end, at in pieces),
            )

    def part(self, block: Index, rim: Rim, taken: Slices) -> Any:
        """A part of what a block shows: along one axis it reaches no farther than the layers that are shown."""
        for axis, n in enumerate(self.size(block)):
            begin, end = taken[axis].start, taken[axis].stop
            for layers, last in ((rim[2 * axis], False), (rim[2 * axis + 1], True)):
                if layers is None:
                    continue
                first = n - layers.shape[axis] if last else 0
                if first <= begin and end <= first + layers.shape[axis]:
                    return layers[(*taken[:axis], slice(begin - first, end - first), *taken[axis + 1 :])]
        raise AssertionError("a neighbour shows what is needed")

    def _reach(self, axis: int, i: int, depth: int) -> Iterator[tuple[int, int, int, int]]:
        """The pieces of a padded block along an axis: of which block, from where to where in it, and their places."""
        sizes, ends = self.chunks[axis], list(itertools.accumulate(self.chunks[axis], initial=0))
        n, first = ends[-1], ends[i] - depth
        place, last = first, ends[i] + sizes[i] + depth
        if not self.periodic[axis]:
            place, last = max(place, 0), min(last, n)
        while place < last:
            here = place % n
            j = next(k for k in range(len(sizes)) if here < ends[k + 1])
            count = min(ends[j + 1] - here, last - place)
            yield j, here - ends[j], here - ends[j] + count, place - first
            place += count


def divided(shape: Sequence[int], periodic: Sequence[bool], chunks: Any) -> Division:
    """A division by what says how long blocks are: one int, or for each axis an int or ints, as Dask takes them.

    Raises
    ------
    ValueError
        If it does not.

    Examples
    --------
    >>> divided((8, 6), (True, True), (4, (2, 4))).chunks
    ((4, 4), (2, 4))
    >>> divided((8, 6), (True, True), 5).chunks
    ((5, 3), (5, 1))
    """
    wanted = f"chunks must be an int, or for each of {len(shape)} axes an int or ints whose sum is its length"
    asked = chunks if isinstance(chunks, (list, tuple)) else [chunks] * len(shape)
    if len(asked) != len(shape):
        raise ValueError(f"{wanted}, got {chunks!r}")
    found = []
    for n, one in zip(shape, asked, strict=True):
        try:
            if isinstance(one, (list, tuple)):
                sizes = [int(length.__index__()) for length in one]
            else:
                length = n if one == -1 else int(one.__index__())
                sizes = [min(length, n - begin) for begin in range(0, n, max(length, 1))]
        except AttributeError as error:
            raise ValueError(f"{wanted}, got {chunks!r}") from error
        if any(length < 1 for length in sizes) or sum(sizes) != n:
            raise ValueError(f"{wanted}, got {chunks!r}")
        found.append(tuple(sizes))
    return Division(tuple(found), tuple(periodic))
