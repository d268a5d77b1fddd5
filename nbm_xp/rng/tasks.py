"""Draws as tasks: on Dask one for each block, elsewhere one for the whole array.

Contract: a task holds the state, the shape of the whole draw and the parameters that are numbers; parameters that are
arrays come to it block by block. Nothing is computed when an array is made; what a task costs grows with its block
alone; and the numbers are those of the undivided draw, whatever the chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import (
    Derivatives,
    asarray,
    dtype_name,
    dtype_of,
    from_blocks,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    with_derivatives,
)
from nbm_xp.namespace.compiling import strictly_rounded
from nbm_xp.namespace.errors import reraise_lack
from nbm_xp.namespace.memory import joined
from nbm_xp.namespace.mrg31k3p.integers import Followed, State

from .element_uniforms import ElementUniforms, of_block
from .rules import Rule, require
from .uniforms import HOST, Shape, advance, substreams

__all__ = ["Draw", "FewNumbers", "in_few_numbers", "later_states", "library_of_blocks", "made", "checked_when_computed"]

_STRETCH: Final = 2**17  # elements at most, whose float64 arrays are a megabyte


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw, called with where a block begins, its shape, and the arrays that it is handed.

    Parameters
    ----------
    make : callable
        ``make(draw, offset, shape, *arrays, **options)`` makes the block.
    state : six ints, or six arrays without axes
        The state of the first stream; None where the states of all streams are among the arrays.
    whole : tuple of ints
        The shape of the whole draw.
    dtype, library : str
        Of the blocks.
    numbers : tuple
        The parameters that are numbers; None for those that come as blocks.
    threads : int
        How many threads work side by side on a NumPy array.
    options : tuple of (str, value)
        Keywords of `make`.
    """

    make: Callable[..., Any]
    state: Followed | None
    whole: Shape
    dtype: str
    library: str
    numbers: tuple[Any, ...] = ()
    threads: int = 1
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, offset: Shape, shape: Shape, *arrays: Any, **more: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        return self.make(self, offset, shape, *arrays, **dict(self.options), **more)

    @property
    def xp(self) -> Any:
        """The namespace of the blocks."""
        return get_namespace(self.library)

    def changed(self, dtype: str, **options: Any) -> Draw:
        """The same draw with another dtype and further options."""
        return replace(self, dtype=dtype, options=(*self.options, *options.items()))

    def uniforms(self, offset: Shape, shape: Shape, components: int = 0) -> ElementUniforms:
        """The uniforms of the elements of a block; of its vectors along the last axis, where `components` is 1."""
        assert self.state is not None
        end = len(shape) - components
        return of_block(self.state, self.whole[:end], offset[:end], shape[:end], self.library)

    def zeros(self, shape: Shape) -> Any:
        """An array of zeros in the dtype of the draw."""
        return self.xp.zeros(shape, dtype=dtype_of(self.xp, self.dtype))

    def given(self, blocks: tuple[Any, ...]) -> list[Any]:
        """All parameters: the numbers, and the blocks in their places."""
        waiting = iter(blocks)
        return [next(waiting) if number is None else number for number in self.numbers]

    def columns(self, shape: Shape, blocks: tuple[Any, ...], dtype: str) -> list[Any]:
        """All parameters as arrays of shape (count,) or (1,)."""
        xp, waiting = self.xp, iter(blocks)

        def spread(block: Any) -> Any:
            return xp.reshape(xp.broadcast_to(xp.astype(block, dtype_of(xp, dtype)), shape), (-1,))

        return [spread(next(waiting)) if n is None else asarray([n], xp, dtype) for n in self.numbers]

    def sampled(self, sample: Callable[..., Any], uniforms: ElementUniforms, *columns: Any) -> Any:
        """What ``sample(uniforms, *columns)`` makes, a stretch at a time, which stays in the processor's caches."""
        if self.library != HOST or uniforms.count < 2 * _STRETCH:
            return sample(uniforms, *columns)
        length = max(1, _STRETCH // uniforms.streams) * uniforms.streams  # whole steps

        def made_of(stretch: tuple[int, ElementUniforms]) -> Any:
            begin, part = stretch
            own = (column if column.shape[0] == 1 else column[begin : begin + part.count] for column in columns)
            return sample(part, *own)

        stretches = uniforms.stretches(length if length <= _STRETCH else _STRETCH)
        if self.threads == 1:
            return joined(self.xp, uniforms.count, self.dtype, map(made_of, stretches))
        with ThreadPoolExecutor(self.threads) as pool:
            return joined(self.xp, uniforms.count, self.dtype, pool.map(made_of, stretches))

    def finished(self, x: Any, shape: Shape) -> Any:
        """The block in its shape and dtype."""
        xp = self.xp
        return xp.astype(xp.reshape(x, shape), dtype_of(xp, self.dtype), copy=False)


def made(
    xp: Any,
    draw: Draw,
    parameters: tuple[Any, ...] = (),
    *,
    chunks: Any = None,
    args: tuple[Any, ...] = (),
    derivatives: Callable[[], Derivatives | None] = lambda: None,
    out: Any = None,
) -> Any:
    """Make a draw: at once, or on Dask when the array is computed.

    Parameters
    ----------
    xp : namespace
        The library of the array.
    draw : Draw
        The draw.
    parameters : tuple of numbers and arrays
        The arrays among them come to the draw block by block.
    chunks : optional
        How Dask splits the array.
    args : tuple
        Arrays that come to the draw whole, after the blocks.
    derivatives : callable, optional
        Gives the derivatives in the arrays, where the library does not differentiate step by step.
    out : array, optional
        What the draw may write to, of a library that is not lazy.

    Returns
    -------
    array
    """
    blocks = [parameter for parameter in parameters if is_array(parameter)]
    if not is_lazy(xp):
        try:
            work = strictly_rounded(draw if out is None else partial(draw, out=out), xp)
            at_once, arrays = partial(work, (0,) * len(draw.whole), draw.whole), (*blocks, *args)
            return with_derivatives(at_once, arrays, derivatives)
        except AttributeError as error:
            reraise_lack(error)
    name, chunks = draw.make.__name__.strip("_"), "auto" if chunks is None else chunks
    meta = draw.zeros((0,) * len(draw.whole))
    return from_blocks(xp, draw, draw.whole, draw.dtype, chunks, blocks=blocks, args=args, name=name, meta=meta)


def library_of_blocks(xp: Any, *arrays: Any) -> str:
    """Name the library of blocks: that of the first Dask array among some, else what Dask's configuration asks for.

    Examples
    --------
    >>> library_of_blocks(get_namespace("dask"))
    'numpy'
    """
    blocks = (getattr(array, "_meta", None) for array in (*arrays, xp.empty((0,))))
    return next((library_name(block) for block in blocks if is_array(block)), HOST)


def _required(name: str, rule: Rule, offset: Shape, shape: Shape, block: Any) -> Any:
    require(name, block, rule)
    return block


def checked_when_computed(xp: Any, name: str, value: Any, rule: Rule) -> Any:
    """A parameter on Dask of which each block is checked when it is computed; a number as it is."""
    if not is_array(value):
        return value
    check, meta = partial(_required, name, rule), getattr(value, "_meta", None)
    return from_blocks(
        xp, check, value.shape, dtype_name(value), value.chunks, blocks=(value,), name="checked", meta=meta
    )


@dataclass(frozen=True, slots=True)
class FewNumbers:
    """The states of all streams in twelve numbers: after a draw, the first streams are a step ahead of the others.

    `firsts` are the first states of stretches of streams, and `counts` how many streams those have.
    """

    firsts: tuple[State, ...]
    counts: Shape

    def states(self) -> Any:
        """All of them, as a NumPy array."""
        stretches = zip(self.firsts, self.counts, strict=True)
        return host_namespace().concat([substreams(first, count) for first, count in stretches])


def in_few_numbers(states: Any) -> Any:
    """States as they travel with every task: in few numbers where those tell them all, else as they are.

    Examples
    --------
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


def _advanced(n: int, offset: Shape, shape: Shape, states: Any) -> Any:
    return advance(states, n)


def later_states(xp: Any, states: Any, n: int) -> Any:
    """Give the states after `n` elements were drawn, for states that are a Dask array."""
    blocks = get_namespace(library_of_blocks(xp, states))
    meta = blocks.zeros((0, 0), dtype=dtype_of(blocks, "int32"))
    task = partial(_advanced, n)
    return from_blocks(xp, task, states.shape, "int32", -1, args=(states,), name="states", meta=meta)
