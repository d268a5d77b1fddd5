"""Training on a ladder of machines: that it reaches equilibrium, says so truly, and goes on from where it was."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM, LadderEstimate, storage
from nbm_xp.boltzmann.energy import variable
from nbm_xp.boltzmann.storage import LADDER
from nbm_xp.boltzmann.trainer import Trainer
from nbm_xp.namespace import to_numpy
from tests.helpers.libraries import Library, libraries

SMALL, LARGE = 0.2, 0.8


def two_clusters(rows: int = 500, units: int = 16) -> Any:
    """Rows that are nearly all 0, or nearly all 1: a chain that sweeps hardly gets from one to the other."""
    random = np.random.default_rng(0)
    ones = (np.arange(rows) < LARGE * rows)[:, None]
    return (random.random((rows, units)) < np.where(ones, 0.97, 0.03)).astype("float32")


@pytest.fixture(scope="module")
def tempered() -> RBM:
    return RBM(6, n_iter=12, learning_rate=0.2, training="ptt", random_state=1).fit(two_clusters())


def rungs_of(model: Any) -> int:
    return int(model.state_.variables[f"{LADDER}accepted"].value.shape[0])


def on_a_ladder(model: Any, shares: tuple[float, ...], chains: int) -> Any:
    """A model with given parameters on a ladder of mixtures of it and the base-rate model."""
    negative = Trainer(model).negative_phase
    negative.begin(chains)
    topology = model.state_.topology
    for name, top in zip(storage.names(topology), model.state_.parameters, strict=True):
        base = negative.arrays[LADDER + name].value
        rungs = np.stack([(1 - share) * base[0] + share * top.value for share in shares])
        negative.arrays[LADDER + name] = variable(rungs, name)
    for layer in topology.retained:
        states = np.zeros((len(shares) + 1, topology.sizes[layer], negative.chains))
        negative.arrays[f"{LADDER}state.{layer}"] = variable(states, f"state.{layer}")
    for name, rate in (("accepted", 1.0), ("alone", 0.0)):
        negative.arrays[LADDER + name] = variable(np.full(len(shares), rate), name)
    return model


def random_machine(kind: str) -> Any:
    normal = np.random.default_rng(3).standard_normal
    settings: dict[str, Any] = {"training": "ptt", "random_state": 2}
    if kind == "deep":
        return DBM.from_parameters([normal((6, 4)), normal((4, 3))], [normal(6), normal(4), normal(3)], **settings)
    if kind == "gaussian":
        return RBM.from_parameters(0.7 * normal((4, 5)), normal(4), normal(5), visible="gaussian", **settings)
    return RBM.from_parameters(1.5 * normal((5, 8)), normal(5), normal(8), **settings)


@pytest.mark.parametrize("kind", ["binary", "gaussian", "deep"])
def test_a_ladder_weighs_and_samples_its_machine(kind: str) -> None:
    model = on_a_ladder(random_machine(kind), (0.0, 0.3, 0.6), 100)
    exact = model.log_partition()
    for seed in range(2):
        found = model.ladder_log_partition(200, 150, random_state=seed)
        assert isinstance(found, LadderEstimate)
        assert 0.0 < found.standard_error < 0.1
        assert abs(found.log_z - exact) < 4 * found.standard_error
        assert found.log_z_low < found.log_z < found.log_z_high
        assert len(found.acceptance) == 3
        assert all(0.05 < share <= 1 for share in found.acceptance)
    states = model.sample(4000, 40, random_state=1)
    if kind == "binary":
        all_states = np.array(list(itertools.product((0.0, 1.0), repeat=8)))
        probabilities = np.exp(model.log_likelihood(all_states))
        assert np.abs(states.mean(axis=0) - probabilities @ all_states).max() < 0.04
        pairs = (all_states.T * probabilities) @ all_states
        assert np.abs(states.T @ states / 4000 - pairs).max() < 0.04
    layers = model.sample(5, 3, layer=None)
    assert [part.shape[0] for part in layers] == [5] * len(model.state_.topology.sizes)
    means = model.sample(5, 3, layer=1, probabilities=True)
    assert np.all((means > 0) & (means < 1))


def test_places_far_apart_have_their_share(tempered: RBM) -> None:
    rows = two_clusters()
    exact = float(tempered.log_likelihood(rows).mean())
    best = 16 * (0.97 * np.log(0.97) + 0.03 * np.log(0.03)) + LARGE * np.log(LARGE) + SMALL * np.log(SMALL)
    assert exact > best - 0.2
    shares = [float((tempered.sample(1000, 30, random_state=seed).mean(axis=1) < 0.5).mean()) for seed in range(2)]
    assert all(abs(share - SMALL) < 0.06 for share in shares)
    found = tempered.ladder_log_partition(random_state=0)
    assert abs(found.log_z - tempered.log_partition()) < 4 * found.standard_error


def test_a_ladder_grows_only_as_the_model_moves_away(tempered: RBM) -> None:
    assert 2 <= rungs_of(tempered) <= 12
    still = RBM(6, n_iter=2, learning_rate=1e-9, training="ptt", random_state=1)
    assert rungs_of(still.fit(two_clusters())) == 1
    assert min(tempered.ladder_log_partition(random_state=0).acceptance) > 0.1


def test_a_machine_between_two_comes_in_where_they_lost_touch() -> None:
    ends = RBM.from_parameters(np.full((1, 12), 8.0), [-48.0], np.full(12, -4.0), training="ptt", random_state=0)
    on_a_ladder(ends.set_params(learning_rate=1e-9), (0.0, 0.95), 100)
    ends.state_.n_samples = 100
    for _ in range(300):
        ends.partial_fit(np.tile([[0.0] * 12, [1.0] * 12], (5, 1)))
    assert rungs_of(ends) > 2
    rungs = ends.state_.variables[f"{LADDER}biases.0"].value
    np.testing.assert_allclose(rungs[1:-1, 0] / -4.0, np.sort(rungs[1:-1, 0] / -4.0))
    found = ends.ladder_log_partition(random_state=0)
    assert abs(found.log_z - ends.log_partition()) < 5 * found.standard_error


@pytest.mark.at_night("jax", "torch")
@pytest.mark.parametrize("library", libraries("dask-ragged", "array_api_strict", "torch", "jax", "cupy"))
def test_training_is_the_same_on_every_library(library: Library) -> None:
    """Train on a library and on NumPy, long enough for the ladder to grow.

    In double precision: no choice is as close as rounding, which would make trainings go apart from there on.
    """
    rows = two_clusters(120).astype("float64")
    settings: dict[str, Any] = {"batch_size": 2, "n_iter": 1, "learning_rate": 0.3, "schedule": "constant"}
    settings |= {"training": "ptt", "random_state": 1}
    host = RBM(6, **settings).fit(rows)
    there = RBM(6, **settings).fit(library.array(rows))
    assert rungs_of(there) == rungs_of(host) > 1
    np.testing.assert_allclose(to_numpy(there.components_), host.components_, rtol=1e-8)
    np.testing.assert_allclose(there.log_likelihoods_, host.log_likelihoods_, rtol=1e-8)


def test_what_there_is_no_ladder_for_is_refused() -> None:
    rbm = RBM(3, n_iter=1, random_state=0).fit(two_clusters(20))
    with pytest.raises(ValueError, match=r'training="ptt".*: ais\(\) is for all models'):
        rbm.ladder_log_partition()
    assert rbm.log_likelihoods_ == []


def test_ways_of_training_can_follow_one_another() -> None:
    rows = two_clusters(50)
    rbm = RBM(3, n_iter=1, training="ptt", random_state=0).fit(rows)
    rbm.set_params(training="pcd", n_iter=2).fit(rows, resume=True)
    rbm.set_params(training="ptt", n_iter=3).fit(rows, resume=True)
    assert [passes for passes, _, _ in rbm.log_likelihoods_] == [1, 3]
