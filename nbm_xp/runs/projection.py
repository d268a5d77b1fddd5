"""Projection of a run before it begins: memory, storage, requests, tasks and processor time.

Contract: a projection is made from the jobs of the run itself, which its own function defines. It writes nothing but
temporary files, and computes nothing larger than a task.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import os
import pathlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dask

from nbm_xp.files import Place, sizes_of
from nbm_xp.namespace.errors import checked_number
from nbm_xp.objects import PIECE

from .chain_job import MachineJob
from .directory import RunDirectory, RunError, as_json
from .job import Demand, Job, run_segment
from .locks import RENEWAL
from .pools import ThreadPool, free_memory
from .workers import Pool, Workers

_PROCESS = 22 * 10**7  # memory of a process that has imported this package, Dask and Zarr, in bytes
_FILE = 400  # bytes in a checkpoint besides its arrays
_HEADER = 750  # bytes in the headers of an array, twice in a group, or in another small file
_KEYS = 1000  # keys in the answer of a store to a list, or deleted at once
_SECONDS = 0.3  # of a trial, at least

NOWHERE = pathlib.Path(os.devnull, "run")  # a run in it is planned only: its function returns the `Plan`


@dataclass(frozen=True)
class Projected:
    """Projection of a run.

    Parameters
    ----------
    memory, client_memory : int
        Peak memory of a worker process and of the process that begins the run, in bytes; the same for threads.
    tasks_at_once : int
        Number of tasks that a process runs at once.
    storage, files : int
        Bytes and number of files, or objects, at the end of the run.
    checkpoints : int
        Bytes in checkpoints, which are deleted at the end.
    tasks : int
        Number of tasks.
    reads, writes, conditional_writes, lists, deletions : int
        Requests to an object store: GET and HEAD, PUT, PUT on condition that there is no object, LIST, DELETE.
    core_hours : float
        Processor time of all tasks, in hours.
    seconds_per_task : float
        Mean processor time of a task.
    """

    memory: int
    client_memory: int
    tasks_at_once: int
    storage: int
    files: int
    checkpoints: int
    tasks: int
    reads: int
    writes: int
    conditional_writes: int
    lists: int
    deletions: int
    core_hours: float
    seconds_per_task: float

    def __str__(self) -> str:
        size = dask.utils.format_bytes
        requests = [
            f"{count:,} {name.replace('_', ' ')}"
            for name in ("reads", "writes", "conditional_writes", "lists", "deletions")
            if (count := getattr(self, name))
        ]
        client = "" if self.memory == self.client_memory else f"; {size(self.client_memory)} of the client"
        lines = [
            f"memory          {size(self.memory)} of a process with {self.tasks_at_once} tasks at once{client}",
            f"storage         {size(self.storage)} in {self.files:,} files, and {size(self.checkpoints)} until the end",
            f"requests        {', '.join(requests)}, in an object store",
            f"tasks           {self.tasks:,}",
            f"processor time  {self.core_hours:,.3g} hours, {self.seconds_per_task:.3g} s a task",
        ]
        return "\n".join(lines)


class Input(NamedTuple):
    """A file that a run begins with: its size, and the memory of a copy while it is written, in bytes."""

    size: int
    copied: int = 0


@dataclass(frozen=True)
class Plan:
    """A run that has not begun.

    Parameters
    ----------
    kind : subclass of Kind
    configuration : mapping
        See `RunDirectory.create`.
    known : object
        See `Job`.
    held : int
        Memory of the arguments in this process, in bytes.
    inputs : sequence of Input
    """

    kind: Any
    configuration: Mapping[str, Any]
    known: Any
    held: int
    inputs: Sequence[Input]

    @functools.cached_property
    def _run(self) -> Any:
        text = json.dumps(self.configuration, default=lambda value: "projected" if callable(value) else as_json(value))
        asked = json.loads(text) | ({"clamp": {}, "is_given": False} if "clamp" in self.configuration else {})
        about = {"kind": self.kind.name, "configuration": asked, "seed": 0, "versions": {}, "created": ""}
        run = self.kind(RunDirectory(pathlib.Path(uuid.uuid4().hex), about | {"model": None, "files": {}}))
        run.jobs = [dataclasses.replace(job, known=self.known) for job in run.jobs]
        return run

    @property
    def jobs(self) -> list[Job]:
        """The jobs of the run."""
        return self._run.jobs  # type: ignore[no-any-return]

    @functools.cached_property
    def closing(self) -> Demand:
        """What the end of the run needs."""
        return self._run.closing  # type: ignore[no-any-return]

    @property
    def model(self) -> int:
        """Size of the model that tasks read, in bytes."""
        return self.inputs[0].size if any(isinstance(job, MachineJob) for job in self.jobs) else 0

    # Memory

    def worker_memory(self, tasks: int) -> int:
        """Memory of a process for some tasks at once, in addition to that of an idle one."""
        at_work = (job.demand.shared + min(tasks, len(job.blocks)) * job.demand.task for job in self.jobs)
        return self.model + max(self.model, *at_work)  # both the file and the arrays, while it is read

    def client_memory(self, tasks: int, n_workers: int = 0) -> int:
        """Memory of the process that begins the run and computes some tasks at once, in addition to its arguments."""
        copied = max((each.copied for each in self.inputs), default=0)
        working: int = self._run.client(n_workers) + (self.worker_memory(tasks) if tasks else 0)
        return max(copied, working, self.model * bool(tasks) + self.closing.shared)

    def check(self, pool: Pool, place: Place) -> None:
        """Raise `RunError` if a run does not fit into memory, or on the disk."""
        here, processes, found = isinstance(pool, ThreadPool), pool.processes, dict[int, int]()
        if not here:
            processes = [*processes, ("this process", 0, free_memory())]
        for name, tasks, limit in processes:
            if tasks not in found:
                found[tasks] = self._memory(tasks, here, len(processes) - 1)
            if limit and found[tasks] > limit:
                said = f"{name}, which computes {tasks} tasks at once, will need {_gb(found[tasks])} of memory"
                fitting = self._fitting(tasks, limit, here, len(processes) - 1)
                raise RunError(f"{said}, and has {_gb(limit)}: {fitting}; nothing was begun")
        if isinstance(place, pathlib.Path):
            parent = next(folder for folder in (place, *place.parents) if folder.exists())
            free, least = shutil.disk_usage(parent).free, self.storage({}, 1 / 32) + self.checkpoints
            if least > free:
                said = f"the run will need at least {_gb(least)} of disk space, and {parent} has {_gb(free)} left"
                raise RunError(f"{said}: {self.kind.smaller} would fit; nothing was begun")

    def _memory(self, tasks: int, here: bool, n_workers: int) -> int:
        """Return the memory of a process: of threads in addition to what it has, and so if it computes no tasks."""
        if here or not tasks:
            return self.client_memory(tasks, n_workers)
        return _PROCESS + self.worker_memory(tasks)

    def _fitting(self, tasks: int, limit: int, here: bool, n_workers: int) -> str:
        """Return what would fit, for messages."""

        def fits(plan: Plan, count: int) -> bool:
            return plan._memory(count, here, n_workers) <= limit

        ways = [f"{count} at once" for count in range(tasks - 1, 0, -1) if fits(self, count)][:1]
        for name in ("checkpoint_every", "chunks", "batch_size"):
            asked = self._run.run.configuration.get(name)
            sizes = asked if isinstance(asked, list) else [asked or 0]
            while min(sizes := [size // 2 for size in sizes]):
                value = sizes if isinstance(asked, list) else sizes[0]
                if fits(dataclasses.replace(self, configuration={**self.configuration, name: value}), tasks):
                    ways.append(f"{name}={value}")
                    break
        if not ways:
            return f"one task needs {_gb(self._memory(min(tasks, 1), here, n_workers))}"
        return f"{' or '.join(ways)} would fit"

    # Storage and requests

    @property
    def checkpoints(self) -> int:
        """Bytes in checkpoints, until the end of the run."""
        return sum(job.demand.checkpoints + _FILE * len(job.blocks) for job in self.jobs)

    def storage(self, shares: Mapping[str, float], least: float = 1 / 8) -> int:
        """Bytes at the end of the run, with arrays compressed to shares of their size; `least` of unknown integers."""
        run = self._run
        arrays = (x.nbytes * shares.get(x.name, least if "int8" in x.dtype else 1.0) for x in run.arrays)
        headers = _HEADER * (2 * len(run.arrays) + 2 * len(run.coordinates) + 4)
        coordinates = 8 * sum(map(len, run.coordinates.values()))
        files = sum(each.size for each in self.inputs) + self.closing.checkpoints
        return int(sum(arrays)) + headers + coordinates + files

    @property
    def files(self) -> int:
        """Number of files at the end of the run."""
        run, n_chunks = self._run, sum(int(x.n_chunks) for x in self._run.arrays)
        return len(self.inputs) + 6 + n_chunks + len(run.arrays) + 2 * len(run.coordinates) + int(bool(run.stored))

    def requests(self, n_processes: int, seconds: float) -> dict[str, int]:
        """Number of requests to an object store, by kind, of a run that takes some seconds."""
        run, jobs, arrays, closing = self._run, self.jobs, self._run.arrays, self.closing
        n_tasks = sum(job.n_segments * len(job.blocks) for job in jobs if job.in_files)
        n_blocks, n_chunks = sum(len(job.blocks) for job in jobs if job.in_files), sum(x.n_chunks for x in arrays)
        pieces = [1 + 2 * (each.size // PIECE) for each in self.inputs]
        shown, renewals = sum(job.demand.writes for job in jobs), int(seconds / RENEWAL)
        headers = len(arrays) + len(run.coordinates) if run.stored else 0
        models = (6 + 3 * pieces[0]) * n_processes if self.model else 0
        read = sum(job.demand.reads * (1 if job.in_files else n_processes) for job in jobs)
        return {
            # inputs and their sizes; of each task but the first of a block, the checkpoint before it
            "reads": 7 + sum(pieces) + len(pieces) + models + 14 * bool(run.stored) + 5 * headers + closing.reads
            + n_tasks - n_blocks + read + renewals,
            "writes": 5 + len(pieces) + n_tasks + shown + n_chunks + headers + len(run.coordinates) + closing.writes
            + 3 * bool(run.stored) + 3 * run.kept(seconds) + renewals,
            "conditional_writes": 2,
            "lists": 2 + 2 * bool(run.stored) + n_blocks // _KEYS + sum(2 + 2 * (x.n_chunks // _KEYS) for x in arrays),
            "deletions": n_tasks + shown + 1 + n_blocks // _KEYS + bool(run.stored),
        }  # fmt: skip


def projected(
    run: Callable[..., Any],
    *arguments: Any,
    scheduler: str | Workers = "threads",
    sweep_seconds: float | None = None,
    **options: Any,
) -> Projected:
    """Project the memory, storage, requests and processor time of a run that has not begun.

    Parameters
    ----------
    run : callable
        `sample`, `evaluate`, `train`, `sample_graph` or `measure_lattice`.
    *arguments, **options
        Arguments of the run, except `directory`.
    scheduler : str or Workers, optional
        See `sample`. Nothing is started for ``"local"``.
    sweep_seconds : float, optional
        Processor time of a sweep of one chain, in seconds; on a graph, of one unit. By default a sweep of each kind is
        timed on this machine, which takes seconds.

    Returns
    -------
    Projected
        Memory is within a factor of 1.5 of the peak. Time, storage and requests are those of an undisturbed run.

    Raises
    ------
    ValueError, TypeError
        The errors of the run, if an argument is invalid.

    Notes
    -----
    States of binary units take a bit, or less in a model that prefers some states, as a trial shows. Without a trial
    it is a bit for each unit.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import projected, sample
    >>> rbm = RBM.from_parameters(np.zeros((20, 30)), np.zeros(20), np.zeros(30))
    >>> found = projected(sample, rbm, n_chains=1000, n_draws=10_000, sweep_seconds=1e-6)
    >>> found.tasks, found.core_hours
    (80, 0.002777777777777778)
    """
    if sweep_seconds is not None:
        checked_number(sweep_seconds, "sweep_seconds", 10**9)
    plan = _plan_of(run, arguments, options)
    plan.kind.check_scheduler(plan.configuration, scheduler)
    shares = dict[str, float]()
    costs = [_measured(job, shares) if sweep_seconds is None else sweep_seconds for job in plan.jobs]
    with Workers.of(scheduler) as workers:
        places, here = workers.planned, workers.scheduler == "threads"
    places = places or [("a worker", 1, None)]  # of a cluster that has none yet
    at_once = max(tasks for _, tasks, _ in places)
    seconds = sum(each * job.total for each, job in zip(costs, plan.jobs, strict=True))
    n_tasks = sum(job.n_segments * len(job.blocks) for job in plan.jobs)
    client = _PROCESS + plan.held + plan.client_memory(at_once if here else 0, 0 if here else len(places))
    return Projected(
        client if here else _PROCESS + plan.worker_memory(at_once), client, at_once,
        plan.storage(shares), plan.files, plan.checkpoints, n_tasks,
        **plan.requests(len(places), seconds / sum(tasks for _, tasks, _ in places)),
        core_hours=seconds / 3600, seconds_per_task=seconds / n_tasks,
    )  # fmt: skip


def _plan_of(run: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Plan:
    """Call the function of a run with `NOWHERE` as its directory, and return its plan."""
    parameters = [*inspect.signature(run).parameters]
    if "directory" in parameters:
        at = parameters.index("directory")
        if len(arguments) < at:
            options = options | {"directory": NOWHERE}
        plan = run(*arguments[:at], *[NOWHERE] * (len(arguments) >= at), *arguments[at:], **options)
        if isinstance(plan, Plan):
            return plan
    raise ValueError(
        f"run must be sample, evaluate, train, sample_graph or measure_lattice of nbm_xp.runs, got {run!r}"
    )


def _measured(job: Job, shares: dict[str, float]) -> float:
    """Return the processor time of a step of a job; add the shares to which its arrays are compressed."""
    if isinstance(job, MachineJob):
        job = dataclasses.replace(job, known=job.loaded.to(job.library))
    count, seconds, most = 1, 0.0, job.trial_steps
    for first in (True, False, False, False):
        with tempfile.TemporaryDirectory() as folder:
            trial = dataclasses.replace(job.with_steps(count), directory=folder)
            for name in (*(f"checkpoints/{part}" for part in (job.part, *job.other_parts)), job.arrays):
                (pathlib.Path(folder) / name).mkdir(parents=True, exist_ok=True)
            for array in trial.stored:
                (pathlib.Path(folder) / job.arrays / array.name).mkdir(exist_ok=True)
            segment, block = trial.prepare(trial.blocks[0]), trial.blocks[0]
            began = time.process_time()
            run_segment(trial, block, segment)
            seconds = time.process_time() - began
            for array in trial.stored:
                if written := sum(sizes_of(pathlib.Path(folder) / job.arrays / array.name).values()):
                    shares[array.name] = written / array.bytes_in_a_chunk
        if not first and (seconds > _SECONDS or count == most):  # the first includes compiling
            break
        count = max(1, min(most, int(count * 2 * _SECONDS / max(seconds, 1e-6))))
    return seconds / max(1, trial.steps(block, segment))


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
