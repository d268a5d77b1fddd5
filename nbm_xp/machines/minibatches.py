"""Minibatches of rows for training, with one window of a lazy array in memory at a time."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_bool, is_integer, is_lazy, running_dtype
from nbm_xp.namespace.compiling import is_traced

_FEW = 1024  # rows of a sparse matrix made dense at a time
_RARE = 1e-300  # smallest weight of the rows in which a value is observed
# Number of rows that are loaded and shuffled at a time
WINDOW = 16_384


def is_sparse(X: object) -> bool:
    """Return whether `X` is a SciPy sparse matrix or array, without importing SciPy.

    Examples
    --------
    >>> import scipy.sparse
    >>> is_sparse(scipy.sparse.eye_array(2)), is_sparse([[0.0]])
    (True, False)
    """
    return type(X).__module__.startswith("scipy.sparse") and hasattr(X, "tocsr")


class RowsAt:
    """Rows that are not loaded: those at `places` in a window of stored rows.

    Parameters
    ----------
    read : callable
        ``read(first, last)`` returns a window of rows in memory.
    count : int
        Number of all rows.
    first : int, optional
        The first row of the window.
    places : array of int, optional
        Indices of the rows in the window, in host memory; by default these are all rows, and slices are windows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = RowsAt(lambda first, last: np.arange(first, last)[:, None], 10)
    >>> rows[4:8, :][np.asarray([3, 0, 1])][1:, :].load().tolist()
    [[4], [5]]
    """

    def __init__(self, read: Callable[[int, int], Array], count: int, first: int = 0, places: Array = None) -> None:
        self._read, self._count, self._first, self._places = read, count, first, places

    @property
    def shape(self) -> tuple[int]:
        """The number of rows."""
        return (self._count if self._places is None else self._places.shape[0],)

    def __getitem__(self, index: Any) -> RowsAt:
        rows = index[0] if isinstance(index, tuple) else index
        if self._places is not None:
            return RowsAt(self._read, self._count, self._first, self._places[rows])
        first, last, _ = rows.indices(self._count)
        return RowsAt(self._read, last - first, first, host_namespace().arange(last - first))

    def load(self) -> Array:
        """Read the rows."""
        return taken(self._read(self._first, self._first + self._count), self._places)


def in_memory(X: Array) -> Array:
    """Return a lazy array computed, a sparse one dense, and others unchanged."""
    if isinstance(X, RowsAt):
        return X
    if is_sparse(X):
        return X.toarray(order="C")
    return X.compute() if is_lazy(array_namespace(X)) else X


def is_missing(rows: Array) -> Array:
    """Return whether each value is missing, NaN."""
    return B.not_equal(rows, rows)


def any_missing(rows: Array) -> bool:
    """Return whether a value of rows in memory is missing; False for rows without values, of a function in the making.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> any_missing(asarray([[0.0, float("nan")]], host_namespace()))
    True
    """
    values = rows.data if is_sparse(rows) else rows
    return not (is_bool(values) or is_integer(values) or is_traced([values])) and bool(B.any(is_missing(values)))


def observed(units: Any, X: Array, weights: Array = None) -> tuple[Array, Array]:
    """Return the weighted mean of each visible unit in rows of data, and the number of rows.

    Where values are missing, the mean is that of the others, and the number is an array with their weights.
    """
    if weights is None and not is_sparse(X):
        mean = in_memory(units.observed(X))
        if not any_missing(mean):
            return mean, X.shape[0]
    sizes, parts = [], []
    for rows, given in minibatches(X, _FEW if is_sparse(X) else WINDOW, weights=weights):
        home = array_namespace(rows)
        double = running_dtype(home, "float64")
        opened = home.astype(units.encoded(rows, -1), double)
        counts = home.ones(rows.shape[0], dtype=double) if given is None else asarray(given, home, double)
        size = float(B.sum(counts))
        if any_missing(rows):
            gaps = units.per_unit(is_missing(rows))
            opened, size = home.where(gaps, home.zeros_like(opened), opened), B.dot(counts, home.astype(~gaps, double))
        sizes.append(size)
        parts.append(B.dot(counts, opened))
    total, found = (functools.reduce(operator.add, each) for each in (sizes, parts))
    return (found / total, X.shape[0]) if isinstance(total, float) else (found / B.maximum(total, _RARE), total)


def minibatches(
    X: Array, size: int, uniforms: Callable[[int], Array] | None = None, weights: Array = None
) -> Iterator[tuple[Array, Array]]:
    """Yield the rows of an array in minibatches, with their weights; the last minibatch of a window may be smaller.

    Parameters
    ----------
    X : array, sparse matrix or RowsAt
    size : int
        Number of rows of a minibatch.
    uniforms : callable, optional
        Function from a number to as many random numbers in host memory, by which rows are shuffled: windows of rows
        come in random order, and the rows of each window in random order, so only a window is in memory at a time. The
        order does not depend on how `X` is stored. By default rows are not shuffled.
    weights : array of shape (rows,), optional
        Weights of the rows, in host memory.

    Yields
    ------
    rows : array
        Rows in memory; of `RowsAt`, rows that are not loaded.
    weights : array, or None
        Their weights.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> [batch.shape[0] for batch, _ in minibatches(asarray([[0.0]] * 5, host_namespace()), 2)]
    [2, 2, 1]
    """
    length, dense = max(1, WINDOW // size) * size, not (is_sparse(X) or isinstance(X, RowsAt))
    windows = range(0, X.shape[0], length)
    order = range(len(windows))
    if uniforms is not None and len(windows) > 1:
        order = uniforms(len(windows)).argsort(kind="stable")
    for position in order:
        first = windows[position]
        last = min(first + length, X.shape[0])
        part = in_memory(X[first:last, :]) if dense else X[first:last, :]
        counts = None if weights is None else weights[first:last]
        if uniforms is not None:
            places = uniforms(last - first).argsort(kind="stable")
            counts = None if counts is None else array_namespace(counts).take(counts, places)
            part = taken(part, places) if dense else part[places]
        for start in range(0, last - first, size):
            end = min(start + size, last - first)
            rows = part[start:end, :]
            yield rows if dense else in_memory(rows), None if counts is None else counts[start:end]


def taken(rows: Array, places: Array) -> Array:
    """Return the rows with these indices, an array in host memory."""
    home = array_namespace(rows)
    return home.take(rows, asarray(places, home, running_dtype(home, places.dtype)), axis=0)
