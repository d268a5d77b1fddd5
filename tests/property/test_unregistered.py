"""Libraries without an entry do what the others do: functions, gradients, draws, Boltzmann machines, conversion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import namespace, special
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import array_namespace, dtype_name, get_namespace, library_name, replaced, to_numpy, use_backend
from nbm_xp.namespace.libraries import WRONG
from nbm_xp.rng import Generator
from nbm_xp.tape import Variable, evaluate, function, gradients, placeholder, value_and_grad
from nbm_xp.tape import namespace as recorded
from tests.golden.calls import OF_ARRAYS, Call, first_of_each
from tests.helpers import unregistered
from tests.helpers.distributions import DRAWS, WITH_ARRAYS
from tests.helpers.gradcheck import flat_list
from tests.helpers.unregistered import IN_BLOCKS, Unregistered, asked, met, on_unregistered, unregistered_libraries
from tests.property.test_special import ANY, DOMAINS, ELEMENTWISE, called, wanted

pytestmark = pytest.mark.filterwarnings("ignore:numpy.core:DeprecationWarning")  # cubed's moveaxis imports from there

FEW = first_of_each(OF_ARRAYS)

_NO_LINALG = "marray has no linalg"
_REGULAR = "cubed has blocks of one length alone along an axis, which reshaping does not keep"
_COMPUTES = "cubed computes the places that it takes from"

KNOWN: list[tuple[str, str, str]] = [
    ("marray", "test_of_*-*-diag/*", _NO_LINALG), ("marray", "test_of_*-*-solve/*", _NO_LINALG),
    ("marray", "test_of_*-*-svd/*", _NO_LINALG),
    ("marray", "test_of_*-*-ctc_batch_cost/*", "marray writes to an array that is read-only in take_along_axis"),
    ("cubed", "test_of_*-*-diag/*", "cubed has no linalg.diagonal"),
    ("cubed", "test_of_*-*-solve/*", "cubed has no linalg.solve"),
    ("cubed", "test_of_*-*-svd/*", "cubed has no full matrices in linalg.svd"),
    ("cubed", "test_of_*-*-one_hot/*", _COMPUTES), ("cubed", "test_of_*-*-gather/*", _COMPUTES),
    ("cubed", "test_of_*-*-ctc_batch_cost/*", "cubed has no take_along_axis"),
    ("cubed", "test_of_blocks-*-batch_flatten/*", _REGULAR),
    ("cubed", "test_of_*-*-sparse_categorical*", "cubed has no take_along_axis"),
    ("cubed", "test_of_blocks-*-conv1d/valid-*", _REGULAR), ("cubed", "test_of_blocks-*-local_conv2d/*", _REGULAR),
    ("cubed", "test_of_variables*-*-pool3d/*", _REGULAR), ("ndonnx", "test_of_*-*-diag/*", "ndonnx has no linalg"),
    ("ndonnx", "test_of_*-*-solve/*", "ndonnx has no linalg"), ("ndonnx", "test_of_*-*-svd/*", "ndonnx has no linalg"),
    ("ndonnx", "test_of_*-*-cos/*", "onnxruntime has no cos of float64"),
    ("ndonnx", "test_of_variables*-*-sin/*", "onnxruntime has no cos of float64"),
    ("ndonnx", "test_of_*-*-gather/*", "ndonnx takes at int64 alone"),
    ("ndonnx", "test_of_variables*-prod/*", "ndonnx multiplies up by logarithms, which negative numbers lack"),
    ("ndonnx", "test_of_*-*-cumprod/*", "ndonnx multiplies up by logarithms, which negative numbers lack"),
    ("ndonnx", "test_of_*-*-one_hot/*", "ndonnx takes at int64 alone"),
    ("ndonnx", "test_copies*", "ndonnx broadcasts nothing that is assigned"),
    ("ndonnx", "test_a_machine*", "ndonnx hands no data over unless it is registered, as in test_onnx.py"),
]  # fmt: skip
"""What a library cannot do, as data: its name, which cases (a pattern of their names), and why."""


@pytest.fixture(params=unregistered_libraries())
def library(request: pytest.FixtureRequest) -> Iterator[Unregistered]:
    """Each library without an entry in turn; one that has an entry is without it meanwhile."""
    with met(request, KNOWN) as found:
        yield found


QUICK_DRAWS = ("random", "normal", "permutation")
"""What is drawn with ndonnx too, each of whose steps is an ONNX model of its own as long as values are known."""


def is_long(case: Call | str, library: str) -> bool:
    """What a library takes long for: windows, with a step for each place, and most draws of ndonnx's."""
    if isinstance(case, str):
        return library == "ndonnx" and case not in QUICK_DRAWS
    return library in ("cubed", "ndonnx") and any(word in case.name for word in ("conv", "pool"))


def close(library: Unregistered, case: Call, results: Any) -> None:
    for result, want in zip(flat_list(results), map(np.asarray, flat_list(case.answer)), strict=True):
        got = library.numpy(result)
        assert (got.dtype.kind, got.shape) == (want.dtype.kind, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_what_is_found_out_by_inspection(library: Unregistered) -> None:
    x = library.array([1.0, 2.0])
    xp = array_namespace(x)
    assert (xp is library.xp) == (library.name not in WRONG)
    assert namespace.is_array(x)
    assert get_namespace(library_name(x)) is get_namespace(xp) is get_namespace(library.xp) is xp
    assert library_name(x) == library_name(xp) == xp.__name__
    assert namespace.is_lazy(xp) == library.lazy
    assert namespace.device_of(x) == x.device
    for name in ("bool", "int8", "int64", "uint8", "float32", "float64"):
        assert dtype_name(getattr(xp, name)) == dtype_name(library.array([1, 0], name)) == name
    narrow, wide = namespace.promote(library.array([1], "int8"), library.array([1.0], "float32"))
    assert dtype_name(narrow) == dtype_name(wide) == "float32"
    for name in ("rng.draw", "scatter_add", "to_numpy"):
        assert namespace.kernel(name, library_name(x)) is None, "by the way of unregistered libraries there is none"


def test_to_it_and_back(library: Unregistered) -> None:
    host = np.arange(6.0).reshape(2, 3)
    x = namespace.convert(host, library.xp)
    host[...] = 0.0
    np.testing.assert_array_equal(library.numpy(x), np.arange(6.0).reshape(2, 3))


def test_beside_another_library(library: Unregistered) -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    with pytest.raises(TypeError, match="two array libraries"):
        array_namespace(library.array([1.0]), da.ones(1))


@pytest.mark.parametrize(("case", "library"), on_unregistered(FEW, is_long), indirect=["library"])
def test_of_arrays(case: Call, library: Unregistered) -> None:
    close(library, case, case(*map(library.array, case.arrays)))


@pytest.mark.parametrize(("case", "library"), on_unregistered(FEW, is_long, IN_BLOCKS), indirect=["library"])
def test_of_blocks(case: Call, library: Unregistered) -> None:
    close(library, case, case(*map(library.array, case.arrays)))


@pytest.mark.parametrize(("case", "library"), on_unregistered(FEW, is_long), indirect=["library"])
def test_of_variables_and_their_gradients(case: Call, library: Unregistered) -> None:
    def of(make: Any) -> Any:
        variables = [Variable(make(array)) for array in case.arrays]
        results = flat_list(case(*variables))
        if not case.differentiable:
            return results, []
        loss = recorded.sum(results[0] * results[0])
        return results, gradients(loss, [v for v in variables if v.dtype == "float64"], disconnected="zero")

    results, slopes = of(library.array)
    close(library, case, evaluate(results))
    for got, want in zip(slopes, of(np.asarray)[1], strict=True):
        np.testing.assert_allclose(library.numpy(evaluate(got)), evaluate(want), rtol=1e-10, atol=1e-12)


def test_plans_and_functions_of_arrays(library: Unregistered) -> None:
    host = np.random.default_rng(0).random((5, 3))
    x = placeholder((None, 3), dtype="float64")
    weights = Variable(library.array(np.ones((3, 2))))
    step = function([x], recorded.sum(recorded.tanh(x @ weights), axis=0), updates=[(weights, weights * 0.5)])
    for scale in (1.0, 0.5):
        want = np.tanh(host @ np.full((3, 2), scale)).sum(axis=0)
        np.testing.assert_allclose(library.numpy(step(library.array(host))), want)
    value, slope = value_and_grad(lambda a: recorded.sum(recorded.exp(a)))(library.array(host))
    np.testing.assert_allclose(library.numpy(value), np.exp(host).sum())
    np.testing.assert_allclose(library.numpy(slope), np.exp(host))


def test_copies_with_a_part_replaced(library: Unregistered) -> None:
    host = np.arange(24.0).reshape(4, 6)
    x, places = library.array(host), np.asarray([2, -4, 2])
    want = host.copy()
    want[1:4:2, -2] = 7.0
    np.testing.assert_array_equal(library.numpy(replaced(x, (slice(1, 4, 2), -2), 7.0)), want)
    want = host.copy()
    want[2:, 1:3] = [5.0, 6.0]
    values = library.array([5.0, 6.0])
    np.testing.assert_array_equal(library.numpy(replaced(x, (slice(2, None), slice(1, 3)), values)), want)
    want = host.copy()
    want[[2, -4]] = 9.0
    np.testing.assert_array_equal(library.numpy(namespace.put(x, library.array(places), 9.0, 0)), want)
    want = host.copy()
    np.add.at(want, places, 1.0)
    np.testing.assert_array_equal(library.numpy(namespace.scatter_add(x, library.array(places), 1.0)), want)


@pytest.mark.parametrize(("name", "library"), on_unregistered(DRAWS, is_long, seldom=()), indirect=["library"])
def test_draws_have_the_same_bits(name: str, library: Unregistered) -> None:
    want = to_numpy(DRAWS[name](Generator(2026, "numpy")))
    for where in (library.xp, library.xp.__name__):
        np.testing.assert_array_equal(library.numpy(DRAWS[name](Generator(2026, where))), want, strict=True)
        if name != "random":
            break


@pytest.mark.parametrize(("name", "library"), on_unregistered(WITH_ARRAYS, is_long, seldom=()), indirect=["library"])
def test_draws_with_arrays_as_parameters(name: str, library: Unregistered) -> None:
    want = to_numpy(WITH_ARRAYS[name](Generator(2026), np.asarray))
    got = WITH_ARRAYS[name](Generator(2026), library.array)
    np.testing.assert_array_equal(library.numpy(got), want, strict=True)


@pytest.mark.parametrize("library", unregistered_libraries("cubed"), indirect=True)
def test_a_draw_in_blocks(library: Unregistered) -> None:
    """The bits do not depend on the chunks, and no task needs more memory than it may have."""
    want = Generator(7).random((60, 50))
    probabilities = library.xp.asarray(want.copy(), chunks=(25, 30))
    for chunks in [(60, 50), (7, 50), (60, 9), (16, 16), 25, ((20, 20, 20), (50,))]:
        for method in ("random", "normal"):
            drawn = getattr(Generator(7, library.xp), method)(size=(60, 50), chunks=chunks)
            np.testing.assert_array_equal(library.numpy(drawn), getattr(Generator(7), method)(size=(60, 50)))
    large = Generator(7, library.xp).random((20_000, 20_000), chunks=(5_000, 2_000))
    assert large.chunksize == (5_000, 2_000)
    assert 0 < large.plan().max_projected_mem <= large.spec.allowed_mem
    ones = Generator(8).bernoulli(probabilities)
    assert ones.chunks == probabilities.chunks
    np.testing.assert_array_equal(library.numpy(ones), Generator(8).bernoulli(want))
    with pytest.raises(ValueError, match="chunks must say how cubed is to split an array of shape"):
        Generator(7, library.xp).random(3, chunks=(2, 2))


@pytest.mark.parametrize("library", unregistered_libraries("cubed"), indirect=True)
@pytest.mark.parametrize("axis", [0, pytest.param(-1, marks=pytest.mark.at_night)])
def test_joins_of_any_blocks(library: Unregistered, axis: int) -> None:
    """Of differing blocks, cubed itself gives other elements, or an error inside a task."""
    host, others = np.arange(12.0).reshape(4, 3), np.full((4, 3), 9.0)
    joined, stacked = np.concatenate([others, host, others], axis), np.stack([others, host], axis)
    for blocks in [(1, 1), (3, 2), (4, 3)]:
        x = library.xp.asarray(host.copy(), chunks=blocks)
        for other in (library.xp.asarray(others.copy(), chunks=chunks) for chunks in [(1, 3), (4, 1), (3, 2)]):
            xp = array_namespace(x, other)
            np.testing.assert_array_equal(library.numpy(xp.concat([other, x, other], axis=axis)), joined)
            np.testing.assert_array_equal(library.numpy(xp.stack([other, x], axis=axis)), stacked)


@pytest.mark.parametrize("library", unregistered_libraries("cubed"), indirect=True)
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": (-1,)}, {"keepdims": True}], ids=str)
def test_truth_of_no_elements(library: Unregistered, options: dict[str, Any]) -> None:
    host = np.zeros((0, 2), dtype="bool")
    xp, x = get_namespace(library.xp), library.xp.zeros((0, 2), dtype=library.xp.bool)
    for name in ("all", "any"):
        want = np.asarray(getattr(np, name)(host, **options))
        np.testing.assert_array_equal(library.numpy(getattr(xp, name)(x, **options)), want, strict=True)


def test_it_may_be_the_default(library: Unregistered) -> None:
    for where in (library.xp, library.xp.__name__):
        with use_backend(where) as xp:
            assert xp is get_namespace(library.xp)
            assert array_namespace(Generator(1).random(3)) is xp
            assert array_namespace(evaluate(recorded.ones(2) + 1.0)) is xp


def test_a_machine(library: Unregistered) -> None:
    host = (np.random.default_rng(3).random((24, 6)) < 0.4).astype("float64")
    trained = RBM(4, n_iter=2, batch_size=8, random_state=5).fit(host)
    x = library.array(host)
    np.testing.assert_allclose(library.numpy(trained.transform(x)), trained.transform(host), rtol=1e-12)
    np.testing.assert_allclose(library.numpy(trained.free_energy(x)), trained.free_energy(host), rtol=1e-12)
    with asked():  # learning looks at its data
        there = RBM(4, n_iter=2, batch_size=8, random_state=5).fit(x)
    np.testing.assert_allclose(to_numpy(there.components_), trained.components_, rtol=1e-9)


def test_masked_tensors_are_written_to_and_differentiated() -> None:
    """Operators in place are called as methods there, and what they return is dropped."""
    marray = pytest.importorskip("marray", reason="marray is not installed")
    stats = pytest.importorskip("scipy.stats")
    masked = marray.masked_namespace(recorded)
    a = masked.asarray([1.0, 2.0, 4.0])
    a *= 2.0
    assert evaluate(a.data).tolist() == [2.0, 4.0, 8.0]

    host, mask = np.random.default_rng(0).normal(size=20), np.arange(20) % 3 == 0

    def trimmed(x: Any) -> Any:
        return stats.tvar(masked.asarray(x, mask=recorded.asarray(mask)), limits=(-1.0, 1.0)).data

    kept = host[~mask & (abs(host) <= 1.0)]
    value, slope = value_and_grad(trimmed)(host)
    assert value == pytest.approx(np.var(kept, ddof=1))
    wanted = np.where(~mask & (abs(host) <= 1.0), 2.0 * (host - kept.mean()) / (kept.size - 1), 0.0)
    np.testing.assert_allclose(slope, wanted, atol=1e-12)


READ_BY_SCIPY = tuple(each for each in (*unregistered.UNREGISTERED, *IN_BLOCKS) if each.name != "ndonnx")


def slowly(name: str, library: str) -> bool:
    return name == "stdtrit"


def arguments(name: str, count: int = 6) -> tuple[np.ndarray, ...]:
    """Numbers in the function's domain; of several arguments, those after the first are a row to its column."""
    random = np.random.default_rng(5)
    domains = DOMAINS.get(name, (ANY,))
    columns = [random.uniform(low, high, size=count) for low, high in domains]
    return tuple(column.reshape((-1, 1) if place and place % 2 else (1, -1)) for place, column in enumerate(columns))


@pytest.mark.parametrize(("name", "library"), on_unregistered(ELEMENTWISE, slowly, READ_BY_SCIPY), indirect=["library"])
def test_special_functions(name: str, library: Unregistered) -> None:
    arrays = arguments(name)
    result = called(special, name, tuple(map(library.array, arrays)))
    np.testing.assert_allclose(library.numpy(result), wanted(name, arrays), rtol=1e-10, atol=1e-13)


def test_weighted_sums_of_exponentials(library: Unregistered) -> None:
    x, b = np.asarray([[1000.0, 999.0], [0.0, 2.0]]), np.asarray([[1.0, -0.5], [0.0, 3.0]])
    got = special.logsumexp(library.array(x), 1, library.array(b), return_sign=True)
    for found, want in zip(got, special.logsumexp(x, 1, b, return_sign=True), strict=True):
        np.testing.assert_allclose(library.numpy(found), want, rtol=1e-12)


@pytest.mark.parametrize("library", unregistered_libraries("ndonnx"), indirect=True)
def test_a_library_that_scipy_cannot_read(library: Unregistered) -> None:
    with pytest.raises(TypeError, match="erf is computed by SciPy, which cannot read arrays of ndonnx"):
        special.erf(library.array([1.0, 2.0]))


@pytest.mark.parametrize("library", unregistered_libraries("cubed", among=IN_BLOCKS), indirect=True)
def test_blocks_are_made_whole(library: Unregistered) -> None:
    """A function is one step of the plan, however many its portable form has."""
    x = library.array(np.linspace(0.1, 0.9, 5))
    result = special.stdtrit(2.5, x)
    assert result.chunks == x.chunks
    assert result.plan().num_tasks < 20
