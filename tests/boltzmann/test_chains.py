"""What is observed of chains: states, or the means that they were drawn with; clamped layers."""

from __future__ import annotations

import pickle

import numpy as np

from nbm_xp.boltzmann.chains import Chains, Machine
from tests.helpers.runs import ordinary


def test_what_is_shown_are_states_or_the_means_that_they_were_drawn_with() -> None:
    model = ordinary()
    machine = Machine.of(model.state_)
    chains = pickle.loads(pickle.dumps(Chains(machine, 1, layers=(1, 0))))  # as to a worker
    *_, drawn = chains.walk(chains.start(0, 7), 0, 0, 3)
    *_, likely = Chains(machine, 1, layers=(1, 0), means=True).walk(chains.start(0, 7), 0, 0, 3)
    assert [found.shape for found in (*drawn.shown, *likely.shown)] == [(12, 7), (20, 7)] * 2
    assert np.array_equal(drawn.shown[1], drawn.states[0])
    assert np.array_equal(likely.states[0], drawn.states[0])
    inputs = model.components_.T @ drawn.shown[0] + model.intercept_visible_[:, None]
    assert np.allclose(likely.shown[1], 1 / (1 + np.exp(-inputs)), atol=1e-6)


def test_held_layers_stay_and_are_seen() -> None:
    model = ordinary()
    machine = Machine.of(model.state_)
    held = np.zeros(20)
    held[3] = 1
    chains = Chains(machine, 1, layers=(1,), means=True, clamp={0: held})
    assert chains.carried == (1,)
    *_, last = chains.walk(chains.start(4, 6), 4, 0, 2)
    inputs = model.components_ @ held + model.intercept_hidden_
    assert np.allclose(last.shown[0], (1 / (1 + np.exp(-inputs)))[:, None] + np.zeros(6), atol=1e-6)
    stay = Chains(machine, 1, layers=(1, 0), clamp={0: held}).collect(4, 6, 0)
    assert stay.shape == (6, 32) and (stay[:, 12:] == held).all()
    each = np.eye(10, 20)
    *_, rows = Chains(machine, 1, layers=(1,), means=True, clamp={0: each}).walk(chains.start(4, 6), 4, 0, 1)
    inputs = model.components_ @ each[4:].T + model.intercept_hidden_[:, None]
    assert np.allclose(rows.shown[0], 1 / (1 + np.exp(-inputs)), atol=1e-6)
