"""Dtypes by name, promotion as NumPy's on every library, and conversion of arrays between libraries."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from nbm_xp import namespace
from nbm_xp.namespace import asarray, convert, dtype_name, dtype_of, kind, promote, promote_types, to_floating, to_numpy
from tests.helpers.known import told
from tests.helpers.libraries import DASK, Library, guard, libraries

LACKING = {("array_api_strict", "float16"): "not in the standard"}


def has(library: Library, *names: str) -> bool:
    """Return whether the library has all these dtypes."""
    return not any((library.name, name) in LACKING for name in names)


def test_names_of_dtypes(library: Library) -> None:
    for name in namespace.DTYPE_NAMES:
        with told(name):
            check_names(library, name)


def check_names(library: Library, name: str) -> None:
    if not has(library, name):
        with pytest.raises(TypeError, match=f"has no dtype '{name}'"):
            dtype_of(library.xp, name)
        return
    dtype = dtype_of(library.xp, name)
    x = library.array(np.ones(2), name)
    assert dtype_name(dtype) == dtype_name(x) == dtype_name(x.dtype) == dtype_name(name) == name
    assert x.dtype == dtype
    assert type(dtype_name(x)) is str
    assert dtype_of(library.xp, dtype) == dtype
    assert dtype_of(library.xp, np.dtype(name)) == dtype
    expected = np.dtype(name).kind
    assert kind(x) == kind(name) == kind(dtype) == expected
    assert namespace.is_floating(x) == (expected == "f")
    assert namespace.is_integer(x) == (expected in "iu")
    assert namespace.is_bool(x) == (expected == "b")
    assert namespace.is_complex(x) == (expected == "c")


def test_names_of_python_and_numpy_types() -> None:
    assert [dtype_name(t) for t in (bool, int, float, complex)] == ["bool", "int64", "float64", "complex128"]
    assert [dtype_name(t) for t in (np.bool_, np.uint8, np.float16)] == ["bool", "uint8", "float16"]
    assert dtype_name(np.float32(1)) == "float32"
    assert dtype_name(np.dtype(">f4")) == "float32"
    assert dtype_name(np.ones(2, dtype=">i8")) == "int64"
    assert dtype_name(np.ones(2, dtype=np.longlong)) == "int64"
    assert [kind(value) for value in (True, 1, 1.0, 1j)] == ["b", "i", "f", "c"]


@pytest.mark.parametrize(
    "wrong", ["beerfloat", "", "float", "float128", "f4", 123, 1.0, None, [1], np.dtype("U3"), object, str, object()]
)
def test_unknown_dtypes(wrong: object) -> None:
    with pytest.raises(TypeError, match="dtype must be one of bool, int8"):
        dtype_name(wrong)
    with pytest.raises(TypeError, match="dtype must be one of"):
        dtype_of(namespace.get_namespace("numpy"), wrong)


def test_promotion_is_numpys() -> None:
    for a, b in itertools.product(namespace.DTYPE_NAMES, repeat=2):
        assert promote_types(a, b) == np.promote_types(a, b).name
    assert promote_types(np.ones(2), "complex64") == "complex128"
    assert promote_types(np.int8, np.dtype("uint8")) == "int16"
    with pytest.raises(TypeError, match="at least one"):
        promote_types()


COMMON = ["bool", "int8", "uint8", "int32", "int64", "float32", "float64", "complex64"]


def test_promote_two_arrays(library: Library) -> None:
    for pair in itertools.combinations_with_replacement(COMMON, 2):
        with told(pair):
            a, b = (library.array(np.ones(2), name) for name in pair)
            promoted = promote(a, b)
            expected = np.promote_types(*pair).name
            assert [dtype_name(x) for x in promoted] == [expected, expected]
            if pair[0] == pair[1]:
                assert promoted[0] is a
                assert promoted[1] is b
            library.numpy(promoted)


@pytest.mark.parametrize(
    ("name", "scalar", "expected"),
    [
        ("float32", 1, "float32"), ("float32", 1.5, "float32"), ("float32", True, "float32"), ("int8", 1, "int8"),
        ("int8", 1.5, "float32"), ("int16", 1.5, "float32"), ("int32", 1.5, "float64"), ("int64", 1.5, "float64"),
        ("uint8", 1.5, "float32"), ("bool", 1.5, "float32"), ("bool", 1, "int64"), ("bool", True, "bool"),
        ("int32", 1j, "complex128"), ("float32", 1j, "complex64"), ("float64", 1j, "complex128"),
        ("complex64", 1.5, "complex64"), ("float32", None, "float32"), ("uint8", False, "uint8"),
    ],
)  # fmt: skip
def test_scalars_are_weak(library: Library, name: str, scalar: Any, expected: str) -> None:
    x = library.array(np.ones(2), name)
    for promoted in (promote(x, scalar), tuple(reversed(promote(scalar, x))), promote(x, scalar, None)):
        assert dtype_name(promoted[0]) == expected
        assert promoted[1] == scalar
        if name == expected:
            assert promoted[0] is x
    if isinstance(scalar, bool) and expected != "bool":
        assert type(promote(x, scalar)[1]) is int
    if scalar is not None and expected != "bool":
        assert dtype_name(promote(x, scalar)[0] * promote(x, scalar)[1]) == expected


def test_promote_many() -> None:
    arrays = [np.ones(2, dtype=name) for name in ("bool", "int8", "float32")]
    assert {x.dtype for x in promote(*arrays, 2, None)[:3]} == {np.dtype("float32")}
    assert promote(1, 2.0) == (1, 2.0)
    assert promote() == ()
    assert promote(None) == (None,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bool", "float32"), ("int8", "float32"), ("uint8", "float32"), ("int16", "float32"), ("uint16", "float32"),
     ("int32", "float64"), ("uint32", "float64"), ("int64", "float64"), ("uint64", "float64"), ("float16", "float16"),
     ("float32", "float32"), ("float64", "float64"), ("complex64", "complex64")],
)  # fmt: skip
def test_to_floating(library: Library, name: str, expected: str) -> None:
    if not has(library, name):
        pytest.skip(f"{library.name} has no {name}: {LACKING[library.name, name]}")
    x = library.array(np.asarray([0, 1]), name)
    result = to_floating(x)
    assert dtype_name(result) == expected
    assert (result is x) == (name == expected)
    np.testing.assert_array_equal(library.numpy(result), [0, 1])


def test_to_floating_of_python() -> None:
    assert to_floating(3) == 3.0
    assert type(to_floating(True)) is float
    assert to_floating(2.5) == 2.5
    assert to_floating(1j) == 1j
    for wrong in ("x", None, [1]):
        with pytest.raises(TypeError, match="dtype must be one of"):
            to_floating(wrong)


def test_from_and_to_numpy(library: Library) -> None:
    for value in (np.arange(6.0).reshape(2, 3), np.asarray(2), np.zeros((0, 3), "float32"), np.arange(6)[::-2]):
        x = asarray(value, library.xp)
        assert namespace.library_name(x) == library.name
        assert dtype_name(x) == dtype_name(value)
        result = to_numpy(x.compute(scheduler="sync") if library.lazy else x)
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, value)
    for value in (np.float32(1.5), np.asfortranarray(np.ones((2, 3))), np.ones(3, dtype=">f4")):
        np.testing.assert_array_equal(library.numpy(asarray(value, library.xp)), value)


def test_asarray_of_python(library: Library) -> None:
    def make(value: Any, dtype: Any = None) -> Any:
        return asarray(value, library.xp, dtype)

    for value, name in ((1.5, "float64"), (3, "int64"), (True, "bool"), ([1, 2.5], "float64"), ([[1], [2]], "int64")):
        x = make(value)
        assert dtype_name(x) == name
        np.testing.assert_array_equal(library.numpy(x), value)
        assert dtype_name(make(value, "float32")) == "float32"
    for value in ("text", [object()], [[1], [2, 3]]):
        with pytest.raises((TypeError, ValueError)):
            make(value)


def test_asarray_copies_from_the_host(library: Library) -> None:
    if library.name == "numpy":
        pytest.skip("the same library")
    for value in (np.zeros(64), np.zeros(3, dtype="float32")):
        x = asarray(value, library.xp)
        value[0] = 7
        value.flags.writeable = False
        assert library.numpy(x)[0] == 0
        np.testing.assert_array_equal(library.numpy(asarray(value, library.xp)), value)


def test_same_library(library: Library) -> None:
    x = library.array(np.ones(2))
    assert convert(x, library.xp) is x
    assert asarray(x, library.xp) is x
    assert asarray(x, library.xp, "float64") is x
    assert dtype_name(asarray(x, library.xp, "int32")) == "int32"
    assert namespace.library_name(convert(np.ones(2), library.xp)) == library.name


@pytest.mark.parametrize("library", libraries(without=("numpy",)))
def test_nothing_leaves_a_library_implicitly(library: Library) -> None:
    x = library.array(np.ones(2))
    other = "array_api_strict" if library.name != "array_api_strict" else "dask"
    with guard():
        for move in (convert, asarray):
            with pytest.raises(TypeError, match=rf"array of {library.name} .* to_numpy\(x\)"):
                move(x, namespace.get_namespace("numpy"))
            with pytest.raises(TypeError, match=rf"asarray\(to_numpy\(x\), get_namespace\('{other}'\)\)"):
                move(x, namespace.get_namespace(other))


def test_to_numpy_copies_on_request() -> None:
    x = np.ones(2)
    assert to_numpy(x) is x
    assert not np.shares_memory(to_numpy(x, copy=True), x)
    np.testing.assert_array_equal(to_numpy([1, 2]), [1, 2])
    assert to_numpy(np.float32(2)).shape == ()
    for wrong in ("text", None, object()):
        with pytest.raises(TypeError, match="expected an array"):
            to_numpy(wrong)


def test_to_numpy_does_not_take_registered_types() -> None:
    class Recorded:
        def __array__(self) -> Any:
            return np.ones(2)

    namespace.register_array_type(Recorded, np, absorbing=True)
    with pytest.raises(TypeError, match="expected an array"):
        to_numpy(Recorded())


@pytest.mark.parametrize("library", libraries("torch"))
def test_torch_with_gradients_and_lazy_conjugates(library: Library) -> None:
    import torch

    np.testing.assert_array_equal(to_numpy(torch.ones(2, requires_grad=True)), [1, 1])
    np.testing.assert_array_equal(to_numpy(torch.tensor([1j]).conj()), [-1j])
    np.testing.assert_array_equal(to_numpy(torch.tensor([1j]).conj().imag), [-1])


@pytest.mark.parametrize("library", DASK)
def test_dask_is_computed_by_to_numpy_alone(library: Library) -> None:
    x = library.array(np.arange(5.0))
    with guard(), pytest.raises(AssertionError, match="hidden computation"):
        to_numpy(x)


def test_devices(library: Library) -> None:
    x = library.array(np.ones(2))
    assert namespace.device_of(x) is not None
    y = library.xp.zeros(3, device=namespace.device_argument(x))
    assert namespace.device_of(y) == namespace.device_of(x)


@pytest.mark.parametrize("library", libraries("jax"))
def test_jax_without_wide_types_narrows_nothing_in_silence(library: Library) -> None:
    import jax

    xp = library.xp
    with jax.enable_x64(False):
        x = asarray([1.0, 2.0], xp)
        assert dtype_name(x) == "float32"
        assert dtype_name(asarray([1, 2], xp)) == "int32"
        small = asarray(np.ones(2, dtype="int32"), xp)
        for attempt in (
            lambda: asarray(np.ones(2), xp), lambda: asarray([1.0], xp, "float64"),
            lambda: convert(np.ones(2, dtype="int64"), xp), lambda: xp.astype(x, dtype_of(xp, "float64")),
            lambda: xp.astype(x, dtype=xp.float64), lambda: xp.zeros(3, dtype=xp.float64),
            lambda: xp.full((2,), 1, dtype="int64"), lambda: xp.full((2,), 1, np.int64),
            lambda: xp.sum(x, dtype=xp.float64), lambda: xp.asarray(np.ones(2)), lambda: to_floating(small),
            lambda: promote(small, 0.5),
        ):  # fmt: skip
            with pytest.raises(TypeError, match="64-bit types are off"):
                attempt()
        with namespace.wide_dtypes(xp):
            wide = xp.asarray(2**40, dtype=xp.int64) * 3
        assert dtype_name(wide) == "int64"
        assert int(wide) == 3 * 2**40
        assert dtype_name(xp.zeros(3, dtype=xp.float32)) == "float32"
        assert dtype_name(xp.ones_like(x)) == "float32"


def test_wide_dtypes_elsewhere(library: Library) -> None:
    with namespace.wide_dtypes(library.xp):
        x = library.array(np.asarray([2**40]))
        assert int(library.numpy(x * 3)[0]) == 3 * 2**40
