"""Models of Keras 2.0.6: several inputs, stateful layers, callbacks, sparse input, custom losses, other libraries."""

import importlib
import pathlib
import random
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2
from nbm_xp.namespace import installed_libraries, use_backend

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 6)).astype("float32")
Y = np.eye(3, dtype="float32")[np.abs(X[:, :3]).argmax(axis=1)]


def network(keras: Any, *between: Any, **options: Any) -> Any:
    layers = keras.layers
    first = layers.Dense(16, activation="tanh", input_dim=6, **options)
    return keras.models.Sequential([first, *between, layers.Dense(3, activation="softmax")])


def test_backend_is_ours(keras: Any) -> None:
    assert keras.backend is keras2
    assert keras.layers.pooling.K is keras2
    assert keras.layers.core.K.dot is keras2.dot  # where Keras reads the backend's name, it gets TensorFlow's


OPTIMIZERS: list[tuple[str, dict[str, float]]] = [
    ("SGD", {"momentum": 0.9, "decay": 0.01}), ("Adam", {"clipnorm": 1.0}), ("RMSprop", {"clipvalue": 0.1}),
    ("Adagrad", {}), ("Adadelta", {}), ("Adamax", {}), ("Nadam", {}),
]  # fmt: skip


@pytest.mark.parametrize(("optimizer", "options"), OPTIMIZERS, ids=lambda x: x if isinstance(x, str) else "")
def test_it_learns(keras: Any, optimizer: str, options: dict[str, float]) -> None:
    """Which steps optimizers take is tested by the networks of Keras 1.0, whose losses are recorded."""
    layers = keras.layers
    model = network(keras, layers.BatchNormalization(), layers.Dropout(0.1), kernel_regularizer="l2")
    model.compile(getattr(keras.optimizers, optimizer)(**options), "categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(X, Y, batch_size=16, epochs=12, verbose=0, validation_split=0.25).history
    assert history["loss"][-1] < 0.9 * history["loss"][0]
    assert set(history) == {"loss", "acc", "val_loss", "val_acc"}
    loss, accuracy = model.evaluate(X, Y, verbose=0)
    shares = model.predict(X)
    assert accuracy == pytest.approx((shares.argmax(axis=1) == Y.argmax(axis=1)).mean())
    assert loss > -np.log((shares * Y).sum(axis=1)).mean()  # by the cost of the weights


def test_losses_and_metrics(keras: Any) -> None:
    """Those that a backend's functions of their own are for."""
    model = network(keras)
    p, y = model.predict(X).astype("float64"), Y.astype("float64")
    expected = {
        "mean_squared_error": ((p - y) ** 2).mean(),
        "logcosh": np.log(np.cosh(p - y)).mean(),
        "binary_crossentropy": -(y * np.log(p) + (1 - y) * np.log1p(-p)).mean(),
        "cosine_proximity": -(p * y / np.linalg.norm(p, axis=1, keepdims=True)).mean(),
    }
    for name, value in expected.items():
        model.compile("sgd", name)
        assert model.evaluate(X, Y, verbose=0) == pytest.approx(value, rel=1e-4), name
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    loss, accuracy = model.evaluate(X, Y.argmax(axis=1), verbose=0)
    assert loss == pytest.approx(-np.log((p * y).sum(axis=1)).mean(), rel=1e-5)
    assert accuracy == pytest.approx((p.argmax(axis=1) == y.argmax(axis=1)).mean())


def test_several_inputs_and_outputs_with_shared_layers(keras: Any) -> None:
    layers = keras.layers
    a, b = layers.Input((6,)), layers.Input((6,))
    shared = layers.Dense(5, activation="relu", name="shared")
    u, v = shared(a), shared(b)
    merged = [layer([u, v]) for layer in (layers.Add(), layers.Multiply(), layers.Average(), layers.Maximum())]
    products = [layers.Dot(axes=1)([u, v]), layers.Dot(axes=-1, normalize=True)([u, v])]
    main = layers.Dense(3, activation="softmax", name="main")(layers.concatenate([*merged, *products]))
    side = layers.Dense(1, activation="sigmoid", name="side")(u)
    model = keras.models.Model([a, b], [main, side])
    assert len(model.weights) == 6
    model.compile(
        "adam",
        {"main": "categorical_crossentropy", "side": "binary_crossentropy"},
        loss_weights={"main": 1.0, "side": 0.2},
        metrics={"main": "accuracy"},
    )
    targets = {"main": Y, "side": Y[:, :1]}
    history = model.fit([X, -X], targets, epochs=8, verbose=0, class_weight={"main": {0: 1.0, 1: 2.0, 2: 0.5}}).history
    assert history["loss"][-1] < history["loss"][0]
    total, of_main, of_side, _ = model.evaluate([X, -X], [Y, Y[:, :1]], verbose=0)
    assert total == pytest.approx(of_main + 0.2 * of_side, rel=1e-5)
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    for one, other in zip(again.predict([X, -X]), model.predict([X, -X]), strict=True):
        np.testing.assert_array_equal(one, other)
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    assert any("shared (Dense)" in line for line in lines)


def test_names_of_weights(keras: Any) -> None:
    layers = keras.layers
    both = layers.Bidirectional(layers.LSTM(2, name="lstm"), input_shape=(3, 2), name="both")
    model = keras.models.Sequential([both, layers.Dense(1, name="dense")])
    names = [weight.name for weight in model.weights]
    assert names[-2:] == ["dense/kernel", "dense/bias"]
    assert len(set(names)) == len(names)


def test_states_from_batch_to_batch(keras: Any) -> None:
    layers = keras.layers
    x = RNG.normal(size=(4, 6, 2)).astype("float32")
    whole = keras.models.Sequential([layers.LSTM(3, input_shape=(6, 2))])
    parts = keras.models.Sequential([layers.LSTM(3, stateful=True, batch_input_shape=(4, 3, 2))])
    parts.set_weights(whole.get_weights())
    for _ in range(2):
        parts.reset_states()
        parts.predict(x[:, :3], batch_size=4)
        np.testing.assert_allclose(parts.predict(x[:, 3:], batch_size=4), whole.predict(x), rtol=1e-5, atol=1e-6)


def test_states_from_layer_to_layer(keras: Any) -> None:
    layers = keras.layers
    first, second = layers.Input((None, 2)), layers.Input((None, 2))
    _, *states = layers.LSTM(3, return_state=True)(first)
    layer = layers.LSTM(3)
    model = keras.models.Model([first, second], layer(second, initial_state=states))
    model.compile("adam", "mse")
    x = RNG.normal(size=(8, 5, 2)), RNG.normal(size=(8, 4, 2))
    target = np.zeros((8, 3))
    losses = [float(model.train_on_batch(list(x), target)) for _ in range(10)]
    assert losses[-1] < losses[0]


def test_moving_statistics(keras: Any) -> None:
    layer = keras.layers.BatchNormalization(input_shape=(6,), momentum=0.5)
    model = keras.models.Sequential([layer])
    model.compile("sgd", "mse")
    x = 3 * X + 2
    model.train_on_batch(x, np.zeros_like(x))
    mean, variance = model.get_weights()[2:]
    np.testing.assert_allclose(mean, 0.5 * x.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(variance, 0.5 + 0.5 * x.var(axis=0), rtol=1e-4)


def test_callbacks(keras: Any, tmp_path: pathlib.Path) -> None:
    c = keras.callbacks
    model = network(keras)
    model.compile("sgd", "categorical_crossentropy")
    rates: list[float] = []
    watch = c.LambdaCallback(on_epoch_end=lambda epoch, logs: rates.append(float(logs["lr"])))
    chosen = [
        c.LearningRateScheduler(lambda epoch: 0.5**epoch), c.ReduceLROnPlateau(patience=50), watch,
        c.CSVLogger(str(tmp_path / "log.csv")), c.TerminateOnNaN(),
        c.EarlyStopping(monitor="val_loss", min_delta=100, patience=2),
    ]  # fmt: skip
    model.fit(X, Y, epochs=9, verbose=0, validation_data=(X, Y), callbacks=chosen)
    assert rates == [1.0, 0.5, 0.25, 0.125][: len(rates)]
    assert len(rates) < 9
    assert (tmp_path / "log.csv").read_text().startswith("epoch,")


def test_generators(keras: Any) -> None:
    model = network(keras)
    model.compile("sgd", "categorical_crossentropy")
    random.seed(1)

    def batches() -> Any:
        while True:
            yield from ((X[i : i + 32], Y[i : i + 32]) for i in (0, 32, 64))

    model.fit_generator(batches(), 3, epochs=2, verbose=0)
    np.testing.assert_allclose(model.predict_generator(batches(), 3), model.predict(X), rtol=1e-5)
    assert model.evaluate_generator(batches(), 3) == pytest.approx(float(model.evaluate(X, Y, verbose=0)), rel=1e-5)


def test_sparse_input(keras: Any) -> None:
    matrices = importlib.import_module("scipy.sparse")
    inside = keras.layers.Input((6,), sparse=True)
    model = keras.models.Model(inside, keras.layers.Dense(3, activation="softmax")(inside))
    model.compile("adam", "categorical_crossentropy")
    x = matrices.csr_matrix(np.where(X > 0.5, X, 0))
    dense = keras.models.Sequential([keras.layers.Dense(3, activation="softmax", input_dim=6)])
    dense.compile("adam", "categorical_crossentropy")
    dense.set_weights(model.get_weights())
    assert model.train_on_batch(x, Y) == pytest.approx(float(dense.train_on_batch(x.toarray(), Y)), rel=1e-5)
    model.fit(x, Y, epochs=2, verbose=0)
    dense.set_weights(model.get_weights())
    np.testing.assert_allclose(model.predict(x), dense.predict(x.toarray()), rtol=1e-5)


def test_a_layer_of_ones_own(keras: Any) -> None:
    class Scaled(keras.layers.Layer):  # type: ignore[misc, name-defined]
        def build(self, input_shape: Any) -> None:
            self.scale = self.add_weight(name="scale", shape=(input_shape[1],), initializer="ones")
            super().build(input_shape)

        def call(self, x: Any) -> Any:
            return x * self.scale

    layers = keras.layers
    doubled = layers.Lambda(lambda x: keras2.sum(2 * x, axis=1, keepdims=True), output_shape=(1,))
    model = keras.models.Sequential([Scaled(input_shape=(6,)), doubled])
    np.testing.assert_allclose(model.predict(X), 2 * X.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-5)
    model.compile("sgd", "mse")
    model.fit(X, X[:, :1], verbose=0)
    assert not (model.get_weights()[0] == 1).any()


def test_a_loss_among_the_layers(keras: Any) -> None:
    """A variational autoencoder: draws in the graph, and a loss that is not a function of a target."""
    layers, K = keras.layers, keras.backend
    x = layers.Input((6,))
    hidden = layers.Dense(8, activation="relu")(x)
    mean, spread = layers.Dense(2)(hidden), layers.Dense(2)(hidden)

    def draw(both: Any) -> Any:
        return both[0] + K.exp(both[1] / 2) * K.random_normal((K.shape(both[0])[0], 2))

    model = keras.models.Model(x, layers.Dense(6)(layers.Lambda(draw, output_shape=(2,))([mean, spread])))
    model.add_loss(-0.05 * K.mean(1 + spread - K.square(mean) - K.exp(spread)))
    model.compile("adam", "mse")
    history = model.fit(X, X, epochs=20, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


def test_connectionist_temporal_classification(keras: Any) -> None:
    layers, K = keras.layers, keras.backend
    x, labels = layers.Input((10, 4)), layers.Input((3,))
    frames, lengths = layers.Input((1,), dtype="int64"), layers.Input((1,), dtype="int64")
    shares = layers.TimeDistributed(layers.Dense(6, activation="softmax"))(layers.GRU(5, return_sequences=True)(x))
    cost = layers.Lambda(lambda given: K.ctc_batch_cost(*given), output_shape=(1,))([labels, shares, frames, lengths])
    model = keras.models.Model([x, labels, frames, lengths], cost)
    model.compile("adam", loss=lambda target, cost: cost)
    given = [RNG.random((8, 10, 4)), RNG.integers(0, 5, (8, 3)), np.full((8, 1), 10), np.full((8, 1), 3)]
    losses = model.fit(given, np.zeros(8), epochs=10, verbose=0).history["loss"]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]


@pytest.mark.parametrize("floatx", ["float16", "float64"])
def test_other_precisions(keras: Any, floatx: str) -> None:
    keras2.set_floatx(floatx)
    model = network(keras)
    model.compile("sgd", "categorical_crossentropy")
    losses = [float(model.train_on_batch(X, Y)) for _ in range(5)]
    assert losses[-1] < losses[0]
    assert model.predict(X).dtype == floatx
    assert {str(weight.dtype) for weight in model.weights} == {floatx}


@pytest.mark.parametrize("library", ["torch", "array_api_strict", pytest.param("jax", marks=pytest.mark.slow)])
def test_on_other_libraries(keras: Any, library: str) -> None:
    """With weights on another library, the outputs are NumPy arrays with the same values."""
    if library not in installed_libraries():
        pytest.skip(f"{library} is not installed")
    layers = keras.layers

    def model() -> Any:
        image, sequence = layers.Input((6, 6, 2)), layers.Input((5, 4))
        seen = layers.Conv2D(4, 3, padding="same", activation="relu")(image)
        seen = layers.Flatten()(layers.MaxPooling2D()(layers.BatchNormalization()(seen)))
        both = layers.concatenate([seen, layers.LSTM(3)(sequence)])
        made = keras.models.Model([image, sequence], layers.Dense(3, kernel_regularizer="l2")(both))
        made.compile("adam", "mse")
        return made

    x = [RNG.normal(size=(16, 6, 6, 2)), RNG.normal(size=(16, 5, 4))]
    own = model()
    weights = own.get_weights()
    losses = [float(own.train_on_batch(x, Y[:16])) for _ in range(3)]
    with use_backend(library):
        other = model()
        other.set_weights(weights)
        assert [float(other.train_on_batch(x, Y[:16])) for _ in range(3)] == pytest.approx(losses, rel=1e-4)
        found = other.predict(x)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, own.predict(x), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_the_example_learns_digits(keras: Any, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from examples.keras2_digits import main

    assert main(str(tmp_path / "picture.png"), epochs=10) >= 0.96
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
