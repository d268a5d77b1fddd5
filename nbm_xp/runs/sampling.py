"""Sampling as a run: chains in blocks, sweeps in segments, draws in a Zarr group."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nbm_xp.boltzmann.chains import Chains, Machine
from nbm_xp.boltzmann.ladder import LadderChains
from nbm_xp.machines.diagnostics import report
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import asarray, host_namespace, to_numpy

from . import store
from .directory import RunDirectory
from .execution import Kind, Progress, Warn, begin, check_begin
from .inputs import (
    clamped_arrays,
    digest_of,
    digest_of_ladder,
    digest_of_model,
    fitted_model,
    library_for,
    save_clamped,
    saved_clamped,
)
from .job import (
    Block,
    Checkpoint,
    Job,
    StoppedError,
    block_length,
    blocks_of,
    load_model,
    read_checkpoint,
    write_checkpoint,
)  # fmt: skip
from .store import Stored

__all__ = ["SAMPLES", "SampleJob", "Sampling", "sample"]

SAMPLES = "samples.zarr"
_HELPS = (
    'a longer burn_in, more draws further apart (thin), or a model that learnt with training="ptt", whose ladder '
    "chains are sampled on; diagnose(directory) tells more"
)
_DIAGNOSED = 32  # so many chains tell how well all have mixed
_SERIES = "series"  # the folder of what is diagnosed of them
_BYTES_IN_A_CHUNK = 2**23
_SWEEPS_IN_A_SEGMENT = 1000


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
    random_state: Any = None,
    library: str | None = None,
    scheduler: Any = "threads",
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> RunDirectory:
    """Sample a model by Gibbs sampling, and keep the draws of all chains on disk.

    A model that was trained with ``training="ptt"`` is sampled on the ladder that it learnt on, as by its own
    `sample`: its draws are at equilibrium, places far apart having their share. A sweep then is a step on the ladder.

    Parameters
    ----------
    model : model of `nbm_xp.boltzmann`
    directory : path-like
        The run's directory, which must not exist or be empty.
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
    random_state : int, None, or generator, optional
        The seed; None draws one from the system, and keeps it in the directory.
    library : str, optional
        The library to compute in, by default the model's.
    scheduler : str or Workers, optional
        ``"threads"``, ``"local"`` or the address of a cluster: see `Workers`.
    n_workers, memory_limit : optional
        See `Workers`.
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
        If an argument is not what it must be.
    FileExistsError
        If something is in the directory already.
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
    whether or not the run was interrupted: to the last bit, with the same releases on the same kind of processor. With
    other `chunks` or `n_chains`, or another library, the random numbers are the same to the last bit, and states differ
    only where a probability differs in its last bits and a uniform lies between.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import open_samples, sample
    >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.array([50.0, 0.0, -50.0]))
    >>> run = sample(rbm, pathlib.Path(tempfile.mkdtemp()) / "run", n_chains=4, n_draws=5, random_state=1)
    >>> draws = open_samples(run.path)
    >>> draws.shape, draws.dtype, draws.mean(axis=(0, 1)).compute().tolist()[::2]
    ((4, 5, 3), dtype('uint8'), [1.0, 0.0])
    """
    check_begin(directory, progress)
    topology = fitted_model(model).state_.topology
    rows = positive_int(n_chains, "n_chains")
    draws = positive_int(n_draws, "n_draws")
    every = positive_int(thin, "thin")
    held = clamped_arrays(clamp, rows, topology)
    kept = _layers(layers, len(topology.sizes), held)
    width = block_length(chunks, rows)
    rungs = on_ladder(model, ladder, not held)
    if checkpoint_every is None:
        bytes_of_a_draw = width * max(topology.sizes[layer] for layer in kept) * (4 if probabilities else 1)
        checkpoint_every = _usual_segment(draws, every * (rungs + 1), bytes_of_a_draw)
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
        "clamp": {str(layer): digest_of(values) for layer, values in held.items()},
        "ladder": digest_of_ladder(model) if rungs else None,
    }
    return begin(
        Sampling, directory, configuration, random_state=random_state, scheduler=scheduler, n_workers=n_workers,
        memory_limit=memory_limit, progress=progress, model=model,
        save=functools.partial(save_clamped, held) if held else None,
    )  # fmt: skip


def _usual_segment(n_draws: int, thin: int, bytes_of_a_draw: int) -> int:
    """How many draws a segment has by default: a chunk of 8 MB, or a thousand sweeps, if that is less.

    Examples
    --------
    >>> _usual_segment(1000, 1, 128 * 784), _usual_segment(1000, 100, 128 * 784)
    (83, 10)
    """
    return max(1, min(n_draws, _BYTES_IN_A_CHUNK // max(bytes_of_a_draw, 1), _SWEEPS_IN_A_SEGMENT // thin))


def on_ladder(model: Any, wanted: bool | None, possible: bool) -> int:
    """How many machines there are on a model's ladder below it, if it is to be used; else none."""
    if wanted not in (None, True, False):
        raise ValueError(f"ladder must be True, False or None, got {wanted!r}")
    there = model.state_.ladder
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


class Segment(NamedTuple):
    """Sweeps of a segment, and the draws that they give, none during burn-in."""

    first_sweep: int
    n_sweeps: int
    first_draw: int
    n_draws: int


@dataclass(frozen=True)
class SampleJob(Job):
    """The chains of a sampling run; for the fields see `sample`.

    Draw i is the state after ``burn_in + (i + 1) * thin`` sweeps. `clamp` has the numbers of clamped layers; with
    `ladder`, a sweep is a step on the ladder that the model learnt on.
    """

    n_chains: int
    burn_in: int
    n_draws: int
    thin: int
    layers: tuple[int, ...]
    probabilities: bool
    chunks: int
    checkpoint_every: int
    library: str
    model: str
    clamp: tuple[int, ...]
    ladder: str | None

    part = "chains"

    @property
    def blocks(self) -> list[Block]:
        """The blocks of chains."""
        return blocks_of(self.n_chains, self.chunks)

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes, one after the other."""
        return self._burning + math.ceil(self.n_draws / self.checkpoint_every)

    @property
    def n_sweeps(self) -> int:
        """How many sweeps each chain makes."""
        return self.burn_in + self.n_draws * self.thin

    def segment(self, number: int) -> Segment:
        """One of the segments."""
        longest = self.checkpoint_every * self.thin
        if number < self._burning:
            first = number * longest
            return Segment(first, min(longest, self.burn_in - first), 0, 0)
        draw = (number - self._burning) * self.checkpoint_every
        draws = min(self.checkpoint_every, self.n_draws - draw)
        return Segment(self.burn_in + draw * self.thin, draws * self.thin, draw, draws)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: sweeps times chains."""
        return self.segment(segment).n_sweeps * block.rows

    @property
    def _burning(self) -> int:
        return math.ceil(self.burn_in / (self.checkpoint_every * self.thin))

    def arrays(self) -> dict[int, Stored]:
        """The array of each layer that is kept."""
        chains = chains_of(self)
        found = {}
        for layer in self.layers:
            name = "visible" if layer == 0 else f"hidden_{layer}"
            units = chains.topology.sizes[layer] if self.probabilities else chains.topology.sites(layer)
            states = chains.topology.units[layer].stored or chains.machine.dtype
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
        if kept and block.offset < _DIAGNOSED:
            observed = [_observed(drawn[layer][: _DIAGNOSED - block.offset]) for layer in self.layers]
            self.folder(_SERIES).mkdir(exist_ok=True)
            done = Checkpoint(segment + 1, (np.concatenate(observed),))
            write_checkpoint(self.folder(_SERIES), self.run, block.number, done, self.n_segments)
        return _packed(chains, states)

    def series(self, block: Block) -> Iterator[Any]:
        """The records that are diagnosed of a block, segment by segment, of shape (observables, chains, draws).

        Raises
        ------
        ValueError
            If one is not there.
        """
        for done in range(self._burning + 1, self.n_segments + 1) if block.offset < _DIAGNOSED else ():
            found = read_checkpoint(self.folder(_SERIES), self.run, block.number, done)
            if found is None:
                raise ValueError(f"{self.folder(_SERIES)} is damaged: it lacks segment {done} of block {block.number}")
            yield found.arrays[0]


def _observed(draws: Any) -> Any:
    """The mean of the units of each draw, and their projection on a vector, which tells patterns of one mean apart."""
    units = draws.shape[2]
    hashed = np.arange(1, units + 1, dtype="int64") * 40503 // 256 % 256 - 128  # by Knuth; sums are exact
    onto = np.stack([np.ones(units), hashed], axis=1).astype("float32")
    return np.moveaxis(draws.astype("float32") @ onto / units, 2, 0)


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
    machine = Machine.of(load_model(job.directory, job.library, job.model))
    if job.ladder:
        return LadderChains(machine, job.seed, layers=job.layers, means=job.probabilities)
    held = saved_clamped(job.directory) if job.clamp else {}
    return Chains(machine, job.seed, layers=job.layers, means=job.probabilities, clamp=held)


class Sampling(Kind):
    """Runs of `sample`."""

    name = "sample"
    results = (SAMPLES,)
    stored = SAMPLES

    @functools.cached_property
    def job(self) -> SampleJob:
        """The chains."""
        clamp = tuple(map(int, self.run.configuration["clamp"]))
        return SampleJob.of(self.run, clamp=clamp)

    @property
    def jobs(self) -> list[SampleJob]:
        """What there is to do."""
        return [self.job]

    @property
    def arrays(self) -> list[Stored]:
        """The draws of each layer."""
        return list(self.job.arrays().values())

    @property
    def coordinates(self) -> dict[str, Sequence[int]]:
        """The numbers of chains and draws, and how many sweeps went before each draw."""
        job = self.job
        sweeps = range(job.burn_in + job.thin, job.n_sweeps + 1, job.thin)
        return {"chain": range(job.n_chains), "draw": range(job.n_draws), "sweep": sweeps}

    @property
    def attributes(self) -> dict[str, Any]:
        """What the draws say of themselves."""
        job = self.job
        of_chains = {"chains": "on the ladder of the training"} if job.ladder else {}
        return super().attributes | {"burn_in": job.burn_in, "thin": job.thin, "library": job.library} | of_chains

    def result(self) -> dict[str, Any]:
        """What was drawn."""
        names = ("n_chains", "n_draws", "burn_in", "thin", "layers", "library")
        return super().result() | {name: self.run.configuration[name] for name in names}

    def finish(self, unfinished: pathlib.Path) -> Warn:
        """Diagnose the draws.

        Chains whose layers are clamped at states of their own have distributions of their own, and are not compared.
        """
        job, series = self.job, {}
        if not (job.clamp and any(held.ndim == 2 for held in saved_clamped(job.directory).values())):
            blocks = [
                np.concatenate(parts, axis=2)
                for block in job.blocks
                if (parts := list(job.series(block)))
            ]  # fmt: skip
            names = (f"{array.name}_{what}" for array in self.arrays for what in ("mean", "projection"))
            series = {name: (values, None) for name, values in zip(names, np.concatenate(blocks, axis=1), strict=True)}
        found = report(series)
        store.annotate(unfinished, found.attributes)
        return functools.partial(found.warn, _HELPS)


KINDS = {"sample": Sampling}
