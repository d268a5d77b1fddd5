"""Derivatives of functions of arrays: gradients, and products with the Jacobian and the Hessian.

Each call records, differentiates and runs a function. With Tensors as arguments, all transforms record and return
Tensors, so that they can be nested and used inside recorded functions. The reverse pass is linear in its cotangents;
a reverse pass over it therefore computes products of the Jacobian with tangents (forward mode).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from types import ModuleType
from typing import Any

from nbm_xp.namespace import asarray, default_namespace, host_namespace, is_array, running_dtype, running_namespace

from ..evaluation import Plan, held, made_for_structure, planned
from ..function import function
from ..gradients import gradients, pull_back
from ..graph import Node, inner_placeholder
from ..lengths import is_number, product, same_length
from ..loops.node import captured_by
from ..standard.creation import arange, zeros_like
from ..standard.data_types import astype
from ..standard.elementwise import cos
from ..standard.manipulation import reshape
from ..tensor import Tensor, as_tensor, is_tensor
from ..trees import leaves, leaves_as, rebuilt
from .calls import Call, argument, called, is_output


def is_smooth(tensor: Tensor) -> bool:
    """Return whether a value has a derivative: its dtype is floating or complex."""
    return tensor.dtype.kind in "fc"


def pulled(outputs: Sequence[Tensor], cotangents: Sequence[Tensor], targets: Sequence[Tensor]) -> list[Tensor]:
    """Return the vector-Jacobian product: gradients in the targets for cotangents of the outputs."""
    found = pull_back([t.node for t in outputs], list(cotangents), [t.node for t in targets])
    return [_or_zeros(gradient, target) for gradient, target in zip(found, targets, strict=True)]


def pushed(outputs: Sequence[Tensor], targets: Sequence[Tensor], tangents: Sequence[Tensor]) -> list[Tensor]:
    """Return the Jacobian-vector product: tangents of the outputs for tangents of the targets."""
    smooth = [output for output in outputs if is_smooth(output)]
    seeds = [argument(_any_cotangent(output)) for output in smooth]
    back = pull_back([output.node for output in smooth], seeds, [target.node for target in targets])
    flowing = [(linear, tangent) for linear, tangent in zip(back, tangents, strict=True) if linear is not None]
    found = pull_back([linear.node for linear, _ in flowing], [t for _, t in flowing], [seed.node for seed in seeds])
    given = iter(found)
    return [_or_zeros(next(given) if is_smooth(output) else None, output) for output in outputs]


def _any_cotangent(output: Tensor) -> Tensor:
    """Return a generic non-zero cotangent, because gradient rules may test whether their cotangent is zero."""
    wide = "float64" if str(output.dtype) in ("float64", "complex128") else "float32"
    places = arange(product(output.node.shape), dtype=wide)
    return astype(reshape(cos(places), output.node.shape), output.dtype)


def _or_zeros(derivative: Tensor | None, value: Tensor) -> Tensor:
    return zeros_like(value) if derivative is None else derivative


def as_like(value: Any, model: Tensor, name: str) -> Tensor:
    """Convert a tangent or cotangent to a Tensor; its shape must be that of its value.

    Raises
    ------
    TypeError
        If it is neither an array nor, for a 0-d value, a number, or if it is complex and the value is real.
    ValueError
        If it has another shape.
    """
    if is_number(value) and not model.ndim:
        value = asarray(value, host_namespace(), dtype=str(model.dtype))
    if not (is_tensor(value) or is_array(value)):
        raise TypeError(f"{name} must hold an array of shape {model.shape} here, got {type(value).__name__}")
    tensor = as_tensor(value)
    pairs = zip(tensor.node.shape, model.node.shape, strict=False)
    if tensor.ndim != model.ndim or any(same_length(a, b) is False for a, b in pairs):
        raise ValueError(f"{name} must hold an array of shape {model.shape} here, got shape {tensor.shape}")
    if tensor.dtype.kind == "c" and model.dtype.kind != "c":
        raise TypeError(f"{name} must be real where the value is, got {tensor.dtype}")
    return tensor


def value_and_grad(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes the value and the gradient of a scalar function.

    Parameters
    ----------
    fn : callable
        Function of arrays that returns a scalar, written with the functions and operators of this library or of
        ``array_namespace``.
    argnums : int or sequence of int
        Positions of the arguments to differentiate with respect to, each an array or a tuple, list or dict of arrays; a
        Python float is a 0-d array of `floatx`. Other arguments may be any objects.
    has_aux : bool
        Whether `fn` returns a pair of the scalar and auxiliary data, which are not differentiated.

    Returns
    -------
    callable
        Function that returns ``(value, gradient)``; with a sequence of `argnums`, a tuple of gradients; with `has_aux`,
        ``((value, aux), gradient)``. A gradient has the structure of its argument. Results are arrays of the library of
        the arguments, or Tensors if an argument is a Tensor.

    Raises
    ------
    TypeError
        If an argument to differentiate with respect to is not a floating array, or the result is not a scalar.

    Notes
    -----
    Every call calls `fn`, so that `fn` may use variables that change and test values (``if x.max() > 1``). The compiled
    plan is reused as long as `fn` records the same graph.

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

            found = call.computed("value_and_grad", outputs, targets, build)
        slopes = rebuilt(call.targets, found[len(outputs) :])
        return call.filled(found[: len(outputs)]), slopes[0] if single else tuple(slopes)

    return differentiated


def argument_numbers(argnums: int | Sequence[int]) -> tuple[bool, tuple[int, ...]]:
    """Return whether `argnums` is a single position, and the positions as a tuple."""
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
    """Return a function that computes the gradient of a scalar function.

    Parameters
    ----------
    fn, argnums, has_aux
        See `value_and_grad`.

    Returns
    -------
    callable
        Function that returns the gradient; with `has_aux`, ``(gradient, aux)``.

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
    """Return the value of a function and its directional derivative, the Jacobian-vector product.

    Parameters
    ----------
    fn : callable
        Function of arrays that returns an array or a tuple, list or dict of arrays.
    primals : tuple or list
        Arguments of `fn`, each an array or a tuple, list or dict of arrays.
    tangents : tuple or list
        Tangent of each argument, in the structure of the argument.

    Returns
    -------
    value, tangent
        Value of `fn` and its tangent, in the same structure.

    Notes
    -----
    The tangent is computed by a reverse pass over the reverse pass, which is linear in its cotangents. Of the first
    pass, the compiled plan contains only the factors that both share, so that a product costs two or three times as
    much as the value. Only a `scan` stores the history of its steps, as for a gradient.

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

        found = call.computed("jvp", outputs, [*targets, *directions], build, tangents)
    count = len(outputs)
    return call.filled(found[:count]), call.filled(found[count:])


def hvp(fn: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Return the Hessian-vector product of a scalar function, at the cost of a few gradients.

    Parameters
    ----------
    fn : callable
        Function of arrays that returns a scalar.
    primals : array, or tuple or list of arguments
        Argument or arguments of `fn`.
    tangents : array, or tuple or list
        Tangent of each argument, in the structure of `primals`.

    Returns
    -------
    array or tuple
        Product for each argument: an array for a single argument, else a tuple.

    Notes
    -----
    The product is the gradient of the product of the gradient and the vector. ``jvp(grad(fn), primals, tangents)``
    returns the gradient too.

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

        found = call.computed("hvp", [loss], [*targets, *directions], build, tangents)
    products = rebuilt(call.targets, found)
    return products[0] if single else tuple(products)


def _as_arguments(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a tuple or list with an entry for each argument, got {type(value).__name__}")
    return value


def _directions(call: Call, tangents: Any) -> list[Tensor]:
    """Convert each tangent to a Tensor, checked against its argument."""
    given = leaves_as(call.targets, tangents, "tangents")
    return [argument(as_like(value, target, "tangents")) for value, target in zip(given, call.arguments, strict=True)]


def vjp(fn: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return the value of a function, and a function that computes vector-Jacobian products.

    Parameters
    ----------
    fn : callable
        Function of arrays that returns an array or a tuple, list or dict of arrays.
    *primals : array, or tuple, list or dict of arrays
        Arguments of `fn`.

    Returns
    -------
    value
        Value of `fn`.
    pullback : callable
        ``pullback(cotangents)``, with cotangents in the structure of the value, returns a tuple: for each of `primals`
        the gradient of the sum of the value times the cotangents. Intermediate results of the forward pass are stored,
        so that any number of calls needs only one forward pass.

    Examples
    --------
    >>> import numpy as np
    >>> value, pullback = vjp(lambda x: x * x, np.asarray([1.0, 2.0]))
    >>> value.tolist(), pullback(np.asarray([1.0, 10.0]))[0].tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    with called(fn, primals, range(len(primals)), {}) as call:
        values, run = (call.outputs(), None) if call.recorded else _forward(call)

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        pairs = zip(leaves(call.value), leaves_as(call.value, cotangents, "cotangents"), strict=True)
        given = [cotangent for leaf, cotangent in pairs if is_output(leaf)]  # leaves that are not arrays have none
        outputs = call.outputs()
        seeds = [as_like(value, output, "cotangents") for value, output in zip(given, outputs, strict=True)]
        if run is None or any(map(is_tensor, given)):
            return tuple(rebuilt(call.targets, pulled(outputs, seeds, call.arguments)))
        arrays = [held(seed.node) for seed, output in zip(seeds, outputs, strict=True) if is_smooth(output)]
        return tuple(rebuilt(call.targets, run(arrays)))

    return call.filled(values), pullback


def _forward(call: Call) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
    """Return the values, and the reverse pass as a function of arrays that uses stored results of the forward pass."""
    outputs, targets = call.outputs(), call.arguments
    smooth = [output for output in outputs if is_smooth(output)]
    nodes = [target.node for target in targets]

    def residuals_and_back() -> tuple[list[Node], list[Node], list[Node]]:
        seeds = [inner_placeholder(output.node.shape, output.dtype) for output in smooth]
        back = [tensor.node for tensor in pulled(smooth, list(map(Tensor, seeds)), targets)]
        return captured_by(back, seeds), seeds, back

    def plans(leaves: Sequence[Node], xp: ModuleType) -> tuple[Plan, Plan]:
        residuals, seeds, back = residuals_and_back()
        forward = planned(leaves, [*(output.node for output in outputs), *residuals], len(outputs), xp)
        return forward, planned([*residuals, *seeds], back, len(back), xp)

    given = {node: held(node) for node in nodes}
    found = made_for_structure("vjp", [output.node for output in outputs], given, plans)
    if found is None:
        residuals, seeds, back = residuals_and_back()
        results = function(targets, [*outputs, *map(Tensor, residuals)])(*given.values())
        reverse = planned([*residuals, *seeds], back, len(back), running_namespace(results, default_namespace()))
    else:
        (forward, reverse), _, arrays = found
        results = forward(arrays)
    rest = results[len(outputs) :]

    def run(cotangents: list[Any]) -> list[Any]:
        dtypes = [running_dtype(reverse.xp, output.dtype) for output in smooth]
        return reverse([*rest, *(asarray(c, reverse.xp, dtype=d) for c, d in zip(cotangents, dtypes, strict=True))])

    return results[: len(outputs)], run
