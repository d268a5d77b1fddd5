"""Cases of SciPy, whose functions written for the array API standard are found under ``SCIPY_ARRAY_API=1``."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from array_api_compat import array_namespace
from scipy import cluster, differentiate, fft, integrate, linalg, ndimage, optimize, signal, special, stats
from scipy.optimize import elementwise  # noqa: F401  (a module of its own)

from tests.helpers.tables.case import values
from tests.interop.case import Foreign, foreign

__all__ = ["CASES", "SIMPSON_LEAVES"]

SIMPSON_LEAVES = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)
"""Until then SciPy's `simpson` computes on NumPy whatever it is given."""

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
        x,
        lambda size: xp.asarray(drawn.normal(size=size)),
        lambda a, axis: xp.mean(a, axis=axis),
        n_resamples=9,
    ).statistic


def _permutations(x: Any, y: Any) -> Any:
    xp = array_namespace(x)

    def difference(a: Any, b: Any, axis: int) -> Any:
        return xp.mean(a, axis=axis) - xp.mean(b, axis=axis)

    return stats.permutation_test((x, y), difference, vectorized=True, n_resamples=9, rng=0).null_distribution


NEARLY_ORTHOGONAL = np.stack([np.eye(3), np.eye(3)[[1, 2, 0]]]) + values(2, 3, 3, low=-0.1, high=0.1)

CASES: list[Foreign] = [
    foreign("special.logsumexp", lambda x: special.logsumexp(x, axis=1), X),
    foreign("special.logsumexp-weighted", lambda x, b: special.logsumexp(x, axis=0, b=b), X, POSITIVE),
    foreign("special.softmax", lambda x: special.softmax(x, axis=1), X),
    foreign("special.log_softmax", lambda x: special.log_softmax(x, axis=1), X),
    foreign("special.xlogy", lambda x, y: special.xlogy(x, y), X, POSITIVE),
    foreign("special.rel_entr", lambda x, y: special.rel_entr(x, y), POSITIVE, POSITIVE[::-1].copy()),
    foreign("special.entr", lambda x: special.entr(x), POSITIVE),
    foreign("special.expit", lambda x: special.expit(x), X),
    foreign("special.logit", lambda x: special.logit(x), 0.9 * P),
    foreign("special.ndtr", lambda x: special.ndtr(x), X),
    foreign("special.gammaln", lambda x: special.gammaln(x), POSITIVE),
    foreign("stats.zscore", lambda x: stats.zscore(x, axis=1), X),
    foreign("stats.zmap", lambda x, y: stats.zmap(x, y, axis=1), X, Y),
    foreign("stats.skew", lambda x: stats.skew(x, axis=1), X),
    foreign("stats.kurtosis", lambda x: stats.kurtosis(x, axis=0, bias=False), X),
    foreign("stats.moment", lambda x: stats.moment(x, order=3, axis=1), X),
    foreign("stats.variation", lambda x: stats.variation(x, axis=1), POSITIVE),
    foreign("stats.sem", lambda x: stats.sem(x, axis=1), X),
    foreign("stats.gmean", lambda x: stats.gmean(x, axis=1), POSITIVE),
    foreign("stats.hmean", lambda x: stats.hmean(x, axis=1), POSITIVE),
    foreign("stats.pmean", lambda x: stats.pmean(x, 3, axis=1), POSITIVE),
    foreign("stats.gzscore", lambda x: stats.gzscore(x, axis=1), POSITIVE),
    foreign("stats.gstd", lambda x: stats.gstd(x, axis=1), POSITIVE),
    foreign("stats.tmean", lambda x: stats.tmean(x, axis=1), X),
    foreign("stats.tvar", lambda x: stats.tvar(x, axis=1), X),
    foreign("stats.entropy", lambda x, y: stats.entropy(x, y, axis=1), POSITIVE, POSITIVE[::-1].copy()),
    foreign("stats.differential_entropy", lambda x: stats.differential_entropy(x, method="vasicek"), V),
    foreign("stats.pearsonr", lambda x, y: stats.pearsonr(x, y, axis=1).statistic, X, Y),
    foreign("stats.ttest_1samp", lambda x: stats.ttest_1samp(x, 0.3, axis=1).statistic, X),
    foreign("stats.ttest_ind", lambda x, y: stats.ttest_ind(x, y, axis=1).statistic, X, Y),
    foreign("stats.ttest_rel", lambda x, y: stats.ttest_rel(x, y, axis=1).statistic, X, POSITIVE),
    foreign("stats.jarque_bera", lambda x: stats.jarque_bera(x, axis=0).statistic, X),
    foreign("stats.power_divergence", lambda x: stats.power_divergence(x, axis=1).statistic, POSITIVE),
    foreign("stats.ttest_ind-pvalue", lambda x, y: stats.ttest_ind(x, y, axis=1).pvalue, X, Y),
    foreign("stats.pearsonr-pvalue", lambda x, y: stats.pearsonr(x, y, axis=1).pvalue, X, Y),
    foreign("stats.power_divergence-pvalue", lambda x: stats.power_divergence(x, axis=1).pvalue, POSITIVE),
    foreign("special.betainc", special.betainc, POSITIVE, POSITIVE[::-1].copy(), 0.2 + 0.1 * POSITIVE),
    foreign("special.gammainc", special.gammainc, POSITIVE, POSITIVE[::-1].copy()),
    foreign("special.psi", special.psi, POSITIVE),
    foreign("special.polygamma", lambda x: special.polygamma(2, x), POSITIVE),
    foreign("special.zeta", lambda x: special.zeta(x + 2.0), POSITIVE),
    foreign("special.i1e", special.i1e, X),
    foreign("special.j1", special.j1, X),
    foreign("special.kl_div", special.kl_div, POSITIVE, POSITIVE[::-1].copy()),
    foreign("special.stdtr", special.stdtr, POSITIVE, X),
    foreign("special.erfinv", special.erfinv, 0.9 * P),
    foreign("stats.circmean", lambda x: stats.circmean(x, axis=1), X),
    foreign("stats.circvar", lambda x: stats.circvar(x, axis=1), X),
    foreign("stats.directional_stats", lambda x: stats.directional_stats(x).mean_direction, X),
    foreign("stats.boxcox_llf", lambda x: stats.boxcox_llf(0.5, x), P),
    foreign("stats.lmoment", lambda x: stats.lmoment(x, axis=1), X),
    foreign("stats.rankdata", lambda x: stats.rankdata(x, axis=1), X, smooth=False),
    foreign("stats.quantile", lambda x: stats.quantile(x, 0.4, axis=1), X),
    foreign("signal.detrend", lambda x: signal.detrend(x, type="constant"), X, smooth=False, refused=True),
    foreign("signal.fftconvolve", lambda x, y: signal.fftconvolve(x, y, mode="same"), X, Y),
    foreign("signal.hilbert", lambda x: signal.hilbert(x, axis=1), X),
    foreign("fft.rfft", lambda x: fft.rfft(x, axis=1), X),
    foreign("fft.irfft", lambda x: fft.irfft(fft.rfft(x, axis=1) * 2.0, n=5, axis=1), X),
    foreign("fft.fftn", lambda x: fft.fftn(x), X),
    foreign("integrate.trapezoid", lambda x, y: integrate.trapezoid(x, y, axis=1), X, np.sort(Y, axis=1)),
    foreign(
        "integrate.simpson", lambda x: integrate.simpson(x, dx=0.5, axis=1), X, smooth=False, refused=SIMPSON_LEAVES
    ),
    foreign("integrate.cumulative_trapezoid", lambda x: integrate.cumulative_trapezoid(x, axis=1), X),
    foreign("cluster.vq.whiten", lambda x: cluster.vq.whiten(x), X),
    foreign("differentiate.derivative", _derivative, V, rtol=1e-6),
    foreign("differentiate.jacobian", lambda x: differentiate.jacobian(_cube, x, maxiter=2).df, V[:3], rtol=1e-6),
    foreign("interpolate.make_interp_spline", _spline, V, np.sort(P), smooth=False, refused=True),
    foreign("linalg.block_diag", lambda x, y: linalg.block_diag(x, y), X, Y),
    foreign("linalg.fiedler", lambda x: linalg.fiedler(x), np.sort(V)),
    foreign("linalg.orthogonal_procrustes", linalg.orthogonal_procrustes, X[:, :3], Y[:, :3]),
    foreign("ndimage.gaussian_filter", lambda x: ndimage.gaussian_filter(x, 1.0), X, smooth=False, refused=True),
    foreign("ndimage.gaussian_filter-output", _blurred_over, X, smooth=False, refused=True),
    foreign("ndimage.label", lambda x: ndimage.label(x > 0.0)[0], X, smooth=False),
    foreign("ndimage.mean", ndimage.mean, X, smooth=False, refused=True),
    foreign("ndimage.zoom", lambda x: ndimage.zoom(x, 2), X, smooth=False, refused=True),
    foreign("optimize.rosen", optimize.rosen, X),
    foreign("optimize.rosen_der", optimize.rosen_der, X),
    foreign("optimize.rosen_hess", optimize.rosen_hess, V),
    foreign("optimize.rosen_hess_prod", optimize.rosen_hess_prod, V, P),
    foreign("optimize.elementwise.bracket_minimum", _bracket_of_minimum, V),
    foreign("optimize.elementwise.bracket_root", _bracket_of_root, V),
    foreign("optimize.elementwise.find_minimum", _minimum, V, rtol=1e-6),
    foreign("optimize.elementwise.find_root", _root, P),
    foreign("signal.freqz_sos", lambda x: signal.freqz_sos(_section(x), worN=5)[1], V[:5]),
    foreign("special.betaincc", special.betaincc, POSITIVE, POSITIVE[::-1].copy(), 0.2 + 0.1 * POSITIVE),
    foreign("stats.monte_carlo_test", _monte_carlo, V),
    foreign("stats.permutation_test", _permutations, V[:4], P[:4]),
    foreign("stats.tvar-limits", lambda x: stats.tvar(x, limits=(-0.7, 0.8)), V),
    foreign("stats.tstd-limits", lambda x: stats.tstd(x, limits=(-0.7, 0.8)), V),
    foreign("stats.tsem-limits", lambda x: stats.tsem(x, limits=(-0.7, 0.8)), V),
    foreign("special.logsumexp-large", lambda x: special.logsumexp(x + 1000.0, axis=1), X),
    foreign("spatial.transform.Rotation.apply", _rotation, values(2, 4), values(2, 3)),
    foreign("spatial.transform.Rotation.from_matrix", _rotation_of_matrix, NEARLY_ORTHOGONAL),
    foreign("spatial.transform.Rotation.as_rotvec", _rotation_vector, values(2, 4)),
]
