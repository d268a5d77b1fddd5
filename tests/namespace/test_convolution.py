"""The libraries' own convolution and pooling kernels: equal to the portable code, bounded in memory, lazy on Dask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import convolution as sliding
from nbm_xp.namespace import core
from nbm_xp.namespace.convolution import numpy_kernels, winograd
from nbm_xp.namespace.convolution.portable import correlate_in_groups
from tests.helpers.calls import memory_of
from tests.helpers.known import told
from tests.helpers.libraries import Library, libraries

ONES = {"strides": (1, 1), "dilation": (1, 1)}
ODD = [
    ((9, 7), (-1, -1), (9, 7)), ((8, 8), (0, 0), (6, 6)), ((5, 9), (-2, -2), (7, 11)), ((6, 6), (1, -3), (5, 12)),
    ((4, 4), (3, 2), (3, 4)), ((4, 4), (-5, -4), (12, 9)), ((1, 1), (-1, -1), (1, 1)), ((3, 3), (-9, 4), (2, 3)),
]  # fmt: skip


def portably(function: Any) -> Any:
    """The portable body of a function made by `or_kernel`."""
    return function.__wrapped__


def numbers(*shape: int, dtype: str = "float64") -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


@pytest.fixture
def short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the 16 products for small arrays too, in several blocks."""
    if not core.functions:
        pytest.skip("installed without a compiler: the 16 products are the core's")
    monkeypatch.setattr(winograd, "_WORTH", 0)
    monkeypatch.setattr(winograd, "_CHANNELS", 8)
    monkeypatch.setattr(winograd, "_BLOCK_OF_SUMS", 2**15)


@pytest.fixture(params=[*core.levels, "none"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each level of the compiled core that the machine supports, and NumPy's code if there is no core."""
    if request.param == "none":
        monkeypatch.setattr(numpy_kernels, "functions", {})
        yield request.param
        return
    with core.using_level(request.param):
        yield request.param


@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (3, 7)])
@pytest.mark.parametrize(("shape", "starts", "lengths"), ODD)
@pytest.mark.usefixtures("short_way")
def test_sixteen_products_are_the_thirty_six(shape: Any, starts: Any, lengths: Any, sizes: Any) -> None:
    x, kernel, y = numbers(2, *shape, 16), numbers(*sizes, 1, 16, 17), numbers(2, *lengths, 17)
    how = {**ONES, "starts": starts}
    assert winograd.suits_winograd(x, 17, sizes, (1, 1), (1, 1), lengths)
    got = sliding.correlate(x, kernel, lengths=lengths, **how)
    np.testing.assert_allclose(got, portably(sliding.correlate)(x, kernel, lengths=lengths, **how), atol=1e-11)
    outer = sliding.correlate_outer(x, y, lengths=sizes, groups=1, **how)
    wanted = portably(sliding.correlate_outer)(x, y, lengths=sizes, groups=1, **how)
    np.testing.assert_allclose(outer, wanted, atol=1e-11)


@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.usefixtures("short_way")
def test_rounding_is_of_the_size_of_that_of_plain_sums(size: int) -> None:
    x, kernel = numbers(2, 32, 32, 32), numbers(size, size, 1, 32, 32)
    how: dict[str, Any] = {**ONES, "starts": (-(size // 2),) * 2, "lengths": (32, 32)}
    exact = portably(sliding.correlate)(x, kernel, **how)
    x, kernel = x.astype("float32"), kernel.astype("float32")
    errors = [np.max(np.abs(some - exact)) for some in (sliding.correlate(x, kernel, **how),
                                                        portably(sliding.correlate)(x, kernel, **how))]  # fmt: skip
    assert errors[0] <= (size + 1) / 2 * errors[1]
    assert errors[0] <= 2e-6 * np.max(np.abs(exact))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
@pytest.mark.usefixtures("short_way")
def test_what_cannot_be_summed_stays_in_its_windows(value: float) -> None:
    x, kernel = numbers(2, 8, 8, 16), np.abs(numbers(3, 3, 1, 16, 16))
    x[1, 4, 4, 0] = value
    how: dict[str, Any] = {**ONES, "starts": (-1, -1), "lengths": (8, 8)}
    np.testing.assert_array_equal(
        np.isfinite(sliding.correlate(x, kernel, **how)), np.isfinite(portably(sliding.correlate)(x, kernel, **how))
    )
    outer = sliding.correlate_outer(x, x, starts=(-1, -1), lengths=(3, 3), groups=1, **ONES)
    assert np.all(np.isfinite(outer[..., 1:, 1:]))
    kernel[0, 0, 0, 0, 0] = value
    clean = sliding.correlate(numbers(1, 8, 8, 16), kernel, **how)
    assert np.all(np.isfinite(clean[..., 1:]))


WINDOWS = [
    ((9, 7), (3, 3), (-1, -1), (1, 1), (1, 1), (9, 7)), ((9, 12), (3, 2), (-2, 1), (2, 1), (1, 2), (5, 9)),
    ((8, 9), (5, 4), (-4, -3), (3, 2), (1, 1), (5, 6)), ((4, 5), (3, 4), (-9, 4), (1, 1), (2, 1), (12, 9)),
    ((3, 3), (1, 7), (0, -6), (1, 1), (1, 1), (3, 9)), ((13,), (4,), (-3,), (3,), (2,), (5,)),
    ((4, 5, 6), (2, 3, 3), (-1, 0, -2), (2, 1, 2), (3, 1, 1), (3, 2, 5)),
]  # fmt: skip


def windows_are_the_portable_ones(
    shape: Any, sizes: Any, starts: Any, strides: Any, dilation: Any, lengths: Any, channels: int, dtype: str
) -> None:
    """With integers every sum is exact in any order, so the results must be bitwise equal."""
    x, kernel, y = (
        np.rint(4.0 * numbers(*shape, dtype=dtype))
        for shape in ((4, *shape, channels), (*sizes, 1, channels, 3), (4, *lengths, 3))
    )
    x, y = x[::-1], y[:, ..., ::-1]  # non-contiguous
    how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation}
    forward = sliding.correlate(x, kernel, lengths=lengths, **how)
    np.testing.assert_array_equal(forward, portably(sliding.correlate)(x, kernel, lengths=lengths, **how))
    back = sliding.correlate_back(y, kernel, lengths=shape, **how)
    np.testing.assert_array_equal(back, portably(sliding.correlate_back)(y, kernel, lengths=shape, **how))
    outer = sliding.correlate_outer(x, y, lengths=sizes, groups=1, **how)
    np.testing.assert_array_equal(outer, portably(sliding.correlate_outer)(x, y, lengths=sizes, groups=1, **how))
    assert {forward.dtype, back.dtype, outer.dtype} == {np.dtype(dtype)}


INSIDE = [
    ((10, 11), (3, 2), (2, 1), (2, 3), (2, 1), (2, 3)),
    ((9, 8), (3, 3), (0, 0), (1, 1), (1, 1), (7, 6)),
    ((300,), (7,), (3,), (2,), (1,), (140,)),
]


@pytest.mark.parametrize("window", [*WINDOWS, *INSIDE])
@pytest.mark.usefixtures("level")
def test_kernels_are_the_portable_bodies_on_each_level(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_kernels, "_BLOCK", 2**11)
    for dtype in ("float32", "float64"):
        for channels in (1, 3, 8, 19):
            with told((channels, dtype)):
                windows_are_the_portable_ones(*window, channels, dtype)
                pooling_is_the_portable_one(*window, channels, dtype)
        for sizes in ((1, 9), (3, 16), (5, 37), (2, 127)):
            with told((sizes, dtype)):
                sums_without_patches_are_the_portable_ones(*window, *sizes, dtype)


def sums_without_patches_are_the_portable_ones(
    shape: Any, sizes: Any, starts: Any, strides: Any, dilation: Any, lengths: Any, channels: int, filters: int,
    dtype: str,
) -> None:  # fmt: skip
    x = np.rint(4.0 * numbers(4, *shape, channels, dtype=dtype))[::-1]
    kernel = np.rint(4.0 * numbers(*sizes, 1, channels, filters, dtype=dtype))
    how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
    want = portably(sliding.correlate)(x, kernel, **how)
    for given in (x, np.ascontiguousarray(x)):
        np.testing.assert_array_equal(sliding.correlate(given, kernel, **how), want, strict=True)


def pooling_is_the_portable_one(
    shape: Any, sizes: Any, starts: Any, strides: Any, dilation: Any, lengths: Any, channels: int, dtype: str
) -> None:
    """Integers with many ties, and some non-finite values."""
    x, g = (np.rint(2.0 * numbers(4, *some, channels, dtype=dtype)) for some in (shape, lengths))
    x[1, ..., 0], x[2, 0], x[3, ..., -1] = np.nan, np.inf, -np.inf
    x = x[::-1]
    how: dict[str, Any] = {"sizes": sizes, "starts": starts, "strides": strides}
    largest = sliding.maxima(x, lengths=lengths, **how)
    np.testing.assert_array_equal(largest, portably(sliding.maxima)(x, lengths=lengths, **how))
    sums = sliding.sum_windows(x, lengths=lengths, **how)
    np.testing.assert_array_equal(sums, portably(sliding.sum_windows)(x, lengths=lengths, **how))
    spread = sliding.spread_windows(g, lengths=shape, **how)
    np.testing.assert_array_equal(spread, portably(sliding.spread_windows)(g, lengths=shape, **how))
    assert {largest.dtype, sums.dtype, spread.dtype} == {np.dtype(dtype)}
    for ties in ("share", "first", "whole"):
        placed = sliding.place_maxima(g, x, largest, lengths=lengths, ties=ties, **how)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(numpy_kernels, "functions", {})
            plain = sliding.place_maxima(g, x, largest, lengths=lengths, ties=ties, **how)
        np.testing.assert_allclose(placed, plain, rtol=1e-5, atol=1e-5)


def test_numbers_in_the_other_order_of_bytes_go_the_portable_way() -> None:
    x, kernel = numbers(2, 6, 5, 8), numbers(3, 3, 1, 8, 2)
    how: dict[str, Any] = {"starts": (-1, -1), "lengths": (6, 5), "strides": (1, 1)}
    swapped = x.astype(x.dtype.newbyteorder())
    np.testing.assert_array_equal(sliding.maxima(swapped, sizes=(3, 3), **how), sliding.maxima(x, sizes=(3, 3), **how))
    got, expected = (sliding.correlate(some, kernel, dilation=(1, 1), **how) for some in (swapped, x))
    np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("size", [3, 5])
def test_workspace_is_less_than_the_patches_of_two_images(size: int) -> None:
    x, y = numbers(8, 64, 64, 32, dtype="float32"), numbers(8, 64, 64, 64, dtype="float32")
    kernel = numbers(size, size, 1, 32, 64, dtype="float32")
    how = {**ONES, "starts": (-(size // 2),) * 2}
    patches = 64 * 64 * 32 * size**2 * 4
    calls = [
        lambda: sliding.correlate(x, kernel, lengths=(64, 64), **how),
        lambda: sliding.correlate_back(y, kernel, lengths=(64, 64), **how),
        lambda: sliding.correlate_outer(x, y, lengths=(size, size), groups=1, **how),
    ]
    for call in calls:
        assert memory_of(call) - call().nbytes <= 2 * patches


def test_many_images_are_worked_on_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    x, kernel = numbers(7, 6, 2), numbers(3, 1, 2, 3)
    how: dict[str, Any] = {"starts": (0,), "strides": (1,), "dilation": (1,), "lengths": (4,)}
    whole = correlate_in_groups(x, kernel, **how)
    parts = correlate_in_groups(x, kernel, budget=1000, **how)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("library", libraries("dask"), indirect=True)
def test_blocks_of_images_stay_and_nothing_is_computed(library: Library) -> None:
    x, kernel = library.array(numbers(6, 5, 4, 2)), library.array(numbers(2, 2, 1, 2, 3))
    how: dict[str, Any] = {**ONES, "starts": (-1, 0)}
    y = sliding.correlate(x, kernel, lengths=(5, 3), **how)
    largest = sliding.maxima(x, sizes=(2, 2), starts=(0, 0), strides=(2, 2), lengths=(2, 2))
    for result in (y, largest):
        assert result.chunks[0] == x.chunks[0]
        assert set(result.numblocks[1:]) == {1}
    back = sliding.correlate_back(y, kernel, lengths=(5, 4), **how)
    assert (back.shape, back.chunks[0]) == (x.shape, x.chunks[0])
    outer = sliding.correlate_outer(x, y, lengths=(2, 2), groups=1, **how)
    assert outer.shape == kernel.shape


def test_a_dask_graph_is_named_by_what_it_computes() -> None:
    da = pytest.importorskip("dask.array")
    x, kernel = da.ones((4, 3, 3, 1), chunks=(2, 3, 3, 1)), da.ones((2, 2, 1, 1, 1))
    how: dict[str, Any] = {**ONES, "starts": (0, 0)}
    names = [sliding.correlate(x, kernel, lengths=lengths, **how).name for lengths in ((2, 2), (2, 2), (1, 2))]
    assert names[0] == names[1] != names[2]


def test_images_of_unknown_number_on_dask() -> None:
    da = pytest.importorskip("dask.array")
    host, kernel = numbers(6, 4, 2), numbers(2, 1, 2, 3)
    chosen = da.from_array(host, chunks=(2, 4, 2))
    chosen = chosen[da.from_array(np.asarray([True, False, True, True, True, False]), chunks=2)]
    how: dict[str, Any] = {"starts": (0,), "strides": (1,), "dilation": (1,)}
    y = sliding.correlate(chosen, da.from_array(kernel), lengths=(3,), **how)
    outer = sliding.correlate_outer(chosen, y, lengths=(2,), groups=1, **how)
    want = sliding.correlate(host[[0, 2, 3, 4]], kernel, lengths=(3,), **how)
    np.testing.assert_allclose(y.compute(scheduler="synchronous"), want)
    np.testing.assert_allclose(
        outer.compute(scheduler="synchronous"),
        sliding.correlate_outer(host[[0, 2, 3, 4]], want, lengths=(2,), groups=1, **how),
    )


@pytest.mark.parametrize("library", libraries("torch", "jax"), indirect=True)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_librarys_own_convolution_is_the_portable_one(library: Library, groups: int) -> None:
    x, y = numbers(2, 7, 6, 2 * groups), numbers(2, 4, 3, 3 * groups)
    kernel = numbers(3, 2, groups, 2, 3)
    how: dict[str, Any] = {"starts": (-2, 1), "strides": (2, 1), "dilation": (1, 2)}
    given = [library.array(some) for some in (x, kernel, y)]
    want = portably(sliding.correlate)(x, kernel, lengths=(4, 3), **how)
    got = library.numpy(sliding.correlate(given[0], given[1], lengths=(4, 3), **how))
    np.testing.assert_allclose(got, want, atol=1e-12)
    outer = sliding.correlate_outer(given[0], given[2], lengths=(3, 2), groups=groups, **how)
    want = portably(sliding.correlate_outer)(x, y, lengths=(3, 2), groups=groups, **how)
    np.testing.assert_allclose(library.numpy(outer), want, atol=1e-11)
    back = sliding.correlate_back(given[2], given[1], lengths=(7, 6), **how)
    want = sliding.correlate_back(y, kernel, lengths=(7, 6), **how)
    np.testing.assert_allclose(library.numpy(back), want, atol=1e-12)


@pytest.mark.at_night("jax")
@pytest.mark.parametrize("dtype", ["int64", "complex128", "float32"])
@pytest.mark.parametrize("library", libraries("numpy", "torch", "jax", "dask-halves"), indirect=True)
def test_other_dtypes(library: Library, dtype: str) -> None:
    x, kernel = (5 * numbers(2, 5, 2)).astype(dtype), (5 * numbers(2, 1, 2, 3)).astype(dtype)
    how: dict[str, Any] = {"starts": (-1,), "strides": (2,), "dilation": (1,), "lengths": (3,)}
    want = portably(sliding.correlate)(x, kernel, **how)
    got = library.numpy(sliding.correlate(library.array(x), library.array(kernel), **how))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-5)
    back = sliding.correlate_back(library.array(want), library.array(kernel), **{**how, "lengths": (5,)})
    want = sliding.correlate_back(want, kernel, **{**how, "lengths": (5,)})
    np.testing.assert_allclose(library.numpy(back), want, rtol=1e-5)
