"""Functions recorded once become ONNX models, by ndonnx; onnxruntime gives the values that NumPy gives.

ndonnx is registered from outside, as anybody may: what has no value yet cannot be looked at, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp import register_library
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import to_numpy
from nbm_xp.rng import RandomStreams, draw, substreams
from nbm_xp.tape import function, placeholder, value_and_grad
from tests.helpers.unregistered import left_out, missing, restored

pytestmark = [pytest.mark.skipif(bool(missing(name)), reason=missing(name)) for name in ("ndonnx", "onnxruntime")]

ROWS = (np.random.default_rng(3).random((24, 6)) < 0.4).astype("float32")


def has_no_value(x: Any) -> bool:
    try:
        x.unwrap_numpy()
    except ValueError:
        return True
    return False


@pytest.fixture(autouse=True)
def ndonnx() -> Iterator[Any]:
    with restored():
        import ndonnx

        kernels = {"to_numpy": lambda x: x.unwrap_numpy(), "compiling.is_traced": has_no_value}
        register_library("ndonnx", ndonnx, ndonnx.Array, kernels=kernels)
        yield ndonnx


@pytest.fixture(scope="module")
def trained() -> RBM:
    return RBM(4, n_iter=2, batch_size=8, random_state=5).fit(ROWS)


def run(ndonnx: Any, traced: Callable[..., Any], *values: np.ndarray, rows: Any = None) -> list[np.ndarray]:
    """What onnxruntime makes of the model that a function becomes; `rows` may be the name of an unknown length."""
    import onnxruntime

    shapes = [value.shape if rows is None else (rows, *value.shape[1:]) for value in values]
    inputs = {
        f"x{place}": ndonnx.argument(shape=shape, dtype=getattr(ndonnx, str(value.dtype)))
        for place, (shape, value) in enumerate(zip(shapes, values, strict=True))
    }
    results = traced(*inputs.values())
    results = results if isinstance(results, (list, tuple)) else [results]
    model = ndonnx.build(inputs, {f"y{place}": result for place, result in enumerate(results)})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found: list[np.ndarray] = session.run(None, dict(zip(inputs, values, strict=True)))
    return found


@pytest.mark.parametrize("rows", [None, "rows"])
@pytest.mark.parametrize("method", ["transform", "free_energy"])
def test_a_trained_machine(ndonnx: Any, trained: RBM, method: str, rows: Any) -> None:
    (found,) = run(ndonnx, getattr(trained, method), ROWS, rows=rows)
    want = getattr(trained, method)(ROWS)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("visible", ["binary", "categorical:3"])
def test_a_machine_as_a_model(visible: str) -> None:
    """`RBM.to_onnx` registers ndonnx itself where nobody has."""
    import onnxruntime

    with left_out("ndonnx"):
        rows = np.random.default_rng(0).integers(0, 2, (5, 6)).astype("float32")
        rbm = RBM(3, n_iter=1, visible=visible, random_state=0).fit(rows)
        session = onnxruntime.InferenceSession(rbm.to_onnx().SerializeToString())
    for some in (rows, rows[:2]):
        h, energies = session.run(["h", "free_energy"], {"v": some})
        np.testing.assert_allclose(h, rbm.transform(some), rtol=2e-6)
        np.testing.assert_allclose(energies, rbm.free_energy(some), rtol=2e-6)
    with pytest.raises(ValueError, match="to_onnx is for units whose functions ONNX has, got relu units"):
        RBM(3, n_iter=1, hidden="relu").fit(ROWS).to_onnx()


def test_random_numbers_have_the_same_bits(ndonnx: Any) -> None:
    states = substreams((3,) * 6, 5)
    found = run(ndonnx, lambda s: draw(ndonnx, s, (3, 5), "float32"), states)
    for got, want in zip(found, draw(np, states, (3, 5), "float32"), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def test_a_gibbs_step_with_its_random_numbers(ndonnx: Any, trained: RBM) -> None:
    """Recorded once, with the states of the streams as an input and an output: integers and samples to the bit."""
    streams = RandomStreams(11)
    v = placeholder(ROWS.shape, dtype="float32")
    weights, to_hidden, to_visible = (
        np.asarray(getattr(trained, name)) for name in ("components_", "intercept_hidden_", "intercept_visible_")
    )
    hidden = streams.binomial(size=(24, 4), n=1, p=B.sigmoid(v @ weights.T + to_hidden), dtype="float32")
    visible = streams.binomial(size=(24, 6), n=1, p=B.sigmoid(hidden @ weights + to_visible), dtype="float32")
    owned, new = zip(*(update[:2] for update in streams.updates()), strict=True)
    given = [placeholder(state.shape, dtype="int32") for state in owned]
    step = function([v, *given], [visible, *new], givens=list(zip(owned, given, strict=True)))
    values = [ROWS, *(to_numpy(state.value) for state in owned)]
    want, found = step(*values), run(ndonnx, step, *values)
    assert set(np.unique(found[0])) == {0.0, 1.0}
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_array_equal(got, np.asarray(wanted), strict=True)


def test_gradients_are_exported_too(ndonnx: Any) -> None:
    loss = value_and_grad(lambda x: B.sum(B.sigmoid(x) ** 2))
    for got, want in zip(run(ndonnx, loss, ROWS), loss(ROWS), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
