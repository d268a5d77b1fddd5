"""What a machine on a graph is: its units, their couplings and fields, before anything is drawn."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import host_namespace

from .graph import as_graph, finite
from .lattice_graph import Lattice
from .layout import Layout, check_sums, laid_out, resolution_of
from .values import values_of

__all__ = ["EnergyModel", "check_machine"]


def check_machine(machine: Any) -> None:
    """Refuse what is no machine.

    Raises
    ------
    TypeError
        If it is none: a graph, for example.
    """
    if not isinstance(machine, EnergyModel):
        raise TypeError(f"machine must be a GraphMachine, got {type(machine).__name__}")


class EnergyModel:
    """The energy of states of units on a graph; the parameters are those of `GraphMachine`."""

    def __init__(self, graph: Any, units: Any = "spin", fields: Any = 0.0, couplings: Any = None) -> None:
        host = host_namespace()
        self.values = values_of(units)
        self.units, self.fields, self.couplings = units, fields, couplings
        self.graph = as_graph(graph)
        n, q = self.graph.units, self.values.count
        weights = self.graph.weights if couplings is None else couplings
        self._weights: Any = finite(1.0 if weights is None else weights, "couplings", (self.graph.edges,))
        if self.values.kind == "potts":
            shape = getattr(fields, "shape", (len(fields),) if hasattr(fields, "__len__") else ())
            wide = finite(fields, "fields", (q,)) if len(shape) < 2 else finite(fields, "fields", (n, q))
            self._own = host.broadcast_to(wide, (n, q))
        else:
            self._own = finite(fields, "fields", (n,))
        self._layout: Layout | None = None
        check_sums(self._weights, self._own)
        if not isinstance(self.graph, Lattice):
            _ = self.layout  # which finds pairs that are joined twice

    @property
    def layout(self) -> Layout:
        """Units in the order of a sweep, with what each needs of others; a lattice has none until it is asked for."""
        if self._layout is None:
            self._layout = laid_out(self.graph, self._weights, self._own)
        return self._layout

    @layout.setter
    def layout(self, found: Layout) -> None:
        self._layout, self._weights = found, None

    @property
    def by_edge_and_unit(self) -> tuple[Any, Any]:
        """The couplings of edges and the fields of units; before they are rounded, where nothing is laid out."""
        if self._weights is not None:
            return self._weights, self._own
        host, found = host_namespace(), self.layout
        return found.weights, host.take(found.fields, host.argsort(found.order), axis=0)

    @property
    def units_count(self) -> int:
        """How many units there are."""
        return self.graph.units

    @property
    def colours(self) -> int:
        """How many colours a sweep draws one after the other."""
        return self.graph.colour_count if isinstance(self.graph, Lattice) else len(self.layout.ends)

    @property
    def resolution(self) -> float:
        """What couplings and fields are whole multiples of."""
        return resolution_of(*self.by_edge_and_unit) if self._layout is None else self._layout.resolution

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph!r}, units={self.units!r}, {self.colours} colours)"
