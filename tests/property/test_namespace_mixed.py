"""NumPy's arrays, numbers and lists beside lazy arrays: taken as the lazy library takes them, nothing computed.

Every documented function with several arrays is called with one of them lazy and the others NumPy's, and the other way
round; a device's arrays beside the host's stay an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import array_namespace, get_namespace, to_numpy, use_backend
from nbm_xp.rng import Generator
from nbm_xp.tape import Variable, evaluate, function, placeholder, value_and_grad
from tests.golden.calls import OF_ARRAYS, Call, first_of_each
from tests.helpers.gradcheck import flat_list
from tests.helpers.libraries import Library, computing, guard, libraries
from tests.helpers.tables import CASES, Case
from tests.helpers.unregistered import Unregistered, asked, met, unregistered_libraries

pytestmark = pytest.mark.filterwarnings("ignore:numpy.core:DeprecationWarning")  # cubed's moveaxis imports from there

SEVERAL = first_of_each(call for call in OF_ARRAYS if len(call.arrays) > 1)
SEVERAL_OF_STANDARD = list(
    {c.function: c for c in CASES if len(c.arrays) > 1 and c.function not in ("getitem", "setitem")}.values()
)
OF_ONE_ARRAY = ("in_test_phase", "in_train_phase", "reshape")
"""Functions of whose arrays only one has a say in some cases: without the lazy one the answer is NumPy's."""
_COMPUTES = "cubed computes the places that it takes from"
KNOWN: list[tuple[str, str, str]] = [
    ("cubed", "test_functions-*-solve/*", "cubed has no linalg.solve"),
    ("cubed", "test_functions-*-gather/*", _COMPUTES),
    ("cubed", "test_functions-*-sparse_categorical*", "cubed has no take_along_axis"),
    ("cubed", "test_functions-*-ctc_batch_cost/*", "cubed has no take_along_axis"),
]


@pytest.fixture(params=[*libraries("dask-halves"), *unregistered_libraries("cubed")])
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Each lazy library, under the guard against hidden computations."""
    with met(request, KNOWN) if isinstance(request.param, Unregistered) else guard():
        yield request.param


@pytest.fixture(params=["first", "others"])
def lazy(request: pytest.FixtureRequest) -> str:
    """Which of several arrays are lazy."""
    return str(request.param)


@contextmanager
def values_asked() -> Iterator[None]:
    """Under the guard, what is asked for: lazy arrays may be computed."""
    with asked(), computing():
        yield


def mixed(arrays: Any, library: Library, lazy: str) -> list[Any]:
    """Arrays of which the first is lazy, or all but the first."""
    return [library.array(a) if (i == 0) == (lazy == "first") else np.asarray(a) for i, a in enumerate(arrays)]


@pytest.mark.at_night("cubed")
@pytest.mark.parametrize("case", SEVERAL, ids=str)
def test_functions(case: Call, lazy: str, library: Library) -> None:
    found = flat_list(case(*mixed(case.arrays, library, lazy)))
    for got, want in zip(found, map(np.asarray, flat_list(case.answer)), strict=True):
        is_numpys = case.name in OF_ONE_ARRAY and isinstance(got, np.ndarray)
        np.testing.assert_allclose(got if is_numpys else library.numpy(got), want, rtol=1e-9, atol=1e-12, strict=True)


@pytest.mark.parametrize("library", libraries("dask-halves"), indirect=True)
@pytest.mark.parametrize("case", SEVERAL_OF_STANDARD, ids=str)
def test_the_standards_functions(case: Case, lazy: str, library: Library) -> None:
    with np.errstate(all="ignore"):
        want = list(map(np.asarray, flat_list(case.call(get_namespace("numpy"), *case.arrays))))
        arrays = mixed(case.arrays, library, lazy)
        found = [library.numpy(result) for result in flat_list(case.call(array_namespace(*arrays), *arrays))]
    for got, expected in zip(found, want, strict=True):
        rtol = max(case.rtol, 1e-5 if expected.dtype in ("float16", "float32", "complex64") else 1e-9)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, strict=True)


@pytest.mark.parametrize("default", ["numpy", "array_api_strict"])
def test_arrays_lists_and_numbers(library: Library, lazy: str, default: str) -> None:
    """Not left to NumPy's operators, which would compute a lazy array implicitly. Lists are of floatx, float32."""
    x, w = np.arange(12.0).reshape(4, 3), np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    rows, targets = [[1.0, 2.0, 3.0]], np.asarray([0, 2, 1, 1])
    whole = library.array(x)
    here, row = mixed((x, np.ones(3)), library, lazy)
    with use_backend(default):
        for found, want in (
            (B.dot(whole, w.tolist()), x @ w),
            (K.bias_add(x=here, bias=row), x + 1.0),
            (K.batch_dot(x[:, None], library.array(x[:, :, None])), np.sum(x * x, axis=1)[:, None, None]),
            (K.in_top_k(*mixed((x, targets), library, lazy), 1), targets == 2),
            (K.maximum(rows[0], whole), np.maximum(rows[0], x)), (whole + np.float64(2.5), x + 2.5),
            (K.concatenate([rows, whole], axis=0), np.concatenate([rows, x])), (K.pow(whole, 2), x**2),
        ):  # fmt: skip
            np.testing.assert_allclose(library.numpy(found), want, rtol=1e-6)


def test_recorded_and_differentiated(library: Library, lazy: str) -> None:
    x, w = np.arange(12.0).reshape(4, 3), np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    here = mixed((x, w), library, lazy)
    a, b = placeholder((4, 3), dtype="float64"), placeholder((3, 2), dtype="float64")
    for product in (function([a, b], B.dot(a, b))(*here), evaluate(B.dot(*map(Variable, here)))):
        np.testing.assert_allclose(library.numpy(product), x @ w, rtol=1e-12)
    _, gradients = value_and_grad(lambda p, q: B.sum(B.dot(p, q) ** 2), argnums=(0, 1))(*here)
    for found, want in zip(gradients, (2 * x @ w @ w.T, 2 * x.T @ x @ w), strict=True):
        with values_asked():
            np.testing.assert_allclose(to_numpy(found), want, rtol=1e-12)


@pytest.mark.parametrize("name", ["normal", "uniform", "gamma", "beta", "integers", "laplace"])
def test_parameters_of_draws(name: str, library: Library) -> None:
    integers = name == "integers"
    a = np.arange(6).reshape(2, 3) if integers else np.linspace(0.5, 2.0, 6).reshape(2, 3)
    b = a[:1] + 7
    want = getattr(Generator(5), name)(a, b)
    for parameters in ((library.array(a), b), (a, library.array(b)), (library.array(a), b.tolist())):
        found = getattr(Generator(5), name)(*parameters)
        np.testing.assert_array_equal(library.numpy(found), want, strict=True)


def test_models(library: Library) -> None:
    x = (np.random.default_rng(0).random((8, 6)) < 0.5).astype("float32")
    model = RBM(4, n_iter=1, random_state=0).fit(x)
    want = model.transform(x)
    np.testing.assert_allclose(library.numpy(model.transform(library.array(x))), want, rtol=1e-6)
    arrays = (model.components_, model.intercept_hidden_, model.intercept_visible_)
    for lazy in ("first", "others"):
        made = RBM.from_parameters(*mixed(arrays, library, lazy))
        for rows in (x, library.array(x)):
            np.testing.assert_allclose(library.numpy(made.transform(rows)), want, rtol=1e-6)


def test_a_devices_blocks_stay_apart() -> None:
    """Of a Dask array whose blocks are another library's, as a device's are, NumPy's arrays are not taken."""
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    strict = get_namespace("array_api_strict")
    blocks = da.from_array(np.ones((4, 3)), chunks=2).map_blocks(strict.asarray, meta=strict.zeros((0, 0)))
    with pytest.raises(TypeError, match="numpy and array_api_strict, which the blocks of dask are of"):
        array_namespace(blocks, np.ones(3))
    with pytest.raises(TypeError, match="which the blocks of dask are of"):
        B.dot(np.ones((2, 4)), blocks)
    with pytest.raises(TypeError, match="two array libraries, dask and array_api_strict"):
        array_namespace(da.ones(3), strict.ones(3))


@pytest.mark.parametrize("library", unregistered_libraries("cubed"), indirect=True)
def test_a_devices_arrays_stay_apart_from_numpys(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    x = library.array(np.ones((2, 2)))
    monkeypatch.setattr(type(x), "device", property(lambda self: "gpu:0"))
    for pair in ((x, np.ones((2, 2))), (np.ones((2, 2)), x)):
        with pytest.raises(TypeError, match="an array of numpy stands beside one of cubed that lies on gpu:0"):
            B.dot(*pair)
