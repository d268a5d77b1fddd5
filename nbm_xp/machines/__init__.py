"""What every Boltzmann machine has, of layers or on a graph: units, rows of data, random streams, diagnostics.

`nbm_xp.boltzmann` and `nbm_xp.graphs` stand on it, side by side.
"""

from typing import Any, TypeAlias

__all__ = ["Array", "Chunks", "DType", "Namespace", "RandomState", "Rows", "Shape", "Streams", "Updates"]

Array: TypeAlias = Any
"""An array of any library, or a Tensor."""

Chunks: TypeAlias = Any
"""How Dask divides an axis or an array: whatever it takes."""

RandomState: TypeAlias = Any
"""A seed, a generator that gives one, or None."""

Rows: TypeAlias = Any
"""Rows of data as users give them: an array, a table, a nested list or a sparse matrix."""

DType: TypeAlias = Any
"""A dtype of any library, or its name."""

Namespace: TypeAlias = Any
"""An array API namespace."""

Shape: TypeAlias = tuple[int, ...]

Streams: TypeAlias = Any
"""Random streams: a `RandomStreams`, or what draws as one does."""

Updates: TypeAlias = list[tuple[Array, Array]]
"""Variables, and their values after a call of a compiled function."""
