"""Sampling runs: chains are divided into blocks, sweeps into segments; draws are stored in a Zarr group."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.boltzmann.chains import Chains, Draw
from nbm_xp.boltzmann.ladder import LadderChains
from nbm_xp.files import Place
from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import report
from nbm_xp.machines.minibatches import in_memory
from nbm_xp.machines.rows import known_length
from nbm_xp.namespace import to_numpy
from nbm_xp.namespace.errors import positive_int

from . import inputs, store
from .chain_job import Sweeps, SweepsJob, chains_of
from .directory import RunDirectory
from .execution import Kind, Progress, Warn, begin, check_begin
from .job import Block, Demand, block_length
from .projection import Input
from .store import Stored
from .workers import Workers

SAMPLES = "samples.zarr"
_HELPS = (
    'a longer burn_in, more draws further apart (thin), or a model that learned with training="ptt", whose ladder '
    "chains are sampled on; diagnose(directory) tells more"
)
_DIAGNOSED = 32  # number of chains that mixing is diagnosed from
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
    given: Any = None,
    ladder: bool | None = None,
    chunks: int | None = None,
    checkpoint_every: int | None = None,
    random_state: Any = None,
    library: str | None = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of a model by Gibbs sampling, and store the draws of all chains on disk.

    A model trained with ``training="ptt"`` is sampled on the ladder of its training, as by its own `sample`: draws are
    at equilibrium, with the right weights of distant modes. A sweep then is a step on the ladder.

    Parameters
    ----------
    model : model of `nbm_xp.boltzmann`
    directory : path-like
        The run's directory, or its address in an object store, which must not exist or be empty.
    n_chains : int, optional
        Number of chains; with `given`, for each of its rows.
    n_draws : int, optional
        Number of draws stored of each chain.
    burn_in : int, optional
        Number of sweeps before the first draw, in addition to `thin`.
    thin : int, optional
        Number of sweeps between draws: draw i is the state after ``burn_in + (i + 1) * thin`` sweeps.
    layers : sequence of int, optional
        Indices of the layers to store; 0 is the visible layer.
    probabilities : bool, optional
        Whether to store the probabilities (means) that states were drawn with, as float32, instead of the states
        (uint8; int8 for spins).
    clamp : mapping of int to array, optional
        Values of clamped layers, by layer: an array of shape (n_chains, units), or (units,) for all chains.
    given : array of shape (rows, visible units), optional
        Rows with missing values, NaN, which are drawn given the other values of their row. The run has ``n_chains *
        rows`` chains; chain c is of row ``c % rows``, as in the model's `sample`.
    ladder : bool, optional
        Whether to sample on the ladder of the training. Defaults to True if the model has one, no layer is clamped and
        no rows are given.
    chunks : int, optional
        Number of chains in a block: a task computes one block, and a file holds one. Defaults to 128.
    checkpoint_every : int, optional
        Number of draws of a block per task and per file; a task that is lost loses at most as many. Defaults to 8 MB
        of draws, or 1,000 sweeps if that is less.
    random_state : int, None, or generator, optional
        Seed. None draws a seed from the operating system and stores it in the directory.
    library : str, optional
        Name of the array library to compute in. Defaults to the model's.
    scheduler : str or Workers, optional
        Where tasks run: ``"threads"``, ``"local"``, the address of a cluster, or a `Workers` object; see `Workers`.
    progress : callable, optional
        ``progress(done, total)`` is called whenever more results are on disk; both count sweeps of single chains.

    Returns
    -------
    RunDirectory
        Read it with `open_samples` or `open_dataset`. Attributes of the dataset hold mixing diagnostics of up to 32
        chains: R-hat, effective sample size and Monte Carlo error of the mean of each layer's units, for instance
        ``visible_mean_r_hat``, and of their projection on a fixed vector, for instance ``visible_projection_r_hat``.

    Raises
    ------
    ValueError
        If an argument is invalid.
    FileExistsError
        If the directory is not empty.
    RunError
        If the run cannot continue: the disk is full, or the cluster is gone. Results that were reported done remain,
        and `resume` continues from them.

    Warns
    -----
    MixingWarning
        At the end of the run, if R-hat is above 1.05 or chains still drift away from their first states: see
        `nbm_xp.machines.diagnostics.mixing`.

    Notes
    -----
    The random numbers of a chain depend on the seed, the sweep, the layer and the chain's number only. The same seed
    therefore gives the same chains for all workers, `checkpoint_every` and `n_draws`, interrupted or not, bit for bit
    with the same releases on the same kind of processor. With other `chunks` or `n_chains`, or another library, the
    random numbers are the same bit for bit, and a state differs only where its probability is rounded differently and
    the uniform number lies between the two values.

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
    topology = inputs.fitted_model(model).state_.topology
    rows = positive_int(n_chains, "n_chains")
    draws = positive_int(n_draws, "n_draws")
    every = positive_int(thin, "thin")
    held = inputs.clamped_arrays(clamp, rows, topology)
    kept = _layers(layers, len(topology.sizes), held)
    if given is not None:
        if held:
            raise ValueError("clamp must be left out where rows are given")
        held = {0: to_numpy(in_memory(model.state_.checked_rows(given, "given", missing=True)))}
        rows *= known_length(held[0], "given")
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
        "library": inputs.library_for(model, library),
        "model": functools.partial(inputs.digest_of_model, model),
        "clamp": {str(layer): functools.partial(inputs.digest_of, values) for layer, values in held.items()},
        "is_given": given is not None,
        "ladder": functools.partial(inputs.digest_of_ladder, model) if rungs else None,
    }
    return begin(
        Sampling, directory, configuration, random_state=random_state, scheduler=scheduler, progress=progress,
        model=model, save=functools.partial(inputs.save_clamped, held) if held else None,
        inputs=[Input(sum(values.nbytes for values in held.values()))] if held else [],
    )  # fmt: skip


def _usual_segment(n_draws: int, thin: int, bytes_of_a_draw: int) -> int:
    """Return the default number of draws in a segment: a chunk of 8 MB, or 1,000 sweeps if that is less.

    Examples
    --------
    >>> _usual_segment(1000, 1, 128 * 784), _usual_segment(1000, 100, 128 * 784)
    (83, 10)
    """
    return max(1, min(n_draws, _BYTES_IN_A_CHUNK // max(bytes_of_a_draw, 1), _SWEEPS_IN_A_SEGMENT // thin))


def on_ladder(model: Any, wanted: bool | None, possible: bool) -> int:
    """Return the number of machines below the model on its ladder, or 0 if the ladder is not used."""
    if wanted not in (None, True, False):
        raise ValueError(f"ladder must be True, False or None, got {wanted!r}")
    there: int = model.state_.n_pairs
    if wanted and not (possible and there):
        why = "must not be True beside clamp or given" if there else 'must be of a model with training="ptt"'
        raise ValueError(f"ladder {why}")
    return there if possible and wanted is not False else 0


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


@dataclass(frozen=True)
class SampleJob(SweepsJob):
    """Sampling of chains; see `sample` for the fields. Draw i follows ``burn_in + (i + 1) * thin`` sweeps."""

    burn_in: int
    n_draws: int
    thin: int
    layers: tuple[int, ...]
    probabilities: bool
    clamp: tuple[tuple[str, str], ...]
    is_given: bool
    ladder: str | None

    part, task = "chains", "sample"

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The burn-in sweeps, and the sweeps that draws are taken from."""
        each = self.checkpoint_every * self.thin
        return Sweeps(0, self.burn_in, each), Sweeps(self.burn_in, self.n_draws * self.thin, each)

    @property
    def clamped(self) -> dict[int, Array]:
        """The states of clamped layers, or the rows that are given."""
        return inputs.saved_clamped(self.directory) if self.clamp else {}

    def chains(self, stage: int) -> Chains:
        """Chains of the machine, or on the ladder of its training."""
        if self.ladder:
            return LadderChains(self.machine, self.seed, layers=self.layers, means=self.probabilities)
        held = self.clamped
        rows = held.pop(0) if self.is_given else None
        chains = Chains(self.machine, self.seed, layers=self.layers, means=self.probabilities, clamp=held)
        return chains if rows is None else chains.observing(rows)

    @property
    def coordinates(self) -> dict[str, range]:
        """The chain and draw indices, and the number of sweeps before each draw."""
        sweeps = range(self.burn_in + self.thin, self.burn_in + self.n_draws * self.thin + 1, self.thin)
        return {"chain": range(self.n_chains), "draw": range(self.n_draws), "sweep": sweeps}

    @property
    def stored(self) -> list[Stored]:
        """An array for each stored layer."""
        machine, found = chains_of(self, 1).machine, []
        for layer in self.layers:
            name = "visible" if layer == 0 else f"hidden_{layer}"
            units = machine.topology.sizes[layer] if self.probabilities else machine.topology.sites[layer]
            about = {
                "layer": layer,
                "holds": "probabilities" if self.probabilities else "states",
                "coordinates": "sweep",  # the netCDF convention, which xarray reads
            }
            dtype = "float32" if self.probabilities else machine.topology.units[layer].stored or machine.dtype
            axes = "chain", "draw", "unit" if layer == 0 else f"{name}_unit"
            shape = self.n_chains, self.n_draws, units
            chunks = self.chunks, min(self.checkpoint_every, self.n_draws), units
            found.append(Stored(name, axes, shape, chunks, dtype, about))
        return found

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """Return the states of the stored layers if the sweep ends a draw, else nothing."""
        return () if (sweep - self.burn_in) % self.thin else now.shown

    def write_shown(self, array: Stored, block: Block, segment: int, shown: Sequence[Array]) -> None:
        """Write the draws of a segment."""
        self.write(array, (block.number, segment, 0), np.stack(shown).transpose(2, 0, 1))


class Sampling(Kind):
    """Runs of `sample`."""

    name, results, stored, job_kinds = "sample", (SAMPLES,), SAMPLES, (SampleJob,)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the Zarr group, with the settings of the chains."""
        (job,) = self.jobs
        of_chains = {"chains": "on the ladder of the training"} if job.ladder else {}
        return super().attributes | {"burn_in": job.burn_in, "thin": job.thin, "library": job.library} | of_chains

    def result(self) -> dict[str, Any]:
        """Return the numbers of chains and draws and the other settings of the chains."""
        names = ("n_chains", "n_draws", "burn_in", "thin", "layers", "library")
        return super().result() | {name: self.run.configuration[name] for name in names}

    @property
    def closing(self) -> Demand:
        """See `Kind`: the chunks of the chains that are diagnosed are read one by one, into floats."""
        memory = reads = 0
        for array in self.arrays:
            rows, each, units = array.chunks
            reads += -(-min(array.shape[0], _DIAGNOSED) // rows) * -(-array.shape[1] // each)
            memory = max(memory, 3 * array.bytes_in_a_chunk // 2 + 8 * min(rows, _DIAGNOSED) * each * units)
        return Demand(memory, reads=reads)

    def finish(self, unfinished: Place) -> Warn:
        """Diagnose the draws.

        Chains with different values, clamped or given, have different distributions and are not compared.
        """
        series: dict[str, tuple[Array, None]] = {}
        if not any(states.ndim == 2 for states in self.jobs[0].clamped.values()):
            for name, draws in store.open_arrays(unfinished, self.run.result_identity).items():
                mean, projection = _observed(draws)
                series |= {f"{name}_mean": (mean, None), f"{name}_projection": (projection, None)}
        found = report(series)
        store.annotate(unfinished, found.attributes)
        return functools.partial(found.warn, _HELPS)


def _observed(draws: Array) -> Array:
    """Return the mean of the units of each draw, and their projection on a fixed vector.

    The projection differs between patterns of equal mean. The result has shape (2, chains, draws), for the first
    `_DIAGNOSED` chains; draws are read chunk by chunk.
    """
    units, each = draws.shape[2], draws.chunks[1]
    hashed = np.arange(1, units + 1, dtype="int64") * 40503 // 256 % 256 - 128  # Knuth's hash; sums are exact
    onto = np.stack([np.ones(units), hashed], axis=1).astype("float32")
    parts = (draws[:_DIAGNOSED, first : first + each] for first in range(0, draws.shape[1], each))
    return np.moveaxis(np.concatenate([part.astype("float32") @ onto / units for part in parts], axis=1), 2, 0)
