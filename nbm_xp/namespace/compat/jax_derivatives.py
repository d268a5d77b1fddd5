"""JAX: functions with derivatives of their own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ..differentiation import Derivatives

__all__ = ["with_derivatives"]

jax: Any = importlib.import_module("jax")


def _derivative(derivatives: Derivatives, k: int, arrays: tuple[Any, ...]) -> Any:
    if derivatives.in_argument is None:
        raise derivatives.none_in(k)
    if derivatives.constant:
        return derivatives.in_argument(k, *map(jax.lax.stop_gradient, arrays))
    once = jax.custom_jvp(functools.partial(derivatives.in_argument, k))

    def rule(primals: Any, tangents: Any) -> Any:
        raise derivatives.none_of_second_order()

    once.defjvp(rule)
    return once(*arrays)


def with_derivatives(draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Derivatives) -> Any:
    """See `nbm_xp.namespace.differentiation.with_derivatives`; the rule is there already."""
    if not any(isinstance(array, jax.core.Tracer) for array in arrays):
        return draw(*arrays)
    drawn = jax.custom_jvp(draw)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        change: Any = 0.0
        for k, tangent in enumerate(tangents):
            if not isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                slope = _derivative(derivatives, k, primals)
                change = change + slope * jax.numpy.asarray(tangent, slope.dtype)
        out = drawn(*primals)
        return out, derivatives.along_simplex(out, change).astype(out.dtype)

    drawn.defjvp(rule, symbolic_zeros=True)
    return drawn(*arrays)
