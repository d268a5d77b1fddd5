"""Draws of a `Generator` whose parameters are Tensors: recorded, with the uniforms that the call has with arrays.

Contract: evaluated again, a draw has the same uniforms and the parameters as they are then; its numbers are those of
the same call with arrays, and so are its derivatives in the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nbm_xp.namespace import convert, dtype_name, is_array, is_floating, is_lazy, library_name
from nbm_xp.tape import Tensor, is_tensor, operation
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.dtypes import as_dtype
from nbm_xp.tape.node import Joint

from ..distributions import LINES, derivatives, differentiated, line_of
from ..parameters import chunks_of, scaled_and_shifted
from ..random_streams.operations import as_parameter, rounded_product
from ..tasks import Draw, library_of_blocks, made

__all__ = ["as_parameters", "recorded_draw"]


def _run(xp: Any, *arrays: Any, task: Draw) -> Any:
    here = [x if is_array(x) and library_name(x) == library_name(xp) else convert(x, xp) for x in arrays]
    library = library_of_blocks(xp, *here) if is_lazy(xp) else library_name(xp)
    return made(xp, replace(task, library=library), tuple(here), chunks=chunks_of(None, task.whole, *here))


def _cotangents(g: Any, out: Any, *arrays: Any, task: Draw) -> list[Any]:
    rule = derivatives(task)
    assert rule is not None
    g = rule.before_simplex(out, g)
    return [
        g * _derivative(*arrays, task=differentiated(task, k, dtype_name(x))) if is_floating(x) else None
        for k, x in enumerate(arrays)
    ]


def _second_cotangents(g: Any, out: Any, *arrays: Any, task: Draw) -> list[Any]:
    rule = derivatives(task)
    assert rule is not None
    if not rule.constant:
        raise rule.none_of_second_order()
    return [None] * len(arrays)


def _spec(*arrays: Any, task: Draw) -> Any:
    return task.whole, as_dtype(task.dtype)


_draw = operation("random_draw", infer=_spec, run=_run, gradient=Joint(_cotangents), may_overlap=False)
_derivative = operation(
    "random_draw_derivative", infer=_spec, run=_run, gradient=Joint(_second_cotangents), may_overlap=False
)


def as_parameters(parameters: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The tape's namespace, and parameters as numbers and Tensors."""
    return recorded, [as_parameter(name, value) for name, value in parameters.items()]


def recorded_draw(task: Draw, parameters: Sequence[Any] = ()) -> Tensor:
    """Record a draw, with derivatives in the Tensors among its parameters; of any order where it lies on a line."""
    drawn: Tensor
    if task.make is not line_of:
        drawn = _draw(*filter(is_tensor, parameters), task=task)
        return drawn
    shift, scale = LINES[dict(task.options)["name"]].through(recorded, *parameters, task.dtype)
    standard = _draw(task=replace(task, numbers=(0.0, 1.0)))
    drawn = scaled_and_shifted(recorded, standard, shift, scale, task.dtype, rounded_product)
    return drawn
