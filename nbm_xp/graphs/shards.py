"""Graphs divided into shards: each shard's units, with its halo, the units of others that they are joined with.

Contract: a shard holds all that a sweep of its own units needs but what others have drawn since; which shard a unit is
in changes nothing that is drawn. Own units come first, then the halo, each by rising slots: so the units of a colour
lie one after the other among both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from nbm_xp.machines import Array
from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import host_namespace, is_array, kernel, to_numpy
from nbm_xp.package import is_there, need

from .colouring import entries_of
from .energy_model import Clamp
from .layout import Layout

__all__ = ["Shard", "shard_numbers", "shards_of"]

FREE: Final = -128
"""Stands for the value of a unit that is not clamped."""


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of a graph, with its halo.

    Parameters
    ----------
    slots, halo : array
        int64: the slots, in the whole graph, of its units and of those of the halo.
    ends, halo_ends : tuple of ints
        Where each colour ends among both.
    begins, neighbours, couplings : array
        Of each unit, where its neighbours begin; these, by their places among units and the halo; the couplings.
    fields : array
        Of its units.
    owners, shown_rows, rows : array
        int32: of each unit of the halo, its shard, its place among those of its colour that this shard shows, and among
        all of its units.
    shown : array
        int32: the units that others need, by their places.
    shown_ends : tuple of ints
        Where each colour ends among these.
    clamped : array
        int8: the value of each of its units and of the halo that is clamped; `FREE` of the others.
    """

    slots: Array
    halo: Array
    ends: tuple[int, ...]
    halo_ends: tuple[int, ...]
    begins: Array
    neighbours: Array
    couplings: Array
    fields: Array
    owners: Array
    shown_rows: Array
    rows: Array
    shown: Array
    shown_ends: tuple[int, ...]
    clamped: Array
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> int:
        """How many it has."""
        return int(self.slots.shape[0])

    @cached_property
    def near(self) -> list[int]:
        """The shards that the units of the halo are in."""
        found: list[int] = host_namespace().unique_values(self.owners).tolist()
        return found

    @cached_property
    def layout(self) -> Layout:
        """Its units as a sweep visits them; neighbours may be units of the halo."""
        none = self.neighbours[:0]
        return Layout(
            self.slots, self.ends, self.begins, self.neighbours, self.couplings, none, none, self.couplings[:0],
            self.fields, 0.0,
        )  # fmt: skip

    @cached_property
    def lower(self) -> Layout:
        """The same with couplings to lesser colours alone, and these twice: all edges of the graph once."""
        host = host_namespace()
        owner = host.repeat(host.arange(self.units), self.begins[1:] - self.begins[:-1])
        counts = (host.diff(host.asarray(ends), prepend=0) for ends in (self.ends, self.halo_ends))
        colours = host.concat([host.repeat(host.arange(len(self.ends)), count) for count in counts])
        weights = host.where(colours[self.neighbours] < colours[owner], self.couplings, 0.0)
        fields = host.concat([self.fields, host.zeros((self.halo.shape[0], *self.fields.shape[1:]))])
        return replace(
            self.layout, couplings=2.0 * weights, first=owner, second=self.neighbours, weights=weights, fields=fields,
            kept={},
        )  # fmt: skip

    def of_colour(self, colour: int) -> slice:
        """Where the units of a colour are."""
        return _of(self.ends, colour)

    def halo_of_colour(self, colour: int) -> slice:
        """Where the units of a colour are in the halo."""
        return _of(self.halo_ends, colour)

    def show(self, colour: int, rows: Array) -> Array:
        """What others need of what its units of a colour have: rows of these."""
        return rows[self.shown[_of(self.shown_ends, colour)] - self.of_colour(colour).start, ...]

    def seen(self, number: int, colour: int) -> tuple[Array, Array]:
        """Of a colour of the halo, the units that are in a shard: rows of what that shows, and places here."""
        key = number, colour
        if key not in self.kept:
            here = self.halo_of_colour(colour)
            places = host_namespace().nonzero(self.owners[here] == number)[0]
            self.kept[key] = self.shown_rows[here][places], places
        found: tuple[Array, Array] = self.kept[key]
        return found

    def clamp(self, states: Array, here: slice) -> None:
        """Give clamped units their values, in the states of the units in some places, which change."""
        clamped = self.clamped[here]
        places = host_namespace().nonzero(clamped != FREE)[0]
        states[places] = clamped[places, None]

    def arrays(self) -> dict[str, Array]:
        """All of it, by name."""
        host = host_namespace()
        return {name: host.asarray(getattr(self, name)) for name in self.__dataclass_fields__ if name != "kept"}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Shard:
        """The shard that `arrays` has given."""
        ends = {name: tuple(arrays[name].tolist()) for name in ("ends", "halo_ends", "shown_ends")}
        return cls(**{**arrays, **ends})

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"kept": {}}


def _of(ends: Sequence[int], colour: int) -> slice:
    return slice(ends[colour - 1] if colour else 0, ends[colour])


def shard_numbers(layout: Layout, shards: int | Array) -> Array:
    """The shard of each slot: of so many shards, or of those that each unit is said to be in.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    shards : int or array of shape (units,)

    Returns
    -------
    array
        int32, of shape (units,), from 0 on; no shard is empty.

    Raises
    ------
    ValueError
        If it is neither.
    """
    host, units = host_namespace(), layout.units
    wanted = f"shards must be an int, or a shard for each of {units} units"
    if is_array(shards) or isinstance(shards, (list, tuple)):
        given = numbers(to_numpy(shards) if is_array(shards) else shards, "shards", host)
        if given.shape != (units,) or not host.isdtype(given.dtype, "integral"):
            raise ValueError(f"{wanted}, got {given.dtype} of shape {given.shape}")
        found = given[layout.order]
    else:
        count = positive_int(shards, "shards")
        if count > units:
            raise ValueError(f"{wanted}, of which there are no more than units, got {count}")
        found = _by_metis(layout, count) if count > 1 and is_there("pymetis") else _by_breadth(layout, count)
    return host.astype(host.unique_inverse(found).inverse_indices.reshape(-1), host.int32)


def _by_metis(layout: Layout, count: int) -> Array:
    """Parts that few edges lead out of."""
    pymetis = need("pymetis")
    found = pymetis.part_graph(count, pymetis.CSRAdjacency(layout.begins, layout.neighbours))
    return host_namespace().asarray(found[1])


def _by_breadth(layout: Layout, count: int) -> Array:
    """Equal shares of a walk that goes to near units first."""
    host, units = host_namespace(), layout.units
    found = host.zeros((units,), dtype=host.int32)
    if count > 1:
        found[_walk(layout)] = host.arange(units) * count // units
    return found


def _walk(layout: Layout) -> Array:
    """The slots as a walk comes to them: from the least one that it has not come to, near ones first."""
    own = kernel("graphs.breadth", host_namespace())
    if own is not None:
        return own(layout.begins, layout.neighbours)
    begins, neighbours, walk = layout.begins.tolist(), layout.neighbours, list[int]()
    seen = [False] * layout.units
    for least in range(layout.units):
        if not seen[least]:
            seen[least] = True
            ahead = deque([least])
            while ahead:
                walk.append(slot := ahead.popleft())
                for there in neighbours[begins[slot] : begins[slot + 1]].tolist():
                    if not seen[there]:
                        seen[there] = True
                        ahead.append(there)
    return host_namespace().asarray(walk)


def shards_of(layout: Layout, numbers: Array, clamp: Clamp | None = None) -> list[Shard]:
    """The shards of a graph.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    numbers : array
        The shard of each slot: see `shard_numbers`.
    clamp : Clamp, optional
    """
    host, units = host_namespace(), layout.units
    ends, counts = host.asarray(layout.ends), host.bincount(numbers)
    order, lasts = host.argsort(numbers, stable=True), host.cumulative_sum(counts)
    own = [order[last - count : last] for last, count in zip(lasts.tolist(), counts.tolist(), strict=True)]
    halos = []
    for number, slots in enumerate(own):
        there = layout.neighbours[entries_of(slots, layout.begins)[0]]
        halos.append(host.unique_values(there[numbers[there] != number]))
    needed = host.zeros((units,), dtype=host.bool)
    needed[host.concat(halos)] = True
    clamped = host.full((units,), FREE, dtype=host.int8)
    if clamp is not None:
        clamped[host.argsort(layout.order)[clamp[0]]] = clamp[1]
    # of a slot its place in its shard, among those of its colour that this shows, and in the shard that is made
    among, rows, places = (host.zeros((units,), dtype=host.int32) for _ in range(3))
    shown = [host.nonzero(needed[slots])[0] for slots in own]
    for slots, some in zip(own, shown, strict=True):
        among[slots] = host.arange(slots.shape[0])
        colours = host.searchsorted(ends, slots[some], side="right")
        rows[slots[some]] = host.arange(some.shape[0]) - host.searchsorted(colours, colours)
    found = []
    for slots, halo, some in zip(own, halos, shown, strict=True):
        places[slots], places[halo] = among[slots], host.arange(halo.shape[0]) + slots.shape[0]
        entries, _ = entries_of(slots, layout.begins)
        degrees = layout.begins[slots + 1] - layout.begins[slots]
        own_ends, halo_ends, shown_ends = (
            tuple(host.searchsorted(x, ends).tolist()) for x in (slots, halo, slots[some])
        )  # fmt: skip
        found.append(
            Shard(
                slots, host.astype(halo, host.int64), own_ends, halo_ends,
                host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(degrees)]),
                places[layout.neighbours[entries]], layout.couplings[entries], layout.fields[slots, ...],
                numbers[halo], rows[halo], among[halo], host.astype(some, host.int32), shown_ends,
                clamped[host.concat([slots, halo])],
            )
        )  # fmt: skip
    return found
