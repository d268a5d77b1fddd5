"""What Keras 1.0.3 saves it loads again: files of weights, YAML, JSON, pickles; its estimators and what it reads."""

import gzip
import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.clients.keras1_networks import NETWORKS

RNG = np.random.default_rng(3)
BY_NAME = pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)


@BY_NAME
def test_weights_in_a_file(keras1: Any, tmp_path: Path, make: Any) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    (model, x, y), (other, _, _) = make(keras1), make(keras1)
    model.fit(x, y, nb_epoch=1, verbose=0)
    model.save_weights(str(tmp_path / "weights.h5"))
    assert not np.array_equal(other.predict(x), model.predict(x))
    other.load_weights(str(tmp_path / "weights.h5"))
    np.testing.assert_array_equal(other.predict(x), model.predict(x))


@pytest.mark.parametrize(  # the others' configurations do not say that channels come last
    "make", [make for make in NETWORKS if "last" not in make.__name__], ids=lambda make: make.__name__
)
def test_descriptions_and_pickles(keras1: Any, make: Any) -> None:
    model, x, y = make(keras1)
    model.fit(x, y, nb_epoch=1, verbose=0)
    models = keras1.models
    for other in (models.model_from_json(model.to_json()), models.model_from_yaml(model.to_yaml())):
        other.set_weights(model.get_weights())
        np.testing.assert_array_equal(other.predict(x), model.predict(x))
    other = pickle.loads(pickle.dumps(model))
    assert type(other) is type(model)
    np.testing.assert_array_equal(other.predict(x), model.predict(x))


def test_a_seed_of_numpy_repeats_a_training(keras1: Any) -> None:
    core, found = keras1.layers.core, []
    x, y = RNG.normal(size=(20, 6)), RNG.normal(size=(20, 1))
    for seed in (5, 5, 6):
        np.random.seed(seed)  # noqa: NPY002 - what programs for Keras call
        model = keras1.models.Sequential([core.Dense(7, input_dim=6), core.Dropout(0.5), core.Dense(1)])
        model.compile("adam", "mse")
        model.fit(x, y, nb_epoch=3, batch_size=5, verbose=0)
        found.append(model.predict(x))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.any(found[0] != found[2])


def test_callbacks_that_look_for_the_best(keras1: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    callbacks, core = keras1.callbacks, keras1.layers.core
    model = keras1.models.Sequential([core.Dense(1, input_dim=6)])
    model.compile("adam", "mse")
    path = str(tmp_path / "best.h5")
    watched = [callbacks.ModelCheckpoint(path, save_best_only=True), callbacks.EarlyStopping(patience=1)]
    x = RNG.normal(size=(20, 6))
    model.fit(x, x[:, :1], nb_epoch=3, verbose=0, validation_split=0.25, callbacks=watched)
    model.load_weights(path)
    assert model.evaluate(x[15:], x[15:, :1], verbose=0) == pytest.approx(watched[0].best, rel=1e-5)


def test_estimators_of_scikit_learn(keras1: Any) -> None:
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    wrappers, core = importlib.import_module("keras.wrappers.scikit_learn"), keras1.layers.core

    def built(width: int = 4) -> Any:
        model = keras1.models.Sequential([core.Dense(width, activation="tanh", input_dim=6)])
        model.add(core.Dense(2, activation="softmax"))
        model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
        return model

    def right(estimator: Any, rows: Any, classes: Any) -> float:
        return float(np.mean(np.ravel(estimator.predict(rows)) == classes))  # its own takes no classes

    x = RNG.normal(size=(40, 6))
    estimator = wrappers.KerasClassifier(built, nb_epoch=1, verbose=0)
    grid = selection.GridSearchCV(estimator, {"width": [3, 5]}, cv=2, scoring=right)
    grid.fit(x, (x[:, 0] > 0).astype(int))
    assert grid.best_params_["width"] in (3, 5) and len(grid.predict(x)) == 40


def test_preprocessing_and_data_sets(keras1: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = importlib.import_module("keras.preprocessing.image")
    pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    changed = image.ImageDataGenerator(rotation_range=20, shear_range=0.1, zoom_range=0.2, horizontal_flip=True)
    x, y = next(changed.flow(RNG.uniform(size=(12, 3, 8, 8)), np.arange(12), batch_size=5))
    assert x.shape == (5, 3, 8, 8) and len(y) == 5
    sequence = importlib.import_module("keras.preprocessing.sequence")
    assert sequence.pad_sequences([[1, 2], [3]], maxlen=2).tolist() == [[1, 2], [0, 3]]
    couples, labels = sequence.skipgrams([1, 2, 3, 4], 5)
    assert len(couples) == len(labels) > 0
    words = importlib.import_module("keras.preprocessing.text").Tokenizer(nb_words=5)
    words.fit_on_texts(["the cat sat on the mat", "the dog"])
    assert words.texts_to_matrix(["the cat"]).shape == (1, 5)

    with gzip.open(tmp_path / "mnist.pkl.gz", "wb") as file:
        pictures = np.zeros((3, 28, 28), "uint8")
        pickle.dump(((pictures, np.arange(3)), (pictures, np.arange(3))), file)
    mnist = importlib.import_module("keras.datasets.mnist")
    monkeypatch.setattr(mnist, "get_file", lambda *_, **__: str(tmp_path / "mnist.pkl.gz"))
    assert mnist.load_data()[0][0].shape == (3, 28, 28)
