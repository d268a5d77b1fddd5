"""Recorded sparse matrices in coordinate format: the stored elements, and the row and column of each.

The three vectors are ordinary arrays, so products with sparse matrices run and can be differentiated on every library.
Arguments are sparse matrices of SciPy or of the package sparse, or objects with the same attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import asarray, default_namespace, floatx, host_namespace
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.standard.shapes import axis_of

from ._arguments import Array, differ
from .joining import sums_at

__all__ = [
    "SparseTensor", "coordinates", "sparse_concatenate", "sparse_dot", "sparse_placeholder", "sparse_variable",
]  # fmt: skip


def coordinates(matrix: Any) -> tuple[Any, Any, Any, tuple[int, int]] | None:
    """Return the values, rows, columns and shape of a sparse matrix of another package; None for other objects.

    Parameters
    ----------
    matrix
        Object with a method ``tocoo``, as SciPy's matrices, or attributes ``coords`` and ``data``, as sparse's.

    Examples
    --------
    >>> coordinates([[0.0, 5.0]]) is None
    True
    """
    if hasattr(matrix, "tocoo"):
        matrix = matrix.tocoo()
        rows, columns = matrix.row, matrix.col
    elif hasattr(matrix, "coords") and hasattr(matrix, "data"):
        rows, columns = matrix.coords
    else:
        return None
    height, width = map(int, matrix.shape)
    return matrix.data, rows, columns, (height, width)


class SparseTensor:
    """A recorded sparse matrix.

    Parameters
    ----------
    values, rows, columns : Tensor
        Stored elements, and their rows and columns, each with one axis. Elements at the same position are added up.
    shape : tuple of two lengths
        Shape of the matrix.
    name : str, optional
        Name for display.
    """

    ndim = 2

    def __init__(self, values: Any, rows: Any, columns: Any, shape: Sequence[Any], name: str | None = None) -> None:
        self.values, self.rows, self.columns = values, rows, columns
        self.lengths = tuple(shape)
        self.name = name
        self.inputs: list[tape.Tensor] = []

    @property
    def dtype(self) -> Any:
        """Dtype of the elements."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """Shape of the matrix; unknown lengths are lengths of Tensors."""
        return self.lengths

    def to_dense(self) -> Any:
        """Convert the matrix to a dense Tensor."""
        height, width = self.lengths
        cells = sums_at(self.values, self.rows * width + self.columns, length=height * width)
        return recorded.reshape(cells, (height, width))

    def feed(self, matrix: Any) -> list[Any]:
        """Return the arrays of a matrix for the placeholders of this one.

        Raises
        ------
        TypeError
            If `matrix` is not sparse.
        ValueError
            If `matrix` has another shape.
        """
        found = coordinates(matrix)
        if found is None:
            raise TypeError(
                f"{self.name or 'a sparse placeholder'} must be given a sparse matrix, got {type(matrix).__name__}"
            )
        values, rows, columns, shape = found
        for own, length in zip(self.lengths, shape, strict=True):
            if differ(own, length):
                raise ValueError(f"{self.name or 'a sparse placeholder'} must have shape {self.lengths}, got {shape}")
        host = host_namespace()
        return [values, rows, columns, *(host.zeros((length,), dtype=host.bool) for length in shape)]

    def __repr__(self) -> str:
        return f"<SparseTensor {self.name or ''} {self.dtype}{list(self.lengths)}>"


def sparse_placeholder(
    shape: Sequence[int | None] | None = None, ndim: int | None = None, dtype: Any = None, name: str | None = None
) -> SparseTensor:
    """Create an input for sparse matrices.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Two lengths, None for unknown ones.
    ndim : int, optional
        Must be 2 if `shape` is not given.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    name : str, optional
        Name for display.

    Returns
    -------
    SparseTensor

    Raises
    ------
    ValueError
        If the number of axes is not 2.

    Examples
    --------
    >>> sparse_placeholder((None, 3)).ndim
    2
    """
    lengths = [None] * (ndim or 0) if shape is None else list(shape)
    if len(lengths) != 2:
        raise ValueError(f"a sparse placeholder must have two axes, got shape {shape} and ndim {ndim}")
    values = tape.placeholder((None,), dtype=dtype or floatx(), name=name)
    rows, columns = (tape.placeholder((None,), dtype="int64") for _ in range(2))
    # an unknown length is the length of another input: lazy arrays have known lengths, not values
    sides = [tape.placeholder((None,), dtype="bool") for _ in range(2)]
    shown = [side.shape[0] if length is None else int(length) for side, length in zip(sides, lengths, strict=True)]
    made = SparseTensor(values, rows, columns, shown, name)
    made.inputs = [values, rows, columns, *sides]
    return made


def sparse_variable(matrix: Any, dtype: Any = None, name: str | None = None) -> SparseTensor:
    """Record a sparse matrix of another package as a constant.

    Parameters
    ----------
    matrix
        Sparse matrix; see `coordinates`.
    dtype : str, optional
        Dtype. Defaults to ``floatx``.
    name : str, optional
        Name for display.

    Returns
    -------
    SparseTensor

    Raises
    ------
    TypeError
        If `matrix` is not sparse.
    """
    found = coordinates(matrix)
    if found is None:
        raise TypeError(f"matrix must be sparse, got {type(matrix).__name__}")
    values, rows, columns, shape = found
    xp = default_namespace()
    stored = tape.as_tensor(asarray(values, xp, dtype or floatx()))
    rows, columns = (tape.as_tensor(asarray(places, xp, "int64")) for places in (rows, columns))
    return SparseTensor(stored, rows, columns, shape, name)


def sparse_dot(x: SparseTensor, y: Array) -> Any:
    """Product of a sparse matrix and a dense matrix or vector.

    Parameters
    ----------
    x : SparseTensor
        Of shape (rows, inner).
    y : array or Tensor
        Of shape (inner, columns), or (inner,).

    Returns
    -------
    Tensor
        Dense product. Only stored elements are multiplied.

    Raises
    ------
    ValueError
        If `y` has a wrong number of axes, or the inner lengths differ.
    """
    y = tape.as_tensor(y)
    if y.ndim not in (1, 2):
        raise ValueError(f"y must be a matrix or a vector behind a sparse matrix, got shape {y.shape}")
    inner, length = x.lengths[1], y.shape[0]
    if differ(inner, length):
        raise ValueError(f"y must have {inner} elements along its first axis, as x has columns, got shape {y.shape}")
    weights = x.values if y.ndim == 1 else recorded.expand_dims(x.values, axis=1)
    return sums_at(weights * recorded.take(y, x.columns, axis=0), x.rows, length=x.lengths[0])


def sparse_concatenate(tensors: Sequence[Any], axis: int = -1) -> Any:
    """Join matrices, some or all of them sparse.

    Parameters
    ----------
    tensors : sequence of SparseTensor, Tensor or array
        Matrices to join.
    axis : int
        Axis to join.

    Returns
    -------
    SparseTensor or Tensor
        Sparse if all matrices are sparse, else dense.

    Raises
    ------
    ValueError
        If there is no such axis.
    """
    along = axis_of(axis, 2)
    if not all(isinstance(tensor, SparseTensor) for tensor in tensors):
        dense = [
            tensor.to_dense() if isinstance(tensor, SparseTensor) else tape.as_tensor(tensor) for tensor in tensors
        ]
        return recorded.concat(dense, axis=axis)
    offset: Any = 0
    parts: list[list[Any]] = [[], [], []]
    for tensor in tensors:
        places = [tensor.rows, tensor.columns]
        places[along] = places[along] + offset
        offset = offset + tensor.lengths[along]
        for part, vector in zip(parts, (tensor.values, *places), strict=True):
            part.append(vector)
    lengths = list(tensors[0].lengths)
    lengths[along] = offset
    values, rows, columns = (recorded.concat(part, axis=0) for part in parts)
    return SparseTensor(values, rows, columns, lengths)
