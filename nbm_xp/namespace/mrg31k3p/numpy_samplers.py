"""Logarithms and their like, and numbers made each of its own uniforms, for NumPy arrays, by the compiled core.

Contract: the bits of `nbm_xp.rng.elementary` and of `nbm_xp.rng.distributions`, whose methods try until they accept.
Uniforms are made a few at a time and never reach memory.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np

from nbm_xp.namespace.core import functions

from .numpy_draws import contiguous, number_by_number, together

__all__ = [
    "Draws", "binomial", "binomial_search", "digits", "exp", "log", "log_gamma", "normal_quantile", "poisson",
    "poisson_search", "sqrt", "truncated_normals", "whole_digits", "wide_integers",
]  # fmt: skip


sqrt = np.sqrt
"""NumPy's root is the processor's, which IEEE 754 fixes."""


def log(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.log`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    functions["log"](out)
    return out.reshape(x.shape)


def exp(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.exp`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    functions["exp"](out)
    return out.reshape(x.shape)


def normal_quantile(p: Any) -> Any:
    """See `nbm_xp.rng.elementary.normal_quantile`, of float64."""
    out = np.empty(p.shape)
    functions["normal_quantile"](np.require(p, np.float64, ("C", "A")), out)
    return out


class Draws(Protocol):
    """Which uniforms the elements of a block have: see `nbm_xp.rng.element_uniforms`."""

    streams: int
    begins: Any
    lengths: Any
    first: int
    step: int

    @property
    def xp(self) -> Any:
        """The library's namespace."""

    @property
    def count(self) -> int:
        """How many elements there are."""

    def states(self) -> Any:
        """The states of all streams."""

    def fine(self, j: int) -> Any:
        """A uniform of 53 bits of outputs `j` and ``j + 1`` of each element."""

    def rows(self, places: Any = None) -> Any:
        """The rows of the elements at some places, those where runs begin unless told, not centred."""


def _each_until_accepted(name: str, dtype: str, draws: Draws, *columns: Any) -> Any:
    """A number for each element of a block, by a function of the core and parameters for all elements or for each."""
    out = np.empty(draws.count, dtype)
    lost = functions[name](
        number_by_number(draws.states(), draws.streams),
        draws.first,
        draws.step,
        contiguous(draws.begins),
        contiguous(draws.lengths),
        np.stack(draws.rows(), axis=-1).astype(np.uint32),
        out,
        *map(contiguous, columns),
    )
    if lost:
        raise RuntimeError(f"a thousand attempts were not enough for {lost} elements")
    return out


def truncated_normals(draws: Draws) -> Any:
    """Normal numbers within two standard deviations: see `nbm_xp.rng.elementary.truncated_normal`."""
    return _each_until_accepted("truncated_normals", "float64", draws)


log_gamma, poisson, binomial = (
    partial(_each_until_accepted, name, "float64") for name in ("log_gamma", "poisson", "binomial")
)
"""Logarithms of gamma numbers; Poisson and binomial ones of large means: see `nbm_xp.rng.distributions`."""


def digits(draws: Draws, each: int, low: Any, span: Any) -> Any:
    """Integers of one or two outputs each: see `nbm_xp.rng.distributions.integers.integers`."""
    return _each_until_accepted("digits" if each == 1 else "digits_of_two", "int64", draws, low, span)


def wide_integers(draws: Draws, start: int, most: int) -> Any:
    """Integers of three outputs each, from `start` on: see `nbm_xp.rng.distributions.integers`."""
    return _each_until_accepted("wide_integers", "int64", draws, np.asarray([start]), np.asarray([most]))


def whole_digits(states: Any, n: int, low: int, span: int, dtype: str, threads: int) -> Any:
    """Integers of one output each for a draw of `n`, one span for all; None where any output has to be refused."""
    numbers, out = number_by_number(states, n).copy(), np.empty(n, dtype)
    if out.itemsize == 2:
        return None
    fill, bits = functions[f"whole_digits_{out.itemsize}"], out.view(f"i{out.itemsize}")
    low = (low + 2**63) % 2**64 - 2**63  # sums wrap around
    refused = together(threads, numbers.shape[1], n, lambda claims: fill(numbers, low, span, bits, claims))
    return None if any(refused) else out


def _searched(name: str, u: Any, *constants: Any) -> Any:
    out = np.empty(u.shape)
    functions[name](contiguous(u), *map(contiguous, constants), out)
    return out


poisson_search, binomial_search = (partial(_searched, name) for name in ("poisson_search", "binomial_search"))
"""Poisson and binomial numbers of small means, of a uniform each: see `nbm_xp.rng.distributions.counts`."""
