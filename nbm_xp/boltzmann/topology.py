"""The layers of a Boltzmann machine and their connections.

Layers that are not connected with each other are independent given the others, so they are drawn together. A colouring
divides the layers into such groups, the even and the odd layers of a plain stack; a sweep of Gibbs sampling draws group
after group, each given all the others.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbm_xp.machines import Array, Rows
from nbm_xp.machines.units import Units, kind_of

MOST_LAYERS = 1000


@dataclass(frozen=True)
class Topology:
    """The layers of a Boltzmann machine and their connections.

    Parameters
    ----------
    sizes : sequence of int
        Number of units of each layer; layer 0 is the visible layer.
    connections : iterable of pairs of int, optional
        Pairs of connected layers; by default each layer and the next.
    visible : str, optional
        The kind of visible units: "binary", 0 or 1; "spin", -1 or 1; "gaussian", real numbers with variance 1 given the
        other layers; or "categorical:Q", Q units for each site, one of them 1 and the others 0.
    hidden : str, or sequence of str, optional
        The kind of hidden units, or a kind for each hidden layer: one of these, "relu", real numbers of at least 0, or
        "drelu", three units for each site: a real number x, ``-|x|`` and ``-½ x |x|``.

    Attributes
    ----------
    sizes : tuple of int
    connections : tuple of pairs of int
        The lower layer first, in rising order.
    groups : tuple of tuples of int
        Groups of layers that are drawn together. The visible layer is in the first group; a sweep begins with the
        second group and ends with the first.
    units : tuple of Units
        The kind of units of each layer.
    sites : tuple of int
        Number of values of a state of each layer: one for each unit, or for each categorical site.

    Raises
    ------
    ValueError
        If sizes, connections or kinds are invalid.

    Examples
    --------
    >>> Topology([784, 500, 1000]).groups
    ((0, 2), (1,))
    >>> Topology([4, 3, 2], [(0, 1), (1, 2), (0, 2)]).groups
    ((0,), (1,), (2,))
    >>> Topology([15, 4], visible="categorical:3").sites
    (5, 4)
    >>> Topology([4, 3], [(0, 0)])
    Traceback (most recent call last):
    ...
    ValueError: connections must join two layers, got (0, 0), which joins layer 0 to itself
    """

    sizes: tuple[int, ...]
    connections: tuple[tuple[int, int], ...] = ()
    visible: str = "binary"
    hidden: str | tuple[str, ...] = "binary"
    groups: tuple[tuple[int, ...], ...] = field(init=False, compare=False, repr=False)
    units: tuple[Units, ...] = field(init=False, compare=False, repr=False)
    sites: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __init__(
        self,
        sizes: Sequence[int],
        connections: Iterable[Sequence[int]] | None = None,
        visible: str = "binary",
        hidden: str | Sequence[str] = "binary",
    ) -> None:
        checked = _sizes(sizes)
        pairs = itertools.pairwise(range(len(checked))) if connections is None else connections
        named = hidden_kinds(hidden, len(checked) - 1)
        units = (kind_of(visible, "visible", hidden=False), *(kind_of(name, "hidden") for name in named))
        object.__setattr__(self, "sizes", checked)
        object.__setattr__(self, "connections", _connections(pairs, len(checked)))
        object.__setattr__(self, "visible", visible)
        object.__setattr__(self, "hidden", named[0] if len(set(named)) == 1 else named)
        object.__setattr__(self, "groups", _groups(self))
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "sites", tuple(k.sites(size) for k, size in zip(units, checked, strict=True)))
        _check_units(self)

    @functools.cached_property
    def layers(self) -> range:
        """The numbers of the layers; 0 is the visible one."""
        return range(len(self.sizes))

    @functools.cached_property
    def sweep(self) -> tuple[tuple[int, ...], ...]:
        """The groups in the order in which a sweep draws them; the visible layer is in the last one."""
        return (*self.groups[1:], self.groups[0])

    @functools.cached_property
    def marginalised(self) -> tuple[int, ...]:
        """The group that a sweep draws first. Chains store the states of the other layers; this group is summed out."""
        return self.groups[1]

    @functools.cached_property
    def retained(self) -> tuple[int, ...]:
        """The layers that are not `marginalised`, in rising order: the state of a chain between sweeps."""
        summed_out = set(self.marginalised)
        return tuple(layer for layer in self.layers if layer not in summed_out)

    def with_retained(self, values: Iterable[Array]) -> list[Array]:
        """Return a state with these values for the layers of `retained`, in rising order, and None for the others.

        Examples
        --------
        >>> Topology([4, 3, 2]).with_retained(["visible", "top"])
        ['visible', None, 'top']
        """
        found = dict(zip(self.retained, values, strict=True))
        return [found.get(layer) for layer in self.layers]

    @property
    def is_factorial(self) -> bool:
        """Whether hidden units are independent given the visible ones.

        If so, the log-likelihood of rows is known up to log Z; otherwise mean field gives a lower bound on it.

        Examples
        --------
        >>> Topology([4, 3, 2]).is_factorial, Topology([4, 3, 2], [(0, 1), (0, 2)]).is_factorial
        (False, True)
        """
        return self.retained == (0,)

    def radices(self, layer: int) -> tuple[int, ...] | None:
        """Return the number of states of each site of a layer; None if they cannot be enumerated."""
        return self.units[layer].radices(self.sizes[layer])

    def neighbours(self, layer: int) -> list[int]:
        """Return the layers that a layer is connected with, in rising order."""
        return sorted(low + high - layer for low, high in self.connections if layer in (low, high))

    def checked_layer(self, layer: Any, name: str = "layer") -> int:
        """Return the checked number of a layer."""
        if not _is_index(layer, len(self.sizes)):
            raise ValueError(f"{name} must be layers from 0 to {self.layers[-1]}, got {layer!r}")
        return int(layer)

    def checked_clamp(self, clamp: object, checked: Callable[[int, Rows], Array]) -> dict[int, Array]:
        """Return the states of clamped layers by layer number; `checked` converts the states of a layer."""
        if clamp is not None and not isinstance(clamp, Mapping):
            raise ValueError(f"clamp must map layers to their states, got {type(clamp).__name__}")
        numbered = ((self.checked_layer(layer, "clamp"), states) for layer, states in (clamp or {}).items())
        found = {layer: checked(layer, states) for layer, states in numbered}
        if len(found) == len(self.sizes):
            raise ValueError("clamp must leave a layer to draw, got states of all of them")
        return found


def hidden_kinds(hidden: Any, count: int, name: str = "hidden") -> tuple[str, ...]:
    """Return the names of the kinds of `count` hidden layers; `name` is the argument's name in messages."""
    if isinstance(hidden, str):
        return (hidden,) * count
    if not isinstance(hidden, Sequence) or len(hidden) != count:
        raise ValueError(
            f"{name} must be a kind of units, or {count} of them, one for each hidden layer, got {hidden!r}"
        )
    return tuple(hidden)


def _check_units(topology: Topology) -> None:
    """Raise `ValueError` for kinds of units that are not possible in their layer or connection."""
    retained = set(topology.retained)
    for layer in topology.layers:
        if layer in retained and not topology.units[layer].knows_means:
            raise ValueError(
                f"hidden must not be {topology.units[layer].name} in layer {layer}: such units can be in layers "
                f"{list(topology.marginalised)} of this machine, which are drawn from all others"
            )
    for low, high in topology.connections:
        if not (topology.units[low].is_bounded or topology.units[high].is_bounded):
            raise ValueError(
                f"connections must not join layers of {topology.units[low].name} and {topology.units[high].name} "
                f"units, as ({low}, {high}): without bounds on either side, Z may be infinite"
            )


def _is_index(value: Any, count: float, least: int = 0) -> bool:
    """Return whether `value` is a whole number, at least `least` and less than `count`."""
    return not isinstance(value, bool) and hasattr(value, "__index__") and least <= value < count


def _sizes(sizes: Any) -> tuple[int, ...]:
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise ValueError(f"layers must be a list of sizes, the visible layer first, got {sizes!r}")
    listed = list(sizes)
    if len(listed) > MOST_LAYERS:
        raise ValueError(f"layers must be at most {MOST_LAYERS}, got {len(listed)}")
    for size in listed:
        if not _is_index(size, math.inf, 1):
            raise ValueError(f"layers must be sizes, whole numbers of at least 1, got {size!r}")
    if len(listed) < 2:
        raise ValueError(f"layers must be at least two, a visible and a hidden one, got {len(listed)}")
    return tuple(int(size) for size in listed)


def _connections(pairs: Iterable[Sequence[int]], count: int) -> tuple[tuple[int, int], ...]:
    if not isinstance(pairs, Iterable):
        raise ValueError(f"connections must be pairs of layers, got {pairs!r}")
    pairs = list(itertools.islice(pairs, count * count))  # bounds endless iterables: so many pairs contain a duplicate
    found: set[tuple[int, int]] = set()
    for pair in pairs:
        try:
            one, other = pair
        except (TypeError, ValueError):
            raise ValueError(f"connections must be pairs of layers, got {pair!r}") from None
        for layer in (one, other):
            if not _is_index(layer, count):
                raise ValueError(f"connections must join layers from 0 to {count - 1}, got {layer!r} in {pair!r}")
        low, high = sorted((int(one), int(other)))
        if low == high:
            raise ValueError(f"connections must join two layers, got {pair!r}, which joins layer {low} to itself")
        if (low, high) in found:
            raise ValueError(f"connections must name each pair of layers once, got {pair!r} twice")
        found.add((low, high))
    return tuple(sorted(found))


def _groups(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Colour the layers greedily, breadth first from the visible layer, and return the layers of each colour.

    In this order two colours suffice if the graph of layers is bipartite.
    """
    colours: dict[int, int] = {}
    waiting = [0]
    for layer in waiting:
        if layer not in colours:
            taken = {colours.get(other) for other in topology.neighbours(layer)}
            colours[layer] = next(colour for colour in itertools.count() if colour not in taken)
            waiting += topology.neighbours(layer)
    for layer in topology.layers:
        if layer not in colours:
            raise ValueError(f"connections must reach every layer from layer 0, but none reaches layer {layer}")
    return tuple(
        tuple(layer for layer in topology.layers if colours[layer] == colour)
        for colour in range(max(colours.values()) + 1)
    )
