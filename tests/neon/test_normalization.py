"""Batch and local response normalization agree with NumPy and with the gradients of equivalent op-trees."""

from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Autodiff, Backend
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.at_night("jax")

NAMES = ("x", "xsum", "xvar", "gmean", "gvar", "gamma", "beta", "y")


def maps(be: Any) -> dict[str, Any]:
    """Convolution maps, (maps · positions, images), and the same as (maps, positions · images) for normalization."""
    whole = be.array(np.linspace(-1, 2, 24).reshape(4, 6) ** 2)
    columns = {name: be.zeros((2, 1)) for name in ("xsum", "xvar", "gmean", "gvar", "beta")}
    found = {"whole": whole, "x": whole.reshape(2, 12), **columns, "gamma": be.array([[1.0], [2.0]])}
    found["xsum"][:] = be.sum(found["x"], axis=1)
    return {**found, "y": be.ones((4, 6))}


@pytest.mark.parametrize("binary", [False, True])
def test_batch_normalization(library: Library, binary: bool) -> None:
    be = Backend(default_dtype="float64", library=library.name)
    given = maps(be)
    be.compound_fprop_bn(*(given[name] for name in NAMES), 1e-6, 0.9, 0.5, binary=binary)
    with computing():
        values, got, averages = given["x"].get(), given["y"].get().reshape(2, 12), given["gmean"].get()
        variances = given["gvar"].get()
    mean, var = values.mean(axis=1, keepdims=True), values.var(axis=1, keepdims=True)
    np.testing.assert_allclose(averages, 0.1 * mean, rtol=1e-10)
    if binary:
        ratio = (got - 0.5) / (values - mean)
        np.testing.assert_allclose(np.log2(ratio), np.rint(np.log2(ratio)), atol=1e-9)
    else:
        np.testing.assert_allclose(got, (values - mean) / np.sqrt(var + 1e-6) * [[1.0], [2.0]] + 0.5, rtol=1e-10)
        np.testing.assert_allclose(variances, 0.1 * var, rtol=1e-10)


@pytest.mark.parametrize("places", [(0.5, True, False), (False, 0.5, True, False), (True, 0.5, True)])
def test_the_argument_orders_of_both_releases(places: tuple[Any, ...]) -> None:
    """After rho, neon 1.8 passes accumbeta, relu and binary; neon 2 passes compute_batch_sum before them."""
    be = Backend(default_dtype="float64", library="numpy")
    given = maps(be)
    be.compound_fprop_bn(*(given[name] for name in NAMES), 1e-3, 0.0, *places)
    x = given["x"].get()
    normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-3) * [[1.0], [2.0]]
    np.testing.assert_allclose(given["y"].get().reshape(2, 12), np.maximum(normal, 0) + 0.5, rtol=1e-12)
    averages = given["gmean"].get()
    be.compound_fprop_bn(*(given[name] for name in NAMES), 1e-3, 0.0, inference=True)
    np.testing.assert_allclose(given["y"].get().reshape(2, 12), normal, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(given["gmean"].get(), averages)


def test_errors_of_a_batch_go_back_in_the_shape_of_the_maps(library: Library) -> None:
    be = Backend(default_dtype="float64", library=library.name)
    given = maps(be)
    x, gamma, error, delta = given["x"], given["gamma"], be.array(np.arange(24.0).reshape(4, 6)), be.zeros((4, 6))
    slope, offset = be.zeros((2, 1)), be.zeros((2, 1))
    be.compound_fprop_bn(*(given[name] for name in NAMES), 1e-3, 0.9)
    rest = (x, given["xsum"], given["xvar"], gamma, 1e-3)
    be.compound_bprop_bn(delta, slope, offset, error.reshape(2, 12), *rest)
    tree = (x - be.mean(x, axis=1)) / be.sqrt(be.var(x, axis=1) + 1e-3) * gamma
    with computing():
        wanted = Autodiff(tree, be, error.reshape(2, 12)).get_grad_asnumpyarray([given["whole"], gamma])
        np.testing.assert_allclose(delta.get(), wanted[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(slope.get(), wanted[1], rtol=1e-9)
        assert offset.get().sum() == np.arange(24).sum()
    be.compound_bprop_bn(error, slope, offset, error.reshape(2, 12), *rest)  # overwrites the errors
    with computing():
        np.testing.assert_allclose(error.get(), wanted[0], rtol=1e-9, atol=1e-12)


def test_the_slope_of_gamma_is_not_rounded() -> None:
    be = Backend(default_dtype="float64", library="numpy")
    x, error = be.array([[1.0, -1.0, 2.0, -2.0]]), be.array([[3.0, 5.0, 7.0, 11.0]])
    mean, var, slope, offset = (be.array([[value]]) for value in (0.0, 1.0, 0.0, 0.0))
    be.compound_bprop_bn(be.zeros((1, 4)), slope, offset, error, x, mean, var, be.ones((1, 1)), 0.0, True)
    assert slope.get() == 3 - 5 + 14 - 22 and offset.get() == 26


@pytest.mark.parametrize(("channels", "J"), [(6, 3), (2, 5)])
def test_local_responses_and_their_gradient(library: Library, channels: int, J: int) -> None:
    be, rng = Backend(default_dtype="float64", library=library.name), np.random.default_rng(1)
    layer = be.lrn_layer("float64", N=2, C=channels, H=2, W=3, J=J)
    assert (layer.dimI2, layer.dimO2) == ((channels * 6, 2),) * 2 and layer.JTRS == (J, 1, 1, 1)
    inputs, errors = (be.array(rng.normal(size=layer.dimI2)) for _ in range(2))
    outputs, denom, delta = be.ones(layer.dimO2), be.zeros(layer.dimO2), be.zeros(layer.dimO2)
    be.fprop_lrn(layer, inputs, outputs, denom, 2.0, 3.0, 0.7, 0.75)  # alpha = 2, beta = 3
    leaf = inputs.reshape(channels, 12)
    band = be.array([[float(abs(k - m) <= J // 2) for m in range(channels)] for k in range(channels)])
    base = 1 + be.dot(band, be.square(leaf)) * (0.7 / J)
    tree = leaf * be.power(base, -0.75)
    with computing():
        np.testing.assert_allclose(denom.get().reshape(channels, 12), base.get(), rtol=1e-12)
        np.testing.assert_allclose(outputs.get().reshape(channels, 12), 2 * tree.get() + 3, rtol=1e-12)
        outputs[:] = tree.get().reshape(layer.dimO2)
    be.bprop_lrn(layer, inputs, outputs, errors, delta, denom, 1.0, 0.0, 0.7, 0.75)
    with computing():
        (wanted,) = Autodiff(tree, be, errors.reshape(channels, 12)).get_grad_asnumpyarray([inputs])
        np.testing.assert_allclose(delta.get(), wanted, rtol=1e-10, atol=1e-12)
