"""Chains on lattices and on any graph as runs: in blocks on disk, on threads or a cluster, through faults."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nbm_xp.graphs.energy_model import checked_clamp
from nbm_xp.graphs.graph import finite
from nbm_xp.graphs.lattice_blocks import couplings_of
from nbm_xp.graphs.lattice_sweeps import check_lattice, divided
from nbm_xp.graphs.measures import HELPS
from nbm_xp.graphs.moves import check_local
from nbm_xp.graphs.observables import checked_names
from nbm_xp.graphs.shard_sweeps import ShardDivision, sharded
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import is_array

from .directory import RunDirectory, RunError
from .execution import Kind, Progress, Warn, begin, check_begin
from .graph_job import AT_HAND, GRAPH, LATTICE, ChainsJob, GraphJob, LatticeJob, save_couplings, save_shards
from .inputs import digest_of
from .store import Stored
from .workers import Pool, Workers

__all__ = ["GraphRun", "LatticeRun", "Projected", "projected", "sample_graph", "sample_lattice"]

_PROCESS = 3 * 10**8
"""Bytes of a process before it does anything."""
_AT_WORK = {True: 150, False: 8}
"""Bytes of a task for each unit of its block: of Potts units, and of others."""
_UNITS_IN_A_SHARD = 2**18
_SUMS = "energy", "magnetisation"


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

    def complete(self, pool: Pool, progress: Progress | None) -> Warn | None:
        """Compute what is left to compute."""
        (self.run.checkpoints / self.job.shown).mkdir(exist_ok=True)
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


def projected(
    machine: Any,
    chunks: Any = None,
    *,
    shards: Any = None,
    n_chains: int = 1,
    checkpoint_every: int | None = None,
    n_workers: int | None = None,
) -> Projected:
    """Say what a run of `sample_lattice`, or with `shards` of `sample_graph`, will need, before it begins.

    Parameters
    ----------
    machine : GraphMachine
        Without `shards`, on a lattice.
    chunks : int or sequence of int, optional
        See `sample_lattice`.
    shards : int or array, optional
        See `sample_graph`.
    n_chains, checkpoint_every : int, optional
        See `sample_lattice`.
    n_workers : int, optional
        How many tasks run at once; by default as many as there are cores.

    Returns
    -------
    Projected

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice, random_regular
    >>> str(projected(GraphMachine(lattice((32768, 30720))), 4096, n_workers=2))
    '0.58 GB of memory and 2.01 GB of disk'
    >>> str(projected(GraphMachine(random_regular(1000, 3, random_state=1)), shards=4, n_chains=64, n_workers=2))
    '0.30 GB of memory and 0.00 GB of disk'
    """
    workers, states = n_workers or os.cpu_count() or 1, n_chains * machine.n_units
    if shards is None:
        graph = check_lattice(machine)
        lengths = _lengths(graph.shape, chunks)
        at_once = checkpoint_every or divided(graph.shape, graph.periodic, lengths).sweeps_at_once
        block = math.prod(n + 2 * graph.reach * at_once for n in lengths)
        own = [x for x in machine.by_edge_and_unit if any(x.strides)]
        each, whole = sum(x.itemsize * (x.size // machine.n_units) for x in own), sum(x.nbytes for x in own)
        at_work = workers * block * (_AT_WORK[machine.kind.is_categorical] + each)
        return Projected(_PROCESS + 2 * whole + at_work, 2 * states + whole)
    layout = machine.layout
    count = max(shards) + 1 if is_array(shards) or isinstance(shards, (list, tuple)) else shards
    together, bytes_saved = min(ShardDivision.together, n_chains), 1 if machine.kind.count > 2 else 1 / 8
    graph = layout.begins.nbytes + layout.neighbours.nbytes + layout.couplings.nbytes + layout.fields.nbytes
    divided_graph = graph + 40 * layout.units + 12 * layout.neighbours.shape[0]  # with halos
    share = min(1.0, (AT_HAND + workers) / count)  # of shards, in memory at a time
    memory = 3 * graph + divided_graph * (1 + 2 * share) + 6 * share * layout.units * together + layout.units * together
    return Projected(int(_PROCESS + memory), int(states + 4 * states * bytes_saved + divided_graph))


def _lengths(shape: tuple[int, ...], chunks: Any) -> tuple[int, ...]:
    """How long blocks are along each axis; by default about 2**24 units."""
    if chunks is None:
        return tuple(min(n, max(1, round(2 ** (24 / len(shape))))) for n in shape)
    asked = tuple(chunks) if isinstance(chunks, (list, tuple)) else (chunks,) * len(shape)
    if len(asked) != len(shape):
        raise ValueError(f"chunks must be an int, or one for each of {len(shape)} axes, got {chunks!r}")
    return tuple(n if one == -1 else min(n, positive_int(one, "chunks")) for n, one in zip(shape, asked, strict=True))


def _configuration(
    machine: Any, n_chains: int, n_sweeps: int, burn_in: int, thin: int, beta: Any, rule: str, observe: Any
) -> dict[str, Any]:
    """What both kinds of run are asked for, as their directories keep it."""
    return {
        "units": machine.kind.name,
        "rule": rule,
        "betas": finite(beta, "beta", (positive_int(n_chains, "n_chains"),)).tolist(),
        "burn_in": positive_int(burn_in, "burn_in", 0),
        "n_sweeps": positive_int(n_sweeps, "n_sweeps"),
        "thin": positive_int(thin, "thin"),
        "observe": list(checked_names(machine, observe, n_chains, states=False)),
    }


def _check(needed: Callable[..., Projected], workers: Workers, place: pathlib.Path) -> str:
    """Raise for a run that needs more than there is; a line for the log."""
    will_need, memory = needed(n_workers=workers.n_workers), _memory()
    parent = next(folder for folder in (place, *place.parents) if folder.exists())
    free = shutil.disk_usage(parent).free
    if will_need.disk > free:
        raise RunError(f"the run will need {will_need}, and {parent} has {free / 1e9:.2f} GB left: nothing was begun")
    if memory is not None and workers.scheduler in ("threads", "local") and will_need.memory > memory:
        raise RunError(
            f"the run will need {will_need}, and there are {memory / 1e9:.2f} GB of memory: divide it into smaller "
            "blocks, or take fewer workers; nothing was begun"
        )
    return f"needs {will_need}"


def _memory() -> int | None:
    """How much memory this machine has, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def sample_lattice(
    machine: Any,
    directory: str | os.PathLike[str],
    n_chains: int = 1,
    n_sweeps: int = 1000,
    *,
    burn_in: int = 0,
    thin: int = 1,
    beta: Any = 1.0,
    rule: str = "heat_bath",
    observe: Any = _SUMS,
    clamp: dict[int, int] | None = None,
    chunks: Any = None,
    checkpoint_every: int | None = None,
    random_state: Any = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of a lattice by sweeps, in blocks on disk, and measure observables.

    Parameters
    ----------
    machine : GraphMachine
        On a lattice.
    directory : path-like
        The run's directory, which must not exist or be empty.
    n_chains, n_sweeps, burn_in, thin, beta, rule, clamp : optional
        See `GraphMachine.sample`.
    observe : str or sequence of str, optional
        What to measure: energy, magnetisation, abs_magnetisation, or overlap, of spins in an even number of chains.
    chunks : int or sequence of int, optional
        How long blocks are along each axis, -1 being the whole axis; the last one may be shorter. By default they have
        some 16 million units.
    checkpoint_every : int, optional
        How many sweeps of a block are made by a task, and lost at most when a task is. More need a deeper halo around
        the block, which is drawn with it. By default so many that the halo is little work.
    random_state : int, None, or generator, optional
        The seed; None draws one from the system, and keeps it in the directory.
    scheduler : str or Workers, optional
        See `sample`.
    progress : callable, optional
        ``progress(done, total)`` is called when more is on disk; both count sweeps of single units.

    Returns
    -------
    RunDirectory
        `open_dataset` reads what is in it: ``state``, the last states, and what was measured, of a unit or a pair.
        Attributes and warnings are those of `GraphMachine.sample`.

    Raises
    ------
    ValueError
        If an argument is not what it must be.
    FileExistsError
        If something is in the directory already.
    RunError
        If there is less memory or disk than the run will need (see `projected`), or it cannot go on.

    Notes
    -----
    States and what is measured are those of `GraphMachine.sample`, bit for bit: for all chunks, workers and
    `checkpoint_every`, and after any fault.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> from nbm_xp.runs import open_dataset, sample_lattice
    >>> machine = GraphMachine(lattice((32, 32)))
    >>> run = sample_lattice(machine, place, n_sweeps=10, beta=0.4, chunks=16, random_state=1)
    >>> found, whole = open_dataset(run.path), machine.sample(n_sweeps=10, beta=0.4, random_state=1)
    >>> bool((found["energy"].values == whole["energy"].values).all())
    True
    """
    check_begin(directory, progress)
    graph = check_lattice(machine)
    check_local(rule, "chunks")
    lengths = _lengths(graph.shape, chunks)
    usual = divided(graph.shape, graph.periodic, lengths).sweeps_at_once
    made = couplings_of(machine, checked_clamp(machine, clamp))
    configuration = _configuration(machine, n_chains, n_sweeps, burn_in, thin, beta, rule, observe) | {
        "shape": graph.shape,
        "periodic": graph.periodic,
        "chunks": lengths,
        "checkpoint_every": usual if checkpoint_every is None else positive_int(checkpoint_every, "checkpoint_every"),
        "unit": made.unit,
        "largest": made.largest,
        "odd": made.odd,
        "field": made.fields if isinstance(made.fields, float) else None,
        "couplings": [digest_of(x) for x in (made.multiples, made.fields, *(made.clamp or ())) if hasattr(x, "shape")],
    }
    needed = functools.partial(
        projected, machine, lengths, n_chains=n_chains, checkpoint_every=checkpoint_every
    )  # fmt: skip
    return begin(
        LatticeRun, directory, configuration, random_state=random_state, scheduler=scheduler, progress=progress,
        save=functools.partial(save_couplings, made),
        check=functools.partial(_check, needed),
    )  # fmt: skip


def sample_graph(
    machine: Any,
    directory: str | os.PathLike[str],
    n_chains: int = 1,
    n_sweeps: int = 1000,
    *,
    burn_in: int = 0,
    thin: int = 1,
    beta: Any = 1.0,
    rule: str = "heat_bath",
    observe: Any = _SUMS,
    clamp: dict[int, int] | None = None,
    shards: Any = None,
    random_state: Any = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of any graph by sweeps, in shards on disk, and measure observables.

    Parameters
    ----------
    machine : GraphMachine
    shards : int or array of shape (units,), optional
        How many shards the graph is divided into, or the shard that each unit is in. By default they have some 260,000
        units. pymetis makes them where it is installed, else a breadth-first walk.
    directory, n_chains, n_sweeps, burn_in, thin, beta, rule, observe, clamp : optional
        See `sample_lattice`.
    random_state, scheduler, progress : optional
        See `sample_lattice`.

    Returns
    -------
    RunDirectory
        See `sample_lattice`.

    Raises
    ------
    ValueError, FileExistsError, RunError
        See `sample_lattice`.

    Notes
    -----
    States and what is measured are those of `GraphMachine.sample`, bit for bit, and so are the files, for all shards
    and workers, and after any fault. A task draws one colour of one shard in 64 chains: so much may be lost with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> from nbm_xp.graphs import GraphMachine, random_regular
    >>> from nbm_xp.runs import open_dataset, sample_graph
    >>> machine = GraphMachine(random_regular(300, 3, random_state=1))
    >>> run = sample_graph(machine, place, n_sweeps=4, beta=0.4, shards=3, random_state=1)
    >>> found, whole = open_dataset(run.path), machine.sample(n_sweeps=4, beta=0.4, random_state=1)
    >>> bool((found["energy"].values == whole["energy"].values).all())
    True
    """
    check_begin(directory, progress)
    check_local(rule, "shards")
    layout, clamped = machine.layout, checked_clamp(machine, clamp)
    configuration = _configuration(machine, n_chains, n_sweeps, burn_in, thin, beta, rule, observe)
    division, made = sharded(
        machine, max(1, layout.units // _UNITS_IN_A_SHARD) if shards is None else shards, clamped
    )  # fmt: skip
    inputs = layout.order, layout.neighbours, layout.couplings, layout.fields, division.order, *(clamped or ())
    configuration |= {"shards": division.sizes, "couplings": [digest_of(x) for x in inputs]}
    needed = functools.partial(projected, machine, shards=len(made), n_chains=n_chains)
    return begin(
        GraphRun, directory, configuration, random_state=random_state, scheduler=scheduler, progress=progress,
        save=functools.partial(save_shards, division, list(made.values())), check=functools.partial(_check, needed),
    )  # fmt: skip
