"""Runs on many workers, simulated: the time of a sweep, and what limits it.

``python -m benchmarks.scale`` prints a table of lattices of 10**12 spins, and of 10**6 chains of an RBM of 10**4 units
a layer, on 10, 100 and 1,000 workers. Blocks, segments, which of them wait for which, and the rule that submits them
are those of `sample_graph` and `sample`: the driver of runs is executed, on a pool whose workers, client, scheduler and
storage are simulated event by event. Their costs are `Costs`; ``--measure`` measures those of this machine.
"""

import argparse
import heapq
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import distributed

from nbm_xp.graphs import GraphMachine, lattice
from nbm_xp.graphs.chain_groups import ChainGroup, Schedule
from nbm_xp.graphs.lattice_blocks import LatticeDivision, couplings_of, divided
from nbm_xp.graphs.lattice_sweeps import lattice_block
from nbm_xp.rng import hashed_seed
from nbm_xp.runs import Workers, pools
from nbm_xp.runs.execution import carry_out
from nbm_xp.runs.graph_job import GraphJob
from nbm_xp.runs.graph_runs import _divided
from nbm_xp.runs.job import CHAINS_IN_A_BLOCK, Block, Job
from nbm_xp.runs.sampling import SampleJob, _usual_segment

SPINS, UNITS, CHAINS, SEGMENTS = 10**12, 10**4, 10**6, 4
SPREAD, SLOW, SLOWER = 0.1, 0.01, 5.0  # of the logarithm of speeds; the share of workers that are slower, by how much
HEAD = "| a block | blocks | sweeps a task | computing | workers | a sweep | useful | tasks per second | limited by |\n"
HEAD += "| --- " * 9 + "|"
OTHERS: dict[int, list[tuple[int, int]]] = {2: [(4096, 4), (4082, 16)], 3: [(256, 2), (477, 14)]}  # chunks, and sweeps


@dataclass(frozen=True)
class Costs:
    """Seconds on one core, measured where this was written; requests per second as published for Amazon S3."""

    flip: tuple[float, ...] = (0.0, 0.0, 1.95e-9, 3.85e-9)  # of a unit that is drawn, by the number of axes
    product: float = 2.3e-11  # of a multiplication and addition of a matrix product, with its share of draws
    client: float = 0.6e-3  # of a task
    scheduler: float = 1.0e-3
    reads: float = 5500.0  # requests of a prefix
    writes: float = 3500.0  # and deletions
    latency: float = 0.1  # seconds; small objects take "roughly 100-200 milliseconds"
    bandwidth: float = 90e6  # bytes per second of a request; "85-90 MB/s"
    lost: float = 0.05 / 3600  # workers per second and worker, of which another takes the place
    restart: float = 120.0


class Work(NamedTuple):
    """A task: seconds of computing and, of these, for what it returns; requests; seconds of reading and of writing."""

    computing: float
    useful: float
    reads: int
    writes: int
    reading: float
    writing: float


def work_on_lattice(division: LatticeDivision, costs: Costs, at_once: bool = True) -> Work:
    """Return the work of a task, which reads its block, its states and, `at_once` or not, those of its neighbours."""
    size, sweeps = [lengths[0] for lengths in division.chunks], division.sweeps_at_once
    axes, block, near = len(size), math.prod(size), 3 ** len(size) - 1
    drawn = sum(math.prod(n + 2 * division.graph.reach * k + 1 for n in size) for k in range(sweeps))
    moved = (block / 8 + math.prod(n + 2 * division.depth for n in size) - block) / costs.bandwidth
    trips, flip = (3 if at_once else 2 + near) * costs.latency, costs.flip[axes]
    return Work(drawn * flip, block * sweeps * flip, 2 + near, 4, trips + moved, 4 * costs.latency + moved)


def work_on_chains(job: SampleJob, costs: Costs) -> Work:
    """Return the work of a task, which reads its states, makes its sweeps, and writes its draws and its states."""
    computing = job.checkpoint_every * job.thin * job.chunks * 2 * UNITS**2 * costs.product
    states = job.chunks * UNITS / costs.bandwidth
    return Work(computing, computing, 1, 3, costs.latency + states, 3 * costs.latency + states * job.checkpoint_every)


class Server:
    """One that serves requests one after the other."""

    free = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """Return when a request that arrives now has been served."""
        self.free = max(self.free, now) + seconds
        return self.free


class Simulated:
    """A pool of simulated workers, as those of `nbm_xp.runs.pools`."""

    def __init__(self, count: int, work: Work, costs: Costs) -> None:
        chance = random.Random(1)
        self.work, self.costs, self.chance, self.now, self.count = work, costs, chance, 0.0, 0
        self.client, self.scheduler, self.reads, self.writes = (Server() for _ in range(4))
        self.slowness = [chance.lognormvariate(0, SPREAD) * SLOWER ** (i < int(SLOW * count)) for i in range(count)]
        self.idle, self.ready = deque(chance.sample(range(count), count)), deque[Any]()
        self.events, self.finished = list[Any](), list[float]()

    def check(self, *given: Any) -> None:
        """Accept everything."""

    check_result = stop = check

    def _then(self, when: float, what: Any, *about: Any) -> None:
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what, about))

    def submit(self, job: Job, block: Block, segment: int) -> Any:
        """Submit a task: first the client handles it, then the scheduler."""
        task = object()
        self._then(self.client.serve(self.now, self.costs.client / 2), self._arrive, task)
        return task

    def wait(self, pending: Any, timeout: float) -> list[Any]:
        """Return the next task of which the client hears that it is finished."""
        while True:
            self.now, _, what, about = heapq.heappop(self.events)
            if what is None:
                return list(about)
            what(*about)

    def _arrive(self, task: Any) -> None:
        self._then(self.scheduler.serve(self.now, self.costs.scheduler / 2), self._assign, task)

    def _assign(self, *tasks: Any) -> None:
        self.ready.extend(tasks)
        while self.ready and self.idle:
            worker, task = self.idle.popleft(), self.ready.popleft()
            read = self.reads.serve(self.now, self.work.reads / self.costs.reads) + self.work.reading
            done = read + self.work.computing * self.slowness[worker]
            is_lost = self.chance.random() < self.costs.lost * (done - self.now)
            self._then(done, self._lose if is_lost else self._write, worker, task)

    def _write(self, worker: int, task: Any) -> None:
        written = self.writes.serve(self.now, self.work.writes / self.costs.writes) + self.work.writing
        self._then(written, self._end, worker, task)

    def _lose(self, worker: int, task: Any) -> None:
        self._then(self.now + self.costs.restart, self._join, worker)
        self._arrive(task)

    def _join(self, worker: int) -> None:
        self.idle.append(worker)
        self._assign()

    def _end(self, worker: int, task: Any) -> None:
        self.finished.append(self.now)
        self._then(self.scheduler.serve(self.now, self.costs.scheduler / 2), self._tell, task)
        self._join(worker)

    def _tell(self, task: Any) -> None:
        self._then(self.client.serve(self.now, self.costs.client / 2), None, task)


def simulated(name: str, job: Job, sweeps: int, work: Work, count: int, costs: Costs) -> str:
    """Execute the driver on simulated workers; return a row of the table, from the middle of the run."""
    pool = Simulated(count, work, costs)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        run: Any = SimpleNamespace(path=place, checkpoints=place, log=len, check_lock=list)
        carry_out(run, [job], pool, max)  # type: ignore[arg-type]
    first, last = (int(share * len(pool.finished)) for share in (0.3, 0.9))
    rate = (last - first) / (pool.finished[last] - pool.finished[first])
    shares = {
        "the client": rate * costs.client, "the scheduler": rate * costs.scheduler,
        "reads of the storage": rate * work.reads / costs.reads, "writes": rate * work.writes / costs.writes,
    }  # fmt: skip
    most, blocks = max(shares, key=lambda what: shares[what]), len(job.blocks)
    if shares[most] < 0.8:
        waits = work.computing < 4 * (work.reading + work.writing)
        most = "computing, then latency of the storage" if waits else "computing"
    cells = f"{name} | {blocks:,} | {sweeps} | {work.computing:.2g} s | {count:,} | {blocks / rate / sweeps:.3g} s"
    return f"| {cells} | {rate * work.useful / count:.0%} | {rate:.3g} | {most} |"


def rows(costs: Costs, counts: list[int]) -> Any:
    """Yield the rows of the table."""
    for axes, others in OTHERS.items():
        shape, ends = (round(SPINS ** (1 / axes)),) * axes, (True,) * axes
        usual = _divided(lattice(shape), None)
        made = [(count, usual, True) for count in counts]
        made += [(counts[-1], divided(shape, ends, *other), other != others[0]) for other in others]
        for count, division, at_once in made:
            chunks, every = tuple(lengths[0] for lengths in division.chunks), division.sweeps_at_once
            schedule = 0, SEGMENTS * every, every, ()
            job = GraphJob("", 1, "", "spin", "heat_bath", (0.4,), SPINS, *schedule, shape, ends, chunks, every)
            name = " × ".join(map(str, chunks)) + ("" if at_once else ", neighbours one after the other")
            yield simulated(name, job, every, work_on_lattice(division, costs, at_once), count, costs)
    for thin in (1, 10):
        every = _usual_segment(100, thin, CHAINS_IN_A_BLOCK * UNITS)
        what = CHAINS, CHAINS_IN_A_BLOCK, every, 0, SEGMENTS * every, thin, (0,), False, (), None
        chains = SampleJob("", 1, "", "", "numpy", *what)
        for count in counts:
            yield simulated(
                f"128 chains, thin={thin}", chains, every * thin, work_on_chains(chains, costs), count, costs
            )


def measured(costs: Costs, tasks: int = 3000) -> Costs:
    """Measure the costs of units, and of tasks that do nothing: of this client, and of a scheduler of its own."""
    flips = [0.0, 0.0]
    for axes, length, sweeps in ((2, 2048, 8), (3, 192, 3)):
        machine, middle = GraphMachine(lattice((3 * length,) * axes)), (1,) * axes
        division = divided(machine.graph.shape, (True,) * axes, length, sweeps)
        block = lattice_block(division, middle, couplings_of(machine))
        group = ChainGroup(machine.n_units, "spin", "heat_bath", hashed_seed(1), 0, (0.4,))
        states, _ = block.begin(group)
        shown = {other: division.shown(other, states)[middle] for other in division.neighbours(middle)}
        began = time.process_time()
        block.step(group, states, shown, division.step(Schedule(0, 0, sweeps, sweeps + 1), 0))
        flips.append((time.process_time() - began) / (work_on_lattice(division, costs).computing / costs.flip[axes]))
    setattr(pools, "_run_segment", slice)  # noqa: B010  (it takes three arguments, and every worker has it)
    job: Any = SimpleNamespace(describe=lambda block, segment: f"trivial-{block.number}")
    with tempfile.TemporaryDirectory() as folder:
        file, python = pathlib.Path(folder) / "scheduler.json", [sys.executable, "-m"]
        options = ["--scheduler-file", str(file), "--no-dashboard"]
        kinds = ["scheduler --host 127.0.0.1 --port 0", *["worker --nthreads 1 --no-nanny"] * 2]
        commands = [[*python, *f"distributed.cli.dask_{kind}".split(), *options] for kind in kinds]
        started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in commands]
        try:
            while not file.exists():
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            with Workers(address) as cluster, distributed.Client(address) as client:
                before, mine = client.run_on_scheduler(time.process_time), time.process_time()
                pending = {cluster.pool.submit(job, Block(i, i, 1), 0) for i in range(tasks)}
                while pending:
                    pending.difference_update(cluster.pool.wait(pending, 1.0))
                spent = time.process_time() - mine, client.run_on_scheduler(time.process_time) - before
        finally:
            for process in started:
                process.terminate()
                process.wait()
    return replace(costs, flip=tuple(flips), client=spent[0] / tasks, scheduler=spent[1] / tasks)


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--measure", action="store_true", help="measure the costs of this machine")
    parser.add_argument("--latency", type=float, default=Costs.latency, help="seconds until the storage answers")
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000], help="numbers of workers")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    options = parsed(arguments)
    costs = measured(Costs()) if options.measure else Costs()
    costs = replace(costs, latency=options.latency)
    print(f"{costs}\n\n{HEAD}")
    for row in rows(costs, options.workers):
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
