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
    return adaptive_temperatures(Machine.of(model))


ENDS = RBM.from_parameters(np.full((1, 12), 8.0), [-48.0], np.full(12, -4.0), random_state=0)
"""Two modes, which separate at one temperature."""


@pytest.mark.parametrize(
    ("place", "times", "uneven"), [(adaptive_temperatures, 2, ENDS), (adaptive_replicas, 1, machine(3.0))]
)
def test_temperatures_rise_from_0_to_1_and_are_more_where_more_happens(place: Any, times: int, uneven: RBM) -> None:
    few, many = (place(Machine.of(machine(strength))) for strength in (0.2, 3.0))
    for found in (few, many):
        assert (found[0], found[-1]) == (0.0, 1.0)
        assert all(low < high for low, high in itertools.pairwise(found))
    assert len(many) > times * len(few)
    steps = np.diff(place(Machine.of(uneven)))
    assert steps.max() > 2 * steps.min()


def test_each_stage_costs_the_same() -> None:
    """The weights of chains that take a tenth of the temperatures, one for each stage, are as uneven everywhere."""
    model = machine(2.0)
    stages = placed(model)[::10]
    assert stages[-1] == 1.0
    found = model.ais(2000, betas=stages, random_state=1)
    assert 0.75 ** len(stages) < found.effective_runs / 2000 < 0.95


@pytest.mark.parametrize("reverse", [False, True])
def test_what_they_weigh_is_right(reverse: bool) -> None:
    model = machine()
    exact = model.log_partition()
    for seed in range(3):
        weigh = model.reverse_ais if reverse else model.ais
        found = weigh(200, "adaptive", random_state=seed)
        assert found.log_z_low < exact < found.log_z_high
        assert found.effective_runs > 150


def test_deep_machines_and_other_kinds_have_them() -> None:
    random = np.random.default_rng(0)
    deep = DBM.from_parameters(
        [random.normal(size=(6, 4)), random.normal(size=(4, 3))], [np.zeros(n) for n in (6, 4, 3)]
    )
    potts = RBM.from_parameters(random.normal(size=(3, 6)), np.zeros(3), np.zeros(6), visible="categorical:3")
    for model in (deep, potts):
        found = model.ais(300, "adaptive", random_state=0)
        assert found.log_z_low < model.log_partition() < found.log_z_high


@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "cupy"))
def test_they_are_the_same_wherever_the_model_is(library: Library) -> None:
    there = machine().to(library.name)
    assert placed(there) == placed(machine())
    whole = machine().ais(20, "adaptive", random_state=1)
    assert there.ais(20, "adaptive", random_state=1).n_temperatures == whole.n_temperatures
    blocks = machine().ais(20, "adaptive", random_state=1, library="dask", chunks=7)
    np.testing.assert_allclose(to_numpy(blocks.log_weights), whole.log_weights, rtol=1e-6)


@pytest.mark.parametrize("strength", [0.3, 1.5, 3.0])
def test_replicas_exchange_as_often_all_along_their_ladder(strength: float) -> None:
    _, shares = machine(strength).parallel_tempering(
        200, 300, n_temperatures="adaptive", exchanges=True, random_state=1
    )
    means = shares.mean(axis=0)
    assert 0.2 < means.min() <= means.max() < 0.45


@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "cupy"))
def test_ladders_are_the_same_wherever_the_model_is(library: Library) -> None:
    here, there = machine(), machine().to(library.name)
    how: dict[str, Any] = {"n_temperatures": "adaptive", "exchanges": True, "random_state": 1}
    drawn, shares = here.parallel_tempering(12, 4, **how)
    for found in (
        there.parallel_tempering(12, 4, **how),
        here.parallel_tempering(12, 4, library="dask", chunks=5, **how),
    ):
        np.testing.assert_array_equal(to_numpy(found[0]), drawn)
        np.testing.assert_allclose(to_numpy(found[1]), shares)


def test_nothing_is_done_before_all_is_known_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    large = DBM.from_parameters([np.zeros((30, 30))], [np.zeros(30)] * 2, random_state=0)

    def working(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("work")

    for name in ("adaptive_temperatures", "ReverseChains.start", "AnnealedChains.start"):
        monkeypatch.setattr(f"nbm_xp.boltzmann.model.{name}", working)
    place = large.state_.rng.rstate.tolist()
    states = np.zeros((5, 30))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("n_chains", {"n_chains": 0}),
        ("n_temperatures", {"n_temperatures": "many"}),
        ("betas", {"betas": [0.5, 1.0]}),
        ("beer", {"library": "beer"}),
    ]
    for named, how in wrong:
        for weigh in (large.ais, large.reverse_ais):
            with pytest.raises(ValueError, match=named):
                weigh(**{"n_chains": 5, "n_temperatures": "adaptive"} | how)
    for start in ([states], [states[:4], None], [states * np.nan, None]):
        with pytest.raises(ValueError, match="initial"):
            large.reverse_ais(5, "adaptive", initial=start)
    assert large.state_.rng.rstate.tolist() == place
