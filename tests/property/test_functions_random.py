"""Random shapes, dtypes, axes and broadcasts: the documented functions answer as NumPy does, on every library.

Empty axes are among the shapes, all common dtypes among the dtypes. Warnings are errors, hidden computations of lazy
arrays are errors, inputs are left as they were.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nbm_xp import natural_bm as B
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.at_night("jax")

DTYPES = st.sampled_from(["float32", "float64", "int8", "int32", "int64", "uint8", "bool"])
SOME = libraries("numpy-readonly", "array_api_strict", "dask-ragged", "torch", "jax", "cupy")
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)

NumPy = Callable[..., Any]


def numbers(dtype: str, low: int = -3, high: int = 4) -> st.SearchStrategy[Any]:
    if dtype == "bool":
        return st.booleans()
    if dtype.startswith("float"):
        return st.integers(8 * low, 8 * high).map(lambda n: n / 8)
    return st.integers(0 if dtype == "uint8" else low, high)


@st.composite
def arrays(draw: st.DrawFn, shapes: st.SearchStrategy[tuple[int, ...]] = SHAPES) -> np.ndarray:
    dtype = draw(DTYPES)
    return draw(hnp.arrays(dtype, draw(shapes), elements=numbers(dtype)))


@st.composite
def with_axis(draw: st.DrawFn) -> tuple[np.ndarray, Any]:
    x = draw(arrays())
    one = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()
    several = st.lists(st.integers(0, x.ndim - 1), min_size=1, unique=True) if x.ndim else st.none()
    return x, draw(st.none() | one | several)


def hold(library: Library, got: Any, want: Any, rtol: float = 2e-6) -> None:
    result = library.numpy(got)
    want = np.asarray(want)
    assert str(result.dtype) == str(want.dtype) or (library.name, str(want.dtype)) == ("torch", "uint64")
    assert result.shape == want.shape
    np.testing.assert_allclose(result, want, rtol=rtol, atol=1e-6)


def as_floats(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind == "f" else x.astype(np.result_type(x.dtype, "float32"))


ONE: dict[str, NumPy] = {
    "abs": np.abs, "exp": lambda x: np.exp(as_floats(x)), "sin": lambda x: np.sin(as_floats(x)),
    "cos": lambda x: np.cos(as_floats(x)), "sqrt": lambda x: np.sqrt(np.maximum(as_floats(x), 0)),
    "square": lambda x: x if x.dtype == bool else np.square(x), "sign": lambda x: x if x.dtype == bool else np.sign(x),
    "round": lambda x: x if x.dtype == bool else np.round(x), "flatten": np.ravel, "transpose": np.transpose,
    "zeros_like": np.zeros_like, "ones_like": np.ones_like,
    "sigmoid": lambda x: (1 / (1 + np.exp(-as_floats(x).astype(float)))).astype(as_floats(x).dtype),
}  # fmt: skip


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(x=arrays(), name=st.sampled_from(sorted(ONE)))
def test_one_array(library: Library, x: np.ndarray, name: str) -> None:
    hold(library, getattr(B, name)(library.array(x)), ONE[name](x))


TWO = ("maximum", "minimum", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal")


@st.composite
def broadcastable(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3))
    x, y = (draw(arrays(st.just(shape))) for shape in shapes.input_shapes)
    return x, y


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(pair=broadcastable(), name=st.sampled_from(TWO))
def test_two_arrays(library: Library, pair: tuple[np.ndarray, np.ndarray], name: str) -> None:
    x, y = pair
    assume(name in ("equal", "not_equal") or not x.dtype == y.dtype == bool)  # the standard does not order truth values
    hold(library, getattr(B, name)(library.array(x), library.array(y)), getattr(np, name)(x, y))


REDUCTIONS = ("sum", "prod", "any", "all", "max", "min")


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(given_axis=with_axis(), keepdims=st.booleans(), name=st.sampled_from(REDUCTIONS))
def test_reductions(library: Library, given_axis: tuple[np.ndarray, Any], keepdims: bool, name: str) -> None:
    x, axis = given_axis
    plain = tuple(axis) if isinstance(axis, list) else axis
    if name in ("max", "min") and 0 in (x.shape if plain is None else np.asarray(x.shape)[[*np.atleast_1d(plain)]]):
        with pytest.raises((ValueError, RuntimeError, IndexError)):
            library.numpy(getattr(B, name)(library.array(x)))
        return
    want = getattr(np, name)(x, axis=plain, keepdims=keepdims)
    hold(library, getattr(B, name)(library.array(x), axis, keepdims), want)


@pytest.mark.parametrize("library", SOME, indirect=True)
@given(given_axis=with_axis(), keepdims=st.booleans())
def test_averages(library: Library, given_axis: tuple[np.ndarray, Any], keepdims: bool) -> None:
    x, axis = given_axis
    plain = tuple(axis) if isinstance(axis, list) else axis
    wide = x.astype("float64")
    with warnings.catch_warnings(action="ignore"):
        mean, var = (f(wide, axis=plain, keepdims=keepdims) for f in (np.mean, np.var))
    array = library.array(x)
    kind = x.dtype if x.dtype.kind == "f" else "float32"
    hold(library, B.mean(array, axis, keepdims), np.asarray(mean).astype(kind))
    kind = x.dtype if x.dtype.kind == "f" else "float64"
    hold(library, B.var(array, axis, keepdims), np.asarray(var).astype(kind), rtol=2e-5)
    hold(library, B.std(array, axis, keepdims), np.sqrt(np.asarray(var)).astype(kind), rtol=2e-5)
