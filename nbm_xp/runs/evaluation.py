"""Evaluation as a run: log Z by annealed importance sampling, and the likelihood of rows, both in blocks."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.boltzmann import AISEstimate
from nbm_xp.boltzmann.annealed_chains import AnnealedChains
from nbm_xp.boltzmann.machine import ladder_of
from nbm_xp.boltzmann.partition import base_log_partition, estimate
from nbm_xp.boltzmann.rows import checked_rows, known_length, positive_int
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from . import store
from .carrying_out import Progress, carry_out, interruptible
from .copies import digest_of, digest_of_model, library_for, rows_of, save_rows
from .directory import RunDirectory, RunError
from .job import Block, blocks_of, chunk_of
from .schedulers import workers_of
from .store import Stored
from .tasks import StoppedError, load_model
from .whole import read_json, write_json

__all__ = ["Evaluation", "evaluate", "read_evaluation"]

RESULT = "evaluation.json"
_ARRAYS = "evaluation.zarr"
_ROWS_IN_A_BLOCK = 4096
_STEPS_IN_A_SEGMENT = 250


@dataclass(frozen=True)
class Evaluation:
    """What a run of `evaluate` found.

    Attributes
    ----------
    log_z : float
    ais : AISEstimate or None
        How log Z was found; None where it was given.
    n_rows : int
    mean_log_likelihood : float or None
        None where there were no rows.
    mean_log_likelihood_low, mean_log_likelihood_high : float or None
        By the bounds of log Z: three of its standard errors.
    standard_error : float or None
        Of the mean over the rows, were they drawn anew.
    """

    log_z: float
    ais: AISEstimate | None
    n_rows: int
    mean_log_likelihood: float | None
    mean_log_likelihood_low: float | None
    mean_log_likelihood_high: float | None
    standard_error: float | None


def evaluate(
    model: Any,
    directory: str | os.PathLike[str],
    X: Any = None,
    *,
    n_runs: int = 100,
    n_temperatures: int = 1000,
    betas: Sequence[float] | None = None,
    log_z: float | None = None,
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

    Parameters
    ----------
    model : model of `nbm_xp.boltzmann`
        With one hidden layer, where there are rows.
    directory : path-like
        The run's directory: one that does not exist, or, with `resume`, may.
    X : array of shape (rows, visible units), optional
        Rows to be weighed; they are copied into the run's directory, a Dask array block by block.
    n_runs, n_temperatures, betas : optional
        The chains of annealed importance sampling and their temperatures: see `RBM.ais`.
    log_z : float, optional
        The logarithm of the partition function, where it is known: then nothing is annealed.
    chunks : int, optional
        How many chains there are in a block, by default 128.
    checkpoint_every : int, optional
        How many temperatures a task goes through, by default 250.
    seed, library, scheduler, n_workers, memory_limit, resume
        See `sample`.
    progress : callable, optional
        ``progress(done, total)``, as for `sample`: steps of annealing of single chains, and rows.

    Returns
    -------
    RunDirectory
        `read_evaluation` reads what was found. Beside it, ``evaluation.zarr`` holds the logarithm of each chain's
        weight and the free energy of each row.

    Raises
    ------
    ValueError, FileExistsError, RunError
        As for `sample`.

    References
    ----------
    R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.

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
    if model is None:
        raise ValueError("model must be given")
    runs = positive_int(n_runs, "n_runs")
    temperatures = list(ladder_of(n_temperatures, betas)) if log_z is None else []
    rows = 0
    if X is not None:
        if len(model._topology.sizes) > 2:
            raise ValueError(
                f"X can be weighed by models with one hidden layer, this one has layers of {model._topology.sizes}: "
                "leave X out to find log Z"
            )
        X = checked_rows(X, model.n_features_in_, bounded=not model._topology.is_gaussian(0))
        rows = known_length(X)
        if not rows:
            raise ValueError("X must have at least one row")
    elif log_z is not None:
        raise ValueError("X must be given where log_z is: there would be nothing to do")
    configuration = {
        "n_runs": runs if temperatures else 0,
        "betas": temperatures,
        "log_z": None if log_z is None else float(log_z),
        "chunks": chunk_of(chunks, runs),
        "checkpoint_every": _STEPS_IN_A_SEGMENT
        if checkpoint_every is None
        else positive_int(checkpoint_every, "checkpoint_every"),
        "library": library_for(model, library),
        "model": digest_of_model(model),
        "n_rows": rows,
        "rows": None if X is None else digest_of(X),
    }
    with (
        interruptible(),
        workers_of(scheduler, n_workers, memory_limit) as workers,
        RunDirectory.begin(
            directory,
            "evaluate",
            configuration,
            seed=seed,
            model=model,
            resume=resume,
            also=None if X is None else functools.partial(save_rows, X),
        ) as run,
    ):
        carry_on(run, workers.pool, progress)
    return run


def carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    """Do what is left to do of an evaluation."""
    if (run.path / RESULT).exists():
        shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
        return
    jobs = [job for job in (Annealing.of(run), Weighing.of(run)) if job.blocks]
    arrays = [job.array() for job in jobs]
    unfinished, final = run.path / "unfinished.zarr", run.path / _ARRAYS
    if not unfinished.exists() and not final.exists():
        store.create(unfinished, arrays, {}, {"source": "nbm_xp.runs.evaluate", "seed": str(run.seed)})
    if not final.exists():
        totals = [sum(job.steps(b, s) for b in job.blocks for s in range(job.n_segments)) for job in jobs]
        for place, job in enumerate(jobs):
            before, whole = sum(totals[:place]), sum(totals)
            step = None if progress is None else lambda done, _, n=before, w=whole: progress(n + done, w)
            carry_out(run, job, job.blocks, pool, step)
        store.finish(unfinished, final, arrays)
    write_json(run.path / RESULT, _found(run))
    run.log(f"{RESULT} is written")
    shutil.rmtree(run.path / "checkpoints", ignore_errors=True)


def read_evaluation(directory: str | os.PathLike[str]) -> Evaluation:
    """What a run of `evaluate` found.

    Parameters
    ----------
    directory : path-like
        The run's.

    Raises
    ------
    RunError
        If the run is not finished.
    """
    run = RunDirectory.open(directory, "evaluate")
    if not (run.path / RESULT).exists():
        raise RunError(f"the run in {run.path} is not finished: go on with it by resume=True")
    about = read_json(run.path / RESULT)
    ais = about.pop("ais")
    if ais is not None:
        low = ais["log_z_low"]
        weights = store.open_group(run.path / _ARRAYS)["log_weight"][:]
        ais = AISEstimate(**ais | {"log_z_low": -math.inf if low is None else low, "log_weights": weights})
    return Evaluation(**about, ais=ais)


def _found(run: RunDirectory) -> dict[str, Any]:
    """The result, from what the blocks have written."""
    asked, group = run.configuration, store.open_group(run.path / _ARRAYS)
    low = high = known = asked["log_z"]
    ais = None
    if asked["betas"]:
        model = run.load_model()
        base = base_log_partition(model._topology, model._base_bias())
        found = estimate(group["log_weight"][:], base, len(asked["betas"]))
        known, low, high = found.log_z, found.log_z_low, found.log_z_high
        ais = {
            "log_z": known,
            "log_z_low": _or_none(low),
            "log_z_high": high,
            "standard_error": _or_none(found.standard_error),
            "effective_runs": found.effective_runs,
            "n_temperatures": found.n_temperatures,
        }
    mean = spread = None
    if asked["n_rows"]:
        energies = group["free_energy"][:].astype("float64")
        mean = -float(energies.mean())
        spread = float(energies.std(ddof=1)) / math.sqrt(len(energies)) if len(energies) > 1 else None
    return {
        "log_z": known,
        "ais": ais,
        "n_rows": asked["n_rows"],
        "mean_log_likelihood": None if mean is None else mean - known,
        "mean_log_likelihood_low": None if mean is None else mean - high,
        "mean_log_likelihood_high": None if mean is None else _or_none(mean - low),
        "standard_error": spread,
    }


def _or_none(value: float) -> float | None:
    """A number for JSON, which has no infinities."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class _Blocks:
    """What both parts of an evaluation tell their tasks."""

    directory: str
    model: str
    library: str
    seed: int
    rows: int
    chunks: int

    @property
    def blocks(self) -> list[Block]:
        return blocks_of(self.rows, self.chunks)

    def write(self, array: Stored, block: Block, values: Any) -> None:
        store.write_chunk(pathlib.Path(self.directory) / "unfinished.zarr", array, (block.number,), values)

    @staticmethod
    def common(run: RunDirectory) -> dict[str, Any]:
        asked = run.configuration
        return {
            "directory": os.fspath(run.path.resolve()),
            "model": asked["model"],
            "library": asked["library"],
            "seed": run.seed,
        }


@dataclass(frozen=True)
class Annealing(_Blocks):
    """Annealed importance sampling of chains in blocks; a segment is a number of temperatures."""

    betas: tuple[float, ...]
    checkpoint_every: int
    part = "annealing"

    @classmethod
    def of(cls, run: RunDirectory) -> Annealing:
        """The job of a run's directory."""
        asked = run.configuration
        return cls(
            **cls.common(run),
            rows=asked["n_runs"],
            chunks=asked["chunks"],
            betas=tuple(asked["betas"]),
            checkpoint_every=asked["checkpoint_every"],
        )

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return -(-(len(self.betas) - 1) // self.checkpoint_every)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: temperatures times chains."""
        first = segment * self.checkpoint_every
        return block.rows * min(self.checkpoint_every, len(self.betas) - 1 - first)

    def array(self) -> Stored:
        """What the blocks write."""
        return Stored("log_weight", ("run",), (self.rows,), (self.chunks,), "float64", {})

    def begin(self, block: Block) -> tuple[Any, ...]:
        """Chains of the base-rate model, and weights of one."""
        states = _annealed_chains(self).start(block.offset, block.rows)
        return (*map(to_numpy, states), np.zeros(block.rows))

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Go through the temperatures of a segment; the last one writes the weights."""
        chains, states, weights = _annealed_chains(self), arrays[:-1], arrays[-1]
        first = segment * self.checkpoint_every
        for step in range(first, min(first + self.checkpoint_every, len(self.betas) - 1)):
            if stopping():
                raise StoppedError
            states, weights = chains.anneal(states, weights, block.offset, step, 1)
        weights = to_numpy(weights)
        if segment + 1 == self.n_segments:
            self.write(self.array(), block, weights)
        return (*map(to_numpy, states), weights)


@dataclass(frozen=True)
class Weighing(_Blocks):
    """Free energies of rows in blocks; a block is one segment."""

    dtype: str
    part = "weighing"
    n_segments = 1

    @classmethod
    def of(cls, run: RunDirectory) -> Weighing:
        """The job of a run's directory."""
        rows = run.configuration["n_rows"]
        dtype = str(run.load_model()._parameters.dtype)
        return cls(**cls.common(run), rows=rows, chunks=min(max(rows, 1), _ROWS_IN_A_BLOCK), dtype=dtype)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: its rows."""
        return block.rows

    def array(self) -> Stored:
        """What the blocks write."""
        return Stored("free_energy", ("row",), (self.rows,), (self.chunks,), self.dtype, {})

    def begin(self, block: Block) -> tuple[Any, ...]:
        """Nothing goes from block to block."""
        return ()

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Weigh the rows of a block."""
        model = load_model(self.directory, self.library, self.model)
        rows = rows_of(self.directory, block.offset, block.rows)
        given = asarray(rows, get_namespace(self.library), self.dtype)
        self.write(self.array(), block, to_numpy(model.free_energy(given)))
        return ()


_making = threading.Lock()


def _annealed_chains(job: Annealing) -> AnnealedChains:
    """The chains of a job, made once in each process."""
    with _making:
        return _made_chains(job)


@functools.lru_cache(maxsize=2)
def _made_chains(job: Annealing) -> AnnealedChains:
    return AnnealedChains(load_model(job.directory, job.library, job.model), job.seed, job.betas)
