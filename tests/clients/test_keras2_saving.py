"""What Keras 2.0.6 saves it loads again: files, YAML, JSON, pickles; its data, and its estimators of scikit-learn."""

import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import installed_libraries, use_backend

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 6)).astype("float32"), np.eye(3, dtype="float32")[np.arange(40) % 3]


def network(keras: Any) -> Any:
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Dense(8, activation="tanh", input_shape=(6,), kernel_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dropout(0.2),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(lr=0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


def branched(keras: Any) -> Any:
    layers = keras.layers
    x = layers.Input((6,))
    y = layers.concatenate([layers.Dense(4, activation="relu")(x), layers.Dense(4, name="own")(x)])
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
    model.fit(X, Y, epochs=2, verbose=0)
    return model


def costs(model: Any) -> list[Any]:
    """What further steps cost, which depends on weights and on what the optimizer keeps; drops draw as ever."""
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
    if make is not network:  # whose drops another seed decides
        np.testing.assert_allclose(costs(other), costs(model), rtol=1e-6)


@NETWORKS
def test_weights_in_a_file(keras: Any, tmp_path: Path, make: Any) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    model, other = trained(keras, make), make(keras)
    path = str(tmp_path / "weights.h5")
    model.save_weights(path)
    assert not np.allclose(other.predict(X), model.predict(X))
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    third = make(keras)
    for layer, like in zip(third.layers, model.layers, strict=True):
        layer.name = like.name
    third.load_weights(path, by_name=True)
    np.testing.assert_array_equal(third.predict(X), model.predict(X))


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
    """As other programs write attributes today, and h5py 3 gives them."""
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
def test_kernels_of_a_file_are_turned_as_its_backend_turned_them(
    keras: Any, tmp_path: Path, backend: str, library: str
) -> None:
    """What was trained on TensorFlow is taken as it is, and so is one's own file, whatever library wrote it."""
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
    """As on TensorFlow, for which programs did not say the shape of a Lambda's output."""
    layers = keras.layers
    model = keras.models.Sequential([layers.Lambda(lambda x: 5.0 * x[:, :, 0], input_shape=(3, 5))])
    assert model.output_shape == (None, 3)
    np.testing.assert_allclose(model.predict(np.ones((2, 3, 5))), np.full((2, 3), 5.0))
    clone = keras.models.model_from_json(model.to_json())
    assert clone.output_shape == (None, 3)


@NETWORKS
def test_descriptions(keras: Any, make: Any) -> None:
    model = trained(keras, make)
    for other in (keras.models.model_from_json(model.to_json()), keras.models.model_from_yaml(model.to_yaml())):
        other.set_weights(model.get_weights())
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.get_config() == keras.models.model_from_json(model.to_json()).get_config()


@NETWORKS
def test_a_pickle_goes_on_as_the_model(keras: Any, make: Any) -> None:
    model = trained(keras, make)
    other = pickle.loads(pickle.dumps(model))
    assert type(other) is type(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    if make is not network:  # whose drops another seed decides
        np.testing.assert_allclose(costs(other), costs(model), rtol=1e-6)
    unfinished = pickle.loads(pickle.dumps(keras.models.Model.from_config(branched(keras).get_config())))
    assert not hasattr(unfinished, "loss_weights")


def test_the_best_model_is_kept(keras: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    path = str(tmp_path / "best.h5")
    model, callbacks = network(keras), keras.callbacks
    watched = [
        callbacks.ModelCheckpoint(path, monitor="val_acc", save_best_only=True),
        callbacks.EarlyStopping(patience=1),
        callbacks.ReduceLROnPlateau(patience=0),
        callbacks.CSVLogger(str(tmp_path / "log.csv")),
    ]
    model.fit(X, Y, epochs=3, validation_split=0.25, verbose=0, callbacks=watched)
    assert keras.models.load_model(path).predict(X).shape == (40, 3)
    assert (tmp_path / "log.csv").read_text().startswith("epoch,acc,loss")


def test_a_seed_of_numpy_repeats_a_training(keras: Any) -> None:
    found = []
    for seed in (5, 5, 6):
        np.random.seed(seed)  # noqa: NPY002 - what programs for Keras call
        model = network(keras)
        model.fit(X, Y, epochs=2, verbose=0)
        found.append(model.predict(X))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.any(found[0] != found[2])


def test_rows_of_a_file(keras: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["y"] = X, Y
    matrix = importlib.import_module("keras.utils.io_utils").HDF5Matrix
    x, y = (matrix(str(tmp_path / "rows.h5"), name, start=0, end=32) for name in "xy")
    assert x.shape == (32, 6) and network(keras).fit(x, y, epochs=1, verbose=0, shuffle="batch").history["loss"][0] > 0


def test_estimators_of_scikit_learn(keras: Any) -> None:
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    wrappers = importlib.import_module("keras.wrappers.scikit_learn")

    def built(sizes: Any = (4,), rate: float = 0.05) -> Any:
        layers = [keras.layers.Dense(size, activation="tanh") for size in sizes]
        model = keras.models.Sequential([keras.layers.InputLayer((6,)), *layers])
        model.add(keras.layers.Dense(3, activation="softmax"))
        model.compile(keras.optimizers.Adam(lr=rate), "categorical_crossentropy", metrics=["accuracy"])
        return model

    classes = np.argmax(X[:, :3], axis=1)
    estimator = wrappers.KerasClassifier(built, epochs=1, batch_size=16, verbose=0)
    grid = selection.GridSearchCV(estimator, {"sizes": [[4], [6, 6]], "epochs": [1, 30]}, cv=2)
    grid.fit(X, classes)
    assert grid.best_params_["epochs"] == 30 and grid.best_score_ > 0.5
    assert grid.best_estimator_.model.predict(X).shape == (40, 3)
    assert len(selection.cross_val_score(estimator, X, classes, cv=2)) == 2

    def line() -> Any:
        model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(6,))])
        model.compile("adam", "mse")
        return model

    regressor = wrappers.KerasRegressor(line, epochs=1, verbose=0)
    assert len(selection.cross_val_score(regressor, X, X[:, 0], cv=2)) == 2


def test_preprocessing(keras: Any) -> None:
    image = importlib.import_module("keras.preprocessing.image")
    pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    changed = image.ImageDataGenerator(
        rotation_range=20, width_shift_range=0.2, shear_range=0.1, zoom_range=0.2, horizontal_flip=True,
        channel_shift_range=0.1, zca_whitening=True, featurewise_center=True,
    )  # fmt: skip
    pictures = RNG.uniform(size=(12, 8, 8, 3))
    changed.fit(pictures, augment=True)
    x, y = next(changed.flow(pictures, np.arange(12), batch_size=5))
    assert x.shape == (5, 8, 8, 3) and np.all(np.isfinite(x)) and len(y) == 5
    layers = keras.layers
    model = keras.models.Sequential([layers.Flatten(input_shape=(8, 8, 3)), layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = changed.flow(pictures, np.arange(12) / 12, batch_size=4)
    model.fit_generator(batches, steps_per_epoch=3, epochs=1, verbose=0)

    text = importlib.import_module("keras.preprocessing.text")
    words = text.Tokenizer(num_words=5)
    words.fit_on_texts(["the cat sat on the mat", "the dog"])
    assert words.texts_to_matrix(["the cat"], mode="tfidf").shape == (1, 5)
    sequence = importlib.import_module("keras.preprocessing.sequence")
    rows = sequence.pad_sequences(words.texts_to_sequences(["the cat", "the"]), maxlen=3)
    assert rows.shape == (2, 3) and rows[1].tolist() == [0, 0, 1]
    couples, labels = sequence.skipgrams([1, 2, 3, 4], 5)
    assert len(couples) == len(labels) > 0


def test_data_sets_of_lists(keras: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with arrays of objects, and arrays of rows of several lengths, as `keras.datasets.imdb` has them."""
    rows, labels = np.empty(4, "O"), np.arange(4)
    rows[:] = [[1, 7, 9], [1, 8], [1, 5, 5, 5], [1, 6]]
    np.savez(tmp_path / "imdb.npz", x_train=rows, y_train=labels, x_test=rows[:2], y_test=labels[:2])
    np.savez(tmp_path / "reuters.npz", x=rows, y=labels)
    for name in ("imdb", "reuters"):
        module = importlib.import_module(f"keras.datasets.{name}")
        monkeypatch.setattr(module, "get_file", lambda *_, name=name, **__: str(tmp_path / f"{name}.npz"))
        (x, y), (other, _) = module.load_data(num_words=10)
        assert len(x) == len(y) > 0 and len(other) > 0 and all(row[0] == 1 for row in x)
