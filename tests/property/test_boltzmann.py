"""A restricted Boltzmann machine small enough to enumerate is held to its definition, on every library."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.boltzmann import RBM, SGD
from tests.helpers.libraries import LIBRARIES, Library, guard


def states(count: int) -> Any:
    return np.array(list(itertools.product((0.0, 1.0), repeat=count)))


def machine(n_hidden: int, n_visible: int, seed: int, scale: float = 1.0, **params: Any) -> RBM:
    random = np.random.default_rng(seed)
    shapes = ((n_hidden, n_visible), n_hidden, n_visible)
    return RBM.from_parameters(*(scale * random.normal(size=shape) for shape in shapes), random_state=seed, **params)


def minus_energies(rbm: RBM) -> Any:
    """-E(v, h) of all states, by definition: a row for each state of the visible units."""
    v, h = states(rbm.n_features_in_), states(rbm.components_.shape[0])
    return (v @ rbm.intercept_visible_)[:, None] + h @ rbm.intercept_hidden_ + v @ rbm.components_.T @ h.T


@pytest.mark.at_night("jax")
@given(n_hidden=st.integers(1, 4), n_visible=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=6)
def test_free_energy_and_transform_are_what_they_are_by_definition(
    library: Library, n_hidden: int, n_visible: int, seed: int
) -> None:
    rbm = machine(n_hidden, n_visible, seed, scale=2.0)
    v, weights = states(n_visible), np.exp(minus_energies(rbm))
    rows = library.array(v)
    np.testing.assert_allclose(library.numpy(rbm.free_energy(rows)), -np.log(weights.sum(axis=1)), rtol=1e-9, atol=1e-9)
    on = weights @ states(n_hidden) / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(library.numpy(rbm.transform(rows)), on, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_hidden", "n_visible"), [(13, 15), (15, 13), (14, 14)])
def test_a_layer_enumerated_in_parts_gives_the_same(n_hidden: int, n_visible: int) -> None:
    rbm = machine(n_hidden, n_visible, seed=5)
    energies = -rbm.free_energy(states(n_visible))
    top = energies.max()
    np.testing.assert_allclose(rbm.log_partition(), top + np.log(np.exp(energies - top).sum()), rtol=1e-12)


@pytest.mark.parametrize("scale", [50.0, 1e4])
def test_energies_far_apart_do_not_overflow(scale: float) -> None:
    rbm = machine(3, 4, seed=1, scale=scale)
    np.testing.assert_allclose(rbm.log_partition(), minus_energies(rbm).max(), rtol=1e-3)
    assert np.isfinite(rbm.free_energy(states(4))).all()
    assert np.isfinite(rbm.score_samples(states(4))).all()


@pytest.mark.at_night("jax")
@pytest.mark.parametrize("library", LIBRARIES)
def test_one_seed_gives_one_chain_on_every_library_and_for_every_chunking(library: Library) -> None:
    """Weights that are multiples of 1/8 make every product exact, so even the last bits leave nothing to differ."""
    random = np.random.default_rng(4)
    values = [random.integers(-12, 13, size=shape) / 8 for shape in ((7, 9), (7,), (9,))]
    start = (random.random((30, 9)) < 0.5).astype("float32")
    reference = RBM.from_parameters(*(value.astype("float32") for value in values), random_state=2)
    rbm = RBM.from_parameters(*(value.astype("float32") for value in values), random_state=2)
    with guard():
        rows = library.array(start)
        drawn = [rbm.gibbs(rows), rbm.gibbs(rows), rbm.sample(30, 8, initial=rows), rbm.score_samples(rows)]
    wanted = [reference.gibbs(start), reference.gibbs(start), reference.sample(30, 8, initial=start)]
    for ours, theirs in zip(drawn[:3], wanted, strict=True):
        np.testing.assert_array_equal(library.numpy(ours), theirs)
    np.testing.assert_allclose(library.numpy(drawn[3]), reference.score_samples(start), rtol=1e-5)
    assert (wanted[0] != wanted[1]).any()


@pytest.mark.parametrize("training", ["pcd", "cd"])
def test_a_step_follows_the_gradient_written_by_hand(training: str) -> None:
    """Biases this strong decide every draw, so the made-up state is known: all visible units are 1."""
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    start = (np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6]]), np.array([0.2, -0.1]), np.full(3, 80.0))
    rbm = RBM.from_parameters(*start, training=training, batch_size=4, learning_rate=0.5, optimizer=SGD(0.0, 0.25))
    rbm.partial_fit(rows)

    def on(v: Any) -> Any:
        return 1 / (1 + np.exp(-(v @ start[0].T + start[1])))

    dreamt = np.ones((1, 3))
    weights = on(rows).T @ rows / 2 - on(dreamt).T @ dreamt - 0.25 * start[0]
    np.testing.assert_allclose(rbm.components_, start[0] + 0.5 * weights, rtol=1e-12)
    np.testing.assert_allclose(rbm.intercept_hidden_, start[1] + 0.5 * (on(rows).mean(0) - on(dreamt)[0]), rtol=1e-12)
    np.testing.assert_allclose(rbm.intercept_visible_, start[2] + 0.5 * (rows.mean(0) - 1), rtol=1e-12)
