"""Cases of SciPy, whose functions written for the array API standard are found under ``SCIPY_ARRAY_API=1``."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import scipy
from array_api_compat import array_namespace
from scipy import differentiate, fft, ndimage, optimize, signal, special, stats
from scipy.optimize import elementwise  # noqa: F401  (a module of its own)

from tests.helpers.tables.case import values
from tests.interop import Foreign, foreign

__all__ = ["CASES"]

X = values(4, 5)
Y = values(4, 5, low=-1.0)
POSITIVE = values(4, 5, low=0.2, high=3.0)
V = values(12)
P = values(12, low=0.1, high=1.0)


def _derivative(x: Any) -> Any:
    xp = array_namespace(x)
    from scipy.differentiate import derivative

    return derivative(xp.sin, x, maxiter=2).df


def _rotation(q: Any, v: Any) -> Any:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q).apply(v)


def _rotation_vector(q: Any) -> Any:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q).as_rotvec()


def _rotation_of_matrix(matrix: Any) -> Any:
    """SciPy makes matrices orthogonal by assigning to its input."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(matrix).as_quat()


def _cube(x: Any) -> Any:
    return x**3


def _spline(x: Any, y: Any) -> Any:
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(array_namespace(x).linspace(0.0, 1.0, x.shape[0], dtype=x.dtype), x * y).c


def _blurred_over(x: Any) -> Any:
    """Written to what is handed over for it."""
    output = array_namespace(x).zeros_like(x)
    ndimage.gaussian_filter(x, 1.0, output=output)
    return output


def _root(x: Any) -> Any:
    ends = (array_namespace(x).zeros_like(x), x + 2.0)
    return optimize.elementwise.find_root(lambda t, c: t * t - c, ends, args=(x,), maxiter=5).x  # all later are alike


def _minimum(x: Any) -> Any:
    bracket = (x - 2.0, x + 0.1, x + 3.0)
    return optimize.elementwise.find_minimum(lambda t, c: (t - c) ** 2, bracket, args=(x,), maxiter=2).x


def _bracket_of_root(x: Any) -> Any:
    return optimize.elementwise.bracket_root(lambda t, c: t - c, x - 0.5, args=(x,)).bracket


def _bracket_of_minimum(x: Any) -> Any:
    return optimize.elementwise.bracket_minimum(lambda t, c: (t - c) ** 2, x - 0.5, args=(x,)).bracket


def _section(x: Any) -> Any:
    """A filter of one section, of its five free coefficients."""
    xp = array_namespace(x)
    return xp.concat([x[:3], xp.ones_like(x[:1]), 0.3 * x[3:]])[None, :]


def _monte_carlo(x: Any) -> Any:
    xp = array_namespace(x)
    drawn = np.random.default_rng(0)
    return stats.monte_carlo_test(
        x, lambda size: xp.asarray(drawn.normal(size=size)), lambda a, axis: xp.mean(a, axis=axis), n_resamples=9
    ).statistic


def _permutations(x: Any, y: Any) -> Any:
    xp = array_namespace(x)

    def difference(a: Any, b: Any, axis: int) -> Any:
        return xp.mean(a, axis=axis) - xp.mean(b, axis=axis)

    return stats.permutation_test((x, y), difference, vectorized=True, n_resamples=9, rng=0).null_distribution


NEARLY_ORTHOGONAL = np.stack([np.eye(3), np.eye(3)[[1, 2, 0]]]) + values(2, 3, 3, low=-0.1, high=0.1)

REVERSED = POSITIVE[::-1].copy()


def named(path: str, *arrays: Any, name: str = "", **options: Any) -> Foreign:
    """SciPy's function of arrays, then of options."""
    function = functools.reduce(getattr, path.split("."), scipy)
    return foreign(name or path, lambda *given: function(*given, **options), *arrays)


def refused(path: str, *arrays: Any, **options: Any) -> Foreign:
    """One that SciPy computes in NumPy."""
    return dataclasses.replace(named(path, *arrays, **options), smooth=False, refused=True)


CASES: list[Foreign] = [
    *(named(f"special.{name}", X, axis=1) for name in ("logsumexp", "softmax", "log_softmax")),
    *(named(f"special.{name}", X) for name in ("expit", "ndtr", "i1e", "j1")),
    *(named(f"special.{name}", POSITIVE) for name in ("entr", "gammaln", "psi")),
    *(named(f"special.{name}", 0.9 * P) for name in ("logit", "erfinv")),
    *(named(f"special.{name}", POSITIVE, REVERSED) for name in ("rel_entr", "gammainc", "kl_div")),
    *(named(f"special.{name}", POSITIVE, REVERSED, 0.2 + 0.1 * POSITIVE) for name in ("betainc", "betaincc")),
    named("special.xlogy", X, POSITIVE), named("special.stdtr", POSITIVE, X),
    foreign("special.logsumexp-weighted", lambda x, b: special.logsumexp(x, axis=0, b=b), X, POSITIVE),
    foreign("special.logsumexp-large", lambda x: special.logsumexp(x + 1000.0, axis=1), X),
    foreign("special.polygamma", lambda x: special.polygamma(2, x), POSITIVE),
    foreign("special.zeta", lambda x: special.zeta(x + 2.0), POSITIVE),
    *(
        named(f"stats.{name}", X, axis=1)
        for name in ("zscore", "skew", "sem", "tmean", "tvar", "circmean", "circvar", "lmoment")
    ),
    *(named(f"stats.{name}", POSITIVE, axis=1) for name in ("variation", "gmean", "hmean", "gzscore", "gstd")),
    *(named(f"stats.{name}", V, limits=(-0.7, 0.8), name=f"stats.{name}-limits") for name in ("tvar", "tstd", "tsem")),
    named("stats.zmap", X, Y, axis=1), named("stats.kurtosis", X, axis=0, bias=False),
    named("stats.moment", X, order=3, axis=1), named("stats.entropy", POSITIVE, REVERSED, axis=1),
    named("stats.differential_entropy", V, method="vasicek"),
    foreign("stats.pmean", lambda x: stats.pmean(x, 3, axis=1), POSITIVE),
    foreign("stats.pearsonr", lambda x, y: stats.pearsonr(x, y, axis=1).statistic, X, Y),
    foreign("stats.ttest_1samp", lambda x: stats.ttest_1samp(x, 0.3, axis=1).statistic, X),
    foreign("stats.ttest_ind", lambda x, y: stats.ttest_ind(x, y, axis=1).statistic, X, Y),
    foreign("stats.ttest_rel", lambda x, y: stats.ttest_rel(x, y, axis=1).statistic, X, POSITIVE),
    foreign("stats.jarque_bera", lambda x: stats.jarque_bera(x, axis=0).statistic, X),
    foreign("stats.power_divergence", lambda x: stats.power_divergence(x, axis=1).statistic, POSITIVE),
    foreign("stats.ttest_ind-pvalue", lambda x, y: stats.ttest_ind(x, y, axis=1).pvalue, X, Y),
    foreign("stats.pearsonr-pvalue", lambda x, y: stats.pearsonr(x, y, axis=1).pvalue, X, Y),
    foreign("stats.power_divergence-pvalue", lambda x: stats.power_divergence(x, axis=1).pvalue, POSITIVE),
    foreign("stats.directional_stats", lambda x: stats.directional_stats(x).mean_direction, X),
    foreign("stats.boxcox_llf", lambda x: stats.boxcox_llf(0.5, x), P),
    foreign("stats.rankdata", lambda x: stats.rankdata(x, axis=1), X, smooth=False),
    foreign("stats.quantile", lambda x: stats.quantile(x, 0.4, axis=1), X),
    foreign("stats.monte_carlo_test", _monte_carlo, V), foreign("stats.permutation_test", _permutations, V[:4], P[:4]),
    refused("signal.detrend", X, type="constant"), named("signal.fftconvolve", X, Y, mode="same"),
    named("signal.hilbert", X, axis=1),
    foreign("signal.freqz_sos", lambda x: signal.freqz_sos(_section(x), worN=5)[1], V[:5]),
    named("fft.rfft", X, axis=1), named("fft.fftn", X),
    foreign("fft.irfft", lambda x: fft.irfft(fft.rfft(x, axis=1) * 2.0, n=5, axis=1), X),
    named("integrate.trapezoid", X, np.sort(Y, axis=1), axis=1), named("integrate.cumulative_trapezoid", X, axis=1),
    named("cluster.vq.whiten", X), foreign("differentiate.derivative", _derivative, V, rtol=1e-6),
    foreign("differentiate.jacobian", lambda x: differentiate.jacobian(_cube, x, maxiter=2).df, V[:3], rtol=1e-6),
    foreign("interpolate.make_interp_spline", _spline, V, np.sort(P), smooth=False, refused=True),
    named("linalg.block_diag", X, Y), named("linalg.fiedler", np.sort(V)),
    named("linalg.orthogonal_procrustes", X[:, :3], Y[:, :3]), refused("ndimage.gaussian_filter", X, sigma=1.0),
    refused("ndimage.mean", X), refused("ndimage.zoom", X, zoom=2),
    foreign("ndimage.gaussian_filter-output", _blurred_over, X, smooth=False, refused=True),
    foreign("ndimage.label", lambda x: ndimage.label(x > 0.0)[0], X, smooth=False),
    *(named(f"optimize.{name}", X) for name in ("rosen", "rosen_der")), named("optimize.rosen_hess", V),
    named("optimize.rosen_hess_prod", V, P), foreign("optimize.elementwise.bracket_minimum", _bracket_of_minimum, V),
    foreign("optimize.elementwise.bracket_root", _bracket_of_root, V),
    foreign("optimize.elementwise.find_minimum", _minimum, V, rtol=1e-6),
    foreign("optimize.elementwise.find_root", _root, P),
    foreign("spatial.transform.Rotation.apply", _rotation, values(2, 4), values(2, 3)),
    foreign("spatial.transform.Rotation.from_matrix", _rotation_of_matrix, NEARLY_ORTHOGONAL),
    foreign("spatial.transform.Rotation.as_rotvec", _rotation_vector, values(2, 4)),
]  # fmt: skip
