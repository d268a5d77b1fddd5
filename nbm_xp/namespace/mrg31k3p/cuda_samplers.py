"""Logarithms and their like, and numbers made each of its own uniforms, for CuPy arrays, an element to a thread.

Contract: the bits of `nbm_xp.rng.elementary` and `nbm_xp.rng.distributions`, whose methods try until they accept.
Uniforms are made by random access and never reach memory; one number comes back to the host, how many elements no
attempt served.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nbm_xp.namespace.conversion import asarray, concrete_int, convert
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_of

from .cuda_draws import pieces
from .cuda_launching import consecutive, launch, matrices, number_by_number, on_device_of, source
from .integers import OUTPUT_STEPS
from .numpy_samplers import Draws

__all__ = [
    "binomial", "binomial_search", "digits", "exp", "log", "log_gamma", "normal_quantile", "poisson", "poisson_search",
    "sqrt", "truncated_normal", "truncated_normals", "wide_integers",
]  # fmt: skip


def _of_each(name: str, x: Any) -> Any:
    """What a kernel makes of each element, as float64."""
    xp = array_namespace(x)
    with on_device_of(x):
        x = consecutive(x, "float64").reshape(x.shape)
        out = xp.empty_like(x)
        if x.size:
            launch(xp, source("elementary"), name, x.size, x, x.size, out)
    return out


def sqrt(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.sqrt`."""
    return _of_each("roots", x)


def log(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.log`."""
    return _of_each("logs", x)


def exp(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.exp`."""
    return _of_each("exponentials", x)


def normal_quantile(p: Any) -> Any:
    """See `nbm_xp.rng.elementary.normal_quantile`, of float64."""
    return _of_each("normal_quantiles", p)


def truncated_normal(u: Any) -> Any:
    """See `nbm_xp.rng.elementary.truncated_normal`, of float64."""
    return _of_each("truncated_normals", u)


def _each(columns: tuple[Any, ...]) -> int:
    """Bit k says whether column k has a parameter for each element."""
    return sum((column.size > 1) << k for k, column in enumerate(columns))


def _each_until_accepted(name: str, dtype: str, draws: Draws, *columns: Any) -> Any:
    """A number for each element of a block, by a kernel and parameters for all elements or for each."""
    xp = draws.xp
    with on_device_of(columns[0]):
        states = number_by_number(convert(draws.states(), xp))
        n, *tables = pieces(xp, draws.begins, draws.lengths, draws.rows, draws.streams)
        jumps = matrices(xp, [draws.first * OUTPUT_STEPS, draws.step * OUTPUT_STEPS])
        own = [consecutive(column, dtype) for column in columns]
        out, lost = xp.empty((n,), dtype=dtype_of(xp, dtype)), xp.zeros((1,), dtype=dtype_of(xp, "int32"))
        launch(xp, source("samplers"), name, n, states, *tables, jumps, *own, _each(columns), out, lost)
        failed = concrete_int(lost[0])
    if failed:
        raise RuntimeError(f"a thousand attempts were not enough for {failed} elements")
    return out


def truncated_normals(draws: Draws) -> Any:
    """Normal numbers within two standard deviations: see `nbm_xp.rng.elementary.truncated_normal`."""
    return truncated_normal(draws.fine(0))


log_gamma, poisson, binomial = (
    partial(_each_until_accepted, name, "float64") for name in ("log_gamma", "poisson", "binomial")
)
"""Logarithms of gamma numbers; Poisson and binomial ones of large means: see `nbm_xp.rng.distributions`."""


def digits(draws: Draws, each: int, low: Any, span: Any) -> Any:
    """Integers of one or two outputs each: see `nbm_xp.rng.distributions.integers.integers`."""
    return _each_until_accepted("digits" if each == 1 else "digits_of_two", "int64", draws, low, span)


def wide_integers(draws: Draws, start: int, most: int) -> Any:
    """Integers of three outputs each, from `start` on: see `nbm_xp.rng.distributions.integers`."""
    bounds = (asarray([bound], draws.xp, "int64") for bound in (start, most))
    return _each_until_accepted("wide_integers", "int64", draws, *bounds)


def _searched(name: str, u: Any, *constants: Any) -> Any:
    xp = array_namespace(u)
    with on_device_of(u):
        u, *own = (consecutive(column, "float64") for column in (u, *constants))
        out = xp.empty_like(u)
        if u.size:
            launch(xp, source("searches"), name, u.size, u, u.size, *own, _each(constants), out)
    return out


poisson_search, binomial_search = (partial(_searched, name) for name in ("poisson_searches", "binomial_searches"))
"""Poisson and binomial numbers of small means, of a uniform each: see `nbm_xp.rng.distributions.counts`."""
