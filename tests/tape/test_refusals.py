"""What the functions of the namespace refuse while recording, and that the message says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, placeholder
from nbm_xp.tape import namespace as xp

A, B = placeholder((2, 3), dtype="float64"), placeholder((4, 5), dtype="float64")
V = Variable(np.ones(4))
INTEGERS = Variable(np.asarray([0, 1]), dtype="int64")
TRUTH = A > 0
UNKNOWN = placeholder((None, 3), name="x")

REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "broadcast": (lambda: A + B, ValueError, r"\(2, 3\) and \(4, 5\)"),
    "broadcast of an unknown length": (lambda: UNKNOWN + B, ValueError, r"\(\?, 3\) and \(4, 5\)"),
    "broadcast_to": (lambda: xp.broadcast_to(A, (2, 4)), ValueError, "broadcast"),
    "broadcast_to fewer axes": (lambda: xp.broadcast_to(A, (3,)), ValueError, "at least 2 axes"),
    "reshape": (lambda: xp.reshape(A, (4, 2)), ValueError, r"\(2, 3\) to \(4, 2\)"),
    "reshape by parts": (lambda: xp.reshape(A, (4, -1)), ValueError, r"\(2, 3\) to \(4, -1\)"),
    "reshape twice open": (lambda: xp.reshape(A, (-1, -1)), ValueError, "once"),
    "reshape of nothing": (lambda: xp.reshape(xp.ones((0, 3)), (0, -1)), ValueError, "open"),
    "reshape negative": (lambda: xp.reshape(A, (-2, -3)), ValueError, "negative"),
    "reshape by floats": (lambda: xp.reshape(A, (2.0, 3)), TypeError, "integers"),
    "reshape by an array": (lambda: xp.reshape(A, (V,)), TypeError, "without axes"),
    "matmul": (lambda: A @ B, ValueError, r"\(2, 3\) and \(4, 5\)"),
    "matmul of variables": (lambda: Variable(np.ones((2, 3))) @ V, ValueError, r"\(2, 3\) and \(4\)"),
    "matmul of a scalar": (lambda: xp.matmul(A, 2.0), ValueError, "one axis"),
    "tensordot": (lambda: xp.tensordot(A, B, axes=1), ValueError, r"\(2, 3\) and \(4, 5\)"),
    "tensordot of unequal axes": (lambda: xp.tensordot(A, B, axes=((0, 1), (0,))), ValueError, "as many"),
    "outer": (lambda: xp.linalg.outer(A, V), ValueError, "vectors"),
    "solve": (lambda: xp.linalg.solve(A, V), ValueError, "square"),
    "solve of other rows": (lambda: xp.linalg.solve(xp.eye(3), V), ValueError, "rows"),
    "inv": (lambda: xp.linalg.inv(A), ValueError, "square"),
    "cholesky": (lambda: xp.linalg.cholesky(A), ValueError, "square"),
    "svd": (lambda: xp.linalg.svd(V), ValueError, "matrices"),
    "diagonal": (lambda: xp.linalg.diagonal(V), ValueError, "matrices"),
    "concat": (lambda: xp.concat([A, B]), ValueError, r"axis 1.*\(2, 3\) and \(4, 5\)"),
    "concat of other axes": (lambda: xp.concat([A, V]), ValueError, "as many axes"),
    "concat of none": (lambda: xp.concat([]), ValueError, "at least one"),
    "stack": (lambda: xp.stack([A, B]), ValueError, "equal lengths"),
    "stack of none": (lambda: xp.stack([]), ValueError, "at least one"),
    "squeeze": (lambda: xp.squeeze(A, axis=0), ValueError, "axis 0 has length 2"),
    "permute_dims": (lambda: xp.permute_dims(A, (0, 0)), ValueError, "once"),
    "moveaxis": (lambda: xp.moveaxis(A, (0, 1), 0), ValueError, "as many"),
    "matrix_transpose": (lambda: xp.matrix_transpose(V), ValueError, "two axes"),
    "repeat by too few counts": (lambda: xp.repeat(V, INTEGERS), ValueError, "each of 4 elements, got 2"),
    "repeat by floats": (lambda: xp.repeat(V, V), TypeError, "integers"),
    "repeat by a matrix": (lambda: xp.repeat(V, xp.ones((2, 2), dtype="int64")), ValueError, "one axis"),
    "repeat by negative counts": (lambda: xp.repeat(V, xp.asarray([1, -1, 0, 2])), ValueError, "0 or more"),
    "repeat by a negative number": (lambda: xp.repeat(V, -1), ValueError, "negative"),
    "tril": (lambda: xp.tril(V), ValueError, "two axes"),
    "roll of several": (lambda: xp.roll(A, (1, 2)), ValueError, "as many"),
    "roll of unequal many": (lambda: xp.roll(A, (1, 2, 3), axis=(0, 1)), ValueError, "as many"),
    "take_along_axis": (lambda: xp.take_along_axis(A, INTEGERS), ValueError, "indices must have 2 axes"),
    "take_along_axis by floats": (lambda: xp.take_along_axis(A, A), TypeError, "integers"),
    "nonzero of no axes": (lambda: xp.nonzero(xp.asarray(1.0)), ValueError, "one axis"),
    "searchsorted in a matrix": (lambda: xp.searchsorted(A, V), ValueError, "one axis"),
    "astype of complex numbers": (lambda: xp.astype(xp.ones(2, dtype="complex64"), "float32"), TypeError, "real, imag"),
    "asarray without a copy": (lambda: xp.asarray([1.0], copy=False), ValueError, "copy=False"),
    "asarray of another dtype without a copy": (lambda: xp.asarray(V, dtype="int8", copy=False), ValueError, "copy"),
    "asarray of what is too large": (lambda: xp.asarray(300, dtype="uint8"), OverflowError, "0 to 255"),
    "asarray of text": (lambda: xp.asarray(["a"]), TypeError, "str"),
    "diff of a negative order": (lambda: xp.diff(V, n=-1), ValueError, "0 or more"),
    "an axis that is no integer": (lambda: xp.sum(A, axis=1.0), TypeError, "integer"),
    "finfo of integers": (lambda: xp.finfo("int8"), TypeError, "floating"),
    "iinfo of a number": (lambda: xp.iinfo(3), TypeError, "dtype or an array"),
    "isdtype of nested kinds": (lambda: xp.isdtype("int8", (("bool",),)), TypeError, "tuple"),
    "unstack of unknown length": (lambda: xp.unstack(UNKNOWN), TypeError, "x"),
    "sum over no such axis": (lambda: xp.sum(A, axis=2), ValueError, "axis must be from -2 to 1"),
    "sum over an axis twice": (lambda: xp.sum(A, axis=(0, -2)), ValueError, "once"),
    "expand_dims": (lambda: xp.expand_dims(A, axis=4), ValueError, "axis"),
    "cumulative_sum": (lambda: xp.cumulative_sum(A), ValueError, "axis must be given"),
    "cumulative_prod": (lambda: xp.cumulative_prod(A, axis=5), ValueError, "axis"),
    "take": (lambda: xp.take(A, INTEGERS), ValueError, "axis must be given"),
    "take of floats": (lambda: xp.take(V, V), IndexError, "integers"),
    "too many indices": (lambda: A[0, 0, 0], IndexError, "3 axes"),
    "index out of bounds": (lambda: xp.ones((2, 3))[2], IndexError, "out of bounds"),
    "two ellipses": (lambda: A[..., 0, ...], IndexError, "ellipsis"),
    "index by an unknown mask": (lambda: A[TRUTH], ValueError, "mask.*depends on data.*input"),
    "index by another mask": (lambda: A[xp.asarray([True, False, True])], IndexError, "got 3 for axis 0 of 2"),
    "index by a float": (lambda: A[1.0], IndexError, "integers"),
    "index by floats": (lambda: A[V], IndexError, "float64"),
    "searchsorted": (lambda: xp.searchsorted(V, V, side="middle"), ValueError, "side"),
    "meshgrid": (lambda: xp.meshgrid(V, V, indexing="yx"), ValueError, "indexing"),
    "zeros of a negative length": (lambda: xp.zeros((2, -1)), ValueError, "negative"),
    "eye of a float": (lambda: xp.eye(2.5), TypeError, "integers"),
    "device": (lambda: xp.zeros(2, device="gpu"), ValueError, "device"),
    "dtype": (lambda: xp.astype(A, "beerfloat"), TypeError, "beerfloat"),
    "length of a float Tensor": (lambda: xp.zeros((xp.sum(A),)), TypeError, "integer Tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_while_recording(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()
