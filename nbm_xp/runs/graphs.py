"""Any graph's chains as runs: parts on disk, a colour at a time, on threads or a cluster, through faults."""

from __future__ import annotations

import os
from typing import Any

from nbm_xp.graphs.clamping import checked_clamp
from nbm_xp.graphs.lazily import OVERLAP, SUMS, checked_rule
from nbm_xp.graphs.parted import TOGETHER
from nbm_xp.graphs.partition import numbers_of_parts, partitioned
from nbm_xp.namespace import is_array

from .copies import digest_of
from .directory import RunDirectory
from .execution import Progress, check_begin
from .graph_job import AT_HAND, save_parts
from .graph_runs import PROCESS, GraphRun, Projected, asked_of, begin
from .lattices import projected_lattice

__all__ = ["projected", "sample_graph"]

UNITS_IN_A_PART = 2**18


def projected(
    machine: Any,
    chunks: Any = None,
    *,
    parts: Any = None,
    chains: int = 1,
    checkpoint_every: int | None = None,
    n_workers: int | None = None,
) -> Projected:
    """Say what a run of `sample_lattice`, or with `parts` of `sample_graph`, will need, before it begins.

    Parameters
    ----------
    machine : GraphMachine
        Without `parts`, on a lattice.
    chunks : int or sequence of int, optional
        See `sample_lattice`.
    parts : int or array, optional
        See `sample_graph`.
    chains, checkpoint_every : int, optional
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
    >>> str(projected(GraphMachine(random_regular(1000, 3, random_state=1)), parts=4, chains=64, n_workers=2))
    '0.30 GB of memory and 0.00 GB of disk'
    """
    if parts is None:
        return projected_lattice(machine, chunks, chains, checkpoint_every, n_workers)
    layout, values = machine.layout, machine.values
    count = max(parts) + 1 if is_array(parts) or isinstance(parts, (list, tuple)) else parts
    together, bytes_kept = min(TOGETHER, chains), 1 if values.count > 2 else 1 / 8
    graph = layout.begins.nbytes + layout.neighbours.nbytes + layout.couplings.nbytes + layout.fields.nbytes
    parted = graph + 40 * layout.units + 12 * layout.neighbours.shape[0]  # with what lies around parts
    workers = n_workers or os.cpu_count() or 1
    share = min(1.0, (AT_HAND + workers) / count)  # of parts, in memory at a time
    states = layout.units * chains
    memory = 3 * graph + parted * (1 + 2 * share) + 6 * share * layout.units * together + layout.units * together
    return Projected(int(PROCESS + memory), int(states + 4 * states * bytes_kept + parted))


def sample_graph(
    machine: Any,
    directory: str | os.PathLike[str],
    *,
    chains: int = 1,
    sweeps: int = 1000,
    burn_in: int = 0,
    beta: Any = 1.0,
    rule: str = "heat_bath",
    every: int = 1,
    observe: Any = SUMS,
    clamp: dict[int, int] | None = None,
    parts: Any = None,
    random_state: Any = None,
    scheduler: Any = "threads",
    n_workers: int | None = None,
    memory_limit: int | str | None = None,
    progress: Progress | None = None,
) -> RunDirectory:
    """Draw states of any graph by sweeps, in parts on disk, and measure on the way.

    Parameters
    ----------
    machine : GraphMachine
    directory : path-like
        The run's directory, which must not exist or be empty.
    chains, sweeps, burn_in, beta, rule, every, clamp : optional
        See `GraphMachine.sample`.
    observe : str or sequence of str, optional
        What to measure: energy, magnetisation, or overlap, of spins in an even number of chains.
    parts : int or array of shape (units,), optional
        How many parts the graph is divided into, or the part that each unit is in. By default they have some 260,000
        units. pymetis makes them where it is installed, else a walk that goes to near units first.
    random_state, scheduler, n_workers, memory_limit, progress : optional
        See `sample_lattice`.

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
    States and what is measured are those of `GraphMachine.sample`, bit for bit, and so are the files, for all parts and
    workers, and after any fault. A task draws one colour of one part in 64 chains, and writes what it drew: so much may
    be lost with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> from nbm_xp.graphs import GraphMachine, random_regular
    >>> from nbm_xp.runs import open_dataset, sample_graph
    >>> machine = GraphMachine(random_regular(300, 3, random_state=1))
    >>> run = sample_graph(machine, place, sweeps=4, beta=0.4, parts=3, random_state=1)
    >>> found, whole = open_dataset(run.path), machine.sample(sweeps=4, beta=0.4, random_state=1)
    >>> bool((found["energy"].values == whole["energy"].values).all())
    True
    """
    check_begin(directory, progress)
    checked_rule(rule, "parts")
    layout = machine.layout
    numbers = numbers_of_parts(layout, max(1, layout.units // UNITS_IN_A_PART) if parts is None else parts)
    count = int(numbers.max()) + 1
    held = None if clamp is None else checked_clamp(machine, clamp)
    told = layout.order, layout.neighbours, layout.couplings, layout.fields, numbers, *(held or ())
    configuration = asked_of(machine, chains, sweeps, burn_in, beta, rule, every, observe, (OVERLAP,)) | {
        "n_units_": layout.units,
        "colours": len(layout.ends),
        "parts": count,
        "couplings": [digest_of(x) for x in told],
    }

    def needed(workers: int | None) -> Projected:
        return projected(machine, parts=count, chains=chains, n_workers=workers)

    how = {
        "random_state": random_state, "scheduler": scheduler, "n_workers": n_workers, "memory_limit": memory_limit,
        "progress": progress,
    }  # fmt: skip
    return begin(
        GraphRun, directory, configuration,
        lambda folder: save_parts(partitioned(layout, numbers, held), layout.order, folder), needed, how,
    )  # fmt: skip
