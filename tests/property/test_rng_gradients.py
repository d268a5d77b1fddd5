"""Gradients of random numbers in the parameters of their distributions: exact for each number, and in expectation."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace.special import special_of
from nbm_xp.rng import Generator
from nbm_xp.rng.distributions import DISTRIBUTIONS
from nbm_xp.rng.distributions.derivatives import log_gamma_in_shape, logit_beta_in_a
from nbm_xp.tape import Variable, function, gradients, placeholder
from nbm_xp.tape import namespace as recorded
from tests.helpers.libraries import EVERYWHERE, libraries

SEED = 20
SHAPES = (0.1, 0.5, 1.0, 2.0, 20.0)
BOUND = 4.0  # standard errors

PARAMETERS: dict[str, dict[str, float]] = {
    name: dict(zip(found.rules, found.example, strict=True))
    for name, found in DISTRIBUTIONS.items()
    if found.kind != "count" and found.rules
} | {
    "gumbel": {"loc": 1e3, "scale": 0.5}, "laplace": {"loc": 1e3, "scale": 0.5}, "gamma": {"shape": 0.7, "scale": 2.0},
    "beta": {"a": 0.7, "b": 2.5},
}  # fmt: skip
"""For each distribution with a gradient, parameters at which it is computed."""

COUNTS: dict[str, tuple[Any, ...]] = {
    "bernoulli": (0.5,), "binomial": (5, 0.5), "categorical": ([0.5, 0.5],), "choice": (2, 3, True, [0.5, 0.5]),
    "geometric": (0.5,), "logseries": (0.5,), "multinomial": (5, [0.5, 0.5]), "negative_binomial": (5.0, 0.5),
    "poisson": (2.0,), "zipf": (2.5,),
}  # fmt: skip
"""Arguments of the counts, of which the last is differentiated."""


def numbers_and_slopes(name: str, n: int, within: str, **parameters: float) -> tuple[Any, Any]:
    """Numbers of a distribution, and the derivative of each in one parameter."""
    own = Variable(np.full(n, parameters[within]))
    x = getattr(Generator(SEED), name)(**{**parameters, within: own}, size=n, dtype="float64")
    return x.eval(), gradients(recorded.sum(x), own).eval()


def assert_mean(values: Any, expected: float) -> None:
    """The mean of independent values is as expected, within four standard errors."""
    error = values.std() / values.size**0.5
    assert abs(values.mean() - expected) <= BOUND * error, ((values.mean() - expected) / error, expected)


@pytest.mark.parametrize("shape", [1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 30.0, 1e3, 1e5])
def test_gamma_numbers_move_as_quantiles(shape: float) -> None:
    special = pytest.importorskip("scipy.special")
    u = np.asarray([1e-6, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0 - 1e-6])
    step = 1e-4 * shape
    if shape < 0.01:
        u = u[:3]

    def log_quantile(a: float) -> Any:
        if shape < 0.01:  # below all doubles, and the series has one term
            return (np.log(u) + special.gammaln(a + 1.0)) / a
        return np.log(special.gammaincinv(a, u))

    weights = ((1, 8.0), (2, -1.0))
    expected = sum(w * (log_quantile(shape + k * step) - log_quantile(shape - k * step)) for k, w in weights)
    found = log_gamma_in_shape(np.asarray([shape]), log_quantile(shape))
    np.testing.assert_allclose(found, expected / (12.0 * step), rtol=1e-6)


@pytest.mark.parametrize(
    ("a", "b"), [(0.1, 0.1), (0.1, 2.0), (1.0, 1.0), (2.0, 0.5), (20.0, 0.5), (300.0, 2.0), (1e3, 1e4)]
)
def test_beta_numbers_move_as_quantiles(a: float, b: float) -> None:
    special = pytest.importorskip("scipy.special")
    u, step = np.asarray([0.01, 0.3, 0.5, 0.7, 0.99]), 1e-4 * a

    def logit(a: float) -> Any:
        return np.log(special.betaincinv(a, b, u)) - np.log(special.betaincinv(b, a, 1.0 - u))

    expected = sum(w * (logit(a + k * step) - logit(a - k * step)) for k, w in ((1, 8.0), (2, -1.0))) / (12.0 * step)
    np.testing.assert_allclose(logit_beta_in_a(np.asarray([a]), np.asarray([b]), logit(a)), expected, rtol=1e-6)


QUANTILES: dict[str, Any] = {
    "noncentral_chisquare": (lambda stats, df, nonc: stats.ncx2(df, nonc), ("nonc",)),
    "chisquare": (lambda stats, df: stats.chi2(df), ("df",)),
    "gamma": (lambda stats, shape, scale: stats.gamma(shape, scale=scale), ("shape", "scale")),
    "beta": (lambda stats, a, b: stats.beta(a, b), ("a", "b")),
    "gumbel": (lambda stats, loc, scale: stats.gumbel_r(loc, scale), ("loc", "scale")),
    "truncated_normal": (lambda stats, loc, scale: stats.truncnorm(-2, 2, loc, scale), ("loc", "scale")),
    "lognormal": (lambda stats, mean, sigma: stats.lognorm(sigma, scale=np.exp(mean)), ("mean", "sigma")),
    "pareto": (lambda stats, a: stats.lomax(a), ("a",)),
    "power": (lambda stats, a: stats.powerlaw(a), ("a",)),
    "weibull": (lambda stats, a: stats.weibull_min(a), ("a",)),
    "triangular": (
        lambda stats, left, mode, right: stats.triang((mode - left) / (right - left), left, right - left),
        ("left", "mode", "right"),
    ),
    "wald": (lambda stats, mean, scale: stats.invgauss(mean / scale, scale=scale), ("mean", "scale")),
    "vonmises": (lambda stats, mu, kappa: stats.vonmises(kappa, loc=mu), ("mu", "kappa")),
}


@pytest.mark.parametrize(("name", "within"), [(name, p) for name, (_, found) in QUANTILES.items() for p in found])
def test_each_number_moves_at_a_fixed_probability(name: str, within: str) -> None:
    stats, optimize = pytest.importorskip("scipy.stats"), pytest.importorskip("scipy.optimize")
    x, slopes = numbers_and_slopes(name, 40, within, **PARAMETERS[name])
    step, ends = 1e-4 * abs(PARAMETERS[name][within]), []
    for sign in (-1.0, 1.0):
        moved = PARAMETERS[name] | {within: PARAMETERS[name][within] + sign * step}
        ends.append(QUANTILES[name][0](stats, **moved))
    here = QUANTILES[name][0](stats, **PARAMETERS[name])
    for number, slope in zip(x, slopes, strict=True):
        p = here.cdf(number)
        if 1e-3 < p < 0.999:
            reach = 3.0 * step * (1.0 + abs(slope))
            apart = [
                optimize.brentq(lambda t, end=end, p=p: end.cdf(t) - p, number - reach, number + reach, xtol=1e-14)
                for end in ends
            ]
            wanted = (apart[1] - apart[0]) / (2.0 * step)
            assert slope == pytest.approx(wanted, rel=1e-5, abs=1e-6), (name, within, number)


def test_dirichlet_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    alpha = torch.tensor([0.5, 2.0, 20.0], dtype=torch.float64, requires_grad=True)
    rows = alpha.expand(500, 3)
    x, weights = Generator(SEED, "torch").dirichlet(rows, dtype="float64"), torch.arange(3.0, dtype=torch.float64)
    (found,) = torch.autograd.grad((x * weights).sum(), rows)
    own = torch._dirichlet_grad(x, rows, rows.sum(-1, keepdim=True).expand(500, 3))
    expected = own * (weights - (x * weights).sum(-1, keepdim=True))
    torch.testing.assert_close(found, expected.detach(), rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("name", PARAMETERS)
def test_numbers_and_gradients_of_all_libraries_are_those_of_the_tape(name: str) -> None:
    parameters, weights = PARAMETERS[name], np.linspace(0.5, 2.0, 12).astype("float32").reshape(3, 4)
    variables = {p: Variable(np.asarray(value, "float32")) for p, value in parameters.items()}
    x = getattr(Generator(SEED), name)(**variables, size=(3, 4), dtype="float32")
    expected = [g.eval() for g in gradients(recorded.sum(x * weights), list(variables.values()))]
    plain = getattr(Generator(SEED), name)(**{p: v.eval() for p, v in variables.items()}, size=(3, 4), dtype="float32")
    np.testing.assert_array_equal(x.eval(), plain)
    if find_spec("torch"):
        import torch

        tensors = {p: torch.tensor(v.eval(), requires_grad=True) for p, v in variables.items()}
        x = getattr(Generator(SEED), name)(**tensors, size=(3, 4), dtype="float32")
        found = torch.autograd.grad((x * torch.tensor(weights)).sum(), list(tensors.values()))
        np.testing.assert_array_equal(x.detach(), plain)
        np.testing.assert_allclose([float(g) for g in found], expected, rtol=2e-5, atol=1e-5)
    if find_spec("jax") and (EVERYWHERE or name == "exponential"):
        import jax

        def total(given: dict[str, Any]) -> Any:
            return (getattr(Generator(SEED, "jax"), name)(**given, size=(3, 4), dtype="float32") * weights).sum()

        own = {p: jax.numpy.asarray(v.eval()) for p, v in variables.items()}
        by_name = jax.grad(total)(own)
        np.testing.assert_allclose([float(by_name[p]) for p in own], expected, rtol=2e-5, atol=1e-5)


def _psi(order: int, x: float) -> float:
    return float(special_of(np.ones(1)).polygamma(order, np.asarray([x]))[0])


@pytest.mark.parametrize("n", [100_000, pytest.param(3_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("a", SHAPES)
def test_expectations_of_gamma_and_beta_numbers(a: float, n: int) -> None:
    x, slopes = numbers_and_slopes("standard_gamma", n, "shape", shape=a)
    assert_mean(slopes, 1.0)
    some = x > 1e-290
    assert_mean(np.where(some, slopes / np.where(some, x, 1.0), _psi(1, a)), _psi(1, a))
    for b in (0.5, 3.0):
        for within, other in (("a", b), ("b", a)):
            x, slopes = numbers_and_slopes("beta", n, within, a=a, b=b)
            sign = 1.0 if within == "a" else -1.0
            assert_mean(slopes, sign * other / (a + b) ** 2)
            below, above = slopes / x, -slopes / (1.0 - x)
            both = -_psi(1, a + b)
            assert_mean(below, both + (_psi(1, a) if within == "a" else 0.0))
            finite = x < 1.0 - 1e-12
            if a < 2.0 or b > 1.0:
                assert_mean(above[finite], both + (_psi(1, b) if within == "b" else 0.0))


@pytest.mark.parametrize("df", [0.5, 3.0])
def test_expectations_of_ratios(df: float) -> None:
    n, trigamma = 200_000, _psi(1, 0.5 * df)
    x, slopes = numbers_and_slopes("standard_t", n, "df", df=df)
    assert_mean(slopes / x, 0.5 / df - 0.25 * trigamma)
    x, slopes = numbers_and_slopes("f", n, "dfnum", dfnum=df, dfden=9.0)
    assert_mean(slopes / x, 0.5 * trigamma - 1.0 / df)
    x, slopes = numbers_and_slopes("f", n, "dfden", dfnum=9.0, dfden=df)
    assert_mean(slopes / x, 1.0 / df - 0.5 * trigamma)
    for within, second in (("df", 2.0), ("nonc", 4.0)):
        x, slopes = numbers_and_slopes("noncentral_chisquare", n, within, df=df, nonc=2.0)
        assert_mean(slopes, 1.0)
        assert_mean(2.0 * x * slopes, 2.0 * (df + 2.0) + second)
    mean = 20.0 * (df + 2.0) / (df * 18.0)
    for within, slope in (("dfnum", 20.0 / (18.0 * df) - mean / df), ("nonc", 20.0 / (18.0 * df))):
        _, slopes = numbers_and_slopes("noncentral_f", n, within, dfnum=df, dfden=20.0, nonc=2.0)
        assert_mean(slopes, slope)
    _, slopes = numbers_and_slopes("noncentral_f", n, "dfden", dfnum=df, dfden=20.0, nonc=2.0)
    assert_mean(slopes, mean * (1.0 / 20.0 - 1.0 / 18.0))


def test_normal_vectors_move_with_their_factor() -> None:
    torch = pytest.importorskip("torch")
    mean = torch.tensor([1.0, -1.0], dtype=torch.float64, requires_grad=True)
    cov = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    x = Generator(SEED).multivariate_normal(mean, cov, size=5, dtype="float64")
    z = torch.linalg.solve_triangular(torch.linalg.cholesky(cov), (x - mean).T, upper=False).T.detach()
    again = mean + z @ torch.linalg.cholesky(cov).T
    found, expected = (torch.autograd.grad((y**2).sum(), (mean, cov), retain_graph=True) for y in (x, again))
    torch.testing.assert_close(found[0], expected[0])
    torch.testing.assert_close(found[1] + found[1].T, expected[1] + expected[1].T)
    own = [Variable(v.detach().numpy()) for v in (mean, cov)]
    y = Generator(SEED).multivariate_normal(*own, size=5, dtype="float64")
    np.testing.assert_allclose(y.eval(), x.detach(), rtol=1e-12)
    np.testing.assert_allclose(gradients(recorded.sum(y**2), own[1]).eval(), expected[1], rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_gradient_has_the_dtype_of_its_parameter(dtype: str) -> None:
    shape = Variable(np.asarray([0.5, 2.0]), dtype=dtype)
    for of_numbers in ("float32", "float64"):
        x = Generator(SEED).gamma(shape, dtype=of_numbers)
        assert (x.dtype, gradients(recorded.sum(x), shape).dtype) == (of_numbers, dtype)


def test_a_recorded_draw_keeps_its_uniforms() -> None:
    rng, scale = Generator(SEED), Variable(np.asarray(1.0))
    shape = Variable(np.asarray([0.5, 2.0]))
    x, later = rng.gamma(shape, scale, dtype="float64"), rng.gamma(shape, dtype="float64")
    first = x.eval()
    np.testing.assert_array_equal(x.eval(), first)
    assert not np.any(later.eval() == first)
    scale.set_value(np.asarray(3.0))
    shape.set_value(np.asarray([4.0, 5.0]))
    np.testing.assert_array_equal(x.eval(), Generator(SEED).gamma(np.asarray([4.0, 5.0]), 3.0, dtype="float64"))
    shape.set_value(np.asarray([-1.0, 5.0]))
    with pytest.raises(ValueError, match="shape must be finite and 0 or more"):
        x.eval()


def test_second_derivatives_are_those_of_lines_or_errors() -> None:
    shape, scale = Variable(np.asarray(2.0)), Variable(np.asarray(3.0))
    x = Generator(SEED).laplace(1.0, scale, size=4, dtype="float64")
    slope = gradients(recorded.sum(x**3), scale)
    z = Generator(SEED).laplace(size=4, dtype="float64")
    np.testing.assert_allclose(gradients(slope, scale).eval(), np.sum(6.0 * x.eval() * z**2))
    slope = gradients(recorded.sum(Generator(SEED).gamma(shape, scale, size=4) ** 2), shape)
    with pytest.raises(NotImplementedError, match="gamma distribution has first derivatives in shape, scale, but no"):
        gradients(slope, shape)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_second_derivatives_of_libraries(library: str) -> None:
    module: Any = pytest.importorskip(library)

    def square(name: str, scale: Any) -> Any:
        parameters = (1.0, scale) if name == "laplace" else (scale,)
        return (getattr(Generator(SEED, library), name)(*parameters, size=4, dtype="float32") ** 2).sum()

    if library == "torch":
        at = module.tensor(3.0)
        hessian = lambda name: module.autograd.functional.hessian(lambda scale: square(name, scale), at)  # noqa: E731
    else:
        at, hessian = 3.0, lambda name: module.jit(module.hessian(lambda scale: square(name, scale)))(at)
    z = Generator(SEED).laplace(size=4, dtype="float64")
    assert float(hessian("laplace")) == pytest.approx(2.0 * np.sum(z**2), rel=1e-5)
    with pytest.raises(NotImplementedError, match="first derivatives in shape, but no second ones"):
        hessian("standard_gamma")


@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_no_gradient(name: str) -> None:
    *first, last = COUNTS[name]
    size = () if name == "choice" else (3,)
    keywords = {"size": size} if size else {}
    rng = Generator(SEED)
    with pytest.raises(TypeError, match=r"must be a number or an array \(RandomStreams takes Tensors\)"):
        getattr(rng, name)(*first, Variable(np.asarray(last)), **keywords)
    if find_spec("torch"):
        import torch

        p = torch.tensor(last, requires_grad=True)
        with pytest.raises(ValueError, match=r"must not require a gradient, for .* has none in it"):
            getattr(rng, name)(*first, p, **keywords)
        with torch.no_grad():
            getattr(Generator(SEED), name)(*first, p, **keywords)
        getattr(Generator(SEED), name)(*first, p.detach(), **keywords)
    if find_spec("jax"):
        import jax

        def total(p: Any) -> Any:
            return getattr(rng, name)(*first, p, **keywords).astype("float32").sum()

        with pytest.raises(ValueError, match=r"must not require a gradient, for .* has none in it"):
            jax.grad(total)(jax.numpy.asarray(last))
    assert rng == Generator(SEED)


def test_a_tensor_of_unknown_length_is_an_error_before_anything_is_drawn() -> None:
    rng = Generator(SEED)
    with pytest.raises(TypeError, match="parameters must have known shapes"):
        rng.gamma(placeholder((None,), dtype="float64"))
    with pytest.raises(ValueError, match="scale must be finite and 0 or more"):
        rng.gamma(Variable(2.0), -1.0)
    assert rng == Generator(SEED)


@pytest.mark.parametrize("library", libraries("dask"))
def test_blocks_have_the_numbers_and_gradients_of_the_whole(library: Any) -> None:
    values, shape = np.linspace(0.3, 5.0, 30), placeholder((30,), dtype="float64")
    x = Generator(SEED).gamma(shape, dtype="float64")
    both = function([shape], [x, gradients(recorded.sum(x**2), shape)])
    for found, expected in zip(both(library.array(values)), both(values), strict=True):
        np.testing.assert_allclose(library.numpy(found), expected, rtol=1e-12)
