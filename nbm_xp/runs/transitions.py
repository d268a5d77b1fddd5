"""Runs that measure spins on a lattice at many temperatures: a block for each, with the draws of chains in memory."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbm_xp.files import Place, replacing
from nbm_xp.graphs import (
    GraphMachine,
    autocorrelation_time,
    binder,
    jackknife_error,
    lattice,
    monte_carlo_error,
    onsager,
    specific_heat,
)
from nbm_xp.graphs.chain_groups import ChainGroup, Schedule, Step
from nbm_xp.graphs.chains import Chains, Start
from nbm_xp.graphs.graph import Lattice, finite
from nbm_xp.machines import Array
from nbm_xp.namespace import default_namespace, library_name
from nbm_xp.namespace.errors import positive_int
from nbm_xp.rng import hashed_seed

from .checkpoints import Arrays
from .directory import RunDirectory
from .execution import Kind, Progress, begin, check_begin, finished
from .job import Block, Demand, Job, Stopping
from .workers import Workers

# The files of the measurements, and of the last spins at each temperature
TRANSITION, SPINS = "lattice.json", "spins.npy"
# The observables. The magnetisation is absolute: its sign rarely changes at low temperatures and differs by chain.
SERIES = "energy", "abs_magnetisation"

FLIPS_IN_A_SEGMENT = 2**30


@functools.lru_cache(maxsize=8)
def _machine(shape: tuple[int, ...], periodic: bool, coupling: float) -> GraphMachine:
    return GraphMachine(lattice(shape, periodic), couplings=coupling)


@dataclass(frozen=True)
class TransitionJob(Job):
    """Chains on a lattice, with a block for each temperature; picklable and hashable.

    Attributes
    ----------
    size, periodic, coupling, temperatures, n_chains, n_sweeps, burn_in, rule, library, checkpoint_every
        See `measure_lattice`.
    """

    size: tuple[int, ...]
    periodic: bool
    coupling: float
    temperatures: tuple[float, ...]
    n_chains: int
    n_sweeps: int
    burn_in: int
    rule: str
    library: str
    checkpoint_every: int

    part, task = "temperatures", "lattice"

    @property
    def machine(self) -> GraphMachine:
        """The machine on the lattice."""
        return _machine(self.size, self.periodic, self.coupling)

    @property
    def blocks(self) -> list[Block]:
        """A block for each temperature."""
        return [Block(number, number * self.n_chains, self.n_chains) for number in range(len(self.temperatures))]

    @property
    def n_segments(self) -> int:
        """Number of tasks of a block, executed one after the other."""
        return math.ceil((self.burn_in + self.n_sweeps) / self.checkpoint_every)

    def _sweeps(self, segment: int) -> Step:
        """Return the sweeps of a segment."""
        return Schedule(0, self.burn_in, self.n_sweeps, 1).step(segment, self.checkpoint_every)

    def n_steps(self, segment: int) -> int:
        """Return the number of sweeps in a segment."""
        return self._sweeps(segment).n_sweeps

    def work(self, block: Block) -> int:
        """Return the work in a sweep: units times chains."""
        return math.prod(self.size) * self.n_chains

    @property
    def demand(self) -> Demand:
        """See `Job`; the graph has about a hundred bytes for each unit, with its edges."""
        units, series = math.prod(self.size), 16 * self.n_sweeps
        checkpoints = len(self.temperatures) * self.n_chains * (units + series)
        return Demand(100 * units, self.n_chains * (10 * units + 3 * series), checkpoints)

    def begin(self, block: Block) -> Arrays:
        """Return equal spins, and empty series of measurements."""
        series = np.zeros((len(SERIES), self.n_chains, 0))
        return np.ones((self.n_chains, math.prod(self.size)), np.int8), series

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Make the sweeps of a segment; return the last states, and the series of all measured sweeps."""
        states, measured = arrays
        first, count, _, seen = self._sweeps(segment)
        machine, betas = self.machine, (1.0 / self.temperatures[block.number],) * self.n_chains
        group = ChainGroup(
            machine.n_units, machine.units, self.rule, hashed_seed(self.seed), block.offset, betas, SERIES
        )
        chains = Chains(machine, Start(group, first, states), self.library)
        found = chains.observed(Schedule(first, count - len(seen), len(seen), 1))
        if seen:
            measured = np.concatenate([measured, np.stack([found[name][1] for name in SERIES])], axis=-1)
        return found["state"][1], measured


def measured_at(machine: GraphMachine, temperature: float, energy: Array, size: Array) -> dict[str, float | None]:
    """Compute the measurements at one temperature from the series of its chains; see `read_transition`.

    Parameters
    ----------
    machine : GraphMachine
    temperature : float
    energy, size : arrays of shape (chains, sweeps)
        Energy and absolute magnetisation per unit.
    """
    energy, size = np.ascontiguousarray(energy), np.ascontiguousarray(size)  # means are rounded by memory layout
    heat = functools.partial(specific_heat, beta=1 / temperature, units=machine.n_units)
    exact, graph, coupling = None, machine.graph, float(machine.edge_couplings[0])
    assert isinstance(graph, Lattice)
    if len(graph.shape) == 2 and all(graph.periodic) and 0 < coupling / temperature < math.inf:
        exact = onsager(graph.shape, 1 / temperature, coupling)
    return {
        "temperature": temperature,
        "energy": float(energy.mean()),
        "energy_error": float(np.nan_to_num(monte_carlo_error(energy))),  # 0 if the energy is constant
        "specific_heat": heat(energy),
        "specific_heat_error": jackknife_error(heat, energy),
        "magnetisation": float(size.mean()),
        "binder": binder(size),
        "time": float(autocorrelation_time(size).mean()),
        "exact_energy": None if exact is None else exact.energy,
        "exact_specific_heat": None if exact is None else exact.specific_heat,
    }


def measure_lattice(
    directory: str | os.PathLike[str],
    size: Sequence[int],
    temperatures: Sequence[float],
    *,
    periodic: bool = True,
    coupling: float = 1.0,
    n_chains: int = 4,
    n_sweeps: int = 1000,
    burn_in: int = 200,
    rule: str = "heat_bath",
    library: str | None = None,
    checkpoint_every: int | None = None,
    random_state: Any = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Measure spins on a lattice at many temperatures; all chains start with equal spins.

    Parameters
    ----------
    directory : path-like
        The run's directory, or its address in an object store, which must not exist or be empty.
    size : sequence of int
        Number of units along each axis.
    temperatures : sequence of float
        Temperatures, positive.
    periodic : bool, optional
        Whether boundaries are periodic along all axes.
    coupling : float, optional
        Coupling of all edges.
    n_chains : int, optional
        Number of chains at each temperature.
    n_sweeps, burn_in, rule : optional
        See `GraphMachine.sample`. At least 4 sweeps are needed for standard errors.
    library : str, optional
        Name of the array library to compute in. Defaults to the configured one.
    checkpoint_every : int, optional
        Number of sweeps of a temperature per task; a task that is lost loses at most as many.
    random_state, scheduler, progress : optional
        See `sample_graph`.

    Returns
    -------
    RunDirectory
        Read the measurements with `read_transition`. ``spins.npy`` holds the last spins of the first
        chain at each temperature.

    Raises
    ------
    ValueError, FileExistsError, RunError
        As in `sample_graph`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> from nbm_xp.runs import measure_lattice, read_transition
    >>> run = measure_lattice(place, (8, 8), [1.5, 4.0], n_sweeps=200, random_state=1)
    >>> [round(at["magnetisation"]) for at in read_transition(run.path)["measured"]]
    [1, 0]
    """
    check_begin(directory, progress)
    shape, count = tuple(positive_int(n, "size", 2) for n in size), positive_int(n_chains, "n_chains")
    points = tuple(finite(list(temperatures), "temperatures", (len(temperatures),)).tolist())
    if not points or min(points) <= 0:
        raise ValueError(f"temperatures must be positive, got {list(points)}")
    total = positive_int(n_sweeps, "n_sweeps", 4) + positive_int(burn_in, "burn_in", 0)
    machine = _machine(shape, bool(periodic), float(coupling))
    machine.chains(count, 1.0 / points[0], 0, rule=rule, library=library)  # raises for invalid arguments
    usual = max(1, min(total, FLIPS_IN_A_SEGMENT // (count * machine.n_units)))
    configuration = {
        "size": shape,
        "periodic": bool(periodic),
        "coupling": float(coupling),
        "temperatures": points,
        "n_chains": count,
        "n_sweeps": int(n_sweeps),
        "burn_in": int(burn_in),
        "rule": rule,
        "library": library_name(default_namespace()) if library is None else library,
        "checkpoint_every": usual if checkpoint_every is None else positive_int(checkpoint_every, "checkpoint_every"),
    }
    return begin(
        TransitionRun, directory, configuration, random_state=random_state, scheduler=scheduler, progress=progress,
    )  # fmt: skip


class TransitionRun(Kind):
    """Runs of `measure_lattice`."""

    name, results, document, job_kinds = "transition", (TRANSITION, SPINS), TRANSITION, (TransitionJob,)

    @property
    def closing(self) -> Demand:
        """See `Kind`: the last checkpoints are read."""
        (job,) = self.jobs
        spins = len(job.blocks) * math.prod(job.size)
        return Demand(2 * job.demand.checkpoints, 0, spins, len(job.blocks), 2)

    def finish(self, unfinished: Place) -> None:
        """Write the measurements and the last spins."""
        (job,) = self.jobs
        ended = (job.arrays_after(block.number, job.n_segments) for block in job.blocks)
        states, series = zip(*ended, strict=True)
        measured = [measured_at(job.machine, t, *each) for t, each in zip(job.temperatures, series, strict=True)]
        with replacing(self.run.path / SPINS) as part, part.open("wb") as file:
            np.save(file, np.stack([rows[0].reshape(job.size) for rows in states]))
        names = ("size", "periodic", "coupling", "rule", "n_chains", "n_sweeps", "burn_in")
        asked = {name: self.run.configuration[name] for name in names}
        self.write_document(asked | {"seed": self.run.seed, "measured": measured})


def read_transition(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the measurements of a run of `measure_lattice`.

    Parameters
    ----------
    directory : path-like
        The run's directory.

    Returns
    -------
    dict
        The settings, and ``measured``, a list of dictionaries, one for each temperature, with values per unit:
        ``energy`` and ``specific_heat``, with standard errors (``energy_error``, ``specific_heat_error``);
        ``magnetisation``, the mean of its absolute value; ``binder``, the Binder cumulant; ``time``, the integrated
        autocorrelation time of the absolute magnetisation, in sweeps; ``exact_energy`` and ``exact_specific_heat`` of
        the periodic square lattice, by Onsager and Kaufman, else None.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If the results are damaged, or the run is of another kind.
    """
    return TransitionRun(finished(directory, "transition")).read_document()
