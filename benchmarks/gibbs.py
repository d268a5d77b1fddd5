"""One step of Gibbs sampling: hidden units given the visible ones, then visible ones given those, for many chains."""

import importlib
from collections.abc import Iterator

from nbm_xp import natural_bm as B

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere
from .rbm import Parameters, binary, parameters

CHAINS, SHAPE = 1000, (784, 500)
DEVICE_CHAINS, DEVICE_SHAPE = 4096, (4096, 4096)
OVER_PRODUCTS = 1.15


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


def step(values, v):
    """Chains held in a variable, moved one step at each call."""
    rng = B.make_rng(2026)
    chains = B.variable(v, dtype="float32")
    weights, visible, hidden = (B.variable(value, dtype="float32") for value in values)
    n_chains, (n_visible, n_hidden) = B.get_variable_shape(chains)[0], B.get_variable_shape(weights)
    h = B.random_binomial((n_chains, n_hidden), p=B.sigmoid(B.dot(chains, weights) + hidden), rng=rng)
    moved = B.random_binomial((n_chains, n_visible), p=B.sigmoid(B.dot(h, B.transpose(weights)) + visible), rng=rng)
    return B.function([], [], updates=[(chains, moved)])


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
