"""A model larger than memory: chains of an RBM whose weights stay on disk, on one worker with limited memory.

``python -m benchmarks.tiles --units 60000`` is the full one: 14.4 GB of weights on a worker of 4 GB. Time is set
against what the chains cannot do without: their matrix products, with a tile that lies in memory, and the reading of
the tiles, each timed alone on as many threads, before the chains and after, and every tile read twice a sweep.
"""

import argparse
import concurrent.futures
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.__main__ import THREAD_VARIABLES

AT_MOST, SEED = 1.5, 2026


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, and of processors: other programs beside this one lengthen the first far more."""

    wall: float
    processor: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall + other.wall, self.processor + other.processor)

    def __rmul__(self, times: float) -> "Cost":
        return Cost(times * self.wall, times * self.processor)

    def __str__(self) -> str:
        return f"{self.wall:9.1f} s, {self.processor:9.1f} s of processors"


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tiles", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--units", type=int, default=6000, help="units of each layer (6000; 60000 are 14.4 GB)")
    parser.add_argument("--tile", type=int, default=3000, help="the side of a tile (3000: 36 MB)")
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="threads of the worker (2)")
    parser.add_argument("--memory", default="4GB", help="the worker's limit (4GB)")
    parser.add_argument("--folder", type=pathlib.Path, help="where the weights are put, and removed again")
    parser.add_argument("--share", type=float, default=1.0, help="of the products and reads timed alone, how many (1)")
    parser.add_argument("--model", type=pathlib.Path, help="weights to keep, or kept before, for the same options")
    parser.add_argument("--without-core", action="store_true", help="start where the compiled core is not in use too")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))  # the worker's threads are those that multiply

    from benchmarks import harness

    if not options.without_core:
        harness.refuse_without_core()
    if options.model is not None:
        return run(options, options.model)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tiles-", dir=options.folder))
    try:
        return run(options, folder / "model.zarr")
    finally:
        shutil.rmtree(folder)


def run(options: argparse.Namespace, path: pathlib.Path) -> int:
    from dask.utils import format_bytes, parse_bytes
    from distributed import Client, LocalCluster

    from benchmarks import harness

    print(harness.machine(options.threads), flush=True)
    size = 4 * options.units**2
    worker = f"one worker, {options.threads} threads, {options.memory}"
    print(f"weights {options.units:,} × {options.units:,} float32, {size / 1e9:.2f} GB, tiles of {options.tile:,}")
    print(f"{options.chains:,} chains, {options.sweeps} sweeps; {worker}", flush=True)
    if not path.exists():
        print(f"writing            {timed(lambda: make(path, options))}", flush=True)
    first = needed(path, options)
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=options.threads, memory_limit=options.memory, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        warm_up(path.parent)
        (before,) = client.run(usage).items()
        took, ones = sampled(path, options)
        (after,) = client.run(usage).items()
    sampling, peak = Cost(took, after[1][0] - before[1][0]), after[1][1]
    reads, products = (0.5 * (one + other) for one, other in zip(first, needed(path, options), strict=True))
    print(f"disk reads         {reads}, {2 * options.sweeps * size / reads.wall / 1e9:.2f} GB/s")
    print(f"matrix products    {products}")
    print(f"sampling           {sampling}; {ones:.4f} of the units are 1")
    ratio, busy = (sampling.wall / (products + reads).wall, sampling.processor / (products + reads).processor)
    bar = f"at most {AT_MOST}: {harness.VERDICT[ratio <= AT_MOST]}"
    print(f"ratio              {ratio:9.3f}, {busy:9.3f} of processors; {bar}")
    within = peak < parse_bytes(options.memory) and before[0] == after[0]  # the same worker, never restarted
    print(f"peak of the worker {format_bytes(peak):>9}; under {options.memory}: {harness.VERDICT[within]}")
    return 0


def timed(call: Callable[[], object]) -> Cost:
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return Cost(time.perf_counter() - wall, time.process_time() - processor)


def usage() -> tuple[float, int]:
    """The processor time of this process so far, and the most memory that it ever held, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def make(path: pathlib.Path, options: argparse.Namespace) -> None:
    """A model with random weights, made and written tile by tile."""
    import dask

    from nbm_xp.boltzmann import RBM
    from nbm_xp.rng import Generator

    chunks = (options.tile, options.tile)
    weights = Generator(SEED, library="dask").random((options.units, options.units), "float32", chunks=chunks) - 0.5
    biases = [[0.0] * options.units] * 2
    with dask.config.set(scheduler="threads", num_workers=options.threads):
        RBM.from_parameters(weights * (12 / options.units) ** 0.5, *biases, random_state=SEED).save(path)


def sampled(path: pathlib.Path, options: argparse.Namespace) -> tuple[float, float]:
    """How long the chains take from an opened model on, and how many of the last states are 1."""
    from nbm_xp.boltzmann import RBM

    start = time.perf_counter()
    chains = RBM.load(path).sample(options.chains, options.sweeps, chunks=options.chains)
    ones = float(chains.mean().compute())
    return time.perf_counter() - start, ones


def warm_up(folder: pathlib.Path) -> None:
    """Have the worker import and compile what it needs, on a model of a few units that it reads too."""
    import dask.array
    import numpy as np

    from nbm_xp.boltzmann import RBM

    with tempfile.TemporaryDirectory(dir=folder) as small, dask.config.set({"array.chunk-size": "16B"}):
        path = pathlib.Path(small) / "model.zarr"
        RBM.from_parameters(dask.array.zeros((8, 8), dtype="float32", chunks=4), np.zeros(8), np.zeros(8)).save(path)
        RBM.load(path).sample(8, 1, chunks=8).mean().compute()


def needed(path: pathlib.Path, options: argparse.Namespace) -> tuple[Cost, Cost]:
    """What reading the tiles and multiplying with them costs: of each a share, before sampling and after."""
    files = sorted(file for file in (path / "weights.0-1" / "c").rglob("*") if file.is_file())
    count = max(1, round(len(files) * options.share))
    whole = options.sweeps * len(files) / count
    chosen = files[:: len(files) // count][:count]
    reads = timed(lambda: in_threads(options.threads, [file.read_bytes for file in chosen]))
    return 2 * whole * reads, whole * timed(lambda: multiply(options, count))


def multiply(options: argparse.Namespace, count: int) -> None:
    """Products with a tile that lies in memory, so many in each direction."""
    import numpy as np

    random = np.random.default_rng(0)
    tile = random.random((options.tile, options.tile), dtype="float32")
    states = (random.random((options.chains, options.tile)) < 0.5).astype("float32")
    in_threads(options.threads, [lambda: states @ tile, lambda: states @ tile.T] * count)


def in_threads(threads: int, calls: Sequence[Callable[[], object]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(lambda call=call: call() is None) for call in calls]:
            future.result()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
