"""Draws of a `Generator` as tasks: on Dask one for each block, elsewhere one for the whole array.

Contract: output ``j`` of element ``i`` is the output of stream ``i mod 15360`` at step ``i div 15360 + j * 2**56``
after the state of the draw. So it depends only on the state, the index of the element and ``j``, not on the number of
elements, on the outputs that other elements use, or on the chunks; any element can be computed alone. A task holds the
state, the shape of the whole draw and the parameters that are numbers; it receives array parameters block by block.
Nothing is computed when a lazy array is made, and the cost of a task is proportional to the size of its block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import (
    Derivatives,
    asarray,
    dtype_of,
    from_blocks,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    wide_dtypes,
    with_derivatives,
)
from nbm_xp.namespace.blocks import block_namespace
from nbm_xp.namespace.compiling import strictly_rounded
from nbm_xp.namespace.errors import say_lack
from nbm_xp.namespace.libraries import HOST
from nbm_xp.namespace.memory import joined
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS, OUTPUT_STEPS, Followed
from nbm_xp.namespace.mrg31k3p.numpy_draws import cut_at_steps

from . import recurrence
from .parameters import chunks_of
from .uniforms import (
    Shape,
    advance,
    at_places,
    block_runs,
    elements,
    normal_of_pairs,
    numbers,
    places_of,
    span_of,
    stepwise_normals,
    substreams,
    two_draws,
)

_STRETCH: Final = 2**17  # largest number of elements computed at once; in float64 they take a mebibyte


@dataclass(frozen=True)
class ElementUniforms:
    """Uniforms of the elements of a block.

    Parameters
    ----------
    state : six ints, or six arrays without axes
        State of the first stream.
    n : int
        Number of elements of the whole array.
    begins, lengths : numpy.ndarray
        First indices and lengths of the runs of elements in the block.
    count : int
        Number of elements of the block.
    library : str
        Name of the library of the uniforms.
    first, step : int
        Uniform ``j`` is made of output ``first + j * step`` of its element.
    """

    state: Followed
    n: int
    begins: Any
    lengths: Any
    count: int
    library: str
    first: int = 0
    step: int = 1
    _kept: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def xp(self) -> Any:
        """Namespace of the library."""
        return get_namespace(self.library)

    @property
    def streams(self) -> int:
        """Number of streams of the whole array."""
        return max(1, min(self.n, MAX_STREAMS))

    @property
    def is_whole(self) -> bool:
        """Whether the block is the whole array."""
        return self.count == self.n

    def every(self, first: int, step: int) -> ElementUniforms:
        """Return the same uniforms restricted to every `step`-th output, from `first` on."""
        return replace(self, first=self.first + first * self.step, step=self.step * step)

    def stretches(self, length: int) -> Iterator[tuple[int, ElementUniforms]]:
        """Yield parts of at most `length` elements, each with the number of elements before it."""
        host = host_namespace()
        self.states()  # shared by all parts
        ends = host.cumulative_sum(self.lengths)
        starts = ends - self.lengths
        for start in range(0, self.count, length):
            stop = min(start + length, self.count)
            here = (ends > start) & (starts < stop)
            since = host.maximum(starts[here], start)
            begins, lengths = self.begins[here] + (since - starts[here]), host.minimum(ends[here], stop) - since
            yield start, replace(self, begins=begins, lengths=lengths, count=stop - start)

    def states(self) -> Any:
        """Return the initial states of the streams of the whole array."""
        if not self._kept and isinstance(self.state[0], int):
            self._kept.append(substreams(self.state, self.streams))
        elif not self._kept:
            with wide_dtypes(self.xp):
                self._kept.append(recurrence.substreams(self.xp, self.state, self.streams))
        return self._kept[0]

    def states_at(self, output: int) -> Any:
        """Return the states of the streams before an output of each element."""
        states = self.states()
        return advance(states, output * OUTPUT_STEPS * self.streams) if output else states

    def rows(self, places: Any = None) -> Any:
        """Return the rows of some elements, by default those that begin runs: see `recurrence.rows_at`."""
        return recurrence.rows_of(self.streams)(self.begins if places is None else places)

    def own(self, name: str) -> Callable[..., Any] | None:
        """Return the kernel of this name, which takes parameters and makes numbers of these uniforms, or None."""
        compiled = kernel("rng.sampled", self.library)
        return None if compiled is None or not self.count else partial(compiled, name, self)

    def drawn(self, dtype: str, output: int = 0, line: Any = (), threads: int = 1, out: Any = None) -> Any:
        """Return a uniform for each element, of shape (count,).

        Parameters
        ----------
        dtype : {"float16", "float32", "float64", "wide"}
            dtype of the uniforms: see `nbm_xp.rng.uniforms.elements`.
        output : int
            Index of the output of the element; of the first of two outputs if `dtype` is "wide".
        line : two floats, optional
            Factor and summand of each uniform, applied in this order.
        threads, out
            See `nbm_xp.rng.uniforms.numbers`.
        """
        if self.is_whole:
            return numbers(self.xp, self.states_at(output), self.n, dtype, line, threads, out)
        u = elements(self.states(), self.begins, self.lengths, dtype, self.library, output)
        return u * line[0] + line[1] if line else u

    def uniform(self, j: int, among: Any = None, dtype: str = "float64") -> Any:
        """Return uniform `j` of each element, or of those at the indices `among` in the block, of 31 bits."""
        output = self.first + j * self.step
        if among is None:
            return self.drawn(dtype, output)
        xp, runs = self.xp, (self.begins, self.lengths)
        places = xp.take(asarray(places_of(*runs), xp), among, axis=0)
        if self.library == HOST and kernel("rng.runs", HOST) is not None:
            return elements(self.states(), places, xp.ones_like(places), dtype, self.library, output)
        return at_places(xp, asarray(self.states(), xp), places, span_of(*runs), dtype, output)

    def fine(self, j: int, among: Any = None) -> Any:
        """Return float64 uniforms of 53 bits, of outputs `j` and ``j + 1``; see `uniform`."""
        if self.step == 1:
            return self.uniform(j, among, "wide")
        return two_draws(self.uniform(j, among), self.uniform(j + 1, among))

    def normals(self, dtype: str, line: Any = (), threads: int = 1, out: Any = None) -> Any:
        """Return a standard normal number for each element, by the method of Box and Muller.

        Steps ``2 k`` and ``2 k + 1`` of a stream give a pair of uniforms; its cosine is the number of the first step,
        its sine that of the second. See `drawn` for the parameters.
        """
        host, xp, wide, streams = host_namespace(), self.xp, "wide" if dtype == "float64" else dtype, self.streams
        own = kernel("rng.normals", xp)
        if self.is_whole and self.n and own is not None and dtype != "float16":
            return own(asarray(self.states(), xp), recurrence.rows_of(streams), self.n, dtype, line, threads, out)
        if self.is_whole:
            u = numbers(xp, self.states(), -(-self.n // (2 * streams)) * 2 * streams, wide, threads=threads)
            z = stepwise_normals(xp, u, streams, self.n) if self.n else u
        else:
            begins, lengths = cut_at_steps(self.begins, self.lengths, streams)
            second = begins // streams % 2
            u1, u2 = (
                elements(self.states(), begins + streams * (k - second), lengths, wide, self.library) for k in (0, 1)
            )
            z = normal_of_pairs(xp, u1, u2, asarray(host.repeat(second == 1, lengths), xp))
        return z * line[0] + line[1] if line else z


def of_block(state: Followed, whole: Shape, offset: Shape, shape: Shape, library: str) -> ElementUniforms:
    """Return the uniforms of the elements of a block with this offset and shape.

    Examples
    --------
    >>> of_block((234,) * 6, (2, 3), (0, 1), (2, 1), "numpy").uniform(0).round(3).tolist()
    [0.306, 0.574]
    """
    return ElementUniforms(state, math.prod(whole), *block_runs(whole, offset, shape), math.prod(shape), library)


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw: a callable that takes the offset of a block, its shape, and arrays.

    Parameters
    ----------
    make : callable
        ``make(draw, offset, shape, *arrays, **options)`` returns a block that is not empty.
    state : six ints, or six arrays without axes
        State of the first stream; None if the states of all streams are among the arrays.
    whole : tuple of ints
        Shape of the whole draw.
    dtype, library : str
        dtype and name of the library of the blocks.
    numbers : tuple
        Parameters that are numbers, and None for those passed as blocks.
    threads : int
        Number of threads that compute a NumPy array.
    options : tuple of (str, value)
        Keyword arguments of `make`.
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
        """Return the block with this offset and shape."""
        if 0 in shape:
            return self.zeros(shape)
        with wide_dtypes(self.xp):
            return self.make(self, offset, shape, *arrays, **dict(self.options), **more)

    @property
    def xp(self) -> Any:
        """Namespace of the blocks."""
        return get_namespace(self.library)

    def changed(self, dtype: str, **options: Any) -> Draw:
        """Return the same draw with another dtype and further options."""
        return replace(self, dtype=dtype, options=(*self.options, *options.items()))

    def uniforms(self, offset: Shape, shape: Shape, components: int = 0) -> ElementUniforms:
        """Return the uniforms of the elements of a block, or of its vectors (last axis) if `components` is 1."""
        assert self.state is not None
        end = len(shape) - components
        return of_block(self.state, self.whole[:end], offset[:end], shape[:end], self.library)

    def zeros(self, shape: Shape) -> Any:
        """Return zeros in the dtype of the draw."""
        return self.xp.zeros(shape, dtype=dtype_of(self.xp, self.dtype))

    def given(self, blocks: tuple[Any, ...]) -> list[Any]:
        """Return all parameters: the numbers, and the blocks in the place of None."""
        waiting = iter(blocks)
        return [next(waiting) if number is None else number for number in self.numbers]

    def columns(self, shape: Shape, blocks: tuple[Any, ...], dtype: str) -> list[Any]:
        """Return all parameters as arrays of shape (count,) or (1,)."""
        xp, kind = self.xp, dtype_of(self.xp, dtype)

        def column(number: Any, value: Any) -> Any:
            if number is not None:
                return xp.full((1,), value, dtype=kind)
            return xp.reshape(xp.broadcast_to(xp.astype(value, kind), shape), (-1,))

        return list(map(column, self.numbers, self.given(blocks)))

    def sampled(self, sample: Callable[..., Any], uniforms: ElementUniforms, *columns: Any) -> Any:
        """Return ``sample(uniforms, *columns)``, computed in parts that fit the processor's caches."""
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
        """Return the block in its shape and dtype."""
        xp = self.xp
        return xp.astype(xp.reshape(x, shape), dtype_of(xp, self.dtype), copy=False)


def made(
    xp: Any,
    draw: Draw,
    parameters: Sequence[Any] = (),
    *,
    chunks: Any = None,
    args: tuple[Any, ...] = (),
    derivatives: Callable[[Draw], Derivatives | None] = lambda draw: None,
    out: Any = None,
) -> Any:
    """Make a draw: immediately, or on Dask when the array is computed.

    It receives the arrays among `parameters` block by block, then `args` whole. ``derivatives(draw)`` returns the
    derivatives with respect to the arrays, if the library does not differentiate step by step. The draw may write to
    `out`.
    """
    blocks = [parameter for parameter in parameters if is_array(parameter)]
    if not is_lazy(xp):
        try:
            work = strictly_rounded(draw if out is None else partial(draw, out=out), xp)
            at_once, arrays = partial(work, (0,) * len(draw.whole), draw.whole), (*blocks, *args)
            return with_derivatives(at_once, arrays, partial(derivatives, draw))
        except AttributeError as error:
            say_lack(error)
            raise
    name, chunks = draw.make.__name__.strip("_"), chunks_of(chunks, draw.whole, *blocks)
    chunks = "auto" if chunks is None else chunks
    meta = draw.zeros((0,) * len(draw.whole))
    return from_blocks(xp, draw, draw.whole, draw.dtype, chunks, blocks=blocks, args=args, name=name, meta=meta)


def library_of_blocks(xp: Any, *arrays: Any) -> str:
    """Return the name of the library of the blocks of lazy arrays; without arrays, of the lazy library's own blocks.

    Examples
    --------
    >>> library_of_blocks(get_namespace("dask"))
    'numpy'
    """
    blocks = block_namespace(xp, arrays)
    return HOST if blocks is xp else library_name(blocks)
