"""The gradient checker: random inner products of a gradient against central finite differences, of any order.

A function of arrays becomes a scalar by an inner product with random weights; its gradient in one argument, in a random
direction, is held to the difference of two values. The next order does the same to the gradients themselves. A complex
result counts with its real and its imaginary part, a complex argument moves in a complex direction d: the loss then
changes by the real part of the sum of the gradient times d, which is the convention of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbm_xp.tape import Tensor, function, gradients, placeholder
from nbm_xp.tape import namespace as xp

__all__ = ["DOUBLES", "check_gradient", "flat_list", "inner_product", "real_parts"]

STEP = 6e-6  # about the cube root of the rounding error, where truncation and rounding weigh the same
DOUBLES = ("float64", "complex128")  # the dtypes in which finite differences are precise enough


def flat_list(result: Any) -> list[Any]:
    """The arrays in a result: one, or those of a tuple or list."""
    return [part for item in result for part in flat_list(item)] if isinstance(result, (tuple, list)) else [result]


def real_parts(result: Any) -> list[Any]:
    """The floating results, complex ones as their real and their imaginary parts."""
    parts: list[Any] = []
    for part in flat_list(result):
        if part.dtype.kind == "c":
            parts += [xp.real(part), xp.imag(part)]
        elif part.dtype.kind == "f":
            parts.append(part)
    return parts


def inner_product(result: Any, seed: int) -> Any:
    """The sum of all floating results, weighted by random numbers that depend only on their shapes."""
    total: Any = xp.asarray(0.0, dtype="float64")
    for position, part in enumerate(real_parts(result)):
        shape = tuple(int(length) for length in part.shape)
        weights = np.random.default_rng([seed, position]).normal(size=shape)
        total = total + xp.sum(xp.astype(part, xp.float64) * weights)
    return total


def check_gradient(
    fn: Callable[..., Any], *arrays: Any, order: int = 2, wrt: Sequence[int] | None = None, rtol: float = 1e-5
) -> None:
    """Hold the gradients of a function to finite differences.

    Parameters
    ----------
    fn : callable
        A function of Tensors, written over the tape's namespace; returns a Tensor or a sequence of them.
    *arrays : ndarray
        Where to differentiate.
    order : int
        1 checks the gradient, 2 also the gradient of the gradient.
    wrt : sequence of int, optional
        Which arguments to differentiate in; by default each one in double precision.
    rtol : float
        The error that is allowed, against the size of the derivative and of the values it was taken from.
    """
    arrays = tuple(np.asarray(array) for array in arrays)
    places = [i for i, a in enumerate(arrays) if str(a.dtype) in DOUBLES] if wrt is None else list(wrt)
    inputs = [placeholder(a.shape, dtype=str(a.dtype), name=f"argument {i}") for i, a in enumerate(arrays)]
    loss = inner_product(fn(*inputs), seed=order)
    found = gradients(loss, [inputs[place] for place in places], disconnected="zero")
    _compare(loss, found, inputs, arrays, places, rtol)
    if order > 1:

        def gradient_of(*tensors: Tensor) -> list[Tensor]:
            value = inner_product(fn(*tensors), seed=order)
            return gradients(value, [tensors[place] for place in places], disconnected="zero")

        check_gradient(gradient_of, *arrays, order=order - 1, wrt=places, rtol=rtol)


def _compare(
    loss: Tensor, found: list[Tensor], inputs: list[Tensor], arrays: tuple[Any, ...], places: list[int], rtol: float
) -> None:
    value = function(inputs, loss)
    for place, gradient in zip(places, function(inputs, found)(*arrays), strict=True):
        array = arrays[place]
        assert gradient.shape == array.shape, f"argument {place}: shape {gradient.shape}, not {array.shape}"
        assert gradient.dtype == array.dtype, f"argument {place}: dtype {gradient.dtype}, not {array.dtype}"
        direction = _direction(place, array)
        ahead, behind = (
            float(value(*arrays[:place], array + sign * STEP * direction, *arrays[place + 1 :])) for sign in (1, -1)
        )
        exact, estimate = float(np.real(np.sum(gradient * direction))), (ahead - behind) / (2 * STEP)
        scale = max(1.0, abs(exact), abs(ahead))
        close = abs(exact - estimate) <= rtol * scale
        assert close, f"argument {place}: {exact} by the rule, {estimate} by differences"


def _direction(seed: int, array: Any) -> Any:
    """A random direction in which an array may move."""
    generator = np.random.default_rng(seed)
    direction = generator.normal(size=array.shape)
    return direction + 1j * generator.normal(size=array.shape) if array.dtype.kind == "c" else direction
