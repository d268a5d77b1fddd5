"""Energy, entropy and adversarial accuracy are those of enumeration and of all distances, on every library."""

from __future__ import annotations

import copy
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM
from tests.boltzmann.test_kinds import FINITE, MIX, machine, states_of
from tests.helpers.libraries import Library, computing, libraries


def log_z(model: Any, beta: float) -> float:
    """The exact log Z of a machine at an inverse temperature."""
    scaled = copy.deepcopy(model)
    for part in scaled.state_.parameters:
        part.set_value(beta * part.value)
    return scaled.log_partition()


def deep() -> DBM:
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in ((5, 4), (4, 3), (5,), (4,), (3,))]
    return DBM.from_parameters(arrays[:2], arrays[2:])


@pytest.mark.parametrize("kinds", [*FINITE, None], ids=str)
def test_moments_are_derivatives_of_the_exact_log_z(kinds: tuple[str, str] | None) -> None:
    model, step = machine(*kinds) if kinds else deep(), 1e-3
    found = model.thermodynamics(400, 12, random_state=2)
    low, middle, high = (np.array([log_z(model, beta + away) for beta in found.betas]) for away in (-step, 0.0, step))
    energy, variance = (low - high) / (2 * step), (low - 2 * middle + high) / step**2
    exact = middle, energy, variance, middle + found.betas * energy
    for wanted, value, error in zip(exact, astuple(found)[1:5], astuple(found)[6:], strict=True):
        assert (np.abs(value - wanted) < 4.5 * error + 1e-5).all()
    assert (found.log_z_error[0], found.effective_runs[0]) == pytest.approx((0, 400))
    assert found.entropy_error.max() < 0.6


@pytest.mark.at_night("jax")
@pytest.mark.parametrize("library", libraries("dask", "array_api_strict", "torch", "jax", "cupy"))
def test_quality_is_the_same_on_every_library(library: Library) -> None:
    """Distances of whole numbers are exact; some rows are equal, so that there are ties."""
    model, (told, units) = machine(MIX, "spin"), states_of(MIX, 4)
    picked = np.random.default_rng(0).integers(0, len(told), 120)
    apart = ((units[picked][:, None] - units[picked]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    to_rows, to_draws = apart.reshape(120, 2, 60).min(axis=2).T
    right = 0.5 + 0.5 * np.sign(to_draws - to_rows) * np.repeat([1, -1], 60)
    entropy = model.thermodynamics(12, 5, random_state=1).entropy
    rows, draws = (library.array(part) for part in np.split(told[picked], 2))
    with computing():
        found = model.to(library.name).adversarial_accuracy(rows, draws)
        again = model.thermodynamics(12, 5, random_state=1).entropy
    assert (right == 0.5).any()
    wanted = right.mean(), right[:60].mean(), right[60:].mean()
    assert (found.accuracy, found.of_data, found.of_draws) == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_allclose(again, entropy, rtol=1e-5)


def test_equal_distributions_have_an_accuracy_of_one_half() -> None:
    """Within errors that are those of repeated draws; draws that repeat the data have less, others more."""
    rbm = RBM.from_parameters(np.random.default_rng(0).normal(size=(4, 16)), np.zeros(4), np.zeros(16))
    rows = rbm.sample(40 * 150, 60, random_state=0).reshape(40, 150, 16)
    found = [rbm.adversarial_accuracy(part, n_sweeps=60, random_state=k) for k, part in enumerate(rows, 1)]
    errors = np.array([(each.accuracy - 0.5) / each.standard_error for each in found])
    assert np.abs(errors).max() < 4
    assert 0.7 < np.sqrt((errors**2).mean()) < 1.4
    assert rbm.adversarial_accuracy(rows[0], rows[0]).accuracy < 0.3
    assert rbm.adversarial_accuracy(rows[0], np.ones((150, 16))).of_draws == 1


def test_bad_arguments_are_named() -> None:
    rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
    ones = np.ones((3, 3))
    for call, says in (
        (lambda: rbm.adversarial_accuracy(ones[:1]), "X must have at least two rows"),
        (lambda: rbm.adversarial_accuracy(ones, ones[:2]), "draws must have a row for each of 3"),
        (lambda: rbm.thermodynamics(0), "n_chains must be"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
