"""Runs of chains on graphs, however these are divided: what they will need, how they begin, and go on."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbm_xp.files import local_path
from nbm_xp.graphs.diagnosis import HELPS
from nbm_xp.graphs.graph import finite
from nbm_xp.graphs.lazily import checked_names
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace.needs import need

from . import store
from .carrying_out import Progress, carry_out, check_progress, interruptible
from .directory import RunDirectory
from .failing import RunError, needing_room
from .graph_job import GraphJob
from .lattice_job import LatticeJob
from .schedulers import Workers, workers_of

__all__ = ["PROCESS", "Projected", "asked_of", "begin", "carry_on"]

PROCESS = 3 * 10**8
"""Bytes of a process before it does anything."""

_JOBS: dict[str, Any] = {"lattice": LatticeJob, "graph": GraphJob}


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


def asked_of(
    machine: Any,
    chains: int,
    sweeps: int,
    burn_in: int,
    beta: Any,
    rule: str,
    every: int,
    observe: Any,
    also: tuple[str, ...] = (),
) -> dict[str, Any]:
    """What all such runs are asked for, as their directories keep it; `also` names what some can observe besides.

    Raises
    ------
    ValueError
        If an argument is not what it must be.
    """
    values = machine.values
    return {
        "units": values.count if values.kind == "potts" else values.kind,
        "rule": rule,
        "betas": finite(beta, "beta", (positive_int(chains, "chains"),)).tolist(),
        "burn_in": positive_int(burn_in, "burn_in", 0),
        "sweeps": positive_int(sweeps, "sweeps"),
        "every": positive_int(every, "every"),
        "observe": list(checked_names(machine, observe, chains, "in such a run", also)),
    }


def begin(
    kind: str,
    directory: str | os.PathLike[str],
    configuration: Mapping[str, Any],
    save: Callable[[pathlib.Path], object],
    needed: Callable[[int | None], Projected],
    how: Mapping[str, Any],
) -> RunDirectory:
    """Begin a run, or go on with it, and do all of it.

    Parameters
    ----------
    kind : {"lattice", "graph"}
    directory : path-like
    configuration : mapping
    save : callable
        Writes what is not in the configuration into the folder that is to become the run's directory.
    needed : callable
        Of the number of workers: what a run will need.
    how : mapping
        seed, scheduler, n_workers, memory_limit, resume, progress: see `sample_lattice`.
    """
    place = local_path(directory, "directory")
    check_progress(how["progress"])
    need("zarr")  # before a directory is made
    with interruptible(), workers_of(how["scheduler"], how["n_workers"], how["memory_limit"]) as workers:
        there = place.is_dir() and any(place.iterdir())
        room = None if there else _enough(needed(workers.n_workers), workers, place)
        pool = workers.pool  # where there is no cluster, no directory is made
        with RunDirectory.begin(
            directory, kind, configuration, seed=how["seed"], resume=how["resume"], also=save
        ) as run:  # fmt: skip
            if room is not None:
                run.log(f"needs {room}")
            carry_on(run, pool, how["progress"])
    return run


def _enough(needed: Projected, workers: Workers, place: pathlib.Path) -> Projected:
    """Refuse a run that needs more than there is."""
    parent = next(folder for folder in (place, *place.parents) if folder.exists())
    free = shutil.disk_usage(parent).free
    if needed.disk > free:
        raise RunError(f"the run will need {needed}, and {parent} has {free / 1e9:.2f} GB left: nothing was begun")
    there = _memory()
    if there is not None and workers.scheduler in ("threads", "local") and needed.memory > there:
        raise RunError(
            f"the run will need {needed}, and there are {there / 1e9:.2f} GB of memory: divide it into smaller blocks, "
            "or take fewer workers; nothing was begun"
        )
    return needed


def _memory() -> int | None:
    """How much memory this machine has, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    """Do what is left to do of a run."""
    with needing_room(run.path):
        _carry_on(run, pool, progress)


def _carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    job = _JOBS[run.kind].of(run)
    result, found = job.result_name, None
    if (run.path / result).exists():
        store.open_arrays(run.path / result, run.result_identity)  # refuses what is damaged
        if progress is not None:
            total = sum(job.steps(block, segment) for block in job.blocks for segment in range(job.n_segments))
            progress(total, total)
    else:
        about = {"source": f"nbm_xp.runs.sample_{run.kind}", "seed": str(run.seed), "run": job.result}
        stored = list(job.arrays().values())
        with store.growing(run.path, result, stored, run.result_identity, job.coordinates(), about) as unfinished:
            for folder in (run.checkpoints, *job.folders()):
                folder.mkdir(exist_ok=True)
            carry_out(run, job, job.blocks, pool, progress)
            found = job.finish(unfinished)
        run.log(f"{result} is whole")
    shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
    if found is not None:
        found.warn(HELPS, stacklevel=5)
