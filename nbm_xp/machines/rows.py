"""Validation of data: rows, and weights of rows.

Arrays in memory are checked immediately. Lazy arrays are checked block by block when they are computed; training
computes them a window of rows at a time.
"""

from __future__ import annotations

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

from .minibatches import WINDOW, in_memory, is_missing, is_sparse, minibatches

_ROUNDING = 1e-6  # scalers may exceed their range by this


class Values(NamedTuple):
    """The values allowed in data.

    Attributes
    ----------
    least, most : float
        Smallest and largest value.
    whole : bool
        Whether values must be whole numbers.
    parts : tuple of pairs of Values, or None, and int
        Allowed values of consecutive groups of columns, and their numbers of columns; empty if all columns have the
        same. `least` and `most` are then bounds for all columns.
    """

    least: float
    most: float
    whole: bool = False
    parts: tuple[Any, ...] = ()


_SHARES, _FINITE = Values(0.0, 1.0), Values(-sys.float_info.max, sys.float_info.max)


def numbers(values: Array, name: str, xp: Namespace | None = None, dtype: DType = None) -> Array:
    """Convert an array, table or nested list to an array of a library, by default its own or that of host memory.

    Raises
    ------
    ValueError
        If it contains anything but numbers; the message names the argument.

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
        dtype_name(array)  # raises for arrays of objects and of strings
    except (TypeError, ValueError) as error:
        if is_array(values) and library_name(values) not in (library_name(xp), library_name(host_namespace())):
            raise  # the message says how to convert arrays between libraries
        raise ValueError(f"{name} must be an array of numbers, got {shortened(repr(values))}") from error
    return array


def shortened(text: str) -> str:
    """Return a text as one line of at most 80 characters, for messages."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."


def checked_rows(
    X: Array,
    n_features: int | None = None,
    *,
    name: str = "X",
    within: Values | None = _SHARES,
    clip: bool = True,
    missing: bool | str = False,
    owner: str = "the model",
) -> Array:
    """Return checked rows, by default with values in [0, 1], as an array of their library.

    Parameters
    ----------
    X : array, table or nested list of shape (rows, features)
        A SciPy sparse array is converted to a dense one.
    n_features : int, optional
        Required number of features.
    name : str, optional
        Name of the argument in messages.
    within : Values or None, optional
        Allowed values; None for all finite ones.
    clip : bool, optional
        Whether to clip finite values to the allowed range; whole numbers are never clipped.
    missing : bool or str, optional
        Whether values may be missing, NaN. Not if the number of rows is unknown. A string is the reason why not.
    owner : str, optional
        Name of the model in messages.

    Returns
    -------
    array
        `X` itself if nothing is clipped; a list becomes an array in host memory; a lazy array is checked and clipped
        when it is computed.

    Raises
    ------
    ValueError
        If `X` is not an array of real numbers with two axes and `n_features` features, or has values that are not
        finite, or not allowed and not clipped.

    Warns
    -----
    UserWarning
        If values are clipped by more than 1e-6.

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
    missing = "where the number of rows is unknown" if missing is True and X.shape[0] != X.shape[0] else missing
    check = partial(checked_values, argument=name, within=within, clip=clip, missing=missing)
    if is_lazy(array_namespace(X)):
        if within is not None and within.parts:
            X = X.rechunk({1: -1})
        if has_blocks(X):
            return X.map_blocks(check, dtype=X.dtype, meta=X._meta)
        block = partial(_checked_block, check)
        return from_blocks(array_namespace(X), block, X.shape, X.dtype, X.chunks, blocks=(X,), name="checked")
    return check(X)


def sparse_rows(X: Array, n_features: int | None = None, *, within: Values | None = _SHARES, owner: str) -> Array:
    """Return checked rows of a SciPy sparse matrix, as `checked_rows` does, without making the matrix dense.

    Values may be missing, NaN.
    If allowed values differ between columns, nothing is clipped, and other values are an error.
    """
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    checked_rows(rows[:1, :], n_features, within=None, missing=True, owner=owner)
    if within is not None and within.parts:  # allowed values depend on the column
        for block, _ in minibatches(rows, WINDOW):
            checked_values(block, "X", within, missing=True)
    elif rows.nnz:
        rows.data = checked_values(rows.data, "X", within, clip=True, missing=True)
    return rows


def _checked_block(check: Any, offset: Any, shape: Any, block: Array) -> Array:
    return check(block)


def checked_values(
    block: Array, argument: str, within: Values | None, clip: bool = False, missing: bool | str = False
) -> Array:
    """Return an array in memory after checking that its values are finite and allowed.

    With `clip`, finite values outside the allowed range are clipped to it, with a warning. With `missing`, values may
    be NaN, unless it is the reason why not.

    Raises
    ------
    ValueError
        If a value is not finite, or not allowed and not clipped.
    """
    if is_bool(block) or 0 in block.shape:
        return block
    if within is not None and within.parts:
        return _checked_parts(block, argument, within.parts, clip, missing)
    if is_traced([block]):
        return B.clip(block, within.least, within.most) if clip and within and not within.whole else block
    extremes = array_namespace(block).stack([B.min(block), B.max(block)])
    low, high = map(float, to_numpy(extremes))  # one synchronisation with a device
    least, most, whole, _ = within or _FINITE
    if missing is True and low != low:
        xp, gaps = array_namespace(block), is_missing(block)
        return xp.where(gaps, block, checked_values(xp.where(gaps, B.zeros_like(block), block), argument, within, clip))
    if clip and within and not whole and -sys.float_info.max <= low and high <= sys.float_info.max:
        if low < least - _ROUNDING or high > most + _ROUNDING:
            advice = "clipped to it; scale the data so that they lie within"
            found = f"values from {low:g} to {high:g}, those outside [{least:g}, {most:g}]"
            warnings.warn(f"{argument} has {found} are {advice}", stacklevel=3)
        kind = int if is_integer(block) else float  # keeps the dtype; bounds beyond an unsigned dtype are not used
        block = block if low >= least else B.maximum(block, kind(least))
        return block if high <= most else B.minimum(block, kind(most))
    if not (low >= least and high <= most):
        wanted = f"{'whole numbers' if whole else 'values'} in [{least:g}, {most:g}]" if within else "finite values"
        found = "NaN" if low != low or high != high else f"values from {low:g} to {high:g}"
        wanted += f" {missing}" if found == "NaN" and missing else ""
        found += ": Negative values in data" if whole and low < 0 <= least else ""  # scikit-learn expects this text
        raise ValueError(f"{argument} must have {wanted}, got {found}")
    if whole and not bool(B.all(B.equal(block, B.round(block)))):
        raise ValueError(f"{argument} must have whole numbers in [{least:g}, {most:g}], got others")
    return block


def _checked_parts(block: Array, argument: str, parts: tuple[Any, ...], clip: bool, missing: bool | str) -> Array:
    """Return an array in memory after checking each group of columns."""
    found, first = [], 0
    for within, count in parts:
        of_part = f"{argument}[..., {first}:{first + count}]"
        found.append(checked_values(block[..., first : first + count], of_part, within, clip, missing))
        first += count
    if first != block.shape[-1]:
        raise ValueError(
            f"{argument} must have {first} features, as its kinds of units say, in one block, got {block.shape[-1]}"
        )
    return B.concatenate(found, axis=-1)


def known_length(X: Array, name: str = "X") -> int:
    """Return the number of rows, at least one, which determines the number of random streams.

    Raises
    ------
    ValueError
        If the number is unknown until a lazy array is computed, or zero.
    """
    length = X.shape[0]
    if length != length:
        raise ValueError(f"{name} must have a known number of rows: call its compute_chunk_sizes() first")
    if not length:
        raise ValueError(f"{name} must have at least one row")
    return int(length)


def checked_weights(weights: Array, X: Array) -> Array:
    """Return the weights of rows, scaled to a mean of 1, in host memory; None for None.

    Raises
    ------
    ValueError
        If there is not one weight for each row, a weight is negative or not finite, or all are zero.

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
