"""A compiled plan as one task for each block of lazy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .kernels import kernel

__all__ = ["BatchResult", "block_namespace", "in_blocks"]


@dataclass(frozen=True)
class BatchResult:
    """What a plan gives of each block.

    Parameters
    ----------
    ndim, dtype
        The number of its axes, and the name of its dtype.
    shape
        Its shape, of a block of a length; nan for what is unknown.
    axis
        The axis along which blocks are joined; None for what is combined.
    combine
        ``"sum"``, or ``"mean"``, in which each block counts by its length.
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
    """The results of a plan as lazy arrays; nothing is computed.

    Parameters
    ----------
    xp : namespace
        That of the lazy library.
    plan : callable
        Takes an array for each of `arrays`, those in `axes` being blocks.
    arrays, axes
        What there is, and by its number the axis along which an array is split.
    results
        What the plan gives.
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
