"""Names of Dask used by the other modules. Dask's type information is partial, so all of them are `Any` here.

Dask has arrays of two kinds, on graphs and on expressions (its setting ``array.query-planning``), of which a process
has one; what those on expressions lack is brought from Dask's own functions on graphs (`dask_expressions`).
"""

from __future__ import annotations

from typing import Any

import array_api_compat.dask.array
import dask.array
import dask.array.core
import dask.base
import dask.highlevelgraph

__all__ = [
    "ON_EXPRESSIONS", "GraphArray", "copied", "da", "graph_from", "layers_of", "on_expressions", "name_of_blocks",
    "original", "tokenize",
]  # fmt: skip

da: Any = dask.array
original: Any = array_api_compat.dask.array
GraphArray: Any = dask.array.core.Array
tokenize: Any = dask.base.tokenize
_flatten: Any = dask.core.flatten
graph_from: Any = dask.highlevelgraph.HighLevelGraph.from_collections

ON_EXPRESSIONS = bool(getattr(da, "array_expr_enabled", bool)())


def _as_it_is(x: Any) -> Any:
    return x


# What makes a function that lays out a graph one of the arrays that this process has.
on_expressions: Any = _as_it_is


def layers_of(x: Any) -> Any:
    """By name, the layers of the graph of an array, or the expressions that it is made of."""
    return x.__dask_graph__().layers


def copied(x: Any) -> Any:
    """A copy of an array; assignments to it do not affect the original."""
    return x.copy()


def name_of_blocks(x: Any) -> Any:
    """Name with which the keys of an array's blocks begin in its graph."""
    return next(_flatten(x.__dask_keys__()))[0]


if ON_EXPRESSIONS:
    from .dask_expressions import da, layers_of, on_expressions, original

    copied = _as_it_is  # nothing can be assigned to one of these arrays
