"""PyTorch: functions with derivatives of their own, forward and in reverse."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..differentiation import Derivatives

__all__ = ["with_derivatives"]

torch: Any = importlib.import_module("torch")


class _Once(torch.autograd.Function):  # type: ignore[misc]
    """A derivative, which is not differentiated again."""

    @staticmethod
    def forward(derivatives: Derivatives, k: int, *arrays: Any) -> Any:
        assert derivatives.in_argument is not None
        return derivatives.in_argument(k, *arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.derivatives = inputs[0]

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise ctx.derivatives.none_of_second_order()

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise ctx.derivatives.none_of_second_order()


def _derivative(derivatives: Derivatives, k: int, arrays: tuple[Any, ...]) -> Any:
    if derivatives.in_argument is None:
        raise derivatives.none_in(k)
    if derivatives.constant:
        return derivatives.in_argument(k, *(array.detach() for array in arrays))
    return _Once.apply(derivatives, k, *arrays)


class _WithDerivatives(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(draw: Callable[..., Any], derivatives: Derivatives, *arrays: Any) -> Any:
        return draw(*arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, ctx.derivatives, *arrays = inputs
        ctx.save_for_backward(*arrays, output)
        ctx.save_for_forward(*arrays, output)

    @staticmethod
    def backward(ctx: Any, cotangent: Any) -> Any:
        *arrays, out = ctx.saved_tensors
        cotangent = ctx.derivatives.before_simplex(out, cotangent)
        gradients: list[Any] = [None, None]
        for k, array in enumerate(arrays):
            if not ctx.needs_input_grad[2 + k]:
                gradients.append(None)
                continue
            change = cotangent * _derivative(ctx.derivatives, k, tuple(arrays))
            gradients.append(change.sum_to_size(array.shape).to(array.dtype))
        return tuple(gradients)

    @staticmethod
    def jvp(ctx: Any, _draw: None, _derivatives: None, *tangents: Any) -> Any:
        *arrays, out = ctx.saved_tensors
        change = torch.zeros_like(out)
        for k, tangent in enumerate(tangents):
            if tangent is not None:
                change = change + tangent * _derivative(ctx.derivatives, k, tuple(arrays))
        return ctx.derivatives.along_simplex(out, change).to(out.dtype)


def with_derivatives(draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Derivatives) -> Any:
    """See `nbm_xp.namespace.differentiation.with_derivatives`; the rule is there already."""
    if derivatives.in_argument is not None:
        return _WithDerivatives.apply(draw, derivatives, *arrays)
    for k, array in enumerate(arrays):
        has_tangent = torch.autograd.forward_ad.unpack_dual(array).tangent is not None
        if has_tangent or (array.requires_grad and torch.is_grad_enabled()):
            raise derivatives.none_in(k)
    return draw(*arrays)
