"""Draws on Dask: each block makes its own elements, from a handful of numbers.

Contract: nothing is computed when the array is made; a task holds only where it is and what the
draw is; what it costs grows with its own size; and the numbers are those of the undivided draw, whatever the chunks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import asarray, dtype_of, from_blocks, get_namespace, host_namespace, is_array, library_name
from nbm_xp.namespace.mrg31k3p.integers import State

from .runs import above, below, block_runs, later_draw
from .transforms import normal_of_pairs
from .uniforms import HOST, advance, elements, substreams

__all__ = [
    "FewNumbers", "Normals", "Uniforms", "in_few_numbers", "later_states", "lazily", "library_of_blocks",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class FewNumbers:
    """The states of all streams in twelve numbers: they are stretches of streams that lie evenly apart.

    After a draw, the first streams are a step ahead of the others.

    Parameters
    ----------
    firsts : sequence of states
        Of each stretch, the state of its first stream.
    counts : sequence of int
        How many streams it has.
    """

    firsts: tuple[State, ...]
    counts: tuple[int, ...]

    def states(self) -> Any:
        """All of them, as a NumPy array."""
        stretches = zip(self.firsts, self.counts, strict=True)
        return host_namespace().concat([substreams(first, count) for first, count in stretches])


def in_few_numbers(states: Any) -> Any:
    """States as they travel with every task: in few numbers where those tell them all, else as they are.

    Examples
    --------
    >>> from nbm_xp.rng import substreams
    >>> in_few_numbers(advance(substreams((234,) * 6, 9), 13)).counts
    (4, 5)
    """
    xp = host_namespace()
    firsts: list[State] = []
    counts: list[int] = []
    done = 0
    while done < states.shape[0] and len(firsts) < 2:
        first = tuple(states[done, :].tolist())
        rest = states[done:, :]
        apart = xp.any(substreams(first, rest.shape[0]) != rest, axis=1)
        count = int(xp.argmax(apart)) if bool(xp.any(apart)) else rest.shape[0]
        firsts.append(first)
        counts.append(count)
        done += count
    return FewNumbers(tuple(firsts), tuple(counts)) if done == states.shape[0] else states


@dataclass(frozen=True, slots=True)
class Uniforms:
    """The uniforms of one block, as a task.

    Parameters
    ----------
    source : six ints or None
        The state of the first stream; None where the task is handed the states of all of them.
    streams : int
        How many streams there are.
    shape : tuple of ints
        The shape of the whole draw.
    dtype : str
        The dtype of the numbers.
    library : str
        The library of the blocks.
    trial : int
        How many draws of this shape the streams made before.
    """

    source: State | None
    streams: int
    shape: tuple[int, ...]
    dtype: str
    library: str = HOST
    trial: int = 0

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *states: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        source = self.source if self.source is not None else states[0]
        source = source.states() if isinstance(source, FewNumbers) else source
        runs = block_runs(self.shape, offset, shape)
        return get_namespace(self.library).reshape(self.flat(source, *runs), shape)

    def flat(self, source: Any, begins: Any, lengths: Any) -> Any:
        """The numbers of the runs, one after the other."""
        runs = later_draw(begins, lengths, math.prod(self.shape), self.streams, self.trial)
        return elements(source, self.streams, *runs, self.dtype, self.library)


class Normals(Uniforms):
    """The standard normal numbers of one block."""

    __slots__ = ()

    def flat(self, source: Any, begins: Any, lengths: Any) -> Any:
        """The numbers of the runs, one after the other: cosines first, then sines."""
        host, xp = host_namespace(), get_namespace(self.library)
        half = (math.prod(self.shape) + 1) // 2
        cosines, sines = below(begins, lengths, half), above(begins, lengths, half)
        begins = host.concat([cosines[0], sines[0] - half])
        lengths = host.concat([cosines[1], sines[1]])
        u1, u2 = (
            elements(source, self.streams, begins + shift, lengths, self.dtype, self.library) for shift in (0, half)
        )
        is_sine = host.arange(int(host.sum(lengths))) >= host.sum(cosines[1])
        return normal_of_pairs(xp, u1, u2, asarray(is_sine, xp))


@dataclass(frozen=True, slots=True)
class _Later:
    """The states after a draw, as a task."""

    n: int

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], states: Any) -> Any:
        return advance(states, self.n)


def later_states(xp: Any, states: Any, n: int) -> Any:
    """Give the states after `n` elements were drawn, for states that are a Dask array."""
    blocks = get_namespace(library_of_blocks(xp, states))
    meta = blocks.zeros((0, 0), dtype=dtype_of(blocks, "int32"))
    return from_blocks(xp, _Later(n), states.shape, "int32", -1, args=(states,), name="states", meta=meta)


def library_of_blocks(xp: Any, *arrays: Any) -> str:
    """Name the library of blocks: that of the first Dask array among some, else what Dask's configuration asks for.

    Parameters
    ----------
    xp : namespace
        Dask's.
    *arrays
        Dask arrays and anything else.

    Returns
    -------
    str

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> library_of_blocks(get_namespace("dask"))
    'numpy'
    """
    blocks = (getattr(array, "_meta", None) for array in (*arrays, xp.empty((0,))))
    return next((library_name(block) for block in blocks if is_array(block)), HOST)


def lazily(xp: Any, task: Any, chunks: Any, states: Any = None, parts: Sequence[Any] = ()) -> Any:
    """Make the Dask array whose blocks a task makes.

    Parameters
    ----------
    xp : namespace
        Dask's.
    task : Uniforms, or what has its `shape`, `dtype` and `library`
        What makes a block.
    chunks : optional
        Any form that Dask takes; its own choice where None.
    states : array, optional
        The states of all streams, for a task without a source.
    parts : sequence of Dask arrays, optional
        Arrays that broadcast to the draw, of which the task is handed the part for its block, before the states.

    Returns
    -------
    array
    """
    blocks = get_namespace(task.library)
    meta = blocks.zeros((0,) * len(task.shape), dtype=dtype_of(blocks, task.dtype))
    args: tuple[Any, ...] = ()
    if states is not None:
        few = in_few_numbers(states) if library_name(states) == HOST else states
        args = (few,) if isinstance(few, FewNumbers) else (asarray(states, xp),)
    chunks = "auto" if chunks is None else chunks
    name = type(task).__name__.lower()
    return from_blocks(xp, task, task.shape, task.dtype, chunks, args=args, blocks=parts, name=name, meta=meta)
