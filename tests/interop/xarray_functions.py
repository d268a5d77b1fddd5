"""Cases of xarray, whose arrays hold Tensors as they hold any array of the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from array_api_compat import array_namespace

from tests.helpers.tables.case import values
from tests.interop import Foreign, foreign

__all__ = ["CASES"]

X = values(4, 6)
GAPS = np.where(X > 1.5, np.nan, X)
TIMES = np.arange(6.0)


def _of(array: Any, *axes: str) -> Any:
    named = axes or ("site", "time")
    return xr.DataArray(array, dims=named, coords={"time": TIMES} if "time" in named else None)


OTHER, WEIGHTS = _of(values(4, 6, low=-1.0)), _of(values(6, low=0.2, high=1.0), "time")
GROUPS = _of(np.asarray([0, 0, 1, 1, 2, 2]), "time").rename("group")
MATRIX = _of(values(6, 2), "time", "mode")


def case(name: str, call: Callable[[Any], Any], array: Any = X, **fields: Any) -> Foreign:
    """One of a DataArray."""

    def labelled(array: Any) -> Any:
        with xr.set_options(use_opt_einsum=False):
            return call(_of(array)).data

    return foreign(name, labelled, array, **fields)


def refused(name: str, call: Callable[[Any], Any]) -> Foreign:
    """One that xarray computes in NumPy."""
    return case(name, call, smooth=False, refused=True)


def _assigned(x: Any) -> Any:
    whole = x * 1.0
    whole.loc[{"time": 2.0}] = whole.isel(time=0) ** 2
    return whole


def _cumulative(array: Any) -> Any:
    return array_namespace(array).cumulative_sum(array, axis=-1)


def _polynomial(x: Any) -> Any:
    coefficients = x.isel(time=slice(3)).drop_vars("time").rename(time="degree").assign_coords(degree=[2, 1, 0])
    return xr.polyval(_of(TIMES, "time"), coefficients)


OF_ONE_DIMENSION = ("mean", "std", "var", "max", "min", "prod", "median", "cumsum")
CASES: list[Foreign] = [
    case("arithmetic", lambda x: (OTHER - x * WEIGHTS) / 2.0), case("comparison", lambda x: x > OTHER, smooth=False),
    case("xr.ufuncs.exp", lambda x: xr.ufuncs.exp(x)), case("dot", lambda x: x.dot(MATRIX)),
    case("dot-all", lambda x: xr.dot(x, x, OTHER)), case("@", lambda x: x @ MATRIX),
    case("sum", lambda x: x.sum("time")), case("sum-gaps", lambda x: x.sum("time"), GAPS),
    case("count", lambda x: x.count("time"), GAPS, smooth=False),
    case("mean(skipna=False)", lambda x: x.mean("time", skipna=False)),
    case("max(skipna=False)", lambda x: x.max("time", skipna=False)),
    case("prod(skipna=False)", lambda x: x.prod("site", skipna=False)),
    case("reduce", lambda x: x.reduce(lambda a, axis: array_namespace(a).sum(a * a, axis=axis), "time")),
    case("where(cond, other)", lambda x: x.where(OTHER > 0, 0.5 * x)),
    case("xr.where", lambda x: xr.where(OTHER > 0, x, 2.0)),
    case("fillna", lambda x: x.where(OTHER > 0, np.nan).fillna(x.isel(time=0))),
    case("combine_first", lambda x: x.combine_first(OTHER)), case("clip", lambda x: x.clip(-0.5, 0.5)),
    case("isel", lambda x: x.isel(time=[0, 3], site=slice(1, 3))), case("sel", lambda x: x.sel(time=slice(1.0, 3.0))),
    case("sel-nearest", lambda x: x.sel(time=2.2, method="nearest")), case("loc", _assigned),
    case("align", lambda x: x + OTHER.isel(time=slice(1, 4))),
    case("concat", lambda x: xr.concat([x, 2.0 * x], "site")), case("stack", lambda x: x.stack(both=("site", "time"))),
    case("unstack", lambda x: x.stack(both=("site", "time")).unstack("both")),
    case("transpose", lambda x: x.transpose("time", "site")),
    case("broadcast_like", lambda x: x.isel(time=0, drop=True).broadcast_like(OTHER)),
    case("roll", lambda x: x.roll(time=1)), case("diff", lambda x: x.diff("time")),
    case("integrate", lambda x: x.integrate("time")), case("coarsen.sum", lambda x: x.coarsen(time=2).sum()),
    case("groupby.sum", lambda x: x.groupby(GROUPS).sum()),
    case("groupby.mean(skipna=False)", lambda x: x.groupby(GROUPS).mean(skipna=False)),
    case("weighted.sum", lambda x: x.weighted(WEIGHTS).sum("time")), case("polyval", _polynomial),
    case("apply_ufunc", lambda x: xr.apply_ufunc(abs, x)),
    case(
        "apply_ufunc-core",
        lambda x: xr.apply_ufunc(_cumulative, x, input_core_dims=[["time"]], output_core_dims=[["time"]]),
    ),
    *(refused(name, lambda x, name=name: getattr(x, name)("time")) for name in OF_ONE_DIMENSION),
    refused("quantile", lambda x: x.quantile(0.3, "time")), refused("coarsen.mean", lambda x: x.coarsen(time=2).mean()),
    refused("groupby.mean", lambda x: x.groupby(GROUPS).mean()),
    refused("interpolate_na", lambda x: x.interpolate_na("time")),
    case("where(cond)", lambda x: x.where(OTHER > 0), smooth=False),
    case("reindex", lambda x: x.reindex(time=[1.0, 9.0]), smooth=False),
    case("weighted.mean", lambda x: x.weighted(WEIGHTS).mean("time")),
    refused("interp", lambda x: x.interp(time=[0.5])),
]  # fmt: skip
