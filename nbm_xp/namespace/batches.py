"""Run a compiled plan as one task for each block of lazy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .dispatch import array_namespace
from .kernels import kernel


@dataclass(frozen=True)
class BatchResult:
    """Description of a plan's result for one block.

    Parameters
    ----------
    ndim, dtype
        Number of axes, and name of the dtype.
    shape
        Function of the length of a block that returns the shape of its result; nan for unknown lengths.
    axis
        Axis along which blocks are joined; None for results that are combined.
    combine
        ``"sum"``, or ``"mean"``, weighted by the lengths of the blocks.
    """

    ndim: int
    dtype: str
    shape: Callable[[Any], tuple[Any, ...]]
    axis: int | None
    combine: str | None


def in_blocks(
    xp: Any,
    plan: Callable[..., tuple[Any, ...]],
    arrays: Sequence[Any],
    axes: Mapping[int, int],
    results: Sequence[BatchResult],
) -> list[Any]:
    """Return the results of a plan as lazy arrays; nothing is computed.

    Parameters
    ----------
    xp : namespace
        Namespace of the lazy library.
    plan : callable
        Function of one array for each of `arrays`; those in `axes` are blocks.
    arrays, axes
        The arrays, and a mapping from an array's position to the axis along which it is split.
    results
        Descriptions of the plan's results.
    """
    found = kernel("in_blocks", xp)
    if found is None:
        raise TypeError(f"arrays of {getattr(xp, '__name__', xp)} have no blocks")
    made: list[Any] = found(plan, arrays, axes, results)
    return made


def block_namespace(xp: Any, arrays: Sequence[Any]) -> Any:
    """The namespace of the blocks of lazy arrays."""
    found = kernel("block_namespace", xp)
    return xp if found is None else found(arrays)


def is_tiled(array: Any) -> bool:
    """Whether a lazy array has several blocks and is larger than one block should be."""
    limit = kernel("block_limit", array_namespace(array))
    return any(len(sizes) > 1 for sizes in array.chunks) and (limit is None or array.nbytes > limit())
