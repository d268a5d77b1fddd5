"""`EnergyModel`, the energy function of a machine on a graph, and validation of states and clamped units.

Contract: arguments are validated before anything is drawn.
"""

from __future__ import annotations

import warnings
from operator import index
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.units import Units, kind_of
from nbm_xp.namespace import host_namespace, is_array

from .graph import Lattice, as_graph, finite, on_host
from .layout import Layout, laid_out, resolution_of, reweighed, roots_of, rounded
from .terms import checked_factors

Clamp = tuple[Array, Array]  # clamped units, int64, in increasing order, and their values, int8


class ClampWarning(UserWarning):
    """Units are clamped, but some components of the graph have no clamped unit."""


def units_of(units: Any) -> Units:
    """Return the kind of units of a machine on a graph: discrete, with int8 values.

    Raises
    ------
    ValueError
        If `units` is not a valid kind.

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
    """The energy function of units on a graph; see `GraphMachine` for the parameters.

    Attributes
    ----------
    coupling_parameters : array of shape (edges + factors,), or (edges, values, values)
    edge_couplings : array of shape (edges,), or (edges, values, values)
    unit_fields : array of shape (units,), or (units, values)
        float64, rounded to multiples of `resolution`. Equal couplings or fields may be a broadcast number.
    factor_units : array of int of shape (factors, 4)
        Units of each factor; the number of units stands for none.
    resolution : float
        Power of two of which all couplings and fields are multiples; 0 if all are 0.
    hidden_units : array of int
        Numbers of the hidden units, in increasing order.
    """

    def __init__(
        self, graph: Any, units: Any = "spin", fields: Any = 0.0, couplings: Array = None, hidden: Any = None,
        factors: Any = None, factor_couplings: Any = 1.0,
    ) -> None:  # fmt: skip
        host = host_namespace()
        self.kind = units_of(units)
        self.units, self.fields, self.couplings = units, fields, couplings
        self.graph, self.hidden = as_graph(graph), hidden
        self.factors, self.factor_couplings = factors, factor_couplings
        n, q = self.graph.units, self.kind.count
        self.hidden_units = _checked_units(hidden, n)
        weights, potts = self.graph.weights if couplings is None else couplings, self.kind.is_categorical
        edges, tables, units_shape = (self.graph.edges,), (self.graph.edges, q, q), (n, q) if potts else (n,)
        of_edges = finite(1.0 if weights is None else weights, "couplings", edges, *((q, q), tables) * potts)
        of_edges = host.broadcast_to(of_edges, tables if of_edges.ndim > 1 else edges)
        of_units = host.broadcast_to(finite(fields, "fields", units_shape, *((q,),) * potts), units_shape)
        self.factor_units = checked_factors(factors, n)
        if self.has_factors:
            if potts:
                raise ValueError(f"factors must be of spins or binary units, got units {units!r}")
            of_factors = finite(factor_couplings, "factor_couplings", self.factor_units.shape[:1])
            of_edges = host.concat([of_edges, of_factors])
        self.set_parameters(of_edges, of_units)
        if not isinstance(self.graph, Lattice):
            _ = self.layout  # raises `ValueError` for repeated edges

    def set_parameters(self, couplings: Array, fields: Array) -> None:
        """Set couplings, of edges and then of factors, and fields; all are rounded to multiples of `resolution`.

        Raises
        ------
        ValueError
            If their sums are not finite.
        """
        self.resolution = resolution_of(couplings, fields, 4 if self.has_factors else 2)
        self.coupling_parameters, self.unit_fields = (rounded(x, self.resolution) for x in (couplings, fields))
        self.edge_couplings = self.coupling_parameters[: self.graph.edges]
        made: Layout | None = getattr(self, "_layout", None)
        self._layout = None if made is None else reweighed(made, self.coupling_parameters, self.unit_fields)

    @property
    def layout(self) -> Layout:
        """Units in the order of a sweep, with their neighbours; computed lazily for a lattice."""
        if self._layout is None:
            self._layout = laid_out(self.graph, self.coupling_parameters, self.unit_fields, self.factor_units)
        return self._layout

    @property
    def visible_units(self) -> Array:
        """Numbers of the visible units, in increasing order; not stored, since a lattice may have very many."""
        host = host_namespace()
        return host.nonzero(~host.isin(host.arange(self.n_units), self.hidden_units))[0]

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return self.n_units - int(self.hidden_units.shape[0])

    @property
    def has_factors(self) -> bool:
        """Whether there are factors of three or four units."""
        return bool(self.factor_units.shape[0])

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.graph.units

    @property
    def state_shape(self) -> tuple[int, ...]:
        """Shape of a state: the lattice's shape, or (units,)."""
        return self.graph.shape if isinstance(self.graph, Lattice) else (self.n_units,)

    @property
    def colours(self) -> int:
        """Number of colours, which a sweep draws one after the other."""
        if isinstance(self.graph, Lattice) and not self.has_factors:
            return self.graph.colour_count
        return len(self.layout.ends)

    def __repr__(self) -> str:
        counts = {"hidden": self.hidden_units, "factors": self.factor_units}
        more = "".join(f"{x.shape[0]} {name}, " for name, x in counts.items() if x.shape[0])
        return f"{type(self).__name__}({self.graph!r}, units={self.units!r}, {more}{self.colours} colours)"


def _checked_units(hidden: Any, units: int) -> Array:
    """Return the numbers of hidden units, int64 in increasing order."""
    host = host_namespace()
    array = on_host([] if hidden is None else hidden, "hidden")
    found = host.unique_values(host.astype(array, host.int64))
    whole = array.ndim == 1 and found.shape == array.shape and host.all(host.sort(array) == found)
    if not whole or found.shape[0] == units or host.any((found < 0) | (found >= units)):
        wanted = f"different unit numbers from 0 to {units - 1}, not all of them"
        raise ValueError(f"hidden must be {wanted}, got {hidden!r}")
    return found


def check_machine(machine: Any) -> None:
    """Raise `TypeError` if the argument is not a machine."""
    if not isinstance(machine, EnergyModel):
        raise TypeError(f"machine must be a GraphMachine, got {type(machine).__name__}")


def checked_states(machine: EnergyModel, states: Array, chains: int | None = None, units: int | None = None) -> Array:
    """Validate states of all units of a machine, or of `units`; return an int8 array of shape (chains, units).

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is not a value of the units.
    """
    host = host_namespace()
    array = on_host(states if is_array(states) else getattr(states, "values", states), "states")
    array = array[None, :] if array.ndim == 1 else array
    shape = array.shape[0] if chains is None else chains, machine.n_units if units is None else units
    if array.shape != shape:
        raise ValueError(f"states must be of shape {shape}, got {array.shape}")
    allowed = machine.kind.values
    if not host.all(host.isin(array, allowed)):
        low, high = host.min(array), host.max(array)
        raise ValueError(f"states must hold {', '.join(map(str, allowed))}, got values from {low:g} to {high:g}")
    return host.astype(array, host.int8)


def checked_given(machine: EnergyModel, X: Any, name: str = "given") -> Array:
    """Validate rows of visible units, or of all units; return them with all units, NaN where a value is missing.

    Parameters
    ----------
    X : array of shape (rows, visible units), or (rows, units)
        In memory.

    Returns
    -------
    numpy.ndarray of shape (rows, units)
        float64; hidden units are NaN in rows of visible units.

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is neither NaN nor a value of the units.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine
    >>> checked_given(GraphMachine([[0, 1], [1, 2]], hidden=[1]), [[1, -1]])
    array([[ 1., nan, -1.]])
    """
    host, every, allowed = host_namespace(), machine.n_units, machine.kind.values
    rows = on_host(X, name, "float64")
    width = every if rows.ndim == 2 and rows.shape[1] == every else machine.n_visible
    if rows.ndim != 2 or rows.shape[1] != width or not rows.shape[0]:
        raise ValueError(f"{name} must be of shape (rows, {width}), with a row at least, got {rows.shape}")
    wrong = ~(host.isin(rows, allowed) | host.isnan(rows))
    if host.any(wrong):
        values = ", ".join(map(str, allowed))
        raise ValueError(f"{name} must hold {values}, or NaN where a value is missing, got {rows[wrong][0]:g}")
    found = host.full((rows.shape[0], every), host.nan)
    found[:, machine.visible_units if width < every else slice(None)] = rows
    return found


def checked_clamp(machine: EnergyModel, clamp: Any) -> Clamp | None:
    """Validate clamped units; return the units and their values, or None if there are none.

    Raises
    ------
    ValueError
        If a unit does not exist, a value is not a value of the units, or all units are clamped.

    Warns
    -----
    ClampWarning
        If a connected component of the graph has no clamped unit: the clamp does not affect it.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine
    >>> checked_clamp(GraphMachine([[0, 1], [1, 2]]), {2: 1, 0: -1})
    (array([0, 2]), array([-1,  1], dtype=int8))
    """
    if clamp is not None and not isinstance(clamp, dict):
        raise ValueError(f"clamp must be a dict of units and values, got {type(clamp).__name__}")
    if not clamp:
        return None
    host, allowed, found = host_namespace(), machine.kind.values, dict[int, int]()
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
    if not isinstance(machine.graph, Lattice) and not machine.has_factors:  # a lattice is connected
        _check_components(machine.layout, clamped[0])
    return clamped


def _check_components(layout: Layout, units: Any) -> None:
    """Warn if a component has no clamped unit."""
    host = host_namespace()
    joined = host.ones((layout.first.shape[0], 1), dtype=host.bool)
    of = roots_of(joined, layout)[:, 0]  # first slot of the component of each slot
    beyond = layout.order[~host.isin(of, of[host.argsort(layout.order)[units]])]
    if beyond.shape[0]:
        some = f"{beyond.shape[0]} units, such as {int(host.min(beyond))}, are drawn as if none were clamped"
        warnings.warn(f"clamp has no unit of some components of the graph: {some}", ClampWarning, stacklevel=3)
