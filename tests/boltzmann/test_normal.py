"""Visible units of all numbers, with variance 1 or a learnt one: their distribution, their learning."""

from __future__ import annotations

import itertools
import math
import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import PCD, RBM, SGD, Topology, TrainingWarning, load

PRECISIONS = np.array([0.25, 1.0, 9.0])


@pytest.mark.parametrize(("visible", "hidden"), [("normal", "binary"), ("gaussian", "binary"), ("gaussian", "spin")])
def test_a_machine_has_the_distribution_of_its_energy(visible: str, hidden: str) -> None:
    random = np.random.default_rng(0)
    weights, bias, hidden_bias = 0.4 * random.normal(size=(4, 3)), random.normal(size=3), random.normal(size=4)
    components, intercept, precisions = weights, bias, np.ones(3)
    if visible == "normal":  # second units have no weights, and precisions for biases
        precisions = PRECISIONS
        components = np.stack([weights, 0 * weights], axis=2).reshape(4, 6)
        intercept = np.stack([bias, precisions], axis=1).ravel()
    kinds: dict[str, Any] = {"visible": visible, "hidden": hidden}
    rbm = RBM.from_parameters(components, hidden_bias, intercept, random_state=0, **kinds)
    states = np.array(list(itertools.product((-1.0 if hidden == "spin" else 0.0, 1.0), repeat=4)))
    received = states @ weights + bias
    logs = 0.5 * (received**2 / precisions + np.log(2 * math.pi / precisions)).sum(axis=1)
    shares = np.exp(states @ hidden_bias + logs)
    log_z = np.log(shares.sum())
    assert rbm.log_partition() == pytest.approx(log_z)
    shares, means = shares / shares.sum(), received / precisions
    mean = shares @ means
    variance = shares @ (means**2 + 1 / precisions) - mean**2
    drawn = rbm.sample(20_000, 40, random_state=0)
    assert drawn.shape == (20_000, 3)
    assert np.abs((drawn.mean(axis=0) - mean) / np.sqrt(variance)).max() < 0.05
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.06)
    rows = drawn[:5]
    of_hidden = np.log(np.exp((rows @ weights.T + hidden_bias) @ states.T).sum(axis=1))
    exact = rows @ bias - rows**2 @ precisions / 2 + of_hidden - log_z
    np.testing.assert_allclose(rbm.log_likelihood(rows), exact, rtol=1e-9)
    for estimate in (rbm.ais(300, 200, random_state=0), rbm.reverse_ais(300, 200, random_state=0)):
        assert abs(estimate.log_z - log_z) < 4 * estimate.standard_error


@pytest.mark.parametrize("settings", [{}, {"training": PCD(centred=True), "optimizer": SGD(0.5)}, {"training": "ptt"}])
def test_means_and_variances_are_learnt(settings: dict[str, Any], tmp_path: pathlib.Path) -> None:
    side = np.random.default_rng(0).choice([-1.0, 1.0], size=(400, 1))
    noise = np.random.default_rng(1).normal(size=(400, 2))
    rows = np.concatenate([3 + side + 0.5 * noise[:, :1], 2 * side + 0.5 * noise[:, 1:]], axis=1).astype("float32")
    rbm = RBM(4, 0.05, batch_size=20, n_iter=25, visible="normal", random_state=0, **settings).fit(rows)
    assert np.array_equal(rbm.components_[:, 1::2], np.zeros((4, 2)))
    if settings.get("training") == "ptt":  # others do not have the shares of the two sides right
        drawn = rbm.sample(2000, 80, random_state=0)
        np.testing.assert_allclose(drawn.mean(axis=0), rows.mean(axis=0), atol=0.5)
        np.testing.assert_allclose(drawn.std(axis=0), rows.std(axis=0), rtol=0.25)
    alone = RBM(1, n_iter=0, visible="normal", random_state=0).fit(rows)  # independent features, of the data's moments
    assert rbm.log_likelihood(rows).mean() > alone.log_likelihood(rows).mean() + 0.3
    rbm.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.log_likelihood(rows), rbm.log_likelihood(rows))


def test_it_stays_a_distribution_and_is_where_it_can_be() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 2)).astype("float32")
    rbm = RBM(2, 5.0, n_iter=3, visible="normal", diagnostics=False, random_state=0).fit(rows)
    assert (rbm.intercept_visible_[1::2] > 0).all()
    mixed = RBM(2, 0.01, n_iter=1, visible="1*normal+1*categorical:3", random_state=0)
    assert mixed.fit(np.concatenate([rows[:, :1], np.ones((40, 1), "float32")], axis=1)).sample(3, 2).shape == (3, 2)
    with pytest.raises(ValueError, match="hidden must be one of"):
        Topology([2, 2], hidden="normal")
    for pair in (("normal", "relu"), ("gaussian", "relu"), ("gaussian", "gaussian")):
        with pytest.raises(ValueError, match="without bounds on either side, Z may be infinite"):
            Topology([2, 2], visible=pair[0], hidden=pair[1])


def test_precisions_that_none_are_and_weights_of_the_second_units_are_refused() -> None:
    weights, visible = np.zeros((2, 4)), np.array([0.0, 1.0, 0.0, 2.0])
    with pytest.raises(ValueError, match=r"intercept_visible must hold a precision above 0 .* got -2"):
        RBM.from_parameters(weights, np.zeros(2), visible * [1, 1, 1, -1], visible="normal")
    weights[0, 1] = 0.5
    with pytest.raises(ValueError, match="components must be 0 for the further units of each normal or drelu site"):
        RBM.from_parameters(weights, np.zeros(2), visible, visible="normal")
    weights = np.stack([weights[:, 0], np.ones(2)], axis=1)
    with pytest.raises(ValueError, match="got 0"):
        RBM.from_parameters(weights * 0, np.zeros(2), np.zeros(2), visible="1*normal")


@pytest.mark.parametrize("visible", ["normal", "1*binary+2*normal"])
def test_columns_that_learn_badly_are_warned_of(visible: str) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1.0, 30.0]
    rows[:, 0] = rows[:, 0] > 0
    with pytest.warns(TrainingWarning, match="column 2 has mean .* and standard deviation .* standardise"):
        RBM(2, n_iter=1, visible=visible, random_state=0).fit(rows)
    RBM(2, n_iter=1, visible=visible, random_state=0).fit(rows * [1, 1, 1 / 30])
