"""Recording of draws: their sizes and parameters, and an operation of the tape for each kind of draw.

Contract: a size, in any documented form, becomes a tuple of ints and lengths; an error names the parameter, its value
and what is allowed. An operation of `RandomStreams` takes the state of the streams and returns the numbers and the next
state; it has no derivatives. A draw of a `Generator` whose parameters are Tensors keeps the uniforms of the call at
every evaluation, and has the numbers and derivatives of the same call with arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    brought,
    convert,
    default_namespace,
    dtype_name,
    dtype_of,
    get_namespace,
    host_namespace,
    is_array,
    is_floating,
    is_lazy,
    library_name,
    to_numpy,
)
from nbm_xp.namespace.compiling import as_rounded
from nbm_xp.tape import KnownLength, Length, Tensor, as_tensor, composite, is_tensor, operation
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.dtypes import as_dtype, int32
from nbm_xp.tape.graph import Node
from nbm_xp.tape.operations import FLAT, Joint, Shape, Spec
from nbm_xp.tape.standard.shapes import recorded_length

from . import draws
from .distributions import DISTRIBUTIONS, derivatives, differentiated, line_of
from .parameters import count_of, countable, is_double, is_number, known_integer, scaled_and_shifted
from .tasks import Draw, library_of_blocks, made

Lengths: TypeAlias = tuple["int | Length", ...]


def recorded_shape(size: Any, ndim: int | None, **parameters: Any) -> tuple[Any, Lengths]:
    """Validate the size of a draw.

    Parameters
    ----------
    size : tuple of ints, lengths and integer Tensors; or one of these; or an integer Tensor with one axis
        Size as passed.
    ndim : int or None
        Required number of axes.
    **parameters
        Parameters that broadcast to the shape; they determine it if `size` is None and one of them is a Tensor.

    Returns
    -------
    size
        Shape if all its lengths are ints, else the size as passed.
    shape : tuple of ints and Lengths
        Shape of the draw.

    Examples
    --------
    >>> recorded_shape([2, 3], None)
    ((2, 3), (2, 3))
    """
    tensors = {name: value for name, value in parameters.items() if is_tensor(value)}
    if size is None and tensors:
        size = tuple(reduce(operator.add, tensors.values()).shape)  # recorded for its shape only, never computed
    if is_array(size) and not is_lazy(get_namespace(library_name(size))):
        size = to_numpy(size).tolist()
    if is_tensor(size) and size.ndim:
        shape: Lengths = tuple(recorded_length(size[axis]) for axis in range(_axes(size, ndim)))
    elif isinstance(size, (tuple, list)):
        shape = tuple(_length(size, length) for length in size)
    else:
        shape = (_length(size, size),)
    ndim = known_integer(ndim)
    if ndim is not None and (is_array(ndim) or ndim != len(shape)):
        raise ValueError(f"ndim must be the number of lengths in size, {len(shape)}; got {ndim}")
    if any(isinstance(length, int) and length < 1 for length in shape):
        raise ValueError(f"size must hold lengths of 1 or more, got {size!r}")
    for name, value in tensors.items():
        known_pairs = zip(reversed(value.shape), reversed(shape), strict=False)
        fits = all(a in (1, b) for a, b in known_pairs if isinstance(a, int) and isinstance(b, int))
        if value.ndim > len(shape) or not fits:
            raise ValueError(f"size must hold what {name} broadcasts to, {value.shape}; got {shape}")
    known = tuple(length for length in shape if isinstance(length, int))
    return (countable(known) if len(known) == len(shape) else size), shape


def _axes(size: Tensor, ndim: int | None) -> int:
    """Return the number of lengths that a Tensor holds."""
    if size.ndim > 1:
        raise TypeError(f"size must have one axis where it is a Tensor, got {size!r}")
    length = size.shape[0]
    if isinstance(length, int):
        return length
    if ndim is None:
        raise TypeError("ndim must be given where size is a Tensor of unknown length")
    return ndim


def _length(size: Any, length: Any) -> Any:
    """Return one length, as an int or a Length; Tensors stay Lengths, on which the number of streams depends."""
    if isinstance(length, (Length, KnownLength)) or is_tensor(length):
        return recorded_length(length)
    try:
        return operator.index(length)
    except TypeError:
        raise TypeError(f"size must be a tuple of ints, lengths or integer Tensors, got {size!r}") from None


def recorded_count(name: str, value: Any) -> Any:
    """Validate a number of draws: an int of 1 or more, or an integer Tensor."""
    if not is_tensor(value) and not isinstance(value, (Length, KnownLength)):
        return count_of(name, value, 1, what="an int or an integer Tensor")
    return recorded_length(value)


def as_parameter(name: str, value: Any, axes: int = 0) -> Any:
    """Validate a parameter: a number is unchanged, anything else becomes a Tensor of at least `axes` axes."""
    if not axes and is_number(value):
        if not is_double(value):
            raise ValueError(f"{name} must be within what float64 holds, got {value!r}")
        return value
    if not (is_tensor(value) or is_array(value) or isinstance(value, (list, tuple))):
        raise TypeError(f"{name} must be a number, an array or a Tensor, got {type(value).__name__}")
    try:
        tensor = value if is_tensor(value) else as_tensor(_at_home(value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, an array of numbers or a Tensor, got {value!r}") from error
    if tensor.ndim < axes:
        raise ValueError(f"{name} must have {axes} axes or more, got shape {tensor.shape}")
    return tensor


def _at_home(value: Any) -> Any:
    """Convert a list, or an array of the host, to the default library, to which the states of draws belong."""
    if is_array(value) and library_name(value) != library_name(host_namespace()):
        return value
    xp = default_namespace()
    return brought(value, xp) if is_array(value) else asarray(value, xp)


def things_of(name: str, a: Any) -> Any:
    """Validate a population: None, an int of 1 or more, or a vector, which becomes a Tensor."""
    a = known_integer(a)
    if a is None:
        return None
    if is_number(a):
        return count_of(name, a, 1, 31, "an int or a vector")  # the graph stores a probability for each
    things = as_parameter(name, a, axes=1)
    if things.ndim != 1:
        raise ValueError(f"{name} must have one axis, got shape {things.shape}")
    return things


def equal_chances(things: Any) -> Tensor:
    """Return equal float64 probabilities for a number of entries, or for the entries of a vector."""
    if isinstance(things, int):
        return as_tensor(asarray([1.0 / things] * things, default_namespace()))
    ones = recorded.ones_like(things, dtype=recorded.float64)
    chances: Tensor = ones / recorded.sum(ones)
    return chances


_AT_ONCE: Final = 2**15  # probabilities compared with uniforms in one operation


def _crossed(xp: Any, p: Any, u: Any) -> Any:
    """Mark the first outcome at which the cumulative sum of probabilities, in float64, exceeds a uniform."""
    sums = xp.cumulative_sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
    past = xp.astype(sums > xp.astype(u, sums.dtype)[..., None], dtype_of(xp, "int32"))
    return xp.cumulative_sum(past, axis=-1) * past == 1


def multinomial_counts(xp: Any, p: Any, u: Any, n: int, dtype: str) -> Any:
    """Count the outcomes of `n` draws from each row of probabilities.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> p, u = xp.asarray([[0.98, 0.01, 0.01], [0.01, 0.49, 0.5]]), xp.asarray([0.3, 0.8, 0.2, 0.4])
    >>> multinomial_counts(xp, p, u, 2, "int64").tolist()
    [[2, 0, 0], [0, 1, 1]]
    """
    draws, index = xp.reshape(u, (n, *p.shape[:-1])), dtype_of(xp, "int64")
    counts, together = xp.zeros_like(p, dtype=index), max(1, _AT_ONCE // max(1, math.prod(p.shape)))
    for first in range(0, n, together):
        crossed = _crossed(xp, p, draws[first : min(n, first + together), ...])
        counts = counts + xp.sum(xp.astype(crossed, index), axis=0)
    return xp.astype(counts, dtype_of(xp, dtype))


def with_replacement(xp: Any, p: Any, u: Any, size: int, dtype: str) -> Any:
    """Choose `size` outcomes from each row of probabilities, with replacement.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> with_replacement(xp, xp.asarray([[0.5, 0.25, 0.25]]), xp.asarray([0.6, 0.7]), 2, "int64").tolist()
    [[1, 1]]
    """
    outcomes, sums = p.shape[-1], xp.cumulative_sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
    last = xp.max(xp.where(p > 0, xp.arange(outcomes, dtype=dtype_of(xp, "int64")), 0), axis=-1)
    draws = xp.reshape(xp.astype(u, sums.dtype), (size, *p.shape[:-1]))
    if p.ndim == 1:
        passed = xp.searchsorted(sums, draws, side="right")
    else:
        passed = outcomes - xp.sum(xp.astype(sums > draws[..., None], dtype_of(xp, "int64")), axis=-1)
    chosen = xp.where(passed < outcomes, passed, last)
    return xp.astype(xp.moveaxis(chosen, 0, -1), dtype_of(xp, dtype))


def without_replacement(xp: Any, p: Any, u: Any, size: int, dtype: str) -> Any:
    """Choose `size` outcomes from each row of probabilities, without replacement.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> p, u = xp.asarray([[0.5, 0.25, 0.25]]), xp.asarray([0.1, 0.6])
    >>> without_replacement(xp, p, u, 2, "int64").tolist()
    [[0, 2]]
    """
    outcomes = p.shape[-1]
    if size > outcomes:
        raise ValueError(f"size must be at most {outcomes}, the number of outcomes, got {size}")
    index = dtype_of(xp, "int64")
    places = xp.arange(outcomes, dtype=index)
    draws = xp.reshape(u, (size, *p.shape[:-1]))
    free = xp.ones_like(p, dtype=dtype_of(xp, "bool"))
    chosen = []
    for draw in range(size):
        crossed = xp.max(xp.where(_crossed(xp, p, draws[draw, ...]), places, -1), axis=-1)
        last = xp.max(xp.where(free, xp.where(p > 0, places + outcomes, places), -1), axis=-1) % outcomes
        choice = xp.where(crossed < 0, last, crossed)
        chosen.append(xp.astype(choice, dtype_of(xp, dtype)))
        free = free & (places != choice[..., None])
        p = xp.where(free, p, xp.zeros_like(p))
        total = xp.sum(p, axis=-1, keepdims=True)
        p = p / xp.where(total == 0, xp.ones_like(total), total)
    return xp.stack(chosen, axis=-1)


def _numbers_and_state(state: Node, *inputs: Node, size: Shape, dtype: str, **options: Any) -> list[Spec]:
    return [(size, as_dtype(dtype)), (state.shape, int32)]


def _as_drawn(draw: Callable[..., tuple[Any, Any]], xp: Any, states: Any, **options: Any) -> tuple[Any, Any]:
    """Return numbers whose bits do not depend on later operations, and the state after them."""
    drawn, new = draw(xp, states, **options)
    return as_rounded(drawn, xp), new


_stateful = partial(operation, infer=_numbers_and_state, gradient=FLAT, several=True, may_overlap=False)

uniform = _stateful("random_uniform", run=partial(_as_drawn, draws.draw))

normal = _stateful("random_normal", run=partial(_as_drawn, draws.normal))

binomial = _stateful(
    "random_binomial",
    run=draws.binomial,
    fused={(1, "sigmoid", "add", "matmul"): draws.binomial_of_affine, (1, "sigmoid"): draws.binomial_of_sigmoid},
)

multinomial = operation(
    "random_multinomial",
    infer=lambda p, u, n, dtype: (p.shape, as_dtype(dtype)),
    run=multinomial_counts,
    gradient=FLAT,
    may_overlap=False,
)

_CHOOSING = {True: with_replacement, False: without_replacement}

choice = operation(
    "random_choice",
    infer=lambda p, u, size, dtype, replace: ((*p.shape[:-1], size), as_dtype(dtype)),
    run=lambda xp, p, u, size, dtype, replace: _CHOOSING[replace](xp, p, u, size, dtype),
    gradient=FLAT,
    may_overlap=False,
)


@composite(gradient=lambda g, out, x: g, elementwise=True, name="as_rounded")
def _settled(x: Any) -> Any:
    return as_rounded(x, array_namespace(x))


def rounded_product(x: Any, y: Any) -> Any:
    """Return a product that is rounded before anything is added to it."""
    return _settled(x * y)


def _run(xp: Any, *arrays: Any, task: Draw) -> Any:
    here = [x if is_array(x) and library_name(x) == library_name(xp) else convert(x, xp) for x in arrays]
    library = library_of_blocks(xp, *here) if is_lazy(xp) else library_name(xp)
    return made(xp, replace(task, library=library), here)


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


_generator_draw = operation("random_draw", infer=_spec, run=_run, gradient=Joint(_cotangents), may_overlap=False)
_derivative = operation(
    "random_draw_derivative", infer=_spec, run=_run, gradient=Joint(_second_cotangents), may_overlap=False
)


def as_parameters(parameters: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the tape's namespace, and parameters as numbers and Tensors."""
    return recorded, [as_parameter(name, value) for name, value in parameters.items()]


def recorded_draw(task: Draw, parameters: Sequence[Any] = ()) -> Tensor:
    """Record a draw, with first derivatives in its Tensors; with derivatives of any order for locations and scales."""
    drawn: Tensor
    if task.make is not line_of:
        drawn = _generator_draw(*filter(is_tensor, parameters), task=task)
        return drawn
    line = DISTRIBUTIONS[dict(task.options)["name"]].line
    assert line is not None
    shift, scale = line(recorded, *parameters, task.dtype)
    standard = _generator_draw(task=replace(task, numbers=(0.0, 1.0)))
    drawn = scaled_and_shifted(recorded, standard, shift, scale, task.dtype, rounded_product)
    return drawn
