"""NumPy's arrays, numbers and lists beside lazy arrays: taken as the lazy library takes them, nothing computed.

Every documented function with several arrays is called with one of them lazy and the others NumPy's, and the other way
round; a device's arrays beside the host's stay an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import array_namespace, get_namespace, to_numpy, use_backend
from nbm_xp.rng import Generator
from nbm_xp.tape import Variable, evaluate, function, placeholder, value_and_grad
from tests.helpers.gradcheck import flat_list
from tests.helpers.libraries import Library, computing, libraries
from tests.helpers.tables import CASES as STANDARD
from tests.helpers.tables import Case
from tests.property.function_cases import CASES, FunctionCase

LAZY = libraries("dask-halves")


def one_of_each(cases: Iterable[tuple[str, Any]]) -> list[Any]:
    """The last case of each function, which is seldom its simplest."""
    return list(dict(cases).values())


SEVERAL = one_of_each((case.name, case) for case in CASES if len(case.arrays) > 1)
SEVERAL_OF_STANDARD = one_of_each(
    (case.function, case) for case in STANDARD if len(case.arrays) > 1 and case.function not in ("getitem", "setitem")
)

OF_ONE_ARRAY = ("pool_maps_gradient", "reshape", "switch")
"""Functions of whose arrays only one has a say in some cases: without the lazy one the answer is NumPy's."""


def mixed(arrays: Any, library: Library, lazy: str) -> list[Any]:
    """Arrays of which the first is lazy, or all but the first."""
    return [library.array(a) if (i == 0) == (lazy == "first") else np.asarray(a) for i, a in enumerate(arrays)]


@pytest.mark.parametrize("library", LAZY, indirect=True)
@pytest.mark.parametrize("lazy", ["first", "others"])
@pytest.mark.parametrize("case", SEVERAL, ids=str)
def test_functions(case: FunctionCase, lazy: str, library: Library) -> None:
    want = np.asarray(case.reference(*case.arrays))
    result = case.call(B, *mixed(case.arrays, library, lazy))
    got = result if case.name in OF_ONE_ARRAY and isinstance(result, np.ndarray) else library.numpy(result)
    np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.rtol, strict=True)


@pytest.mark.parametrize("library", LAZY, indirect=True)
@pytest.mark.parametrize("lazy", ["first", "others"])
@pytest.mark.parametrize("case", SEVERAL_OF_STANDARD, ids=str)
def test_the_standards_functions(case: Case, lazy: str, library: Library) -> None:
    with np.errstate(all="ignore"):
        want = list(map(np.asarray, flat_list(case.call(get_namespace("numpy"), *case.arrays))))
        arrays = mixed(case.arrays, library, lazy)
        found = [library.numpy(result) for result in flat_list(case.call(array_namespace(*arrays), *arrays))]
    for got, expected in zip(found, want, strict=True):
        rtol = max(case.rtol, 1e-5 if expected.dtype in ("float16", "float32", "complex64") else 1e-9)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, strict=True)


@pytest.mark.parametrize("library", LAZY, indirect=True)
@pytest.mark.parametrize("default", ["numpy", "array_api_strict"])
def test_lists_and_numbers(library: Library, default: str) -> None:
    x = np.arange(12.0).reshape(4, 3)
    rows, weights = [[1.0, 2.0, 3.0]], [[1.0], [2.0], [3.0]]
    lazy = library.array(x)
    with use_backend(default):
        for found, want in (
            (B.dot(lazy, weights), x @ np.asarray(weights)),
            (K.maximum(rows[0], lazy), np.maximum(rows[0], x)),
            (K.concatenate([rows, lazy], axis=0), np.concatenate([rows, x])),
            (K.gather(lazy, [3, 0]), x[[3, 0]]),
            (K.pow(lazy, 2), x**2),
            (lazy + np.float64(2.5), x + 2.5),
        ):
            np.testing.assert_allclose(library.numpy(found), want, rtol=1e-6)


@pytest.mark.parametrize("library", LAZY, indirect=True)
@pytest.mark.parametrize("lazy", ["first", "others"])
def test_recorded_and_differentiated(library: Library, lazy: str) -> None:
    x, w = np.arange(12.0).reshape(4, 3), np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    here = mixed((x, w), library, lazy)
    a, b = placeholder((4, 3), dtype="float64"), placeholder((3, 2), dtype="float64")
    np.testing.assert_allclose(library.numpy(function([a, b], B.dot(a, b))(*here)), x @ w)
    product = B.dot(Variable(here[0]), Variable(here[1]))
    np.testing.assert_allclose(library.numpy(evaluate(product)), x @ w)
    _, gradients = value_and_grad(lambda p, q: B.sum(B.dot(p, q) ** 2), argnums=(0, 1))(*here)
    for found, want in zip(gradients, (2 * x @ w @ w.T, 2 * x.T @ x @ w), strict=True):
        with computing():
            np.testing.assert_allclose(to_numpy(found), want)


@pytest.mark.parametrize("library", LAZY, indirect=True)
@pytest.mark.parametrize("name", ["normal", "uniform", "gamma", "beta", "integers", "laplace"])
def test_parameters_of_draws(name: str, library: Library) -> None:
    integers = name == "integers"
    a = np.arange(6).reshape(2, 3) if integers else np.linspace(0.5, 2.0, 6).reshape(2, 3)
    b = a[:1] + 7
    want = getattr(Generator(5), name)(a, b)
    for parameters in ((library.array(a), b), (a, library.array(b)), (library.array(a), b.tolist())):
        found = getattr(Generator(5), name)(*parameters)
        np.testing.assert_array_equal(library.numpy(found), want, strict=True)


@pytest.mark.parametrize("library", LAZY, indirect=True)
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
