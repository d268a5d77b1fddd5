"""Keras 2.0.6 and 1.0.3 load what they save: files, YAML, JSON, pickles; their datasets and scikit-learn wrappers."""

import gzip
import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import installed_libraries, use_backend

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 6)).astype("float32"), np.eye(3, dtype="float32")[np.arange(40) % 3]


OLD_NAMES = {"epochs": "nb_epoch", "num_words": "nb_words", "kernel_regularizer": "W_regularizer"}


def named(keras: Any, **options: Any) -> dict[str, Any]:
    """Options by their names in a release."""
    old = keras.__version__.startswith("1.")
    return {OLD_NAMES.get(name, name) if old else name: value for name, value in options.items()}


def network(keras: Any) -> Any:
    layers = keras.layers
    first = layers.Dense(8, activation="tanh", input_shape=(6,), **named(keras, kernel_regularizer="l2"))
    rest = [layers.BatchNormalization(), layers.Dropout(0.2), layers.Dense(3, activation="softmax")]
    model = keras.models.Sequential([first, *rest])
    model.compile(keras.optimizers.Adam(lr=0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


def branched(keras: Any) -> Any:
    layers = keras.layers
    x = layers.Input((6,))
    sides = [layers.Dense(4, activation="relu")(x), layers.Dense(4, name="own")(x)]
    y = layers.concatenate(sides) if hasattr(layers, "concatenate") else layers.merge(sides, mode="concat")
    model = keras.models.Model(x, layers.Dense(3, activation="softmax")(y))
    model.compile("rmsprop", "categorical_crossentropy")
    return model


def recurrent(keras: Any) -> Any:
    layers = keras.layers
    model = keras.models.Sequential([layers.Reshape((3, 2), input_shape=(6,)), layers.LSTM(5)])
    model.add(layers.Dense(3, activation="softmax"))
    model.compile(keras.optimizers.SGD(momentum=0.9), "categorical_crossentropy")
    return model


NETWORKS = pytest.mark.parametrize("make", [network, branched, recurrent], ids=lambda make: make.__name__)


def trained(keras: Any, make: Any) -> Any:
    model = make(keras)
    model.fit(X, Y, verbose=0, **named(keras, epochs=2))
    return model


def costs(model: Any) -> list[Any]:
    """Losses of further steps, which depend on the weights and the optimizer's state; dropout stays random."""
    return [model.train_on_batch(X, Y) for _ in range(3)]


@NETWORKS
def test_a_model_in_a_file_goes_on_as_the_model(keras: Any, tmp_path: Path, make: Any) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    model = trained(keras, make)
    path = str(tmp_path / "model.h5")
    model.save(path)
    other = keras.models.load_model(path)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    kept, found = (m.optimizer.get_weights() for m in (model, other))
    assert len(kept) == len(found) > 0
    for one, two in zip(kept, found, strict=True):
        np.testing.assert_array_equal(one, two)
    if make is not network:  # whose dropout has another seed
        np.testing.assert_allclose(costs(other), costs(model), rtol=1e-6)


def test_weights_by_the_names_of_layers(keras: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    model, other, path = trained(keras, network), network(keras), str(tmp_path / "weights.h5")
    model.save_weights(path)
    for layer, like in zip(other.layers, model.layers, strict=True):
        layer.name = like.name
    other.load_weights(path, by_name=True)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_weights_that_do_not_fit_change_nothing(keras: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    layers, path = keras.layers, str(tmp_path / "weights.h5")
    keras.models.Sequential([layers.Dense(4, input_shape=(6,)), layers.Dense(2)]).save_weights(path)
    model = keras.models.Sequential([layers.Dense(4, input_shape=(6,)), layers.Dense(3)])
    before = model.get_weights()
    with pytest.raises(ValueError, match="must have shape"):
        model.load_weights(path)
    for one, two in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_file_that_says_its_text_as_text(keras: Any, tmp_path: Path) -> None:
    """As current programs write attributes, and h5py 3 reads them."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    model, path = trained(keras, branched), str(tmp_path / "model.h5")
    model.save(path)
    with h5py.File(path, "a") as file:
        groups = [file["model_weights"], *file["model_weights"].values(), file["optimizer_weights"], file]
        for place in groups:
            for name, value in list(place.attrs.items()):
                texts = [item if isinstance(item, str) else bytes(item).decode() for item in np.ravel(value)]
                place.attrs.create(name, texts if np.ndim(value) else texts[0], dtype=h5py.string_dtype())
    np.testing.assert_array_equal(keras.models.load_model(path).predict(X), model.predict(X))


@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
@pytest.mark.parametrize("library", sorted({"numpy", "torch"} & set(installed_libraries())))
def test_kernels_of_a_file_turn_as_its_backend_did(keras: Any, tmp_path: Path, backend: str, library: str) -> None:
    """Kernels trained on TensorFlow are unchanged, and so are our own files, whatever library wrote them."""
    h5py, layers = pytest.importorskip("h5py", reason="h5py is not installed"), keras.layers
    path, kernel = str(tmp_path / "weights.h5"), RNG.normal(size=(3, 2, 2, 4)).astype("float32")
    model = keras.models.Sequential([layers.Conv2D(4, (3, 2), input_shape=(6, 6, 2))])
    model.set_weights([kernel, np.zeros(4)])
    with use_backend(library):
        model.save_weights(path)
    with h5py.File(path, "a") as file:
        assert file.attrs["backend"] == "tensorflow"
        file.attrs["backend"] = backend
    model.load_weights(path)
    turned = kernel if backend == "tensorflow" else kernel[::-1, ::-1]
    np.testing.assert_array_equal(model.get_weights()[0], turned)


def test_shapes_of_what_programs_compute_are_inferred(keras: Any) -> None:
    """As on TensorFlow, where programs do not give the output shape of a Lambda."""
    layers = keras.layers
    model = keras.models.Sequential([layers.Lambda(lambda x: 5.0 * x[:, :, 0], input_shape=(3, 5))])
    assert model.output_shape == (None, 3)
    np.testing.assert_allclose(model.predict(np.ones((2, 3, 5))), np.full((2, 3), 5.0))
    clone = keras.models.model_from_json(model.to_json())
    assert clone.output_shape == (None, 3)


def test_rows_of_a_file(keras: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["y"] = X, Y
    matrix = importlib.import_module("keras.utils.io_utils").HDF5Matrix
    x, y = (matrix(str(tmp_path / "rows.h5"), name, start=0, end=32) for name in "xy")
    assert x.shape == (32, 6) and network(keras).fit(x, y, epochs=1, verbose=0, shuffle="batch").history["loss"][0] > 0


@NETWORKS
def test_weights_in_a_file(either_keras: Any, tmp_path: Path, make: Any) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    model, other, path = trained(either_keras, make), make(either_keras), str(tmp_path / "weights.h5")
    model.save_weights(path)
    assert not np.allclose(other.predict(X), model.predict(X))
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


@NETWORKS
def test_descriptions_and_pickles(either_keras: Any, make: Any) -> None:
    model, models = trained(either_keras, make), either_keras.models
    for other in (models.model_from_json(model.to_json()), models.model_from_yaml(model.to_yaml())):
        other.set_weights(model.get_weights())
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.get_config() == models.model_from_json(model.to_json()).get_config()
    other = pickle.loads(pickle.dumps(model))
    assert type(other) is type(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    if make is not network and hasattr(models, "load_model"):  # dropout has another seed; 1.0 does not compile
        np.testing.assert_allclose(costs(other), costs(model), rtol=1e-6)


def test_the_best_model_is_kept(either_keras: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    path, model, callbacks = str(tmp_path / "best.h5"), network(either_keras), either_keras.callbacks
    checkpoint = callbacks.ModelCheckpoint(path, monitor="val_acc", save_best_only=True)
    watched = [checkpoint, callbacks.EarlyStopping(patience=1)]
    model.fit(X, Y, validation_split=0.25, verbose=0, callbacks=watched, **named(either_keras, epochs=3))
    model.load_weights(path)
    assert model.evaluate(X[30:], Y[30:], verbose=0)[1] == pytest.approx(checkpoint.best, rel=1e-5)


def test_a_seed_of_numpy_repeats_a_training(either_keras: Any) -> None:
    found = []
    for seed in (5, 5, 6):
        np.random.seed(seed)  # noqa: NPY002 - what programs for Keras call
        found.append(trained(either_keras, network).predict(X))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.any(found[0] != found[2])


def test_estimators_of_scikit_learn(either_keras: Any) -> None:
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    wrappers, keras = importlib.import_module("keras.wrappers.scikit_learn"), either_keras

    def built(width: int = 4, rate: float = 0.05) -> Any:
        model = keras.models.Sequential([keras.layers.Dense(width, activation="tanh", input_dim=6)])
        model.add(keras.layers.Dense(3, activation="softmax"))
        model.compile(keras.optimizers.Adam(lr=rate), "categorical_crossentropy", metrics=["accuracy"])
        return model

    def right(estimator: Any, rows: Any, classes: Any) -> float:
        return float(np.mean(np.ravel(estimator.predict(rows)) == classes))  # 1.0's score takes no classes

    classes, (epochs,) = np.argmax(X[:, :3], axis=1), named(keras, epochs=1)
    estimator = wrappers.KerasClassifier(built, batch_size=16, verbose=0, **{epochs: 1})
    grid = selection.GridSearchCV(estimator, {"width": [4, 6], epochs: [1, 30]}, cv=2, scoring=right)
    grid.fit(X, classes)
    assert grid.best_params_[epochs] == 30 and grid.best_score_ > 0.5 and len(grid.predict(X)) == 40
    assert len(selection.cross_val_score(estimator, X, classes, cv=2, scoring=right)) == 2


def test_preprocessing(either_keras: Any) -> None:
    keras, image = either_keras, importlib.import_module("keras.preprocessing.image")
    pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    old = keras.__version__.startswith("1.")
    changed = image.ImageDataGenerator(
        rotation_range=20, width_shift_range=0.2, shear_range=0.1, zoom_range=0.2, horizontal_flip=True,
        channel_shift_range=0.1, featurewise_center=True, zca_whitening=not old,
    )  # fmt: skip
    pictures = RNG.uniform(size=(12, 3, 8, 8) if old else (12, 8, 8, 3))
    changed.fit(pictures, augment=True)
    x, y = next(changed.flow(pictures, np.arange(12), batch_size=5))
    assert x.shape == (5, *pictures.shape[1:]) and np.all(np.isfinite(x)) and len(y) == 5
    words = importlib.import_module("keras.preprocessing.text").Tokenizer(**named(keras, num_words=5))
    words.fit_on_texts(["the cat sat on the mat", "the dog"])
    assert words.texts_to_matrix(["the cat"], mode="tfidf").shape == (1, 5)
    sequence = importlib.import_module("keras.preprocessing.sequence")
    rows = sequence.pad_sequences(words.texts_to_sequences(["the cat", "the"]), maxlen=3)
    assert rows.shape == (2, 3) and rows[1].tolist() == [0, 0, 1]
    couples, labels = sequence.skipgrams([1, 2, 3, 4], 5)
    assert len(couples) == len(labels) > 0


def test_a_data_set_of_images(keras1: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gzip.open(tmp_path / "mnist.pkl.gz", "wb") as file:
        pictures = np.zeros((3, 28, 28), "uint8")
        pickle.dump(((pictures, np.arange(3)), (pictures, np.arange(3))), file)
    mnist = importlib.import_module("keras.datasets.mnist")
    monkeypatch.setattr(mnist, "get_file", lambda *_, **__: str(tmp_path / "mnist.pkl.gz"))
    assert mnist.load_data()[0][0].shape == (3, 28, 28)


def test_data_sets_of_lists(keras: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with object arrays, and arrays of rows of different lengths, as `keras.datasets.imdb` has them."""
    rows, labels = np.empty(4, "O"), np.arange(4)
    rows[:] = [[1, 7, 9], [1, 8], [1, 5, 5, 5], [1, 6]]
    np.savez(tmp_path / "imdb.npz", x_train=rows, y_train=labels, x_test=rows[:2], y_test=labels[:2])
    np.savez(tmp_path / "reuters.npz", x=rows, y=labels)
    for name in ("imdb", "reuters"):
        module = importlib.import_module(f"keras.datasets.{name}")
        monkeypatch.setattr(module, "get_file", lambda *_, name=name, **__: str(tmp_path / f"{name}.npz"))
        (x, y), (other, _) = module.load_data(num_words=10)
        assert len(x) == len(y) > 0 and len(other) > 0 and all(row[0] == 1 for row in x)
