"""A training that was left and gone on with ends with the same file as one that was not, to the last byte."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, PCD, RBM, SGD

ROWS = (np.random.default_rng(0).random((53, 12)) < 0.4).astype("float32")
SETTINGS: list[dict[str, Any]] = [
    {}, {"training": "cd", "n_gibbs": 2}, {"optimizer": SGD(0.5, 0.01), "n_gibbs": 3, "schedule": "linear"},
    {"shuffle": False, "training": PCD(centred=True), "diagnostics": True},
    {"training": "ptt", "learning_rate": 3.0, "n_gibbs": 2},
    {"optimizer": "adam", "learning_rate": 0.01, "training": PCD(average=True)},
]  # fmt: skip


@pytest.fixture(params=SETTINGS, ids=lambda settings: ",".join(settings) or "plain")
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"n_components": 5, "n_iter": 6, "random_state": 3, **request.param}


def test_a_training_that_goes_on_ends_with_the_same_bytes(settings: dict[str, Any], tmp_path: pathlib.Path) -> None:
    def save(rbm: RBM) -> None:
        rbm.score_samples(ROWS)  # looking on changes nothing
        rbm.save(tmp_path / f"{rbm.n_iter_}.safetensors")

    resumed, undisturbed = tmp_path / "resumed.safetensors", tmp_path / "undisturbed.safetensors"
    RBM(**settings).fit(ROWS, callback=save).save(undisturbed)
    for left in (1, 5, 6):
        again = RBM.load(tmp_path / f"{left}.safetensors").fit(ROWS, resume=True)
        assert again.n_iter_ == 6
        again.save(resumed)
        assert resumed.read_bytes() == undisturbed.read_bytes(), left


@pytest.mark.at_night("training,learning_rate,n_gibbs")
def test_a_training_can_go_on_in_the_same_process_and_from_a_copy(settings: dict[str, Any]) -> None:
    whole = RBM(**settings).fit(ROWS)
    for left in (lambda rbm: rbm, lambda rbm: pickle.loads(pickle.dumps(rbm))):
        stopped = RBM(**settings)
        with pytest.raises(InterruptedError):
            stopped.fit(ROWS, callback=_stop_after_two)
        again = left(stopped).fit(ROWS, resume=True)
        np.testing.assert_array_equal(again.components_, whole.components_)
        np.testing.assert_array_equal(again.gibbs(ROWS), whole.gibbs(ROWS))
        whole = RBM(**settings).fit(ROWS)


def _stop_after_two(rbm: RBM) -> None:
    if rbm.n_iter_ == 2:
        raise InterruptedError


def test_draws_compiled_in_another_order_go_on_all_the_same(tmp_path: pathlib.Path) -> None:
    rbm = RBM(4, n_iter=2, random_state=0).fit(ROWS)
    rbm.gibbs(ROWS[:3])
    rbm.gibbs(ROWS[:7])
    rbm.save(tmp_path / "model.safetensors")
    here = [rbm.gibbs(ROWS[:3]), rbm.gibbs(ROWS[:7]), rbm.gibbs(ROWS[:9])]
    loaded = RBM.load(tmp_path / "model.safetensors")
    there = [loaded.gibbs(ROWS[:7]), loaded.gibbs(ROWS[:3]), loaded.gibbs(ROWS[:9])]
    for a, b in zip(here, [there[1], there[0], there[2]], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("training", [PCD(positive="gibbs"), "ptt"])
def test_deep_machines_go_on_too(training: Any, tmp_path: pathlib.Path) -> None:
    dbm = DBM([12, 5, 3], batch_size=10, n_iter=3, optimizer=SGD(0.5), random_state=1, training=training)
    dbm.fit(ROWS, callback=lambda model: model.save(tmp_path / f"{model.n_iter_}.safetensors"))
    dbm.save(tmp_path / "whole.safetensors")
    DBM.load(tmp_path / "1.safetensors").fit(ROWS, resume=True).save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()


def test_a_callback_may_say_how_many_passes_there_will_be() -> None:
    def shorten(rbm: RBM) -> None:
        rbm.n_iter = 3

    assert RBM(4, n_iter=50, random_state=0).fit(ROWS, callback=shorten).n_iter_ == 3


def test_what_has_learnt_nothing_cannot_go_on() -> None:
    with pytest.raises(ValueError, match="is not fitted yet"):
        RBM(4).fit(ROWS, resume=True)
    with pytest.raises(ValueError, match="has 3 features, but RBM is expecting 12"):
        RBM(4, n_iter=1).fit(ROWS).fit(ROWS[:, :3], resume=True)
