"""How runs of every kind begin, are carried out task by task, are resumed and end.

A kind of run (a `Kind`) adds what all do not have in common: its jobs, the arrays that these write, and its results.

Contract: what is reported is on disk; a failure that another worker may not meet is tried again, a few times; every
other one ends the run, says what to do, and leaves what was done.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from nbm_xp.files import digest_of_file, read_record, sealed, unsealed, write_json
from nbm_xp.package import need

from . import store
from .directory import RunDirectory, RunError, check_new, disk_errors, resuming
from .job import Job, read_checkpoint
from .store import Stored
from .workers import Pool, WorkerLostError, Workers

__all__ = ["Kind", "Progress", "Warn", "begin", "carry_out", "check_begin", "finished", "read_result", "resume"]

Progress: TypeAlias = Callable[[int, int], object]

Warn: TypeAlias = Callable[[int], object]
"""Warns of what was found, at a stack level."""

TRIES = 5
"""How often in a row a segment may lose its worker, before it is taken for the cause."""

_KINDS = {
    "sample": ("sampling", "Sampling"),
    "evaluate": ("evaluation", "Evaluating"),
    "graph": ("graph_runs", "GraphRun"),
    "transition": ("transitions", "TransitionRun"),
    "train": ("training", "TrainingRun"),
}
"""The module and the class of each kind of run."""


class Kind:
    """A kind of run.

    Attributes
    ----------
    name : str
        As ``run.json`` has it.
    results : tuple of str
        What lies in the directory of a finished run, and only there.
    stored : str
        The Zarr group of these that tasks write chunks of; "" for none.
    document : str
        The JSON file of these, which is written last; "" for none.
    in_tasks : bool
        Whether it is computed in tasks, by workers.
    """

    name: ClassVar[str]
    results: ClassVar[tuple[str, ...]]
    stored: ClassVar[str] = ""
    document: ClassVar[str] = ""
    in_tasks: ClassVar[bool] = True

    def __init__(self, run: RunDirectory, **options: Any) -> None:
        self.run = run

    @property
    def jobs(self) -> Sequence[Job]:
        """What there is to do, in order."""
        raise NotImplementedError

    @property
    def arrays(self) -> Sequence[Stored]:
        """The arrays that tasks write."""
        return [array for job in self.jobs for array in job.stored]

    @property
    def coordinates(self) -> Mapping[str, Sequence[int]]:
        """The coordinates of the arrays."""
        return {}

    @property
    def attributes(self) -> dict[str, Any]:
        """What the Zarr group says of itself."""
        return {"source": f"nbm_xp.runs: {self.name}", "seed": str(self.run.seed), "run": self.run.result_identity}

    def finish(self, unfinished: pathlib.Path) -> Warn | None:
        """Write the results when all tasks are done; `unfinished` is the Zarr group, which then gets its name."""

    def result(self) -> dict[str, Any]:
        """What a finished run came to, besides arrays, as JSON has it; ValueError if it is damaged."""
        if self.stored:
            store.open_arrays(self.run.path / self.stored, self.run.result_identity)
        return self.read_document() if self.document else {}

    def _digests(self) -> dict[str, str]:
        """The digests of the files beside the document."""
        files = [name for name in self.results if name not in (self.stored, self.document)]
        return {name: digest_of_file(self.run.path / name) for name in files}

    def write_document(self, found: Mapping[str, Any]) -> None:
        """Write what a run came to, with digests of the files beside it."""
        about = {"identity": self.run.result_identity, "files": self._digests()}
        write_json(self.run.path / self.document, sealed({**found, **about}))

    def read_document(self) -> dict[str, Any]:
        """The same from the file; ValueError if it or a file beside it is not what was written."""
        place = self.run.path / self.document
        found = unsealed(read_record(place), place)
        if found.pop("identity", None) != self.run.result_identity:
            raise ValueError(f"{place} is of another run than {self.run.path}")
        written = found.pop("files", {})
        for name, digest in self._digests().items():
            if written.get(name) != digest:
                raise ValueError(f"{self.run.path / name} is not what the run ended with: it is damaged or exchanged")
        return found

    @property
    def is_finished(self) -> bool:
        """Whether all results are there."""
        return all((self.run.path / name).exists() for name in self.results)

    def complete(self, pool: Pool, progress: Progress) -> Warn | None:
        """Compute what is left to compute."""
        run, jobs = self.run, self.jobs
        place, unfinished = run.path / self.stored, run.path / store.UNFINISHED
        if not self.stored:
            carry_out(run, jobs, pool, progress)
            return self.finish(run.path)
        if place.exists():  # and some other result is not
            return self.finish(place)
        if unfinished.exists():
            store.check(unfinished, self.arrays, run.result_identity)
        else:
            store.create(unfinished, self.arrays, self.coordinates, self.attributes)
        carry_out(run, jobs, pool, progress)
        warn = self.finish(unfinished)
        store.finish(unfinished, place, self.arrays)
        return warn


def kind_of(name: str) -> type[Kind]:
    """The class of a kind of run."""
    if name not in _KINDS:
        raise ValueError(f"runs are of the kinds {', '.join(_KINDS)}, got {name!r}")
    module, kind = _KINDS[name]
    found: type[Kind] = getattr(importlib.import_module(f".{module}", __package__), kind)
    return found


def finished(directory: str | os.PathLike[str], *kinds: str) -> RunDirectory:
    """The directory of a finished run of one of these kinds; `RunError` if it is not finished."""
    run = RunDirectory.open(directory, *kinds)
    if not kind_of(run.kind)(run).is_finished:
        raise RunError(f"the run in {run.path} is not finished: resume it by {resuming(run.path)}")
    return run


def read_result(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """What a finished run of any kind came to, besides arrays.

    Parameters
    ----------
    directory : path-like
        The run's.

    Returns
    -------
    dict
        ``run``, its directory, ``kind`` and ``seed``; and what the kind of run has: for a training what its last
        epoch came to, for an evaluation the fields of `Evaluation`, for a transition what was measured.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If it is damaged.
    """
    run = finished(directory, *_KINDS)
    return {"run": str(run.path), "kind": run.kind, "seed": run.seed, **kind_of(run.kind)(run).result()}


def check_begin(directory: str | os.PathLike[str], progress: Any) -> None:
    """Check what every run is begun with, before any work.

    Raises
    ------
    FileExistsError
        If something is in the directory already.
    TypeError
        If `progress` is neither callable nor None.
    """
    check_new(directory)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable, got {progress!r}")


def begin(
    kind: type[Kind],
    directory: str | os.PathLike[str],
    configuration: Mapping[str, Any],
    *,
    random_state: Any,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
    model: Any = None,
    save: Callable[[pathlib.Path], object] | None = None,
    check: Callable[[Workers, pathlib.Path], str] | None = None,
    **options: Any,
) -> RunDirectory:
    """Begin a run, and do all of it; for the arguments see `sample` and `RunDirectory.create`.

    `check` is called with the workers and the directory before this is made, and returns a line for the log; further
    options are those of the kind.
    """
    with _started(kind, scheduler) as workers:
        said = None if check is None else check(workers, pathlib.Path(directory))
        pool = workers.pool  # where there is no cluster, no directory is made
        with RunDirectory.create(
            directory, kind.name, configuration, random_state=random_state, model=model, save=save
        ) as run:
            if said is not None:
                run.log(said)
            _complete(kind(run, **options), pool, progress, 4)
    return run


def resume(
    directory: str | os.PathLike[str],
    *,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Resume a run of any kind, begun from Python or at the command line.

    Model, rows and settings are those in its directory, and the files are those of a run that was never interrupted,
    byte for byte. The results of a run that is finished are verified, and left as they are.

    Parameters
    ----------
    directory : path-like
        The run's.
    scheduler : str or Workers, optional
        Where tasks run: see `sample`. A training runs in this process.
    progress : callable, optional
        ``progress(done, total)``, as for `sample`, `evaluate` and `train`.

    Returns
    -------
    RunDirectory

    Raises
    ------
    FileNotFoundError
        If there is no such directory.
    ValueError
        If it is no run's directory, or what it holds is damaged.
    RunError
        If the run cannot go on: another process works on it, the disk is full, the cluster gone.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import resume, train, trained_model
    >>> place, rows = pathlib.Path(tempfile.mkdtemp()), np.eye(6, dtype="float32")
    >>> def interrupt(done, total):
    ...     if done == 2:
    ...         raise KeyboardInterrupt
    >>> try:
    ...     train(RBM(4, n_iter=3, random_state=0), place / "run", rows, checkpoint_every=1, progress=interrupt)
    ... except KeyboardInterrupt:
    ...     trained_model(place / "run").n_iter_
    2
    >>> run = resume(place / "run")
    >>> bool((trained_model(run.path).components_ == RBM(4, n_iter=3, random_state=0).fit(rows).components_).all())
    True
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable, got {progress!r}")
    kind = kind_of(RunDirectory.read(directory).kind)
    with _started(kind, scheduler) as workers:
        pool = workers.pool  # where there is no cluster, nothing is changed
        with RunDirectory.resume(directory) as run:
            _complete(kind(run), pool, progress, 3)
    return run


@contextlib.contextmanager
def _started(kind: type[Kind], scheduler: str | Workers) -> Iterator[Workers]:
    """The workers of a run, whose work ends in order when the process is terminated."""
    with interruptible():
        if kind.in_tasks:
            need("zarr")
        elif scheduler != "threads":
            raise ValueError(f"scheduler must be left out, got {scheduler!r}: a training runs in this process")
        with Workers.of(scheduler) as workers:
            yield workers


def _complete(kind: Kind, pool: Pool, given: Progress | None, stacklevel: int) -> None:
    """Do what is left to do of a run, and remove what only an unfinished one needs."""
    run, warn, progress = kind.run, None, given or (lambda done, total: None)
    with disk_errors(run.path):
        if kind.is_finished:
            kind.result()
            if kind.in_tasks:
                total = sum(job.total for job in kind.jobs)
                progress(total, total)
        else:
            warn = kind.complete(pool, progress)
            run.log("finished")
        shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
    if warn is not None:
        warn(stacklevel)


def carry_out(run: RunDirectory, jobs: Sequence[Job], pool: Pool, progress: Progress) -> None:
    """Do all tasks of jobs that are not done yet, one job after the other."""
    pool.check(run.path)
    before, total = 0, sum(job.total for job in jobs)
    for job in jobs:
        _carry_out(run, job, pool, progress, before, total)
        before += job.total


def _carry_out(run: RunDirectory, job: Job, pool: Pool, progress: Progress, before: int, total: int) -> None:
    """Do all tasks of a job that are not done yet; `before` is what others of the `total` have done."""
    folder, blocks = run.checkpoints / job.part, {block.number: block for block in job.blocks}
    folder.mkdir(exist_ok=True)
    kept = {number: read_checkpoint(folder, job.run, number) for number in blocks}
    at = {number: 0 if found is None else found.done for number, found in kept.items()}
    done = sum(job.steps(block, segment) for block in blocks.values() for segment in range(at[block.number]))
    if done:
        run.log(f"{job.part}: {done} of {job.total} steps are done")
    progress(before + done, total)
    waiting = {number: job.needs(blocks[number]) for number in blocks if at[number] < job.n_segments}
    tries, needs, pending = dict.fromkeys(blocks, 0), dict(waiting), dict[Any, int]()

    def submit() -> None:
        """Submit the segments of blocks whose neighbours have come to them."""
        for number in [number for number, others in waiting.items() if all(at[x] >= at[number] for x in others)]:
            del waiting[number]
            pending[pool.submit(job, blocks[number], at[number])] = number

    try:
        submit()
        while pending:
            for future in pool.wait(pending.keys(), timeout=1.0):
                number = pending.pop(future)
                try:
                    pool.check_result(future)
                except WorkerLostError as lost:
                    tries[number] += 1
                    run.log(f"block {number}, segment {at[number]}: a worker was lost ({lost})")
                    if tries[number] == TRIES:
                        raise RunError(
                            f"block {number} lost its worker {TRIES} times in a row: perhaps it needs more memory than "
                            "there is. Give workers more, or make the blocks smaller by chunks"
                        ) from lost
                    waiting[number] = needs[number]
                    continue
                tries[number] = 0
                done += job.steps(blocks[number], at[number])
                at[number] += 1
                progress(before + done, total)
                if at[number] < job.n_segments:
                    waiting[number] = needs[number]
            submit()
    except BaseException as error:
        pool.stop(list(pending))
        run.log(f"ended with {done} of {job.total} steps done: {type(error).__name__}: {error}")
        raise


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end a run as an interruption from the keyboard does: what it started is ended too."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
