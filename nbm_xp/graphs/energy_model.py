"""What a machine on a graph is: its units, their couplings and fields, and what states and clamped units may be.

Contract: what a machine cannot have is found before anything is drawn.
"""

from __future__ import annotations

import warnings
from operator import index
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.rows import numbers
from nbm_xp.machines.units import Units, kind_of
from nbm_xp.namespace import host_namespace, is_array, to_numpy

from .graph import Lattice, as_graph, finite
from .layout import Layout, components, laid_out, resolution_of, reweighed, rounded

__all__ = ["Clamp", "ClampWarning", "EnergyModel", "check_machine", "checked_clamp", "checked_states", "units_of"]

Clamp = tuple[Array, Array]
"""The clamped units, int64, in rising order, and their values, int8."""


class ClampWarning(UserWarning):
    """Units are clamped, but none of some components of the graph."""


def units_of(units: Any) -> Units:
    """The kind of units of a machine on a graph: with few values, which are int8.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> units_of("spin").values, units_of("binary").values, units_of(3).values, units_of("categorical:3").values
    ([-1, 1], [0, 1], [0, 1, 2], [0, 1, 2])
    >>> units_of(1)
    Traceback (most recent call last):
        ...
    ValueError: units must be 'spin', 'binary', or of Potts units the number of values, from 2 to 127, got 1
    """
    is_count = not isinstance(units, (bool, str)) and hasattr(units, "__index__")
    try:
        found = kind_of(f"categorical:{units.__index__()}" if is_count else units)
    except ValueError:
        found = None
    if found is None or not 2 <= len(found.values) <= 127:
        wanted = "'spin', 'binary', or of Potts units the number of values, from 2 to 127"
        raise ValueError(f"units must be {wanted}, got {units!r}")
    return found


class EnergyModel:
    """The energy of states of units on a graph; the parameters are those of `GraphMachine`.

    Attributes
    ----------
    edge_couplings : array of shape (edges,)
    unit_fields : array of shape (units,), or (units, values)
        Rounded; one number that was stretched where all are alike.
    resolution : float
        What both are whole multiples of.
    """

    def __init__(self, graph: Any, units: Any = "spin", fields: Any = 0.0, couplings: Array = None) -> None:
        host = host_namespace()
        self.kind = units_of(units)
        self.units, self.fields, self.couplings = units, fields, couplings
        self.graph = as_graph(graph)
        n, q = self.graph.units, self.kind.count
        weights = self.graph.weights if couplings is None else couplings
        of_edges = finite(1.0 if weights is None else weights, "couplings", (self.graph.edges,))
        if self.kind.is_categorical:
            shape = getattr(fields, "shape", (len(fields),) if hasattr(fields, "__len__") else ())
            wide = finite(fields, "fields", (q,)) if len(shape) < 2 else finite(fields, "fields", (n, q))
            of_units = host.broadcast_to(wide, (n, q))
        else:
            of_units = finite(fields, "fields", (n,))
        self.set_parameters(of_edges, of_units)
        if not isinstance(self.graph, Lattice):
            _ = self.layout  # which finds pairs that are joined twice

    def set_parameters(self, couplings: Array, fields: Array) -> None:
        """Take other couplings of edges, and fields of units; both are rounded to multiples of `resolution`.

        Raises
        ------
        ValueError
            If their sums are not finite.
        """
        self.resolution = resolution_of(couplings, fields)
        self.edge_couplings, self.unit_fields = (rounded(x, self.resolution) for x in (couplings, fields))
        made: Layout | None = getattr(self, "_layout", None)
        self._layout = None if made is None else reweighed(made, self.edge_couplings, self.unit_fields)

    @property
    def layout(self) -> Layout:
        """Units in the order of a sweep, with their neighbours; a lattice makes it when it is asked for."""
        if self._layout is None:
            self._layout = laid_out(self.graph, self.edge_couplings, self.unit_fields)
        return self._layout

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return self.graph.units

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The shape of a state: that of a lattice, or (units,)."""
        return self.graph.shape if isinstance(self.graph, Lattice) else (self.n_units,)

    @property
    def colours(self) -> int:
        """How many colours a sweep draws one after the other."""
        return self.graph.colour_count if isinstance(self.graph, Lattice) else len(self.layout.ends)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph!r}, units={self.units!r}, {self.colours} colours)"


def check_machine(machine: Any) -> None:
    """Raise `TypeError` for anything else than a machine: a graph, for example."""
    if not isinstance(machine, EnergyModel):
        raise TypeError(f"machine must be a GraphMachine, got {type(machine).__name__}")


def checked_states(machine: EnergyModel, states: Array, chains: int | None = None) -> Array:
    """States that a machine can have, as an int8 array of shape (chains, units) in host memory.

    Raises
    ------
    ValueError
        If they have another shape or other values.
    """
    host = host_namespace()
    array = numbers(to_numpy(states) if is_array(states) else getattr(states, "values", states), "states", host)
    array = array[None, :] if array.ndim == 1 else array
    count = array.shape[0] if chains is None else chains
    if array.shape != (count, machine.n_units):
        raise ValueError(f"states must be of shape {(count, machine.n_units)}, got {array.shape}")
    allowed = machine.kind.values
    if not host.all(host.isin(array, allowed)):
        low, high = host.min(array), host.max(array)
        raise ValueError(f"states must hold {', '.join(map(str, allowed))}, got values from {low:g} to {high:g}")
    return host.astype(array, host.int8)


def checked_clamp(machine: EnergyModel, clamp: Any) -> Clamp | None:
    """The clamped units and their values; None where there are none.

    Raises
    ------
    ValueError
        If there is no such unit, or it cannot have that value, or no unit is left to draw.

    Warns
    -----
    ClampWarning
        Where no unit of a connected component of the graph is clamped: it is drawn as if none were.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine
    >>> checked_clamp(GraphMachine([[0, 1], [1, 2]]), {2: 1, 0: -1})
    (array([0, 2]), array([-1,  1], dtype=int8))
    """
    if clamp is None:
        return None
    host, allowed = host_namespace(), machine.kind.values
    if not isinstance(clamp, dict):
        raise ValueError(f"clamp must be a dict of units and values, got {type(clamp).__name__}")
    if not clamp:
        return None
    found = {}
    for unit, value in clamp.items():
        try:
            found[index(unit)] = index(value)
        except TypeError as error:
            raise ValueError(f"clamp must name units and values by whole numbers, got {unit!r}: {value!r}") from error
    for unit, value in found.items():
        if not 0 <= unit < machine.n_units:
            raise ValueError(f"clamp must name units from 0 to {machine.n_units - 1}, got {unit}")
        if value not in allowed:
            raise ValueError(f"clamp must give values of {', '.join(map(str, allowed))}, got {value} for unit {unit}")
    if len(found) == machine.n_units:
        raise ValueError("clamp must leave a unit to draw")
    units = sorted(found)
    clamped = host.asarray(units, dtype=host.int64), host.asarray([found[unit] for unit in units], dtype=host.int8)
    if not isinstance(machine.graph, Lattice):  # which is connected
        _check_components(machine.layout, clamped[0])
    return clamped


def _check_components(layout: Layout, units: Any) -> None:
    """Warn of components without a clamped unit."""
    host, of = host_namespace(), components(layout)
    reached = host.zeros((layout.units,), dtype=host.bool)
    reached[of[host.argsort(layout.order)[units]]] = True
    beyond = layout.order[~reached[of]]
    if beyond.shape[0]:
        warnings.warn(
            f"clamp has no unit of some components of the graph: {beyond.shape[0]} units, such as "
            f"{int(host.min(beyond))}, are drawn as if none were clamped",
            ClampWarning,
            stacklevel=3,
        )
