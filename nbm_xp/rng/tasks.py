"""Draws as tasks: on Dask one for each block, elsewhere one for the whole array.

Contract: a task holds the state, the shape of the whole draw and the parameters that are numbers; parameters that are
arrays come to it block by block. Nothing is computed when an array is made; what a task costs grows with its block
alone; and the numbers are those of the undivided draw, whatever the chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import (
    Derivatives,
    dtype_of,
    from_blocks,
    get_namespace,
    is_array,
    is_lazy,
    library_name,
    with_derivatives,
)
from nbm_xp.namespace.batches import block_namespace
from nbm_xp.namespace.compiling import strictly_rounded
from nbm_xp.namespace.errors import reraise_lack
from nbm_xp.namespace.memory import joined
from nbm_xp.namespace.mrg31k3p.integers import Followed

from .element_uniforms import ElementUniforms, of_block
from .uniforms import HOST, Shape

__all__ = ["Draw", "library_of_blocks", "made"]

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
        xp, waiting, kind = self.xp, iter(blocks), dtype_of(self.xp, dtype)

        def spread(block: Any) -> Any:
            return xp.reshape(xp.broadcast_to(xp.astype(block, kind), shape), (-1,))

        return [spread(next(waiting)) if n is None else xp.full((1,), n, dtype=kind) for n in self.numbers]

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
    parameters: Sequence[Any] = (),
    *,
    chunks: Any = None,
    args: tuple[Any, ...] = (),
    derivatives: Callable[[Draw], Derivatives | None] = lambda draw: None,
    out: Any = None,
) -> Any:
    """Make a draw: at once, or on Dask when the array is computed.

    The arrays among `parameters` come to it block by block, then `args` whole. ``derivatives(draw)`` gives the
    derivatives in the arrays, where the library does not differentiate step by step. The draw may write to `out`.
    """
    blocks = [parameter for parameter in parameters if is_array(parameter)]
    if not is_lazy(xp):
        try:
            work = strictly_rounded(draw if out is None else partial(draw, out=out), xp)
            at_once, arrays = partial(work, (0,) * len(draw.whole), draw.whole), (*blocks, *args)
            return with_derivatives(at_once, arrays, partial(derivatives, draw))
        except AttributeError as error:
            reraise_lack(error)
    name, chunks = draw.make.__name__.strip("_"), "auto" if chunks is None else chunks
    meta = draw.zeros((0,) * len(draw.whole))
    return from_blocks(xp, draw, draw.whole, draw.dtype, chunks, blocks=blocks, args=args, name=name, meta=meta)


def library_of_blocks(xp: Any, *arrays: Any) -> str:
    """Name the library of the blocks of lazy arrays, or of those that the lazy library makes where there are none.

    Examples
    --------
    >>> library_of_blocks(get_namespace("dask"))
    'numpy'
    """
    blocks = block_namespace(xp, arrays)
    return HOST if blocks is xp else library_name(blocks)
