"""What a model accepts as data, checked before any work, and how training reads it, minibatch by minibatch.

Arrays in memory are checked at once. Those that are computed later are checked block by block, as they are computed;
training computes them a window of rows at a time, openly.
"""

from __future__ import annotations

import operator
import sys
import warnings
from functools import partial
from typing import Any, NamedTuple

from sklearn.utils import check_array

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, DType, Namespace
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    from_blocks,
    has_blocks,
    host_namespace,
    is_array,
    is_bool,
    is_complex,
    is_integer,
    is_lazy,
    library_name,
    to_numpy,
)
from nbm_xp.namespace.compiling import is_traced

from .minibatches import WINDOW, in_memory, is_sparse, minibatches

__all__ = [
    "Values", "checked_rows", "checked_values", "checked_weights", "known_length", "numbers", "positive_int",
    "shortened", "sparse_rows",
]  # fmt: skip

_ROUNDING = 1e-6  # by which scalers exceed their range


class Values(NamedTuple):
    """The values that data may have.

    Attributes
    ----------
    least, most : float
    whole : bool
        Whether they must be whole numbers.
    parts : tuple of pairs of Values, or None, and int
        Where columns differ: what so many of them, then so many others may have. The others are bounds of all, then.
    """

    least: float
    most: float
    whole: bool = False
    parts: tuple[Any, ...] = ()


_SHARES, _FINITE = Values(0.0, 1.0), Values(-sys.float_info.max, sys.float_info.max)


def positive_int(value: Array, name: str, least: int = 1) -> int:
    """A whole number no less than `least`.

    Raises
    ------
    ValueError
        If it is anything else; the message names the argument.

    Examples
    --------
    >>> positive_int(3, "n_steps")
    3
    """
    try:
        found = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = least - 1
    if found < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return found


def numbers(values: Array, name: str, xp: Namespace | None = None, dtype: DType = None) -> Array:
    """An array of a library, by default its own or the host's, of what may be a nested list or an array of another one.

    Raises
    ------
    ValueError
        If that holds anything else than numbers; the message names the argument.

    Examples
    --------
    >>> numbers(None, "X")
    Traceback (most recent call last):
    ...
    ValueError: X must be an array of numbers, got None
    """
    if hasattr(values, "dtypes") or (is_array(values) and str(values.dtype) == "object"):  # tables, too
        try:
            values = check_array(
                values, dtype="numeric", ensure_2d=False, allow_nd=True, ensure_all_finite=False, ensure_min_samples=0,
                ensure_min_features=0,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name} must be an array of numbers: {error}") from error
    if xp is None:
        xp = array_namespace(values) if is_array(values) else host_namespace()
    try:
        array = asarray(values, xp, dtype)
        dtype_name(array)  # refuses arrays of objects and of text
    except (TypeError, ValueError) as error:
        if is_array(values) and library_name(values) not in (library_name(xp), library_name(host_namespace())):
            raise  # it says how to convert one library's arrays openly
        raise ValueError(f"{name} must be an array of numbers, got {shortened(repr(values))}") from error
    return array


def shortened(text: str) -> str:
    """A text in one line that a message can hold."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."


def checked_rows(
    X: Array,
    n_features: int | None = None,
    *,
    name: str = "X",
    within: Values | None = _SHARES,
    clip: bool = True,
    owner: str = "the model",
) -> Array:
    """Rows of values between two, or of any real numbers, as an array of the library that they came in.

    Parameters
    ----------
    X : array or nested list of shape (rows, features)
        A sparse one of SciPy's becomes a dense one.
    n_features : int, optional
        How many features it must have.
    name : str, optional
        The argument's name, for messages.
    within : Values or None, optional
        The values that are allowed; None for all that are finite.
    clip : bool, optional
        Whether finite values outside are clipped to those; never where only whole numbers are allowed.
    owner : str, optional
        Whose features they are, for messages.

    Returns
    -------
    array
        `X` itself, if nothing is clipped; a list becomes an array in host memory; an array that is computed later is
        checked and clipped then.

    Raises
    ------
    ValueError
        If it is no array of real numbers, has not two axes, or other than `n_features` features, or values that are
        not finite or, where they are not clipped, outside of these.

    Warns
    -----
    UserWarning
        If values are clipped by more than rounding explains.

    Examples
    --------
    >>> checked_rows([[0.0, float("inf")]])
    Traceback (most recent call last):
    ...
    ValueError: X must have values in [0, 1], got values from 0 to inf
    """
    X = in_memory(X) if is_sparse(X) else X
    X = numbers(X, name)
    if X.ndim != 2:
        found = f"got an array of shape {tuple(X.shape)}"
        cure = f". Reshape your data: {name}[None, :] is a single row" if X.ndim == 1 else ""
        raise ValueError(f"{name} must have two axes, (rows, features), {found}{cure}")
    if n_features is not None and X.shape[1] != n_features:
        found = f"{name} has {X.shape[1]} features"
        raise ValueError(f"{found}, but {owner} is expecting {n_features} features as input")
    if X.shape[1] == 0:
        raise ValueError(f"{name} has 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    if is_complex(X):
        raise ValueError(f"{name} must hold real numbers, got complex ones: Complex data not supported")
    if is_lazy(array_namespace(X)):
        if within is not None and within.parts:
            X = X.rechunk({1: -1})
        if has_blocks(X):
            return X.map_blocks(checked_values, argument=name, within=within, clip=clip, dtype=X.dtype, meta=X._meta)
        check = partial(_checked_block, name, within, clip)
        return from_blocks(array_namespace(X), check, X.shape, X.dtype, X.chunks, blocks=(X,), name="checked")
    return checked_values(X, name, within, clip)


def sparse_rows(X: Array, n_features: int | None = None, *, within: Values | None = _SHARES, owner: str) -> Array:
    """Rows of a sparse matrix of SciPy's, checked as `checked_rows` does, without making them dense.

    Where columns differ in what is allowed, nothing is clipped, and values outside are an error.
    """
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    checked_rows(rows[:1, :], n_features, within=None, owner=owner)
    if within is not None and within.parts:  # what may be stored depends on the column
        for block, _ in minibatches(rows, WINDOW):
            checked_values(block, "X", within)
    elif rows.nnz:
        rows.data = checked_values(rows.data, "X", within, clip=True)
    return rows


def _checked_block(name: str, within: Values | None, clip: bool, offset: Any, shape: Any, block: Array) -> Array:
    return checked_values(block, name, within, clip)


def checked_values(block: Array, argument: str, within: Values | None, clip: bool = False) -> Array:
    """An array in memory itself, if its values are finite, and those that are allowed.

    With `clip`, finite values outside of these become the nearest of them; a warning says so.

    Raises
    ------
    ValueError
        If they are not.
    """
    if is_bool(block) or 0 in block.shape:
        return block
    if within is not None and within.parts:
        return _checked_parts(block, argument, within.parts, clip)
    if is_traced([block]):
        return B.clip(block, within.least, within.most) if clip and within and not within.whole else block
    extremes = array_namespace(block).stack([B.min(block), B.max(block)])
    low, high = map(float, to_numpy(extremes))  # one wait for a device
    least, most, whole, _ = within or _FINITE
    if clip and within and not whole and -sys.float_info.max <= low and high <= sys.float_info.max:
        if low < least - _ROUNDING or high > most + _ROUNDING:
            advice = "clipped to it; scale the data so that they lie within"
            found = f"values from {low:g} to {high:g}, those outside [{least:g}, {most:g}]"
            warnings.warn(f"{argument} has {found} are {advice}", stacklevel=3)
        kind = int if is_integer(block) else float  # the dtype stays; one without -1 is not told of it
        block = block if low >= least else B.maximum(block, kind(least))
        return block if high <= most else B.minimum(block, kind(most))
    if not (low >= least and high <= most):
        wanted = f"{'whole numbers' if whole else 'values'} in [{least:g}, {most:g}]" if within else "finite values"
        found = "NaN" if low != low or high != high else f"values from {low:g} to {high:g}"
        found += ": Negative values in data" if whole and low < 0 <= least else ""  # as scikit-learn's checks expect
        raise ValueError(f"{argument} must have {wanted}, got {found}")
    if whole and not bool(B.all(B.equal(block, B.round(block)))):
        raise ValueError(f"{argument} must have whole numbers in [{least:g}, {most:g}], got others")
    return block


def _checked_parts(block: Array, argument: str, parts: tuple[Any, ...], clip: bool) -> Array:
    """Columns of several kinds, each checked for itself."""
    found, first = [], 0
    for within, count in parts:
        of_part = f"{argument}[..., {first}:{first + count}]"
        found.append(checked_values(block[..., first : first + count], of_part, within, clip))
        first += count
    if first != block.shape[-1]:
        raise ValueError(
            f"{argument} must have {first} features, as its kinds of units say, in one block, got {block.shape[-1]}"
        )
    return B.concatenate(found, axis=-1)


def known_length(X: Array, name: str = "X") -> int:
    """How many rows there are, which random numbers need to know; at least one.

    Raises
    ------
    ValueError
        If nobody knows before the array is computed, or there is none.
    """
    length = X.shape[0]
    if length != length:
        raise ValueError(f"{name} must have a known number of rows: call its compute_chunk_sizes() first")
    if not length:
        raise ValueError(f"{name} must have at least one row")
    return int(length)


def checked_weights(weights: Array, X: Array) -> Array:
    """How much each row counts, in host memory, their mean being 1; None where nobody says.

    Raises
    ------
    ValueError
        If there is not one for each row, or one is below 0 or not finite, or all are zero.

    Examples
    --------
    >>> checked_weights([1, 3], [[0.0], [1.0]])
    array([0.5, 1.5])
    """
    if weights is None:
        return None
    count = len(X) if isinstance(X, list) else X.shape[0]
    host = asarray(to_numpy(numbers(weights, "sample_weight")), host_namespace(), "float64")
    if host.shape != (count,):
        found = f"got an array of shape {tuple(host.shape)}"
        raise ValueError(f"sample_weight must have one axis, a weight for each of {count} rows, {found}")
    low, total = float(B.min(host)), float(B.sum(host))
    if not 0.0 <= low <= total <= sys.float_info.max or total < count / sys.float_info.max:
        found = f"got weights from {low:g}, {total:g} in all"
        raise ValueError(f"sample_weight must have finite weights of at least 0, and not all zero, {found}")
    return host * (count / total)
