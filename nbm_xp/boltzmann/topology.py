"""Which layers a Boltzmann machine has, and which of them are connected.

Layers that are not connected with one another are independent given the rest, so they are drawn together: the layers
fall into groups, the even and the odd ones of a plain stack, and a sweep of Gibbs sampling draws group after group,
each given all the others.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .units import BINARY, KINDS, Units

__all__ = ["Topology", "Visible"]

Visible = Literal["binary", "gaussian", "spin"]
MOST_LAYERS = 1000


@dataclass(frozen=True)
class Topology:
    """The layers of a Boltzmann machine and the connections between them.

    Parameters
    ----------
    sizes : sequence of int
        Units in each layer, the visible one, layer 0, first.
    connections : iterable of pairs of int, optional
        Which layers are connected; each with the next by default.
    visible : {"binary", "gaussian", "spin"}, optional
        Visible units are 0 or 1, real numbers with variance 1 given the other layers, or -1 or 1. Hidden units are 0 or
        1.

    Attributes
    ----------
    sizes : tuple of int
    connections : tuple of pairs of int
        The lower layer first, in rising order.
    groups : tuple of tuples of int
        Layers that are drawn together. The visible layer is in the first group; a sweep begins with the second one, and
        ends with the first.
    units : tuple of Units
        The kind of units of each layer.

    Raises
    ------
    ValueError
        If sizes or connections make no machine.

    Examples
    --------
    >>> Topology([784, 500, 1000]).groups
    ((0, 2), (1,))
    >>> Topology([4, 3, 2], [(0, 1), (1, 2), (0, 2)]).groups
    ((0,), (1,), (2,))
    >>> Topology([4, 3], [(0, 0)])
    Traceback (most recent call last):
    ...
    ValueError: connections must join two layers, got (0, 0), which joins layer 0 to itself
    """

    sizes: tuple[int, ...]
    connections: tuple[tuple[int, int], ...] = ()
    visible: Visible = "binary"
    groups: tuple[tuple[int, ...], ...] = field(init=False, compare=False, repr=False)
    units: tuple[Units, ...] = field(init=False, compare=False, repr=False)

    def __init__(
        self, sizes: Sequence[int], connections: Iterable[Sequence[int]] | None = None, visible: Visible = "binary"
    ) -> None:
        checked = _sizes(sizes)
        pairs = itertools.pairwise(range(len(checked))) if connections is None else connections
        if visible not in get_args(Visible):
            raise ValueError(f"visible must be one of {list(get_args(Visible))}, got {visible!r}")
        object.__setattr__(self, "sizes", checked)
        object.__setattr__(self, "connections", _connections(pairs, len(checked)))
        object.__setattr__(self, "visible", visible)
        object.__setattr__(self, "groups", _groups(self))
        object.__setattr__(self, "units", (KINDS[visible], *(BINARY for _ in checked[1:])))

    @property
    def layers(self) -> range:
        """The numbers of the layers; 0 is the visible one."""
        return range(len(self.sizes))

    @property
    def sweep(self) -> tuple[tuple[int, ...], ...]:
        """The groups in the order in which a sweep draws them: the visible layer in the last."""
        return (*self.groups[1:], self.groups[0])

    @property
    def summed(self) -> tuple[int, ...]:
        """The group that a sweep draws first: a state is told by the other layers, and this one summed out."""
        return self.groups[1]

    @property
    def kept(self) -> tuple[int, ...]:
        """The layers that are not `summed`, rising: what a chain carries from sweep to sweep."""
        return tuple(layer for layer in self.layers if layer not in self.summed)

    @property
    def is_factorial(self) -> bool:
        """Whether hidden units are independent given the visible ones.

        Then the log-likelihood of rows is known but for log Z; else there is a lower bound on it, by mean field.

        Examples
        --------
        >>> Topology([4, 3, 2]).is_factorial, Topology([4, 3, 2], [(0, 1), (0, 2)]).is_factorial
        (False, True)
        """
        return self.kept == (0,)

    def neighbours(self, layer: int) -> list[int]:
        """The layers that a layer is connected with, rising."""
        return sorted(low + high - layer for low, high in self.connections if layer in (low, high))

    def weights_shape(self, connection: int) -> tuple[int, int]:
        """The shape of a connection's weights: units of the lower layer, units of the higher one."""
        low, high = self.connections[connection]
        return self.sizes[low], self.sizes[high]


def _sizes(sizes: Any) -> tuple[int, ...]:
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise ValueError(f"layers must be a list of sizes, the visible layer first, got {sizes!r}")
    listed = list(sizes)
    if len(listed) > MOST_LAYERS:
        raise ValueError(f"layers must be at most {MOST_LAYERS}, got {len(listed)}")
    for size in listed:
        if isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
            raise ValueError(f"layers must be sizes, whole numbers of at least 1, got {size!r}")
    if len(listed) < 2:
        raise ValueError(f"layers must be at least two, a visible and a hidden one, got {len(listed)}")
    return tuple(int(size) for size in listed)


def _connections(pairs: Iterable[Sequence[int]], count: int) -> tuple[tuple[int, int], ...]:
    if not isinstance(pairs, Iterable):
        raise ValueError(f"connections must be pairs of layers, got {pairs!r}")
    pairs = list(itertools.islice(pairs, count * count))  # more than there can be, so that one is there twice
    found: set[tuple[int, int]] = set()
    for pair in pairs:
        try:
            one, other = pair
        except (TypeError, ValueError):
            raise ValueError(f"connections must be pairs of layers, got {pair!r}") from None
        for layer in (one, other):
            if isinstance(layer, bool) or not hasattr(layer, "__index__") or not 0 <= layer < count:
                raise ValueError(f"connections must join layers from 0 to {count - 1}, got {layer!r} in {pair!r}")
        low, high = sorted((int(one), int(other)))
        if low == high:
            raise ValueError(f"connections must join two layers, got {pair!r}, which joins layer {low} to itself")
        if (low, high) in found:
            raise ValueError(f"connections must name each pair of layers once, got {pair!r} twice")
        found.add((low, high))
    return tuple(sorted(found))


def _groups(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Colour the layers, from the visible one outwards, each with the first colour that no neighbour has.

    Outwards in this sense, two colours suffice wherever two can.
    """
    neighbours: dict[int, list[int]] = {layer: [] for layer in topology.layers}
    for low, high in topology.connections:
        neighbours[low].append(high)
        neighbours[high].append(low)
    colours: dict[int, int] = {}
    waiting = deque([0])
    while waiting:
        layer = waiting.popleft()
        if layer in colours:
            continue
        taken = {colours[other] for other in neighbours[layer] if other in colours}
        colours[layer] = next(colour for colour in itertools.count() if colour not in taken)
        waiting.extend(sorted(neighbours[layer]))
    for layer in topology.layers:
        if layer not in colours:
            raise ValueError(f"connections must reach every layer from layer 0, but none reaches layer {layer}")
    return tuple(
        tuple(layer for layer in topology.layers if colours[layer] == colour)
        for colour in range(max(colours.values()) + 1)
    )
