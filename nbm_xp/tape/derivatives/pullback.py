"""`vjp`: the forward pass of a function once, and its reverse pass as often as there are cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from nbm_xp.namespace import array_namespace, convert, default_namespace, running_dtype, running_namespace

from ..dtypes import DType
from ..function import function
from ..loops.node import captured_by
from ..node import Node
from ..plans.structural_key import structural_key
from ..stand_ins import inner_placeholder
from ..tensor import Tensor, is_tensor
from ..trees import leaves, leaves_as, rebuilt
from .calls import Call, cache_key, called, held, is_output, planned, recalled, remembered
from .linear import as_like, is_smooth, pulled

__all__ = ["vjp"]


def vjp(fn: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a function, and the map that takes cotangents of it back to the arguments: vector times Jacobian.

    Parameters
    ----------
    fn : callable
        A function of arrays that returns arrays, one or a tuple, list or dict of them.
    *primals : array, or tuple, list or dict of arrays
        Where to differentiate.

    Returns
    -------
    value
        What `fn` returned.
    pullback : callable
        ``pullback(cotangents)``, with cotangents built as the value is, gives a tuple: for each of `primals` the
        gradient of the sum of the value times the cotangents. What the forward pass computed for it is kept, so that
        many cotangents cost one forward pass.

    Examples
    --------
    >>> import numpy as np
    >>> value, pullback = vjp(lambda x: x * x, np.asarray([1.0, 2.0]))
    >>> value.tolist(), pullback(np.asarray([1.0, 10.0]))[0].tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    with called(fn, primals, range(len(primals)), {}) as call:
        if call.recorded:
            return call.value, _recorded_pullback(call)
        values, run = _forward(call)
    recorded = _recorded_pullback(call)
    outputs = call.outputs()

    def pullback(cotangents: Any) -> tuple[Any, ...]:
        given = leaves_as(call.value, cotangents, "cotangents")
        if any(map(is_tensor, given)):
            return recorded(cotangents)
        seeds = [as_like(value, output, "cotangents") for value, output in _paired(call, given)]
        found = run([held(seed.node) for seed, output in zip(seeds, outputs, strict=True) if is_smooth(output)])
        return tuple(rebuilt(call.targets, found))

    return call.filled(values), pullback


def _paired(call: Call, cotangents: Sequence[Any]) -> list[tuple[Any, Tensor]]:
    """Cotangents with the outputs they belong to; a leaf of the value that is no array takes none."""
    outputs = iter(call.outputs())
    pairs = zip(leaves(call.value), cotangents, strict=True)
    return [(cotangent, next(outputs)) for leaf, cotangent in pairs if is_output(leaf)]


def _recorded_pullback(call: Call) -> Callable[[Any], tuple[Any, ...]]:
    def pullback(cotangents: Any) -> tuple[Any, ...]:
        pairs = _paired(call, leaves_as(call.value, cotangents, "cotangents"))
        seeds = [as_like(value, output, "cotangents") for value, output in pairs]
        return tuple(rebuilt(call.targets, pulled(call.outputs(), seeds, call.arguments)))

    return pullback


def _forward(call: Call) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
    """The values, and the reverse pass as a function of arrays that starts from what the forward pass kept."""
    outputs, targets = call.outputs(), call.arguments
    smooth = [output for output in outputs if is_smooth(output)]
    nodes = [target.node for target in targets]

    def residuals_and_back() -> tuple[list[Node], list[Node], list[Node]]:
        seeds = [inner_placeholder(output.node.shape, output.dtype, free=True) for output in smooth]
        back = [tensor.node for tensor in pulled(smooth, list(map(Tensor, seeds)), targets)]
        return captured_by(back, seeds), seeds, back

    found = structural_key([output.node for output in outputs], nodes)
    arrays = [held(node) for node in nodes]
    if found is None:
        residuals, seeds, back = residuals_and_back()
        results = function(targets, [*outputs, *map(Tensor, residuals)])(*arrays)
        reverse = planned([*residuals, *seeds], back, len(back), running_namespace(results, default_namespace()))
    else:
        structure, inputs = found
        arrays += [held(node) for node in inputs[len(nodes) :]]
        key = ("vjp", structure, cache_key(arrays))
        plans = recalled(key)
        if plans is None:
            residuals, seeds, back = residuals_and_back()
            xp = running_namespace(arrays, default_namespace())
            forward = planned(inputs, [*(output.node for output in outputs), *residuals], len(outputs), xp)
            plans = remembered(key, (forward, planned([*residuals, *seeds], back, len(back), xp)))
        forward, reverse = plans
        results = forward(arrays)
    rest = results[len(outputs) :]

    def run(cotangents: list[Any]) -> list[Any]:
        pairs = zip(cotangents, smooth, strict=True)
        return reverse([*rest, *(_in_library(cotangent, reverse.xp, output.dtype) for cotangent, output in pairs)])

    return results[: len(outputs)], run


def _in_library(array: Any, xp: ModuleType, dtype: DType) -> Any:
    """A cotangent as the reverse pass takes it."""
    if array_namespace(array) is not xp:
        array = convert(array, xp)
    kind = running_dtype(xp, dtype)
    return array if array.dtype == kind else xp.astype(array, kind)
