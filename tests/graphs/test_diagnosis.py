"""What datasets of chains on graphs, and runs, say of their mixing."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, MixingWarning, diagnose, lattice, onsager
from nbm_xp.runs import open_dataset, resume, sample_graph

pytest.importorskip("xarray")

SQUARE = GraphMachine(lattice((12, 12)))
HOT: dict[str, Any] = {"n_chains": 8, "n_sweeps": 300, "burn_in": 50, "beta": 0.2, "random_state": 1}
MEASURES = ("r_hat", "ess", "mcse")


def names(*observed: str) -> set[str]:
    return {f"{name}_{what}" for name in observed for what in MEASURES}


def told(draws: Any) -> dict[str, Any]:
    return {name: value for name, value in draws.attrs.items() if name.endswith(MEASURES)}


def test_what_has_a_number_for_each_sweep_is_diagnosed() -> None:
    draws = SQUARE.sample(**HOT, observe=["energy", "magnetisation", "overlap", "means", "correlations"])
    assert set(told(draws)) == names("energy", "magnetisation", "overlap")
    assert all(type(value) is float for value in told(draws).values())  # as files have them
    exact = onsager((12, 12), 0.2).energy
    assert abs(float(draws["energy"].mean()) - exact) < 4 * draws.attrs["energy_mcse"] < 0.02
    assert not told(SQUARE.sample(**HOT | {"n_sweeps": 19}))
    assert not told(SQUARE.sample(**HOT, observe="means"))


def test_only_chains_of_the_same_temperature_are_compared() -> None:
    betas = [0.25, 0.1, 0.25, 0.1, 0.1, 0.25, 0.1, 0.25]
    draws = SQUARE.sample(**HOT | {"beta": betas}, observe=["energy", "overlap"])
    assert [len(value) for value in told(draws).values()] == [2] * 6  # pairs by the temperatures of both
    hot = SQUARE.sample(**HOT | {"beta": 0.1}, observe="energy").attrs
    assert draws.attrs["energy_mcse"][0] == pytest.approx(2**0.5 * hot["energy_mcse"], rel=0.4)
    unequal = SQUARE.sample(**HOT | {"beta": [0.1] * 6 + [0.2] * 2}, observe="energy")
    assert len(unequal.attrs["energy_r_hat"]) == 2
    tempered = SQUARE.temper(betas=[0.1, 0.2, 0.3], n_chains=4, n_sweeps=300, burn_in=50, random_state=1)
    assert [len(value) for value in told(tempered).values()] == [3, 3, 3]


def test_what_is_computed_later_is_diagnosed_when_it_is_there(tmp_path: pathlib.Path) -> None:
    asked = HOT | {"n_sweeps": 20, "burn_in": 5, "beta": 0.05}
    whole, lazy = SQUARE.sample(**asked), SQUARE.sample(**asked, chunks=12)
    assert not told(lazy)
    assert diagnose(lazy.compute(scheduler="synchronous")) == told(whole)
    pytest.importorskip("zarr")
    run = sample_graph(SQUARE, tmp_path / "run", **asked, chunks=(6, 12), checkpoint_every=20)
    assert told(open_dataset(run.path)) == told(whole)


def test_a_run_that_warns_is_finished(tmp_path: pathlib.Path) -> None:
    """Also where warnings are errors, as in all tests."""
    pytest.importorskip("zarr")
    asked: dict[str, Any] = {"n_chains": 8, "n_sweeps": 40, "burn_in": 40, "beta": 2.0, "chunks": 12, "random_state": 1}
    asked["checkpoint_every"] = 40
    with pytest.raises(MixingWarning, match=r"magnetisation \(R-hat .*cluster moves"):
        sample_graph(SQUARE, tmp_path / "run", **asked)
    assert told(open_dataset(tmp_path / "run"))["magnetisation_r_hat"] > 1.05
    resume(tmp_path / "run")  # finished: nothing is left to warn of


@pytest.mark.slow
def test_stripes_are_told() -> None:
    """Random starts far below the critical temperature: the energy is off by far more than draws of one place tell."""
    machine = GraphMachine(lattice((64, 64)))
    asked: dict[str, Any] = {"n_chains": 64, "beta": 0.55, "n_sweeps": 500, "random_state": 1}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        striped = machine.sample(**asked, burn_in=1000)
    (only,) = found
    assert only.category is MixingWarning
    assert all(what in str(only.message) for what in ("energy (R-hat", "burn_in", "cluster moves", "tempering"))
    clusters = machine.sample(**asked, burn_in=100, rule="swendsen_wang", observe="energy")
    exact = onsager((64, 64), 0.55).energy
    assert abs(float(clusters["energy"].mean()) - exact) < 4 * clusters.attrs["energy_mcse"]
    assert float(striped["energy"].mean()) - exact > 0.01
    assert np.isclose(striped.attrs["energy_mcse"], striped["energy"].mean("sweep").std() / 8, rtol=0.35)
