"""A saved model is written whole or not at all, read without running code, and is the model that it was."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import re
import stat
from typing import Any

import numpy as np
import pytest
import safetensors

from nbm_xp.boltzmann import DBM, RBM, SGD, load, storage
from nbm_xp.boltzmann.state import MachineState
from nbm_xp.files import replacing
from nbm_xp.storage.arrays import save_tensors

ROWS = (np.random.default_rng(0).random((20, 6)) < 0.4).astype("float32")


@pytest.fixture
def rbm() -> RBM:
    return RBM(4, n_iter=3, optimizer=SGD(0.5), random_state=1).fit(ROWS)


def test_a_loaded_model_is_the_one_saved(rbm: RBM, tmp_path: pathlib.Path) -> None:
    rbm.save(tmp_path / "model.safetensors")
    loaded = RBM.load(tmp_path / "model.safetensors")
    assert loaded.plain_params() == rbm.plain_params()
    assert (loaded.n_features_in_, loaded.n_iter_, loaded.n_samples_seen_) == (6, 3, 20)
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_", "base_rate_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(rbm, name))
    np.testing.assert_array_equal(loaded.score_samples(ROWS), rbm.score_samples(ROWS))
    loaded.partial_fit(ROWS)


def test_the_file_is_an_ordinary_one_of_its_format(rbm: RBM, tmp_path: pathlib.Path) -> None:
    rbm.set_params(random_state=np.random.default_rng(0)).save(tmp_path / "model.safetensors")
    with safetensors.safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        assert file.get_tensor("weights.0-1").shape == (6, 4)
        about = file.metadata()
    assert json.loads(about["params"])["random_state"] is None
    layers = json.loads(about["topology"])
    assert layers == {"sizes": [6, 4], "connections": [[0, 1]], "visible": "binary", "hidden": "binary"}
    assert (about["library"], about["model"]) == ("numpy", "RBM")


def test_a_model_can_live_in_another_library(rbm: RBM, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    rbm.save(tmp_path / "model.safetensors")
    loaded = RBM.load(tmp_path / "model.safetensors", library="torch")
    rows = torch.asarray(ROWS)
    np.testing.assert_allclose(loaded.transform(rows).numpy(), rbm.transform(ROWS), rtol=1e-5)
    np.testing.assert_allclose(loaded.to("numpy").transform(ROWS), rbm.transform(ROWS), rtol=1e-6)
    with pytest.raises(TypeError, match=r"X is of numpy and the model of torch: .* to\('numpy'\)"):
        rbm.to("torch").transform(ROWS)


ABOUT = {
    "format": storage.FORMAT,
    "model": "RBM",
    "topology": json.dumps({"sizes": [3, 2], "connections": [[0, 1]], "visible": "binary", "hidden": "binary"}),
    "params": "{}",
    "progress": json.dumps(
        {"seed": "1", "rstate": [1] * 6, "n_iter": 0, "n_samples": 0, "diagnostics": [], "feature_names": None}
    ),
}
ARRAYS = {"weights.0-1": (3, 2), "biases.0": (3,), "biases.1": (2,), "base_rate": (3,)}


def zeros(shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    return {name: np.zeros(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("arrays", "about", "message"),
    [
        ({"x": (3,)}, {}, "holds None, not 'nbm_xp.boltzmann 1'"),
        (ARRAYS, ABOUT | {"format": "something else"}, "holds 'something else'"),
        (ARRAYS, ABOUT | {"model": "DBM"}, "a model of the kind 'DBM', not 'RBM'"),
        (ARRAYS, ABOUT | {"topology": "no json"}, "tells nothing usable"),
        (ARRAYS, ABOUT | {"topology": "{}"}, "tells nothing usable"),
        (ARRAYS, {name: value for name, value in ABOUT.items() if name != "params"}, "tells nothing usable"),
        (ARRAYS, ABOUT | {"topology": ABOUT["topology"].replace("[3, 2]", "[3, 0]")}, "at least 1, got 0"),
        ({"weights.0-1": (3, 2)}, ABOUT, "lacks biases.0"),
        (ARRAYS | {"biases.1": (7,)}, ABOUT, r"biases.1 must have shape \(2,\), got \(7,\)"),
        (ARRAYS | {"chain.1": (7, 3)}, ABOUT, r"chain.1 must have shape \(None, 2\), got \(7, 3\)"),
        (ARRAYS | {"velocity.biases.1": (7,)}, ABOUT, r"velocity.biases.1 must have shape \(2,\), got \(7,\)"),
        (ARRAYS | {"surprise": (7,)}, ABOUT, "holds an array 'surprise', which no model has"),
        (ARRAYS, ABOUT | {"params": '{"speed": 3}'}, "no RBM of this release"),
        (ARRAYS, ABOUT | {"progress": "{}"}, "no RBM of this release"),
    ],
)
def test_files_of_something_else_are_refused(
    arrays: dict[str, Any], about: dict[str, str], message: str, tmp_path: pathlib.Path
) -> None:
    save_tensors(tmp_path / "model.safetensors", zeros(arrays), about)
    with pytest.raises(ValueError, match=message) as raised:
        RBM.load(tmp_path / "model.safetensors")
    assert "model.safetensors" in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "name", "damage", "message"),
    [
        ({"optimizer": "adam"}, "adam.steps", None, "is damaged: it lacks adam.steps"),
        ({"optimizer": "adam"}, "velocity.weights.0-1", None, "is damaged: it lacks velocity.weights.0-1"),
        ({"optimizer": "adam"}, "square.biases.0", None, "is damaged: it lacks square.biases.0"),
        ({"training": "ptt"}, "balance.weight.1", None, r"lacks balance\.weight\.1"),
        ({"training": "ptt"}, "ladder.turn", None, "lacks ladder.turn"),
        ({"training": "ptt"}, "ladder.accepted", lambda array: array[:-1], r"ladder.accepted must have shape"),
        ({"training": "ptt"}, "ladder.weights.0-1", lambda array: array[:, :3], r"ladder.weights.0-1 must have shape"),
        ({"training": "ptt"}, "ladder.state.0", lambda array: array[:, :3], r"ladder.state.0 must have shape"),
        ({"training": "ptt"}, "ladder.surprise", lambda array: np.zeros(3, "float32"), "which no model has"),
    ],
)
def test_damaged_states_of_training_are_refused(
    settings: dict[str, Any],
    name: str,
    damage: Any,
    message: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = RBM(4, n_iter=1, random_state=1, **settings).fit(ROWS)
    arrays = model.state_.arrays()
    found = arrays.pop(name, None)
    if damage is not None:
        arrays[name] = damage(found)
    monkeypatch.setattr(MachineState, "arrays", lambda self: arrays)
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=message):
        RBM.load(tmp_path / "model.safetensors")


def test_a_file_tells_what_kind_of_model_it_holds(rbm: RBM, tmp_path: pathlib.Path) -> None:
    rbm.save(tmp_path / "model.safetensors")
    assert type(load(tmp_path / "model.safetensors")) is RBM
    DBM.from_parameters([np.zeros((3, 2))], [np.zeros(3), np.zeros(2)]).save(tmp_path / "deep.safetensors")
    assert type(load(tmp_path / "deep.safetensors")) is DBM
    save_tensors(tmp_path / "model.safetensors", zeros(ARRAYS), ABOUT | {"model": "CRBM"})
    with pytest.raises(ValueError, match="holds a model of the kind 'CRBM', which this release does not know"):
        load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("kind", ["int64", "bool"])
def test_arrays_of_other_numbers_are_refused(kind: str, tmp_path: pathlib.Path) -> None:
    arrays = {name: value.astype(kind) for name, value in zeros(ARRAYS).items()}
    save_tensors(tmp_path / "model.safetensors", arrays, ABOUT)
    with pytest.raises(ValueError, match=f"of one floating dtype, got .*{kind}"):
        RBM.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("content", [b"no tensors", pickle.dumps({"components": 1}), 0, 4, 8, 100, -100, -1], ids=repr)
def test_what_is_no_whole_file_is_refused(rbm: RBM, tmp_path: pathlib.Path, content: bytes | int) -> None:
    path = tmp_path / "model.safetensors"
    rbm.save(path)
    path.write_bytes(content if isinstance(content, bytes) else path.read_bytes()[:content])
    with pytest.raises(ValueError, match=r"model\.safetensors is no whole \.safetensors file"):
        RBM.load(path)


def test_an_interrupted_save_changes_nothing(rbm: RBM, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.safetensors"
    rbm.save(path)
    before = path.read_bytes()

    def interrupted(descriptor: int) -> None:
        os.ftruncate(descriptor, 7)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rbm.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.safetensors"]


def test_new_files_have_the_users_permissions(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ordinary").touch()
    with replacing(tmp_path / "replaced") as part:
        part.write_text("x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "replaced")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("name", ["model.pkl", "model.npz", "MODEL.H5", "model.zarr.zip"])
def test_endings_of_other_formats_are_refused(rbm: RBM, tmp_path: pathlib.Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"path must end in \.safetensors, or in \.zarr .*; got '.*" + re.escape(name)):
        rbm.save(tmp_path / name)
    assert os.listdir(tmp_path) == []
    rbm.save(tmp_path / "model of mine")
    RBM.load(tmp_path / "model of mine")


@pytest.mark.parametrize(
    ("make", "name", "wanted"),
    [
        (lambda: RBM(np.int64(3), n_iter=1), "n_components", 3),
        (lambda: RBM(3, np.float64(0.05), n_iter=np.int64(1)), "learning_rate", 0.05),
        (lambda: RBM(3, n_iter=1, shuffle=np.bool_(True)), "shuffle", True),
        (lambda: DBM([np.int64(6), 3], n_iter=1), "layers", [6, 3]),
        (lambda: DBM(np.asarray([6, 4, 3]), n_iter=1), "layers", [6, 4, 3]),
    ],
)
def test_hyperparameters_that_a_search_over_arrays_sets_are_saved(
    make: Any, name: str, wanted: Any, tmp_path: pathlib.Path
) -> None:
    make().fit(ROWS).save(tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors").get_params()[name] == wanted
