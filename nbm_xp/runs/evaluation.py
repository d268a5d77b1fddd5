"""Evaluation as a run: log Z by annealing and by the ladder of a training, and the likelihood of rows, in blocks."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Sequence
from typing import Any

from nbm_xp.boltzmann.equilibrium import STEPS
from nbm_xp.boltzmann.partition import AISEstimate, is_enumerable, log_z_of
from nbm_xp.boltzmann.placing import temperatures_of
from nbm_xp.files import local_path, sealed, write_json
from nbm_xp.machines.columns import check_names
from nbm_xp.machines.rows import checked_rows, known_length, positive_int
from nbm_xp.namespace.needs import need

from . import store
from .carrying_out import Progress, carry_out, check_progress, interruptible
from .copies import digest_of, digest_of_ladder, digest_of_model, fitted_model, library_for, save_rows
from .directory import RunDirectory
from .evaluation_jobs import FROM_LADDER, jobs_of
from .evaluation_result import ARRAYS, RESULT, read_evaluation, result_of
from .failing import needing_room
from .job import chunk_of
from .schedulers import workers_of

__all__ = ["evaluate"]

_STEPS_IN_A_SEGMENT = 250


def evaluate(
    model: Any,
    directory: str | os.PathLike[str],
    X: Any = None,
    *,
    n_runs: int = 100,
    n_temperatures: int | str = 1000,
    betas: Sequence[float] | None = None,
    log_z: float | AISEstimate | None = None,
    reverse: bool | None = None,
    n_steps: int = 1000,
    ladder_steps: int = STEPS,
    chunks: int | None = None,
    checkpoint_every: int | None = None,
    seed: Any = None,
    library: str | None = None,
    scheduler: Any = "threads",
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> RunDirectory:
    """Find log Z of a model, with error bars, and the mean log-likelihood of rows.

    Of a machine whose hidden layers are connected with one another, rows have a lower bound on their log-likelihood, by
    mean field; `Evaluation.lower_bound` says so.

    Parameters
    ----------
    model : model of `nbm_xp.boltzmann`
        None, with `resume`, takes the model that the run began with.
    directory : path-like
        The run's directory: one that does not exist, or, with `resume`, may.
    X : array of shape (rows, visible units), optional
        Rows to be weighed; they are copied into the run's directory, a Dask array block by block.
    n_runs, n_temperatures, betas : optional
        The chains of annealed importance sampling and their temperatures: see `RBM.ais`.
    log_z : float or AISEstimate, optional
        The logarithm of the partition function, where it is known: then nothing is annealed.
    reverse : bool, optional
        Whether to anneal as many chains in reverse too, for an estimate of log Z that is too large, if anything. By
        default that is done for a model with a ladder.
    n_steps : int, optional
        Sweeps of the chains to the states that those in reverse start from. Of a model whose log Z `log_partition`
        can tell, they are drawn exactly instead; of one with a ladder, they are those of the chains on it.
    ladder_steps : int, optional
        Steps of as many chains on the ladder that a model learnt on with ``training="ptt"``, which tell log Z too:
        see `RBM.ladder_log_partition`. 0 for none of them.
    chunks : int, optional
        How many chains there are in a block, by default 128.
    checkpoint_every : int, optional
        How many temperatures, or sweeps, a task goes through, by default 250.
    seed, library, scheduler, n_workers, memory_limit, resume
        See `sample`.
    progress : callable, optional
        ``progress(done, total)``, as for `sample`: steps of single chains, and rows.

    Returns
    -------
    RunDirectory
        `read_evaluation` reads what was found. Beside it, ``evaluation.zarr`` holds the logarithm of each chain's
        weight and the free energy of each row, as `free_energy` of the model gives it.

    Raises
    ------
    ValueError, FileExistsError, RunError
        As for `sample`.

    References
    ----------
    R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
    Y. Burda, R. Grosse and R. Salakhutdinov, "Accurate and conservative estimates of MRF log-likelihood using reverse
    annealing", AISTATS 2015.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import evaluate, read_evaluation
    >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4))
    >>> rows = np.eye(4)
    >>> run = evaluate(rbm, pathlib.Path(tempfile.mkdtemp()) / "run", rows, n_runs=200, n_temperatures=50, seed=0)
    >>> found = read_evaluation(run.path)
    >>> found.ais.log_z_low < rbm.log_partition() < found.ais.log_z_high
    True
    >>> exact = float(rbm.log_likelihood(rows).mean())
    >>> found.mean_log_likelihood_low < exact < found.mean_log_likelihood_high
    True
    """
    local_path(directory, "directory")
    check_progress(progress)
    if model is None:
        if not resume:
            raise ValueError("model must be given, unless resume=True takes that of the run to go on with")
        model = RunDirectory.open(directory, "evaluate").load_model()
    topology = fitted_model(model)._topology
    runs = positive_int(n_runs, "n_runs")
    temperatures = temperatures_of(model, n_temperatures, betas, model._entropy) if log_z is None else []
    known = None if log_z is None else log_z_of(log_z)
    sweeps, climbs = positive_int(n_steps, "n_steps", 0), positive_int(ladder_steps, "ladder_steps", 0)
    if 0 < climbs < 4:
        raise ValueError(f"ladder_steps must be 0, or at least 4, got {ladder_steps!r}")
    if reverse not in (None, True, False):
        raise ValueError(f"reverse must be True, False or None, got {reverse!r}")
    laddered = model._ladder is not None and climbs > 0 and log_z is None
    reverse = laddered if reverse is None else reverse
    if reverse and log_z is not None:
        raise ValueError("reverse must be left out where log_z is given: then nothing is annealed")
    rows = 0
    if X is not None:
        check_names(model._features_in, X)
        X = checked_rows(X, model.n_features_in_, within=topology.units[0].within)
        rows = known_length(X)
    elif log_z is not None:
        raise ValueError("X must be given where log_z is: there would be nothing to do")
    configuration = {
        "n_runs": runs if temperatures else 0,
        "betas": temperatures,
        "log_z": known,
        "chunks": chunk_of(chunks, runs),
        "checkpoint_every": _STEPS_IN_A_SEGMENT
        if checkpoint_every is None
        else positive_int(checkpoint_every, "checkpoint_every"),
        "library": library_for(model, library),
        "model": digest_of_model(model),
        "n_rows": rows,
        "rows": None if X is None else digest_of(X),
    }
    if laddered:
        configuration["ladder"] = {"n_steps": climbs, "machines": digest_of_ladder(model)}
    if reverse and is_enumerable(topology):
        configuration["reverse"] = {"from": "exact states"}
    elif reverse:
        configuration["reverse"] = {"from": FROM_LADDER} if laddered else {"from": "chains", "n_steps": sweeps}
    need("zarr")  # before a directory is made
    with interruptible(), workers_of(scheduler, n_workers, memory_limit) as workers:
        pool = workers.pool  # where there is no cluster, no directory is made
        with RunDirectory.begin(
            directory,
            "evaluate",
            configuration,
            seed=seed,
            model=model,
            resume=resume,
            also=None if X is None else functools.partial(save_rows, X),
        ) as run:
            carry_on(run, pool, progress)
    return run


def carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    """Do what is left to do of an evaluation."""
    with needing_room(run.path):
        _carry_on(run, pool, progress)


def _carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    if (run.path / RESULT).exists():
        shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
        read_evaluation(run.path)  # refuses what is damaged
        return
    jobs = jobs_of(run)
    arrays = [array for job in jobs for array in job.arrays()]
    if not (run.path / ARRAYS).exists():
        about = {"source": "nbm_xp.runs.evaluate", "seed": str(run.seed), "run": run.result_identity}
        totals = [sum(job.steps(b, s) for b in job.blocks for s in range(job.n_segments)) for job in jobs]
        with store.growing(run.path, ARRAYS, arrays, run.result_identity, {}, about):
            for place, job in enumerate(jobs):
                before, whole = sum(totals[:place]), sum(totals)
                step = None if progress is None else lambda done, _, n=before, w=whole: progress(n + done, w)
                carry_out(run, job, job.blocks, pool, step)
    write_json(run.path / RESULT, sealed(result_of(run) | {"run": run.result_identity}))
    run.log(f"{RESULT} is written")
    shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
