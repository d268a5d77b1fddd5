"""Rows of SciPy's sparse matrices and arrays, made dense a few at a time, where they are computed with."""

from __future__ import annotations

from nbm_xp.machines import Array

__all__ = ["SparseRows", "dense", "is_sparse"]


def is_sparse(X: object) -> bool:
    """Whether this is a sparse matrix or array of SciPy's, which is not imported for the question.

    Examples
    --------
    >>> import scipy.sparse
    >>> is_sparse(scipy.sparse.eye_array(2)), is_sparse([[0.0]])
    (True, False)
    """
    return type(X).__module__.startswith("scipy.sparse") and hasattr(X, "tocsr")


def dense(X: Array) -> Array:
    """A NumPy array of what is sparse; anything else as it is."""
    return X.toarray(order="C") if is_sparse(X) else X


class SparseRows:
    """The rows of a sparse matrix: slices of them are NumPy arrays.

    Parameters
    ----------
    X : sparse matrix or array of SciPy's

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = SparseRows(scipy.sparse.eye_array(3))
    >>> rows[1:, :]
    array([[0., 1., 0.],
           [0., 0., 1.]])
    >>> rows.taken([2, 0])[:1, :]
    array([[0., 0., 1.]])
    """

    def __init__(self, X: Array) -> None:
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        self._rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (int(self._rows.shape[0]), int(self._rows.shape[1]))

    @property
    def values(self) -> Array:
        """What is stored, a NumPy array; all else is 0."""
        return self._rows.data

    def with_values(self, values: Array) -> SparseRows:
        """The same places with other values."""
        return SparseRows(type(self._rows)((values, self._rows.indices, self._rows.indptr), shape=self._rows.shape))

    def taken(self, places: Array) -> SparseRows:
        """Some rows, in an order: their numbers, or a slice."""
        return SparseRows(self._rows[places])

    def __getitem__(self, key: tuple[slice, slice]) -> Array:
        return self._rows[key[0]].toarray(order="C")[:, key[1]]
