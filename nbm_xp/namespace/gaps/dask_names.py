"""What the other chapters take from Dask. Its type information is partial, so that all of it is `Any` here."""

from __future__ import annotations

from typing import Any

import array_api_compat.dask.array
import dask.array
import dask.blockwise
import dask.highlevelgraph

__all__ = ["blockwise", "da", "graph_from", "original"]

da: Any = dask.array
original: Any = array_api_compat.dask.array
blockwise: Any = dask.blockwise.blockwise
graph_from: Any = dask.highlevelgraph.HighLevelGraph.from_collections
