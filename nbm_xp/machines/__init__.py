"""Common parts of machines of layers and machines on graphs: units, rows of data, random streams, diagnostics.

`nbm_xp.boltzmann` and `nbm_xp.graphs` import this package, and are independent of each other.
"""

from typing import Any, TypeAlias

__all__ = ["Array", "Chunks", "DType", "Namespace", "RandomState", "Rows", "Shape", "Streams", "Updates"]

Array: TypeAlias = Any
"""An array of any library, or a Tensor."""

Chunks: TypeAlias = Any
"""Blocks of a Dask array or of one of its axes: any value that Dask accepts."""

RandomState: TypeAlias = Any
"""A seed, a generator that a seed is drawn from, or None."""

Rows: TypeAlias = Any
"""Rows of data in any form: an array, a table, a nested list or a sparse matrix."""

DType: TypeAlias = Any
"""A dtype of any library, or its name."""

Namespace: TypeAlias = Any
"""An array API namespace."""

Shape: TypeAlias = tuple[int, ...]

Streams: TypeAlias = Any
"""A `RandomStreams`, or an object with the same methods for draws."""

Updates: TypeAlias = list[tuple[Array, Array]]
"""Pairs of a Variable and its value after a call of a compiled function."""
