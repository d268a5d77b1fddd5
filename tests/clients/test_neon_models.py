"""neon's own layers, optimisers and models on `nbm_xp.neon`, compared with neon's own CPU backend.

Skipped if neon is not installed. If it is installed but cannot be imported, the tests fail with its error.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Autodiff, Backend, compute_on
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # neon uses NumPy and Python as of 2017

BATCH = 32


@pytest.fixture(params=libraries("numpy", "torch", "cupy", without=("numpy-readonly",)))
def be(request: pytest.FixtureRequest, neon: Any) -> Backend:
    library: Library = request.param
    return compute_on(Backend(rng_seed=1, library=library.name), BATCH)


def digits() -> tuple[np.ndarray, np.ndarray]:
    sklearn = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    scans, labels = sklearn.load_digits(return_X_y=True)
    return (scans / 16).astype("float32"), labels.astype("int32")


class Silent:
    """Callbacks that do nothing: neon's own write HDF5 with h5py's interface of 2017."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **keywords: None


def learned(layers: Sequence[Any], lshape: tuple[int, ...], passes: int) -> float:
    """The error rate of one of neon's models on its training scans, after training."""
    from neon.data import ArrayIterator
    from neon.layers import GeneralizedCost
    from neon.models import Model
    from neon.optimizers import GradientDescentMomentum
    from neon.transforms import CrossEntropyMulti, Misclassification

    scans, labels = digits()
    data = ArrayIterator(scans, labels, nclass=10, lshape=lshape)
    model = Model(layers=list(layers))
    model.fit(
        data,
        cost=GeneralizedCost(costfunc=CrossEntropyMulti()),
        optimizer=GradientDescentMomentum(0.1, momentum_coef=0.9),
        num_epochs=passes,
        callbacks=Silent(),
    )
    return float(np.ravel(model.eval(data, metric=Misclassification()))[0])


def test_a_network_learns_digits(be: Backend) -> None:
    from neon.initializers import Gaussian
    from neon.layers import Affine, Conv, Pooling
    from neon.transforms import Rectlin, Softmax

    init = Gaussian(loc=0.0, scale=0.1)
    layers = [
        Conv((3, 3, 16), init=init, padding=1, activation=Rectlin()),
        Pooling(2, op="max"),
        Conv((3, 3, 24), init=init, batch_norm=True, activation=Rectlin()),
        Affine(nout=10, init=init, activation=Softmax()),
    ]
    assert learned(layers, (1, 8, 8), passes=5) < 0.05


def networks() -> dict[str, tuple[Callable[[], list[Any]], tuple[int, ...]]]:
    """Layers of each kind, and the shape of their input."""
    from neon import initializers, layers, transforms

    L, init, image = layers, initializers.Gaussian(scale=0.1), (3, 10, 10)
    plain: dict[str, Any] = {"init": init, "activation": transforms.Rectlin()}
    gates: dict[str, Any] = {
        "init": init, "activation": transforms.Tanh(), "gate_activation": transforms.Logistic(), "reset_cells": True,
    }  # fmt: skip

    def residual() -> Any:
        block = [L.BatchNorm(), L.Activation(transforms.Rectlin()), L.Conv((3, 3, 6), init=init, padding=1)]
        return L.MergeSum([L.SkipNode(), block])

    def inception() -> Any:
        return L.MergeBroadcast([[L.Conv((1, 1, 3), **plain)], [L.Conv((3, 3, 4), padding=1, **plain)]], merge="depth")

    def scores() -> Any:
        return L.Affine(10, init=init, activation=transforms.Softmax())

    return {
        "normalized": (lambda: [L.Conv((3, 3, 6), batch_norm=True, **plain), L.Pooling(2), scores()], image),
        "responses": (lambda: [L.Conv((3, 3, 6), **plain), L.LRN(5, ascale=0.5, bpower=0.75), scores()], image),
        "residual": (lambda: [L.Conv((3, 3, 6), init=init, padding=1), residual(), L.BatchNorm(), scores()], image),
        "inception": (lambda: [inception(), L.Pooling("all", op="avg"), scores()], image),
        "binary": (
            lambda: [L.BinaryAffine(12, init=init, batch_norm=True, activation=transforms.Sign()) for _ in range(2)]
            + [scores()],
            image,
        ),
        "deconvolution": (lambda: [L.Conv((4, 4, 6), **plain), L.Deconv((3, 3, 4), **plain), scores()], image),
        "reshaped": (
            lambda: [
                L.Conv((3, 3, 4), **plain), L.Reshape((4, 64)),
                L.Recurrent(8, init=init, activation=transforms.Tanh()), L.RecurrentMean(), scores(),
            ],
            image,
        ),
        "lstm": (lambda: [L.LSTM(7, **gates), L.RecurrentSum(), scores()], (6, 9)),
        "gru": (lambda: [L.GRU(7, **gates), L.RecurrentLast(), scores()], (6, 9)),
    }  # fmt: skip


def trained(name: str, given: Any = None) -> tuple[Any, list[np.ndarray]]:
    """The initial parameters (`given`, if any), and the outputs of four training steps."""
    from neon import NervanaObject
    from neon.layers import GeneralizedCost
    from neon.models import Model
    from neon.optimizers import GradientDescentMomentum
    from neon.transforms import CrossEntropyMulti

    layers, shape = networks()[name]
    rng, be = np.random.default_rng(3), NervanaObject.be
    columns = (int(np.prod(shape)), BATCH) if len(shape) == 3 else (shape[0], shape[1] * BATCH)
    x, labels = be.array(rng.normal(size=columns)), be.array(np.eye(10)[rng.integers(0, 10, BATCH)].T)
    model, cost = Model(layers=layers()), GeneralizedCost(costfunc=CrossEntropyMulti())
    model.cost = cost
    model.initialize(shape, cost=cost)
    model.optimizer = GradientDescentMomentum(0.1, momentum_coef=0.9)
    if given is not None:
        model.deserialize(given, load_states=False)
    first = model.get_description(get_weights=True, keep_states=False)
    outputs = []
    for _ in range(4):
        found = model.fprop(x)
        outputs.append(found.get())
        model.bprop(cost.get_errors(found, labels))
        model.optimizer.optimize(model.layers_to_optimize, epoch=0)
    return first, [*outputs, model.fprop(x, inference=True).get()]


@pytest.mark.parametrize(
    "name",
    [
        "normalized", "responses", "residual", "inception", "binary", "deconvolution", "reshaped", "lstm", "gru",
    ],
)  # fmt: skip
def test_training_goes_as_on_neons_own_backend(neon: Any, name: str) -> None:
    """From the same loaded parameters, including those of recurrent layers."""
    compute_on(Backend(library="numpy"), BATCH)  # neon's own backend keeps working beside it
    neon.backends.gen_backend("cpu", batch_size=BATCH, rng_seed=1)
    first, wanted = trained(name)
    neon.NervanaObject.be = None
    compute_on(Backend(rng_seed=5, library="numpy"), BATCH)
    for ours, theirs in zip(trained(name, first)[1], wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_buffers_are_neons_tensors(be: Backend) -> None:
    from neon.backends.backend import Tensor
    from neon.layers import layer

    x = be.ones((2, 3))
    assert isinstance(x, Tensor) and isinstance(x[0], Tensor)
    found = layer.Autodiff(be.square(x), be)
    assert isinstance(found, Autodiff) and (found.get_grad_asnumpyarray([x])[0] == 2).all()


def test_neons_own_nodes_are_computed(be: Backend) -> None:
    from neon.backends.backend import OpTreeNode

    x, y, out = be.array([[1.0, 4.0]], name="x"), be.ones((1, 2), name="y"), be.zeros((1, 2))
    node = OpTreeNode.build("add", x, y)
    assert node.pp() == "(x + y)" and node.traverse([])[0] is x and node.key()[2] == "add"
    assert OpTreeNode.build("sqrt", x, None, out=out) is out and out.get().tolist() == [[1, 2]]
    assert OpTreeNode({"op": "assign"}, out, node * 2).execute() is out and out.get().tolist() == [[4, 10]]
    assert node.astensor().get().tolist() == be.negative(-node).get().tolist() == [[2, 5]]
    assert OpTreeNode.build("mul", x + y, node).get().tolist() == (node * (x + y)).get().tolist() == [[4, 25]]
