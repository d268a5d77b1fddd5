"""Every correction of a library gives NumPy's result, and is needed: the library's own is wrong or missing.

If one of these tests fails because the library was fixed, the correction can be removed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import array_api_compat.numpy as host
import dask
import numpy as np
import pytest

from nbm_xp.namespace import get_namespace, to_numpy
from nbm_xp.namespace.compat.cupy import infinite, named_eig, stacked_solve
from tests.helpers.libraries import DASK, Library, guard, libraries, why_not

RNG = np.random.default_rng(99)
SQUARE = RNG.normal(size=(6, 6)) + 4 * np.eye(6)
ORIGINALS = {"dask": "array_api_compat.dask.array", "torch": "array_api_compat.torch", "jax": "jax.numpy"}

NANS = np.asarray([1.0, np.nan, 0.0, np.nan, 1.0])
HALVES = np.linspace(1, 100, 400, dtype="float16")
INTS = np.arange(12).reshape(3, 4).astype("int32")
FLOAT32 = SQUARE.astype("float32")
TENSOR = np.arange(60.0).reshape(3, 5, 4)
STACK = np.stack([SQUARE[:3, :3], SQUARE[3:, 3:]])
COMPLEX = SQUARE + 1j * SQUARE.T
SYMMETRIC = SQUARE + SQUARE.T

Call = Callable[[Any, Any], Any]
"""Arguments: a namespace, and a function from a NumPy array to its array, on Dask with chunks of a given size."""

ON_DASK: dict[str, Call] = {
    "broadcast_shapes": lambda xp, of: xp.broadcast_shapes((2, 1), (3,)),
    "from_dlpack": lambda xp, of: xp.from_dlpack(np.ones(2)),
    "take_along_axis": lambda xp, of: xp.take_along_axis(of(INTS, 2), of(INTS[:, :1] % 4, 2), axis=1),
    "asarray of a list of arrays": lambda xp, of: xp.asarray([xp.ones(2), xp.zeros(2)]),
    "eye": lambda xp, of: xp.eye(3, 5, k=1), "matmul of integers": lambda xp, of: xp.matmul(of(INTS, 2), of(INTS.T, 2)),
    "mean of float16": lambda xp, of: xp.mean(of(HALVES, 100)),
    "tensordot of integers": lambda xp, of: xp.tensordot(of(INTS, 2), of(INTS.T, 2), axes=1),
    "tensordot over the last axis": lambda xp, of: xp.tensordot(of(TENSOR), of(TENSOR.T), axes=((-1,), (0,))),
    "vecdot of integers": lambda xp, of: xp.vecdot(of(INTS, 2), of(INTS, 2)),
    "tril of complex numbers": lambda xp, of: xp.tril(of(COMPLEX, 4), k=-1),
    "triu of complex numbers": lambda xp, of: xp.triu(of(COMPLEX, 4), k=1),
    "reshape over chunks": lambda xp, of: xp.reshape(of(TENSOR, 2), (5, 12)),
    "repeat without an axis": lambda xp, of: xp.repeat(of(INTS, 2), 2),
    "repeat by counts": lambda xp, of: xp.repeat(of(INTS, 2), [2, 0, 1], axis=0),
    "repeat by a Dask array's counts": lambda xp, of: xp.repeat(of(INTS, 2), of(np.asarray([2, 0, 1]), 2), axis=0),
    "repeat of no elements": lambda xp, of: xp.repeat(of(INTS[:0], 2), 2, axis=0),
    "diff after something": lambda xp, of: xp.diff(of(INTS, 2), axis=0, prepend=of(INTS[:1])),
    "roll of one axis by several shifts": lambda xp, of: xp.roll(of(INTS, 2), (1, 1), axis=0),
    "roll of no elements": lambda xp, of: xp.roll(of(INTS[:0], 2), 1),
    "searchsorted of one number": lambda xp, of: xp.searchsorted(of(INTS[0], 2), xp.asarray(np.int32(2))),
    "take at a table of places": lambda xp, of: xp.take(of(INTS, 2), of(INTS[:, :2] % 3, 2), axis=0),
    "nonzero of no elements": lambda xp, of: xp.nonzero(of(INTS[:0], 3))[1],
    "unique_values of NaNs": lambda xp, of: xp.sum(xp.astype(xp.isnan(xp.unique_values(of(NANS, 2))), xp.int64)),
    "unique_counts of NaNs": lambda xp, of: xp.unique_counts(of(NANS, 2)).counts,
    "unique_inverse of NaNs": lambda xp, of: xp.unique_inverse(of(NANS, 2)).inverse_indices,
    "unique_all of no elements": lambda xp, of: xp.unique_all(of(INTS[:0], 3)).inverse_indices,
    "fft along chunks": lambda xp, of: xp.fft.fft(of(SQUARE + 0j, 2)),
    "fftn along chunks": lambda xp, of: xp.fft.fftn(of(SQUARE + 0j, 2)),
    "rfft along chunks": lambda xp, of: xp.fft.rfft(of(SQUARE, 4), n=5),
    "irfftn along chunks": lambda xp, of: xp.fft.irfftn(of(COMPLEX, 4), s=(4, 7), axes=(0, 1)),
    "cholesky": lambda xp, of: xp.linalg.cholesky(of(SQUARE @ SQUARE.T)),
    "inv of float32": lambda xp, of: xp.linalg.inv(of(FLOAT32)),
    "solve over chunks": lambda xp, of: xp.linalg.solve(of(SQUARE, (2, 3)), of(SQUARE[0])),
    "solve of stacks": lambda xp, of: xp.linalg.solve(of(SQUARE[None]), of(SQUARE[None])),
    "solve of stacks in other blocks": lambda xp, of: xp.linalg.solve(of(STACK, (1, 3, 3)), of(STACK[0])),
    "svd, full": lambda xp, of: xp.linalg.svd(of(SQUARE[:4])).Vh.shape,
    "svd over chunks": lambda xp, of: xp.linalg.svd(of(SQUARE, 2), full_matrices=False).S,
    "svdvals": lambda xp, of: xp.linalg.svdvals(of(SQUARE)),
    "qr over chunks": lambda xp, of: xp.matmul(*xp.linalg.qr(of(SQUARE, 2))),
    "matrix_norm of stacks": lambda xp, of: xp.linalg.matrix_norm(of(STACK), ord="nuc"),
    "matrix_rank": lambda xp, of: xp.linalg.matrix_rank(of(SQUARE[:, [0, 0, 1]])),
    "matrix_power": lambda xp, of: xp.linalg.matrix_power(of(SQUARE), 3),
    "det": lambda xp, of: xp.linalg.det(of(SQUARE)), "slogdet": lambda xp, of: xp.linalg.slogdet(of(SQUARE))[1],
    "pinv": lambda xp, of: xp.linalg.pinv(of(SQUARE)), "eigh": lambda xp, of: xp.linalg.eigh(of(SYMMETRIC))[0],
    "eigvalsh": lambda xp, of: xp.linalg.eigvalsh(of(SYMMETRIC)),
    "eig": lambda xp, of: xp.sum(xp.linalg.eig(of(SQUARE))[0]).real,
    "eigvals": lambda xp, of: xp.sum(xp.linalg.eigvals(of(SQUARE))).real,
    "cross": lambda xp, of: xp.linalg.cross(of(SQUARE[:, :3]), of(SQUARE[:, 3:])),
    "rank of empty matrices": lambda xp, of: _ranks_of_empty(xp, of),
}  # fmt: skip
ON_TORCH: dict[str, Call] = {
    "sum into uint64": lambda xp, of: xp.sum(of([1, 2]), dtype=xp.uint64),
    "prod into uint32": lambda xp, of: xp.prod(of([3, 2]), dtype=xp.uint32),
    "cumulative_sum into uint64": lambda xp, of: xp.cumulative_sum(of([3, 2]), dtype=xp.uint64),
    "cumulative_prod into uint64": lambda xp, of: xp.cumulative_prod(of([3, 2]), dtype=xp.uint64),
    "std with half a correction": lambda xp, of: xp.std(of(SQUARE), axis=(0, 1), correction=0.5),
    "var over no axes": lambda xp, of: xp.isnan(xp.var(of([1.0, np.nan]), axis=())),
    "std over no axes, corrected": lambda xp, of: xp.isnan(xp.std(of([1.0, 2.0]), axis=(), correction=1)),
    "unique_all": lambda xp, of: xp.concat([xp.reshape(part, (-1,)) for part in xp.unique_all(of(INTS % 5))]),
    "fft of nothing": lambda xp, of: xp.fft.fft(of(COMPLEX[:0])),
    "irfftn of nothing": lambda xp, of: xp.fft.irfftn(of(COMPLEX[:0]), s=(5,), axes=(1,)),
}
ON_JAX: dict[str, Call] = {
    "cumulative_prod of int32": lambda xp, of: xp.cumulative_prod(of(np.int32([3, 2]))),
    "searchsorted": lambda xp, of: xp.searchsorted(of([1.0, 2.0]), of([1.5])),
    "rank by a tolerance": lambda xp, of: xp.astype(xp.linalg.matrix_rank(of(np.diag([9.0, 1.0])), rtol=0.5), xp.int64),
    "rank of empty matrices": lambda xp, of: _ranks_of_empty(xp, of),
}
REFUSALS = (
    AttributeError, LookupError, TypeError, ValueError, AssertionError, RuntimeError, UserWarning,
    np.exceptions.ComplexWarning,
)  # fmt: skip


def _ranks_of_empty(xp: Any, of: Any) -> Any:
    """Ranks of matrices without columns are 0; NumPy itself raises an error."""
    return np.zeros(2, int) if xp is host else xp.astype(xp.linalg.matrix_rank(of(STACK[:, :0])), xp.int64)


def is_numpys(xp: Any, call: Call) -> bool:
    """Return whether a call has NumPy's values, dtype and shape."""

    def of(value: Any, chunks: Any = -1) -> Any:
        x = xp.asarray(value)
        return x.rechunk(chunks) if hasattr(x, "rechunk") else x

    with warnings.catch_warnings(action="ignore"):
        wanted = np.asarray(call(host, lambda value, chunks=-1: np.asarray(value)))
    found = call(xp, of)
    value = to_numpy(found.compute(scheduler="synchronous") if hasattr(found, "compute") else found)
    agrees = value.shape == wanted.shape and value.dtype == wanted.dtype
    return bool(agrees and np.allclose(value, wanted))


def _params() -> list[Any]:
    marks = {name: [pytest.mark.skip(reason=reason)] if (reason := why_not(name)) else [] for name in ORIGINALS}
    return [
        pytest.param(name, call, id=f"{name}: {what}", marks=marks[name])
        for name, calls in (("dask", ON_DASK), ("torch", ON_TORCH), ("jax", ON_JAX))
        for what, call in calls.items()
    ]


@pytest.mark.parametrize(("name", "call"), _params())
def test_mend_is_right_and_needed(name: str, call: Call) -> None:
    with guard():
        assert is_numpys(get_namespace(name), call)
        original = importlib.import_module(ORIGINALS[name])
        try:
            right = is_numpys(original, call)
        except REFUSALS:
            right = False
    assert not right, f"{name} is right by now: what fills its gap can go"


@pytest.mark.parametrize("name", [name for name in ORIGINALS if not why_not(name)])
def test_nothing_is_lost(name: str) -> None:
    original = importlib.import_module(ORIGINALS[name])
    mended = get_namespace(name)
    for part in ("", "linalg", "fft"):
        there, here = (getattr(xp, part) if part else xp for xp in (original, mended))
        missing = [n for n in vars(there) if not n.startswith("__") and not hasattr(here, n)]
        assert missing == []


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(60, 7), (7, 60), (30, 30)], ids=str)
def test_dask_large_matrices(shape: tuple[int, int], dtype: str) -> None:
    """Larger matrices than a block are decomposed in parallel if Dask can, and otherwise in one block."""
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
        unit = xp.eye(*shape, k=1)
        parts = dask.compute(u, s, vh, values, q, r, lower, upper, inverse, square, unit, scheduler="synchronous")
    u, s, vh, values, q, r, lower, upper, inverse, square, unit = parts
    np.testing.assert_array_equal(unit, np.eye(*shape, k=1))
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


def test_dask_reshape_of_the_batch_stays_in_blocks() -> None:
    xp = get_namespace("dask")
    x = xp.asarray(np.zeros((8, 3, 4))).rechunk((2, -1, -1))
    assert xp.reshape(x, (8, 12)).chunks == ((2, 2, 2, 2), (12,))
    assert xp.reshape(x, (8, -1)).chunks == ((2, 2, 2, 2), (12,))


@pytest.mark.parametrize("shape", [(7, -1), (-1, -1), (2, -3), (61,), (-1, 0)], ids=str)
def test_dask_reshape_rejects_what_does_not_fit(shape: tuple[int, ...]) -> None:
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


@pytest.mark.parametrize("library", DASK)
def test_dask_rejects_what_is_no_matrix(library: Library) -> None:
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
    """Simulate CuPy's bug: an infinite extreme becomes the largest finite number, and its index is wrong."""
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
    """The correction for CuPy is tested without a device, by simulating the bug."""
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


def narrow_solve(a: Any, b: Any) -> Any:
    """Solve with CuPy's restrictions: both arrays have the stack axes, and none is empty."""
    assert a.shape[:-2] == b.shape[: a.ndim - 2]
    assert a.size
    assert b.size
    assert a.ndim == b.ndim or a.ndim == b.ndim + 1 == 2
    return np.linalg.solve(a, b)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (4, 3, 2)),
        ((2, 1, 3, 3), (4, 3, 2)), ((0, 0), (0, 2)), ((0, 3, 3), (3,)), ((3, 3), (3, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_cupy_solves_stacks_that_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=left), generator.normal(size=right)
    result = stacked_solve(host, narrow_solve)(a, b)
    expected = host.linalg.solve(a, b)
    np.testing.assert_allclose(result, expected, strict=True)


def test_cupy_rejects_stacks_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        stacked_solve(host, narrow_solve)(np.ones((2, 3, 3)), np.ones((3, 3, 1)))


def test_cupy_names_what_eig_gives() -> None:
    result = named_eig(np.linalg.eig)(SQUARE)
    np.testing.assert_allclose(SQUARE @ result.eigenvectors, result.eigenvectors * result.eigenvalues)


@pytest.mark.parametrize("library", libraries("dask-halves", "dask-cupy"), indirect=True)
def test_dask_keeps_the_blocks_of_a_stack(library: Any) -> None:
    xp = library.xp
    x = library.array(np.stack([SQUARE] * 4))
    for result in (xp.linalg.inv(x), xp.fft.fft(x), xp.fft.rfftn(x, axes=(1, 2)), xp.linalg.det(x), xp.tril(x)):
        assert result.chunks[0] == x.chunks[0]
    assert xp.fft.irfft(x + 0j).dtype == np.float64
    assert xp.fft.rfft(x.astype("float32")).dtype == np.complex64
