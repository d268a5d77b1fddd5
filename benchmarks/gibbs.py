"""One step of Gibbs sampling: hidden units given the visible ones, then visible ones given those, for many chains.

With several threads (``--threads 2``), also a step of sixteen times as many chains in sixteen blocks of Dask's threads,
each with one thread of linear algebra, beside the undivided step with the linear algebra's own threads.
"""

import importlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from nbm_xp import natural_bm as B
from nbm_xp.tape import function

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere
from .rbm import Parameters, binary, parameters

CHAINS, SHAPE = 1000, (784, 500)
DEVICE_CHAINS, DEVICE_SHAPE = 4096, (4096, 4096)
OVER_PRODUCTS, OVER_UNDIVIDED = 1.15, 1.2
BLOCKS = 16


def rows(library: Library) -> Iterator[Row]:
    chains, shape = (CHAINS, SHAPE) if library.on_host else (DEVICE_CHAINS, DEVICE_SHAPE)
    host = parameters(*shape), binary(chains, shape[0])
    values, v = Parameters(*map(library.array, host[0])), library.array(host[1])
    h = library.array(binary(chains, shape[1]))
    weights, xp = values.weights, library.xp
    bar = OVER_PRODUCTS if library.threads == 1 or not library.on_host else None
    products = Contender(
        "its two matrix products",
        library.finished(lambda: (xp.matmul(v, weights), xp.matmul(h, weights.T))),
        at_most=bar,
    )
    ours = Contender("nbm_xp function", library.finished(step(values, v)))
    yield Row(f"{chains} chains, {shape[0]} × {shape[1]}", ours, [products, scikit_learn(library, *host)])
    if library.name == "numpy":
        yield in_blocks(library, values)


def step(values, v):
    """Chains held in a variable, moved one step at each call."""
    rng = B.make_rng(2026)
    chains = B.variable(v, dtype="float32")
    weights, visible, hidden = (B.variable(value, dtype="float32") for value in values)
    n_chains, (n_visible, n_hidden) = B.get_variable_shape(chains)[0], B.get_variable_shape(weights)
    h = B.random_binomial((n_chains, n_hidden), p=B.sigmoid(B.dot(chains, weights) + hidden), rng=rng)
    moved = B.random_binomial((n_chains, n_visible), p=B.sigmoid(B.dot(h, B.transpose(weights)) + visible), rng=rng)
    return B.function([], [], updates=[(chains, moved)])


def in_blocks(library, values):
    """Blocks of Dask beside the undivided array on the same cores."""
    name = f"{BLOCKS * CHAINS} chains, {BLOCKS} blocks, {library.threads} threads"
    if gone := absent("nbm_xp on Dask", "threadpoolctl", "nbm_xp[app]"):
        return Row(name, gone)
    da, compute = importlib.import_module("dask.array"), importlib.import_module("dask").compute
    limits = importlib.import_module("threadpoolctl").threadpool_limits
    v = binary(BLOCKS * CHAINS, SHAPE[0])
    lazy, pool = da.from_array(v, chunks=(CHAINS, -1), asarray=False), ThreadPoolExecutor(library.threads)
    divided, undivided = sweep(values, batch_axis=0), sweep(values)

    def ours():
        with limits(1):
            return compute(divided(lazy), scheduler="threads", pool=pool)

    peer = Contender("nbm_xp, undivided", undivided, (v,), at_most=OVER_UNDIVIDED)
    return Row(name, Contender("nbm_xp on Dask, batch_axis=0", ours), [peer])


def sweep(values, **options):
    """A step that takes its chains and gives them back."""
    rng = B.make_rng(2026)
    weights, visible, hidden = (B.variable(value, dtype="float32") for value in values)
    n_visible, n_hidden = B.get_variable_shape(weights)
    v = B.placeholder(shape=(None, n_visible), dtype="float32")
    h = B.random_binomial((v.shape[0], n_hidden), p=B.sigmoid(B.dot(v, weights) + hidden), rng=rng)
    moved = B.random_binomial((v.shape[0], n_visible), p=B.sigmoid(B.dot(h, B.transpose(weights)) + visible), rng=rng)
    return function([v], moved, **options)


def scikit_learn(library, values, v):
    if library.name != "numpy":
        return elsewhere("scikit-learn BernoulliRBM.gibbs", library)
    if gone := absent("scikit-learn BernoulliRBM.gibbs", "sklearn", "nbm_xp[app]"):
        return gone
    model = importlib.import_module("sklearn.neural_network").BernoulliRBM(n_components=len(values.hidden), n_iter=0)
    model.fit(v)  # no pass over the data: it only sets up what gibbs needs, in float32
    model.components_ = values.weights.T.copy()
    model.intercept_visible_, model.intercept_hidden_ = values.visible, values.hidden
    return Contender("scikit-learn BernoulliRBM.gibbs", model.gibbs, (v,))
