"""Sparse matrices as recorded values: the elements that are there, and the row and column of each.

They are stored in three vectors of the same arrays as everything else, so products with them run and differentiate on
every library. Matrices come in as SciPy's or the package sparse's, or anything with the attributes of these.
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
    """The values, rows, columns and shape of a sparse matrix of another package; None for what is none.

    Parameters
    ----------
    matrix
        With ``tocoo`` as SciPy's matrices have it, or with ``coords`` and ``data`` as those of sparse.

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
    """A recorded matrix most of whose elements are 0.

    Parameters
    ----------
    values, rows, columns : Tensor
        What is there, and where, each with one axis. Elements in one place add up.
    shape : tuple of two lengths
        The shape of the matrix.
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
        """The dtype of the elements."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths; unknown ones as lengths of Tensors."""
        return self.lengths

    def to_dense(self) -> Any:
        """The matrix as a Tensor."""
        height, width = self.lengths
        cells = sums_at(self.values, self.rows * width + self.columns, length=height * width)
        return recorded.reshape(cells, (height, width))

    def feed(self, matrix: Any) -> list[Any]:
        """The arrays for the placeholders of this matrix.

        Raises
        ------
        TypeError
            If `matrix` is not sparse.
        ValueError
            If it has another shape.
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
    """An input that is to be a sparse matrix.

    Parameters
    ----------
    shape : sequence of int or None, optional
        Its two lengths, None for unknown ones.
    ndim : int, optional
        2, where no `shape` is given.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Name for display.

    Returns
    -------
    SparseTensor

    Raises
    ------
    ValueError
        If it is to have another number of axes.

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
    # an unknown length is that of an input of its own: a lazy array's length is known where its value is not
    sides = [tape.placeholder((None,), dtype="bool") for _ in range(2)]
    shown = [side.shape[0] if length is None else int(length) for side, length in zip(sides, lengths, strict=True)]
    made = SparseTensor(values, rows, columns, shown, name)
    made.inputs = [values, rows, columns, *sides]
    return made


def sparse_variable(matrix: Any, dtype: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse matrix of another package, recorded; it cannot be set.

    Parameters
    ----------
    matrix
        See `coordinates`.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
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
    """The product of a sparse matrix and a dense one.

    Parameters
    ----------
    x : SparseTensor
        Of shape (rows, inner).
    y : array or Tensor
        Of shape (inner, columns), or (inner,).

    Returns
    -------
    Tensor
        Dense. Only the elements that are there are multiplied.

    Raises
    ------
    ValueError
        If `y` has another number of axes, or does not fit.
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
    """Join matrices of which some are sparse.

    Parameters
    ----------
    tensors : sequence of SparseTensor, Tensor or array
        What to join.
    axis : int
        The axis along which.

    Returns
    -------
    SparseTensor or Tensor
        Sparse if all are, else dense.

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
