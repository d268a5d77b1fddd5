"""Runs of chains on graphs, however these are divided: what they will need, how they begin, and go on."""

from __future__ import annotations

import functools
import os
import pathlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nbm_xp.graphs.diagnosis import HELPS
from nbm_xp.graphs.graph import finite
from nbm_xp.graphs.lazily import checked_names
from nbm_xp.machines.rows import positive_int

from . import execution
from .chains_job import ChainsJob
from .directory import RunDirectory
from .errors import RunError
from .execution import Kind, Progress, Warn
from .graph_job import GRAPH, GraphJob
from .lattice_job import LATTICE, LatticeJob
from .pools import Pool
from .schedulers import Workers
from .store import Stored

__all__ = ["PROCESS", "GraphRun", "LatticeRun", "Projected", "asked_of", "begin"]

PROCESS = 3 * 10**8
"""Bytes of a process before it does anything."""


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
    kind: type[ChainsRun],
    directory: str | os.PathLike[str],
    configuration: Mapping[str, Any],
    save: Callable[[pathlib.Path], object],
    needed: Callable[[int | None], Projected],
    how: Mapping[str, Any],
) -> RunDirectory:
    """Begin a run, if there is the memory and the disk that it needs, and do all of it.

    `needed` says of a number of workers what the run will need; `how` are further arguments of `execution.begin`.
    """

    def check(workers: Workers, place: pathlib.Path) -> str:
        return f"needs {_enough(needed(workers.n_workers), workers, place)}"

    return execution.begin(kind, directory, configuration, save=save, check=check, **how)


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


class ChainsRun(Kind):
    """Runs of chains on graphs."""

    job_class: ClassVar[type[ChainsJob]]

    @functools.cached_property
    def job(self) -> ChainsJob:
        """The chains."""
        return self.job_class.of(self.run)

    @property
    def jobs(self) -> list[ChainsJob]:
        """What there is to do."""
        return [self.job]

    @property
    def arrays(self) -> list[Stored]:
        """The last states, and what was measured."""
        return list(self.job.arrays().values())

    @property
    def coordinates(self) -> Mapping[str, Sequence[int]]:
        """The numbers of chains and draws, and how many sweeps went before each draw."""
        return self.job.coordinates()

    def complete(self, pool: Pool | None, progress: Progress | None) -> Warn | None:
        """Compute what is left to compute."""
        for folder in (self.run.checkpoints, *self.job.folders()):
            folder.mkdir(exist_ok=True)
        return super().complete(pool, progress)

    def finish(self, unfinished: pathlib.Path) -> Warn:
        """Write what was measured."""
        return functools.partial(self.job.finish(unfinished).warn, HELPS)


class LatticeRun(ChainsRun):
    """Runs of `sample_lattice`."""

    name, results, stored, job_class = "lattice", (LATTICE,), LATTICE, LatticeJob


class GraphRun(ChainsRun):
    """Runs of `sample_graph`."""

    name, results, stored, job_class = "graph", (GRAPH,), GRAPH, GraphJob


KINDS = {"lattice": LatticeRun, "graph": GraphRun}
