"""What every kind of units promises, whatever it is: the formulas of one kind agree with one another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.machines.units import KINDS, Units

INPUTS = np.linspace(-6.0, 6.0, 13)
SHAPES = {"drelu": np.array([[0.5, -0.6], [-1.5, 0.3], [3.0, 0.95]])}  # biases of the further units of a site


@pytest.fixture(params=[kind for kind in KINDS.values() if kind.can_be_hidden], ids=lambda kind: kind.name)
def units(request: pytest.FixtureRequest) -> Units:
    kind: Units = request.param
    return kind


def inputs_of(units: Units, inputs: np.ndarray = INPUTS) -> np.ndarray:
    """The local fields of the units of sites, one row for each site."""
    shapes = SHAPES.get(units.name, np.zeros((1, 0)))
    return np.array([[field, *shape] for shape in shapes for field in inputs])


def value(formula: Any, array: Any) -> Any:
    """A formula of a Tensor, evaluated."""
    given = B.placeholder(ndim=np.ndim(array), dtype="float64")
    return np.asarray(B.function([given], formula(given))(np.asarray(array, float)))


def test_the_mean_is_the_slope_of_the_log_normaliser(units: Units) -> None:
    step, inputs = 1e-6, inputs_of(units)
    mean = value(units.mean, inputs)
    for place, unit in enumerate(np.eye(inputs.shape[1])):
        higher, lower = (value(units.log_normaliser, inputs + shift * unit)[:, 0] for shift in (step, -step))
        np.testing.assert_allclose(mean[:, place], (higher - lower) / (2 * step), rtol=1e-7, atol=2e-8)
    given = B.placeholder(ndim=2, dtype="float64")
    slope = B.function([given], B.gradients(B.sum(units.log_normaliser(given)), [given]))
    np.testing.assert_allclose(slope(inputs)[0], mean, rtol=1e-10, atol=1e-12)
    assert not units.knows_means or math.isclose(units.undecided, value(units.mean, 0 * inputs)[0, 0], rel_tol=1e-15)


def test_the_log_normaliser_sums_the_weights_of_the_states(units: Units) -> None:
    if units.states is not None:
        points, width = np.asarray(units.states), 1.0
    else:
        least = -90.0 if units.within is None else units.within.least
        points, width = np.arange(least + 0.5e-3, 90.0, 1e-3), 1e-3
    states = value(units.encoded, points[:, None])
    energies = np.reshape(value(units.own_energy, states), (-1, 1)) if units.has_own_energy else 0.0
    inputs = inputs_of(units)
    weights = np.exp(states @ inputs.T - energies)
    found = value(units.log_normaliser, inputs)[:, 0] + units.constant
    np.testing.assert_allclose(found, np.log(weights.sum(axis=0) * width), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(value(units.decoded, states)[:, 0], points)


def test_a_base_rate_has_the_bias_that_gives_it(units: Units) -> None:
    if not units.knows_means:
        pytest.skip("units that are hidden alone have no base rate")
    rows = np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    rate = units.base_rate(rows.mean(axis=0), len(rows))
    bias = units.bias(units.bounded_rate(rate))
    assert np.all(np.isfinite(bias))
    np.testing.assert_allclose(value(units.mean, bias), rate, rtol=1e-12)


def test_draws_have_the_mean_and_are_states(units: Units) -> None:
    inputs = inputs_of(units, np.array([-1.0, 0.0, 2.0])).ravel()
    mean, shape = value(units.mean, inputs), (20_000, len(inputs))
    given, told = (B.variable(np.broadcast_to(values, shape).copy(), "float64") for values in (inputs, mean))
    drawn = np.asarray(B.eval(units.draw(told, shape, B.make_rng(1), inputs=given)))
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 4.5 * drawn.std(axis=0) / math.sqrt(len(drawn)))
    if units.states is not None:
        assert set(np.unique(drawn)) == set(units.states)
        assert units.stored is not None
        assert np.array_equal(np.asarray(units.states, dtype=units.stored), np.asarray(units.states))
        turned = value(lambda state: units.shifted(state, 1.0), np.asarray(units.states))
        assert list(turned) == list(reversed(units.states))
        listed = value(units.of_indices, np.arange(len(units.states)))
        assert tuple(listed) == units.states


def test_the_entropy_is_largest_without_inputs(units: Units) -> None:
    if units.states is None:
        return
    means = value(units.mean, INPUTS)
    entropy = value(units.entropy, means)
    # Of a distribution in natural parameters: log Z less the mean times what is received.
    np.testing.assert_allclose(entropy, value(units.log_normaliser, INPUTS) - means * INPUTS, atol=1e-12)
