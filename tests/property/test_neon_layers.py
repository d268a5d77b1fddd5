"""neon's operations of layers: what they write going back is the tape's gradient of what they write going forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.functions.feature_maps import conv_maps, pool_maps
from nbm_xp.neon import Backend
from nbm_xp.tape import Variable, evaluate, gradients
from nbm_xp.tape import namespace as recorded
from tests.helpers.libraries import Library, libraries
from tests.helpers.windows import convolved, from_maps, pooled, to_maps

OTHERS = libraries("array_api_strict", "dask", "torch", without=("dask-singles", "dask-ragged", "dask-halves"))
COMPILED = libraries("jax", "cupy")
FEW = settings(max_examples=2)  # each new shape is compiled anew
FACTORS = st.sampled_from([(1.0, 0.0), (0.5, 0.0), (-2.0, 1.0), (1.0, -0.5)])


def numbers(seed: int, *shape: int) -> np.ndarray:
    """Small integers: sums are exact in any order, and elements of windows are equally large."""
    return np.random.default_rng(seed).integers(-3, 4, size=shape).astype("float64")


def sizes(draw: st.DrawFn, axes: int, most: int, least: int = 1) -> list[int]:
    return draw(st.lists(st.integers(least, most), min_size=axes, max_size=axes))


@st.composite
def convolutions(draw: st.DrawFn) -> dict[str, int]:
    """The arguments of `conv_layer`, but for the dtype."""
    window, steps, spread = sizes(draw, 3, 3), sizes(draw, 3, 3), sizes(draw, 3, 2)
    pads = sizes(draw, 3, 2, 0)
    extents = [step * (size - 1) + 1 for step, size in zip(spread, window, strict=True)]
    lengths = [max(1, extent - 2 * pad) + draw(st.integers(0, 3)) for extent, pad in zip(extents, pads, strict=True)]
    names = ("DHW", lengths), ("TRS", window), ("NCK", sizes(draw, 3, 3))
    found = {name: value for keys, values in names for name, value in zip(keys, values, strict=True)}
    for prefix, values in (("pad", pads), ("str", steps), ("dil", spread)):
        found |= {f"{prefix}_{axis}": value for axis, value in zip("dhw", values, strict=True)}
    return found


@st.composite
def poolings(draw: st.DrawFn) -> dict[str, Any]:
    """The arguments of `pool_layer`, but for the dtype."""
    window, steps = sizes(draw, 4, 3), sizes(draw, 4, 3)
    pads = [draw(st.integers(0, size - 1)) for size in window]
    lengths = [size + draw(st.integers(0, 3)) for size in window]
    found: dict[str, Any] = dict(zip("CDHW", lengths, strict=True)) | dict(zip("JTRS", window, strict=True))
    for prefix, values in (("pad", pads), ("str", steps)):
        found |= {f"{prefix}_{axis}": value for axis, value in zip("jdhw", values, strict=True)}
    return found | {"op": draw(st.sampled_from(["max", "avg", "l2"])), "N": draw(st.integers(1, 3))}


def mode(how: dict[str, Any], caffe: bool) -> str | None:
    """Caffe's, if it is asked for and no stride is wider than its window, which might leave a window empty there."""
    narrow = all(how[f"str_{axis}"] <= how[size] for axis, size in zip("jdhw", "JTRS", strict=True))
    return "caffe" if caffe and narrow else None


def convolution_results(be: Backend, how: dict[str, int], seed: int, alpha: float, beta: float) -> list[Any]:
    """What the three methods of a convolution write to."""
    layer = be.conv_layer("float64", **how)
    inputs, filters, errors, outputs, grad_I, grad_F = (
        be.array(numbers(seed + i, *shape), dtype="float64")
        for i, shape in enumerate((layer.dimI2, layer.dimF2, layer.dimO2, layer.dimO2, layer.dimI2, layer.dimF2))
    )
    be.fprop_conv(layer, inputs, filters, outputs, alpha, beta=beta)
    be.bprop_conv(layer, filters, errors, grad_I, alpha, beta=beta)
    be.update_conv(layer, inputs, errors, grad_F, alpha, beta=beta)
    return [outputs, grad_I, grad_F]


def pooling_results(be: Backend, how: dict[str, Any], seed: int, alpha: float, beta: float) -> list[Any]:
    """What the two methods of a pooling write to."""
    layer = be.pool_layer("float64", **how)
    inputs, errors, outputs, grad_I = (
        be.array(numbers(seed + i, *shape), dtype="float64")
        for i, shape in enumerate((layer.dimI2, layer.dimO2, layer.dimO2, layer.dimI2))
    )
    be.fprop_pool(layer, inputs, outputs, alpha=alpha, beta=beta)
    be.bprop_pool(layer, inputs, errors, grad_I, alpha=alpha, beta=beta)
    return [outputs, grad_I]


@given(convolutions(), st.integers(0, 2**16), FACTORS)
def test_convolution_goes_back_as_the_tape_does(how: dict[str, int], seed: int, factors: tuple[float, float]) -> None:
    alpha, beta = factors
    be = Backend(library="numpy")
    layer = be.conv_layer("float64", **how)
    got = convolution_results(be, how, seed, alpha, beta)
    shapes = (layer.dimI2, layer.dimF2, layer.dimO2, layer.dimO2, layer.dimI2, layer.dimF2)
    x, f, g, *held = (numbers(seed + i, *shape) for i, shape in enumerate(shapes))
    kernel = np.moveaxis(f.reshape(layer.dimF), 0, -2)
    pads = tuple((pad, pad) for pad in layer.padding)
    value = to_maps(convolved(from_maps(x, layer.DHW), kernel, layer.strides, pads, layer.dilation))
    inputs, filters = Variable(x), Variable(f)
    loss = recorded.sum(conv_maps(inputs, filters, **layer.windows) * g)
    for result, before, wanted in zip(got, held, [value, *evaluate(gradients(loss, [inputs, filters]))], strict=True):
        np.testing.assert_allclose(result.get(), alpha * wanted + beta * before, atol=1e-9)


@given(poolings(), st.booleans(), st.integers(0, 2**16), FACTORS)
def test_pooling_goes_back_as_the_tape_does(how: dict[str, Any], caffe: bool, seed: int, factors: Any) -> None:
    alpha, beta = factors
    be = Backend(library="numpy", compat_mode=mode(how, caffe))
    layer = be.pool_layer("float64", **how)
    got = pooling_results(be, how, seed, alpha, beta)
    shapes = (layer.dimI2, layer.dimO2, layer.dimO2, layer.dimI2)
    x, g, *held = (numbers(seed + i, *shape) for i, shape in enumerate(shapes))
    reached = [(count - 1) * step + size for count, step, size in
               zip((layer.K, *layer.MPQ), layer.strides, layer.JTRS, strict=True)]  # fmt: skip
    pads = tuple(
        (pad, max(pad, end - pad - length))
        for pad, end, length in zip(layer.padding, reached, (layer.C, *layer.DHW), strict=True)
    )
    images = from_maps(x, (layer.C, *layer.DHW), channels=1)
    value = to_maps(pooled(images, layer.JTRS, layer.strides, pads, layer.op))
    inputs = Variable(x)
    back = evaluate(gradients(recorded.sum(pool_maps(inputs, **layer.windows, pool_mode=layer.op) * g), inputs))
    for result, before, wanted in zip(got, held, [value, back], strict=True):
        np.testing.assert_allclose(result.get(), alpha * wanted + beta * before, atol=1e-9)


@given(poolings(), st.booleans(), st.integers(0, 2**16))
def test_the_places_of_maxima_stand_for_the_inputs(how: dict[str, Any], caffe: bool, seed: int) -> None:
    be = Backend(library="numpy", compat_mode=mode(how, caffe))
    layer = be.pool_layer("float64", **how | {"op": "max"})
    inputs, errors = (be.array(numbers(seed, *shape), dtype="float64") for shape in (layer.dimI2, layer.dimO2))
    outputs, argmax = be.empty(layer.dimO2, dtype="float64"), be.empty(layer.dimO2, dtype="uint8")
    one, other = be.ones(layer.dimI2, dtype="float64"), be.ones(layer.dimI2, dtype="float64")
    be.fprop_pool(layer, inputs, outputs, argmax)
    be.bprop_pool(layer, inputs, errors, one, alpha=2.0, beta=0.5)
    be.bprop_pool(layer, errors, other, argmax, 2.0, 0.5)
    np.testing.assert_array_equal(one.get(), other.get())


@pytest.mark.at_night("dask")
@pytest.mark.parametrize("library", OTHERS, indirect=True)
@given(convolutions(), poolings(), st.integers(0, 2**16), FACTORS)
def test_every_library_writes_the_same(
    library: Library, how: dict[str, int], pooling: dict[str, Any], seed: int, factors: tuple[float, float]
) -> None:
    check_library(library, how, pooling, seed, *factors)


@pytest.mark.parametrize("library", COMPILED, indirect=True)
@FEW
@given(convolutions(), poolings(), st.integers(0, 2**16), FACTORS)
@pytest.mark.at_night("jax")
def test_compiled_libraries_write_the_same(
    library: Library, how: dict[str, int], pooling: dict[str, Any], seed: int, factors: tuple[float, float]
) -> None:
    check_library(library, how, pooling, seed, *factors)


def check_library(library: Library, how: Any, pooling: Any, seed: int, alpha: float, beta: float) -> None:
    one, other = Backend(library="numpy"), Backend(library=library.name)
    for results, given_layer in ((convolution_results, how), (pooling_results, pooling)):
        wanted = results(one, given_layer, seed, alpha, beta)
        for got, want in zip(results(other, given_layer, seed, alpha, beta), wanted, strict=True):
            np.testing.assert_allclose(library.numpy(got.array), want.get(), atol=1e-9)
