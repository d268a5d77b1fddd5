"""Computations in stages over the blocks of lazy arrays: what they are made of, and where they are laid out.

A computation is a list of stages. In each, whole values are computed once; then every block is computed from its
part of the split arrays and from whole values; then the parts that the blocks gave are combined, and are whole from
then on. Values are numbered; arrays come in under their numbers, and results go out under theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .kernels import kernel, register_kernel

__all__ = [
    "EXTENT", "FIRST", "OFFSET", "TOTAL", "Layout", "Result", "Shaped", "Stage", "block_namespace",
    "lay_out",
]  # fmt: skip

EXTENT, TOTAL, OFFSET, FIRST = -1, -2, -3, -4
"""Numbers of what each block is told: something as long as it, all examples, those before it, whether it is first."""

register_kernel("blockwise", "dask", "nbm_xp.namespace.compat.dask_blockwise:lay_out")
register_kernel("block_namespace", "dask", "nbm_xp.namespace.compat.dask_blockwise:block_namespace")


@dataclass(frozen=True)
class Shaped:
    """What has a shape and nothing else: it stands for an array whose lengths alone are asked for."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """One round.

    Parameters
    ----------
    whole, block
        What computes the whole values, and the values of a block; None for nothing to do.
    whole_inputs, whole_outputs, block_inputs, block_outputs
        The numbers of what they take and give.
    combined
        For each part that a block gives, by its number: how parts are combined, and the number of what they become.
    """

    whole: Callable[..., tuple[Any, ...]] | None
    whole_inputs: Sequence[int]
    whole_outputs: Sequence[int]
    block: Callable[..., tuple[Any, ...]] | None
    block_inputs: Sequence[int]
    block_outputs: Sequence[int]
    combined: Mapping[int, tuple[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What is asked for.

    Parameters
    ----------
    number
        Of the value.
    shape
        Its shape; nan for what is unknown.
    dtype
        Its dtype, a name.
    axis
        The axis along which blocks lie; None for a whole value.
    multiple
        How many entries an example has along that axis.
    """

    number: int
    shape: tuple[Any, ...]
    dtype: str
    axis: int | None = None
    multiple: int = 1


@dataclass(frozen=True)
class Layout:
    """A whole computation.

    Parameters
    ----------
    name
        A name that no other computation has.
    split
        By the number of each split array, its axis of examples.
    stages, results
        What is done, and what is asked for.
    """

    name: str
    split: Mapping[int, int]
    stages: Sequence[Stage]
    results: Sequence[Result]


def lay_out(xp: Any, layout: Layout, arrays: Mapping[int, Any]) -> list[Any]:
    """The results as lazy arrays; nothing is computed.

    Parameters
    ----------
    xp : namespace
        That of the lazy library.
    layout : Layout
        What to compute.
    arrays : mapping of int to array
        The arrays it starts from, by number; those that are split all have as many examples.
    """
    found = kernel("blockwise", xp)
    if found is None:
        raise TypeError(f"arrays of {getattr(xp, '__name__', xp)} have no blocks")
    results: list[Any] = found(layout, arrays)
    return results


def block_namespace(xp: Any, arrays: Sequence[Any]) -> Any:
    """The namespace of the blocks: the one that is not the host's, if there is one."""
    found = kernel("block_namespace", xp)
    return xp if found is None else found(arrays)
