"""Every mend is needed: the library's own answer is wrong or missing. When one of these fails, its mend can go."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import array_api_compat.numpy as host
import dask
import numpy as np
import pytest

from nbm_xp.namespace import get_namespace, is_lazy, to_numpy
from nbm_xp.namespace.compat.cupy import infinite
from tests.helpers.libraries import DASK, Library, guard, libraries, why_not

RNG = np.random.default_rng(99)
SQUARE = RNG.normal(size=(6, 6)) + 4 * np.eye(6)
ORIGINALS = {
    "dask": "array_api_compat.dask.array",
    "torch": "array_api_compat.torch",
    "jax": "jax.numpy",
}

Probe = Callable[[Any], bool]


def same(x: Any, expected: Any) -> bool:
    """Whether a result has the values, the dtype and the shape expected."""
    value = to_numpy(x.compute(scheduler="synchronous") if hasattr(x, "compute") else x)
    expected = np.asarray(expected)
    agrees = value.shape == expected.shape and value.dtype == expected.dtype
    return bool(agrees and np.allclose(value, expected))


def dask_of(xp: Any, value: Any, chunks: Any = -1) -> Any:
    return xp.asarray(value).rechunk(chunks)


def cholesky_large(xp: Any) -> bool:
    return same(xp.linalg.cholesky(dask_of(xp, SQUARE @ SQUARE.T)), np.linalg.cholesky(SQUARE @ SQUARE.T))


def stacked(xp: Any) -> bool:
    return same(xp.asarray([xp.ones(2), xp.zeros(2)]), np.asarray([[1.0, 1.0], [0.0, 0.0]]))


NANS = np.asarray([1.0, np.nan, 0.0, np.nan, 1.0])
HALVES = np.linspace(1, 100, 400, dtype="float16")
INTS = np.arange(12).reshape(3, 4).astype("int32")
FLOAT32 = SQUARE.astype("float32")
TENSOR = np.arange(60.0).reshape(3, 5, 4)

NEEDED: dict[tuple[str, str], Probe] = {
    ("dask", "broadcast_shapes"): lambda xp: xp.broadcast_shapes((2, 1), (3,)) == (2, 3),
    ("dask", "from_dlpack"): lambda xp: same(xp.from_dlpack(np.ones(2)), np.ones(2)),
    ("dask", "take_along_axis"): lambda xp: same(
        xp.take_along_axis(dask_of(xp, INTS, 2), dask_of(xp, INTS[:, :1] % 4, 2), axis=1),
        np.take_along_axis(INTS, INTS[:, :1] % 4, axis=1),
    ),
    ("dask", "asarray of a list of arrays"): stacked,
    ("dask", "eye"): lambda xp: same(xp.eye(3, 5, k=1), np.eye(3, 5, k=1)),
    ("dask", "matmul of integers"): lambda xp: same(
        xp.matmul(dask_of(xp, INTS, 2), dask_of(xp, INTS.T, 2)), INTS @ INTS.T
    ),
    ("dask", "mean of float16"): lambda xp: same(
        xp.mean(dask_of(xp, HALVES, 100)), np.mean(HALVES, dtype="float32").astype("float16")
    ),
    ("dask", "tensordot of integers"): lambda xp: same(
        xp.tensordot(dask_of(xp, INTS, 2), dask_of(xp, INTS.T, 2), axes=1), INTS @ INTS.T
    ),
    ("dask", "reshape over chunks"): lambda xp: same(
        xp.reshape(dask_of(xp, TENSOR, 2), (5, 12)), TENSOR.reshape(5, 12)
    ),
    ("dask", "repeat without an axis"): lambda xp: same(xp.repeat(dask_of(xp, INTS, 2), 2), np.repeat(INTS, 2)),
    ("dask", "repeat by counts"): lambda xp: same(
        xp.repeat(dask_of(xp, INTS, 2), [2, 0, 1], axis=0), np.repeat(INTS, [2, 0, 1], axis=0)
    ),
    ("dask", "repeat by a Dask array's counts"): lambda xp: same(
        xp.repeat(dask_of(xp, INTS, 2), dask_of(xp, np.asarray([2, 0, 1]), 2), axis=0),
        np.repeat(INTS, [2, 0, 1], axis=0),
    ),
    ("dask", "diff after something"): lambda xp: same(
        xp.diff(dask_of(xp, INTS, 2), axis=0, prepend=dask_of(xp, INTS[:1])), np.diff(INTS, axis=0, prepend=INTS[:1])
    ),
    ("dask", "roll of one axis by several shifts"): lambda xp: same(
        xp.roll(dask_of(xp, INTS, 2), (1, 1), axis=0), np.roll(INTS, (1, 1), axis=0)
    ),
    ("dask", "roll of no elements"): lambda xp: same(xp.roll(dask_of(xp, INTS[:0], 2), 1), INTS[:0]),
    ("dask", "repeat of no elements"): lambda xp: same(xp.repeat(dask_of(xp, INTS[:0], 2), 2, axis=0), INTS[:0]),
    ("dask", "searchsorted of one number"): lambda xp: same(
        xp.searchsorted(dask_of(xp, INTS[0], 2), xp.asarray(np.int32(2))), np.searchsorted(INTS[0], 2)
    ),
    ("dask", "take at a table of places"): lambda xp: same(
        xp.take(dask_of(xp, INTS, 2), dask_of(xp, INTS[:, :2] % 3, 2), axis=0), np.take(INTS, INTS[:, :2] % 3, axis=0)
    ),
    ("dask", "nonzero of no elements"): lambda xp: same(
        xp.nonzero(dask_of(xp, INTS[:0], 3))[1], np.zeros(0, dtype=int)
    ),
    ("dask", "unique_values of NaNs"): lambda xp: same(
        xp.isnan(xp.unique_values(dask_of(xp, NANS, 2))), np.asarray([False, False, True, True])
    ),
    ("dask", "unique_counts of NaNs"): lambda xp: same(
        xp.unique_counts(dask_of(xp, NANS, 2)).counts, np.unique_counts(NANS).counts
    ),
    ("dask", "unique_inverse of NaNs"): lambda xp: same(
        xp.unique_inverse(dask_of(xp, NANS, 2)).inverse_indices, np.unique_inverse(NANS).inverse_indices
    ),
    ("dask", "unique_all of no elements"): lambda xp: same(
        xp.unique_all(dask_of(xp, INTS[:0], 3)).inverse_indices, np.zeros((0, 4), dtype=int)
    ),
    ("dask", "fft along chunks"): lambda xp: same(xp.fft.fft(dask_of(xp, SQUARE + 0j, 2)), np.fft.fft(SQUARE + 0j)),
    ("dask", "fftn along chunks"): lambda xp: same(xp.fft.fftn(dask_of(xp, SQUARE + 0j, 2)), np.fft.fftn(SQUARE + 0j)),
    ("dask", "cholesky"): cholesky_large,
    ("dask", "inv of float32"): lambda xp: same(xp.linalg.inv(dask_of(xp, FLOAT32)), np.linalg.inv(FLOAT32)),
    ("dask", "solve over chunks"): lambda xp: same(
        xp.linalg.solve(dask_of(xp, SQUARE, (2, 3)), dask_of(xp, SQUARE[0])), np.linalg.solve(SQUARE, SQUARE[0])
    ),
    ("dask", "solve of stacks"): lambda xp: same(
        xp.linalg.solve(dask_of(xp, SQUARE[None]), dask_of(xp, SQUARE[None])), np.eye(6)[None]
    ),
    ("dask", "svd, full"): lambda xp: xp.linalg.svd(dask_of(xp, SQUARE[:4])).Vh.shape == (6, 6),
    ("dask", "svd over chunks"): lambda xp: same(
        xp.linalg.svd(dask_of(xp, SQUARE, 2), full_matrices=False).S, np.linalg.svdvals(SQUARE)
    ),
    ("dask", "svdvals"): lambda xp: same(xp.linalg.svdvals(dask_of(xp, SQUARE)), np.linalg.svdvals(SQUARE)),
    ("dask", "qr over chunks"): lambda xp: same(xp.matmul(*xp.linalg.qr(dask_of(xp, SQUARE, 2))), SQUARE),
    ("dask", "matrix_rank"): lambda xp: same(xp.linalg.matrix_rank(dask_of(xp, SQUARE[:, [0, 0, 1]])), np.int64(2)),
    ("dask", "matrix_power"): lambda xp: same(xp.linalg.matrix_power(dask_of(xp, SQUARE), 3), SQUARE @ SQUARE @ SQUARE),
    ("dask", "det"): lambda xp: same(xp.linalg.det(dask_of(xp, SQUARE)), np.linalg.det(SQUARE)),
    ("dask", "slogdet"): lambda xp: same(xp.linalg.slogdet(dask_of(xp, SQUARE))[1], np.linalg.slogdet(SQUARE)[1]),
    ("dask", "pinv"): lambda xp: same(xp.linalg.pinv(dask_of(xp, SQUARE)), np.linalg.pinv(SQUARE)),
    ("dask", "eigh"): lambda xp: same(
        xp.linalg.eigh(dask_of(xp, SQUARE + SQUARE.T))[0], np.linalg.eigvalsh(SQUARE + SQUARE.T)
    ),
    ("dask", "eigvalsh"): lambda xp: same(
        xp.linalg.eigvalsh(dask_of(xp, SQUARE + SQUARE.T)), np.linalg.eigvalsh(SQUARE + SQUARE.T)
    ),
    ("dask", "eig"): lambda xp: same(xp.sum(xp.linalg.eig(dask_of(xp, SQUARE))[0]).real, np.trace(SQUARE)),
    ("dask", "eigvals"): lambda xp: same(xp.sum(xp.linalg.eigvals(dask_of(xp, SQUARE))).real, np.trace(SQUARE)),
    ("dask", "cross"): lambda xp: same(
        xp.linalg.cross(dask_of(xp, SQUARE[:, :3]), dask_of(xp, SQUARE[:, 3:])),
        np.cross(SQUARE[:, :3], SQUARE[:, 3:]),
    ),
    ("torch", "sum into uint64"): lambda xp: same(xp.sum(xp.asarray([1, 2]), dtype=xp.uint64), np.uint64(3)),
    ("torch", "prod into uint32"): lambda xp: same(xp.prod(xp.asarray([3, 2]), dtype=xp.uint32), np.uint32(6)),
    ("torch", "cumulative_sum into uint64"): lambda xp: same(
        xp.cumulative_sum(xp.asarray([3, 2]), dtype=xp.uint64), np.asarray([3, 5], dtype="uint64")
    ),
    ("torch", "cumulative_prod into uint64"): lambda xp: same(
        xp.cumulative_prod(xp.asarray([3, 2]), dtype=xp.uint64), np.asarray([3, 6], dtype="uint64")
    ),
    ("torch", "std with half a correction"): lambda xp: same(
        xp.std(xp.asarray(SQUARE), axis=(0, 1), correction=0.5), np.std(SQUARE, correction=0.5)
    ),
    ("torch", "var over no axes"): lambda xp: same(xp.isnan(xp.var(xp.asarray([1.0, np.nan]), axis=())), [False, True]),
    ("torch", "std over no axes, corrected"): lambda xp: same(
        xp.isnan(xp.std(xp.asarray([1.0, 2.0]), axis=(), correction=1)), [True, True]
    ),
    ("torch", "unique_all"): lambda xp: all(
        same(part, wanted)
        for part, wanted in zip(xp.unique_all(xp.asarray(INTS % 5)), np.unique_all(INTS % 5), strict=True)
    ),
    ("jax", "cumulative_prod of int32"): lambda xp: same(
        xp.cumulative_prod(xp.asarray([3, 2], dtype=xp.int32)), np.asarray([3, 6])
    ),
    ("jax", "searchsorted"): lambda xp: same(
        xp.searchsorted(xp.asarray([1.0, 2.0]), xp.asarray([1.5])), np.asarray([1])
    ),
}
REFUSALS = (AttributeError, IndexError, TypeError, ValueError, AssertionError, RuntimeError, UserWarning)


def _params() -> list[Any]:
    marks = {name: [pytest.mark.skip(reason=reason)] if (reason := why_not(name)) else [] for name in ORIGINALS}
    return [
        pytest.param(name, probe, id=f"{name}: {what}", marks=marks[name]) for (name, what), probe in NEEDED.items()
    ]


@pytest.mark.parametrize(("name", "probe"), _params())
def test_mend_is_right_and_needed(name: str, probe: Probe) -> None:
    with guard():
        assert probe(get_namespace(name))
        original = importlib.import_module(ORIGINALS[name])
        try:
            right = probe(original)
        except REFUSALS:
            right = False
    assert not right, f"{name} is right by now: its mend can go"


@pytest.mark.parametrize("name", [name for name in ORIGINALS if not why_not(name)])
def test_nothing_is_lost(name: str) -> None:
    original = importlib.import_module(ORIGINALS[name])
    mended = get_namespace(name)
    for part in ("", "linalg", "fft"):
        there, here = (getattr(xp, part) if part else xp for xp in (original, mended))
        missing = [n for n in vars(there) if not n.startswith("__") and not hasattr(here, n)]
        assert missing == []


@pytest.mark.parametrize("library", libraries(without=("numpy-readonly", "dask-halves", "dask-ragged", "dask-singles")))
def test_every_name_of_the_standard_is_there(library: Library) -> None:
    standard = importlib.import_module("array_api_strict")
    for part in ("", "linalg", "fft"):
        there, here = (getattr(xp, part) if part else xp for xp in (standard, library.xp))
        names = [name for name in there.__all__ if name not in NOT_OF_THE_STANDARD]
        assert [name for name in names if not hasattr(here, name)] == []


NOT_OF_THE_STANDARD = {
    "ArrayAPIStrictFlags", "Device", "__version__", "get_array_api_strict_flags", "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}  # fmt: skip


def test_only_dask_is_lazy(library: Library) -> None:
    assert is_lazy(library.xp) == library.lazy


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(60, 7), (7, 60), (30, 30)], ids=str)
def test_dask_large_matrices(shape: tuple[int, int], dtype: str) -> None:
    """Matrices beyond a block's size are decomposed in parallel where Dask can; otherwise in one block all the same."""
    xp = get_namespace("dask")
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    value = RNG.normal(size=shape).astype(dtype)
    with guard(), dask.config.set({"array.chunk-size": "256 B"}):
        x = xp.asarray(value).rechunk((8, 5))
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        values = xp.linalg.svdvals(x)
        q, r = xp.linalg.qr(x)
        square = xp.asarray(value @ value.conj().T + 70 * np.eye(shape[0], dtype=dtype)).rechunk((11, 8))
        lower, upper = xp.linalg.cholesky(square), xp.linalg.cholesky(square, upper=True)
        inverse = xp.linalg.inv(square)
        parts = dask.compute(u, s, vh, values, q, r, lower, upper, inverse, square, scheduler="synchronous")
    u, s, vh, values, q, r, lower, upper, inverse, square = parts
    real = np.empty(0, dtype).real.dtype
    assert {a.dtype for a in (u, vh, q, r, lower, upper, inverse)} == {np.dtype(dtype)}
    assert {a.dtype for a in (s, values)} == {real}
    np.testing.assert_allclose((u * s) @ vh, value, atol=tolerance)
    np.testing.assert_allclose(
        values, np.linalg.svdvals(value), rtol=1e-3 if dtype == "float32" else 1e-9, atol=tolerance
    )
    np.testing.assert_allclose(q @ r, value, atol=tolerance)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), atol=tolerance)
    np.testing.assert_allclose(lower @ lower.conj().T, square, rtol=tolerance, atol=100 * tolerance)
    np.testing.assert_allclose(upper, lower.conj().T, atol=tolerance)
    assert np.all(lower == np.tril(lower))
    np.testing.assert_allclose(inverse @ square, np.eye(shape[0]), atol=tolerance)


@pytest.mark.parametrize(
    "shape", [(2, 720), (3, 4, 120), (1440,), (1, 1, 1440), (2, 2, 2, 180), (1440, 1), (720, 2)], ids=str
)
@pytest.mark.parametrize("chunks", [(5, 7, 3), (10, -1, 1), (1, 12, 12)], ids=str)
def test_dask_reshape_keeps_blocks_small(shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
    value = np.arange(1440.0).reshape(10, 12, 12)
    with guard(), dask.config.set({"array.chunk-size": "512 B"}):
        xp = get_namespace("dask")
        x = xp.asarray(value).rechunk(chunks)
        result = xp.reshape(x, shape)
        np.testing.assert_array_equal(result.compute(scheduler="synchronous"), value.reshape(shape))


def test_dask_reshape_of_the_batch_stays_in_blocks() -> None:
    xp = get_namespace("dask")
    x = xp.asarray(np.zeros((8, 3, 4))).rechunk((2, -1, -1))
    assert xp.reshape(x, (8, 12)).chunks == ((2, 2, 2, 2), (12,))
    assert xp.reshape(x, (8, -1)).chunks == ((2, 2, 2, 2), (12,))


@pytest.mark.parametrize("shape", [(7, -1), (-1, -1), (2, -3), (61,), (-1, 0)], ids=str)
def test_dask_reshape_refuses_what_does_not_fit(shape: tuple[int, ...]) -> None:
    with guard(), pytest.raises(ValueError, match=r"reshape|one -1"):
        get_namespace("dask").reshape(get_namespace("dask").asarray(TENSOR), shape)


@pytest.mark.parametrize("library", DASK)
def test_dask_repeats_by_counts_that_are_not_known_yet(library: Library) -> None:
    x, xp = library.array(INTS), library.xp
    with guard():
        for axis, counts in ((0, [1, 0, 3]), (1, [2, 0, 1, 1]), (-1, [0, 0, 0, 0]), (0, 2), (0, [2])):
            result = xp.repeat(x, library.array(counts), axis=axis)
            np.testing.assert_array_equal(library.numpy(result), np.repeat(INTS, counts, axis=axis))
        flat = xp.repeat(x, library.array(np.arange(12)))
        np.testing.assert_array_equal(library.numpy(flat), np.repeat(INTS, np.arange(12)))
        with pytest.raises(TypeError, match="must be integers"):
            xp.repeat(x, 1.5, axis=0)
        with pytest.raises(TypeError, match="must be integers"):
            xp.repeat(x, library.array([0.5, 1.0, 2.0]), axis=0)
        with pytest.raises(ValueError, match="must have 3 entries"):
            xp.repeat(x, library.array([1, 2]), axis=0)


SETS = [
    np.asarray([[3, 1], [1, 3], [0, 3]]),
    np.asarray([1.0, np.nan, -0.0, np.nan, 0.0, -np.inf, 1.0]),
    np.asarray([2, 1, 2], dtype="uint8"),
    np.asarray([True, False, True]),
    np.asarray([1j, 1.0, 1j]),
    np.zeros((0, 2)),
]


@pytest.mark.parametrize("value", SETS, ids=lambda value: f"{value.dtype}{list(value.shape)}")
@pytest.mark.parametrize("library", DASK)
def test_dask_sets_are_numpys(library: Library, value: Any) -> None:
    x, xp = library.array(value), library.xp
    with guard():
        for name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
            found, wanted = getattr(xp, name)(x), getattr(np, name)(value)
            if name == "unique_values":  # in an order of the library's own
                np.testing.assert_array_equal(np.sort(library.numpy(found)), np.sort(wanted), strict=True)
                continue
            assert found._fields == wanted._fields
            for got, want in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(library.numpy(got), want, strict=True)


@pytest.mark.parametrize("library", DASK)
def test_dask_refuses_what_is_no_matrix(library: Library) -> None:
    linalg = library.xp.linalg
    with guard():
        for function in (linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, linalg.eigh, linalg.eig):
            with pytest.raises(ValueError, match="expected square matrices"):
                function(library.array(SQUARE[:3]))
            with pytest.raises(ValueError, match="expected a matrix"):
                function(library.array(SQUARE[0]))
        with pytest.raises(TypeError, match="float16"):
            linalg.inv(library.array(SQUARE, "float16"))
        with pytest.raises(ValueError, match="mode must be"):
            linalg.qr(library.array(SQUARE), mode="raw")
        with pytest.raises(ValueError, match="vectors of three"):
            linalg.cross(library.array(SQUARE), library.array(SQUARE))


@pytest.mark.parametrize("library", DASK)
def test_dask_linear_algebra_of_integers(library: Library) -> None:
    value = np.asarray([[2, 1], [1, 3]])
    result = library.numpy(library.xp.linalg.inv(library.array(value)))
    np.testing.assert_allclose(result, np.linalg.inv(value))


def test_dask_eigenvalues_have_one_dtype_over_blocks() -> None:
    xp = get_namespace("dask")
    rotation, scaling = np.asarray([[0.0, 1.0], [-1.0, 0.0]]), np.diag([2.0, 3.0])
    x = xp.asarray(np.stack([rotation, scaling])).rechunk((1, 1, 1))
    values = xp.linalg.eigvals(x).compute(scheduler="synchronous")
    assert values.dtype == np.complex128
    np.testing.assert_allclose(np.sort_complex(values), [[-1j, 1j], [2, 3]])


def broken(xp: Any, name: str, lowest: float) -> Callable[..., Any]:
    """CuPy's fault: an infinite start is replaced by the largest finite number, and its place lies outside."""
    own = getattr(xp, name)

    def wrong(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        result = own(x, axis=axis, keepdims=keepdims)
        lost = xp.all(x == lowest, axis=axis, keepdims=keepdims)
        instead = 1 if name.startswith("arg") else np.sign(lowest) * np.finfo("float32").max
        return np.where(lost, instead, result).astype(result.dtype)

    return wrong


@pytest.mark.parametrize("lowest", [-np.inf, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_cupy_keeps_infinities(lowest: float, dtype: str, axis: Any) -> None:
    """The mend for CuPy needs no device to be tested: any library can have the fault."""
    name = "max" if lowest < 0 else "min"
    mended = infinite(host, broken(host, name, lowest), lowest, lowest)
    place = infinite(host, broken(host, f"arg{name}", lowest), lowest, 0)
    values = [np.full((3, 4), 5), np.zeros((3, 4))]
    if dtype != "int32":
        values += [np.full((3, 4), lowest), np.where(np.eye(3, 4) > 0, 7.0, lowest), np.full((3, 4), np.nan)]
        values.append(np.where(np.arange(3)[:, None] == 1, lowest, np.arange(4.0)))
    for value in values:
        x = value.astype(dtype)
        for keepdims in (False, True):
            result = mended(x, axis=axis, keepdims=keepdims)
            expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == expected.dtype
            found = place(x, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(found, getattr(np, f"arg{name}")(x, axis=axis, keepdims=keepdims))
    empty = mended(np.zeros((0, 2), dtype=dtype), axis=1)
    assert empty.shape == (0,)


@pytest.mark.parametrize("library", libraries("cupy"))
def test_cupy_has_infinities(library: Library) -> None:
    for lowest, name in ((-np.inf, "max"), (np.inf, "min")):
        for axis in (None, 0, 1):
            x = library.array(np.full((2, 3), lowest))
            assert np.all(library.numpy(getattr(library.xp, name)(x, axis=axis)) == lowest)
            assert np.all(library.numpy(getattr(library.xp, f"arg{name}")(x, axis=axis)) == 0)
