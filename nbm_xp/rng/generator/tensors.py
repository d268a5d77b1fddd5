"""Draws of a `Generator` whose parameters are Tensors: recorded, with the uniforms that the call has with arrays.

Contract: evaluated again, a draw has the same uniforms and the parameters as they are then; its numbers are those of
the same call with arrays, and so are its derivatives in the parameters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from nbm_xp.namespace import convert, dtype_name, is_array, is_floating, is_lazy, library_name
from nbm_xp.namespace.mrg31k3p.integers import State
from nbm_xp.tape import Tensor, is_tensor, operation
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.dtypes import as_dtype
from nbm_xp.tape.node import FLAT, Joint

from ..distributions import DISTRIBUTIONS, derivatives, differentiated, independent
from ..distributions.vectors import dirichlet
from ..parameters import Size, between, chunks_of, is_number, real_dtype, scaled_and_shifted, shape_of
from ..random_streams.operations import rounded_product
from ..random_streams.sizes import as_parameter
from ..rules import FINITE, NOT_NEGATIVE, Rule, require
from ..tasks import Draw, library_of_blocks, made

__all__ = [
    "dirichlet_of_tensor", "independent_of_tensors", "normal_vectors_of_tensors", "normals_of_tensors",
    "uniforms_of_tensors",
]  # fmt: skip


def _run(xp: Any, *arrays: Any, task: Draw) -> Any:
    here = [x if is_array(x) and library_name(x) == library_name(xp) else convert(x, xp) for x in arrays]
    library = library_of_blocks(xp, *here) if is_lazy(xp) else library_name(xp)
    return made(xp, replace(task, library=library), tuple(here), chunks=chunks_of(None, task.whole, *here))


def _cotangents(g: Any, out: Any, *arrays: Any, task: Draw) -> list[Any]:
    g = derivatives(task).before_simplex(out, g)
    return [
        g * _derivative(*arrays, task=differentiated(task, k, dtype_name(x))) if is_floating(x) else None
        for k, x in enumerate(arrays)
    ]


def _second_cotangents(g: Any, out: Any, *arrays: Any, task: Draw) -> list[Any]:
    rule = derivatives(task)
    if not rule.constant:
        raise rule.none_of_second_order()
    return [None] * len(arrays)


def _spec(*arrays: Any, task: Draw) -> Any:
    return task.whole, as_dtype(task.dtype)


_draw = operation("random_draw", infer=_spec, run=_run, gradient=Joint(_cotangents), may_overlap=False)
_derivative = operation(
    "random_draw_derivative", infer=_spec, run=_run, gradient=Joint(_second_cotangents), may_overlap=False
)
_standard = operation(
    "random_numbers",
    infer=lambda size, dtype, **call: (size, as_dtype(dtype)),
    run=lambda xp, size, dtype, kind, state, method, options: getattr(kind(state, xp), method)(
        dtype=dtype, **dict(options)
    ),
    gradient=FLAT,
    may_overlap=False,
)


def _read(parameters: dict[str, Any], rules: dict[str, Rule], size: Size, dtype: Any) -> tuple[Any, ...]:
    """The parameters as numbers and Tensors, and the shape and dtype of the draw."""
    values = [as_parameter(name, value) for name, value in parameters.items()]
    for name, value in zip(parameters, values, strict=True):
        if is_number(value):
            require(name, value, rules[name])
        elif not all(isinstance(length, int) for length in value.shape):
            raise TypeError(f"{name} must have a known shape, got {value.shape}")
    return values, shape_of(size, *values), real_dtype(dtype, *values)


def independent_of_tensors(generator: Any, name: str, size: Size, dtype: Any, parameters: dict[str, Any]) -> Tensor:
    """Record a draw of one of the distributions in the table."""
    values, shape, dtype = _read(parameters, DISTRIBUTIONS[name].rules, size, dtype)
    numbers = tuple(float(value) if is_number(value) else None for value in values)
    with generator._taking(math.prod(shape)) as state:
        task = Draw(independent, state, shape, dtype, "", numbers, options=(("name", name),))
        drawn: Tensor = _draw(*(value for value in values if is_tensor(value)), task=task)
    return drawn


def dirichlet_of_tensor(generator: Any, alpha: Tensor, size: Size, dtype: Any) -> Tensor:
    """Record a draw of Dirichlet's distribution."""
    if not alpha.ndim:
        raise TypeError(f"alpha must have an axis of shapes, got {alpha!r}")
    (alpha,), shape, dtype = _read({"alpha": alpha}, {}, None, dtype)
    rows = shape_of(size, *([alpha[..., 0]] if alpha.ndim > 1 and alpha.shape[-1] else []))
    with generator._taking(math.prod(rows)) as state:
        drawn: Tensor = _draw(alpha, task=Draw(dirichlet, state, (*rows, shape[-1]), dtype, "", (None,)))
    return drawn


def uniforms_of_tensors(generator: Any, low: Any, high: Any, size: Size, dtype: Any, bits: int | None) -> Tensor:
    """Record uniforms between two bounds."""
    (low, high), shape, dtype = _read({"low": low, "high": high}, {"low": FINITE, "high": FINITE}, size, dtype)
    with generator._taking(math.prod(shape)) as state:
        u = _numbers(generator, state, "random", shape, dtype, size=shape, bits=bits)
        drawn: Tensor = between(recorded, u, low, high, dtype, rounded_product)
    return drawn


def normals_of_tensors(generator: Any, loc: Any, scale: Any, size: Size, dtype: Any) -> Tensor:
    """Record normal numbers."""
    (loc, scale), shape, dtype = _read(
        {"loc": loc, "scale": scale}, {"loc": FINITE, "scale": NOT_NEGATIVE}, size, dtype
    )
    with generator._taking(math.prod(shape), pairs=True) as state:
        z = _numbers(generator, state, "standard_normal", shape, dtype, size=shape)
        drawn: Tensor = scaled_and_shifted(recorded, z, loc, scale, dtype, rounded_product)
    return drawn


def normal_vectors_of_tensors(generator: Any, mean: Any, cov: Any, size: Size, dtype: Any) -> Tensor:
    """Record normal vectors: a mean, and standard ones times Cholesky's factor, as the tape has it."""
    mean, cov = as_parameter("mean", mean, axes=1), as_parameter("cov", cov, axes=2)
    n, dtype = mean.shape[0] if mean.ndim == 1 else -1, real_dtype(dtype, mean, cov)
    if tuple(cov.shape) != (n, n):
        raise ValueError(f"mean and cov must have shapes (n,) and (n, n), got {mean.shape} and {cov.shape}")
    identity, rows = tuple(tuple(float(i == k) for k in range(n)) for i in range(n)), shape_of(size)
    factor = recorded.linalg.cholesky(recorded.astype(cov, dtype))
    with generator._taking(math.prod(rows)) as state:
        options = {"mean": (0.0,) * n, "cov": identity, "size": rows}
        z = _numbers(generator, state, "multivariate_normal", (*rows, n), dtype, **options)
    return recorded.astype(mean, dtype) + recorded.matmul(z, factor.mT)


def _numbers(generator: Any, state: State, method: str, shape: tuple[int, ...], dtype: str, **options: Any) -> Tensor:
    """Record what a method gives at some state, of numbers alone."""
    drawn: Tensor = _standard(
        size=shape, dtype=dtype, kind=type(generator), state=state, method=method, options=tuple(options.items())
    )
    return drawn
