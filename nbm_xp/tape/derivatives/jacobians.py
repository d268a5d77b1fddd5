"""Jacobians and Hessians as arrays: a linear map applied to all unit vectors at once.

The map, from cotangents of the results to gradients of the arguments or from tangents of the arguments to tangents of
the results, is recorded for one vector and applied to all as by `vmap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..graph import inner_placeholder
from ..lengths import known, product
from ..standard.creation import eye, ones, zeros
from ..standard.manipulation import permute_dims, reshape
from ..tensor import Tensor
from ..trees import rebuilt
from .calls import called
from .transforms import argument_numbers, is_smooth, pulled, pushed
from .vmapping import for_each

Mode = Literal["forward", "reverse"]
Linear = Callable[[Tensor], Sequence[Tensor]]


def jacobian(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, *, mode: Mode | None = None, holomorphic: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of a function.

    Parameters
    ----------
    fn : callable
        Function of arrays that returns an array or a tuple, list or dict of arrays.
    argnums : int or sequence of int
        Positions of the arguments to differentiate with respect to, each an array or a tuple, list or dict of arrays.
    mode : {"forward", "reverse"}, optional
        Whether to compute one column for each element of the arguments (forward) or one row for each element of the
        results (reverse). By default forward if a result has more than twice as many elements as the arguments.
    holomorphic : bool
        Whether `fn` is holomorphic; required for complex results of complex arguments.

    Returns
    -------
    callable
        Function that returns, in the structure of the results of `fn`, for each result the array of its derivatives,
        whose shape is the shape of the result followed by the shape of the argument. With a sequence of `argnums`, each
        result has a tuple with an entry for each of them.

    Notes
    -----
    All rows (or columns) are computed together, by the same operations with an additional axis; memory grows in
    proportion to their number.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x * x[0])(np.asarray([2.0, 3.0])).tolist()
    [[4.0, 0.0], [3.0, 2.0]]
    """
    if mode not in (None, "forward", "reverse"):
        raise ValueError(f"mode must be 'forward', 'reverse' or None, got {mode!r}")
    single, chosen = argument_numbers(argnums)

    def derivative(*args: Any, **options: Any) -> Any:
        with called(fn, args, chosen, options) as call:
            outputs, targets = call.outputs(), call.arguments
            _check_complex(outputs, targets, holomorphic)

            def build() -> list[Tensor]:
                return [block for value in outputs for block in _row(value, targets, mode)]

            found = call.computed(("jacobian", mode), outputs, targets, build)
        count = len(targets)
        rows = [rebuilt(call.targets, found[start : start + count]) for start in range(0, len(found), count)]
        return call.filled([row[0] if single else tuple(row) for row in rows])

    return derivative


def hessian(fn: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of a function, usually a scalar one.

    Parameters
    ----------
    fn : callable
        Function of arrays.
    argnums : int or sequence of int
        Positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        Function that returns the Jacobian of the Jacobian: for a scalar function an array whose shape is the shape of
        the argument twice; with a sequence of `argnums`, a tuple of tuples of these.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: x[0] * x[0] * x[1])(np.asarray([2.0, 3.0])).tolist()
    [[6.0, 4.0], [4.0, 0.0]]
    """
    return jacobian(jacobian(fn, argnums), argnums)


def _check_complex(outputs: Sequence[Tensor], targets: Sequence[Tensor], holomorphic: bool) -> None:
    complex_in = any(target.dtype.kind == "c" for target in targets)
    if complex_in and not holomorphic and any(value.dtype.kind == "c" for value in outputs):
        raise TypeError(
            "complex results of complex arguments have a Jacobian only where the function is holomorphic: "
            "say holomorphic=True, or take real and imaginary parts"
        )


def _row(value: Tensor, targets: Sequence[Tensor], mode: Mode | None) -> list[Tensor]:
    """Return the derivatives of an output with respect to each target."""
    if not is_smooth(value):
        return [zeros((*value.node.shape, *t.node.shape), dtype=t.dtype) for t in targets]
    if _goes_forward(value, targets, mode):
        return [_forward(value, target) for target in targets]
    return _reverse(value, targets)


def _goes_forward(value: Tensor, targets: Sequence[Tensor], mode: Mode | None) -> bool:
    """Return whether forward mode is cheaper; a forward product costs about twice as much as a reverse one."""
    mixed = value.dtype.kind != "c" and any(target.dtype.kind == "c" for target in targets)
    if mode is not None or mixed:
        return mode == "forward" and not mixed
    sizes = [known(product(tensor.node.shape)) for tensor in (value, *targets)]
    if None in sizes:
        return False
    size, *others = (size or 0 for size in sizes)
    return size > 2 * sum(others)


def _reverse(value: Tensor, targets: Sequence[Tensor]) -> list[Tensor]:
    def back(cotangent: Tensor) -> list[Tensor]:
        return pulled([value], [cotangent], targets)

    found = _applied(back, value)
    if value.dtype.kind != "c" or all(target.dtype.kind == "c" for target in targets):
        return found
    # a real argument receives the real part of cotangent times derivative: -1j gives the imaginary part
    turned = _applied(lambda cotangent: back(cotangent * -1j), value)
    return [a if target.dtype.kind == "c" else a + 1j * b for a, b, target in zip(found, turned, targets, strict=True)]


def _forward(value: Tensor, target: Tensor) -> Tensor:
    (columns,) = _applied(lambda tangent: pushed([value], [target], [tangent]), target)
    return permute_dims(columns, (*range(target.ndim, columns.ndim), *range(target.ndim)))


def _applied(linear: Linear, like: Tensor) -> list[Tensor]:
    """Apply a linear map to all unit vectors of the shape of `like`, which is the leading shape of the results."""
    shape = like.node.shape
    size = product(shape)
    count = known(size)
    if count == 1:
        unit = ones(shape, dtype=like.dtype)
        return [reshape(result, (*shape, *result.node.shape)) for result in linear(unit)]
    vector = inner_placeholder(shape, like.dtype)
    results = list(linear(Tensor(vector)))
    units = reshape(eye(size, dtype=like.dtype), (size, *shape))
    found = for_each([result.node for result in results], {vector: units}, size, "jacobian")
    return [reshape(result, (*shape, *result.node.shape[1:])) for result in found]
