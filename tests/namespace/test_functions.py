"""The functions that every library must have right, against NumPy: values, dtypes, shapes, and Dask stays lazy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import array_api_compat.numpy as reference
import numpy as np
import pytest

from nbm_xp.namespace import dtype_name, get_namespace
from tests.helpers.libraries import EVERYWHERE, LIBRARIES, Library
from tests.helpers.tables import told

RNG = np.random.default_rng(12345)
FLOATS = RNG.normal(size=(3, 5, 4)).astype("float32")
POSITIVE = np.abs(FLOATS) + np.float32(0.1)
MATRIX = RNG.normal(size=(6, 5))
SQUARE = RNG.normal(size=(5, 5)) + 3 * np.eye(5)
SPD = SQUARE @ SQUARE.T
STACK = RNG.normal(size=(3, 4, 4)) + 4 * np.eye(4)
INTS = RNG.integers(-9, 10, size=(3, 5, 4)).astype("int32")
BYTES = RNG.integers(0, 256, size=(7, 3)).astype("uint8")
BOOLS = FLOATS > 0
VECTOR = RNG.normal(size=11)
EMPTY = np.zeros((0, 3), dtype="float32")
SCALAR = np.asarray(2.5, dtype="float32")
INDEX = np.asarray([2, 0, 2, 1])
EXTREME = np.asarray([-np.inf, -1e4, -0.0, 0.0, 1e-8, 1e4, np.inf, np.nan])

Case = tuple[str, Callable[..., Any], tuple[Any, ...]]
CASES: list[Case] = []


def case(name: str, function: Callable[..., Any], *arrays: Any) -> None:
    """Add a case: ``function(xp, *arrays)`` must give on every library what it gives on NumPy."""
    CASES.append((name, function, arrays))


# elementwise
for name in ("abs", "sign", "square", "round", "negative", "positive", "floor", "ceil", "trunc"):
    for label, array in (("float", FLOATS), ("int", INTS), ("extreme", EXTREME[:-1]), ("empty", EMPTY), ("0d", SCALAR)):
        if not (name == "round" and label == "extreme"):
            case(f"{name}-{label}", lambda xp, x, name=name: getattr(xp, name)(x), array)
for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sqrt", "tanh", "sinh", "cosh", "atan", "isfinite"):
    case(f"{name}-float", lambda xp, x, name=name: getattr(xp, name)(x), POSITIVE)
    case(f"{name}-double", lambda xp, x, name=name: getattr(xp, name)(x), POSITIVE.astype("float64"))
    case(f"{name}-0d", lambda xp, x, name=name: getattr(xp, name)(x), SCALAR)
for name in ("asin", "acos", "atanh", "asinh"):
    case(name, lambda xp, x, name=name: getattr(xp, name)(x), np.clip(FLOATS, -0.9, 0.9))
for name in ("isfinite", "isnan", "isinf", "signbit"):
    case(f"{name}-extreme", lambda xp, x, name=name: getattr(xp, name)(x), EXTREME)
case("reciprocal", lambda xp, x: xp.reciprocal(x), POSITIVE)
case("clip-both", lambda xp, x: xp.clip(x, -0.5, 0.5), FLOATS)
case("clip-min", lambda xp, x: xp.clip(x, min=-0.5), FLOATS)
case("clip-max", lambda xp, x: xp.clip(x, max=0.5), FLOATS)
case("clip-int", lambda xp, x: xp.clip(x, -2, 3), INTS)
case("clip-arrays", lambda xp, x, y: xp.clip(x, -xp.abs(y), xp.abs(y)), FLOATS, FLOATS[::-1].copy())
for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "logaddexp", "atan2", "hypot", "copysign",
             "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):  # fmt: skip
    case(f"{name}-broadcast", lambda xp, x, y, name=name: getattr(xp, name)(x, y), FLOATS, FLOATS[0, 2])
for name in ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "equal"):
    case(f"{name}-int", lambda xp, x, y, name=name: getattr(xp, name)(x, y), INTS, INTS[0])
for name in ("maximum", "minimum", "logaddexp"):
    case(
        f"{name}-extreme",
        lambda xp, x, y, name=name: getattr(xp, name)(x[:, None], y[None, :]),
        EXTREME[:-1],
        EXTREME[:-1].copy(),
    )
for name in ("floor_divide", "remainder"):
    case(f"{name}-float", lambda xp, x, y, name=name: getattr(xp, name)(x, y), FLOATS, POSITIVE)
    case(f"{name}-int", lambda xp, x, y, name=name: getattr(xp, name)(x, y), INTS, np.abs(INTS) + np.int32(1))
    case(f"{name}-negative", lambda xp, x, y, name=name: getattr(xp, name)(x, y), INTS, -np.abs(INTS) - np.int32(1))
case("pow-float", lambda xp, x, y: xp.pow(x, y), POSITIVE, FLOATS)
case("pow-scalar", lambda xp, x: x**3, FLOATS)
case("pow-int", lambda xp, x: x**2, INTS)
case("rpow-scalar", lambda xp, x: 2.0**x, FLOATS)
for name in ("logical_and", "logical_or", "logical_xor"):
    case(name, lambda xp, x, y, name=name: getattr(xp, name)(x, y), BOOLS, BOOLS[::-1].copy())
case("logical_not", lambda xp, x: xp.logical_not(x), BOOLS)
case("invert", lambda xp, x: ~x, BOOLS)
case("shift", lambda xp, x: xp.bitwise_left_shift(xp.bitwise_right_shift(x, xp.ones_like(x)), xp.ones_like(x)), INTS)
case("where", lambda xp, c, x, y: xp.where(c, x, y), BOOLS, FLOATS, -FLOATS)
case("where-broadcast", lambda xp, c, x, y: xp.where(c, x, y), BOOLS[:, :1], FLOATS, FLOATS[0, 0])
case("where-0d", lambda xp, c, x, y: xp.where(c, x, y), np.asarray(True), FLOATS, -FLOATS)
case("where-scalar", lambda xp, c, x: xp.where(c, x, 0.0), BOOLS, FLOATS)
case("where-scalar-left", lambda xp, c, x: xp.where(c, 0, x), BOOLS, INTS)
for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"):
    if name != "float16":
        case(f"astype-{name}", lambda xp, x, name=name: xp.astype(x, getattr(xp, name)), np.abs(FLOATS) * 20)
        case(f"astype-{name}-bool", lambda xp, x, name=name: xp.astype(x, getattr(xp, name)), BOOLS)
case("operators", lambda xp, x: (-x + 1) * 2 - x / 3 + abs(x) ** 2 - 1.5 * x // 2 % 3, FLOATS)
case("reflected", lambda xp, x: 1 - x + (2 / (x * x + 1)) + 3 * x, FLOATS)
case("comparisons", lambda xp, x: ((x < 0.5) & (x > -0.5)) | (x >= 1) | (x <= -1) | (x == 0) | (x != x), FLOATS)

# reductions
for name in ("sum", "prod", "mean", "var", "std", "max", "min"):
    for axis in (None, 0, -1, (0, 2), ()):
        if axis != () or name not in ("mean", "var", "std"):
            case(f"{name}-axis={axis}", lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a), POSITIVE)
    case(f"{name}-keepdims", lambda xp, x, n=name: getattr(xp, n)(x, axis=1, keepdims=True), POSITIVE)
    case(f"{name}-all-keepdims", lambda xp, x, n=name: getattr(xp, n)(x, keepdims=True), POSITIVE)
    case(f"{name}-0d", lambda xp, x, n=name: getattr(xp, n)(x), SCALAR)
    case(f"{name}-vector", lambda xp, x, n=name: getattr(xp, n)(x), VECTOR)
for name in ("sum", "prod", "max", "min"):
    case(f"{name}-int", lambda xp, x, n=name: getattr(xp, n)(x, axis=1), INTS)
    case(f"{name}-wide", lambda xp, x, n=name: getattr(xp, n)(x, axis=1), INTS.astype("int64"))
for name in ("sum", "prod"):
    case(f"{name}-dtype", lambda xp, x, n=name: getattr(xp, n)(x, axis=0, dtype=xp.float64), POSITIVE)
    case(f"{name}-empty", lambda xp, x, n=name: getattr(xp, n)(x, axis=0), EMPTY)
    case(f"{name}-empty-all", lambda xp, x, n=name: getattr(xp, n)(x), EMPTY)
    case(f"{name}-unsigned", lambda xp, x, n=name: getattr(xp, n)(x, axis=0, dtype=xp.uint64), BYTES[:4])
    case(f"{name}-bytes", lambda xp, x, n=name: xp.astype(getattr(xp, n)(x, axis=0), xp.int64), BYTES[:2])
case("sum-bool", lambda xp, x: xp.sum(xp.astype(x, xp.int32), axis=0), BOOLS)
for name in ("var", "std"):
    case(f"{name}-correction", lambda xp, x, n=name: getattr(xp, n)(x, axis=0, correction=1), MATRIX)
for name in ("max", "min"):
    case(f"{name}-infinite", lambda xp, x, n=name: getattr(xp, n)(x), EXTREME[:-1])
    case(f"{name}-minus-infinite", lambda xp, x, n=name: getattr(xp, n)(x), np.full(5, -np.inf))
    case(f"{name}-nan", lambda xp, x, n=name: getattr(xp, n)(x), EXTREME)
for name in ("argmax", "argmin"):
    for axis in (None, 0, -1):
        case(f"{name}-axis={axis}", lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a), FLOATS)
    case(f"{name}-ties", lambda xp, x, n=name: getattr(xp, n)(x, axis=-1), INTS // np.int32(5))
    case(f"{name}-infinite", lambda xp, x, n=name: getattr(xp, n)(x), np.asarray([-np.inf, 1.0, np.inf, np.inf]))
    case(f"{name}-keepdims", lambda xp, x, n=name: getattr(xp, n)(x, axis=1, keepdims=True), FLOATS)
    case(f"{name}-all-ties", lambda xp, x, n=name: getattr(xp, n)(x), np.zeros((4, 3)))
for name in ("any", "all"):
    for axis in (None, 0, (0, 1)):
        case(f"{name}-axis={axis}", lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a), BOOLS)
    case(f"{name}-keepdims", lambda xp, x, n=name: getattr(xp, n)(x, axis=-1, keepdims=True), BOOLS)
    case(f"{name}-empty", lambda xp, x, n=name: getattr(xp, n)(x, axis=0), EMPTY > 0)
    case(f"{name}-float", lambda xp, x, n=name: getattr(xp, n)(x), FLOATS)
case("count_nonzero", lambda xp, x: xp.astype(xp.count_nonzero(x, axis=1), xp.int64), INTS)
for name in ("cumulative_sum", "cumulative_prod"):
    for axis in (0, 1, -1):
        case(f"{name}-axis={axis}", lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a), POSITIVE)
    case(f"{name}-vector", lambda xp, x, n=name: getattr(xp, n)(x), VECTOR)
    case(f"{name}-initial", lambda xp, x, n=name: getattr(xp, n)(x, axis=1, include_initial=True), MATRIX)
    case(f"{name}-int", lambda xp, x, n=name: getattr(xp, n)(x, axis=1), np.sign(INTS))
    case(f"{name}-empty", lambda xp, x, n=name: getattr(xp, n)(x, axis=0), EMPTY)
    case(f"{name}-unsigned", lambda xp, x, n=name: getattr(xp, n)(x, axis=0, dtype=xp.uint32), BYTES[:4])
case("diff", lambda xp, x: xp.diff(x, axis=1), MATRIX)

# shaping
case("reshape", lambda xp, x: xp.reshape(x, (5, 12)), FLOATS)
case("reshape-uneven", lambda xp, x: xp.reshape(x, (4, -1)), FLOATS)
case("reshape-merge", lambda xp, x: xp.reshape(x, (3, -1)), FLOATS)
case("reshape-flat", lambda xp, x: xp.reshape(x, (-1,)), FLOATS)
case("reshape-split", lambda xp, x: xp.reshape(x, (2, 3, 2, 5)), FLOATS)
case("reshape-0d", lambda xp, x: xp.reshape(x, (1, 1)), SCALAR)
case("reshape-to-0d", lambda xp, x: xp.reshape(x, ()), np.ones((1, 1)))
case("reshape-empty", lambda xp, x: xp.reshape(x, (3, 0)), EMPTY)
case("reshape-ones", lambda xp, x: xp.reshape(x, (1, 6, 1, 5, 1)), MATRIX)
case("permute_dims", lambda xp, x: xp.permute_dims(x, (2, 0, 1)), FLOATS)
case("matrix_transpose", lambda xp, x: xp.matrix_transpose(x), FLOATS)
case("moveaxis", lambda xp, x: xp.moveaxis(x, 0, -1), FLOATS)
case("T", lambda xp, x: x.T, MATRIX)
case("mT", lambda xp, x: xp.matrix_transpose(x), STACK)
for axis in (0, 1, -1):
    case(f"concat-axis={axis}", lambda xp, x, y, a=axis: xp.concat([x, y], axis=a), FLOATS, -FLOATS)
    case(f"stack-axis={axis}", lambda xp, x, y, a=axis: xp.stack([x, y], axis=a), FLOATS, -FLOATS)
    case(f"flip-axis={axis}", lambda xp, x, a=axis: xp.flip(x, axis=a), FLOATS)
    case(f"repeat-axis={axis}", lambda xp, x, a=axis: xp.repeat(x, 3, axis=a), FLOATS)
    case(f"roll-axis={axis}", lambda xp, x, a=axis: xp.roll(x, 2, axis=a), FLOATS)
case("concat-flat", lambda xp, x, y: xp.concat([x, y], axis=None), MATRIX, SQUARE)
case("concat-mixed", lambda xp, x, y: xp.concat([x, y], axis=0), MATRIX, SQUARE)
case("concat-empty", lambda xp, x, y: xp.concat([x, y], axis=0), EMPTY, EMPTY)
case("flip-all", lambda xp, x: xp.flip(x), FLOATS)
case("flip-two", lambda xp, x: xp.flip(x, axis=(0, 2)), FLOATS)
case("repeat-flat", lambda xp, x: xp.repeat(x, 2), MATRIX)
case("repeat-one", lambda xp, x: xp.repeat(x, 1, axis=0), MATRIX)
case("tile", lambda xp, x: xp.tile(x, (2, 3)), MATRIX)
case("tile-short", lambda xp, x: xp.tile(x, (2,)), MATRIX)
case("tile-long", lambda xp, x: xp.tile(x, (2, 1, 3)), MATRIX)
case("tile-0d", lambda xp, x: xp.tile(x, (2, 3)), SCALAR)
case("squeeze", lambda xp, x: xp.squeeze(x, axis=1), FLOATS[:, :1])
case("squeeze-two", lambda xp, x: xp.squeeze(x, axis=(0, 2)), FLOATS[:1, :, :1])
case("expand_dims", lambda xp, x: xp.expand_dims(x, axis=1), FLOATS)
case("expand_dims-last", lambda xp, x: xp.expand_dims(x, axis=-1), FLOATS)
case("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3, 5, 4)), FLOATS)
case("broadcast_to-ones", lambda xp, x: xp.broadcast_to(x, (3, 5, 4)), FLOATS[:, :1])
case("broadcast_arrays", lambda xp, x, y: list(xp.broadcast_arrays(x, y)), FLOATS, FLOATS[:, :1])
case("meshgrid", lambda xp, x, y: list(xp.meshgrid(x, y, indexing="ij")), VECTOR, VECTOR[:4])
case("unstack", lambda xp, x: list(xp.unstack(x, axis=1)), MATRIX)
case("tril", lambda xp, x: xp.tril(x, k=-1), MATRIX)
case("triu", lambda xp, x: xp.triu(x, k=1), STACK)
case("tril-default", lambda xp, x: xp.tril(x), SQUARE)

# indexing
case("slice", lambda xp, x: x[1:, ::2, -1], FLOATS)
case("slice-negative", lambda xp, x: x[::-1, :, ::-2], FLOATS)
case("slice-new", lambda xp, x: x[None, ..., 1, None], FLOATS)
case("index-vector", lambda xp, x, i: x[i], VECTOR, INDEX)
case("index-beside-integers", lambda xp, x, i: x[i, 0, 1], FLOATS, INDEX)
case("take", lambda xp, x, i: xp.take(x, i, axis=1), FLOATS, INDEX)
case("take-last", lambda xp, x, i: xp.take(x, i, axis=-1), FLOATS, INDEX)
case("take-vector", lambda xp, x, i: xp.take(x, i), VECTOR, INDEX)
case("take-int32", lambda xp, x, i: xp.take(x, i, axis=0), MATRIX, INDEX.astype("int32"))
for axis in (0, 1, -1):
    case(f"take_along_axis-axis={axis}", lambda xp, x, i, a=axis: xp.take_along_axis(x, i, axis=a), FLOATS,
         RNG.integers(0, 3, size=FLOATS.shape))  # fmt: skip
case("take_along_axis-short", lambda xp, x, i: xp.take_along_axis(x, i, axis=1), MATRIX, np.asarray([[1, 0, 1]] * 6))
case("take_along_axis-negative", lambda xp, x, i: xp.take_along_axis(x, i, axis=1), MATRIX, np.asarray([[-1]] * 6))
case("sort", lambda xp, x: xp.sort(x, axis=1), FLOATS)
case("sort-descending", lambda xp, x: xp.sort(x, axis=0, descending=True), MATRIX)
case("argsort", lambda xp, x: xp.argsort(x, axis=1), FLOATS)
case("argsort-stable", lambda xp, x: xp.argsort(x, axis=-1, stable=True), INTS // np.int32(4))
case("searchsorted", lambda xp, x, y: xp.searchsorted(x, y, side="right"), np.sort(VECTOR), VECTOR[:5])

# linear algebra
case("matmul", lambda xp, x, y: xp.matmul(x, y), MATRIX, SQUARE)
case("matmul-stack", lambda xp, x, y: xp.matmul(x, y), STACK, STACK)
case("matmul-broadcast", lambda xp, x, y: xp.matmul(x, y), STACK, STACK[0])
case("matmul-vector", lambda xp, x, y: xp.matmul(x, y), MATRIX, MATRIX[0])
case("matmul-vectors", lambda xp, x, y: xp.matmul(x, y), VECTOR, VECTOR)
case("matmul-operator", lambda xp, x, y: x @ y, MATRIX, SQUARE)
case("matmul-int", lambda xp, x, y: xp.matmul(x, y), INTS[0], INTS[0].T.copy())
case("matmul-empty", lambda xp, x, y: xp.matmul(x, y), EMPTY, np.ones((3, 2), dtype="float32"))
case("matmul-empty-inside", lambda xp, x, y: xp.matmul(x, y), EMPTY.T.copy(), np.ones((0, 2), dtype="float32"))
case("tensordot", lambda xp, x, y: xp.tensordot(x, y, axes=1), FLOATS, FLOATS[0].T.copy())
case("tensordot-two", lambda xp, x, y: xp.tensordot(x, y, axes=2), FLOATS, FLOATS[0])
case("tensordot-axes", lambda xp, x, y: xp.tensordot(x, y, axes=((0, 2), (0, 1))), FLOATS, FLOATS[:, 0])
case("tensordot-outer", lambda xp, x, y: xp.tensordot(x, y, axes=0), MATRIX[:3], VECTOR[:4])
case("vecdot", lambda xp, x, y: xp.vecdot(x, y, axis=-1), FLOATS, FLOATS[0])
case("outer", lambda xp, x, y: xp.linalg.outer(x, y), VECTOR, VECTOR[:3])
case("trace", lambda xp, x: xp.linalg.trace(x), STACK)
case("trace-offset", lambda xp, x: xp.linalg.trace(x, offset=1), MATRIX)
case("diagonal", lambda xp, x: xp.linalg.diagonal(x), STACK)
case("diagonal-offset", lambda xp, x: xp.linalg.diagonal(x, offset=-1), MATRIX)
case("solve", lambda xp, a, b: xp.linalg.solve(a, b), SQUARE, MATRIX[:5])
case("solve-vector", lambda xp, a, b: xp.linalg.solve(a, b), SQUARE, VECTOR[:5])
case("solve-stack", lambda xp, a, b: xp.linalg.solve(a, b), STACK, STACK)
case("solve-broadcast", lambda xp, a, b: xp.linalg.solve(a, b), STACK, STACK[0])
case("solve-float32", lambda xp, a, b: xp.linalg.solve(a, b), SQUARE.astype("float32"), MATRIX[:5].astype("float32"))
case("inv", lambda xp, a: xp.linalg.inv(a), SQUARE)
case("inv-float32", lambda xp, a: xp.linalg.inv(a), SQUARE.astype("float32"))
case("inv-stack", lambda xp, a: xp.linalg.inv(a), STACK)
case("det", lambda xp, a: xp.linalg.det(a), STACK)
case("slogdet", lambda xp, a: list(xp.linalg.slogdet(a)), STACK)
case("cholesky", lambda xp, a: xp.linalg.cholesky(a), SPD)
case("cholesky-upper", lambda xp, a: xp.linalg.cholesky(a, upper=True), SPD)
case("cholesky-stack", lambda xp, a: xp.linalg.cholesky(a), STACK @ STACK.transpose(0, 2, 1))
case("svdvals", lambda xp, a: xp.linalg.svdvals(a), MATRIX)
case("matrix_rank", lambda xp, a: xp.linalg.matrix_rank(a), MATRIX[:, [0, 1, 1, 2]])
case("matrix_power", lambda xp, a: xp.linalg.matrix_power(a, 3), SQUARE)
case("matrix_norm", lambda xp, a: xp.linalg.matrix_norm(a), STACK)
case("vector_norm", lambda xp, a: xp.linalg.vector_norm(a, axis=-1), STACK)
case("pinv", lambda xp, a: xp.linalg.pinv(a), MATRIX)
case("eigvalsh", lambda xp, a: xp.linalg.eigvalsh(a), SPD)
case("cross", lambda xp, a, b: xp.linalg.cross(a, b), MATRIX[:, :3], MATRIX[:, 1:4])
for full in (True, False):
    for label, array in (("tall", MATRIX), ("wide", MATRIX.T.copy()), ("stack", STACK)):
        case(f"svd-{label}-full={full}", lambda xp, a, f=full: _recompose_svd(xp, a, f), array)
        case(f"svd-{label}-full={full}-shapes", lambda xp, a, f=full: [
            xp.asarray(list(part.shape)) for part in xp.linalg.svd(a, full_matrices=f)], array)  # fmt: skip
case("qr", lambda xp, a: xp.matmul(*xp.linalg.qr(a)), MATRIX)
case("eigh", lambda xp, a: _recompose_eigh(xp, a), SPD)
case("eigvals", lambda xp, a: xp.sum(xp.linalg.eigvals(a)), SQUARE.astype("complex128"))
case("matrix_power-0", lambda xp, a: xp.linalg.matrix_power(a, 0), STACK)
case("matrix_power-negative", lambda xp, a: xp.linalg.matrix_power(a, -2), STACK)
case("qr-complete", lambda xp, a: xp.matmul(*xp.linalg.qr(a, mode="complete")), MATRIX)
case("svd-float32", lambda xp, a: _recompose_svd(xp, a, False)[:2], MATRIX.astype("float32"))
case("det-float32", lambda xp, a: xp.linalg.det(a), SQUARE.astype("float32"))
case(
    "kron-by-outer",
    lambda xp, x, y: xp.reshape(x[:, None, :, None] * y[None, :, None, :], (6, 6)),
    MATRIX[:3, :2],
    SQUARE[:2, :3],
)

# Fourier transforms
for name in ("fft", "ifft"):
    case(name, lambda xp, x, n=name: getattr(xp.fft, n)(x), MATRIX.astype("complex128"))
    case(f"{name}-narrow", lambda xp, x, n=name: getattr(xp.fft, n)(x, axis=0), MATRIX.astype("complex64"))
    case(f"{name}n", lambda xp, x, n=f"{name}n": getattr(xp.fft, n)(x), MATRIX.astype("complex128"))
    case(f"{name}n-axes", lambda xp, x, n=f"{name}n": getattr(xp.fft, n)(x, axes=(0, 2), norm="ortho"),
         FLOATS.astype("complex128"))  # fmt: skip
case("rfft", lambda xp, x: xp.fft.rfft(x, axis=0), MATRIX)
case("rfft-narrow", lambda xp, x: xp.fft.rfft(x, n=8), FLOATS)
case("irfft", lambda xp, x: xp.fft.irfft(x, n=9), MATRIX.astype("complex128"))
case("rfftn", lambda xp, x: xp.fft.rfftn(x), MATRIX)
case("irfftn", lambda xp, x: xp.fft.irfftn(x, s=(6, 8), axes=(0, 1)), MATRIX.astype("complex128"))
case("hfft", lambda xp, x: xp.fft.hfft(x), MATRIX.astype("complex128"))
case("ihfft", lambda xp, x: xp.fft.ihfft(x), MATRIX)
case("fftfreq", lambda xp: xp.fft.fftfreq(5, d=0.5, dtype=xp.float64))
case("fftshift", lambda xp, x: xp.fft.fftshift(x), MATRIX)


def _recompose_svd(xp: Any, a: Any, full: bool) -> list[Any]:
    u, s, vh = xp.linalg.svd(a, full_matrices=full)
    k = min(a.shape[-2:])
    return [s, xp.matmul(u[..., :, :k] * s[..., None, :], vh[..., :k, :]), xp.matmul(xp.matrix_transpose(u), u)]


def _recompose_eigh(xp: Any, a: Any) -> list[Any]:
    values, vectors = xp.linalg.eigh(a)
    return [values, xp.matmul(vectors * values[None, :], vectors.T)]


# creation, in dtypes that every library has
case("zeros", lambda xp: xp.zeros((2, 3), dtype=xp.float32))
case("ones", lambda xp: xp.ones(4, dtype=xp.int64))
case("full", lambda xp: xp.full((2, 2), 7.5, dtype=xp.float64))
case("full-int", lambda xp: xp.full((2, 2), 7, dtype=xp.int32))
case("zeros-0d", lambda xp: xp.zeros((), dtype=xp.float32))
case("zeros-empty", lambda xp: xp.zeros((0, 2), dtype=xp.float32))
case("eye", lambda xp: xp.eye(4, dtype=xp.float32))
case("eye-rectangle", lambda xp: xp.eye(3, 5, k=1, dtype=xp.float64))
case("eye-tall", lambda xp: xp.eye(5, 3, k=-2, dtype=xp.int32))
case("arange", lambda xp: xp.arange(7, dtype=xp.int32))
case("arange-step", lambda xp: xp.arange(10, 0, -3, dtype=xp.int64))
case("arange-float", lambda xp: xp.arange(0.0, 1.0, 0.25, dtype=xp.float32))
case("arange-empty", lambda xp: xp.arange(3, 1, dtype=xp.int64))
case("linspace", lambda xp: xp.linspace(0.0, 1.0, 7, dtype=xp.float64))
case("linspace-open", lambda xp: xp.linspace(0.0, 1.0, 5, endpoint=False, dtype=xp.float32))
case("linspace-one", lambda xp: xp.linspace(2.0, 3.0, 1, dtype=xp.float64))
case("linspace-last", lambda xp: xp.linspace(0.0, 1.0, 104, dtype=xp.float64) == 1.0)
for name in ("zeros_like", "ones_like"):
    case(name, lambda xp, x, n=name: getattr(xp, n)(x), FLOATS)
    case(f"{name}-dtype", lambda xp, x, n=name: getattr(xp, n)(x, dtype=xp.int32), FLOATS)
case("full_like", lambda xp, x: xp.full_like(x, 3.0), FLOATS)
case("asarray-scalar", lambda xp: xp.asarray(2.5, dtype=xp.float32))
case("asarray-list", lambda xp: xp.asarray([[1, 2], [3, 4]], dtype=xp.int64))


KNOWN = {
    ("torch", "slice-negative"): "PyTorch has no negative steps, and indexing is no function to be mended: use flip",
}


def test_names_are_unique() -> None:
    names = [name for name, _, _ in CASES]
    assert len(names) == len(set(names))


FUNCTIONS: dict[str, list[Case]] = {}
for each in CASES:
    FUNCTIONS.setdefault(each[0].partition("-")[0], []).append(each)


@pytest.mark.parametrize("library", LIBRARIES, indirect=True)
@pytest.mark.parametrize("cases", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_function(library: Library, cases: list[Case]) -> None:
    for name, function, arrays in cases if EVERYWHERE or library.name != "jax" else cases[::3]:  # JAX compiles each
        with (
            told(name),
            pytest.raises(ValueError, match="step must be") if (library.name, name) in KNOWN else nullcontext(),
        ):
            check(function, arrays, library)


def check(function: Callable[..., Any], arrays: tuple[Any, ...], library: Library) -> None:
    with np.errstate(all="ignore"):
        expected = function(reference, *arrays)
        result = library.numpy(function(library.xp, *(library.array(array) for array in arrays)))
    pairs = zip(result, expected, strict=True) if isinstance(expected, list) else [(result, expected)]
    for got, wanted in pairs:
        wanted = np.asarray(wanted)
        assert got.shape == wanted.shape
        assert dtype_name(got) == dtype_name(wanted)
        if wanted.dtype.kind in "fc":
            narrow = wanted.dtype in ("float32", "complex64") or any(
                getattr(a, "dtype", None) == np.float32 for a in arrays
            )
            np.testing.assert_allclose(got, wanted, rtol=1e-5 if narrow else 1e-10, atol=1e-6 if narrow else 1e-12)
        else:
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", ["max", "min"])
def test_dask_extrema_of_no_elements(name: str) -> None:
    da = pytest.importorskip("dask.array")
    xp = get_namespace("dask")
    original = getattr(da, name)(da.zeros((3, 0, 2), chunks=1), axis=0)
    assert original.compute().shape != original.shape  # what is mended
    for shape in ((3, 0, 2), (1, 0, 0)):
        result = getattr(xp, name)(da.zeros(shape, chunks=1, dtype="float32"), axis=0)
        assert result.compute().shape == result.shape == shape[1:]
        assert result.dtype == "float32"
    with pytest.raises(ValueError, match="no elements"):
        getattr(xp, name)(da.zeros((3, 0, 2), chunks=1), axis=1)
