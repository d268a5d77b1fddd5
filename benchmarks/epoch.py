"""One epoch of persistent contrastive divergence on the handwritten digits, beside scikit-learn at equal work.

Both see the same 1,797 binarised scans in batches of ten, keep ten chains, and move them one step a batch.
"""

import importlib
from collections.abc import Iterator

import numpy as np

from nbm_xp.boltzmann import RBM

from .harness import Contender, Row
from .libraries import Library, absent, elsewhere

SETTINGS = {"n_components": 100, "learning_rate": 0.05, "batch_size": 10, "n_iter": 1, "random_state": 2026}


def rows(library: Library) -> Iterator[Row]:
    if gone := absent("nbm_xp RBM.fit", "sklearn", "nbm_xp[app]"):
        yield Row("PCD on the digits", gone)
        return
    digits = importlib.import_module("sklearn.datasets").load_digits().data
    data = (digits > 7).astype(np.float32)
    own = library.array(data)

    def fit(data):
        return RBM(**SETTINGS, persistent=True, shuffle=False).fit(data).components_

    ours = Contender("nbm_xp RBM.fit", library.finished(fit), (own,))
    yield Row("PCD on the digits", ours, [scikit_learn(library, data)], per=len(data), unit="row")


def scikit_learn(library, data):
    if library.name != "numpy":
        return elsewhere("scikit-learn BernoulliRBM.fit", library)
    model = importlib.import_module("sklearn.neural_network").BernoulliRBM(**SETTINGS)
    return Contender("scikit-learn BernoulliRBM.fit", model.fit, (data,))
