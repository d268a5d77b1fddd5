"""Lattices as runs: chains in blocks on disk, larger than memory, on threads or a cluster, through faults."""

from __future__ import annotations

import math
import os
import pathlib
from typing import Any

import numpy as np

from nbm_xp.graphs.brick_sweeps import Couplings, couplings_of
from nbm_xp.graphs.chunked import checked_lattice
from nbm_xp.graphs.clamping import checked_clamp
from nbm_xp.graphs.division import divided
from nbm_xp.graphs.lazily import SUMS
from nbm_xp.machines.rows import positive_int

from .copies import digest_of
from .directory import RunDirectory
from .execution import Progress, check_begin
from .graph_runs import PROCESS, LatticeRun, Projected, asked_of, begin
from .lattice_job import HELD, MULTIPLES, OWN_FIELDS

__all__ = ["projected_lattice", "sample_lattice"]

_AT_WORK = {True: 150, False: 8}  # bytes of a task for each unit of its block: of Potts units, and of others


def projected_lattice(
    machine: Any, chunks: Any, chains: int, checkpoint_every: int | None, n_workers: int | None
) -> Projected:
    """What a lattice's run will need; see `projected`."""
    graph = checked_lattice(machine, "heat_bath")
    lengths = _lengths(graph.shape, chunks)
    division = divided(graph.shape, graph.periodic, lengths)
    depth = 2 * graph.reach * (checkpoint_every or division.sweeps_at_once)
    block = math.prod(n + depth for n in lengths)
    weights, own = machine.by_edge_and_unit
    each = sum(x.itemsize * (x.size // machine.units_count) for x in (weights, own) if any(x.strides))
    workers = n_workers or os.cpu_count() or 1
    whole = weights.nbytes * bool(any(weights.strides)) + own.nbytes * bool(any(own.strides))
    states = chains * machine.units_count
    at_work = workers * block * (_AT_WORK[machine.values.kind == "potts"] + each)
    return Projected(PROCESS + 2 * whole + at_work, 2 * states + whole)


def _lengths(shape: tuple[int, ...], chunks: Any) -> tuple[int, ...]:
    """How long blocks are along each axis; by default about 2**24 units."""
    if chunks is None:
        return tuple(min(n, max(1, round(2 ** (24 / len(shape))))) for n in shape)
    asked = tuple(chunks) if isinstance(chunks, (list, tuple)) else (chunks,) * len(shape)
    if len(asked) != len(shape):
        raise ValueError(f"chunks must be an int, or one for each of {len(shape)} axes, got {chunks!r}")
    return tuple(n if one == -1 else min(n, positive_int(one, "chunks")) for n, one in zip(shape, asked, strict=True))


def sample_lattice(
    machine: Any,
    directory: str | os.PathLike[str],
    *,
    chains: int = 1,
    sweeps: int = 1000,
    burn_in: int = 0,
    beta: Any = 1.0,
    rule: str = "heat_bath",
    every: int = 1,
    observe: Any = SUMS,
    clamp: dict[int, int] | None = None,
    chunks: Any = None,
    checkpoint_every: int | None = None,
    random_state: Any = None,
    scheduler: Any = "threads",
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of a lattice by sweeps, in blocks on disk, and measure on the way.

    Parameters
    ----------
    machine : GraphMachine
        On a lattice.
    directory : path-like
        The run's directory, which must not exist or be empty.
    chains, sweeps, burn_in, beta, rule, every, clamp : optional
        See `GraphMachine.sample`.
    observe : str or sequence of str, optional
        What to measure: energy, magnetisation. What takes two chains is measured by `sample_graph`.
    chunks : int or sequence of int, optional
        How long blocks are along each axis, -1 being the whole axis; the last one may be shorter. By default they have
        some 16 million units.
    checkpoint_every : int, optional
        How many sweeps of a block are made by a task, and lost at most when a task is. More need more layers around
        the block, which are drawn with it. By default so many that these are few.
    random_state : int, None, or generator, optional
        The seed; None draws one from the system, and keeps it in the directory.
    scheduler, n_workers, memory_limit : optional
        See `Workers`.
    progress : callable, optional
        ``progress(done, total)`` is called when more is on disk; both count sweeps of single units.

    Returns
    -------
    RunDirectory
        `open_dataset` reads what is in it: ``state``, the last states, and what was measured, of a unit. Attributes and
        warnings are those of `GraphMachine.sample`.

    Raises
    ------
    ValueError
        If an argument is not what it must be.
    FileExistsError
        If something is in the directory already.
    RunError
        If there is less memory or disk than the run will need (see `projected`), or it cannot go on.

    Notes
    -----
    States and what is measured are those of `GraphMachine.sample`, bit for bit: for all chunks, workers and
    `checkpoint_every`, and after any fault.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> from nbm_xp.runs import open_dataset, sample_lattice
    >>> machine = GraphMachine(lattice((32, 32)))
    >>> run = sample_lattice(machine, place, sweeps=10, beta=0.4, chunks=16, random_state=1)
    >>> found, whole = open_dataset(run.path), machine.sample(sweeps=10, beta=0.4, random_state=1)
    >>> bool((found["energy"].values == whole["energy"].values).all())
    True
    """
    check_begin(directory, progress)
    graph = checked_lattice(machine, rule)
    lengths = _lengths(graph.shape, chunks)
    at_once = divided(graph.shape, graph.periodic, lengths).sweeps_at_once
    made = couplings_of(machine, None if clamp is None else checked_clamp(machine, clamp))
    configuration = asked_of(machine, chains, sweeps, burn_in, beta, rule, every, observe) | {
        "shape": graph.shape,
        "periodic": graph.periodic,
        "chunks": lengths,
        "checkpoint_every": at_once if checkpoint_every is None else positive_int(checkpoint_every, "checkpoint_every"),
        "unit": made.unit,
        "largest": made.largest,
        "odd": made.odd,
        "field": made.fields if isinstance(made.fields, float) else None,
        "couplings": [digest_of(x) for x in (made.multiples, made.fields, *(made.held or ())) if hasattr(x, "shape")],
    }

    def needed(workers: int | None) -> Projected:
        return projected_lattice(machine, lengths, chains, checkpoint_every, workers)

    how = {
        "random_state": random_state, "scheduler": scheduler, "n_workers": n_workers, "memory_limit": memory_limit,
        "progress": progress,
    }  # fmt: skip
    return begin(LatticeRun, directory, configuration, lambda folder: _save(made, folder), needed, how)


def _save(couplings: Couplings, part: pathlib.Path) -> None:
    """Write what each unit or edge has of its own."""
    for name, array in ((MULTIPLES, couplings.multiples), (OWN_FIELDS, couplings.fields)):
        if hasattr(array, "shape"):
            np.save(part / name, array, allow_pickle=False)
    if couplings.held is not None:
        np.savez(part / HELD, allow_pickle=False, units=couplings.held[0], values=couplings.held[1])
