"""Diagonals of matrices, and what is added up along them."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.extreme_lengths import maximum_length, minimum_length
from nbm_xp.tape.lengths import Size, same_length
from nbm_xp.tape.node import Memory
from nbm_xp.tape.standard.choices import where
from nbm_xp.tape.standard.creation import zeros
from nbm_xp.tape.standard.declaring import of_matrices
from nbm_xp.tape.standard.joining import concat
from nbm_xp.tape.standard.manipulation import expand_dims
from nbm_xp.tape.standard.sequences import arange
from nbm_xp.tape.standard.shapes import not_written, written
from nbm_xp.tape.standard.sums import sum as sum_
from nbm_xp.tape.tensor import Tensor, as_tensor, record

__all__ = ["diagonal", "trace"]


def _diagonal_length(rows: Size, columns: Size, offset: int) -> Size:
    inside = minimum_length((rows, columns - offset) if offset >= 0 else (rows + offset, columns))
    return maximum_length((inside, 0)) if offset else inside


def _undiagonal(g: Tensor, x: Tensor, offset: int) -> Tensor:
    """A matrix with `g` on a diagonal: one value for each row, placed where row and column meet there."""
    rows, columns = x.node.shape[-2:]
    length = g.node.shape[-1]
    before = minimum_length((-offset, rows)) if offset < 0 else 0
    after = rows - length - before
    parts = [g]
    for place, count in ((0, before), (len(parts), after)):
        if same_length(count, 0) is not True:
            none = zeros((*g.node.shape[:-1], count), dtype=g.dtype)
            parts.insert(place if place == 0 else len(parts), none)
    by_row = parts[0] if len(parts) == 1 else concat(parts, axis=-1)
    i, j = arange(rows), arange(columns)
    on = expand_dims(i, 1) + offset == expand_dims(j, 0)
    return where(on, expand_dims(by_row, -1), 0.0)


_DIAGONAL = of_matrices(
    "linalg.diagonal",
    lambda x, *, offset: ((*x.shape[:-2], _diagonal_length(x.shape[-2], x.shape[-1], offset)), x.dtype),
    (lambda g, out, x, *, offset: _undiagonal(g, x, offset),),
    memory=Memory.ANY,
    written=not_written,
)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The elements on a diagonal of matrices."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs matrices, got shape {written(x.node.shape)}")
    return record(_DIAGONAL, x, offset=offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of matrices."""
    return sum_(diagonal(x, offset=offset), axis=-1, dtype=dtype)
