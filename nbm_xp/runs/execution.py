"""Starting, executing, resuming and finishing runs of every kind.

Each kind of run (a `Kind`) defines its jobs, the arrays that they write, and its results.

Contract: results that are reported done are on disk. A task whose worker died is tried again, at most `TRIES`
times in a row; one whose worker left with notice, or whose scheduler was lost, any number of times. Any other failure
ends the run with an error message and keeps the completed work.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from nbm_xp.files import Place, place_of, remove_folder, write_json
from nbm_xp.objects import ObjectPath
from nbm_xp.package import need
from nbm_xp.records import digest_of_file, read_record, sealed, unsealed
from nbm_xp.storage.zarr_headers import BEGUN

from . import store
from .checkpoints import last_checkpoints
from .directory import RunDirectory, RunError, check_new, disk_errors, resuming
from .job import Demand, Job
from .pools import TaskLostError, WorkerLostError
from .projection import NOWHERE, Input, Plan
from .store import Stored
from .workers import Pool, Workers

Progress: TypeAlias = Callable[[int, int], object]

Warn: TypeAlias = Callable[[int], object]  # issues the warnings of a finished run, at the given stack level

TRIES = 5  # number of times in a row that a segment may lose its worker before the run ends

# The module and the class of each kind of run
_KINDS = {
    "sample": ("sampling", "Sampling"),
    "evaluate": ("evaluation", "Evaluating"),
    "graph": ("graph_runs", "GraphRun"),
    "transition": ("transitions", "TransitionRun"),
    "train": ("training", "TrainingRun"),
}


class Kind:
    """A kind of run.

    Attributes
    ----------
    name : str
        Name in ``run.json``.
    results : tuple of str
        Names of the files and folders that exist in the directory of a finished run only.
    stored : str
        Name of the Zarr group among `results` whose chunks tasks write; "" for none.
    document : str
        Name of the JSON file among `results`, which is written last; "" for none.
    job_kinds : tuple of subclasses of Job
        The kinds of jobs, in order of execution.
    in_tasks : bool
        Whether the run is divided into jobs.
    smaller : str
        What would need less space on the disk, for messages.
    """

    name: ClassVar[str]
    results: ClassVar[tuple[str, ...]]
    stored: ClassVar[str] = ""
    document: ClassVar[str] = ""
    job_kinds: ClassVar[tuple[type[Job], ...]] = ()
    in_tasks: ClassVar[bool] = True
    smaller: ClassVar[str] = "fewer chains or draws"

    def __init__(self, run: RunDirectory, **options: Any) -> None:
        self.run = run

    @functools.cached_property
    def jobs(self) -> list[Any]:
        """The jobs that the configuration asks for, in order of execution."""
        asked = self.run.configuration
        arrays = store.unfinished(self.run.path / self.stored).name
        return [kind.of(self.run, arrays) for kind in self.job_kinds if not kind.asked_by or asked.get(kind.asked_by)]

    @property
    def arrays(self) -> Sequence[Stored]:
        """The arrays that tasks write."""
        return [array for job in self.jobs for array in job.stored]

    @property
    def coordinates(self) -> Mapping[str, Sequence[int]]:
        """The coordinates of the arrays."""
        return {name: values for job in self.jobs for name, values in job.coordinates.items()}

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the Zarr group."""
        return {"source": f"nbm_xp.runs: {self.name}", "seed": str(self.run.seed), "run": self.run.result_identity}

    @classmethod
    def check_scheduler(cls, configuration: Mapping[str, Any], scheduler: str | Workers) -> None:
        """Raise `ValueError` if a run with this configuration has no tasks for these workers."""

    @property
    def closing(self) -> Demand:
        """What `finish` needs: memory, as `shared`, and requests."""
        return Demand()

    def client(self, n_workers: int) -> int:
        """Return the memory of the process that begins the run on some workers, besides its own tasks, in bytes."""
        return 0

    def kept(self, seconds: float) -> int:
        """Return the number of checkpoints, besides those of tasks, of a run that takes some seconds."""
        return 0

    def finish(self, unfinished: Place) -> Warn | None:
        """Write the results after all tasks; `unfinished` is the Zarr group, which is renamed afterwards."""

    def result(self) -> dict[str, Any]:
        """Return the results of a finished run except arrays, as JSON values; raise `ValueError` if damaged."""
        if self.stored:
            store.open_arrays(self.run.path / self.stored, self.run.result_identity)
        return self.read_document() if self.document else {}

    def _digests(self) -> dict[str, str]:
        """The digests of the result files other than the document."""
        files = [name for name in self.results if name not in (self.stored, self.document)]
        return {name: digest_of_file(self.run.path / name) for name in files}

    def write_document(self, found: Mapping[str, Any]) -> None:
        """Write the results of a run to its JSON document, with the digests of the other result files."""
        about = {"identity": self.run.result_identity, "files": self._digests()}
        write_json(self.run.path / self.document, sealed({**found, **about}))

    def read_document(self) -> dict[str, Any]:
        """Read the JSON document; raise `ValueError` if it or another result file has changed."""
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
        """Whether all results exist."""
        of_each = {name: self.run.path / name for name in self.results}
        return all(store.is_whole(at) if name == self.stored else at.exists() for name, at in of_each.items())

    def complete(self, pool: Pool, progress: Progress) -> Warn | None:
        """Compute the remaining tasks, and write the results."""
        run, jobs, place = self.run, self.jobs, self.run.path / self.stored
        if not self.stored:
            carry_out(run, jobs, pool, progress)
            return self.finish(run.path)
        if store.is_whole(place):  # and another result is not there
            return self.finish(place)
        unfinished = store.unfinished(place)
        if store.is_begun(unfinished):
            store.check(unfinished, self.arrays, run.result_identity)
        else:
            store.create(unfinished, self.arrays, self.coordinates, self.attributes)
        carry_out(run, jobs, pool, progress)
        warn = self.finish(unfinished)
        run.check_lock()
        store.finish(place, self.arrays)
        return warn


def kind_of(name: str) -> type[Kind]:
    """Return the class of a kind of run."""
    if name not in _KINDS:
        raise ValueError(f"runs are of the kinds {', '.join(_KINDS)}, got {name!r}")
    module, kind = _KINDS[name]
    found: type[Kind] = getattr(importlib.import_module(f".{module}", __package__), kind)
    return found


def finished(directory: str | os.PathLike[str], *kinds: str) -> RunDirectory:
    """Return the directory of a run of one of these kinds, or of any; raise `RunError` if the run is not finished."""
    run = RunDirectory.open(directory, *kinds)
    if not kind_of(run.kind)(run).is_finished:
        raise RunError(f"the run in {run.path} is not finished: resume it by {resuming(run.path)}")
    return run


def check_begin(directory: str | os.PathLike[str], progress: Any) -> None:
    """Check the arguments common to all runs, before any work.

    Raises
    ------
    FileExistsError
        If the directory is not empty.
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
    save: Callable[[Place], object] | None = None,
    known: Any = None,
    held: int = 0,
    inputs: Sequence[Input] = (),
    **options: Any,
) -> RunDirectory:
    """Start a run and compute all of it; for the arguments see `sample` and `RunDirectory.create`.

    `known`, `held` and `inputs` are those of a `Plan`, besides the model. Further options are passed to `kind`.
    """
    kind.check_scheduler(configuration, scheduler)
    if model is not None:
        sizes = [int(array.nbytes) for array in model.state_.arrays().values()]
        known, held, inputs = model, held + sum(sizes), [Input(sum(sizes), max(sizes)), *inputs]
    plan = Plan(kind, configuration, known, held, inputs)
    if directory is NOWHERE:
        return plan  # type: ignore[return-value]
    with _started(kind, scheduler) as pool:
        plan.check(pool, place_of(directory))
        with RunDirectory.create(
            directory, kind.name, configuration, random_state=random_state, model=model, save=save
        ) as run:
            _complete(kind(run, **options), pool, progress, 4)
    return run


def resume(
    directory: str | os.PathLike[str], *, scheduler: str | Workers = "threads", progress: Progress | None = None
) -> RunDirectory:
    """Resume a run of any kind, started from Python or at the command line.

    The model, rows and settings are read from its directory, and the results are byte for byte those of a run that was
    never interrupted. If the run is finished, its results are verified and not changed.

    Parameters
    ----------
    directory : path-like
        The run's directory, or its address.
    scheduler : str or Workers, optional
        Where tasks run: see `sample` and `train`.
    progress : callable, optional
        ``progress(done, total)``, as in `sample`, `evaluate` and `train`.

    Returns
    -------
    RunDirectory

    Raises
    ------
    FileNotFoundError
        If the directory does not exist.
    ValueError
        If it is not a run's directory, or its contents are damaged.
    RunError
        If the run cannot continue: another process works on it, the disk is full, or the cluster is gone.

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
    known = RunDirectory.read(directory)
    kind = kind_of(known.kind)
    kind.check_scheduler(known.configuration, scheduler)
    with _started(kind, scheduler) as pool, RunDirectory.resume(directory) as run:
        _complete(kind(run), pool, progress, 3)
    return run


@contextlib.contextmanager
def _started(kind: type[Kind], scheduler: str | Workers) -> Iterator[Pool]:
    """Provide the workers of a run; SIGTERM stops them like a keyboard interrupt.

    Nothing is changed on disk before: it raises if there is no cluster.
    """

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    if kind.in_tasks:
        need("zarr")
    is_main = threading.current_thread() is threading.main_thread()
    with contextlib.ExitStack() as opened:
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, end)
            opened.callback(signal.signal, signal.SIGTERM, signal.SIG_DFL)
        yield opened.enter_context(Workers.of(scheduler)).pool


def _complete(kind: Kind, pool: Pool, given: Progress | None, stacklevel: int) -> None:
    """Compute the rest of a run, and remove its checkpoints."""
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
        remove_folder(run.path / "checkpoints")
        if isinstance(run.path, ObjectPath) and kind.stored:
            (run.path / kind.stored / BEGUN).unlink(missing_ok=True)
    if warn is not None:
        warn(stacklevel)


def carry_out(run: RunDirectory, jobs: Sequence[Job], pool: Pool, progress: Progress) -> None:
    """Execute all remaining tasks of jobs, one job after the other."""
    pool.check(run.path)
    before, total = 0, sum(job.total for job in jobs)
    for job in jobs:
        _carry_out(run, job, pool, progress, before, total)
        before += job.total


def _carry_out(run: RunDirectory, job: Job, pool: Pool, progress: Progress, before: int, total: int) -> None:
    """Execute all remaining tasks of a job; `before` is the work of earlier jobs, part of `total`.

    The work for a finished task does not grow with the number of blocks: only its block and the neighbours of its block
    can have become ready. Checkpoints are read by tasks alone, which raise an error for a damaged one.
    """
    folder, blocks = run.checkpoints / job.part, {block.number: block for block in job.blocks}
    for part in (job.part, *job.other_parts):
        (run.checkpoints / part).mkdir(exist_ok=True)
    last, n_segments = last_checkpoints(folder), job.n_segments
    at = {number: last.get(number, 0) for number in blocks}
    if done := job.done(at):
        run.log(f"{job.part}: {done} of {job.total} steps are done")
    progress(before + done, total)
    needs = {number: job.needs(block) for number, block in blocks.items()}
    tries, pending = Counter[int](), dict[Any, int]()
    idle = set(blocks)  # blocks without a pending task

    def submit(numbers: Iterable[int]) -> None:
        """Submit the next segments of those of the blocks whose neighbours are as far."""
        for number in numbers:
            if number in idle and at[number] < n_segments and all(at[k] >= at[number] for k in needs[number]):
                idle.remove(number)
                pending[pool.submit(job, blocks[number], at[number])] = number

    try:
        submit(blocks)
        while pending:
            run.check_lock()
            again = Counter[str]()
            ended = [(pending.pop(future), future) for future in pool.wait(pending.keys(), timeout=1.0)]
            for number, future in ended:
                idle.add(number)
                try:
                    pool.check_result(future)
                except TaskLostError as lost:
                    again[str(lost)] += 1
                except WorkerLostError as lost:
                    tries[number] += 1
                    run.log(f"block {number}, segment {at[number]}: a worker was lost ({lost})")
                    if tries[number] == TRIES:
                        raise RunError(
                            f"block {number} lost its worker {TRIES} times in a row: perhaps it needs more memory than "
                            "there is. Give workers more, or make the blocks smaller by chunks"
                        ) from lost
                else:
                    tries.pop(number, None)
                    done += job.steps(blocks[number], at[number])
                    at[number] += 1
                    progress(before + done, total)
            for why, count in again.items():
                run.log(f"{job.part}: {count} tasks are submitted again: {why}")
            submit(itertools.chain.from_iterable((number, *needs[number]) for number, _ in ended))
    except BaseException as error:
        pool.stop(list(pending))
        run.log(f"ended with {done} of {job.total} steps done: {type(error).__name__}: {error}")
        raise
