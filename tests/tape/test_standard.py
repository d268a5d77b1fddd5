"""The tape's namespace follows the array API standard: names, signatures, version, and errors while recording."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import array_api_compat
import array_api_strict
import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.tape import Tensor, Variable, evaluate, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables.case import attribute

STRICT_ONLY = {"ArrayAPIStrictFlags", "Device", "ModuleType"}  # of array_api_strict itself
STRICT_ONLY |= {f"{verb}_array_api_strict_flags" for verb in ("get", "reset", "set")}


def pairs(theirs: ModuleType, ours: Any, prefix: str) -> list[Any]:
    names = [n for n in dir(theirs) if not n.startswith("_") and n not in STRICT_ONLY and n not in ("linalg", "fft")]
    public = getattr(theirs, "__all__", names)
    return [pytest.param(getattr(theirs, n), ours, n, id=prefix + n) for n in names if n in public or not prefix]


NAMES = [
    *pairs(array_api_strict, xp, ""),
    *pairs(array_api_strict.linalg, xp.linalg, "linalg."),
    *pairs(array_api_strict.fft, getattr(xp, "fft", None), "fft."),
]
UNDEFINED = inspect.signature(array_api_strict.from_dlpack).parameters["copy"].default
"""Default of array_api_strict where the standard has None."""


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, None if p.default is UNDEFINED else p.default) for p in found]


@pytest.mark.parametrize(("theirs", "namespace", "name"), NAMES)
def test_name_and_signature(theirs: Any, namespace: Any, name: str) -> None:
    ours = getattr(namespace, name)
    if inspect.isfunction(theirs):
        assert parameters(ours) == parameters(theirs)
    assert name in namespace.__all__


class _Empty:
    """Attributes of every class, which depend on the release of Python."""


METHODS = [
    name
    for name in dir(type(array_api_strict.ones(2)))
    if name not in dir(_Empty) and (not name.startswith("_") or name.startswith("__"))
]


NOT_OF_ARRAYS = {"__annotations__", "__buffer__", "__slots__"}
REBINDING = {name for name in METHODS if name.startswith("__i") and f"__{name[3:]}" in METHODS}
"""Without these methods, Python evaluates ``x += y`` as ``x = x + y``."""


@pytest.mark.parametrize("name", sorted(set(METHODS) - NOT_OF_ARRAYS - REBINDING))
def test_a_tensor_has_what_an_array_has(name: str) -> None:
    theirs, ours = getattr(type(array_api_strict.ones(2)), name), getattr(Tensor, name)
    if not inspect.isfunction(theirs):
        assert isinstance(ours, property)
    elif name in ("__dlpack__", "__array_namespace__"):
        assert parameters(ours) == parameters(theirs)
    elif name == "to_device":  # stream is keyword-only in the standard, unlike in array_api_strict
        assert [p[0] for p in parameters(ours)] == [p[0] for p in parameters(theirs)]


def test_constants() -> None:
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (np.e, np.pi, np.inf, None)
    assert xp.nan != xp.nan


RESULTS = {
    "linalg.eigh": ("eigenvalues", "eigenvectors"), "linalg.eig": ("eigenvalues", "eigenvectors"),
    "linalg.qr": ("Q", "R"), "linalg.slogdet": ("sign", "logabsdet"), "linalg.svd": ("U", "S", "Vh"),
    "unique_all": ("values", "indices", "inverse_indices", "counts"), "unique_counts": ("values", "counts"),
    "unique_inverse": ("values", "inverse_indices"),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_names(name: str) -> None:
    assert attribute(xp, name)(Variable(np.eye(2)))._fields == RESULTS[name]


class TestNamespace:
    def test_version(self) -> None:
        x = placeholder((2,))
        for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", xp.__array_api_version__):
            assert x.__array_namespace__(api_version=version) is xp
        with pytest.raises(ValueError, match="1812"):
            x.__array_namespace__(api_version="1812.12")

    def test_found_by_array_api_compat(self) -> None:
        x = placeholder((2,))
        assert array_api_compat.is_array_api_obj(x)
        assert array_api_compat.array_namespace(x) is xp
        assert array_api_compat.device(x) == "recorded"
        assert array_api_compat.to_device(x, "recorded") is x
        assert array_api_compat.size(x) == 2

    def test_what_it_can_do_depends_on_the_library(self) -> None:
        info = xp.__array_namespace_info__()
        assert info.capabilities()["boolean indexing"] is info.capabilities()["data-dependent shapes"] is True
        with use_backend("dask"):
            assert info.capabilities()["boolean indexing"] is info.capabilities()["data-dependent shapes"] is False

    def test_dtypes_of_several_kinds(self) -> None:
        info = xp.__array_namespace_info__()
        assert set(info.dtypes(kind=("unsigned integer", "bool"))) == {"bool", "uint8", "uint16", "uint32", "uint64"}
        assert (info.dtypes(kind=()), len(info.dtypes())) == ({}, 13)
        assert info.default_dtypes()["real floating"] == "float32"
        assert info.devices() == (info.default_device(),)
        for wrong in ("kind", "device"):
            with pytest.raises(ValueError, match=wrong):
                info.dtypes(**{wrong: "beer"})


class TestLimits:
    @pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
    def test_of_floating_dtypes(self, name: str) -> None:
        found, wanted = xp.finfo(getattr(xp, name)), np.finfo(name)
        assert found.dtype == getattr(xp, str(wanted.dtype))
        assert found.bits == wanted.bits
        for key in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(found, key)) is float
            assert getattr(found, key) == getattr(wanted, key)

    @pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
    def test_of_integer_dtypes(self, name: str) -> None:
        found, wanted = xp.iinfo(Variable(np.ones(2, dtype=name))), np.iinfo(name)
        assert (found.bits, found.min, found.max) == (wanted.bits, wanted.min, wanted.max)
        assert found.dtype == getattr(xp, name)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("scalar", [True, 2, 2.5, 2j])
def test_result_type_is_that_of_the_operation(dtype: str, scalar: Any) -> None:
    x = placeholder((2,), dtype=dtype)
    expected = str((x * scalar).dtype)
    assert xp.result_type(x, scalar) == xp.result_type(scalar, dtype) == xp.where(x != 0, x, scalar).dtype == expected


def test_shapes_broadcast_to() -> None:
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert xp.broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_shapes((2,), (3,))
    n = placeholder((None, 1)).shape[0]
    assert xp.broadcast_shapes((n, 1), (3,)) == (n, 3)


class TestCreation:
    @pytest.mark.parametrize(
        ("value", "dtype"),
        [
            ([1, 2], "int64"), ([True], "bool"), ([1, 2.0], "float32"), ([[1j]], "complex64"), ([], "float32"),
            ([[], []], "float32"), ([True, 2], "int64"), ([[], [1]], "int64"), (2, "int64"), (1j, "complex64"),
        ],
    )  # fmt: skip
    def test_of_lists_the_default_dtypes(self, value: Any, dtype: str) -> None:
        if value == [[], [1]]:
            with pytest.raises(ValueError, match="inhomogeneous"):
                xp.asarray(value)
            return
        assert xp.asarray(value).dtype == dtype
        assert evaluate(xp.asarray(value)).dtype == dtype

    def test_the_same_array_is_given_back(self) -> None:
        x = Variable(np.ones(2)) + 0.0  # asarray of a variable itself returns a new, writable Tensor
        assert xp.asarray(x) is x
        assert xp.asarray(x, copy=False) is x
        assert xp.from_dlpack(x) is x
        assert xp.asarray(x, dtype="float64") is x
        assert xp.astype(x, "float64", copy=False) is x
        assert xp.astype(x, "float64") is not x

    def test_counts_of_floating_ranges_are_those_of_numpy(self) -> None:
        for start, stop, step in [(0.0, 1.0, 0.1), (0.3, 0.6, 0.1), (1.0, -1.0, -0.3), (0, 2.5, 1), (5.0, 1.0, 1.0)]:
            assert xp.arange(start, stop, step).shape == np.arange(start, stop, step).shape


class TestExchange:
    def test_to_other_libraries(self) -> None:
        x = Variable(np.asarray([1.0, 2.0])) * 2.0
        np.testing.assert_array_equal(np.from_dlpack(x), [2.0, 4.0])
        assert x.__dlpack_device__() == np.ones(2).__dlpack_device__()
        np.testing.assert_array_equal(np.from_dlpack(x, copy=True), [2.0, 4.0])

    @pytest.mark.parametrize("library", libraries("numpy", "torch", "array_api_strict", "jax"), indirect=True)
    def test_from_other_libraries(self, library: Library) -> None:
        array = library.array(np.asarray([1.0, 2.0]))
        x = xp.from_dlpack(array)
        np.testing.assert_array_equal(library.numpy(evaluate(x * 2.0)), [2.0, 4.0])

    def test_from_anything_that_speaks_dlpack(self) -> None:
        class Other:
            def __init__(self) -> None:
                self.array = np.asarray([1.0, 2.0])

            def __dlpack__(self, **options: Any) -> Any:
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self) -> Any:
                return self.array.__dlpack_device__()

        for x in (xp.from_dlpack(Other()), xp.asarray(Other())):
            np.testing.assert_array_equal(evaluate(x), [1.0, 2.0])

    @pytest.mark.parametrize("library", libraries("dask-one"), indirect=True)
    def test_what_has_no_dlpack(self, library: Library) -> None:
        with pytest.raises(BufferError, match="DLPack"):
            Variable(library.array(np.ones(2))).__dlpack__()


class TestScalars:
    def test_nan_is_not_itself(self) -> None:
        x = xp.asarray(xp.nan)
        assert bool(x != x) and not bool(x == x)

    def test_complex_numbers_are_no_floats(self) -> None:
        x = xp.asarray(2j)
        assert complex(x) == 2j
        for convert in (float, int):
            with pytest.raises(TypeError):
                convert(x)

    def test_attributes_of_ones_own(self) -> None:
        for x in (placeholder((2,)), Variable(1.0)):
            x._keras_shape = (None, 2)
            assert x._keras_shape == (None, 2)


@pytest.mark.parametrize("number", [np.int64(3), np.asarray(3), np.prod((3, 1)), np.uint8(3)])
def test_arange_takes_an_arrays_number(number: Any) -> None:
    """The product of a shape is a NumPy scalar."""
    for made in (xp.arange(number), xp.arange(0, number, np.int32(1))):
        assert made.shape == (3,) and made.dtype == "int64"
        assert evaluate(made).tolist() == [0, 1, 2]
    assert evaluate(xp.arange(np.float32(1.5))).tolist() == [0.0, 1.0]
    with pytest.raises(TypeError):
        xp.arange(np.arange(3))


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
    "outer": (lambda: xp.linalg.outer(A, V), ValueError, "outer needs vectors"),
    "solve": (lambda: xp.linalg.solve(A, V), ValueError, "square"),
    "solve of other rows": (lambda: xp.linalg.solve(xp.eye(3), V), ValueError, "as many rows"),
    "inv": (lambda: xp.linalg.inv(A), ValueError, "inv needs square matrices"),
    "det": (lambda: xp.linalg.det(V), ValueError, "det needs square matrices"),
    "cholesky": (lambda: xp.linalg.cholesky(A), ValueError, "square"),
    "matrix_power": (lambda: xp.linalg.matrix_power(A, 2), ValueError, "square matrices"),
    "svd": (lambda: xp.linalg.svd(V), ValueError, "svd needs matrices"),
    "qr": (lambda: xp.linalg.qr(A, mode="raw"), ValueError, "mode must be"),
    "diagonal": (lambda: xp.linalg.diagonal(V), ValueError, "diagonal needs matrices"),
    "matrix_norm": (lambda: xp.linalg.matrix_norm(A, ord=3), ValueError, "ord must be"),
    "matrix_norm of a vector": (lambda: xp.linalg.matrix_norm(V), ValueError, "matrix_norm needs matrices"),
    "cross": (lambda: xp.linalg.cross(V, V), ValueError, "length 3"),
    "vecdot": (lambda: xp.linalg.vecdot(A, A[:, :1]), ValueError, "one length along axis -1"),
    "tensordot over too many": (lambda: xp.tensordot(A, A, axes=3), ValueError, "axes must be from 0 to 2"),
    "tensordot over one twice": (lambda: xp.tensordot(A, A, axes=([0, 0], [0, 0])), ValueError, "each axis once"),
    "fft of nothing": (lambda: xp.fft.fft(xp.ones(0)), ValueError, "at least 1 element"),
    "fft by another norm": (lambda: xp.fft.fft(V, norm="none"), ValueError, "norm must be"),
    "fftn along one twice": (lambda: xp.fft.fftn(A, axes=(0, 0)), ValueError, "each axis once"),
    "fftn of fewer lengths": (lambda: xp.fft.fftn(A, s=(1,), axes=(0, 1)), ValueError, "as long as each other"),
    "fftfreq of nothing": (lambda: xp.fft.fftfreq(0), ValueError, "at least 1 element"),
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
