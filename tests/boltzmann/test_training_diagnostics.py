"""Learning that is watched: what looks tell is true, they change nothing, and what goes astray is warned of, once."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM, LadderEstimate, TrainingWarning
from nbm_xp.boltzmann.training_diagnostics import TrainingDiagnostics

NOISE = (np.random.default_rng(0).random((60, 8)) < 0.4).astype("float32")
WAYS: list[dict[str, Any]] = [
    {}, {"training": "cd"}, {"training": "ptt", "learning_rate": 1.0}, {"visible": "spin"}, {"visible": "gaussian"},
    {"visible": "categorical:3"},
]  # fmt: skip


def ising(temperature: float, rows: int = 5000, seed: int = 0) -> Any:
    """Rows of a model of 4 x 4 spins, each of which wants to be as its four neighbours are."""
    states = np.array(list(itertools.product((0, 1), repeat=16)), dtype="float32")
    spins = 2 * states.reshape(-1, 4, 4) - 1
    agreement = (spins * np.roll(spins, 1, 1) + spins * np.roll(spins, 1, 2)).sum((1, 2))
    weights = np.exp((agreement - agreement.max()) / temperature)
    return states[np.random.default_rng(seed).choice(len(states), rows, p=weights / weights.sum())]


def learnt(model: Any, **settings: Any) -> list[warnings.WarningMessage]:
    """What `fit` warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(**settings)
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("way", ["pcd", "cd"])
def test_chains_that_stay_where_they_are_are_warned_of_once(way: str, seed: int) -> None:
    rbm = RBM(24, training=way, random_state=seed)
    (found,) = learnt(rbm, X=ising(1.5))
    assert found.category is TrainingWarning and found.filename == __file__
    assert "Its chains do not mix (R-hat " in str(found.message) and "pseudo-likelihood" in str(found.message)
    assert str(found.message).endswith('training="ptt" makes them')


def test_what_learns_well_is_not_warned_of() -> None:
    digits = pytest.importorskip("sklearn.datasets").load_digits().data.astype("float32") / 16
    rbm = RBM(32, n_iter=20, batch_size=10, learning_rate=0.05, random_state=2).fit(digits)
    (look,) = rbm.diagnostics_
    assert look.r_hat is not None and look.r_hat < 1.3 and look.effective > 4
    calm = RBM(24, n_iter=2, training="ptt", random_state=0).fit(ising(1.5, 1500))
    assert len(calm.diagnostics_) == 2 and calm.diagnostics_[-1].log_likelihood > -2.0
    noise = (np.random.default_rng(1).random((1000, 20)) < 0.3).astype("float32")
    assert len(RBM(5, n_iter=50, random_state=0).fit(noise).diagnostics_) == 2


def test_weights_that_run_away_are_warned_of() -> None:
    rbm = RBM(5, n_iter=60, learning_rate=30.0, random_state=0)
    (found,) = learnt(rbm, X=(np.random.default_rng(1).random((500, 20)) < 0.3).astype("float32"))
    assert found.category is TrainingWarning and "Its weights run away (the largest is " in str(found.message)
    assert "a lower learning_rate or an optimizer with weight_decay helps" in str(found.message)


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_look_changes_nothing(settings: dict[str, Any]) -> None:
    settings = {"learning_rate": 0.01, "n_iter": 3, "random_state": 5} | settings
    models = [RBM(4, diagnostics=watch, **settings).fit(NOISE) for watch in (False, True, "auto")]
    plain, *watched = ([model.components_, model.gibbs(NOISE), model.sample(3, 5)] for model in models)
    for other in watched:
        for ours, theirs in zip(other, plain, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert len(models[1].diagnostics_) == 3
    few = 3 if settings.get("training") == "ptt" else 0  # too few steps to look, but for those
    assert len(models[0].diagnostics_) == len(models[2].diagnostics_) == few


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_what_a_look_tells_is_true(settings: dict[str, Any], share: float) -> None:
    X = np.where(np.random.default_rng(1).random(NOISE.shape) < share, np.nan, NOISE)
    settings = {"learning_rate": 0.01, "n_iter": 2, "random_state": 5, "diagnostics": True} | settings
    rbm = RBM(4, **settings).fit(X, held_out=X[:7])
    look, complete = rbm.diagnostics_[-1], X[~np.isnan(X).any(axis=1)]
    rows = complete if len(complete) > 4 else X
    assert abs(look.log_z - rbm.log_partition()) < 5 * look.standard_error + 0.01
    assert abs(look.log_likelihood - float(rbm.log_likelihood(rows).mean())) < 5 * look.standard_error + 0.01
    assert look.held_out is not None
    assert abs(look.held_out - float(rbm.log_likelihood(X[:7]).mean())) < 5 * look.standard_error + 0.01
    assert look.r_hat is not None and look.r_hat < 1.5
    assert f"{look.log_likelihood:.2f} ± {look.standard_error:.2f}, held out {look.held_out:.2f}" in str(look)
    assert rbm.log_likelihoods_[-1] == (2, look.log_likelihood, look.standard_error)
    if not look.acceptance:
        assert look.share is not None and look.data_share is not None and abs(look.share - look.data_share) < 0.4


def test_shares_are_those_of_the_places() -> None:
    """A machine that is all 0 in one of five cases, else all 1; data the other way round."""
    ends = RBM.from_parameters(np.full((1, 12), 8.0), [-48.0 - np.log(4)], np.full(12, -4.0), random_state=0)
    ends.set_params(n_iter=1, diagnostics=True)
    rows = np.repeat([[0.0] * 12, [1.0] * 12], [20, 80], axis=0)
    with pytest.warns(TrainingWarning, match="of its probability to the side where .* of the data lies"):
        look = TrainingDiagnostics(ends, rows).after_epoch(1, None)
    assert look is not None and look.share is not None and look.data_share is not None
    assert min(look.data_share, 1 - look.data_share) == pytest.approx(0.2)
    upper_is_ones = look.data_share > 0.5
    exact = float(np.exp(ends.log_likelihood(rows[-1:]) - np.logaddexp(*ends.log_likelihood(rows[[0, -1]])))[0])
    assert abs(look.share - (exact if upper_is_ones else 1 - exact)) < 0.1 and look.r_hat is not None and look.r_hat > 2


def test_deep_machines_are_watched_too() -> None:
    dbm = DBM([8, 4, 3], n_iter=2, random_state=0, diagnostics=True).fit(NOISE)
    look = dbm.diagnostics_[-1]
    assert abs(look.log_z - dbm.log_partition()) < 5 * look.standard_error
    assert look.pseudo_likelihood is None and (look.chain_share is None or 0 <= look.chain_share <= 1)


@pytest.mark.parametrize("batch_size", [1, 10, 500])
@pytest.mark.parametrize("n_iter", [1, 9, 10, 77, 1000])
@pytest.mark.parametrize("rows", [5, 2500, 60_000])
def test_looking_takes_a_small_part_of_the_steps(rows: int, n_iter: int, batch_size: int) -> None:
    watch = TrainingDiagnostics(RBM(3, n_iter=n_iter, batch_size=batch_size), np.zeros((rows, 2)))
    looks = [passes for passes in range(1, n_iter + 1) if watch.due(passes)]
    assert looks[-1:] in ([], [n_iter])
    steps = n_iter * -(-rows // batch_size)
    assert bool(looks) == (steps >= 2500)
    if looks:
        assert len(looks) * watch._length <= steps / 50


def test_a_report_has_a_look_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    RBM(3, n_iter=3, random_state=0, verbose=1).fit(NOISE, held_out=NOISE[:5])
    *before, last = capsys.readouterr().out.splitlines()
    assert all(": pseudo-likelihood -" in line for line in before)
    assert ": log-likelihood -" in last and ", held out -" in last and " ± " in last


def test_a_ladder_whose_chains_miss_a_place_is_warned_of() -> None:
    """Two places at each of which the machine is, of which its chains know one: rows of the other are too likely."""
    ends = RBM.from_parameters(
        np.full((1, 12), 8.0), [-44.0], np.full(12, -4.0), random_state=0, n_iter=1, training="ptt", diagnostics=True
    )
    rows = np.repeat([[0.0] * 12, [1.0] * 12], 50, axis=0)
    only_zeros = float(np.logaddexp.reduce(-ends.free_energy(rows[:1])))
    missed = LadderEstimate(only_zeros, 0.01, (0.5,), 100.0, 1.0)
    with pytest.warns(TrainingWarning, match="one of them a probability above 1: .* a lower learning_rate helps"):
        TrainingDiagnostics(ends, rows).after_epoch(1, missed)
    ends.state_.diagnostics.clear()
    right = LadderEstimate(ends.log_partition(), 0.01, (0.5,), 100.0, 1.0)
    assert TrainingDiagnostics(ends, rows).after_epoch(1, right) is not None
