"""Log Z along a ladder says when it is not to be believed; training goes at the pace that its chains can follow."""

from __future__ import annotations

import math
import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import PCD, RBM, LadderEstimate, LadderWarning, TrainingWarning, load
from nbm_xp.boltzmann.bridging import bennett, cut_off, parting
from nbm_xp.boltzmann.negative_phase import PersistentChains
from nbm_xp.boltzmann.storage import LADDER
from nbm_xp.boltzmann.training_diagnostics import TrainingDiagnostics
from nbm_xp.boltzmann.training_methods import training_method
from nbm_xp.boltzmann.trajectory_tempering import TemperedChains
from tests.boltzmann.test_tempered import on_a_ladder, two_clusters

SHARES = (0.0, 0.1, 0.2, 0.4, 0.7)


def two_places(tilt: float) -> RBM:
    """A machine whose units are all 0 or all 1, the latter far more often, on a ladder whose chains all begin at 0."""
    weights, hidden = np.full((1, 12), 8.0), [-48.0 + tilt]
    rbm = RBM.from_parameters(weights, hidden, np.full(12, -4.0), training="ptt", random_state=0)
    found: RBM = on_a_ladder(rbm, SHARES, 100)
    return found


def test_a_standard_error_counts_that_chains_have_not_found_their_places() -> None:
    """Of two modes the chains begin in the lesser: within a dozen steps they have not left it, but they agree."""
    model = two_places(8.0)
    exact = model.log_partition()
    with pytest.warns(LadderWarning, match="log Z may be off: what the ladder's chains tell .* ais"):
        found = model.ladder_log_partition(100, 12, random_state=1)
    of_chains_alone = math.sqrt(found.standard_error**2 - found.parting**2)
    assert exact - found.log_z > 10 * of_chains_alone  # which was all that was told
    assert found.log_z_low < exact < found.log_z_high
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long = model.ladder_log_partition(100, 400, random_state=1)
    assert long.parting == long.cut_off == 0.0
    assert abs(long.log_z - exact) < 4 * long.standard_error < 0.2


def test_chains_at_equilibrium_part_by_chance_alone() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        low, high = random.normal(size=(10, 2, 50)), random.normal(1.0, size=(10, 2, 50))
        up = 0.5 * (low - 1) ** 2 - 0.5 * low**2
        down = 0.5 * high**2 - 0.5 * (high - 1) ** 2
        assert parting(up, down) < 0.1
        assert cut_off(up, down) == 0.0
    assert parting(up[:, :, :1], down[:, :, :1]) == 0.0  # one chain tells nothing of chance


def test_pairs_whose_chains_lie_in_different_places_part() -> None:
    """The higher machine's second place, e³ times as probable as the first, is one that its chains do not know."""
    random = np.random.default_rng(0)
    up = np.where(random.random((20, 1, 100)) < 0.5, -3.0, 0.0)
    down = np.zeros((20, 1, 100))
    found, error = bennett(up, down)
    exact = math.log(0.5 + 0.5 * math.exp(3.0))
    assert exact - found > 10 * error
    assert exact - found < 3 * math.hypot(error, parting(up, down))


def test_states_that_the_machine_below_never_has_are_counted() -> None:
    down = np.zeros((4, 3, 50))
    down[:, 1, :5] = 40.0
    assert cut_off(np.zeros((4, 3, 50)), down) == pytest.approx(0.1)
    cut = LadderEstimate(0.0, 0.01, (0.5,), cut_off=0.1)
    with pytest.warns(LadderWarning, match="10% of a machine's states are such as the machine below"):
        cut.warn()


def test_warnings_point_to_the_line_that_called_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.repeat(np.eye(2, 30, dtype="float32"), 5, axis=0)
    model = RBM(30, n_iter=1, training="ptt", random_state=0).fit(rows)
    monkeypatch.setattr(LadderEstimate, "doubts", "this and that")
    calls: list[Any] = [lambda: model.ladder_log_partition(5, 4), lambda: model.score(rows)]
    for call in calls:
        with pytest.warns(LadderWarning, match="log Z may be off: this and that") as told:
            call()
        assert [warning.filename for warning in told] == [__file__]


def test_annealing_that_finds_more_of_z_than_the_ladder_is_told() -> None:
    rbm = two_places(8.0).set_params(diagnostics=True, n_iter=1)
    only_zeros = LadderEstimate(rbm.log_partition() - 8.0, 0.01, (0.5,), 100.0, 1.0)
    with pytest.warns(TrainingWarning, match="annealing finds [78].* nats more of Z than the chains on the ladder"):
        look = TrainingDiagnostics(rbm, np.zeros((20, 12))).after_epoch(1, only_zeros)
    assert look is not None
    assert look.standard_error > 6


def rare(rows: int = 2000, units: int = 100) -> Any:
    """One row in twenty lies far from the others."""
    random = np.random.default_rng(0)
    small = (np.arange(rows) < 0.05 * rows)[:, None]
    return (random.random((rows, units)) < np.where(small, 0.9, 0.1)).astype("float32")


def test_the_pace_falls_where_steps_are_too_long_for_rare_rows() -> None:
    """At the default rate a step changes the odds of the rare rows more than the chains that know them can follow."""
    rbm = RBM(16, n_iter=2, training="ptt", random_state=1)
    paces = []
    rbm.fit(rare(), callback=lambda model: paces.append(float(model.state_.variables[f"{LADDER}pace"].value[0])))
    assert paces[0] < 0.5  # then the schedule lowers the rate itself
    assert abs(rbm.diagnostics_[-1].log_likelihood - float(rbm.log_likelihood(rare()).mean())) < 0.5
    slow = RBM(4, 0.01, n_iter=2, training="ptt", random_state=1).fit(two_clusters(100))
    assert float(slow.state_.variables[f"{LADDER}pace"].value[0]) == 1.0


AVERAGED = [(TemperedChains, {"training": "ptt"}), (PersistentChains, {"training": PCD(average=True)})]


@pytest.mark.parametrize(("phase", "settings"), AVERAGED)
def test_fit_ends_with_the_mean_of_the_last_quarter_of_its_steps(
    phase: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    met, follow = [], phase.follow

    def seen(chains: Any, number: int) -> bool:
        met.append(np.array(chains.parameters.weights[0].value.T))
        return bool(follow(chains, number))

    monkeypatch.setattr(phase, "follow", seen)
    rbm = RBM(3, n_iter=5, random_state=0, **settings).fit(two_clusters(160))
    last = met[-20:]  # of 80
    np.testing.assert_allclose(
        rbm.components_, np.average(last, axis=0, weights=np.arange(1, 21)), rtol=1e-4, atol=1e-6
    )
    assert not [name for name in rbm.state_.variables if name.startswith("mean.")]
    rbm.set_params(training=type(training_method(rbm.training))(average=False)).fit(two_clusters(160))
    np.testing.assert_array_equal(rbm.components_, met[-1])


@pytest.mark.parametrize("settings", [settings for _, settings in AVERAGED], ids=str)
def test_a_mean_that_was_begun_goes_on_from_a_file_or_is_dropped(
    settings: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    file, rows = tmp_path / "model.safetensors", two_clusters(160)
    whole = RBM(3, n_iter=8, random_state=0, **settings)
    whole.fit(rows, callback=lambda model: model.n_iter_ == 7 and model.save(file))
    again = load(file)
    assert "mean.steps" in again.state_.variables
    np.testing.assert_array_equal(again.fit(rows, resume=True).components_, whole.components_)
    longer = load(file).set_params(n_iter=40)
    longer.fit(rows, resume=True, callback=lambda model: model.set_params(n_iter=8))
    assert "mean.steps" not in longer.state_.variables


@pytest.mark.parametrize("settings", [settings for _, settings in AVERAGED], ids=str)
def test_fit_ends_with_the_mean_where_a_callback_says_that_it_ends(settings: dict[str, Any]) -> None:
    """That of the passes since it was begun: two of twelve, where the eleventh turns out to be the last."""
    met: list[Any] = []

    def stop_after_eleven(rbm: RBM) -> None:
        met.append(np.array(rbm.components_))
        rbm.n_iter = 11 if rbm.n_iter_ == 11 else 12

    rbm = RBM(3, 0.5, n_iter=12, schedule="constant", batch_size=20, random_state=0, **settings)
    rbm.fit(two_clusters(20), callback=stop_after_eleven)
    assert len(met) == 11
    assert np.abs(met[-1] - met[-2]).max() > 1e-3
    np.testing.assert_allclose(rbm.components_, (met[-2] + 2 * met[-1]) / 3, rtol=1e-4, atol=1e-6)
    assert not [name for name in rbm.state_.variables if name.startswith("mean.")]


def test_the_mean_of_parameters_is_truer_than_the_last_ones_where_the_rate_does_not_fall() -> None:
    rows = (np.random.default_rng(0).random((200, 16)) < 0.4).astype("float32")
    last, mean = (RBM(8, 2.0, n_iter=10, training=PCD(average=way), random_state=0).fit(rows) for way in (False, True))
    assert mean.log_likelihood(rows).mean() > last.log_likelihood(rows).mean() + 0.15
