"""Convolution and pooling are what their definitions say, on every library, for whatever windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.functions.convolution import conv, conv_kernel, conv_transpose
from nbm_xp.functions.pooling import pool
from tests.helpers.libraries import Library, libraries
from tests.helpers.windows import convolved, pooled, transposed, where

QUICK = libraries("numpy", "dask-halves", "dask-singles", "array_api_strict", "torch")
COMPILED = libraries("jax", "cupy")
FEW = settings(max_examples=2)  # each new shape is compiled anew


@dataclass(frozen=True)
class Windows:
    """Windows over spatial axes, and how many channels there are."""

    lengths: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: Any
    images: int
    channels: int
    filters: int
    first: bool
    flip: bool
    seed: int

    @property
    def how(self) -> dict[str, Any]:
        """The options of the functions."""
        data_format = "channels_first" if self.first else "channels_last"
        return {"strides": self.strides, "padding": self.padding, "data_format": data_format}

    def numbers(self, *shape: int) -> np.ndarray:
        """Integers, so that sums are exact in any order."""
        return np.random.default_rng(self.seed).integers(-3, 4, size=shape).astype("float64")

    def placed(self, x: np.ndarray) -> np.ndarray:
        """Images in their data format."""
        return np.moveaxis(x, -1, 1) if self.first else x


@st.composite
def windows(draw: st.DrawFn, *, pooling: bool = False) -> Windows:
    axes = draw(st.integers(1, 3))

    def each(most: int, least: int = 1) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(least, most), min_size=axes, max_size=axes)))

    sizes, strides = each(3), each(3)
    dilation = (1,) * axes if pooling else each(2)
    named = ["valid", "same", "leading"]
    if not pooling:  # there, windows may lie in the padding alone
        named += ["half", "full"] + (["causal"] if axes == 1 else [])
    pairs = st.tuples(*(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)) for size in sizes))
    padding = draw(st.sampled_from(named) | pairs)
    extents = [step * (size - 1) + 1 for step, size in zip(dilation, sizes, strict=True)]
    lengths = tuple(draw(st.integers(extent, extent + 3)) for extent in extents)
    return Windows(
        lengths, sizes, strides, dilation, padding, draw(st.integers(0, 3)), draw(st.integers(1, 3)),
        draw(st.integers(1, 3)), draw(st.booleans()), draw(st.booleans()), draw(st.integers(0, 2**16)),
    )  # fmt: skip


def check_convolution(w: Windows, library: Library) -> None:
    x, kernel = w.numbers(w.images, *w.lengths, w.channels), w.numbers(*w.sizes, w.channels, w.filters)
    want = convolved(x, kernel, w.strides, w.padding, w.dilation, flip=w.flip)
    result = conv(library.array(w.placed(x)), library.array(kernel), dilation_rate=w.dilation, flip=w.flip, **w.how)
    np.testing.assert_allclose(library.numpy(result), w.placed(want), atol=1e-9)


def check_adjoints(w: Windows, library: Library) -> None:
    """Of one sum over array, kernel and result: both gradients."""
    x, kernel = w.numbers(w.images, *w.lengths, w.channels), w.numbers(*w.sizes, w.channels, w.filters)
    y = w.numbers(*convolved(x, kernel, w.strides, w.padding, w.dilation).shape)
    how = {"dilation_rate": w.dilation, **w.how}
    back = conv_transpose(library.array(w.placed(y)), library.array(kernel), w.lengths, **how)
    want = transposed(y, kernel, w.lengths, w.strides, w.padding, w.dilation)
    np.testing.assert_allclose(library.numpy(back), w.placed(want), atol=1e-9)
    got = library.numpy(conv_kernel(library.array(w.placed(x)), library.array(w.placed(y)), w.sizes, **how))
    assert got.shape == kernel.shape
    for weights in (kernel, kernel[..., ::-1] + 1.0):  # two inner products with kernels
        product = np.sum(convolved(x, weights, w.strides, w.padding, w.dilation) * y)
        np.testing.assert_allclose(np.sum(got * weights), product, atol=1e-7)


def check_pooling(w: Windows, library: Library) -> None:
    x = w.numbers(w.images, *w.lengths, w.channels)
    for mode in ("max", "avg"):
        result = pool(library.array(w.placed(x)), w.sizes, pool_mode=mode, **w.how)
        want = pooled(x, w.sizes, w.strides, w.padding, mode)
        np.testing.assert_allclose(library.numpy(result), w.placed(want), atol=1e-12)


@pytest.mark.parametrize("library", QUICK, indirect=True)
@given(windows())
def test_convolution(library: Library, w: Windows) -> None:
    check_convolution(w, library)


@pytest.mark.parametrize("library", QUICK, indirect=True)
@given(windows())
def test_transposed_convolution_and_gradient_of_the_kernel(library: Library, w: Windows) -> None:
    check_adjoints(w, library)


@pytest.mark.parametrize("library", QUICK, indirect=True)
@given(windows(pooling=True))
def test_pooling(library: Library, w: Windows) -> None:
    check_pooling(w, library)


@pytest.mark.parametrize("library", COMPILED, indirect=True)
@FEW
@given(windows())
def test_convolutions_compiled(library: Library, w: Windows) -> None:
    check_convolution(w, library)
    check_adjoints(w, library)


@pytest.mark.parametrize("library", COMPILED, indirect=True)
@FEW
@given(windows(pooling=True))
@pytest.mark.at_night("jax")
def test_pooling_compiled(library: Library, w: Windows) -> None:
    check_pooling(w, library)


@given(st.integers(0, 20), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_same_padding_makes_a_window_for_each_stride(length: int, size: int, stride: int, dilation: int) -> None:
    before, windows = where("same", length, size, stride, dilation)
    result = conv(np.ones((1, length, 1)), np.ones((size, 1, 1)), stride, "same", "channels_last", dilation)
    assert result.shape == (1, windows, 1) == (1, -(-length // stride), 1)
    after = max(0, (windows - 1) * stride + dilation * (size - 1) + 1 - length) - before
    assert 0 <= after - before <= 1
