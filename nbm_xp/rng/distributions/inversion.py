"""Real numbers of one uniform each: the inverse of a distribution function.

Contract: through functions with the same bits on every library; both tails are as fine as `fine_uniforms` are.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace

from ..elementary import log, log1p, normal_quantile
from ..quantiles import truncated_normal
from .element_uniforms import ElementUniforms
from .fine_uniforms import folded

__all__ = ["exponential", "gumbel", "laplace", "logistic", "truncated_normal_number"]


def exponential(uniforms: ElementUniforms) -> Any:
    """Standard exponential numbers: ``-log(u)``, of which the distribution is the same as of ``-log(1 - u)``.

    Examples
    --------
    >>> from .element_uniforms import of_block
    >>> exponential(of_block((234,) * 6, (1,), (0,), (1,), "numpy")).round(6)
    array([0.798721])
    """
    return -log(uniforms.fine(0))


def laplace(uniforms: ElementUniforms) -> Any:
    """Standard Laplace numbers: ``log(2 u)`` below the median, ``-log(2 (1 - u))`` above."""
    below, v = folded(uniforms)
    size = log(2.0 * v)
    return array_namespace(v).where(below, size, -size)


def logistic(uniforms: ElementUniforms) -> Any:
    """Standard logistic numbers: ``log(u) - log(1 - u)``."""
    below, v = folded(uniforms)
    size = log(v) - log1p(-v)
    return array_namespace(v).where(below, size, -size)


def gumbel(uniforms: ElementUniforms) -> Any:
    """Standard Gumbel numbers: ``-log(-log(u))``."""
    below, v = folded(uniforms)
    return -log(-array_namespace(v).where(below, log(v), log1p(-v)))


def truncated_normal_number(uniforms: ElementUniforms) -> Any:
    """Standard normal numbers within two standard deviations: see `nbm_xp.rng.quantiles`."""
    own = uniforms.own("truncated_normals")
    return truncated_normal(uniforms.fine(0), normal_quantile) if own is None else own()
