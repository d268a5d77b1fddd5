"""Sizes and parameters of recorded draws, where lengths may be unknown until a graph runs.

Contract: whatever the documents take as a size becomes a tuple of ints and lengths; an error
names the parameter, what it was and what is allowed.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import (
    asarray,
    brought,
    default_namespace,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    to_numpy,
)
from nbm_xp.tape import KnownLength, Length, Tensor, as_tensor, is_tensor
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.concrete import recorded_length

from ..parameters import countable, is_double, is_number, known_integer

__all__ = [
    "Lengths", "as_parameter", "as_wide_as", "count_of", "elements_of", "equal_chances", "recorded_shape",
    "size_or_parameters", "things_of",
]  # fmt: skip

MOST_THINGS: Final = 2**31
"""So many there are to choose from at most: each has its probability in the graph."""

Lengths: TypeAlias = tuple["int | Length", ...]


def recorded_shape(size: Any, ndim: int | None) -> tuple[Any, Lengths]:
    """Read the size of a draw.

    Parameters
    ----------
    size : tuple of ints, lengths and integer Tensors; or one of these; or an integer Tensor with one axis
        The size as it was given.
    ndim : int or None
        How many axes there are to be.

    Returns
    -------
    size
        The shape where it is known for good, else the size as it was given.
    shape : tuple of ints and Lengths
        The shape.

    Examples
    --------
    >>> recorded_shape([2, 3], None)
    ((2, 3), (2, 3))
    """
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
    known = tuple(length for length in shape if isinstance(length, int))
    return (countable(known) if len(known) == len(shape) else size), shape


def size_or_parameters(size: Any, *parameters: Any) -> Any:
    """Give a size, or what parameters broadcast to where it is None and one of them is a Tensor.

    Examples
    --------
    >>> size_or_parameters((3,), 0.5)
    (3,)
    """
    tensors = [value for value in parameters if is_tensor(value)]
    if size is not None or not tensors:
        return size
    together = tensors[0]
    for tensor in tensors[1:]:
        together = together + tensor  # recorded for its shape; no plan computes it
    return tuple(together.shape)


def _axes(size: Tensor, ndim: int | None) -> int:
    """How many lengths a Tensor holds."""
    if size.ndim > 1:
        raise TypeError(f"size must have one axis where it is a Tensor, got {size!r}")
    length = size.shape[0]
    if isinstance(length, int):
        return length
    if ndim is None:
        raise TypeError("ndim must be given where size is a Tensor of unknown length")
    return ndim


def _length(size: Any, length: Any) -> Any:
    """One length, as an int or a Length; Tensors stay Lengths, which decide how many streams are drawn from."""
    if isinstance(length, (Length, KnownLength)) or is_tensor(length):
        return recorded_length(length)
    try:
        return operator.index(length)
    except TypeError:
        raise TypeError(f"size must be a tuple of ints, lengths or integer Tensors, got {size!r}") from None


def elements_of(shape: Lengths) -> Any:
    """The number of elements of a shape.

    Examples
    --------
    >>> elements_of((2, 3))
    6
    """
    return math.prod(shape)


def count_of(name: str, value: Any) -> Any:
    """Read a number of draws: an int of 1 or more, or an integer Tensor.

    Examples
    --------
    >>> count_of("n", 3)
    3
    """
    try:
        count = _length(value, value)
    except TypeError:
        raise TypeError(f"{name} must be an int or an integer Tensor, got {value!r}") from None
    if isinstance(count, int) and count < 1:
        raise ValueError(f"{name} must be 1 or more, got {value!r}")
    return count


def as_parameter(name: str, value: Any, axes: int = 0) -> Any:
    """Read a parameter: a number stays one, anything else becomes a Tensor of so many axes or more.

    Examples
    --------
    >>> as_parameter("p", 0.5)
    0.5
    """
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
    """A list, or an array of the host, as an array of the default library, where the states of draws are."""
    if is_array(value) and library_name(value) != library_name(host_namespace()):
        return value
    xp = default_namespace()
    return brought(value, xp) if is_array(value) else asarray(value, xp)


def as_wide_as(shape: Lengths, **parameters: Any) -> None:
    """Check that parameters broadcast to the shape of a draw, as far as it is known.

    Examples
    --------
    >>> as_wide_as((2,), low=0.0)
    """
    for name, value in parameters.items():
        if not is_tensor(value):
            continue
        known = zip(reversed(value.shape), reversed(shape), strict=False)
        fits = all(a in (1, b) for a, b in known if isinstance(a, int) and isinstance(b, int))
        if value.ndim > len(shape) or not fits:
            raise ValueError(f"size must hold what {name} broadcasts to, {value.shape}; got {shape}")


def things_of(name: str, a: Any) -> Any:
    """Read what there is to choose from: None, an int of 1 or more, or a vector as a Tensor.

    Examples
    --------
    >>> things_of("a", 3)
    3
    """
    a = known_integer(a)
    if a is None or (is_number(a) and not isinstance(a, float)):
        if a is not None and a < 1:
            raise ValueError(f"{name} must be 1 or more where it is a number, got {a}")
        if a is not None and a > MOST_THINGS:
            raise ValueError(f"{name} must be at most 2**31 where it is a number, got {a}")
        return a
    if is_number(a):
        raise TypeError(f"{name} must be an int or a vector, got {a!r}")
    things = as_parameter(name, a, axes=1)
    if things.ndim != 1:
        raise ValueError(f"{name} must have one axis, got shape {things.shape}")
    return things


def equal_chances(things: Any) -> Tensor:
    """Make probabilities that are all the same, in double precision, for a number of things or a vector of them."""
    if isinstance(things, int):
        return as_tensor(asarray([1.0 / things] * things, default_namespace()))
    ones = recorded.ones_like(things, dtype=recorded.float64)
    chances: Tensor = ones / recorded.sum(ones)
    return chances
