"""Runs: chains in blocks beside one, draws on disk beside the same sweeps alone, two workers that train beside one.

The bar of training is that of two idle cores.
"""

import concurrent.futures
import itertools
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

import numpy as np

from nbm_xp.boltzmann import RBM
from nbm_xp.boltzmann.chains import Chains, Machine
from nbm_xp.runs import Workers, sample, train

from .harness import Contender, Row
from .libraries import Library, elsewhere
from .rbm import parameters

CHAINS, SHAPE, SWEEPS, BLOCKS = 1000, (784, 500), 50, 16
OVER_PLAIN = 1.2
BATCH, FASTER = 2000, 1.6  # rows of a minibatch; two workers beside one, on two cores


def rows(library: Library) -> Iterator[Row]:
    values = parameters(*SHAPE)
    model = RBM.from_parameters(values.weights.T.copy(), values.hidden, values.visible)
    if library.name != "numpy":
        yield Row("runs", elsewhere("nbm_xp.runs.sample", library))
        return
    chains = Chains(Machine.of(model.state_), 1)
    workers = os.cpu_count() or 1
    plain = Contender(
        "model.sample in memory",
        lambda: model.sample(CHAINS, SWEEPS, random_state=1),
        at_most=OVER_PLAIN,
    )
    blocks = Contender(f"{BLOCKS} blocks, {workers} threads", lambda: in_blocks(chains, workers))
    yield Row(f"{CHAINS} chains, {SHAPE[0]} × {SHAPE[1]}, {SWEEPS} sweeps", blocks, [plain])

    for thin in (1, 10):
        run = Contender(f"a run on disk, a draw every {thin} sweeps", on_disk(model, thin, workers))
        memory = Contender("the same blocks, nothing kept", lambda: in_blocks(chains, workers), at_most=OVER_PLAIN)
        yield Row(f"{CHAINS} chains, {SHAPE[0]} × {SHAPE[1]}, {SWEEPS} sweeps kept, thin {thin}", run, [memory])

    for scheduler in ("threads", "local"):
        with Workers(scheduler, n_workers=2) as two, Workers(scheduler, n_workers=1) as one:
            ours = Contender(f"two workers: {scheduler}", trained(two))
            peer = Contender("one worker", trained(one), at_most=1 / FASTER)
            yield Row(f"training {SHAPE[0]} × {SHAPE[1]}, 100 steps on {BATCH} rows", ours, [peer])


def trained(workers):
    """What trains a machine in a directory, and removes it."""
    data = np.random.default_rng(0).random((4 * BATCH, SHAPE[0])) < 0.3

    def run():
        place = pathlib.Path(tempfile.mkdtemp())
        model = RBM(SHAPE[1], n_iter=25, batch_size=BATCH, random_state=1, diagnostics=False)
        train(model, place / "run", data, scheduler=workers)
        shutil.rmtree(place)

    return run


def in_blocks(chains, workers):
    """The last states of all chains, block by block."""
    rows = -(-CHAINS // BLOCKS)
    edges = [*range(0, CHAINS, rows), CHAINS]

    def block(first, last):
        return chains.advance(chains.start(first, last - first), first, 0, SWEEPS)[0]

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(lambda pair: block(*pair), itertools.pairwise(edges))), axis=1)


def on_disk(model, thin, workers):
    """What samples into a directory, and removes it."""

    def run():
        place = pathlib.Path(tempfile.mkdtemp())
        sample(
            model,
            place / "run",
            CHAINS,
            SWEEPS // thin,
            thin=thin,
            chunks=-(-CHAINS // BLOCKS),
            random_state=1,
            scheduler=Workers(n_workers=workers),
        )
        shutil.rmtree(place)

    return run
