"""Going on with a run, of whatever kind, by what its directory says alone."""

from __future__ import annotations

import os
from typing import Any

from nbm_xp.namespace.needs import need

from . import evaluation, graph_runs, sampling, training, transitions
from .carrying_out import Progress, check_progress, interruptible
from .directory import RunDirectory
from .schedulers import workers_of

__all__ = ["resume"]

_IN_BLOCKS = {
    "sample": sampling.carry_on,
    "evaluate": evaluation.carry_on,
    "lattice": graph_runs.carry_on,
    "graph": graph_runs.carry_on,
    "transition": transitions.carry_on,
}


def resume(
    directory: str | os.PathLike[str],
    *,
    scheduler: Any = "threads",
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> RunDirectory:
    """Go on with a run of any kind, begun from Python or at the command line.

    Model, rows and settings are those in its directory, and so is what comes of it: the files are those of a run that
    was never broken off, byte for byte. A run that is finished is held to what was written, and left as it is.

    Parameters
    ----------
    directory : path-like
        The run's.
    scheduler, n_workers, memory_limit : optional
        Where tasks run: see `Workers`. A training runs in this process.
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
    >>> def break_off(done, total):
    ...     if done == 2:
    ...         raise KeyboardInterrupt
    >>> try:
    ...     train(RBM(4, n_iter=3, random_state=0), place / "run", rows, checkpoint_every=1, progress=break_off)
    ... except KeyboardInterrupt:
    ...     trained_model(place / "run").n_iter_
    2
    >>> run = resume(place / "run")
    >>> bool((trained_model(run.path).components_ == RBM(4, n_iter=3, random_state=0).fit(rows).components_).all())
    True
    """
    check_progress(progress)
    kind = RunDirectory.read(directory).kind
    if kind == "train":
        if scheduler != "threads" or n_workers is not None or memory_limit is not None:
            raise ValueError("scheduler, n_workers and memory_limit must be left out: a training runs in this process")
        with interruptible(), RunDirectory.resume(directory) as run:
            training.carry_on(run, progress)
        return run
    if kind not in _IN_BLOCKS:
        raise ValueError(f"{os.fspath(directory)} holds a run of {kind!r}, which nobody here knows how to go on with")
    need("zarr")
    with interruptible(), workers_of(scheduler, n_workers, memory_limit) as workers:
        pool = workers.pool  # where there is no cluster, nothing is begun
        with RunDirectory.resume(directory) as run:
            _IN_BLOCKS[kind](run, pool, progress)
    return run
