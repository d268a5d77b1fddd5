"""Arrays built block by block, from a function of the block's place and shape.

For Dask, every block is one task that holds only its place and its shape; building the graph takes time that does not
grow with the number of blocks, computes nothing, and gives the same names for the same request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import conversion, dispatch, dtypes
from .kernels import kernel, register_kernel
from .lazy import maps_blocks

__all__ = ["from_blocks"]

register_kernel("from_blocks", "dask", "nbm_xp.namespace.compat.dask_blocks:from_blocks")


def from_blocks(
    xp: Any,
    function: Callable[..., Any],
    shape: int | Sequence[int],
    dtype: Any,
    chunks: Any = "auto",
    *,
    args: Sequence[Any] = (),
    blocks: Sequence[Any] = (),
    name: str = "from-blocks",
    meta: Any = None,
) -> Any:
    """An array whose blocks a function makes.

    Parameters
    ----------
    xp : namespace
        The library's. On any but Dask's, the whole array is one block, made at once.
    function : callable
        ``function(offset, shape, *args)`` gives the block of this shape that starts at this offset: tuples of int.
        It must be a pure function, for Dask one that can be sent to another process.
    shape : int or sequence of int
        The shape of the whole.
    dtype
        The dtype of the whole: a name or a dtype object.
    chunks : optional
        How Dask splits it: whatever Dask takes (``'auto'``, an int, -1, tuples). Other libraries ignore it.
    args : sequence, optional
        Further arguments for each call; Dask arrays among them are handed over whole.
    blocks : sequence of arrays, optional
        Arrays of the library that broadcast to `shape`, of which each call is handed the part for its block, before
        `args`.
    name : str, optional
        How the tasks' names begin.
    meta : array, optional
        An empty array of the library of the blocks; NumPy's by default.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> def rows(offset, shape):
    ...     return np.arange(offset[0], offset[0] + shape[0])
    >>> from_blocks(get_namespace("numpy"), rows, 4, "int64")
    array([0, 1, 2, 3])
    """
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    for length in lengths:
        if not hasattr(length, "__index__") or length < 0:
            raise ValueError(f"from_blocks needs known lengths that are not negative, got shape {lengths}")
    lengths = tuple(int(length) for length in lengths)
    known = dtypes.dtype_name(dtype)
    own = kernel("from_blocks", xp)
    if own is not None:
        return own(function, lengths, known, chunks, tuple(args), name, meta, tuple(blocks))
    if maps_blocks(xp):
        from . import map_blocks

        return map_blocks.from_blocks(xp, function, lengths, known, chunks, tuple(args), tuple(blocks))
    block = function((0,) * len(lengths), lengths, *blocks, *args)
    if tuple(block.shape) != lengths:
        raise ValueError(f"the function gave a block of shape {tuple(block.shape)} for {lengths}")
    here = dispatch.library_name(block) == dispatch.library_name(xp)
    return conversion.asarray(block, xp) if here else conversion.convert(block, xp)
