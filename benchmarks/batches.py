"""A batch in blocks: Dask's synchronous scheduler beside the same plan on the undivided arrays.

The gradient is that of an RBM's cost, the mean free energy of 6400 examples less that of 6400 samples, in its three
parameters: 784 × 500, float32, 64 blocks of 100. The loop is a recurrent layer of 200 steps with its gradient, of which
only the laying out is timed: how long it takes until the graph of tasks is there.
"""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp import natural_bm as B
from nbm_xp.namespace import use_backend
from nbm_xp.tape import Variable, function, gradients, placeholder, scan
from nbm_xp.tape import namespace as recorded

from .harness import Contender, Row
from .libraries import Library
from .rbm import binary, free_energy, parameters

SHAPE, BATCH, BLOCK = (784, 500), 6400, 100
STEPS, WIDTH = 200, 64
OVER_UNDIVIDED, OVER_ONE_BLOCK_BY = 1.6, 0.25


def rows(library: Library) -> Iterator[Row]:
    if library.name not in ("numpy", "cupy"):  # what Dask has blocks of
        return
    data, samples = (library.array(binary(BATCH, SHAPE[0])[::step].copy()) for step in (1, -1))
    divided = computed(gradient(batch_axis=0, combine="mean"))
    yield Row(
        f"gradient, {BATCH // BLOCK} blocks",
        Contender("nbm_xp, batch_axis=0", divided, (blocks(data), blocks(samples))),
        [
            Contender("undivided", gradient(), (data, samples), at_most=OVER_UNDIVIDED),
            Contender("operation by operation", computed(gradient()), (blocks(data), blocks(samples))),
        ],
    )
    with use_backend(library.name):
        layer = recurrent_layer()
    sequence = library.array(np.ones((STEPS, BATCH, WIDTH), dtype="float32"))
    yield Row(
        f"laying out a scan of {STEPS} steps, {BATCH // BLOCK} blocks",
        Contender("nbm_xp, batch_axis=1", layer, (blocks(sequence, axis=1),)),
        [Contender("one block", layer, (blocks(sequence, axis=1, block=BATCH),), at_most_more=OVER_ONE_BLOCK_BY)],
    )


def blocks(value, axis=0, block=BLOCK):
    """The array in blocks along an axis."""
    chunks = {i: block if i == axis else -1 for i in range(value.ndim)}
    return importlib.import_module("dask.array").from_array(value, chunks=chunks, asarray=False)


def computed(call):
    """The call, its results computed in this thread."""
    compute = importlib.import_module("dask").compute
    return lambda *arguments: compute(call(*arguments), scheduler="synchronous")


def gradient(**options):
    """The cost and its gradient as a function of data and samples."""
    data, samples = (B.placeholder(ndim=2, dtype="float32") for _ in range(2))
    variables = [B.variable(value, dtype="float32") for value in parameters(*SHAPE)]
    cost = free_energy(data, *variables) - free_energy(samples, *variables)
    return function([data, samples], [cost, *gradients(cost, variables)], **options)


def recurrent_layer():
    """The final state's mean square and its gradient, as a function of a sequence of batches."""
    x = placeholder((STEPS, None, WIDTH), dtype="float32")
    w, u = variables = [Variable(np.eye(WIDTH, dtype="float32")) for _ in range(2)]
    start = recorded.zeros((x.shape[1], WIDTH), dtype="float32")
    states, _ = scan(lambda row, h: recorded.tanh(row @ w + h @ u), x, start)
    loss = recorded.mean(states[-1] ** 2)
    return function([x], [loss, *gradients(loss, variables)], batch_axis=1, combine="mean")
