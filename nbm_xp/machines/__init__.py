"""Common parts of machines of layers and machines on graphs: units, rows of data, random streams, diagnostics.

`nbm_xp.boltzmann` and `nbm_xp.graphs` import this package, and are independent of each other.
"""

from typing import Any, TypeAlias

__all__ = ["Array", "Chunks", "DType", "Namespace", "RandomState", "Rows", "Shape", "Streams", "Updates"]

# An array of any library, or a Tensor.
Array: TypeAlias = Any

# Blocks of a Dask array or of one of its axes: any value that Dask accepts.
Chunks: TypeAlias = Any

# A seed, a generator that a seed is drawn from, or None.
RandomState: TypeAlias = Any

# Rows of data in any form: an array, a table, a nested list or a sparse matrix.
Rows: TypeAlias = Any

# A dtype of any library, or its name.
DType: TypeAlias = Any

# An array API namespace.
Namespace: TypeAlias = Any

Shape: TypeAlias = tuple[int, ...]

# A `RandomStreams`, or an object with the same methods for draws.
Streams: TypeAlias = Any

# Pairs of a Variable and its value after a call of a compiled function.
Updates: TypeAlias = list[tuple[Array, Array]]
