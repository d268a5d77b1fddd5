"""Numbers that are made each of its own uniforms, for NumPy arrays, by the compiled core.

Contract: the bits of `nbm_xp.rng.distributions`, whose methods try until they accept. Uniforms
are made a few at a time and never reach memory.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from nbm_xp.namespace.core import functions

from .numpy_draws import contiguous, number_by_number

__all__ = [
    "Draws", "binomial", "binomial_search", "digits", "log_gamma", "poisson", "poisson_search", "truncated_normals",
    "wide_integers",
]  # fmt: skip


class Draws(Protocol):
    """Which uniforms the elements of a block have: see `nbm_xp.rng.distributions.element_uniforms`."""

    streams: int
    n: int
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

    def uniform(self, j: int) -> Any:
        """Uniform `j` of each element."""

    def rows(self, places: Any = None) -> Any:
        """The rows of the elements at some places, those where runs begin unless told, not centred."""


def _each_until_accepted(name: str, draws: Draws, dtype: str, *columns: Any) -> Any:
    """A number for each element of a block, by a function of the core and parameters for all elements or for each."""
    out = np.empty(draws.count, dtype)
    lost = functions[name](
        number_by_number(draws.states(), draws.streams),
        draws.n,
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
    """Normal numbers within two standard deviations: see `nbm_xp.rng.quantiles.truncated_normal`."""
    return _each_until_accepted("truncated_normals", draws, "float64")


def log_gamma(draws: Draws, *constants: Any) -> Any:
    """The logarithms of gamma numbers: see `nbm_xp.rng.distributions.rejection`."""
    return _each_until_accepted("log_gamma", draws, "float64", *constants)


def poisson(draws: Draws, *constants: Any) -> Any:
    """Poisson numbers of large means: see `nbm_xp.rng.distributions.rejection`."""
    return _each_until_accepted("poisson", draws, "float64", *constants)


def binomial(draws: Draws, *constants: Any) -> Any:
    """Binomial numbers, neither of few successes nor of few failures: see `nbm_xp.rng.distributions.rejection`."""
    return _each_until_accepted("binomial", draws, "float64", *constants)


def digits(draws: Draws, each: int, low: Any, span: Any) -> Any:
    """Integers of one or two outputs each: see `nbm_xp.rng.distributions.whole_numbers.integers`."""
    return _each_until_accepted("digits" if each == 1 else "digits_of_two", draws, "int64", low, span)


def wide_integers(draws: Draws, start: int, most: int) -> Any:
    """Integers of three outputs each, from `start` on: see `nbm_xp.rng.distributions.whole_numbers.wide_integers`."""
    return _each_until_accepted("wide_integers", draws, "int64", np.asarray([start]), np.asarray([most]))


def poisson_search(u: Any, *constants: Any) -> Any:
    """Poisson numbers of small means: see `nbm_xp.rng.distributions.rejection`."""
    return _searched("poisson_search", u, *constants)


def binomial_search(u: Any, *constants: Any) -> Any:
    """Binomial numbers of few successes: see `nbm_xp.rng.distributions.rejection`."""
    return _searched("binomial_search", u, *constants)


def _searched(name: str, u: Any, *constants: Any) -> Any:
    out = np.empty(u.shape)
    functions[name](contiguous(u), *map(contiguous, constants), out)
    return out
