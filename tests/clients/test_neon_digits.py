"""The example: a perceptron on neon's documented Backend learns scikit-learn's digits."""

import numpy as np
import pytest

from nbm_xp.neon import Backend, gradients
from tests.helpers.libraries import Library, libraries

pytest.importorskip("sklearn", reason="scikit-learn is not installed")


def test_digits() -> None:
    from examples.neon_digits import learn

    findings = learn(passes=8)
    assert findings.accuracy >= 0.95
    assert findings.costs[-1] < 0.2 * findings.costs[0]


@pytest.mark.slow
@pytest.mark.parametrize("library", libraries("torch", "jax", "cupy"))
def test_digits_elsewhere(library: Library) -> None:
    """The same draws, so the same costs but for rounding."""
    from examples.neon_digits import learn

    ours, theirs = learn(passes=2), learn(passes=2, library=library.name)
    np.testing.assert_allclose(theirs.costs, ours.costs, rtol=1e-3)
    assert abs(theirs.accuracy - ours.accuracy) < 0.02


def test_its_slopes_are_those_of_the_tape() -> None:
    from examples.neon_digits import BATCH, Perceptron

    be = Backend(rng_seed=2, default_dtype="float64", library="numpy")
    be.bsz = BATCH
    network, x, labels = Perceptron(be), be.zeros((64, BATCH)), be.zeros((1, BATCH), dtype="int32")
    x[:] = be.rng.random(x.shape)
    labels[:] = be.rng.random(labels.shape) * 10
    network.forward(x, training=True)
    network.cost(labels)
    hidden = be.maximum(be.dot(network.w, x) + network.b, 0) * network.mask * (1 / network.keep)
    scores = be.dot(network.v, hidden) + network.c
    powers = be.exp(scores - be.max(scores, axis=0))
    cost = be.mean(be.sum(-network.targets * be.safelog(powers / be.sum(powers, axis=0)), axis=0))
    for written, found in zip(network.backward(x), gradients(cost, network.weights), strict=True):
        np.testing.assert_allclose(written.get(), found.get(), rtol=1e-9, atol=1e-12)
