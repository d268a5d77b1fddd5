"""Arrays built block by block in a lazy library that is not listed, by its own ``map_blocks``.

Dask and those that follow it hand a function the blocks of some arrays and, as ``block_id``, which block this is. An
empty array of the wished-for shape tells how the library splits it; it is what the first block comes from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import dispatch, dtypes

__all__ = ["from_blocks"]


@dataclass(frozen=True, slots=True)
class _Block:
    """One block, as a task: it is told the empty block, the parts of split arrays, and whole arrays laid flat."""

    function: Callable[..., Any]
    dtype: str
    starts: tuple[tuple[int, ...], ...]
    split: int
    args: tuple[Any, ...]
    wholes: tuple[tuple[int, tuple[int, ...]], ...]
    """The places of the whole arrays among `args`, and their shapes."""

    axes: int
    """How many axes the wished-for array has."""

    def __call__(self, empty: Any, *arrays: Any, block_id: Any = None) -> Any:
        offset = tuple(starts[i] for starts, i in zip(self.starts, block_id, strict=True))[: self.axes]
        args = list(self.args)
        for (place, shape), flat in zip(self.wholes, arrays[self.split :], strict=True):
            args[place] = dispatch.array_namespace(flat).reshape(flat, shape)
        parts = arrays[: self.split]
        if not self.axes:
            parts = tuple(dispatch.array_namespace(part).reshape(part, ()) for part in parts)
        shape = tuple(empty.shape)[: self.axes]
        block = self.function(offset, shape, *parts, *args)
        if tuple(block.shape) != shape or dtypes.dtype_name(block) != self.dtype:
            raise ValueError(
                f"the function gave a block of shape {tuple(block.shape)} and dtype {block.dtype} for {shape} and "
                f"{self.dtype}"
            )
        return block if self.axes else dispatch.array_namespace(block).reshape(block, (1,))


def from_blocks(
    xp: Any,
    function: Callable[..., Any],
    shape: tuple[int, ...],
    dtype: str,
    chunks: Any,
    args: tuple[Any, ...],
    blocks: tuple[Any, ...],
) -> Any:
    """See `nbm_xp.namespace.from_blocks`."""
    own = dtypes.dtype_of(xp, dtype)
    laid = shape or (1,)  # a flat array can only stand beside one with an axis
    try:
        empty = xp.empty(laid, dtype=own, **({} if chunks == "auto" or not shape else {"chunks": chunks}))
    except (ArithmeticError, TypeError, ValueError) as error:
        title = getattr(xp, "__name__", xp)
        wanted = f"chunks must say how {title} is to split an array of shape {shape}"
        raise ValueError(f"{wanted}, got {chunks!r}: {error}") from error
    starts = tuple(tuple(itertools.accumulate((0, *sizes)))[:-1] for sizes in empty.chunks)
    split = [_chunked(xp.broadcast_to(block, laid), empty.chunks) for block in blocks]
    wholes = tuple(
        (place, tuple(arg.shape))
        for place, arg in enumerate(args)
        if dispatch.is_array(arg) and dispatch.library_of(arg) == dispatch.library_of(empty)
    )
    flat = [xp.reshape(_chunked(args[place], args[place].shape), (-1,)) for place, _ in wholes]
    kept = tuple(None if place in dict(wholes) else arg for place, arg in enumerate(args))
    task = _Block(function, dtype, starts, len(split), kept, wholes, len(shape))
    made = xp.map_blocks(task, empty, *split, *flat, dtype=own)
    return made if shape else xp.reshape(made, ())


def _chunked(x: Any, chunks: Any) -> Any:
    sizes = tuple((size,) if isinstance(size, int) else tuple(size) for size in chunks)
    return x if tuple(x.chunks) == sizes else x.rechunk(chunks)
