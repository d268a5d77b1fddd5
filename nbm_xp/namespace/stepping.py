"""Arrays whose blocks are taken on step by step, each beside what its neighbours show of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import libraries
from .kernels import kernel, register_kernel

__all__ = ["stepped"]

register_kernel("stepped", "dask", "nbm_xp.namespace.compat.dask_stepping:stepped")


def stepped(
    work: Any,
    steps: Sequence[Any],
    chunks: tuple[tuple[int, ...], ...],
    neighbours: Mapping[tuple[int, ...], Sequence[tuple[int, ...]]],
    given: Sequence[Mapping[tuple[int, ...], Any]],
    sums: Sequence[tuple[int, ...]],
    start: Any,
    name: str,
    looks: Sequence[int] = (),
) -> tuple[Any, Any, list[Any]]:
    """Lay the steps out as tasks of Dask's, which computes nothing.

    Parameters
    ----------
    work : object
        Can be sent to other processes, and has a `dtype`. ``work.begin(block)``, or of an array to begin with
        ``work.resume(block, array)``, gives a block as it is kept and what it shows;
        ``work.step(block, kept, shown, step, given)`` gives the next two and what was measured; and
        ``work.array(block, kept)`` a block's array.
    steps : sequence
        What each step is told.
    chunks : tuple of tuples of ints
        Of the array.
    neighbours : mapping
        Of each block, the others that it sees.
    given : sequence of mappings
        For each step, what each block's task is handed.
    sums : sequence of tuples of ints
        The shape of what each step measures, float64, of two axes; (0, n) where it measures nothing.
    start : array or None
        What to begin with, instead of `begin`: one of Dask's, or NumPy's.
    name : str
        How the tasks' names begin.
    looks : sequence of ints, optional
        After which steps the array is looked at.

    Returns
    -------
    array, array or None, list of arrays
        The array after all steps; the sums over all blocks of what they measured, one step after the other; and the
        arrays that were to be looked at.
    """
    libraries.get_namespace("dask")  # says what to install where it is not there
    own = kernel("stepped", "dask")
    return own(work, steps, chunks, neighbours, given, sums, start, name, looks)  # type: ignore[misc, no-any-return]
