"""A saved model is written whole or not at all, read without running code, and is the model that it was."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import stat
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import files
from nbm_xp.namespace.files import load_arrays, replacing, save_arrays

ROWS = (np.random.default_rng(0).random((20, 6)) < 0.4).astype("float32")


@pytest.fixture
def rbm() -> RBM:
    return RBM(4, n_iter=3, momentum=0.5, random_state=1).fit(ROWS)


def test_a_loaded_model_is_the_one_saved(rbm: RBM, tmp_path: pathlib.Path) -> None:
    rbm.save(tmp_path / "model.npz")
    loaded = RBM.load(tmp_path / "model.npz")
    assert loaded.get_params() == rbm.get_params()
    assert (loaded.n_features_in_, loaded.n_iter_, loaded.n_samples_seen_) == (6, 3, 20)
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_", "base_rate_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(rbm, name))
    np.testing.assert_array_equal(loaded.score_samples(ROWS), rbm.score_samples(ROWS))
    loaded.partial_fit(ROWS)


def test_numpy_alone_opens_the_file(rbm: RBM, tmp_path: pathlib.Path) -> None:
    rbm.set_params(random_state=np.random.default_rng(0)).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        assert file["components"].shape == (4, 6)
        about = json.loads(str(file["metadata"]))
    assert about["params"]["random_state"] is None
    assert about["library"] == "numpy"


def test_a_model_can_live_in_another_library(rbm: RBM, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    rbm.save(tmp_path / "model.npz")
    loaded = RBM.load(tmp_path / "model.npz", library="torch")
    rows = torch.asarray(ROWS)
    np.testing.assert_allclose(loaded.transform(rows).numpy(), rbm.transform(ROWS), rtol=1e-5)
    np.testing.assert_allclose(loaded.to("numpy").transform(ROWS), rbm.transform(ROWS), rtol=1e-6)


def test_rows_in_host_memory_do_not_end_up_elsewhere_unasked(rbm: RBM) -> None:
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"X is of numpy and the model of torch: .* to\('numpy'\)"):
        rbm.to("torch").transform(ROWS)


@pytest.mark.parametrize(
    "content",
    [b"", b"no zip at all", pickle.dumps({"components": 1})],
    ids=["empty", "text", "pickle"],
)
def test_other_files_are_refused(content: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.npz"):
        RBM.load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.zeros(3)},
        {"metadata": "{}"},
        {"metadata": "no json"},
        {"metadata": json.dumps({"format": "something else"})},
        {"metadata": json.dumps({"format": "nbm_xp.RBM 1", "params": {}, "progress": {}})},
    ],
)
def test_npz_files_of_something_else_are_refused(arrays: dict[str, Any], tmp_path: pathlib.Path) -> None:
    save_arrays(tmp_path / "model.npz", arrays)
    with pytest.raises(ValueError, match=r"model\.npz"):
        RBM.load(tmp_path / "model.npz")


def test_a_damaged_model_is_refused(rbm: RBM, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.npz"
    rbm.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"model\.npz"):
        RBM.load(path)


def test_objects_are_never_unpickled(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, metadata=np.array({"a": 1}, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        load_arrays(path)


def test_an_interrupted_save_leaves_what_was_there(
    rbm: RBM, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.npz"
    rbm.save(path)
    before = path.read_bytes()

    def interrupted(file: Any, **arrays: Any) -> None:
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(files.np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rbm.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]


def test_new_files_have_the_users_permissions(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ordinary").touch()
    with replacing(tmp_path / "replaced") as part:
        part.write_text("x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "replaced")]
    assert modes[0] == modes[1]
