"""Derivatives of functions of arrays: gradients, and products with the Jacobian and the Hessian.

A function is recorded, differentiated, run and forgotten within a call. Given Tensors, all of these record and return
Tensors, so that they apply to each other and inside recorded functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

from ..gradients import gradients
from ..tensor import Tensor, as_tensor, is_tensor
from ..trees import leaves, leaves_as, rebuilt
from .calls import Call, argument, called, computed
from .linear import as_like, pulled, pushed

__all__ = ["grad", "hvp", "jvp", "value_and_grad"]


def value_and_grad(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of a scalar function and its gradient.

    Parameters
    ----------
    fn : callable
        A function of arrays, written over the functions and operators of this library or of ``array_namespace``, that
        returns one number.
    argnums : int or sequence of int
        Which arguments to differentiate in, each an array or a tuple, list or dict of arrays, where a Python float is
        an array of `floatx` without axes; the others may be anything.
    has_aux : bool
        Whether `fn` returns a pair: the number, and something further that is not differentiated.

    Returns
    -------
    callable
        ``(value, gradient)``; with a sequence of `argnums`, a tuple of gradients; with `has_aux`,
        ``((value, aux), gradient)``. A gradient is built as its argument is. All are arrays of the library that the
        arguments are of; given Tensors, they are Tensors.

    Raises
    ------
    TypeError
        If an argument to differentiate in is no floating array, or the result is no scalar.

    Notes
    -----
    `fn` is called anew every time, so that it may close over what changes and look at values (``if x.max() > 1``). The
    compiled plan is found again as long as `fn` records the same graph.

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = value_and_grad(lambda x: x @ x)(np.asarray([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    single, chosen = argument_numbers(argnums)

    def differentiated(*args: Any, **options: Any) -> tuple[Any, Any]:
        with called(fn, args, chosen, options) as call:
            result = call.value
            if has_aux and not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError(f"the function must return a pair with has_aux, got {type(result).__name__}")
            loss = _loss(result[0] if has_aux else result)
            call.value = (loss, result[1]) if has_aux else loss
            outputs, targets = call.outputs(), call.arguments

            def build() -> list[Tensor]:
                return [*outputs, *gradients(loss, targets, disconnected="zero")]

            found = build() if call.recorded else computed("value_and_grad", outputs, targets, build)
        slopes = rebuilt(call.targets, found[len(outputs) :])
        return call.filled(found[: len(outputs)]), slopes[0] if single else tuple(slopes)

    return differentiated


def argument_numbers(argnums: int | Sequence[int]) -> tuple[bool, tuple[int, ...]]:
    """Whether one argument was named rather than a sequence of them, and which were."""
    if isinstance(argnums, Iterable):
        return False, tuple(argnums)
    return True, (index(argnums),)


def _loss(value: Any) -> Tensor:
    if isinstance(value, (tuple, list, dict)) or value is None:
        raise TypeError(f"the function must return a scalar, got {type(value).__name__}")
    loss = as_tensor(value)
    if loss.ndim:
        raise TypeError(f"the function must return a scalar, got shape {loss.shape}")
    return loss


def grad(fn: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of a scalar function.

    Parameters
    ----------
    fn, argnums, has_aux
        As `value_and_grad` takes them.

    Returns
    -------
    callable
        The gradient; with `has_aux`, ``(gradient, aux)``.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.tape import grad, namespace as xp
    >>> slope = grad(xp.tanh)
    >>> float(slope(np.asarray(0.0))), round(float(grad(slope)(np.asarray(1.0))), 3)
    (1.0, -0.64)
    """
    differentiated = value_and_grad(fn, argnums, has_aux=has_aux)

    def gradient(*args: Any, **options: Any) -> Any:
        value, slope = differentiated(*args, **options)
        return (slope, value[1]) if has_aux else slope

    return gradient


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function and its derivative along tangents: Jacobian times vector.

    Parameters
    ----------
    fn : callable
        A function of arrays that returns arrays, one or a tuple, list or dict of them.
    primals : tuple or list
        The arguments: each an array, or a tuple, list or dict of arrays.
    tangents : tuple or list
        A direction for each argument, built as the argument is.

    Returns
    -------
    value, tangent
        What `fn` returned, and its derivative in that direction, built alike.

    Notes
    -----
    The tangent is found by a reverse pass over the reverse pass, which is linear in the cotangents that it starts from.
    Nothing of the first one is left in the compiled plan but the factors that both need, so that a product costs two or
    three times as much as the value. Only through a `scan` is the history of the steps kept, as for a gradient.

    Examples
    --------
    >>> import numpy as np
    >>> value, tangent = jvp(lambda x: x * x, (np.asarray([1.0, 2.0]),), (np.asarray([1.0, 10.0]),))
    >>> value.tolist(), tangent.tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    primals, tangents = _as_arguments(primals, "primals"), _as_arguments(tangents, "tangents")
    with called(fn, primals, range(len(primals)), {}) as call:
        directions = _directions(call, tangents)
        outputs, targets = call.outputs(), call.arguments

        def build() -> list[Tensor]:
            return [*outputs, *pushed(outputs, targets, directions)]

        found = _results(call, "jvp", tangents, outputs, [*targets, *directions], build)
    count = len(outputs)
    return call.filled(found[:count]), call.filled(found[count:])


def hvp(fn: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The Hessian of a scalar function times a vector, at the cost of a few gradients.

    Parameters
    ----------
    fn : callable
        A function of arrays that returns one number.
    primals : array, or tuple or list of arguments
        Where to differentiate.
    tangents : array, or tuple or list
        A direction for each argument, built as `primals` is.

    Returns
    -------
    array or tuple
        Built as `primals` is.

    Notes
    -----
    The product is the gradient of the gradient's product with the vector. ``jvp(grad(fn), primals, tangents)`` gives
    the gradient beside it.

    Examples
    --------
    >>> import numpy as np
    >>> hvp(lambda x: x @ x * x[0], np.asarray([1.0, 2.0]), np.asarray([1.0, 0.0])).tolist()
    [6.0, 4.0]
    """
    single = not isinstance(primals, (tuple, list))
    primals, tangents = ((primals,), (tangents,)) if single else (primals, tangents)
    tangents = _as_arguments(tangents, "tangents")
    with called(fn, primals, range(len(primals)), {}) as call:
        directions = _directions(call, tangents)
        loss, targets = _loss(call.value), call.arguments

        def build() -> list[Tensor]:
            return pulled(gradients(loss, targets, disconnected="zero"), directions, targets)

        found = _results(call, "hvp", tangents, [loss], [*targets, *directions], build)
    products = rebuilt(call.targets, found)
    return products[0] if single else tuple(products)


def _as_arguments(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a tuple or list with an entry for each argument, got {type(value).__name__}")
    return value


def _directions(call: Call, tangents: Any) -> list[Tensor]:
    """A Tensor for each tangent, held to the shape and dtype of its argument."""
    given = leaves_as(call.targets, tangents, "tangents")
    return [argument(as_like(value, target, "tangents")) for value, target in zip(given, call.arguments, strict=True)]


def _results(
    call: Call,
    kind: str,
    tangents: Any,
    roots: Sequence[Tensor],
    inputs: Sequence[Tensor],
    build: Callable[[], Sequence[Tensor]],
) -> Sequence[Any]:
    recorded = call.recorded or any(map(is_tensor, leaves(tangents)))
    return build() if recorded else computed(kind, roots, inputs, build)
