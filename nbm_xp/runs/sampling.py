"""Sampling as a run: chains in blocks, blocks in segments, draws into Zarr."""

from __future__ import annotations

import functools
import os
import pathlib
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nbm_xp.boltzmann.chains import Chains
from nbm_xp.boltzmann.ladder_chains import LadderChains
from nbm_xp.files import local_path
from nbm_xp.machines.diagnostics import report
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import asarray, host_namespace, to_numpy
from nbm_xp.namespace.needs import need

from . import store
from .carrying_out import Progress, carry_out, check_progress, interruptible
from .copies import (
    clamped_arrays,
    digest_of,
    digest_of_ladder,
    digest_of_model,
    fitted_model,
    library_for,
    save_clamped,
    saved_clamped,
)
from .directory import RunDirectory
from .failing import needing_room
from .job import Block, SampleJob, chunk_of, usual_segment
from .schedulers import workers_of
from .store import Stored
from .tasks import StoppedError, load_model

__all__ = ["SAMPLES", "Sampling", "sample"]

SAMPLES = "samples.zarr"
_HELPS = (
    'a longer burn_in, more draws further apart (thin), or a model that learnt with training="ptt", whose ladder '
    "chains are sampled on; diagnose(directory) tells more"
)
_DIAGNOSED = 32  # so many chains tell how well all have mixed


def sample(
    model: Any,
    directory: str | os.PathLike[str],
    n_chains: int = 100,
    n_draws: int = 1000,
    *,
    burn_in: int = 0,
    thin: int = 1,
    layers: Sequence[int] = (0,),
    probabilities: bool = False,
    clamp: Mapping[int, Any] | None = None,
    ladder: bool | None = None,
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
    """Sample a model by Gibbs sampling, and keep the draws of all chains on disk.

    A model that was trained with ``training="ptt"`` is sampled on the ladder that it learnt on, as by its own
    `sample`: its draws are at equilibrium, places far apart having their share. A sweep then is a step on the ladder.

    Parameters
    ----------
    model : model of `nbm_xp.boltzmann`
        None, with `resume`, takes the model that the run began with.
    directory : path-like
        The run's directory: one that does not exist, or, with `resume`, may.
    n_chains : int, optional
    n_draws : int, optional
        How many draws to keep of each chain.
    burn_in : int, optional
        Sweeps that come before the first draw, besides those of `thin`.
    thin : int, optional
        Sweeps from draw to draw: draw i is where a chain is after ``burn_in + (i + 1) * thin`` sweeps.
    layers : sequence of int, optional
        Which layers to keep, 0 being the visible one.
    probabilities : bool, optional
        Keep what states were drawn with, as float32, instead of the states, which are uint8, of spins
        int8.
    clamp : mapping of int to array, optional
        Layers that are held, and what at: an array of shape (n_chains, units), or (units,) for all chains.
    ladder : bool, optional
        Whether to sample on the ladder that the model learnt on; by default where it has one and `clamp` holds nothing.
    chunks : int, optional
        How many chains there are in a block: so many are computed by a task, and lie in a file. By default 128.
    checkpoint_every : int, optional
        How many draws of a block are computed by a task, and lie in a file, and how many are lost at most when a task
        is. By default 8 MB of them, or a thousand sweeps if that is less.
    seed : int, None, or generator, optional
        None takes one that nobody can foresee, and notes it.
    library : str, optional
        The library to compute in, by default the model's.
    scheduler : str or Workers, optional
        ``"threads"``, ``"local"`` or the address of a cluster: see `Workers`.
    n_workers, memory_limit : optional
        See `Workers`.
    resume : bool, optional
        Go on with the run in the directory if there is one.
    progress : callable, optional
        ``progress(done, total)`` is called when more is on disk; both count sweeps of single chains.

    Returns
    -------
    RunDirectory
        `open_samples` and `open_dataset` read what is in it. Attributes of the dataset tell how well up to 32 chains
        have mixed: R-hat, effective sample size and Monte Carlo error of the mean of each layer's units, as
        ``visible_mean_r_hat``, and of their projection on a fixed vector, as ``visible_projection_r_hat``.

    Raises
    ------
    ValueError
        If an argument is not what it must be, or the directory holds another run.
    FileExistsError
        If something is there already and `resume` is False.
    RunError
        If the run cannot go on: the disk is full, the cluster gone. What was reported done stays, and `resume` goes on
        from there.

    Warns
    -----
    MixingWarning
        When the run is finished, where R-hat is above 1.05, or chains still move away from where they began: see
        `nbm_xp.machines.diagnostics.mixing`.

    Notes
    -----
    A chain's random numbers follow from the seed, the number of the sweep, the layer and the number of the chain. So
    the same seed gives the same chains whatever the scheduler, `n_workers`, `checkpoint_every` and `n_draws` are, and
    whether or not the run was broken off: to the last bit, with the same releases on the same kind of processor. With
    other `chunks` or `n_chains`, or another library, the random numbers are the same to the last bit, and states differ
    only where a probability differs in its last bits and a uniform lies between.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import open_samples, sample
    >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.array([50.0, 0.0, -50.0]))
    >>> run = sample(rbm, pathlib.Path(tempfile.mkdtemp()) / "run", n_chains=4, n_draws=5, seed=1)
    >>> draws = open_samples(run.path)
    >>> draws.shape, draws.dtype, draws.mean(axis=(0, 1)).compute().tolist()[::2]
    ((4, 5, 3), dtype('uint8'), [1.0, 0.0])
    """
    local_path(directory, "directory")
    check_progress(progress)
    if model is None:
        if not resume:
            raise ValueError("model must be given, unless resume=True takes that of the run to go on with")
        model = RunDirectory.open(directory, "sample").load_model()
    topology = fitted_model(model)._topology
    rows = positive_int(n_chains, "n_chains")
    draws = positive_int(n_draws, "n_draws")
    every = positive_int(thin, "thin")
    held = clamped_arrays(clamp, rows, topology)
    kept = _layers(layers, len(topology.sizes), held)
    width = chunk_of(chunks, rows)
    rungs = on_ladder(model, ladder, not held)
    if checkpoint_every is None:
        bytes_of_a_draw = width * max(topology.sizes[layer] for layer in kept) * (4 if probabilities else 1)
        checkpoint_every = usual_segment(draws, every * (rungs + 1), bytes_of_a_draw)
    configuration = {
        "n_chains": rows,
        "n_draws": draws,
        "burn_in": positive_int(burn_in, "burn_in", 0),
        "thin": every,
        "layers": kept,
        "probabilities": bool(probabilities),
        "chunks": width,
        "checkpoint_every": min(draws, positive_int(checkpoint_every, "checkpoint_every")),
        "library": library_for(model, library),
        "model": digest_of_model(model),
        "clamped": {str(layer): digest_of(values) for layer, values in held.items()},
    }
    if rungs:
        configuration["ladder"] = digest_of_ladder(model)
    need("zarr")  # before a directory is made
    with interruptible(), workers_of(scheduler, n_workers, memory_limit) as workers:
        pool = workers.pool  # where there is no cluster, no directory is made
        with RunDirectory.begin(
            directory,
            "sample",
            configuration,
            seed=seed,
            model=model,
            resume=resume,
            also=functools.partial(save_clamped, held) if held else None,
        ) as run:
            carry_on(run, pool, progress)
    return run


def carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    """Do what is left to do of a sampling run."""
    with needing_room(run.path):
        _carry_on(run, pool, progress)


def _carry_on(run: RunDirectory, pool: Any, progress: Progress | None) -> None:
    job = Sampling.of(run)
    total, found = sum(block.rows for block in job.blocks) * job.n_sweeps, None
    if not (run.path / SAMPLES).exists():
        stored = list(job.arrays().values()), run.result_identity, job.coordinates(), job.about()
        with store.growing(run.path, SAMPLES, *stored) as unfinished:
            carry_out(run, job, job.blocks, pool, progress)
            found = report(job.series(unfinished))
            store.annotate(unfinished, found.attributes)
        run.log(f"{SAMPLES} is whole")
    else:
        store.open_arrays(run.path / SAMPLES, run.result_identity)  # refuses what is damaged
        if progress is not None:
            progress(total, total)
    shutil.rmtree(run.path / "checkpoints", ignore_errors=True)
    if found is not None:
        found.warn(_HELPS, stacklevel=4)


def on_ladder(model: Any, wanted: bool | None, possible: bool) -> int:
    """How many machines there are on a model's ladder below it, if it is to be used; else none."""
    if wanted not in (None, True, False):
        raise ValueError(f"ladder must be True, False or None, got {wanted!r}")
    there = model._ladder
    if wanted and not (possible and there is not None):
        why = "must not be True beside clamp" if there is not None else 'must be of a model with training="ptt"'
        raise ValueError(f"ladder {why}")
    return 0 if there is None or not possible or wanted is False else int(there.pairs)


def _layers(layers: Any, count: int, clamped: Mapping[int, Any]) -> tuple[int, ...]:
    wanted = f"layers must be different numbers from 0 to {count - 1}, at least one"
    if isinstance(layers, str) or not isinstance(layers, Iterable):
        raise ValueError(f"{wanted}, got {layers!r}")
    kept = tuple(positive_int(layer, "layers", 0) for layer in layers)
    if not kept or len(set(kept)) < len(kept) or max(kept) >= count:
        raise ValueError(f"{wanted}, got {kept}")
    if both := sorted(set(kept) & set(clamped)):
        raise ValueError(f"layers must not be clamped ones, which stay as they are, got layer {both[0]}")
    return kept


class Sampling(SampleJob):
    """What a task of a sampling run does."""

    part = "chains"

    @classmethod
    def of(cls, run: RunDirectory) -> Sampling:
        """The job of a run's directory."""
        asked = run.configuration
        return cls(
            directory=os.fspath(run.path.resolve()),
            seed=run.seed,
            layers=tuple(asked["layers"]),
            clamped=tuple(int(layer) for layer in asked["clamped"]),
            **{
                name: asked[name]
                for name in ("n_chains", "burn_in", "n_draws", "thin", "probabilities", "chunks", "checkpoint_every")
            },
            library=asked["library"],
            model=asked["model"],
            run=run.identity,
            result=run.result_identity,
            ladder="ladder" in asked,
        )

    # What the result is

    def arrays(self) -> dict[int, Stored]:
        """The array of each layer that is kept."""
        chains = chains_of(self)
        found = {}
        for layer in self.layers:
            name = "visible" if layer == 0 else f"hidden_{layer}"
            units = chains.topology.sizes[layer] if self.probabilities else chains.topology.sites(layer)
            states = chains.topology.units[layer].stored or chains.dtype
            found[layer] = Stored(
                name,
                ("chain", "draw", "unit" if layer == 0 else f"{name}_unit"),
                (self.n_chains, self.n_draws, units),
                (self.chunks, self.checkpoint_every, units),
                "float32" if self.probabilities else states,
                {
                    "layer": layer,
                    "holds": "probabilities" if self.probabilities else "states",
                    "coordinates": "sweep",  # as netCDF's conventions have it, and xarray reads them
                },
            )
        return found

    def coordinates(self) -> dict[str, Sequence[int]]:
        """The numbers of chains and draws, and how many sweeps went before each draw."""
        sweeps = range(self.burn_in + self.thin, self.n_sweeps + 1, self.thin)
        return {"chain": range(self.n_chains), "draw": range(self.n_draws), "sweep": sweeps}

    def about(self) -> dict[str, Any]:
        """What a reader of the draws alone is told."""
        return {
            "source": "nbm_xp.runs.sample",
            "seed": str(self.seed),
            "burn_in": self.burn_in,
            "thin": self.thin,
            "library": self.library,
            "run": self.result,
        } | ({"chains": "on the ladder of the training"} if self.ladder else {})

    def series(self, place: pathlib.Path) -> dict[str, tuple[Any, None]]:
        """What tells how well chains have mixed, of the draws in a store: two numbers of each layer.

        They are the mean of its units, and their projection on a fixed vector, which tells patterns of one mean apart.
        Chains whose layers are held at states of their own have distributions of their own, and are not compared.
        """
        if self.clamped and any(held.ndim == 2 for held in saved_clamped(self.directory).values()):
            return {}
        found: dict[str, tuple[Any, None]] = {}
        for name, array in store.open_arrays(place, self.result).items():
            units, step = array.shape[2], self.checkpoint_every
            hashed = np.arange(1, units + 1, dtype="int64") * 40503 // 256 % 256 - 128  # by Knuth; sums are exact
            onto = np.stack([np.ones(units), hashed], axis=1).astype("float32")
            parts = [array[:_DIAGNOSED, k : k + step].astype("float32") @ onto for k in range(0, self.n_draws, step)]
            sums = np.concatenate(parts, axis=1) / units
            found |= {f"{name}_mean": (sums[..., 0], None), f"{name}_projection": (sums[..., 1], None)}
        return found

    # What a task does

    def begin(self, block: Block) -> tuple[Any, ...]:
        """The states that a block starts from."""
        chains = chains_of(self)
        return _packed(chains, chains.start(block.offset, block.rows))

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Do the sweeps of a segment, and write its draws."""
        chains, part, states = chains_of(self), self.segment(segment), arrays
        kept = self.arrays() if part.n_draws else {}
        drawn = {
            layer: np.empty((block.rows, part.n_draws, array.shape[2]), dtype=array.dtype)
            for layer, array in kept.items()
        }
        for sweep, now in enumerate(chains.walk(arrays, block.offset, part.first_sweep, part.n_sweeps)):
            if stopping():
                raise StoppedError
            states = now.states
            draw, left = divmod(sweep + 1, self.thin)
            if left or not part.n_draws:
                continue
            for layer, values in zip(self.layers, now.shown, strict=True):
                drawn[layer][:, draw - 1] = to_numpy(values).astype(drawn[layer].dtype).T
        for layer, array in kept.items():
            index = (block.number, part.first_draw // self.checkpoint_every, 0)
            store.write_chunk(pathlib.Path(self.directory) / store.UNFINISHED, array, index, drawn[layer])
        return _packed(chains, states)


def _packed(chains: Chains, states: Sequence[Any]) -> tuple[Any, ...]:
    """States in host memory, in the dtype that they lie in on disk: a checkpoint holds the same as draws do."""
    host, units = host_namespace(), chains.topology.units
    return tuple(
        asarray(to_numpy(state), host, units[layer].stored) for layer, state in zip(chains.carried, states, strict=True)
    )


_making = threading.Lock()


def chains_of(job: SampleJob) -> Chains:
    """The chains of a job, made once in each process."""
    with _making:
        return _made_chains(job)


@functools.lru_cache(maxsize=2)
def _made_chains(job: SampleJob) -> Chains:
    model = load_model(job.directory, job.library, job.model)
    if job.ladder:
        return LadderChains(model, job.seed, layers=job.layers, means=job.probabilities)
    held = saved_clamped(job.directory) if job.clamped else {}
    return Chains(model, job.seed, layers=job.layers, means=job.probabilities, clamp=held)
