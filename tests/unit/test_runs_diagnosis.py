"""R-hat and effective sample sizes of runs: those of known chains."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.runs import diagnose, sample
from tests.runs import SAMPLE, ordinary

pytest.importorskip("zarr")
pytest.importorskip("arviz")


def test_independent_draws_count_as_many_and_agree(tmp_path: pathlib.Path) -> None:
    """Without weights each sweep draws anew."""
    model = RBM.from_parameters(np.zeros((2, 6)), np.zeros(2), np.array([0.0, 0.5, -0.5, 1.0, 0.0, 99.0]))
    found = diagnose(sample(model, tmp_path / "run", 4, 500, seed=1).path, units=6)
    assert list(found.index) == ["free energy", *(f"unit {unit}" for unit in range(6))]
    assert list(found.columns) == ["mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "r_hat"]
    moving = found.iloc[:-1]
    assert (moving.r_hat < 1.01).all()
    assert (moving.ess_bulk > 1000).all()
    assert np.allclose(moving["mean"].iloc[1:], 1 / (1 + np.exp(-model.intercept_visible_[:5])), atol=0.05)
    assert found["mean"].iloc[-1] == 1.0


def test_chains_that_stay_where_they_are_do_not_agree(tmp_path: pathlib.Path) -> None:
    """Strong weights: units 0 and 1 are alike, and their chains do not leave the state they find."""
    model = RBM.from_parameters(np.full((1, 2), 40.0), np.array([-40.0]), np.array([-20.0, -20.0]))
    found = diagnose(sample(model, tmp_path / "run", 8, 100, seed=4).path, units=[1], free_energy=False)
    assert list(found.index) == ["unit 1"]
    assert not found.r_hat.iloc[0] < 1.5


def test_the_free_energy_is_the_models(tmp_path: pathlib.Path) -> None:
    from nbm_xp.runs import open_samples

    run = sample(ordinary(), tmp_path / "run", **SAMPLE)
    found = diagnose(run.path, units=0, warm_up=4)
    rows = open_samples(run.path)[:, 4:].compute().reshape(-1, 20).astype("float32")
    assert found["mean"].iloc[0] == pytest.approx(float(ordinary().free_energy(rows).mean()), rel=1e-5)


def test_what_cannot_be_is_refused(tmp_path: pathlib.Path) -> None:
    run = sample(ordinary(), tmp_path / "run", **SAMPLE | {"probabilities": True})
    with pytest.raises(ValueError, match="free_energy must be False for probabilities"):
        diagnose(run.path)
    with pytest.raises(ValueError, match="units must be visible units from 0 to 19, got 20"):
        diagnose(run.path, units=[20])
    with pytest.raises(ValueError, match="at least two chains of four draws, got 24 of 2"):
        diagnose(run.path, warm_up=10)
