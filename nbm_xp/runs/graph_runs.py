"""Sampling runs of machines on graphs: chains in blocks on disk, on threads or a cluster, resumable after faults."""

from __future__ import annotations

import functools
import math
import os
from typing import Any

import numpy as np

from nbm_xp.files import Place
from nbm_xp.graphs.energy_model import checked_clamp
from nbm_xp.graphs.graph import Lattice, finite
from nbm_xp.graphs.lattice_blocks import LatticeDivision, check_lattice, couplings_of, divided
from nbm_xp.graphs.lattice_sweeps import lattice_block
from nbm_xp.graphs.measures import HELPS
from nbm_xp.graphs.moves import check_local
from nbm_xp.graphs.observables import checked_names
from nbm_xp.graphs.shards import sharded
from nbm_xp.namespace.errors import positive_int

from .directory import RunDirectory
from .execution import Kind, Progress, Warn, begin, check_begin
from .graph_job import GRAPH, GraphInput, GraphJob
from .inputs import digest_of
from .job import Demand
from .projection import Input
from .workers import Workers

_UNITS_IN_A_SHARD = 2**18
_UNITS_IN_A_BLOCK, _MOST_BLOCKS = 2**24, 2**13  # of a lattice: larger ones rather than more, for the scheduler's sake


class GraphRun(Kind):
    """Runs of `sample_graph`."""

    name, results, stored, job_kinds = "graph", (GRAPH,), GRAPH, (GraphJob,)

    @property
    def closing(self) -> Demand:
        """See `Kind`: the last checkpoints are read, with the states of shards."""
        (job,) = self.jobs
        states = 0 if job.chunks else 3 * job.n_units * job.groups[0].n_chains
        return Demand(states, reads=len(job.blocks), writes=1)

    def finish(self, unfinished: Place) -> Warn:
        """Write the measurements."""
        return functools.partial(self.jobs[0].finish(unfinished).warn, HELPS)


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
    if in_chunks:
        graph = check_lattice(machine)
        division, whole = _divided(graph, chunks, checkpoint_every), couplings_of(machine, clamped)
        given = GraphInput(machine, division, lambda place: lattice_block(division, place, whole))
        inputs = [np.asarray([whole.unit]), whole.multiples, whole.fields]
        configuration |= {
            "shape": graph.shape, "periodic": graph.periodic, "chunks": [lengths[0] for lengths in division.chunks],
            "checkpoint_every": division.sweeps_at_once,
        }  # fmt: skip
    else:
        layout = machine.layout
        parts, made = sharded(machine, shards, clamped)
        given = GraphInput(machine, parts, made.__getitem__)
        inputs = [layout.neighbours, layout.couplings, layout.fields, parts.order]
    digests = [functools.partial(digest_of, np.atleast_1d(x)) for x in (*inputs, *(clamped or ())) if x is not None]
    return begin(
        GraphRun, directory, configuration | {"inputs": digests}, random_state=random_state, scheduler=scheduler,
        progress=progress, save=given.save, known=given, held=given.memory,
        inputs=[Input(size) for size in given.sizes],
    )  # fmt: skip
