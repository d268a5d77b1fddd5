"""A machine of features and labels: probabilities of classes are those of its energy, and it learns to tell them."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import PCD, RBM, SGD, RBMClassifier
from nbm_xp.boltzmann.classifier import label_loss
from tests.helpers.libraries import LIBRARIES, Library


def clusters(seed: int = 0) -> tuple[Any, Any]:
    """Rows around three patterns, and texts that name them."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 150)
    rows = np.repeat(np.eye(3), 4, axis=1)[labels]
    flipped = random.random(rows.shape) < 0.1
    return np.abs(rows - flipped).astype("float32"), np.array(["ant", "bee", "cat"])[labels]


def fitted(**settings: Any) -> RBMClassifier:
    return RBMClassifier(12, n_iter=40, random_state=0, **settings).fit(*clusters())


@pytest.mark.parametrize("hidden", ["binary", "relu"])
@pytest.mark.parametrize("visible", ["binary", "12*binary", "6*spin+6*categorical:2"])
def test_probabilities_are_those_of_the_joint_machine(visible: str, hidden: str) -> None:
    rows, labels = clusters()
    if "spin" in visible:
        rows[:, :6] = 2 * rows[:, :6] - 1
    model = RBMClassifier(5, n_iter=2, visible=visible, hidden=hidden, random_state=0).fit(rows, labels)
    joint = [np.concatenate([rows, np.full((len(rows), 1), number, "float32")], axis=1) for number in range(3)]
    weights = np.exp(-np.stack([model.rbm_.free_energy(each) for each in joint], axis=1).astype("float64"))
    found = model.predict_proba(rows)
    np.testing.assert_allclose(found, weights / weights.sum(axis=1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), found, rtol=1e-5)
    assert np.array_equal(model.predict(rows), model.classes_[found.argmax(axis=1)])
    assert list(model.classes_) == ["ant", "bee", "cat"]


@pytest.mark.parametrize(
    "settings", [{}, {"generative": 1.0, "training": PCD(centred=True)}, {"generative": 0, "optimizer": SGD(0.5)}]
)
def test_it_learns_to_tell_classes(settings: dict[str, Any]) -> None:
    assert fitted(**settings).score(*clusters(1)) > 0.95


def test_missing_features_are_drawn() -> None:
    rows, labels = clusters()
    rows[np.random.default_rng(2).random(rows.shape) < 0.25] = np.nan
    rows[::3] = clusters()[0][::3]
    model = RBMClassifier(12, n_iter=40, random_state=0).fit(rows, labels)
    assert model.score(*clusters(1)) > 0.95
    joint = [np.concatenate([rows, np.full((150, 1), number, "float32")], axis=1) for number in range(3)]
    weights = np.exp(-np.stack([model.rbm_.free_energy(each) for each in joint], axis=1).astype("float64"))
    exact, found = weights / weights.sum(axis=1, keepdims=True), model.predict_proba(rows)
    np.testing.assert_allclose(found[::3], exact[::3], atol=1e-4)
    assert np.abs(found - exact).max() < 0.12  # 10 chains of 50 sweeps
    assert np.abs(found - exact).mean() < 0.01
    lazy = pytest.importorskip("dask.array").from_array(rows, chunks=(40, 12))
    np.testing.assert_allclose(model.predict_proba(lazy), found, atol=1e-5)


def test_what_is_as_for_the_machine_is_so_by_default() -> None:
    own, machine = RBMClassifier().get_params(), RBM().get_params()
    assert {name: own[name] for name in own.keys() & machine.keys()}.items() <= machine.items()


def test_its_loss_is_the_mean_of_what_it_gives_to_the_labels() -> None:
    model, (rows, labels) = fitted(), clusters()
    numbers = np.searchsorted(model.classes_, labels)
    units = np.concatenate([rows, np.eye(3, dtype="float32")[numbers]], axis=1)
    of_rows = B.variable(np.full(len(rows), 1 / len(rows)), "float32")
    loss = float(B.eval(label_loss(model.rbm_.state_.parameters, B.variable(units, "float32"), of_rows, 3)))
    told = model.predict_log_proba(rows)[np.arange(len(rows)), numbers]
    assert loss == pytest.approx(-told.mean(), rel=1e-4)


@pytest.mark.parametrize("generative", [0.0, 0.5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_row_counts_as_often_as_its_weight_says(generative: float, shuffle: bool) -> None:
    rows, labels = clusters()
    times = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], 50))  # as many rows as there were
    settings: dict[str, Any] = {"generative": generative, "batch_size": 150, "shuffle": shuffle, "random_state": 0}
    weighted = RBMClassifier(6, n_iter=8, **settings).fit(rows, labels, sample_weight=10 * times)
    repeated = RBMClassifier(6, n_iter=8, **settings).fit(np.repeat(rows, times, axis=0), np.repeat(labels, times))
    found, wanted = weighted.rbm_.components_, repeated.rbm_.components_
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-4)
    told = weighted.score(rows, labels, sample_weight=times)
    assert told == pytest.approx(weighted.score(np.repeat(rows, times, axis=0), np.repeat(labels, times)), abs=1e-12)


def test_it_is_saved_and_pickled(tmp_path: pathlib.Path) -> None:
    model, (rows, _) = fitted(schedule="linear"), clusters()
    model.save(tmp_path / "model.safetensors")
    for again in (RBMClassifier.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
        assert np.array_equal(again.predict(rows), model.predict(rows))
    model.rbm_.save(tmp_path / "machine.safetensors")
    with pytest.raises(ValueError, match="holds a model of the kind 'RBM', not 'RBMClassifier'"):
        RBMClassifier.load(tmp_path / "machine.safetensors")


def test_its_machine_makes_rows_of_a_label_up() -> None:
    drawn = fitted(generative=1.0, n_gibbs=3).rbm_.sample(2000, 200, random_state=0)
    assert drawn.shape == (2000, 13)
    of_bee = drawn[drawn[:, -1] == 1, :-1].mean(axis=0)
    assert of_bee[4:8].min() > 0.6 > 0.4 > of_bee[:4].max()


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, {"y": None}, "y must be given"),
        ({}, {"y": ["ant"] * 149}, "y must have a label for each of 150 rows, got 149"),
        ({}, {"y": ["ant"] * 150}, "y must have labels of at least two classes, got 1 class"),
        ({}, {"y": [0.5] * 150}, "Unknown label type: continuous"),
        ({}, {"y": [float("nan")] * 150}, "Input y contains NaN"),
        ({}, {"y": np.zeros((150, 2))}, "y should be a 1d array"),
        *(({}, {"sample_weight": w}, "sample_weight") for w in ([1.0], [-1.0] * 150, [0.0] * 150, ["a"] * 150)),
        *(({"generative": g}, {}, "generative must be a finite number") for g in (-1, float("inf"), True, "much")),
    ],
)
def test_arguments_are_checked_first(settings: dict[str, Any], given: dict[str, Any], message: str) -> None:
    model, (rows, labels) = RBMClassifier(3, **settings), clusters()
    with pytest.raises(ValueError, match=message):
        model.fit(rows, **{"y": labels} | given)
    assert not hasattr(model, "classes_")


@pytest.mark.at_night("jax", "dask")
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_is_the_same_on_every_library(library: Library) -> None:
    rows, labels = clusters()
    found, usual = (
        RBMClassifier(5, n_iter=1, random_state=0).fit(given, labels).predict_proba(given)
        for given in (library.array(rows.astype("float64")), rows.astype("float64"))
    )
    np.testing.assert_allclose(library.numpy(found), usual, rtol=1e-6)
