"""What the other chapters take from Dask. Its type information is partial, so that all of it is `Any` here.

Dask has arrays of two kinds, on graphs and on expressions (its setting ``array.query-planning``), of which a process
has one; what those on expressions lack is brought from Dask's own functions on graphs (`dask_expressions`).
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat.dask.array
import dask.array
import dask.array.core
import dask.highlevelgraph

__all__ = ["ON_EXPRESSIONS", "GraphArray", "da", "graph_from", "layers_of", "lifted", "original", "size_in_bytes"]

da: Any = dask.array
original: Any = array_api_compat.dask.array
GraphArray: Any = dask.array.core.Array
graph_from: Any = dask.highlevelgraph.HighLevelGraph.from_collections

ON_EXPRESSIONS = bool(getattr(da, "array_expr_enabled", bool)())


def _as_it_is(function: Any) -> Any:
    return function


lifted: Any = _as_it_is
"""What makes a function that lays out a graph one of the arrays that this process has."""


def layers_of(x: Any) -> Any:
    """By name, the layers of the graph of an array, or the expressions that it is made of."""
    return x.__dask_graph__().layers


def size_in_bytes(x: Any) -> Any:
    """How large an array is; nan if a length is unknown."""
    return math.prod(x.shape) * x.dtype.itemsize


if ON_EXPRESSIONS:
    from .dask_classic import layers_of, lifted
    from .dask_expressions import da, original
