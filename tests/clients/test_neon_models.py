"""neon's own models on `nbm_xp.neon`: skipped where neon is not installed, or does not import on this Python."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Backend, compute_on
from tests.libraries import Library, libraries

BATCH = 32


def why_not() -> str | None:
    """Why neon cannot be had here, or None."""
    try:
        neon = importlib.import_module("neon")
        for name in ("layers", "models", "optimizers", "transforms", "initializers", "data"):
            importlib.import_module(f"neon.{name}")
    except (ImportError, AttributeError, SyntaxError) as error:
        return f"neon cannot be imported: {error}"
    return None if hasattr(neon, "NervanaObject") else "the package called neon is another one"


@pytest.fixture(params=libraries("numpy", "torch", "cupy", without=("numpy-readonly",)))
def be(request: pytest.FixtureRequest) -> Backend:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    library: Library = request.param
    return compute_on(Backend(rng_seed=1, library=library.name), BATCH)


def digits() -> tuple[np.ndarray, np.ndarray]:
    sklearn = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    scans, labels = sklearn.load_digits(return_X_y=True)
    return (scans / 16).astype("float32"), labels.astype("int32")


def learned(layers: Sequence[Any], lshape: tuple[int, ...], passes: int) -> float:
    """The share of scans that a model of neon's gets wrong, after it was trained on them."""
    from neon.callbacks.callbacks import Callbacks
    from neon.data import ArrayIterator
    from neon.layers import GeneralizedCost
    from neon.models import Model
    from neon.optimizers import GradientDescentMomentum
    from neon.transforms import CrossEntropyMulti, Misclassification

    scans, labels = digits()
    data = ArrayIterator(scans, labels, nclass=10, lshape=lshape)
    model = Model(layers=list(layers))
    model.fit(
        data,
        cost=GeneralizedCost(costfunc=CrossEntropyMulti()),
        optimizer=GradientDescentMomentum(0.1, momentum_coef=0.9),
        num_epochs=passes,
        callbacks=Callbacks(model),
    )
    return float(np.ravel(model.eval(data, metric=Misclassification()))[0])


def test_perceptron(be: Backend) -> None:
    from neon.initializers import Gaussian
    from neon.layers import Affine
    from neon.transforms import Rectlin, Softmax

    init = Gaussian(loc=0.0, scale=0.1)
    layers = [
        Affine(nout=64, init=init, batch_norm=True, activation=Rectlin()),
        Affine(nout=10, init=init, activation=Softmax()),
    ]
    assert learned(layers, (1, 8, 8), passes=5) < 0.05


def test_convolutions(be: Backend) -> None:
    from neon.initializers import Gaussian
    from neon.layers import Affine, Conv, Pooling
    from neon.transforms import Rectlin, Softmax

    init = Gaussian(loc=0.0, scale=0.1)
    layers = [
        Conv((3, 3, 16), init=init, padding=1, activation=Rectlin()),
        Pooling(2, op="max"),
        Conv((3, 3, 24), init=init, batch_norm=True, activation=Rectlin()),
        Affine(nout=10, init=init, activation=Softmax()),
    ]
    assert learned(layers, (1, 8, 8), passes=5) < 0.05
