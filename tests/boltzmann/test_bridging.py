"""Log Z along a ladder is right within its error, and says when it is not to be believed."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM, LadderEstimate, LadderWarning, TrainingWarning
from nbm_xp.boltzmann.bridging import bennett, disagreement, overlap
from nbm_xp.boltzmann.training_diagnostics import TrainingDiagnostics
from tests.boltzmann.test_tempered import on_a_ladder

SHARES = (0.0, 0.1, 0.2, 0.4, 0.7)


def two_places(tilt: float) -> RBM:
    """A machine whose units are all 0 or all 1, the latter far more often, on a ladder whose chains all begin at 0."""
    weights, hidden = np.full((1, 12), 8.0), [-48.0 + tilt]
    rbm = RBM.from_parameters(weights, hidden, np.full(12, -4.0), training="ptt", random_state=0)
    found: RBM = on_a_ladder(rbm, SHARES, 100)
    return found


def test_the_standard_error_includes_that_chains_have_not_reached_equilibrium() -> None:
    """Of two modes the chains begin in the lesser: within a dozen steps they have not left it, but they agree."""
    model = two_places(8.0)
    exact = model.log_partition()
    with pytest.warns(LadderWarning, match="log Z may be wrong: estimates from lower and higher machines .* ais"):
        found = model.ladder_log_partition(100, 12, random_state=1)
    of_chains_alone = math.sqrt(found.standard_error**2 - found.disagreement**2)
    assert exact - found.log_z > 10 * of_chains_alone  # which was all that was told
    assert found.log_z_low < exact < found.log_z_high
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long = model.ladder_log_partition(100, 400, random_state=1)
    assert (long.disagreement, long.overlap) == (0.0, 1.0)
    assert abs(long.log_z - exact) < 4 * long.standard_error < 0.2


def test_estimates_from_chains_in_different_modes_disagree() -> None:
    """The higher machine's second place, e³ times as probable as the first, is one that its chains do not know."""
    random = np.random.default_rng(0)
    up = np.where(random.random((20, 1, 100)) < 0.5, -3.0, 0.0)
    down = np.zeros((20, 1, 100))
    found, error = bennett(up, down)
    exact = math.log(0.5 + 0.5 * math.exp(3.0))
    assert exact - found > 10 * error
    assert exact - found < 3 * math.hypot(error, disagreement(up, down))


def test_overlap_counts_the_states_that_are_improbable_in_the_machine_below() -> None:
    down = np.zeros((4, 3, 50))
    down[:, 1, :5] = 40.0
    assert overlap(np.zeros((4, 3, 50)), down) == pytest.approx(0.9)
    found = LadderEstimate(0.0, 0.01, (0.5,), overlap=0.9)
    with pytest.warns(LadderWarning, match="10% of a machine's states are very improbable in the machine below it"):
        found.warn()


def test_warnings_point_to_the_line_that_called_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.repeat(np.eye(2, 30, dtype="float32"), 5, axis=0)
    model = RBM(30, n_iter=1, training="ptt", random_state=0).fit(rows)
    monkeypatch.setattr(LadderEstimate, "doubts", "this and that")
    calls: list[Any] = [lambda: model.ladder_log_partition(5, 4), lambda: model.score(rows)]
    for call in calls:
        with pytest.warns(LadderWarning, match="log Z may be wrong: this and that") as told:
            call()
        assert [warning.filename for warning in told] == [__file__]


def test_bennetts_ratio_of_two_normal_distributions() -> None:
    """Of energies ½x² and ½(x-1)² + 3: log Z falls by 3, known from overlapping samples, which differ by chance."""
    random = np.random.default_rng(0)
    errors = []
    for _ in range(40):
        low, high = random.normal(size=(10, 1, 50)), random.normal(1.0, size=(10, 1, 50))
        up = 0.5 * (low - 1) ** 2 + 3 - 0.5 * low**2
        down = 0.5 * high**2 - 0.5 * (high - 1) ** 2 - 3
        found, error = bennett(up, down)
        errors.append((found + 3) / error)
        assert disagreement(up, down) < 0.1
        assert overlap(up, down) == 1.0
    assert abs(np.mean(errors)) < 0.6
    assert 0.6 < np.std(errors) < 1.5  # the error bars are as long as they should be
    assert bennett(up[:, :, :1], down[:, :, :1])[1] == np.inf
    assert disagreement(up[:, :, :1], down[:, :, :1]) == 0.0  # one chain tells nothing of chance


def test_annealing_that_finds_more_of_z_than_the_ladder_is_told() -> None:
    rbm = two_places(8.0).set_params(diagnostics=True, n_iter=1)
    only_zeros = LadderEstimate(rbm.log_partition() - 8.0, 0.01, (0.5,), 100.0, 1.0)
    with pytest.warns(TrainingWarning, match="annealing finds [78].* nats more of Z than the chains on the ladder"):
        look = TrainingDiagnostics(rbm, np.zeros((20, 12))).after_epoch(1, only_zeros)
    assert look is not None
    assert look.standard_error > 6
