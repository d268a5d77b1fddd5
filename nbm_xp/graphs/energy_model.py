"""What a machine on a graph is: its units, their couplings and fields, before anything is drawn."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import host_namespace

from .graph import as_graph, finite
from .layout import Layout, laid_out
from .values import values_of

__all__ = ["EnergyModel"]


class EnergyModel:
    """The energy of states of units on a graph; the parameters are those of `GraphMachine`."""

    def __init__(self, graph: Any, units: Any = "spin", fields: Any = 0.0, couplings: Any = None) -> None:
        host = host_namespace()
        self.values = values_of(units)
        self.units, self.fields, self.couplings = units, fields, couplings
        self.graph = as_graph(graph)
        n, q = self.graph.units, self.values.count
        weights = self.graph.weights if couplings is None else couplings
        weights = finite(1.0 if weights is None else weights, "couplings", (self.graph.edges,))
        if self.values.kind == "potts":
            shape = getattr(fields, "shape", (len(fields),) if hasattr(fields, "__len__") else ())
            wide = finite(fields, "fields", (q,)) if len(shape) < 2 else finite(fields, "fields", (n, q))
            own = host.broadcast_to(wide, (n, q))
        else:
            own = finite(fields, "fields", (n,))
        self.layout: Layout = laid_out(self.graph, weights, own)

    @property
    def units_count(self) -> int:
        """How many units there are."""
        return self.graph.units

    @property
    def colours(self) -> int:
        """How many colours a sweep draws one after the other."""
        return len(self.layout.ends)

    @property
    def resolution(self) -> float:
        """What couplings and fields are whole multiples of."""
        return self.layout.resolution

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph!r}, units={self.units!r}, {self.colours} colours)"
