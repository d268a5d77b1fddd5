"""Temperatures of annealing and tempering that follow the model: where they lie, and that log Z by them is right."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM
from nbm_xp.boltzmann.chains import Machine
from nbm_xp.boltzmann.tempering import adaptive_replicas, adaptive_temperatures
from nbm_xp.namespace import to_numpy
from tests.helpers.libraries import Library, libraries


def machine(strength: float = 1.5) -> RBM:
    random = np.random.default_rng(3)
    weights = strength * random.normal(size=(5, 8))
    return RBM.from_parameters(weights, random.normal(size=5), random.normal(size=8), random_state=2)


def placed(model: RBM | DBM) -> list[float]:
    return adaptive_temperatures(Machine.of(model.state_))


ENDS = RBM.from_parameters(np.full((1, 12), 8.0), [-48.0], np.full(12, -4.0), random_state=0)
"""Two modes, which separate at one temperature."""


@pytest.mark.parametrize(
    ("place", "times", "uneven"), [(adaptive_temperatures, 2, ENDS), (adaptive_replicas, 1, machine(3.0))]
)
def test_temperatures_rise_from_0_to_1_and_are_more_where_more_happens(place: Any, times: int, uneven: RBM) -> None:
    few, many = (place(Machine.of(machine(strength).state_)) for strength in (0.2, 3.0))
    for found in (few, many):
        assert (found[0], found[-1]) == (0.0, 1.0)
        assert all(low < high for low, high in itertools.pairwise(found))
    assert len(many) > times * len(few)
    steps = np.diff(place(Machine.of(uneven.state_)))
    assert steps.max() > 2 * steps.min()


def test_each_stage_costs_the_same() -> None:
    """The weights of chains that take a tenth of the temperatures, one for each stage, are as uneven everywhere."""
    model = machine(2.0)
    stages = placed(model)[::10]
    assert stages[-1] == 1.0
    found = model.ais(2000, betas=stages, random_state=1)
    assert 0.75 ** len(stages) < found.effective_runs / 2000 < 0.95


def deep() -> DBM:
    random = np.random.default_rng(0)
    weights = [random.normal(size=(6, 4)), random.normal(size=(4, 3))]
    return DBM.from_parameters(weights, [np.zeros(n) for n in (6, 4, 3)])


def potts() -> RBM:
    weights = np.random.default_rng(0).normal(size=(3, 6))
    return RBM.from_parameters(weights, np.zeros(3), np.zeros(6), visible="categorical:3")


@pytest.mark.parametrize("make", [machine, deep, potts])
@pytest.mark.parametrize("way", ["ais", "reverse_ais"])
def test_estimates_by_them_are_right(make: Any, way: str) -> None:
    model = make()
    exact = model.log_partition()
    for seed in range(3):
        found = getattr(model, way)(200, "adaptive", random_state=seed)
        assert found.log_z_low < exact < found.log_z_high
        bounds = (np.asarray([found.log_z_low, found.log_z_high]) - found.log_z) * (1 if way == "ais" else -1)
        assert sorted(np.expm1(bounds) / found.standard_error) == pytest.approx([-3, 3])  # of Z, in reverse of 1 / Z
        assert found.effective_runs > 150


@pytest.mark.at_night("jax", "torch")
@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "jax", "cupy"))
def test_they_are_the_same_wherever_the_model_is(library: Library) -> None:
    here, there = machine(0.3), machine(0.3).to(library.name)
    blocks: dict[str, Any] = {"library": "dask", "chunks": 5}
    assert placed(there) == placed(here)
    places: list[tuple[RBM, dict[str, Any]]] = [(here, {}), (there, {}), (here, blocks)]
    for way, count, how in (("ais", "adaptive", {}), ("reverse_ais", 10, {"n_sweeps": 20})):
        whole, *others = (getattr(model, way)(20, count, random_state=1, **how, **options) for model, options in places)
        for found in others:
            np.testing.assert_allclose(to_numpy(found.log_weights), whole.log_weights, rtol=1e-6)
    how = {"n_temperatures": "adaptive", "exchanges": True, "random_state": 1}
    drawn, shares = here.parallel_tempering(12, 4, **how)
    for again in (there.parallel_tempering(12, 4, **how), here.parallel_tempering(12, 4, **how, **blocks)):
        np.testing.assert_array_equal(to_numpy(again[0]), drawn)
        np.testing.assert_allclose(to_numpy(again[1]), shares)


@pytest.mark.parametrize("strength", [0.3, 1.5, 3.0])
def test_replicas_exchange_as_often_all_along_their_ladder(strength: float) -> None:
    _, rates = machine(strength).parallel_tempering(200, 300, n_temperatures="adaptive", exchanges=True, random_state=1)
    means = rates.mean(axis=0)
    assert 0.2 < means.min() <= means.max() < 0.45


def test_nothing_is_done_before_all_is_known_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    large = DBM.from_parameters([np.zeros((30, 30))], [np.zeros(30)] * 2, random_state=0)

    def working(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("work")

    for name in ("adaptive_temperatures", "ReverseChains.start", "AnnealedChains.start"):
        monkeypatch.setattr(f"nbm_xp.boltzmann.model.{name}", working)
    place = large.state_.rng.rstate.tolist()
    states = np.zeros((5, 30))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("n_chains", {"n_chains": 0}), ("n_temperatures", {"n_temperatures": "many"}), ("betas", {"betas": [0.5, 1.0]}),
        ("beer", {"library": "beer"}),
    ]  # fmt: skip
    for named, how in wrong:
        for weigh in (large.ais, large.reverse_ais):
            with pytest.raises(ValueError, match=named):
                weigh(**{"n_chains": 5, "n_temperatures": "adaptive"} | how)
    for start in ([states], [states[:4], None], [states * np.nan, None]):
        with pytest.raises(ValueError, match="initial"):
            large.reverse_ais(5, "adaptive", initial=start)
    assert large.state_.rng.rstate.tolist() == place
