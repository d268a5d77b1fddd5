"""R-hat and effective sample sizes of runs: those of known chains."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM, MixingWarning
from nbm_xp.runs import diagnose, open_dataset, open_samples, sample
from tests.helpers.runs import SAMPLE, deep, ordinary

pytest.importorskip("zarr")
pytest.importorskip("pandas")


def test_independent_draws_count_as_many_and_agree(tmp_path: pathlib.Path) -> None:
    """Without weights each sweep draws anew."""
    model = RBM.from_parameters(np.zeros((2, 6)), np.zeros(2), np.array([0.0, 0.5, -0.5, 1.0, 0.0, 99.0]))
    found = diagnose(sample(model, tmp_path / "run", 4, 500, random_state=1).path, units=6)
    assert list(found.index) == ["free energy", *(f"unit {unit}" for unit in range(6))]
    assert list(found.columns) == ["mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "r_hat"]
    attributes = open_dataset(tmp_path / "run").attrs
    assert attributes["visible_mean_r_hat"] < 1.01
    assert 1000 < attributes["visible_projection_ess"] < 4000
    moving = found.iloc[:-1]
    assert (moving.r_hat < 1.01).all()
    assert (moving.ess_bulk > 1000).all()
    assert np.allclose(moving["mean"].iloc[1:], 1 / (1 + np.exp(-model.intercept_visible_[:5])), atol=0.05)
    assert found["mean"].iloc[-1] == 1.0


@pytest.mark.parametrize(("sign", "name"), [(1, "visible_mean"), (-1, "visible_projection")])
def test_chains_that_stay_where_they_are_do_not_agree(tmp_path: pathlib.Path, sign: int, name: str) -> None:
    """Strong weights: units 0 and 1 are alike, or never, and their chains do not leave the state they find."""
    signs = np.array([1.0, sign])
    model = RBM.from_parameters(40 * signs[None], [-20.0 * signs.sum()], -20 * signs)
    with pytest.warns(MixingWarning, match=rf"{name} \(R-hat inf.*training=") as told:
        run = sample(model, tmp_path / "run", 8, 100, random_state=4)
    assert [warning.filename for warning in told] == [__file__]
    assert open_dataset(run.path).attrs[f"{name}_r_hat"] == np.inf
    found = diagnose(run.path, units=[1], free_energy=False)
    assert list(found.index) == ["unit 1"]
    assert not found.r_hat.iloc[0] < 1.5


def test_what_cannot_be_is_refused(tmp_path: pathlib.Path) -> None:
    run = sample(ordinary(), tmp_path / "run", **SAMPLE | {"probabilities": True})
    with pytest.raises(ValueError, match="free_energy must be False for probabilities"):
        diagnose(run.path)
    with pytest.raises(ValueError, match="units must be visible units from 0 to 19, got 20"):
        diagnose(run.path, units=[20])
    for wrong in ("ab", 2.5, None):
        with pytest.raises(ValueError, match="units must be a number of visible units, or which of them, got"):
            diagnose(run.path, units=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least two chains of four draws, got 24 of 2"):
        diagnose(run.path, burn_in=10)


def learnt(visible: str) -> RBM:
    rows = np.random.default_rng(0).integers(0, 3, (30, 4)).astype("float64")
    return RBM(3, visible=visible, n_iter=3, random_state=0).fit(2 * (rows > 0) - 1.0 if visible == "spin" else rows)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (ordinary, "free energy"),
        (deep, "free energy bound"),
        (lambda: deep(connections=[(0, 1), (0, 2)]), "free energy"),
        *((partial(learnt, visible), "free energy") for visible in ("categorical:3", "normal", "spin")),
    ],
)
def test_the_free_energy_is_the_models(tmp_path: pathlib.Path, make: Callable[[], Any], name: str) -> None:
    """Of states as they are kept: a site of several units is one number."""
    model = make()
    run = sample(model, tmp_path / "run", 6, 12, chunks=4, checkpoint_every=5, random_state=3)
    found = diagnose(run.path, units=np.int64(2), burn_in=4)
    assert list(found.index[:2]) == [name, "unit 0"] and len(found) == 3
    rows = np.concatenate(open_samples(run.path)[:, 4:].compute())
    free_energy = model.free_energy(rows.astype(str(model.state_.parameters.dtype))).mean()
    assert found["mean"].iloc[0] == pytest.approx(float(free_energy), rel=1e-5)
