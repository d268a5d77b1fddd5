"""The special functions: SciPy's values on every library and by our own forms, derivatives to the third order."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp import special
from nbm_xp.namespace import array_namespace, get_namespace
from nbm_xp.namespace.special import ARITY, forms, special_of
from nbm_xp.tape import Variable, evaluate, function, grad, placeholder
from nbm_xp.tape import namespace as tape_xp
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library, libraries, on_libraries
from tests.interop import SINCE

scipy_special = pytest.importorskip("scipy.special")

# Where each argument may lie; between -8 and 8 where nothing is said.
ANY, POSITIVE, SHAPE, PROBABILITY = (-8.0, 8.0), (1e-3, 60.0), (0.05, 60.0), (1e-6, 1.0 - 1e-6)
DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "gammaln": ((0.01, 60.0),), "gamma": ((0.01, 30.0),), "digamma": ((0.01, 60.0),), "beta": (SHAPE, SHAPE),
    "betaln": (SHAPE, SHAPE), "erfinv": ((-1.0 + 1e-6, 1.0 - 1e-6),), "ndtri": (PROBABILITY,), "logit": (PROBABILITY,),
    "xlogy": (POSITIVE, POSITIVE), "xlog1py": (ANY, (-0.9, 8.0)), "entr": ((0.0, 8.0),),
    "rel_entr": (POSITIVE, POSITIVE), "kl_div": (POSITIVE, POSITIVE), "gammainc": (SHAPE, POSITIVE),
    "gammaincc": (SHAPE, POSITIVE), "betainc": (SHAPE, SHAPE, PROBABILITY), "zeta": ((1.1, 9.0), (0.1, 60.0)),
    "polygamma": ((0.1, 60.0),), "chdtr": (SHAPE, POSITIVE), "chdtrc": (SHAPE, POSITIVE), "stdtr": (SHAPE, ANY),
    "stdtrit": ((0.3, 60.0), PROBABILITY),
}  # fmt: skip
ELEMENTWISE = sorted(set(special.__all__) - {"logsumexp", "softmax", "log_softmax"})


def called(functions: Any, name: str, arrays: tuple[Any, ...]) -> Any:
    """A function of the arrays; of `polygamma` the second."""
    function = getattr(functions, name)
    return function(2, *arrays) if name == "polygamma" else function(*arrays)


def wanted(name: str, arrays: tuple[Any, ...]) -> Any:
    known = {"log_expit": lambda x: -np.logaddexp(0.0, -x)}  # SciPy's is of 1.8
    return known[name](*arrays) if name in known else called(scipy_special, name, arrays)


@st.composite
def arguments(draw: st.DrawFn, name: str) -> tuple[np.ndarray, ...]:
    """Numbers in the function's domain, five to an argument."""
    domain = DOMAINS.get(name, (ANY,))
    return tuple(
        np.asarray(draw(st.lists(st.floats(low, high, allow_subnormal=False), min_size=5, max_size=5)))
        for low, high in domain
    )


ON_ALL = libraries(without=("numpy-readonly", "dask-one", "dask-singles"))


@pytest.mark.parametrize(("name", "library"), on_libraries({n: n for n in ELEMENTWISE}, ON_ALL), indirect=["library"])
def test_value_on_every_library(name: str, library: Library) -> None:
    random = np.random.default_rng(3)
    arrays = tuple(random.uniform(low, high, size=40) for low, high in DOMAINS.get(name, (ANY,)))
    if name in ("j0", "j1") and library.name == "jax":
        with pytest.raises(TypeError, match=f"jax has no special function {name}"):
            called(special, name, tuple(map(library.array, arrays)))
        return
    got = library.numpy(called(special, name, tuple(map(library.array, arrays))))
    # PyTorch's incomplete gamma functions have eight digits, its Bessel functions six, and what cancels near a zero has
    # fewer everywhere
    bessel = name in ("j0", "j1") and library.name == "torch"
    tolerance = 1e-4 if bessel else 1e-7 if "gammainc" in name or "chdtr" in name else 1e-10
    np.testing.assert_allclose(got, wanted(name, arrays), rtol=tolerance, atol=1e-7 if bessel else 1e-12)
    assert got.dtype == np.float64


FORMS = sorted(set(vars(forms)) & set(special.__all__) | {"riemann_zeta"})


def by_form(name: str, *arrays: np.ndarray) -> np.ndarray:
    """Our own form over NumPy's namespace, which serves the libraries that lack the function."""
    with np.errstate(all="ignore"):
        return getattr(forms, name)(get_namespace("numpy"), special_of(arrays[0]), *arrays)


@pytest.mark.parametrize("name", FORMS)
def test_form_gives_scipys_values(name: str) -> None:
    public = {"riemann_zeta": "zeta"}.get(name, name)

    @settings(max_examples=1 if name == "stdtrit" else 4)  # an incomplete beta function in each of Newton's steps
    @given(arguments(public))
    def check(arrays: tuple[np.ndarray, ...]) -> None:
        arrays = arrays[: ARITY[name]]
        np.testing.assert_allclose(by_form(name, *arrays), wanted(public, arrays), rtol=1e-11, atol=1e-13)

    check()


@pytest.mark.parametrize("library", ON_ALL, indirect=True)
@pytest.mark.at_night("jax")
def test_polygamma(library: Library) -> None:
    """Of one order, below zero too, and of orders in an array; of the first with all digits (PyTorch has nine)."""
    below, far = np.asarray([-0.25, -2.5, -19.3, -33.75, 1.5]), np.asarray([*np.geomspace(1e-3, 1e5, 300), np.inf])
    orders, x = np.asarray([0.0, 1.0, 2.0, 5.0, -1.0]), np.asarray([0.7, 1.0, 3.0, 9.0, 2.0])
    for n, places, rtol in ((1, below, 1e-11), (2, below, 1e-11), (5, below, 1e-11), (1, far, 2e-14)):
        got = library.numpy(special.polygamma(n, library.array(places)))
        np.testing.assert_allclose(got, scipy_special.polygamma(n, places), rtol=rtol)
    got = special.polygamma(library.array(orders), library.array(x))
    np.testing.assert_allclose(library.numpy(got), scipy_special.polygamma(orders, x), rtol=1e-10)


EDGES = [
    ("gammaln", (0.0,), math.inf), ("gammaln", (-2.0,), math.inf), ("gammaln", (math.inf,), math.inf),
    ("gammaln", (-2.5,), -0.0562437164976741), ("gamma", (-2.5,), -0.9453087204829419),
    ("gamma", (-1e-9,), -1000000000.5772157), ("digamma", (-2.5,), 1.1031566406452432),
    ("digamma", (-1e-9,), 999999999.4227843), ("gammaln", (1e-300,), 300 * math.log(10)),
    ("gammaln", (1e100,), 1e100 * (100 * math.log(10) - 1)), ("gamma", (172.0,), math.inf),
    ("gamma", (-1.0,), math.nan), ("digamma", (-1.0,), math.nan), ("erf", (math.inf,), 1.0),
    ("erfc", (-math.inf,), 2.0), ("erfc", (30.0,), 0.0), ("erfcx", (1e300,), 1e-300 / math.sqrt(math.pi)),
    ("erfcx", (-30.0,), math.inf), ("log_ndtr", (-1e4,), -50000010.129278905), ("ndtri", (0.0,), -math.inf),
    ("ndtri", (1.0,), math.inf), ("ndtri", (1.5,), math.nan), ("ndtri", (1e-300,), -37.0471),
    ("erfinv", (-1.0,), -math.inf), ("erfinv", (1e-300,), 1e-300 * math.sqrt(math.pi) / 2), ("expit", (-1e4,), 0.0),
    ("log_expit", (-1e4,), -1e4), ("logit", (0.0,), -math.inf), ("logit", (1.0,), math.inf),
    ("xlogy", (0.0, 0.0), 0.0), ("xlogy", (0.0, -1.0), 0.0), ("xlogy", (0.0, math.nan), math.nan),
    ("xlog1py", (0.0, -1.0), 0.0), ("entr", (0.0,), 0.0), ("entr", (-1.0,), -math.inf), ("rel_entr", (0.0, 0.0), 0.0),
    ("rel_entr", (1.0, 0.0), math.inf), ("kl_div", (0.0, 2.0), 2.0), ("kl_div", (1.0, 0.0), math.inf),
    ("gammainc", (1.0, 0.0), 0.0), ("gammainc", (1.0, math.inf), 1.0), ("gammaincc", (5.0, math.inf), 0.0),
    ("betainc", (2.0, 3.0, 0.0), 0.0), ("betainc", (2.0, 3.0, 1.0), 1.0), ("i0", (800.0,), math.inf),
    ("i0e", (1e8,), 1.0 / math.sqrt(2e8 * math.pi)), ("i1", (-800.0,), -math.inf),
    ("j0", (1000.0,), 0.024786686152420174), ("j1", (-1000.0,), -0.004728311907089523),
    ("zeta", (1.0, 2.0), math.inf), ("zeta", (2.0, 0.0), math.inf), ("zeta", (0.5, 2.0), math.nan),
    ("stdtr", (2.0, math.inf), 1.0), ("stdtr", (2.0, -math.inf), 0.0), ("stdtr", (3.0, 0.0), 0.5),
    ("stdtr", (math.inf, -1.96), 0.0249978951), ("stdtr", (-1.0, 1.0), math.nan),
    ("stdtr", (1.0, -1e100), 1e-100 / math.pi), ("stdtr", (0.5, 1e-9), 0.5),
    ("stdtrit", (2.0, 1.0), math.inf), ("stdtrit", (3.0, 0.5), 0.0),
    ("stdtrit", (math.inf, 0.025), -1.959963985), ("stdtrit", (2.0, 1.5), math.nan),
    ("stdtrit", (1.0, 1e-100), -1e100 / math.pi), ("stdtrit", (1e5, 1e-300), -37.1746707),
    ("chdtrc", (2.0, -1.0), math.nan), ("chdtr", (2.0, math.inf), 1.0),
    ("polygamma", (-2.5,), -0.10820405198), ("polygamma", (-3.0,), -math.inf), ("polygamma", (0.0,), -math.inf),
]  # fmt: skip


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _, _ in EDGES))
def test_limits(name: str) -> None:
    """Of SciPy's functions, and of our own forms."""
    pytest.importorskip("scipy", SINCE["scipy"])
    points, limits = zip(*((values, limit) for each, values, limit in EDGES if each == name), strict=True)
    columns = tuple(map(np.asarray, zip(*points, strict=True)))
    np.testing.assert_allclose(called(special, name, columns), limits, rtol=1e-6)
    if name in FORMS:
        np.testing.assert_allclose(by_form(name, *columns), limits, rtol=1e-6)


def test_the_lowest_quantile_of_our_own_form() -> None:
    assert by_form("stdtrit", np.asarray([2.0]), np.asarray([0.0])) == -math.inf  # SciPy gives inf


# Where finite differences of the third order still say something.
INNER = {
    "erfinv": ((-0.9, 0.9),), "ndtri": ((0.05, 0.9),), "logit": ((0.1, 0.9),), "zeta": ((1.6, 5.0), (0.5, 4.0)),
    "betainc": ((0.5, 6.0), (0.5, 6.0), (0.1, 0.9)), "gammaln": ((-2.8, 5.0),), "digamma": ((0.5, 5.0),),
    "gamma": ((0.4, 4.0),), "kl_div": ((0.2, 3.0),) * 2, "rel_entr": ((0.2, 3.0),) * 2,
    "xlog1py": ((-3.0, 3.0), (-0.5, 3.0)), "entr": ((0.1, 3.0),), "gammainc": ((0.4, 6.0),) * 2,
    "gammaincc": ((0.4, 6.0),) * 2, "xlogy": ((0.3, 5.0),) * 2, "beta": ((0.5, 4.0),) * 2, "betaln": ((0.5, 4.0),) * 2,
    "polygamma": ((0.5, 4.0),), "chdtr": ((0.8, 9.0),) * 2, "chdtrc": ((0.8, 9.0),) * 2,
    "stdtr": ((0.8, 9.0), (-2.0, 3.0)), "stdtrit": ((0.8, 9.0), (0.1, 0.9)),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_derivatives(name: str) -> None:
    random = np.random.default_rng(0)
    arrays = tuple(random.uniform(low, high, size=7) for low, high in INNER.get(name, ((-2.0, 2.5),)))
    check_gradient(lambda *tensors: called(special, name, tensors), *arrays, order=3, rtol=1e-4)


@pytest.mark.parametrize("name", ["i0", "i1", "j0", "j1"])
def test_derivatives_where_a_quotient_has_none(name: str) -> None:
    check_gradient(getattr(special, name), np.asarray([0.0, 1e-9]), order=3)


def test_far_out_the_slope_of_erfcx_does_not_cancel() -> None:
    x = np.asarray([10.0, 59.0, 61.0, 1e4])
    slope = grad(lambda t: tape_xp.sum(special.erfcx(t)))(x)
    np.testing.assert_allclose(
        slope,
        [-0.0055593122190608565, -0.00016200707919260328, -0.00015156202675289728, -5.641895750849127e-09],
        rtol=5e-12,
    )


def test_the_slope_of_the_zeta_function_is_that_of_glaishers_constant() -> None:
    known = math.pi**2 / 6 * (np.euler_gamma + math.log(2 * math.pi) - 12 * 0.24875447703378426)
    np.testing.assert_allclose(grad(lambda x: special.zeta(x, 1.0))(np.asarray(2.0)), known, rtol=1e-13)


@pytest.mark.parametrize("a", [0.01, 0.7, 30.0, 4000.0])
def test_slope_in_the_shape_of_a_gamma_distribution(a: float) -> None:
    """Against differences of SciPy's values, over five decades of the parameter."""
    x = a * np.asarray([0.5, 0.97, 1.0, 1.02, 1.6, np.inf])
    step = 1e-5 * a
    slope = grad(lambda t: tape_xp.sum(special.gammainc(t, x)))(np.full(6, a))
    differences = (scipy_special.gammainc(a + step, x) - scipy_special.gammainc(a - step, x)) / (2 * step)
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-7 / a)


@pytest.mark.parametrize("library", ON_ALL, indirect=True)
@pytest.mark.at_night("jax")
def test_sums_of_exponentials(library: Library) -> None:
    x = np.asarray([[1000.0, 999.0, -3.0], [0.0, -np.inf, 2.0]])
    b = np.asarray([[1.0, -0.5, 2.0], [1.0, 3.0, 0.0]])
    for axis in (None, 1, (0, 1)):
        for keepdims in (False, True):
            got = special.logsumexp(library.array(x), axis, library.array(b), keepdims)
            want = scipy_special.logsumexp(x, axis, b, keepdims)
            np.testing.assert_allclose(library.numpy(got), want)
        for name in ("softmax", "log_softmax"):
            got = getattr(special, name)(library.array(x), axis)
            np.testing.assert_allclose(library.numpy(got), getattr(scipy_special, name)(x, axis), atol=1e-300)


def test_weighted_sum_of_exponentials_has_a_gradient() -> None:
    a, b = np.asarray([[0.3, 1.0], [2.0, -1.0]]), np.asarray([[1.0, 0.5], [0.0, 2.0]])
    check_gradient(lambda x, w: special.logsumexp(x, 1, w), a, b)


def test_recorded_of_unknown_length() -> None:
    x, y = placeholder(ndim=1), placeholder(ndim=1)
    run = function([x, y], special.gammainc(x, y))
    np.testing.assert_allclose(run(np.ones(3, np.float32), np.ones(3, np.float32)), np.full(3, 1 - math.exp(-1)), 1e-6)


@pytest.mark.at_night("jax")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "bool"])
def test_dtype(dtype: str, library: Library) -> None:
    want = {"float16": "float16", "float64": "float64", "int64": "float64"}.get(dtype, "float32")
    if library.name == "array_api_strict" and dtype == "float16":
        pytest.skip("the standard has no float16")
    x = library.array(np.ones(3), dtype)
    assert library.numpy(special.betainc(x, 2.0, 0.5)).dtype == want
    assert library.numpy(special.erf(x)).dtype == want
    if dtype != "float16":
        assert str(tape_xp.special.erf(Variable(library.array(np.ones(3), dtype))).dtype) == want


def test_numbers_and_refusals() -> None:
    assert array_namespace(special.gammaln(2.5)) is get_namespace("numpy")
    with pytest.raises(TypeError, match="gammaln is a function of real numbers, argument 1 is complex128"):
        special.gammaln(np.ones(2) * 1j)
    with pytest.raises(TypeError, match="xlogy is a function of real numbers, argument 2 is complex64"):
        special.xlogy(Variable(np.ones(2)), np.ones(2, np.complex64))
    for x in (np.ones(2), Variable(np.ones(2))):
        with pytest.raises(ValueError, match="n must be 0 or more, got -1"):
            special.polygamma(-1, x)


def test_scipy_finds_them_for_tensors() -> None:
    """SciPy's own functions, given Tensors, record ours."""
    pytest.importorskip("scipy", SINCE["scipy"])
    x = Variable(np.asarray([0.5, 2.0]))
    for name in ("gammaln", "psi", "erfcx", "ndtri", "i0e", "entr"):
        tensor = getattr(scipy_special, name)(x)
        assert tensor.node.op.name.startswith("special."), name
        np.testing.assert_allclose(evaluate(tensor), getattr(scipy_special, name)(np.asarray([0.5, 2.0])))


def test_of_numpy_arrays_import_no_other_library() -> None:
    """Importing Dask takes seconds."""
    code = (
        "import sys, numpy as np, nbm_xp.special as s; s.gammaln(np.ones(1)); s.zeta(np.ones(1) + 1.0)\n"
        "print({'dask', 'torch', 'jax', 'cupy'} & set(sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
