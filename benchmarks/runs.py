"""Sampling as a run, on threads: chains in blocks beside one block, and draws on disk beside the same sweeps alone."""

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
from nbm_xp.runs import Workers, sample

from .harness import Contender, Row
from .libraries import Library, elsewhere
from .rbm import parameters

CHAINS, SHAPE, SWEEPS, BLOCKS = 1000, (784, 500), 50, 16
OVER_PLAIN = 1.2


def rows(library: Library) -> Iterator[Row]:
    values = parameters(*SHAPE)
    model = RBM.from_parameters(values.weights.T.copy(), values.hidden, values.visible)
    if library.name != "numpy":
        yield Row("runs", elsewhere("nbm_xp.runs.sample", library))
        return
    chains = Chains(Machine.of(model), 1)
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
