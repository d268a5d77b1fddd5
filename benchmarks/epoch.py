"""Ten passes of persistent contrastive divergence beside scikit-learn's ten, its default, at equal work.

Both see the same rows in the same batches, keep as many chains as a batch has rows, and move them one step a batch. The
handwritten digits are 1,797 binarised scans in batches of ten, whose arrays are so small that calls are what costs. Of
3,000 rows of the size of MNIST's, in batches of a hundred, matrix products are: the same five on either side.
"""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp.boltzmann import RBM

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere

SMALL = {"n_components": 100, "learning_rate": 0.05, "batch_size": 10, "n_iter": 10, "random_state": 2026}
LARGE = {**SMALL, "n_components": 500, "batch_size": 100}
ROWS, UNITS = 3000, 784
OVER_SCIKIT_LEARN_SMALL, OVER_SCIKIT_LEARN = 0.7, 0.5


def rows(library: Library) -> Iterator[Row]:
    if gone := absent("nbm_xp RBM.fit", "sklearn", "nbm_xp[app]"):
        yield Row("PCD on the digits", gone)
        return
    digits = (importlib.import_module("sklearn.datasets").load_digits().data > 7).astype(np.float32)
    for name, data, settings, bar in (
        ("PCD on the digits", digits, SMALL, OVER_SCIKIT_LEARN_SMALL),
        (
            f"PCD, {ROWS} rows of {UNITS}, {LARGE['n_components']} hidden units",
            sparse(ROWS, UNITS),
            LARGE,
            OVER_SCIKIT_LEARN,
        ),
    ):
        ours = Contender("nbm_xp RBM.fit", library.finished(fit(settings)), (library.array(data),))
        yield Row(
            name, ours, [scikit_learn(library, data, settings, bar)], per=settings["n_iter"] * len(data), unit="row"
        )


def fit(settings):
    """Learning of a model from rows."""

    def components(data):
        return RBM(**settings, training="pcd", shuffle=False).fit(data).components_

    return components


def sparse(*shape):
    """Zeros and ones, a fifth of them ones, float32."""
    return (np.random.Generator(np.random.PCG64(9)).random(shape) < 0.2).astype(np.float32)


def scikit_learn(library, data, settings, bar):
    if library.name != "numpy":
        return elsewhere("scikit-learn BernoulliRBM.fit", library)
    model = importlib.import_module("sklearn.neural_network").BernoulliRBM(**settings)
    return Contender("scikit-learn BernoulliRBM.fit", model.fit, (data,), at_most=bar)
