"""Derivatives of functions of arrays: the tape is recorded, run and forgotten within a call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from nbm_xp.namespace import default_namespace, dtype_name, floatx, is_array

from .dtypes import as_dtype
from .function import Function, function
from .gradients import gradients
from .node import PLACEHOLDER, VARIABLE, Node, leaf
from .plan import keep
from .signature import signature
from .tensor import Tensor, as_tensor

__all__ = ["value_and_grad"]


def value_and_grad(fn: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of a scalar function and its gradient.

    Parameters
    ----------
    fn : callable
        A function of arrays, written over the functions and operators of this library or of ``array_namespace``, that
        returns one number.
    argnums : int or sequence of int
        Which arguments to differentiate in; the others may be anything.

    Returns
    -------
    callable
        ``(value, gradient)``; with a sequence of `argnums`, a tuple of gradients. All are arrays of the library that
        the arguments are of.

    Raises
    ------
    TypeError
        If an argument to differentiate in is no floating array, or the result is no scalar.

    Notes
    -----
    `fn` is called anew every time, so that it may close over what changes. The compiled plan is found again as long as
    `fn` records the same graph.

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = value_and_grad(lambda x: x @ x)(np.asarray([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    single = isinstance(argnums, int)
    chosen: tuple[int, ...] = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def differentiated(*args: Any, **options: Any) -> tuple[Any, Any]:
        positions = _positions(chosen, args)
        recorded = list(args)
        inputs: list[Tensor] = []
        for position, value in enumerate(args):
            if is_array(value):
                recorded[position] = _stand_in(value, position)
                inputs.append(recorded[position])
        loss = as_tensor(fn(*recorded, **options))
        if loss.ndim:
            raise TypeError(f"the function must return a scalar, got shape {loss.shape}")
        run, leaves = _compiled(loss, inputs, [recorded[position] for position in positions])
        arrays = [value for value in args if is_array(value)]
        value, *results = run(*arrays, *(_held(leaf) for leaf in leaves[len(inputs) :]))
        return value, results[0] if single else tuple(results)

    return differentiated


def _positions(argnums: tuple[int, ...], args: tuple[Any, ...]) -> list[int]:
    """The arguments to differentiate in, counted from the front, after a look at each."""
    positions = []
    for number in argnums:
        if not -len(args) <= number < len(args):
            raise TypeError(f"argnums names argument {number}, but {len(args)} were given")
        position = number % len(args)
        value = args[position]
        if not is_array(value):
            raise TypeError(f"argument {position} must be an array to differentiate in, got {type(value).__name__}")
        if dtype_name(value)[0] not in "fc":
            raise TypeError(f"argument {position} must be floating to differentiate in, got {dtype_name(value)}")
        positions.append(position)
    return positions


_CACHE_SIZE = 256
_functions: dict[Hashable, Function] = {}


def _compiled(loss: Tensor, inputs: list[Tensor], targets: list[Tensor]) -> tuple[Function, list[Node]]:
    """The function for a loss and its gradients, found again if one of this structure was compiled before.

    It takes the constants and variables of the graph as further arguments.
    """
    found = signature(loss.node, [tensor.node for tensor in inputs])
    if found is None:
        return function(inputs, [loss, *gradients(loss, targets, disconnected="zero")]), []
    structure, leaves = found
    nodes = [tensor.node for tensor in inputs]
    key = (structure, tuple(nodes.index(target.node) for target in targets), floatx(), default_namespace())
    compiled = _functions.get(key)
    if compiled is None:
        outputs = [loss, *gradients(loss, targets, disconnected="zero")]
        compiled = keep(_functions, key, function([Tensor(leaf) for leaf in leaves], outputs), _CACHE_SIZE)
    return compiled, leaves


def _held(leaf: Node) -> Any:
    return leaf.payload.value if leaf.op is VARIABLE else leaf.payload


def _stand_in(array: Any, position: int) -> Tensor:
    shape = tuple(length if length == length else None for length in array.shape)
    return Tensor(leaf(PLACEHOLDER, shape, len(shape), as_dtype(array.dtype), f"argument {position}"))
