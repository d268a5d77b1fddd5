"""Cases of array-api-extra: all its functions of arrays."""

from __future__ import annotations

from typing import Any

import array_api_extra as xpx
import numpy as np
from array_api_compat import array_namespace

from tests.helpers.tables.case import values, whole
from tests.interop import Foreign, foreign

__all__ = ["CASES"]


def _at(x: Any) -> Any:
    x = xpx.at(x)[0, ...].multiply(2.0, copy=True)
    return xpx.at(x)[:, 1].set(x[:, 0] * 3.0, copy=True)


def _at_mask(x: Any) -> Any:
    return xpx.at(x)[x > 0.5].add(10.0, copy=True)


def _apply_where(x: Any) -> Any:
    xp = array_namespace(x)
    return xpx.apply_where(x > 0, x, xp.log, lambda y: y * y)


def _apply_where_filled(x: Any, y: Any) -> Any:
    return xpx.apply_where(y > 0, (x, y), lambda a, b: a / b, fill_value=-1.0)


def _one_hot(x: Any, places: Any) -> Any:
    xp = array_namespace(x, places)
    return xpx.one_hot(places, 4, dtype=x.dtype) * xp.expand_dims(x, axis=-1)


X = values(3, 4)
V = values(6)
NANS = np.where(X > 1.5, np.nan, X)

_CALLS: list[Foreign] = [
    foreign("at", _at, X), foreign("at-mask", _at_mask, X), foreign("apply_where", _apply_where, X),
    foreign("apply_where-fill", _apply_where_filled, X, X[::-1].copy()),
    foreign("atleast_nd", lambda x: xpx.atleast_nd(x, ndim=3), X),
    foreign("broadcast_shapes", lambda x: x + xpx.broadcast_shapes(x.shape, (1, 4))[0], X),
    foreign("cov", lambda x: xpx.cov(x), X), foreign("cov-one", lambda x: xpx.cov(x), V),
    foreign("create_diagonal", lambda x: xpx.create_diagonal(x, offset=1), V),
    foreign("create_diagonal-batch", lambda x: xpx.create_diagonal(x), X),
    foreign("expand_dims", lambda x: xpx.expand_dims(x, axis=(0, 2)), X),
    foreign("isclose", lambda x, y: xpx.isclose(x, y, atol=0.5), X, X[::-1].copy(), smooth=False),
    foreign("isclose-nan", lambda x: xpx.isclose(x, x, equal_nan=True), NANS, smooth=False),
    foreign("kron", lambda x, y: xpx.kron(x, y), X, values(2, 3)),
    foreign("nunique", lambda x: xpx.nunique(x), whole(8), smooth=False),
    foreign("one_hot", _one_hot, V, whole(6, low=0, high=4, dtype="int64")),
    foreign("pad", lambda x: xpx.pad(x, ((1, 0), (2, 3)), constant_values=2.0), X),
    foreign("setdiff1d", lambda x, y: xpx.setdiff1d(x, y), whole(6), whole(4), smooth=False),
    foreign("sinc", lambda x: xpx.sinc(x), X), foreign("sinc-zero", lambda x: xpx.sinc(x), np.zeros(3), smooth=False),
    foreign("angle", lambda x, y: xpx.angle(x + 1j * y), X, X[::-1].copy()),
    foreign("argpartition", lambda x: xpx.argpartition(x, 0)[..., :1], X, smooth=False),
    foreign("partition", lambda x: xpx.partition(x, 1)[..., 1], X), foreign("deg2rad", lambda x: xpx.deg2rad(x), X),
    foreign("rad2deg", lambda x: xpx.rad2deg(x), X),
    foreign("diag_indices", lambda x: x[xpx.diag_indices(3, xp=array_namespace(x))], X),
    foreign("tril_indices", lambda x: x[xpx.tril_indices(3, xp=array_namespace(x))], X),
    foreign("triu_indices", lambda x: x[xpx.triu_indices(3, xp=array_namespace(x))], X),
    foreign("unravel_index", lambda i: xpx.unravel_index(i, (3, 4)), whole(5, low=0, high=11), smooth=False),
    foreign("isin", lambda x, y: xpx.isin(x, y), whole(2, 3), whole(4), smooth=False),
    foreign("union1d", lambda x, y: xpx.union1d(x, y), whole(6), whole(4), smooth=False),
    foreign("lazy_apply", lambda x: xpx.lazy_apply(lambda y: y * 2.0, x, shape=x.shape, dtype=x.dtype), X),
    foreign("nan_to_num", lambda x: xpx.nan_to_num(x, fill_value=2.0), NANS, smooth=False),
    foreign("nanmax", lambda x: xpx.nanmax(x, axis=1), NANS, smooth=False),
    foreign("nanmin", lambda x: xpx.nanmin(x, axis=1), NANS, smooth=False),
    foreign("nanmean", lambda x: xpx.nanmean(x, axis=1), NANS, smooth=False),
    foreign("nansum", lambda x: xpx.nansum(x, axis=1), NANS, smooth=False),
    foreign("searchsorted", lambda x, y: xpx.searchsorted(x, y), np.sort(V), values(2, 3), smooth=False),
]  # fmt: skip

CASES = [case for case in _CALLS if hasattr(xpx, case.name.partition("-")[0])]
