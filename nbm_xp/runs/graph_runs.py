"""Sampling runs of machines on graphs: chains in blocks on disk, on threads or a cluster, resumable after faults."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.files import Place
from nbm_xp.graphs.chains import Block, Division
from nbm_xp.graphs.energy_model import checked_clamp
from nbm_xp.graphs.graph import Lattice, finite
from nbm_xp.graphs.lattice_blocks import LatticeDivision, check_lattice, couplings_of, divided
from nbm_xp.graphs.lattice_sweeps import lattice_block
from nbm_xp.graphs.measures import HELPS
from nbm_xp.graphs.moves import check_local
from nbm_xp.graphs.observables import checked_names
from nbm_xp.graphs.shards import ShardDivision, sharded
from nbm_xp.namespace import is_array
from nbm_xp.namespace.errors import positive_int

from .directory import RunDirectory, RunError
from .execution import Kind, Progress, Warn, begin, check_begin
from .graph_job import AT_HAND, GRAPH, GraphJob, save_blocks
from .inputs import digest_of
from .workers import Workers

_PROCESS = 3 * 10**8  # memory of an idle process, in bytes
_AT_WORK = {True: 150, False: 8}  # memory of a task per unit of its block, in bytes: of Potts units, and of others
_UNITS_IN_A_SHARD = 2**18
_UNITS_IN_A_BLOCK, _MOST_BLOCKS = 2**24, 2**13  # of a lattice: larger ones rather than more, for the scheduler's sake


class GraphRun(Kind):
    """Runs of `sample_graph`."""

    name, results, stored, job_kinds = "graph", (GRAPH,), GRAPH, (GraphJob,)

    def finish(self, unfinished: Place) -> Warn:
        """Write the measurements."""
        return functools.partial(self.jobs[0].finish(unfinished).warn, HELPS)


@dataclass(frozen=True)
class Projected:
    """Projected memory and disk space of a run, in bytes.

    Parameters
    ----------
    memory : int
        Memory of all workers together.
    disk : int
        Largest disk space, reached at the end of the run.
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
    """Estimate the memory and disk space that a run of `sample_graph` will need.

    Parameters
    ----------
    machine : GraphMachine
        Must be on a lattice unless `shards` is given.
    chunks, shards, n_chains, checkpoint_every : optional
        See `sample_graph`.
    n_workers : int, optional
        Number of tasks that run at once. Defaults to the number of cores.

    Returns
    -------
    Projected

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice, random_regular
    >>> str(projected(GraphMachine(lattice((32768, 30720))), 4096, n_workers=2))
    '0.59 GB of memory and 2.01 GB of disk'
    >>> str(projected(GraphMachine(random_regular(1000, 3, random_state=1)), shards=4, n_chains=64, n_workers=2))
    '0.30 GB of memory and 0.00 GB of disk'
    """
    workers, states = n_workers or os.cpu_count() or 1, n_chains * machine.n_units
    if shards is None:
        division = _divided(check_lattice(machine), chunks, checkpoint_every)
        block = math.prod(lengths[0] + 2 * division.depth for lengths in division.chunks)
        own = [x for x in (machine.edge_couplings, machine.unit_fields) if any(x.strides)]
        each, whole = sum(x.itemsize * (x.size // machine.n_units) for x in own), sum(x.nbytes for x in own)
        at_work = workers * block * (_AT_WORK[machine.kind.is_categorical] + each)
        return Projected(_PROCESS + 2 * whole + at_work, 2 * states + whole)
    layout = machine.layout
    count = max(shards) + 1 if is_array(shards) or isinstance(shards, (list, tuple)) else shards
    together, bytes_saved = min(ShardDivision.together, n_chains), 1 if machine.kind.count > 2 else 1 / 8
    graph = layout.begins.nbytes + layout.neighbours.nbytes + layout.couplings.nbytes + layout.fields.nbytes
    divided_graph = graph + 40 * layout.units + 12 * layout.neighbours.shape[0]  # with halos
    share = min(1.0, (AT_HAND + workers) / count)  # of shards, in memory at a time
    at_work = divided_graph * (1 + 2 * share) + (1 + 6 * share) * layout.units * together
    memory = _PROCESS + 3 * graph + layout.edges.nbytes + at_work
    return Projected(int(memory), int(states + 4 * states * bytes_saved + divided_graph))


def _divided(graph: Lattice, chunks: Any, checkpoint_every: int | None = None) -> LatticeDivision:
    """Divide a lattice into blocks, by default of about equal lengths; only the last along an axis may be shorter."""
    if chunks is None:
        usual = round(max(_UNITS_IN_A_BLOCK, graph.units / _MOST_BLOCKS) ** (1 / len(graph.shape)))
        chunks = [math.ceil(n / math.ceil(n / usual)) for n in graph.shape]
    found = divided(graph.shape, graph.periodic, chunks, checkpoint_every)
    for lengths in found.chunks:
        if len({*lengths[:-1]}) > 1 or lengths[-1] > lengths[0]:
            raise ValueError(f"chunks must be equal along an axis, except for a shorter last one, got {chunks!r}")
    return found


def _check(needed: Callable[..., Projected], workers: Workers, place: Place) -> str:
    """Raise `RunError` if a run needs more memory or disk space than there is; return a line for the log."""
    will_need, memory = needed(n_workers=workers.n_workers), _memory()
    if isinstance(place, pathlib.Path):
        parent = next(folder for folder in (place, *place.parents) if folder.exists())
        free = shutil.disk_usage(parent).free
        if will_need.disk > free:
            raise RunError(
                f"the run will need {will_need}, and {parent} has {free / 1e9:.2f} GB left: nothing was begun"
            )
    if memory is not None and workers.scheduler in ("threads", "local") and will_need.memory > memory:
        raise RunError(
            f"the run will need {will_need}, and there are {memory / 1e9:.2f} GB of memory: divide it into smaller "
            "blocks, or take fewer workers; nothing was begun"
        )
    return f"needs {will_need}"


def _memory() -> int | None:
    """Return the memory of this machine in bytes, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


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
    observe: Any = ("energy", "magnetisation"),
    clamp: dict[int, int] | None = None,
    chunks: Any = None,
    shards: Any = None,
    checkpoint_every: int | None = None,
    random_state: Any = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of a machine on a graph, in blocks on disk, and measure observables.

    Parameters
    ----------
    machine : GraphMachine
    directory : path-like
        The run's directory, or its address in an object store, which must not exist or be empty.
    n_chains, n_sweeps, burn_in, thin, beta, rule, clamp : optional
        See `GraphMachine.sample`.
    observe : str or sequence of str, optional
        Observables: energy, magnetisation, abs_magnetisation, or overlap (spins in an even number of chains only).
    chunks : int or sequence of int, optional
        For lattices: length of blocks along each axis, -1 for the whole axis; the last block may be shorter. Defaults
        to blocks of about 16 million units, or larger ones where these would be more than 8,192.
    shards : int or array of shape (units,), optional
        For any graph: number of shards, or the shard of each unit. Defaults to shards of about 260,000 units for
        graphs other than lattices. Shards are found by pymetis if it is installed, else by a breadth-first search.
    checkpoint_every : int, optional
        For lattices in chunks: number of sweeps of a block per task; a task that is lost loses at most as many. More
        sweeps need a wider halo, which is drawn together with the block. Defaults to a number for which the halo adds
        little work. For shards, a task always draws one colour in at most 64 chains.
    random_state : int, None, or generator, optional
        Seed. None draws a seed from the operating system and stores it in the directory.
    scheduler : str or Workers, optional
        See `sample`.
    progress : callable, optional
        ``progress(done, total)`` is called whenever more results are on disk; both count sweeps of single units.

    Returns
    -------
    RunDirectory
        Read it with `open_dataset`: ``state`` holds the last states, other variables the observables, per unit. The
        attributes and warnings are those of `GraphMachine.sample`.

    Raises
    ------
    ValueError
        If an argument is invalid.
    FileExistsError
        If the directory is not empty.
    RunError
        If the run will need more memory or disk space than there is (see `projected`), or cannot continue.

    Notes
    -----
    States and observables equal those of `GraphMachine.sample` bit for bit, for any blocks, workers and
    `checkpoint_every`, and after interruptions.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> from nbm_xp.runs import open_dataset, sample_graph
    >>> machine = GraphMachine(lattice((32, 32)))
    >>> run = sample_graph(machine, place, n_sweeps=10, beta=0.4, chunks=16, random_state=1)
    >>> found, whole = open_dataset(run.path), machine.sample(n_sweeps=10, beta=0.4, random_state=1)
    >>> bool((found["energy"].values == whole["energy"].values).all())
    True
    """
    check_begin(directory, progress)
    in_chunks = chunks is not None or (shards is None and isinstance(machine.graph, Lattice))
    if not in_chunks and shards is None:
        shards = max(1, machine.n_units // _UNITS_IN_A_SHARD)
    check_local(rule, in_chunks or None, shards)
    clamped = checked_clamp(machine, clamp)
    configuration = {
        "units": machine.kind.name,
        "rule": rule,
        "betas": finite(beta, "beta", (positive_int(n_chains, "n_chains"),)).tolist(),
        "n_units": machine.n_units,
        "burn_in": positive_int(burn_in, "burn_in", 0),
        "n_sweeps": positive_int(n_sweeps, "n_sweeps"),
        "thin": positive_int(thin, "thin"),
        "observe": list(checked_names(machine, observe, n_chains, states=False)),
        "chunks": None,
    }
    division: Division
    blocks: Iterable[Block]
    if in_chunks:
        graph = check_lattice(machine)
        division, whole = _divided(graph, chunks, checkpoint_every), couplings_of(machine, clamped)
        blocks = (lattice_block(division, place, whole) for place in division.blocks)  # one at a time in memory
        inputs = [np.asarray([whole.unit]), whole.multiples, whole.fields]
        configuration |= {
            "shape": graph.shape, "periodic": graph.periodic, "chunks": [lengths[0] for lengths in division.chunks],
            "checkpoint_every": division.sweeps_at_once,
        }  # fmt: skip
        needed = functools.partial(projected, machine, chunks, n_chains=n_chains, checkpoint_every=checkpoint_every)
    else:
        layout = machine.layout
        division, made = sharded(machine, shards, clamped)
        blocks, inputs = made.values(), [layout.neighbours, layout.couplings, layout.fields, division.order]
        needed = functools.partial(projected, machine, shards=len(made), n_chains=n_chains)
    digests = [digest_of(np.atleast_1d(x)) for x in (*inputs, *(clamped or ())) if x is not None]
    return begin(
        GraphRun, directory, configuration | {"inputs": digests}, random_state=random_state, scheduler=scheduler,
        progress=progress, save=functools.partial(save_blocks, division, blocks),
        check=functools.partial(_check, needed),
    )  # fmt: skip
