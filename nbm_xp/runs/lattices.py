"""Lattices as runs: chains in blocks on disk, larger than memory, on threads or a cluster, through faults."""

from __future__ import annotations

import math
import os
import pathlib
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.boltzmann.rows import positive_int
from nbm_xp.graphs.brick_sweeps import Couplings, couplings_of
from nbm_xp.graphs.chunked import checked_lattice
from nbm_xp.graphs.division import divided
from nbm_xp.graphs.graph import finite
from nbm_xp.graphs.lazily import finished
from nbm_xp.namespace.needs import need
from nbm_xp.namespace.paths import local_path

from . import store
from .carrying_out import Progress, carry_out, interruptible
from .copies import digest_of
from .directory import RunDirectory
from .failing import RunError, needing_room
from .lattice_job import LATTICE, MULTIPLES, OWN_FIELDS, LatticeJob
from .schedulers import Workers, workers_of

__all__ = ["Projected", "projected", "sample_lattice"]

_PROCESS = 3 * 10**8  # bytes of a process before it does anything
_AT_WORK = {True: 150, False: 8}  # bytes of a task for each unit of its block: of Potts units, and of others


@dataclass(frozen=True)
class Projected:
    """What a run will need, in bytes.

    Parameters
    ----------
    memory : int
        Of all workers together.
    disk : int
        At most, at its end.
    """

    memory: int
    disk: int

    def __str__(self) -> str:
        return f"{self.memory / 1e9:.2f} GB of memory and {self.disk / 1e9:.2f} GB of disk"


def projected(
    machine: Any,
    chunks: Any = None,
    *,
    chains: int = 1,
    checkpoint_every: int | None = None,
    n_workers: int | None = None,
) -> Projected:
    """Say what a lattice's run will need, before it begins.

    Parameters
    ----------
    machine : GraphMachine
        On a lattice.
    chunks : int or sequence of int, optional
        See `sample_lattice`.
    chains, checkpoint_every : int, optional
        See `sample_lattice`.
    n_workers : int, optional
        How many tasks run at once; by default as many as there are cores.

    Returns
    -------
    Projected

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> str(projected(GraphMachine(lattice((32768, 30720))), 4096, n_workers=2))
    '0.58 GB of memory and 2.01 GB of disk'
    """
    graph = checked_lattice(machine, "heat_bath")
    lengths = _lengths(graph.shape, chunks)
    division = divided(graph.shape, graph.periodic, lengths)
    depth = 4 * (checkpoint_every or division.sweeps_at_once)
    block = math.prod(n + depth for n in lengths)
    weights, own = machine.by_edge_and_unit
    each = sum(x.itemsize * (x.size // machine.units_count) for x in (weights, own) if any(x.strides))
    workers = n_workers or os.cpu_count() or 1
    whole = weights.nbytes * bool(any(weights.strides)) + own.nbytes * bool(any(own.strides))
    states = chains * machine.units_count
    at_work = workers * block * (_AT_WORK[machine.values.kind == "potts"] + each)
    return Projected(_PROCESS + 2 * whole + at_work, 2 * states + whole)


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
    chunks: Any = None,
    checkpoint_every: int | None = None,
    seed: Any = None,
    scheduler: Any = "threads",
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of a lattice by sweeps, in blocks on disk, and measure energy and magnetisation on the way.

    Parameters
    ----------
    machine : GraphMachine
        On a lattice whose periodic axes are of even length.
    directory : path-like
        The run's directory: one that does not exist, or, with `resume`, may.
    chains, sweeps, burn_in, beta, rule, every : optional
        See `GraphMachine.sample`.
    chunks : int or sequence of int, optional
        How long blocks are along each axis, -1 being the whole axis; the last one may be shorter. By default they have
        some 16 million units.
    checkpoint_every : int, optional
        How many sweeps of a block are made by a task, and lost at most when a task is. More need more layers around
        the block, which are drawn with it. By default so many that these are few.
    seed : int, None, or generator, optional
        None takes one that nobody can foresee, and notes it.
    scheduler, n_workers, memory_limit : optional
        See `Workers`.
    resume : bool, optional
        Go on with the run in the directory if there is one.
    progress : callable, optional
        ``progress(done, total)`` is called when more is on disk; both count sweeps of single units.

    Returns
    -------
    RunDirectory
        `open_dataset` reads what is in it: ``state``, the last states, ``energy`` and ``magnetisation``, of a unit.

    Raises
    ------
    ValueError
        If an argument is not what it must be, or the directory holds another run.
    FileExistsError
        If something is there already and `resume` is False.
    RunError
        If there is less memory or disk than the run will need (see `projected`), or it cannot go on.

    Notes
    -----
    States and what is measured are those of `GraphMachine.sample`, bit for bit: for all chunks, workers and
    `checkpoint_every`, and after any fault.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> from nbm_xp.runs import open_dataset, sample_lattice
    >>> machine = GraphMachine(lattice((32, 32)))
    >>> run = sample_lattice(machine, pathlib.Path(tempfile.mkdtemp()) / "run", sweeps=20, beta=0.4, chunks=16, seed=1)
    >>> found, whole = open_dataset(run.path), machine.sample(sweeps=20, beta=0.4, random_state=1)
    >>> bool((found["energy"].values == whole["energy"].values).all())
    True
    """
    place = local_path(directory, "directory")
    graph = checked_lattice(machine, rule)
    lengths = _lengths(graph.shape, chunks)
    count = positive_int(chains, "chains")
    if machine.values.kind == "potts" and not isinstance(machine.units, int):
        raise ValueError(f"units must be an int, got {machine.units!r}")
    at_once = divided(graph.shape, graph.periodic, lengths).sweeps_at_once
    made = couplings_of(machine)
    configuration = {
        "shape": graph.shape,
        "periodic": graph.periodic,
        "units": machine.units,
        "rule": rule,
        "betas": finite(beta, "beta", (count,)).tolist(),
        "burn_in": positive_int(burn_in, "burn_in", 0),
        "sweeps": positive_int(sweeps, "sweeps"),
        "every": positive_int(every, "every"),
        "chunks": lengths,
        "checkpoint_every": at_once if checkpoint_every is None else positive_int(checkpoint_every, "checkpoint_every"),
        "unit": made.unit,
        "largest": made.largest,
        "odd": made.odd,
        "field": made.fields if isinstance(made.fields, float) else None,
        "couplings": [digest_of(x) for x in (made.multiples, made.fields) if hasattr(x, "shape")],
    }
    need("zarr")  # before a directory is made
    with interruptible(), workers_of(scheduler, n_workers, memory_limit) as workers:
        if not (place.is_dir() and any(place.iterdir())):
            how = {"chains": count, "checkpoint_every": checkpoint_every, "n_workers": workers.n_workers}
            room = _enough(projected(machine, lengths, **how), workers, place)
        else:
            room = None
        pool = workers.pool  # where there is no cluster, no directory is made
        with RunDirectory.begin(
            directory, "lattice", configuration, seed=seed, resume=resume, also=lambda part: _save(made, part)
        ) as run:
            if room is not None:
                run.log(f"needs {room}")
            carry_on(run, pool, progress)
    return run


def _save(couplings: Couplings, part: pathlib.Path) -> None:
    """Write what each unit or edge has of its own."""
    for name, array in ((MULTIPLES, couplings.multiples), (OWN_FIELDS, couplings.fields)):
        if hasattr(array, "shape"):
            np.save(part / name, array, allow_pickle=False)


def _enough(needed: Projected, workers: Workers, place: pathlib.Path) -> Projected:
    """Refuse a run that needs more than there is."""
    parent = next(folder for folder in (place, *place.parents) if folder.exists())
    free = shutil.disk_usage(parent).free
    if needed.disk > free:
        raise RunError(f"the run will need {needed}, and {parent} has {free / 1e9:.2f} GB left: nothing was begun")
    there = _memory()
    if there is not None and workers.scheduler in ("threads", "local") and needed.memory > there:
        raise RunError(
            f"the run will need {needed}, and there are {there / 1e9:.2f} GB of memory: make chunks shorter, or take "
            "fewer workers; nothing was begun"
        )
    return needed


def _memory() -> int | None:
    """How much memory this machine has, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    """Do what is left to do of a lattice's run."""
    with needing_room(run.path):
        _carry_on(run, pool, progress)


def _carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    job = LatticeJob.of(run)
    if (run.path / LATTICE).exists():
        store.open_arrays(run.path / LATTICE, run.result_identity)  # refuses what is damaged
        if progress is not None:
            total = sum(job.steps(block, segment) for block in job.blocks for segment in range(job.n_segments))
            progress(total, total)
    else:
        arrays = job.arrays()
        about = {"source": "nbm_xp.runs.sample_lattice", "seed": str(run.seed), "run": job.result}
        stored = list(arrays.values())
        with store.growing(run.path, LATTICE, stored, run.result_identity, job.coordinates(), about) as unfinished:
            for folder in (run.checkpoints, *job.folders()):
                folder.mkdir(exist_ok=True)
            carry_out(run, job, job.blocks, pool, progress)
            if len(job.seen):
                totals, lattice = job.totals(), math.prod(job.shape)
                for name in ("energy", "magnetisation"):
                    values = finished(job.chain(0).values, lattice, name, totals)[0]
                    store.write_chunk(unfinished, arrays[name], (0, 0), values)
        run.log(f"{LATTICE} is whole")
    shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
