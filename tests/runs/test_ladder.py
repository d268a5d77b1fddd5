"""Runs of models that learnt on a ladder: draws at equilibrium and log Z on disk, the same bytes however disturbed."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

pytest.importorskip("zarr")

from nbm_xp.boltzmann import RBM
from nbm_xp.runs import Workers, evaluate, open_samples, read_evaluation, sample
from tests.helpers.runs import files_of

SHARE = 0.8
ASKED: dict[str, Any] = {"n_chains": 22, "n_draws": 9, "burn_in": 7, "thin": 2, "chunks": 8, "checkpoint_every": 2}
WEIGHED: dict[str, Any] = {"n_chains": 20, "n_temperatures": 30, "ladder_steps": 42, "chunks": 8, "checkpoint_every": 7}


def rows() -> Any:
    """Of two places, far apart for chains that change a unit at a time."""
    rng = np.random.default_rng(0)
    high = np.arange(400) < SHARE * 400
    noise = rng.random((400, 24)) < 0.02
    return np.where(noise, ~high[:, None], high[:, None]).astype("float32")


@pytest.fixture(scope="module")
def model() -> RBM:
    found = RBM(8, n_iter=40, training="ptt", learning_rate=0.2, batch_size=50, random_state=0).fit(rows())
    assert found.state_.n_pairs > 2
    return found


def test_draws_are_at_equilibrium_from_the_first_one_on(tmp_path: pathlib.Path, model: RBM) -> None:
    drawn = open_samples(sample(model, tmp_path / "run", 300, 10, thin=5, chunks=100, random_state=1).path).compute()
    shares = (drawn.mean(axis=2) > 0.5).mean(axis=0)
    assert drawn.dtype == "uint8"
    assert np.abs(shares - SHARE).max() < 0.12, shares
    assert abs(shares.mean() - SHARE) < 0.06, shares
    in_memory = model.sample(300, 50, random_state=1)
    assert abs((in_memory.mean(axis=1) > 0.5).mean() - shares.mean()) < 0.1


@pytest.mark.parametrize(
    "change", [{"scheduler": Workers(n_workers=1)}, {"checkpoint_every": 4}, {"n_draws": 5}, {"burn_in": 9}], ids=str
)
def test_draws_follow_from_the_seed(tmp_path: pathlib.Path, model: RBM, change: dict[str, Any]) -> None:
    first = sample(model, tmp_path / "first", random_state=3, **ASKED)
    other = sample(model, tmp_path / "other", random_state=3, **ASKED | change)
    assert "ladder" in first.configuration
    mine, theirs = (open_samples(run.path).compute() for run in (first, other))
    later = (change.get("burn_in", 7) - 7) // 2
    length = min(mine.shape[1] - later, theirs.shape[1])
    np.testing.assert_array_equal(mine[:, later : later + length], theirs[:, :length])
    if "scheduler" in change:
        assert files_of(first.path / "samples.zarr") == files_of(other.path / "samples.zarr")


def test_log_z_lies_between_its_three_estimates(tmp_path: pathlib.Path, model: RBM) -> None:
    run = evaluate(model, tmp_path / "run", rows()[:50], n_chains=60, n_temperatures=400, chunks=25, random_state=2)
    assert run.configuration["reverse"] == "the ladder"
    found, exact = read_evaluation(run.path), model.log_partition()
    assert found.ladder is not None
    assert found.ais is not None
    assert found.reverse is not None
    assert found.log_z == found.exact == exact
    assert found.ladder.log_z_low - 0.3 < exact < found.ladder.log_z_high + 0.3
    assert abs(found.ladder.log_z - model.ladder_log_partition(60, random_state=0).log_z) < 0.3
    assert found.ais.log_z_low < exact < found.reverse.log_z_high
    assert len(found.ladder.acceptance) == model.state_.n_pairs
    assert all(0 < share <= 1 for share in found.ladder.acceptance)
    mean = float(model.log_likelihood(rows()[:50], exact).mean())
    assert found.mean_log_likelihood == pytest.approx(mean, abs=1e-4)


def test_an_estimate_is_the_same_however_it_is_divided(tmp_path: pathlib.Path, model: RBM) -> None:
    first = read_evaluation(evaluate(model, tmp_path / "first", random_state=4, **WEIGHED).path)
    for number, change in enumerate(
        ({"checkpoint_every": 50}, {"checkpoint_every": 1}, {"scheduler": Workers(n_workers=1)})
    ):
        other = read_evaluation(evaluate(model, tmp_path / str(number), random_state=4, **WEIGHED | change).path)
        assert first.ladder == other.ladder
    fewer = read_evaluation(evaluate(model, tmp_path / "fewer", random_state=4, **WEIGHED | {"ladder_steps": 0}).path)
    assert fewer.ladder is None
    assert fewer.reverse is None
    assert fewer.ais is not None
    assert first.ais is not None
    assert fewer.ais.log_z == first.ais.log_z
    assert fewer.log_z == first.log_z == model.log_partition()


def test_the_ladder_is_left_out_where_that_is_asked(tmp_path: pathlib.Path, model: RBM) -> None:
    plain = RBM.from_parameters(model.components_, model.intercept_hidden_, model.intercept_visible_)
    plain.state_.base_rate = model.base_rate_
    mine = sample(model, tmp_path / "mine", random_state=3, ladder=False, **ASKED)
    theirs = sample(plain, tmp_path / "theirs", random_state=3, **ASKED)
    np.testing.assert_array_equal(open_samples(mine.path), open_samples(theirs.path))
    held = sample(model, tmp_path / "held", random_state=3, clamp={1: np.ones(8, "float32")}, **ASKED)
    assert held.configuration["ladder"] is None
    for given, message in (
        ({"ladder": 3}, "ladder must be True, False or None, got 3"),
        ({"ladder": True, "clamp": {1: np.ones(8, "float32")}}, "ladder must not be True beside clamp"),
    ):
        with pytest.raises(ValueError, match=message):
            sample(model, tmp_path / "no", **ASKED | given)
    with pytest.raises(ValueError, match='ladder must be of a model with training="ptt"'):
        sample(plain, tmp_path / "no", ladder=True, **ASKED)
    with pytest.raises(ValueError, match="ladder_steps must be 0, or at least 4, got 3"):
        evaluate(model, tmp_path / "no", ladder_steps=3)
    assert not (tmp_path / "no").exists()


def test_one_table_tells_the_ladder_and_both_ways_of_annealing(
    tmp_path: pathlib.Path, model: RBM, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("typer")
    from tests.helpers.command import ran, told

    monkeypatch.chdir(tmp_path)
    model.save("model.safetensors")
    asked = ("evaluate", "--model", "model.safetensors", "--n-temperatures", "50", "--n-chains", "20")
    for out in ((), ("--out", "weighed")):
        lines = [line.split()[0] for line in ran(*asked, *out).splitlines()]
        assert lines == ["AIS", "50", "50", "ladder", "exact"]
    assert told(*asked, "--no-reverse")["reverse"] is None
